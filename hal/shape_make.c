/* shape_make.c: rules of operations without an input. */
#include "shape.h"

/* The output that the caller wants, with a rank in a range. */
static wia_status_t set_wanted(const wia__infer_t *call, uint32_t minimum, uint32_t maximum) {
  wia_shape_t target;
  wia_dtype_t dtype;
  char text[WIA__SHAPE_TEXT];
  wia_status_t status = wia__wanted_shape(call, &target);
  if (!status) status = wia__wanted_dtype(call, &dtype);
  if (status) return status;
  if (target.rank < minimum || target.rank > maximum)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: the shape %s has rank %u; expected %u%s",
                     call->op->name, wia__format_shape(text, target.shape, target.rank),
                     target.rank, minimum, minimum == maximum ? "" : " or more");
  return wia__set_output(call, dtype, target.shape, target.rank);
}

wia_status_t wia__infer_make(const wia__infer_t *call) { return set_wanted(call, 0, WIA_MAX_RANK); }

wia_status_t wia__infer_iota(const wia__infer_t *call) {
  wia_shape_t target;
  uint32_t axis;
  wia_status_t status = set_wanted(call, 1, WIA_MAX_RANK);
  if (!status) status = wia__wanted_shape(call, &target);
  if (!status) status = wia__read_axis(call, target.rank, &axis);
  return status;
}

wia_status_t wia__infer_eye(const wia__infer_t *call) { return set_wanted(call, 2, WIA_MAX_RANK); }

wia_status_t wia__infer_window(const wia__infer_t *call) { return set_wanted(call, 1, 1); }

wia_status_t wia__infer_mel_weight_matrix(const wia__infer_t *call) {
  const int64_t shape[2] = {wia__attribute(call, "dft_length") / 2 + 1,
                            wia__attribute(call, "bins")};
  wia_dtype_t dtype;
  const wia_status_t status = wia__wanted_dtype(call, &dtype);
  return status ? status : wia__set_output(call, dtype, shape, 2);
}
