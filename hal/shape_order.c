/* shape_order.c: rules of operations that sort, search, and pick by value. */
#include <inttypes.h>
#include <stddef.h>

#include "shape.h"

wia_status_t wia__infer_sort(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  const wia_dtype_t dtype = call->op->op == WIA_OP_ARGSORT ? WIA_INT64 : input->dtype;
  uint32_t axis;
  const wia_status_t status = wia__read_axis(call, input->rank, &axis);
  return status ? status : wia__set_output(call, dtype, input->shape, input->rank);
}

wia_status_t wia__infer_top_k(const wia__infer_t *call) {
  wia_shape_t result = call->inputs[0];
  const int64_t k = wia__attribute(call, "k");
  uint32_t axis;
  wia_status_t status = wia__read_axis(call, result.rank, &axis);
  if (status) return status;
  if (k > result.shape[axis])
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "top_k: k is %" PRId64 ", and dimension %u of input has %" PRId64
                     " elements; expected at most as many",
                     k, axis, result.shape[axis]);
  result.shape[axis] = k;
  status = wia__set_output(call, result.dtype, result.shape, result.rank);
  return status ? status : wia__set_output_at(call, 1, WIA_INT64, result.shape, result.rank);
}

wia_status_t wia__infer_searchsorted(const wia__infer_t *call) {
  const wia_shape_t *rows = &call->inputs[0], *values = &call->inputs[1];
  const wia_status_t status = wia__expect_rank(call, 0, 1, WIA_MAX_RANK);
  if (status) return status;
  bool fits = rows->rank == 1 || rows->rank == values->rank;
  for (uint32_t i = 0; fits && rows->rank > 1 && i + 1 < rows->rank; i++)
    fits = rows->shape[i] == values->shape[i];
  if (fits) return wia__set_output(call, WIA_INT64, values->shape, values->rank);
  char a[WIA__SHAPE_TEXT], b[WIA__SHAPE_TEXT];
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "searchsorted: boundaries has the shape %s and values the shape %s; expected "
                   "boundaries of rank 1, or equal sizes in all dimensions but the last",
                   wia__format_shape(a, rows->shape, rows->rank),
                   wia__format_shape(b, values->shape, values->rank));
}

wia_status_t wia__infer_nonzero(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  int64_t shape[2] = {0, input->rank};
  wia_status_t status = wia__count_elements(call, input, &shape[0]);
  if (!status) status = wia__set_output(call, WIA_INT64, shape, 2);
  return status ? status : wia__set_output_at(call, 1, WIA_INT64, NULL, 0);
}

/* Input as rows: the dimension that the attribute axis names becomes the first one; without it
 * every element is a row. */
static wia_status_t read_rows(const wia__infer_t *call, wia_shape_t *out_rows) {
  const wia_shape_t *input = &call->inputs[0];
  uint32_t count, axis;
  const wia_scalar_t *axes = wia__attribute_list(call, "axis", &count);
  *out_rows = (wia_shape_t){.dtype = input->dtype, .rank = 1};
  if (count == 0) return wia__count_elements(call, input, &out_rows->shape[0]);
  const wia_status_t status = wia__expect_axis(call, "axis", axes[0].i64, input->rank, &axis);
  if (status) return status;
  out_rows->shape[0] = input->shape[axis];
  for (uint32_t i = 0; i < input->rank; i++)
    if (i != axis) out_rows->shape[out_rows->rank++] = input->shape[i];
  return WIA_STATUS_OK;
}

wia_status_t wia__infer_compress(const wia__infer_t *call) {
  const wia_shape_t *condition = &call->inputs[1];
  wia_shape_t rows;
  wia_status_t status = wia__expect_rank(call, 1, 1, 1);
  if (!status) status = read_rows(call, &rows);
  if (status) return status;
  if (condition->shape[0] > rows.shape[0])
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "compress: condition has %" PRId64 " elements and input %" PRId64
                     " slices; expected at most as many",
                     condition->shape[0], rows.shape[0]);
  rows.shape[0] = condition->shape[0];
  status = wia__set_output(call, rows.dtype, rows.shape, rows.rank);
  return status ? status : wia__set_output_at(call, 1, WIA_INT64, NULL, 0);
}

wia_status_t wia__infer_unique(const wia__infer_t *call) {
  wia_shape_t rows;
  wia_status_t status = read_rows(call, &rows);
  if (!status) status = wia__set_output(call, rows.dtype, rows.shape, rows.rank);
  if (!status) status = wia__set_output_at(call, 1, WIA_INT64, NULL, 0);
  for (uint32_t i = 2; !status && i < 5; i++)
    status = wia__set_output_at(call, i, WIA_INT64, rows.shape, 1);
  return status;
}
