/* shape_reduce.c: rules of operations that remove dimensions. */
#include "shape.h"

#include <inttypes.h>

/* The result without the dimensions whose bit is set, or with size 1 there. */
static wia_status_t set_reduced(const wia__infer_t *call, wia_dtype_t dtype, uint32_t reduced) {
  const wia_shape_t *input = &call->inputs[0];
  const bool keepdims = wia__attribute(call, "keepdims") != 0;
  int64_t shape[WIA_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < input->rank; i++) {
    if (!(reduced >> i & 1))
      shape[rank++] = input->shape[i];
    else if (keepdims)
      shape[rank++] = 1;
  }
  return wia__set_output(call, dtype, shape, rank);
}

/* That a largest or least element exists wherever the result has an element. */
static wia_status_t check_not_empty(const wia__infer_t *call, uint32_t reduced) {
  const wia_shape_t *input = &call->inputs[0];
  bool empty = false;
  for (uint32_t i = 0; i < input->rank; i++) {
    if (input->shape[i]) continue;
    if (!(reduced >> i & 1)) return WIA_STATUS_OK;
    empty = true;
  }
  if (!empty) return WIA_STATUS_OK;
  char text[WIA__SHAPE_TEXT];
  return wia__fail(
      WIA_STATUS_INVALID_ARGUMENT,
      "%s: input has the shape %s, so there is no element to choose among none; expected "
      "a size of 1 or more in the dimensions that are reduced",
      call->op->name, wia__format_shape(text, input->shape, input->rank));
}

wia_status_t wia__expect_axes(const wia__infer_t *call, const char *name, uint32_t rank,
                              uint32_t *out_axes) {
  uint32_t count, chosen = 0;
  const wia_scalar_t *axes = wia__attribute_list(call, name, &count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t axis;
    const wia_status_t status = wia__expect_axis(call, name, axes[i].i64, rank, &axis);
    if (status) return status;
    if (chosen >> axis & 1)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: %s names dimension %u twice; expected each one once", call->op->name,
                       name, axis);
    chosen |= 1u << axis;
  }
  *out_axes = count ? chosen : (1u << rank) - 1;
  return WIA_STATUS_OK;
}

wia_status_t wia__infer_reduce(const wia__infer_t *call) {
  uint32_t reduced;
  const wia_status_t status = wia__expect_axes(call, "axes", call->inputs[0].rank, &reduced);
  return status ? status : set_reduced(call, call->inputs[0].dtype, reduced);
}

wia_status_t wia__infer_reduce_nonempty(const wia__infer_t *call) {
  uint32_t reduced;
  wia_status_t status = wia__expect_axes(call, "axes", call->inputs[0].rank, &reduced);
  if (!status) status = check_not_empty(call, reduced);
  return status ? status : set_reduced(call, call->inputs[0].dtype, reduced);
}

wia_status_t wia__infer_argmax(const wia__infer_t *call) {
  uint32_t axis;
  wia_status_t status =
      wia__expect_axis(call, "axis", wia__attribute(call, "axis"), call->inputs[0].rank, &axis);
  if (!status) status = check_not_empty(call, 1u << axis);
  return status ? status : set_reduced(call, WIA_INT64, 1u << axis);
}
