/* shape_linear.c: rules of matrix products. */
#include "shape.h"

#include <inttypes.h>

static wia_status_t wrong_k(const wia__infer_t *call, uint32_t left, uint32_t right, int64_t k_left,
                            int64_t k_right, const char *advice) {
  char a[WIA__SHAPE_TEXT], b[WIA__SHAPE_TEXT];
  const wia_shape_t *x = &call->inputs[left], *y = &call->inputs[right];
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: %s has the shape %s and %s the shape %s: the dimensions that are summed "
                   "over have sizes %" PRId64 " and %" PRId64 ", expected equal ones%s",
                   call->op->name, call->op->operand_names[left],
                   wia__format_shape(a, x->shape, x->rank), call->op->operand_names[right],
                   wia__format_shape(b, y->shape, y->rank), k_left, k_right, advice);
}

static wia_status_t no_transpose(const wia__infer_t *call, const char *attribute, uint32_t index) {
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: %s is set, but %s has rank 1; expected rank 2 or more", call->op->name,
                   attribute, call->op->operand_names[index]);
}

/* A matrix as a product sees it: its last two dimensions, or those that a 1-D operand stands for. */
typedef struct matrix_t {
  uint32_t index;
  bool swapped; /* the last two dimensions are */
} matrix_t;

/* A product by numpy's rules of rank. advice ends the message about sizes that differ. */
static wia_status_t set_product(const wia__infer_t *call, matrix_t left, matrix_t right,
                                wia_dtype_t dtype, const char *advice) {
  const wia_shape_t *a = &call->inputs[left.index], *b = &call->inputs[right.index];
  wia_status_t status = wia__expect_rank(call, left.index, 1, WIA_MAX_RANK);
  if (!status) status = wia__expect_rank(call, right.index, 1, WIA_MAX_RANK);
  if (status) return status;
  if (left.swapped && a->rank == 1) return no_transpose(call, "transpose_a", left.index);
  if (right.swapped && b->rank == 1) return no_transpose(call, "transpose_b", right.index);

  const int64_t k_a = a->shape[a->rank - (left.swapped ? 2 : 1)];
  const int64_t k_b = b->rank == 1 ? b->shape[0] : b->shape[b->rank - (right.swapped ? 1 : 2)];
  if (k_a != k_b) return wrong_k(call, left.index, right.index, k_a, k_b, advice);

  wia_shape_t result = {.dtype = a->dtype, .rank = a->rank > 2 ? a->rank - 2 : 0};
  for (uint32_t i = 0; i < result.rank; i++) result.shape[i] = a->shape[i];
  if (!wia__broadcast_shape(&result, b->shape, b->rank > 2 ? b->rank - 2 : 0)) {
    char x[WIA__SHAPE_TEXT], y[WIA__SHAPE_TEXT];
    const char *const *names = call->op->operand_names;
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: %s has the shape %s and %s the shape %s: the dimensions before the "
                     "last two don't broadcast; expected equal sizes, or 1",
                     call->op->name, names[left.index], wia__format_shape(x, a->shape, a->rank),
                     names[right.index], wia__format_shape(y, b->shape, b->rank));
  }
  if (a->rank > 1) result.shape[result.rank++] = a->shape[a->rank - (left.swapped ? 1 : 2)];
  if (b->rank > 1) result.shape[result.rank++] = b->shape[b->rank - (right.swapped ? 2 : 1)];
  return wia__set_output(call, dtype, result.shape, result.rank);
}

wia_status_t wia__set_product(const wia__infer_t *call, uint32_t left, uint32_t right,
                              wia_dtype_t dtype) {
  return set_product(call, (matrix_t){left, false}, (matrix_t){right, false}, dtype, "");
}

wia_status_t wia__infer_matmul(const wia__infer_t *call) {
  const matrix_t a = {0, wia__attribute(call, "transpose_a") != 0};
  const matrix_t b = {1, wia__attribute(call, "transpose_b") != 0};
  return set_product(call, a, b, wia__product_dtype(call->inputs[0].dtype),
                     " (transpose_a and transpose_b swap the last two)");
}

/* That an input of a matrix product broadcasts to the result. */
static wia_status_t check_addend(const wia__infer_t *call, uint32_t index, const int64_t *shape) {
  const wia_shape_t *input = &call->inputs[index];
  bool fits = input->rank <= 2;
  for (uint32_t i = 1; fits && i <= input->rank; i++)
    fits = input->shape[input->rank - i] == shape[2 - i] || input->shape[input->rank - i] == 1;
  if (fits) return WIA_STATUS_OK;
  char given[WIA__SHAPE_TEXT], expected[WIA__SHAPE_TEXT];
  return wia__fail(
      WIA_STATUS_INVALID_ARGUMENT, "%s: %s has the shape %s; expected one that broadcasts to %s",
      call->op->name, call->op->operand_names[index],
      wia__format_shape(given, input->shape, input->rank), wia__format_shape(expected, shape, 2));
}

wia_status_t wia__infer_addmm(const wia__infer_t *call) {
  const wia_shape_t *a = &call->inputs[1], *b = &call->inputs[2];
  wia_status_t status = wia__expect_rank(call, 1, 2, 2);
  if (!status) status = wia__expect_rank(call, 2, 2, 2);
  if (status) return status;
  if (a->shape[1] != b->shape[0]) return wrong_k(call, 1, 2, a->shape[1], b->shape[0], "");
  const int64_t shape[2] = {a->shape[0], b->shape[1]};
  status = check_addend(call, 0, shape);
  return status ? status : wia__set_output(call, call->inputs[0].dtype, shape, 2);
}

wia_status_t wia__infer_gemm(const wia__infer_t *call) {
  const wia_shape_t *a = &call->inputs[0], *b = &call->inputs[1];
  const bool swap_a = wia__attribute(call, "transpose_a") != 0;
  const bool swap_b = wia__attribute(call, "transpose_b") != 0;
  wia_status_t status = wia__expect_rank(call, 0, 2, 2);
  if (!status) status = wia__expect_rank(call, 1, 2, 2);
  if (status) return status;
  if (a->shape[!swap_a] != b->shape[swap_b])
    return wrong_k(call, 0, 1, a->shape[!swap_a], b->shape[swap_b],
                   " (transpose_a and transpose_b swap the two)");
  const int64_t shape[2] = {a->shape[swap_a], b->shape[!swap_b]};
  if (wia__has_input(call, 2)) status = check_addend(call, 2, shape);
  return status ? status : wia__set_output(call, a->dtype, shape, 2);
}

wia_status_t wia__infer_linear(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0], *weight = &call->inputs[1];
  const wia_dtype_t dtype = wia__product_dtype(input->dtype);
  wia_status_t status = wia__expect_rank(call, 0, 1, WIA_MAX_RANK);
  if (!status) status = wia__expect_rank(call, 1, 2, 2);
  if (!status) status = wia__expect_dtype(call, 1, input->dtype);
  if (status) return status;
  const int64_t k = input->shape[input->rank - 1];
  if (k != weight->shape[1])
    return wrong_k(call, 0, 1, k, weight->shape[1], " (weight is [out, in])");
  if (wia__has_input(call, 2)) {
    status = wia__expect_shape(call, 2, weight->shape, 1);
    if (!status) status = wia__expect_dtype(call, 2, dtype);
    if (status) return status;
  }
  wia_shape_t result = *input;
  result.shape[result.rank - 1] = weight->shape[0];
  return wia__set_output(call, dtype, result.shape, result.rank);
}
