/* shape_signal.c: rules of operations on signals and on square matrices. */
#include <inttypes.h>

#include "shape.h"

/* That the last dimension of the input holds real numbers, or pairs of real and imaginary parts. */
static wia_status_t check_parts(const wia__infer_t *call, bool pairs_only) {
  const wia_shape_t *input = &call->inputs[0];
  const int64_t parts = input->shape[input->rank - 1];
  if (parts == 2 || (parts == 1 && !pairs_only)) return WIA_STATUS_OK;
  char text[WIA__SHAPE_TEXT];
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: input has the shape %s; expected a last dimension of %s2 for real and "
                   "imaginary parts",
                   call->op->name, wia__format_shape(text, input->shape, input->rank),
                   pairs_only ? "" : "1 for real numbers, or ");
}

wia_status_t wia__infer_dft(const wia__infer_t *call) {
  wia_shape_t result = call->inputs[0];
  const bool inverse = wia__attribute(call, "inverse"), onesided = wia__attribute(call, "onesided");
  int64_t length = wia__attribute(call, "length");
  uint32_t axis;
  wia_status_t status = wia__expect_rank(call, 0, 2, WIA_MAX_RANK);
  if (!status) status = wia__read_axis(call, result.rank, &axis);
  if (!status) status = check_parts(call, inverse && onesided);
  if (status) return status;
  if (axis == result.rank - 1)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "dft: axis names dimension %u, the last one, which holds real and imaginary "
                     "parts; expected one before it",
                     axis);
  const int64_t size = result.shape[axis];
  if (length == 0) length = inverse && onesided ? 2 * (size - 1) : size;
  if (length < 1)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "dft: dimension %u of input has %" PRId64
                     " elements, so the transform would have the length %" PRId64
                     "; expected 1 or more",
                     axis, size, length);
  result.shape[axis] = onesided && !inverse ? length / 2 + 1 : length;
  result.shape[result.rank - 1] = onesided && inverse ? 1 : 2;
  return wia__set_output(call, result.dtype, result.shape, result.rank);
}

wia_status_t wia__infer_stft(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  const int64_t step = wia__attribute(call, "frame_step");
  int64_t length = wia__attribute(call, "frame_length");
  wia_status_t status = wia__expect_rank(call, 0, 3, 3);
  if (!status) status = check_parts(call, false);
  if (status) return status;
  if (step < 1)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "stft: frame_step is %" PRId64 "; it has no default: expected 1 or more",
                     step);
  if (wia__has_input(call, 1)) {
    status = wia__expect_rank(call, 1, 1, 1);
    if (status) return status;
    if (length == 0) length = call->inputs[1].shape[0];
    status = wia__expect_shape(call, 1, &length, 1);
    if (status) return status;
  }
  if (length < 1 || length > input->shape[1])
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "stft: the length of a frame is %" PRId64
                     ", from frame_length or window, and a signal has %" PRId64
                     " elements; expected 1 to as many",
                     length, input->shape[1]);
  const int64_t shape[4] = {input->shape[0], (input->shape[1] - length) / step + 1,
                            wia__attribute(call, "onesided") ? length / 2 + 1 : length, 2};
  return wia__set_output(call, input->dtype, shape, 4);
}

/* That the last two dimensions of an input are equal. */
static wia_status_t check_square(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  const wia_status_t status = wia__expect_rank(call, 0, 2, WIA_MAX_RANK);
  if (status) return status;
  if (input->shape[input->rank - 1] == input->shape[input->rank - 2]) return WIA_STATUS_OK;
  char text[WIA__SHAPE_TEXT];
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: %s has the shape %s; expected square matrices in the last two dimensions",
                   call->op->name, call->op->operand_names[0],
                   wia__format_shape(text, input->shape, input->rank));
}

wia_status_t wia__infer_square(const wia__infer_t *call) {
  const wia_status_t status = check_square(call);
  return status ? status : wia__set_output_like(call, 0);
}

wia_status_t wia__infer_determinant(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  const wia_status_t status = check_square(call);
  return status ? status : wia__set_output(call, input->dtype, input->shape, input->rank - 2);
}

wia_status_t wia__infer_solve_triangular(const wia__infer_t *call) {
  const wia_shape_t *a = &call->inputs[0], *b = &call->inputs[1];
  const wia_status_t status = check_square(call);
  if (status) return status;
  bool fits = a->rank == b->rank;
  for (uint32_t i = 0; fits && i + 1 < a->rank; i++) fits = a->shape[i] == b->shape[i];
  if (fits) return wia__set_output_like(call, 1);
  char given[WIA__SHAPE_TEXT], other[WIA__SHAPE_TEXT];
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "solve_triangular: a has the shape %s and b the shape %s; expected equal sizes "
                   "in all dimensions but the last",
                   wia__format_shape(given, a->shape, a->rank),
                   wia__format_shape(other, b->shape, b->rank));
}
