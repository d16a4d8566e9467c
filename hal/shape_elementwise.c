/* shape_elementwise.c: rules of operations on each element alone. */
#include "shape.h"

wia_status_t wia__infer_same(const wia__infer_t *call) { return wia__set_output_like(call, 0); }

/* The shape of all inputs together. */
static wia_status_t broadcast_inputs(const wia__infer_t *call, wia_shape_t *out_result) {
  const wia__op_t *op = call->op;
  wia_shape_t result = call->inputs[0];
  for (uint32_t i = 1; i < call->input_count; i++) {
    const wia_shape_t *input = &call->inputs[i], before = result;
    if (!wia__has_input(call, i) || wia__broadcast_shape(&result, input->shape, input->rank))
      continue;
    char a[WIA__SHAPE_TEXT], b[WIA__SHAPE_TEXT];
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: %s has the shape %s and %s the shape %s, which don't broadcast: "
                     "counted from the last, dimensions must be equal or one of them 1",
                     op->name, i == 1 ? op->operand_names[0] : "what is before it",
                     wia__format_shape(a, before.shape, before.rank), op->operand_names[i],
                     wia__format_shape(b, input->shape, input->rank));
  }
  *out_result = result;
  return WIA_STATUS_OK;
}

wia_status_t wia__infer_elementwise(const wia__infer_t *call) {
  wia_shape_t result;
  const wia_status_t status = broadcast_inputs(call, &result);
  if (status) return status;
  return wia__set_output(call, call->inputs[call->op->dtype_input].dtype, result.shape,
                         result.rank);
}

wia_status_t wia__infer_compare(const wia__infer_t *call) {
  wia_shape_t result;
  const wia_status_t status = broadcast_inputs(call, &result);
  return status ? status : wia__set_output(call, WIA_BOOL, result.shape, result.rank);
}

wia_status_t wia__infer_cast(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  wia_dtype_t dtype;
  const wia_status_t status = wia__wanted_dtype(call, &dtype);
  return status ? status : wia__set_output(call, dtype, input->shape, input->rank);
}

wia_status_t wia__infer_bitcast(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  wia_dtype_t dtype;
  const wia_status_t status = wia__wanted_dtype(call, &dtype);
  if (status) return status;
  const uint32_t bits = wia_get_dtype_bits(input->dtype), wanted = wia_get_dtype_bits(dtype);
  if (bits == wanted) return wia__set_output(call, dtype, input->shape, input->rank);
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "bitcast: input is %s, of %u bits, and the result %s, of %u; expected as many",
                   wia_get_dtype_name(input->dtype), bits, wia_get_dtype_name(dtype), wanted);
}
