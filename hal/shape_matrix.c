/* shape_matrix.c: rules of diagonals, of sequences, and of numbers of classes. */
#include <inttypes.h>

#include "shape.h"

wia_status_t wia__infer_trilu(const wia__infer_t *call) {
  const wia_status_t status = wia__expect_rank(call, 0, 2, WIA_MAX_RANK);
  return status ? status : wia__set_output_like(call, 0);
}

wia_status_t wia__infer_diag(const wia__infer_t *call) {
  wia_shape_t result = call->inputs[0];
  const int64_t k = wia__attribute(call, "k");
  const wia_status_t status = wia__expect_rank(call, 0, 1, WIA_MAX_RANK - 1);
  if (status) return status;
  int64_t *size = &result.shape[result.rank - 1];
  if (__builtin_add_overflow(*size, k < 0 ? -k : k, size))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "diag: the matrix would have more rows than 63 bits can count");
  result.shape[result.rank] = *size;
  return wia__set_output(call, result.dtype, result.shape, result.rank + 1);
}

wia_status_t wia__infer_reverse_sequence(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  uint32_t time, batch;
  wia_status_t status =
      wia__expect_axis(call, "time_axis", wia__attribute(call, "time_axis"), input->rank, &time);
  if (!status)
    status = wia__expect_axis(call, "batch_axis", wia__attribute(call, "batch_axis"), input->rank,
                              &batch);
  if (status) return status;
  if (time == batch)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "reverse_sequence: time_axis and batch_axis both name dimension %u; expected "
                     "two of them",
                     time);
  status = wia__expect_shape(call, 1, &input->shape[batch], 1);
  return status ? status : wia__set_output_like(call, 0);
}

wia_status_t wia__infer_one_hot(const wia__infer_t *call) {
  const wia_shape_t *indices = &call->inputs[0];
  uint32_t axis;
  int64_t shape[WIA_MAX_RANK];
  wia_dtype_t dtype;
  wia_status_t status = wia__expect_rank(call, 0, 0, WIA_MAX_RANK - 1);
  if (!status) status = wia__new_axis(call, indices->rank, &axis);
  if (!status) status = wia__wanted_dtype(call, &dtype);
  if (status) return status;
  for (uint32_t i = 0; i <= indices->rank; i++)
    shape[i] = i < axis    ? indices->shape[i]
               : i == axis ? wia__attribute(call, "depth")
                           : indices->shape[i - 1];
  return wia__set_output(call, dtype, shape, indices->rank + 1);
}

wia_status_t wia__infer_bincount(const wia__infer_t *call) {
  const int64_t length = wia__attribute(call, "length");
  return wia__set_output(call, WIA_INT64, &length, 1);
}
