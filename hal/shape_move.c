/* shape_move.c: rules of operations that move elements. */
#include "shape.h"

#include <inttypes.h>

wia_status_t wia__infer_broadcast(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  wia_shape_t target;
  const wia_status_t status = wia__wanted_shape(call, &target);
  if (status) return status;
  bool fits = input->rank <= target.rank;
  for (uint32_t i = 1; fits && i <= input->rank; i++) {
    const int64_t size = input->shape[input->rank - i];
    fits = size == 1 || size == target.shape[target.rank - i];
  }
  if (!fits) {
    char given[WIA__SHAPE_TEXT], wanted[WIA__SHAPE_TEXT];
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "broadcast: input has the shape %s and can't be repeated to %s: counted from "
                     "the last, its dimensions must be equal to those or 1",
                     wia__format_shape(given, input->shape, input->rank),
                     wia__format_shape(wanted, target.shape, target.rank));
  }
  return wia__set_output(call, input->dtype, target.shape, target.rank);
}

wia_status_t wia__infer_transpose(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  uint32_t count, seen = 0;
  const wia_scalar_t *perm = wia__attribute_list(call, "perm", &count);
  int64_t shape[WIA_MAX_RANK];
  if (count && count != input->rank)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "transpose: perm has %u elements, input rank %u; expected as many, or none",
                     count, input->rank);
  for (uint32_t i = 0; i < input->rank; i++) {
    const int64_t from = count ? perm[i].i64 : (int64_t)(input->rank - 1 - i);
    if (from >= (int64_t)input->rank || seen >> from & 1)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "transpose: perm[%u] is %" PRId64 "; expected each of 0 to %u exactly once",
                       i, from, input->rank - 1);
    seen |= 1u << from;
    shape[i] = input->shape[from];
  }
  return wia__set_output(call, input->dtype, shape, input->rank);
}

/* Elements of a shape, without the size -1; false when it overflows. */
static bool count_elements(const wia_shape_t *shape, int64_t *out_count) {
  bool overflow = false;
  int64_t count = 1;
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (shape->shape[i] == 0) {
      *out_count = 0;
      return true;
    }
    if (shape->shape[i] > 0) overflow |= __builtin_mul_overflow(count, shape->shape[i], &count);
  }
  *out_count = count;
  return !overflow;
}

wia_status_t wia__infer_reshape(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  char given[WIA__SHAPE_TEXT], wanted[WIA__SHAPE_TEXT];
  wia_shape_t target;
  const wia_status_t status = wia__wanted_shape(call, &target);
  if (status) return status;
  wia__format_shape(given, input->shape, input->rank);
  wia__format_shape(wanted, target.shape, target.rank);
  int64_t count, known;
  uint32_t open = WIA_MAX_RANK;
  for (uint32_t i = 0; i < target.rank; i++) {
    if (target.shape[i] != -1) continue;
    if (open != WIA_MAX_RANK)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "reshape: the shape %s has -1 more than once; expected it at most once",
                       wanted);
    open = i;
  }
  bool fits = count_elements(input, &count) && count_elements(&target, &known);
  if (fits && open != WIA_MAX_RANK) {
    fits = known > 0 && count % known == 0;
    if (fits) target.shape[open] = count / known;
  } else {
    fits = fits && count == known;
  }
  if (!fits)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "reshape: input has the shape %s and can't become %s: expected as many "
                     "elements",
                     given, wanted);
  return wia__set_output(call, input->dtype, target.shape, target.rank);
}
