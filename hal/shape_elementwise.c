/* shape_elementwise.c: rules of operations on each element alone. */
#include "shape.h"

wia_status_t wia__infer_elementwise(const wia__infer_t *call) {
  const wia__op_t *op = call->op;
  wia_shape_t result = call->inputs[0];
  for (uint32_t i = 1; i < call->input_count; i++) {
    const wia_shape_t *input = &call->inputs[i];
    if (!wia__has_input(call, i)) continue;
    if (!wia__broadcast_shape(&result, input->shape, input->rank)) {
      char a[WIA__SHAPE_TEXT], b[WIA__SHAPE_TEXT];
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: %s has the shape %s and %s the shape %s, which don't broadcast: "
                       "counted from the last, dimensions must be equal or one of them 1",
                       op->name, op->operand_names[0],
                       wia__format_shape(a, call->inputs[0].shape, call->inputs[0].rank),
                       op->operand_names[i], wia__format_shape(b, input->shape, input->rank));
    }
  }
  return wia__set_output(call, result.dtype, result.shape, result.rank);
}

wia_status_t wia__infer_cast(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  wia_dtype_t dtype = (wia_dtype_t)wia__attribute(call, "dtype");
  if (dtype == WIA_DTYPE_NONE && call->given) dtype = call->given[0].dtype;
  if (dtype == WIA_DTYPE_NONE)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "cast: no dtype is given; set the attribute dtype, or give an output");
  if (!(call->op->dtypes >> dtype & 1))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "cast: can't convert %s to %s; the target may be what the input may be: a "
                     "float of 16 bits or more, an integer of 8 bits or more, or bool",
                     wia_get_dtype_name(input->dtype), wia_get_dtype_name(dtype));
  return wia__set_output(call, dtype, input->shape, input->rank);
}
