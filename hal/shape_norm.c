/* shape_norm.c: rules of softmax and of normalisations. */
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
