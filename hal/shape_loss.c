/* shape_loss.c: rules of losses, of steps of optimisers and of draws. */
#include "shape.h"

enum { REDUCTION_NONE = 2 };

/* The shape of the losses, or rank 0 when they become one number. */
static wia_status_t set_loss(const wia__infer_t *call, const int64_t *shape, uint32_t rank) {
  const bool each = wia__attribute(call, "reduction") == REDUCTION_NONE;
  return wia__set_output(call, call->inputs[0].dtype, shape, each ? rank : 0);
}

wia_status_t wia__infer_loss(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  const wia_status_t status = wia__expect_shape(call, 1, input->shape, input->rank);
  return status ? status : set_loss(call, input->shape, input->rank);
}

wia_status_t wia__infer_class_loss(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  int64_t shape[WIA_MAX_RANK];
  wia_status_t status = wia__expect_rank(call, 0, 2, WIA_MAX_RANK);
  if (status) return status;
  for (uint32_t i = 1; i < input->rank; i++) shape[i - 1] = input->shape[i > 1 ? i : 0];
  status = wia__expect_shape(call, 1, shape, input->rank - 1);
  if (!status && wia__has_input(call, 2)) status = wia__expect_shape(call, 2, &input->shape[1], 1);
  if (!status) status = set_loss(call, shape, input->rank - 1);
  if (status || call->op->output_count == 1) return status;
  return wia__set_output_at(call, 1, input->dtype, input->shape, input->rank);
}

wia_status_t wia__infer_cosine_similarity(const wia__infer_t *call) {
  wia_shape_t result = call->inputs[0];
  uint32_t axis;
  wia_status_t status = wia__expect_shape(call, 1, result.shape, result.rank);
  if (!status) status = wia__read_axis(call, result.rank, &axis);
  if (status) return status;
  result.rank--;
  for (uint32_t i = axis; i < result.rank; i++) result.shape[i] = result.shape[i + 1];
  return wia__set_output(call, result.dtype, result.shape, result.rank);
}

wia_status_t wia__infer_step(const wia__infer_t *call) {
  const wia_shape_t *parameter = &call->inputs[0];
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t i = 1; i < call->input_count && !status; i++)
    status = wia__expect_shape(call, i, parameter->shape, parameter->rank);
  for (uint32_t i = 0; i < call->op->output_count && !status; i++)
    status = wia__set_output_at(call, i, parameter->dtype, parameter->shape, parameter->rank);
  return status;
}

wia_status_t wia__infer_multinomial(const wia__infer_t *call) {
  const wia_status_t status = wia__expect_rank(call, 0, 2, 2);
  const int64_t shape[2] = {call->inputs[0].shape[0], wia__attribute(call, "count")};
  return status ? status : wia__set_output(call, WIA_INT64, shape, 2);
}
