/* shape_cut.c: rules of operations that join, cut and pad. */
#include <inttypes.h>

#include "shape.h"

/* That an input may stand beside the first one along an axis. */
static wia_status_t check_joined(const wia__infer_t *call, uint32_t i, uint32_t axis) {
  const wia__op_t *op = call->op;
  const wia_shape_t *first = &call->inputs[0], *input = &call->inputs[i];
  if (!wia__has_input(call, i))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: %s is left out, and one behind it is not; expected a list without gaps",
                     op->name, op->operand_names[i]);
  bool fits = input->rank == first->rank;
  for (uint32_t d = 0; fits && d < first->rank; d++)
    fits = d == axis || input->shape[d] == first->shape[d];
  if (fits) return WIA_STATUS_OK;
  char a[WIA__SHAPE_TEXT], b[WIA__SHAPE_TEXT];
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: %s has the shape %s and %s the shape %s; expected equal sizes in all "
                   "dimensions but %u",
                   op->name, op->operand_names[0], wia__format_shape(a, first->shape, first->rank),
                   op->operand_names[i], wia__format_shape(b, input->shape, input->rank), axis);
}

wia_status_t wia__infer_concat(const wia__infer_t *call) {
  wia_shape_t result = call->inputs[0];
  uint32_t axis, count = call->input_count;
  while (count > 1 && !wia__has_input(call, count - 1)) count--;
  wia_status_t status = wia__read_axis(call, result.rank, &axis);
  for (uint32_t i = 1; !status && i < count; i++) {
    status = check_joined(call, i, axis);
    if (!status && __builtin_add_overflow(result.shape[axis], call->inputs[i].shape[axis],
                                          &result.shape[axis]))
      status = wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                         "%s: the sizes of dimension %u add up to more than 63 bits",
                         call->op->name, axis);
  }
  return status ? status : wia__set_output(call, result.dtype, result.shape, result.rank);
}

wia_status_t wia__infer_split(const wia__infer_t *call) {
  wia_shape_t part = call->inputs[0];
  uint32_t axis, count;
  const wia_scalar_t *sizes = wia__attribute_list(call, "sizes", &count);
  wia_status_t status = wia__read_axis(call, part.rank, &axis);
  if (status) return status;
  const int64_t size = part.shape[axis];
  int64_t left = size, listed[WIA_MAX_RANK];
  bool fits = count > 0;
  for (uint32_t k = 0; k < count; k++) {
    listed[k] = sizes[k].i64;
    fits = fits && listed[k] <= left;
    if (fits) left -= listed[k];
  }
  char text[WIA__SHAPE_TEXT];
  if (!fits || left)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "split: sizes is %s; expected 1 to 8 sizes that add up to %" PRId64
                     ", the size of dimension %u of input",
                     wia__format_shape(text, listed, count), size, axis);
  for (uint32_t k = 0; !status && k < count; k++) {
    part.shape[axis] = listed[k];
    status = wia__set_output_at(call, k, part.dtype, part.shape, part.rank);
  }
  return status;
}

wia_status_t wia__infer_glu(const wia__infer_t *call) {
  wia_shape_t result = call->inputs[0];
  uint32_t axis;
  const wia_status_t status = wia__read_axis(call, result.rank, &axis);
  if (status) return status;
  if (result.shape[axis] % 2)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: dimension %u has the size %" PRId64
                     "; expected an even one, which can be "
                     "cut in two",
                     call->op->name, axis, result.shape[axis]);
  result.shape[axis] /= 2;
  return wia__set_output(call, result.dtype, result.shape, result.rank);
}

/* A start or end moved into [low, high], counted from the end of the dimension when below 0. */
static int64_t move_inside(int64_t place, int64_t size, int64_t low, int64_t high) {
  if (place < 0) place += size;
  return place < low ? low : place > high ? high : place;
}

static int64_t count_steps(int64_t size, int64_t start, int64_t end, int64_t step) {
  const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
  const int64_t first = move_inside(start, size, low, high);
  const int64_t last = move_inside(end, size, low, high);
  const int64_t distance = step < 0 ? first - last : last - first;
  return distance <= 0 ? 0 : (distance - 1) / (step < 0 ? -step : step) + 1;
}

wia_status_t wia__infer_slice(const wia__infer_t *call) {
  wia_shape_t result = call->inputs[0];
  uint32_t count, end_count, axis_count, step_count, cut = 0;
  const wia_scalar_t *starts = wia__attribute_list(call, "starts", &count);
  const wia_scalar_t *ends = wia__attribute_list(call, "ends", &end_count);
  const wia_scalar_t *axes = wia__attribute_list(call, "axes", &axis_count);
  const wia_scalar_t *steps = wia__attribute_list(call, "steps", &step_count);
  if (end_count != count || (axis_count && axis_count != count) ||
      (step_count && step_count != count))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "slice: starts has %u elements, ends %u, axes %u and steps %u; expected as "
                     "many of each, or none of axes or steps",
                     count, end_count, axis_count, step_count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t axis;
    const wia_status_t status =
        wia__expect_axis(call, "axes", axis_count ? axes[i].i64 : (int64_t)i, result.rank, &axis);
    if (status) return status;
    if (cut >> axis & 1)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "slice: axes names dimension %u twice; expected each one once", axis);
    cut |= 1u << axis;
    const int64_t step = step_count ? steps[i].i64 : 1;
    if (step == 0)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "slice: steps[%u] is 0; expected a step forward or backward", i);
    result.shape[axis] = count_steps(result.shape[axis], starts[i].i64, ends[i].i64, step);
  }
  return wia__set_output(call, result.dtype, result.shape, result.rank);
}

enum { MODE_CONSTANT = 0 };

/* The size of a dimension with its pads, which may be below 0. */
static wia_status_t pad_dimension(uint32_t dimension, int64_t before, int64_t behind, int64_t mode,
                                  int64_t *size) {
  const int64_t old = *size;
  if (mode != MODE_CONSTANT && old == 0 && (before > 0 || behind > 0))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "pad: dimension %u has no element to repeat; expected 1 or more, or no pads",
                     dimension);
  if (__builtin_add_overflow(old, before + behind, size))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "pad: dimension %u with its pads is larger than 63 bits", dimension);
  if (*size >= 0) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "pad: pads are %" PRId64 " before and %" PRId64
                   " behind dimension %u, which has %" PRId64
                   "; expected that at most as many elements are cut off",
                   before, behind, dimension, old);
}

wia_status_t wia__infer_pad(const wia__infer_t *call) {
  wia_shape_t result = call->inputs[0];
  uint32_t count;
  const wia_scalar_t *pads = wia__attribute_list(call, "pads", &count);
  const int64_t mode = wia__attribute(call, "mode");
  if (count != 2 * result.rank)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "pad: pads has %u elements and input rank %u; expected %u: those before each "
                     "dimension, then those behind each",
                     count, result.rank, 2 * result.rank);
  for (uint32_t i = 0; i < result.rank; i++) {
    const wia_status_t status =
        pad_dimension(i, pads[i].i64, pads[result.rank + i].i64, mode, &result.shape[i]);
    if (status) return status;
  }
  return wia__set_output(call, result.dtype, result.shape, result.rank);
}
