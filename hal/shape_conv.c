/* shape_conv.c: rules of convolutions. */
#include <inttypes.h>

#include "shape_quantized.h"
#include "shape_window.h"

/* What all convolutions have: an image, a weight of the same rank, groups, and the windows of the
 * kernel. weight is the index of that input. */
typedef struct conv_t {
  uint32_t weight, count;
  wia__window_t windows[WIA__MAX_SPATIAL];
} conv_t;

static wia_status_t check_groups(const wia__infer_t *call, uint32_t index, int64_t groups) {
  const int64_t channels = call->inputs[0].shape[1];
  const int64_t *weight = call->inputs[index].shape;
  if (channels % groups || weight[0] % groups)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: groups is %" PRId64 ", input has %" PRId64 " channels and weight %" PRId64
                     " outputs; expected both to be divisible by groups",
                     call->op->name, groups, channels, weight[0]);
  if (weight[1] != channels / groups)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: weight takes %" PRId64 " channels (its dimension 1); expected %" PRId64
                     ": the %" PRId64 " channels of input divided by groups, %" PRId64,
                     call->op->name, weight[1], channels / groups, channels, groups);
  return WIA_STATUS_OK;
}

static wia_status_t read_conv(const wia__infer_t *call, uint32_t weight, conv_t *out_conv) {
  out_conv->weight = weight;
  wia_status_t status = wia__expect_image(call, &out_conv->count);
  const uint32_t rank = call->inputs[0].rank;
  if (!status) status = wia__expect_rank(call, weight, rank, rank);
  if (!status) status = check_groups(call, weight, wia__attribute(call, "groups"));
  if (status) return status;
  return wia__read_windows(call, call->inputs[0].shape + 2, call->inputs[weight].shape + 2,
                           out_conv->count, 1, out_conv->windows);
}

static wia_status_t set_convolved(const wia__infer_t *call, const conv_t *conv, wia_dtype_t dtype) {
  int64_t shape[WIA_MAX_RANK] = {call->inputs[0].shape[0], call->inputs[conv->weight].shape[0]};
  for (uint32_t i = 0; i < conv->count; i++) {
    const wia_status_t status = wia__count_places(call, &conv->windows[i], &shape[2 + i]);
    if (status) return status;
  }
  return wia__set_output(call, dtype, shape, 2 + conv->count);
}

/* A bias of each output, if there is one. */
static wia_status_t check_bias(const wia__infer_t *call, uint32_t index, int64_t outputs,
                               wia_dtype_t dtype) {
  if (!wia__has_input(call, index)) return WIA_STATUS_OK;
  const wia_status_t status = wia__expect_shape(call, index, &outputs, 1);
  return status ? status : wia__expect_dtype(call, index, dtype);
}

wia_status_t wia__infer_conv(const wia__infer_t *call) {
  conv_t conv;
  wia_status_t status = read_conv(call, 1, &conv);
  if (!status) status = check_bias(call, 2, call->inputs[1].shape[0], call->inputs[0].dtype);
  return status ? status : set_convolved(call, &conv, call->inputs[0].dtype);
}

wia_status_t wia__infer_conv2d(const wia__infer_t *call) {
  const wia_dtype_t dtype = wia__product_dtype(call->inputs[0].dtype);
  conv_t conv;
  wia_status_t status = wia__expect_rank(call, 0, 4, 4);
  if (!status) status = wia__expect_rank(call, 1, 4, 4);
  if (!status) status = wia__expect_dtype(call, 1, call->inputs[0].dtype);
  if (!status) status = read_conv(call, 1, &conv);
  if (!status) status = check_bias(call, 2, call->inputs[1].shape[0], dtype);
  return status ? status : set_convolved(call, &conv, dtype);
}

wia_status_t wia__infer_conv_integer(const wia__infer_t *call) {
  conv_t conv;
  wia_status_t status = read_conv(call, 1, &conv);
  if (!status) status = wia__expect_one(call, 2);
  if (!status) status = wia__expect_one_or_each(call, 3, call->inputs[1].shape[0]);
  if (!status) status = wia__expect_zero_dtype(call, 3, 1);
  return status ? status : set_convolved(call, &conv, WIA_INT32);
}

wia_status_t wia__infer_qlinear_conv(const wia__infer_t *call) {
  conv_t conv;
  wia_status_t status = read_conv(call, 3, &conv);
  if (status) return status;
  const int64_t outputs = call->inputs[3].shape[0];
  for (uint32_t i = 1; !status && i < 8; i++) {
    if (i == 3) continue;
    status =
        i == 4 || i == 5 ? wia__expect_one_or_each(call, i, outputs) : wia__expect_one(call, i);
  }
  if (!status) status = wia__expect_zero_dtype(call, 5, 3);
  if (!status) status = check_bias(call, 8, outputs, WIA_INT32);
  return status ? status : set_convolved(call, &conv, call->inputs[7].dtype);
}

/* -- transposed -------------------------------------------------------------------------------- */

static wia_status_t check_transposed(const wia__infer_t *call, int64_t groups) {
  const wia_shape_t *input = &call->inputs[0], *weight = &call->inputs[1];
  if (weight->shape[0] == input->shape[1] && input->shape[1] % groups == 0) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: input has %" PRId64 " channels, weight takes %" PRId64
                   " (its dimension 0) and groups is %" PRId64
                   "; expected equal numbers that groups divides",
                   call->op->name, input->shape[1], weight->shape[0], groups);
}

/* The size of the result in one direction; below 1 is an error. */
static wia_status_t transposed_size(const wia__infer_t *call, const wia__window_t *window,
                                    int64_t more, int64_t *out_size) {
  const int64_t added = wia__reach(window) + more, removed = window->before + window->after;
  int64_t size = 0;
  const bool overflow = __builtin_mul_overflow(window->size - 1, window->stride, &size) ||
                        __builtin_add_overflow(size, added - removed, &size);
  if (!overflow && window->size >= 1 && size >= 1) {
    *out_size = size;
    return WIA_STATUS_OK;
  }
  if (overflow)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: the %s of the output is larger than 63 bits",
                     call->op->name, window->direction);
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: the %s of the input is %" PRId64 ", from which %" PRId64
                   " would be left of the output after padding %" PRId64 " and %" PRId64
                   " is cut off; expected 1 or more of both",
                   call->op->name, window->direction, window->size, size, window->before,
                   window->after);
}

wia_status_t wia__infer_conv_transpose(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0], *weight = &call->inputs[1];
  const int64_t groups = wia__attribute(call, "groups");
  wia__window_t windows[WIA__MAX_SPATIAL];
  int64_t more[WIA__MAX_SPATIAL], outputs;
  uint32_t count;
  wia_status_t status = wia__expect_image(call, &count);
  if (!status) status = wia__expect_rank(call, 1, input->rank, input->rank);
  if (!status) status = check_transposed(call, groups);
  if (!status)
    status = wia__read_windows(call, input->shape + 2, weight->shape + 2, count, 1, windows);
  if (!status) status = wia__read_along(call, "output_padding", count, 0, more);
  if (!status && __builtin_mul_overflow(weight->shape[1], groups, &outputs))
    status = wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: weight gives %" PRId64 " outputs in each of %" PRId64
                       " groups, more than 63 bits",
                       call->op->name, weight->shape[1], groups);
  if (!status) status = check_bias(call, 2, outputs, input->dtype);
  if (status) return status;
  int64_t shape[WIA_MAX_RANK] = {input->shape[0], outputs};
  for (uint32_t i = 0; !status && i < count; i++)
    status = transposed_size(call, &windows[i], more[i], &shape[2 + i]);
  return status ? status : wia__set_output(call, input->dtype, shape, input->rank);
}

/* -- deformable -------------------------------------------------------------------------------- */

/* That offsets or a mask have a value, or two, for each tap of each part at each place. */
static wia_status_t check_taps(const wia__infer_t *call, uint32_t index, int64_t each,
                               const wia__window_t *windows, const int64_t *output) {
  if (!wia__has_input(call, index)) return WIA_STATUS_OK;
  int64_t count = wia__attribute(call, "offset_groups") * each; /* both are below 2^32 */
  if (__builtin_mul_overflow(count, windows[0].kernel * windows[1].kernel, &count))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: offset_groups times the size of the kernel is more than 63 bits",
                     call->op->name);
  const int64_t shape[4] = {output[0], count, output[2], output[3]};
  return wia__expect_shape(call, index, shape, 4);
}

wia_status_t wia__infer_deform_conv(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  conv_t conv;
  wia_status_t status = wia__expect_rank(call, 0, 4, 4);
  if (!status) status = read_conv(call, 1, &conv);
  if (!status) status = check_bias(call, 3, call->inputs[1].shape[0], input->dtype);
  if (!status) status = set_convolved(call, &conv, input->dtype);
  if (status) return status;
  const int64_t parts = wia__attribute(call, "offset_groups");
  if (input->shape[1] % parts)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: offset_groups is %" PRId64 " and input has %" PRId64
                     " channels; expected a number that divides them",
                     call->op->name, parts, input->shape[1]);
  const int64_t *output = call->outputs[0].shape;
  status = check_taps(call, 2, 2, conv.windows, output);
  return status ? status : check_taps(call, 4, 1, conv.windows, output);
}
