/* shape_arrange.c: rules of operations that put elements into another order or shape. */
#include <inttypes.h>

#include "shape.h"

wia_status_t wia__infer_stack(const wia__infer_t *call) {
  const wia_shape_t *first = &call->inputs[0];
  uint32_t axis, count = call->input_count;
  while (count > 1 && !wia__has_input(call, count - 1)) count--;
  if (first->rank == WIA_MAX_RANK)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "stack: %s has rank %u, so the result has one more; expected at most %d",
                     call->op->operand_names[0], first->rank, WIA_MAX_RANK);
  for (uint32_t i = 1; i < count; i++) {
    const wia_status_t status = wia__has_input(call, i)
                                    ? wia__expect_shape(call, i, first->shape, first->rank)
                                    : wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                                                "stack: %s is left out, and one behind it is not; "
                                                "expected a list without gaps",
                                                call->op->operand_names[i]);
    if (status) return status;
  }
  const wia_status_t status = wia__new_axis(call, first->rank, &axis);
  if (status) return status;
  int64_t shape[WIA_MAX_RANK];
  for (uint32_t i = 0; i <= first->rank; i++)
    shape[i] = i < axis ? first->shape[i] : i == axis ? count : first->shape[i - 1];
  return wia__set_output(call, first->dtype, shape, first->rank + 1);
}

wia_status_t wia__infer_tile(const wia__infer_t *call) {
  wia_shape_t result = call->inputs[0];
  uint32_t count;
  const wia_scalar_t *repeats = wia__attribute_list(call, "repeats", &count);
  if (count != result.rank)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "tile: repeats has %u elements and input rank %u; expected as many", count,
                     result.rank);
  for (uint32_t i = 0; i < count; i++)
    if (__builtin_mul_overflow(result.shape[i], repeats[i].i64, &result.shape[i]))
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "tile: dimension %u has %" PRId64 " elements and is repeated %" PRId64
                       " times, which is more than 63 bits",
                       i, call->inputs[0].shape[i], repeats[i].i64);
  return wia__set_output(call, result.dtype, result.shape, result.rank);
}

wia_status_t wia__infer_flip(const wia__infer_t *call) {
  uint32_t count, seen = 0;
  const wia_scalar_t *axes = wia__attribute_list(call, "axes", &count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t axis;
    const wia_status_t status =
        wia__expect_axis(call, "axes", axes[i].i64, call->inputs[0].rank, &axis);
    if (status) return status;
    if (seen >> axis & 1)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "flip: axes names dimension %u twice; expected each one once", axis);
    seen |= 1u << axis;
  }
  return wia__set_output_like(call, 0);
}

wia_status_t wia__infer_roll(const wia__infer_t *call) {
  uint32_t count, axis_count;
  wia__attribute_list(call, "shifts", &count);
  const wia_scalar_t *axes = wia__attribute_list(call, "axes", &axis_count);
  if (axis_count ? count != axis_count : count > 1)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "roll: shifts has %u elements and axes %u; expected as many, or one shift "
                     "and no axes",
                     count, axis_count);
  for (uint32_t i = 0; i < axis_count; i++) {
    uint32_t axis;
    const wia_status_t status =
        wia__expect_axis(call, "axes", axes[i].i64, call->inputs[0].rank, &axis);
    if (status) return status;
  }
  return wia__set_output_like(call, 0);
}

/* The size of blocks, which has no default. */
static wia_status_t read_block(const wia__infer_t *call, int64_t *out_size) {
  *out_size = wia__attribute(call, "block_size");
  if (*out_size >= 1) return wia__expect_rank(call, 0, 4, 4);
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: block_size is %" PRId64 "; it has no default: expected 1 or more",
                   call->op->name, *out_size);
}

wia_status_t wia__infer_depth_to_space(const wia__infer_t *call) {
  wia_shape_t result = call->inputs[0];
  int64_t block;
  const wia_status_t status = read_block(call, &block);
  if (status) return status;
  if (result.shape[1] % (block * block))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "depth_to_space: input has %" PRId64 " channels and block_size is %" PRId64
                     "; expected a number that can be divided by %" PRId64,
                     result.shape[1], block, block * block);
  result.shape[1] /= block * block;
  if (__builtin_mul_overflow(result.shape[2], block, &result.shape[2]) ||
      __builtin_mul_overflow(result.shape[3], block, &result.shape[3]))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "depth_to_space: the images would be larger than 63 bits");
  return wia__set_output(call, result.dtype, result.shape, 4);
}

wia_status_t wia__infer_space_to_depth(const wia__infer_t *call) {
  wia_shape_t result = call->inputs[0];
  int64_t block;
  const wia_status_t status = read_block(call, &block);
  if (status) return status;
  if (result.shape[2] % block || result.shape[3] % block)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "space_to_depth: images are %" PRId64 " by %" PRId64
                     " and block_size is %" PRId64 "; expected sizes that it divides",
                     result.shape[2], result.shape[3], block);
  result.shape[2] /= block;
  result.shape[3] /= block;
  if (__builtin_mul_overflow(result.shape[1], block * block, &result.shape[1]))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "space_to_depth: there would be more channels than 63 bits can count");
  return wia__set_output(call, result.dtype, result.shape, 4);
}
