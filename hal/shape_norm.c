/* shape_norm.c: rules of softmax and of normalisations. */
#include <inttypes.h>

#include "shape.h"

static wia_status_t read_axis(const wia__infer_t *call, uint32_t *out_axis) {
  return wia__expect_axis(call, "axis", wia__attribute(call, "axis"), call->inputs[0].rank,
                          out_axis);
}

wia_status_t wia__infer_softmax(const wia__infer_t *call) {
  uint32_t axis;
  const wia_status_t status = read_axis(call, &axis);
  return status ? status : wia__set_output_like(call, 0);
}

/* The first output is like the input; a second one has a place for each element. */
wia_status_t wia__infer_along_axis(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  const wia_status_t status = wia__infer_softmax(call);
  if (status || call->op->output_count == 1) return status;
  return wia__set_output_at(call, 1, WIA_INT64, input->shape, input->rank);
}

wia_status_t wia__infer_layer_norm(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  uint32_t axis;
  wia_status_t status = read_axis(call, &axis);
  for (uint32_t i = 1; !status && i < call->input_count; i++)
    if (wia__has_input(call, i))
      status = wia__expect_shape(call, i, input->shape + axis, input->rank - axis);
  return status ? status : wia__set_output_like(call, 0);
}

wia_status_t wia__infer_batch_norm(const wia__infer_t *call) {
  wia_status_t status = wia__expect_rank(call, 0, 2, WIA_MAX_RANK);
  for (uint32_t i = 1; !status && i < call->input_count; i++)
    if (wia__has_input(call, i)) status = wia__expect_shape(call, i, call->inputs[0].shape + 1, 1);
  return status ? status : wia__set_output_like(call, 0);
}

wia_status_t wia__infer_group_norm(const wia__infer_t *call) {
  const int64_t groups = wia__attribute(call, "groups");
  const wia_status_t status = wia__infer_batch_norm(call);
  if (status) return status;
  const int64_t channels = call->inputs[0].shape[1];
  if (channels % groups == 0) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: groups is %" PRId64 " and input has %" PRId64
                   " channels; expected a number that divides them",
                   call->op->name, groups, channels);
}

/* That there is an element to take statistics of, wherever the result has one: dimensions whose bit
 * is set are averaged over. */
static wia_status_t check_statistics(const wia__infer_t *call, uint32_t averaged) {
  const wia_shape_t *input = &call->inputs[0];
  char text[WIA__SHAPE_TEXT];
  bool empty = false;
  for (uint32_t i = 0; i < input->rank; i++) {
    if (input->shape[i]) continue;
    if (!(averaged >> i & 1)) return WIA_STATUS_OK;
    empty = true;
  }
  if (!empty) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: input has the shape %s, so there is no mean of no elements; expected a "
                   "size of 1 or more in the dimensions that are averaged over",
                   call->op->name, wia__format_shape(text, input->shape, input->rank));
}

wia_status_t wia__infer_batch_norm_training(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  wia_status_t status = wia__infer_batch_norm(call);
  if (!status) status = check_statistics(call, ~UINT32_C(2));
  for (uint32_t i = 1; !status && i < 3; i++)
    status = wia__set_output_at(call, i, input->dtype, input->shape + 1, 1);
  return status;
}

wia_status_t wia__infer_layer_norm_with_stats(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  int64_t shape[WIA_MAX_RANK];
  uint32_t axis = 0;
  wia_status_t status = wia__infer_layer_norm(call);
  if (!status) status = read_axis(call, &axis);
  if (!status) status = check_statistics(call, ~UINT32_C(0) << axis);
  for (uint32_t i = 0; i < input->rank; i++) shape[i] = i < axis ? input->shape[i] : 1;
  for (uint32_t i = 1; !status && i < 3; i++)
    status = wia__set_output_at(call, i, input->dtype == WIA_FLOAT64 ? WIA_FLOAT64 : WIA_FLOAT32,
                                shape, input->rank);
  return status;
}

wia_status_t wia__infer_lrn(const wia__infer_t *call) {
  const wia_status_t status = wia__expect_rank(call, 0, 2, WIA_MAX_RANK);
  return status ? status : wia__set_output_like(call, 0);
}

wia_status_t wia__infer_mean_variance_norm(const wia__infer_t *call) {
  uint32_t axes;
  const wia_status_t status = wia__expect_axes(call, "axes", call->inputs[0].rank, &axes);
  return status ? status : wia__set_output_like(call, 0);
}
