/* walk.c: loops over strided operands of any rank, as rows as long as possible. */
#include <string.h>

#include "sample.h"

void sample_start_walk(sample_walk_t *walk, const int64_t *shape, uint32_t rank) {
  *walk = (sample_walk_t){.rank = rank};
  for (uint32_t i = 0; i < rank; i++) walk->shape[i] = shape[i];
}

void sample_add_layout(sample_walk_t *walk, const wia_tensor_layout_t *layout) {
  sample_add_leading(walk, layout, layout->rank);
}

void sample_add_leading(sample_walk_t *walk, const wia_tensor_layout_t *layout, uint32_t rank) {
  int64_t strides[WIA_MAX_RANK] = {0};
  const uint32_t missing = walk->rank - rank;
  for (uint32_t i = 0; i < rank; i++)
    if (layout->shape[i] == walk->shape[i + missing])
      strides[i + missing] = sample_stride(layout, i);
  sample_add_strides(walk, strides);
}

void sample_add_strides(sample_walk_t *walk, const int64_t *strides) {
  const uint32_t operand = walk->operand_count++;
  for (uint32_t i = 0; i < walk->rank; i++) walk->strides[i][operand] = strides[i];
}

/* Whether a step in dimension outer is the same as inner_size steps in dimension inner. */
static bool joins(const sample_walk_t *walk, uint32_t outer, uint32_t inner) {
  for (uint32_t i = 0; i < walk->operand_count; i++)
    if (walk->strides[outer][i] != walk->strides[inner][i] * walk->shape[inner]) return false;
  return true;
}

void sample_merge_walk(sample_walk_t *walk) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < walk->rank; i++) {
    if (walk->shape[i] == 1) continue;
    int64_t size = walk->shape[i];
    if (rank > 0 && joins(walk, rank - 1, i)) size *= walk->shape[--rank];
    walk->shape[rank] = size;
    memmove(walk->strides[rank], walk->strides[i], sizeof walk->strides[i]);
    rank++;
  }
  walk->rank = rank;
}

void sample_run_walk(const sample_walk_t *walk, char *const *pointers, sample_row_fn_t row,
                     const void *context) {
  for (uint32_t i = 0; i < walk->rank; i++)
    if (walk->shape[i] == 0) return;
  if (walk->rank <= 1) {
    row(context, pointers, walk->strides[0], walk->rank == 0 ? 1 : walk->shape[0]);
    return;
  }
  char *current[SAMPLE_MAX_OPERANDS];
  for (uint32_t i = 0; i < walk->operand_count; i++) current[i] = pointers[i];
  int64_t index[WIA_MAX_RANK] = {0};
  const uint32_t last = walk->rank - 1;
  for (;;) {
    row(context, current, walk->strides[last], walk->shape[last]);
    uint32_t d = last;
    while (d-- > 0) {
      const bool wraps = ++index[d] == walk->shape[d];
      const int64_t steps = wraps ? 1 - walk->shape[d] : 1;
      for (uint32_t i = 0; i < walk->operand_count; i++) current[i] += steps * walk->strides[d][i];
      if (!wraps) break;
      index[d] = 0;
      if (d == 0) return;
    }
  }
}

sample_rows_t sample_make_rows(const sample_node_t *node, sample_row_fn_t row) {
  sample_rows_t rows = {.row = row};
  sample_start_walk(&rows.walk, node->output->shape, node->output->rank);
  for (uint32_t i = 0; i < node->input_count; i++) sample_add_layout(&rows.walk, node->inputs[i]);
  sample_add_layout(&rows.walk, node->output);
  sample_merge_walk(&rows.walk);
  return rows;
}

wia_status_t sample_run_rows(void *state, const wia_kernel_args_t *args) {
  const sample_rows_t *rows = state;
  char *pointers[SAMPLE_MAX_OPERANDS];
  for (uint32_t i = 0; i < rows->walk.operand_count; i++) pointers[i] = sample_pointer(args, i);
  sample_run_walk(&rows->walk, pointers, rows->row, NULL);
  return WIA_STATUS_OK;
}
