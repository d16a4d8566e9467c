/* shape_mask.c: rules of masks that broadcast to the first input, and of dropout. */
#include "shape.h"

/* That all inputs broadcast to the first one. */
static wia_status_t check_broadcast(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  for (uint32_t i = 1; i < call->input_count; i++) {
    const wia_shape_t *other = &call->inputs[i];
    bool fits = other->rank <= input->rank;
    for (uint32_t d = 1; fits && d <= other->rank; d++)
      fits = other->shape[other->rank - d] == input->shape[input->rank - d] ||
             other->shape[other->rank - d] == 1;
    if (fits) continue;
    char given[WIA__SHAPE_TEXT], expected[WIA__SHAPE_TEXT];
    return wia__fail(
        WIA_STATUS_INVALID_ARGUMENT,
        "%s: %s has the shape %s; expected one that broadcasts to %s, that of %s", call->op->name,
        call->op->operand_names[i], wia__format_shape(given, other->shape, other->rank),
        wia__format_shape(expected, input->shape, input->rank), call->op->operand_names[0]);
  }
  return WIA_STATUS_OK;
}

wia_status_t wia__infer_masked(const wia__infer_t *call) {
  const wia_status_t status = check_broadcast(call);
  return status ? status : wia__set_output_like(call, 0);
}

wia_status_t wia__infer_masked_softmax(const wia__infer_t *call) {
  const wia_status_t status = check_broadcast(call);
  return status ? status : wia__infer_softmax(call);
}

wia_status_t wia__infer_dropout(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  const wia_status_t status = wia__set_output_like(call, 0);
  return status ? status : wia__set_output_at(call, 1, WIA_BOOL, input->shape, input->rank);
}
