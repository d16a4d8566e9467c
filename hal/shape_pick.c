/* shape_pick.c: rules of operations that pick by number, or store there. */
#include "shape.h"

#include <inttypes.h>

/* What gather picks: the shape of input with that of indices in place of an axis. */
static wia_status_t gathered(const wia__infer_t *call, wia_shape_t *out_result) {
  const wia_shape_t *input = &call->inputs[0], *indices = &call->inputs[1];
  uint32_t axis, rank = 0;
  const wia_status_t status = wia__read_axis(call, call->inputs[0].rank, &axis);
  if (status) return status;
  if (input->rank - 1 + indices->rank > WIA_MAX_RANK)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: input has rank %u and indices rank %u, so the result has %u "
                     "dimensions; expected at most %d",
                     call->op->name, input->rank, indices->rank, input->rank - 1 + indices->rank,
                     WIA_MAX_RANK);
  *out_result = (wia_shape_t){.dtype = input->dtype};
  int64_t *shape = out_result->shape;
  for (uint32_t i = 0; i < axis; i++) shape[rank++] = input->shape[i];
  for (uint32_t i = 0; i < indices->rank; i++) shape[rank++] = indices->shape[i];
  for (uint32_t i = axis + 1; i < input->rank; i++) shape[rank++] = input->shape[i];
  out_result->rank = rank;
  return WIA_STATUS_OK;
}

/* What gather_elements picks: the shape of indices, which input is large enough for. */
static wia_status_t gathered_elements(const wia__infer_t *call, wia_shape_t *out_result) {
  const wia_shape_t *input = &call->inputs[0], *indices = &call->inputs[1];
  uint32_t axis;
  wia_status_t status = wia__read_axis(call, call->inputs[0].rank, &axis);
  if (!status) status = wia__expect_rank(call, 1, input->rank, input->rank);
  if (status) return status;
  for (uint32_t i = 0; i < input->rank; i++) {
    if (i == axis || indices->shape[i] <= input->shape[i]) continue;
    char a[WIA__SHAPE_TEXT], b[WIA__SHAPE_TEXT];
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: indices has the shape %s and input the shape %s; expected that indices "
                     "is no larger in any dimension but %u",
                     call->op->name, wia__format_shape(a, indices->shape, indices->rank),
                     wia__format_shape(b, input->shape, input->rank), axis);
  }
  *out_result = *indices;
  out_result->dtype = input->dtype;
  return WIA_STATUS_OK;
}

/* That the first dimensions of input and indices are equal. */
static wia_status_t check_batch(const wia__infer_t *call, int64_t batch) {
  const wia_shape_t *input = &call->inputs[0], *indices = &call->inputs[1];
  bool fits = batch < (int64_t)indices->rank && batch < (int64_t)input->rank;
  for (int64_t i = 0; fits && i < batch; i++) fits = input->shape[i] == indices->shape[i];
  if (fits) return WIA_STATUS_OK;
  char a[WIA__SHAPE_TEXT], b[WIA__SHAPE_TEXT];
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: batch_dims is %" PRId64
                   ", input has the shape %s and indices the shape %s; expected both to have more "
                   "dimensions, and as many that are equal",
                   call->op->name, batch, wia__format_shape(a, input->shape, input->rank),
                   wia__format_shape(b, indices->shape, indices->rank));
}

/* What gather_nd picks: a slice for each tuple. */
static wia_status_t gathered_nd(const wia__infer_t *call, int64_t batch, wia_shape_t *out_result) {
  const wia_shape_t *input = &call->inputs[0], *indices = &call->inputs[1];
  wia_status_t status = wia__expect_rank(call, 0, 1, WIA_MAX_RANK);
  if (!status) status = wia__expect_rank(call, 1, 1, WIA_MAX_RANK);
  if (!status) status = check_batch(call, batch);
  if (status) return status;
  const int64_t named = indices->shape[indices->rank - 1];
  const int64_t left = (int64_t)input->rank - batch - named;
  if (left < 0)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: the tuples of indices have %" PRId64
                     " elements, the last dimension of indices; input has rank %u and the batch "
                     "%" PRId64 " of its dimensions, so expected at most %" PRId64,
                     call->op->name, named, input->rank, batch, (int64_t)input->rank - batch);
  if (indices->rank - 1 + left > WIA_MAX_RANK)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: there are %u dimensions of tuples and %" PRId64
                     " of a slice; expected at most %d in all",
                     call->op->name, indices->rank - 1, left, WIA_MAX_RANK);
  *out_result = *indices;
  out_result->dtype = input->dtype;
  out_result->rank = indices->rank - 1;
  for (uint32_t i = input->rank - (uint32_t)left; i < input->rank; i++)
    out_result->shape[out_result->rank++] = input->shape[i];
  return WIA_STATUS_OK;
}

static wia_status_t set_picked(const wia__infer_t *call, wia_status_t status,
                               const wia_shape_t *result) {
  return status ? status : wia__set_output(call, result->dtype, result->shape, result->rank);
}

wia_status_t wia__infer_gather(const wia__infer_t *call) {
  wia_shape_t result;
  const wia_status_t status = gathered(call, &result);
  return set_picked(call, status, &result);
}

wia_status_t wia__infer_gather_elements(const wia__infer_t *call) {
  wia_shape_t result;
  const wia_status_t status = gathered_elements(call, &result);
  return set_picked(call, status, &result);
}

wia_status_t wia__infer_gather_nd(const wia__infer_t *call) {
  wia_shape_t result;
  const wia_status_t status = gathered_nd(call, wia__attribute(call, "batch_dims"), &result);
  return set_picked(call, status, &result);
}

static bool is_number(wia_dtype_t dtype) {
  switch (dtype) {
  case WIA_FLOAT64:
  case WIA_FLOAT32:
  case WIA_FLOAT16:
  case WIA_BFLOAT16:
  case WIA_INT64:
  case WIA_INT32:
  case WIA_INT16:
  case WIA_INT8:
  case WIA_UINT64:
  case WIA_UINT32:
  case WIA_UINT16:
  case WIA_UINT8:
    return true;
  default:
    return false;
  }
}

/* That elements of a dtype can be added, multiplied and compared. */
static wia_status_t check_reduction(const wia__infer_t *call) {
  const wia_dtype_t dtype = call->inputs[0].dtype;
  const int64_t reduction = wia__attribute(call, "reduction");
  if (reduction == 0 || is_number(dtype)) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: reduction is %" PRId64 " and input %s; expected an integer or one of "
                   "float64, float32, float16 and bfloat16, or the reduction none, 0",
                   call->op->name, reduction, wia_get_dtype_name(dtype));
}

/* The result of a scatter, whose updates have the shape of what would be picked. */
static wia_status_t set_scattered(const wia__infer_t *call, wia_status_t status,
                                  const wia_shape_t *picked) {
  const wia_shape_t *input = &call->inputs[0];
  if (!status) status = wia__expect_shape(call, 2, picked->shape, picked->rank);
  return status ? status : wia__set_output(call, input->dtype, input->shape, input->rank);
}

wia_status_t wia__infer_scatter_elements(const wia__infer_t *call) {
  wia_shape_t picked;
  wia_status_t status = check_reduction(call);
  if (!status) status = gathered_elements(call, &picked);
  return set_scattered(call, status, &picked);
}

wia_status_t wia__infer_scatter_nd(const wia__infer_t *call) {
  wia_shape_t picked;
  wia_status_t status = check_reduction(call);
  if (!status) status = gathered_nd(call, 0, &picked);
  return set_scattered(call, status, &picked);
}

wia_status_t wia__infer_index_add(const wia__infer_t *call) {
  wia_shape_t picked;
  const wia_status_t status = gathered(call, &picked);
  return set_scattered(call, status, &picked);
}
