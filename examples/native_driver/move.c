/* move.c: reshape, transpose and broadcast: elements go to other places, whatever their dtype. */
#include <string.h>

#include "sample.h"

/* Rows of elements of one size: the compiler makes one load and one store of such a memcpy(). */
#define ROW(size)                                                                                  \
  static void move_##size(const void *context, char *const *p, const int64_t *s, int64_t count) {  \
    (void)context;                                                                                 \
    if (s[0] == (size) && s[1] == (size))                                                          \
      memmove(p[1], p[0], (size_t)count * (size));                                                 \
    else                                                                                           \
      for (int64_t i = 0; i < count; i++) memcpy(p[1] + i * s[1], p[0] + i * s[0], size);          \
  }
ROW(1)
ROW(2)
ROW(4)
ROW(8)
ROW(16)

static sample_row_fn_t choose_row(wia_dtype_t dtype) {
  switch (sample_item_size(dtype)) {
  case 1:
    return move_1;
  case 2:
    return move_2;
  case 4:
    return move_4;
  case 8:
    return move_8;
  default:
    return move_16;
  }
}

wia_status_t sample_prepare_broadcast(sample_node_t *node, wia_driver_kernel_t *out_kernel) {
  sample_skip_attribute(node, "shape");
  const sample_rows_t rows = sample_make_rows(node, choose_row(node->output->dtype));
  return sample_finish(node, sample_run_rows, SAMPLE_PROMPT, &rows, sizeof rows, out_kernel);
}

wia_status_t sample_prepare_transpose(sample_node_t *node, wia_driver_kernel_t *out_kernel) {
  const wia_tensor_layout_t *input = node->inputs[0], *output = node->output;
  int64_t order[WIA_MAX_RANK], strides[WIA_MAX_RANK];
  for (uint32_t i = 0; i < input->rank; i++) order[i] = input->rank - 1 - i;
  sample_get_list(node, "perm", input->rank, order);
  for (uint32_t i = 0; i < input->rank; i++)
    strides[i] = sample_stride(input, (uint32_t)(order[i] < 0 ? order[i] + input->rank : order[i]));
  sample_rows_t rows = {.row = choose_row(output->dtype)};
  sample_start_walk(&rows.walk, output->shape, output->rank);
  sample_add_strides(&rows.walk, strides);
  sample_add_layout(&rows.walk, output);
  sample_merge_walk(&rows.walk);
  return sample_finish(node, sample_run_rows, SAMPLE_PROMPT, &rows, sizeof rows, out_kernel);
}

/* -- reshape ----------------------------------------------------------------------------------- */

typedef struct reshape_t {
  sample_walk_t input, output; /* of one operand each: their shapes have nothing in common */
  sample_row_fn_t row;
} reshape_t;

/* A place in row-major order. */
typedef struct cursor_t {
  const sample_walk_t *walk;
  char *pointer;
  int64_t index[WIA_MAX_RANK];
} cursor_t;

/* Elements to the end of the innermost dimension; a merged walk of one element has none. */
static int64_t count_ahead(const cursor_t *cursor) {
  const uint32_t rank = cursor->walk->rank;
  return rank == 0 ? 1 : cursor->walk->shape[rank - 1] - cursor->index[rank - 1];
}

static void advance(cursor_t *cursor, int64_t count) {
  const sample_walk_t *walk = cursor->walk;
  for (uint32_t d = walk->rank; d-- > 0; count = 1) {
    cursor->pointer += count * walk->strides[d][0];
    cursor->index[d] += count;
    if (cursor->index[d] < walk->shape[d]) return;
    cursor->pointer -= walk->shape[d] * walk->strides[d][0];
    cursor->index[d] = 0;
  }
}

static wia_status_t run_reshape(void *state, const wia_kernel_args_t *args) {
  const reshape_t *s = state;
  cursor_t input = {.walk = &s->input, .pointer = sample_pointer(args, 0)};
  cursor_t output = {.walk = &s->output, .pointer = sample_pointer(args, 1)};
  const int64_t strides[] = {s->input.rank == 0 ? 0 : s->input.strides[s->input.rank - 1][0],
                             s->output.rank == 0 ? 0 : s->output.strides[s->output.rank - 1][0]};
  uint64_t left = args->operands[1].layout->element_count;
  while (left > 0) {
    int64_t count = count_ahead(&input);
    if (count_ahead(&output) < count) count = count_ahead(&output);
    s->row(NULL, (char *[]){input.pointer, output.pointer}, strides, count);
    advance(&input, count);
    advance(&output, count);
    left -= (uint64_t)count;
  }
  return WIA_STATUS_OK;
}

static sample_walk_t make_walk(const wia_tensor_layout_t *layout) {
  sample_walk_t walk;
  sample_start_walk(&walk, layout->shape, layout->rank);
  sample_add_layout(&walk, layout);
  sample_merge_walk(&walk);
  return walk;
}

wia_status_t sample_prepare_reshape(sample_node_t *node, wia_driver_kernel_t *out_kernel) {
  sample_skip_attribute(node, "shape");
  const reshape_t state = {.input = make_walk(node->inputs[0]),
                           .output = make_walk(node->output),
                           .row = choose_row(node->output->dtype)};
  return sample_finish(node, run_reshape, SAMPLE_PROMPT, &state, sizeof state, out_kernel);
}
