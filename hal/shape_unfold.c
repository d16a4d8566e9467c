/* shape_unfold.c: rules of patches as columns, of parts of images, and of the way back from a
 * pooling. */
#include <inttypes.h>

#include "shape_window.h"

/* A kernel that has no default. */
static wia_status_t read_kernel(const wia__infer_t *call, uint32_t count, int64_t *out_kernel) {
  return wia__read_along(call, "kernel", count, 0, out_kernel); /* 0 is refused as a size */
}

/* The product of sizes; too large is an error. */
static wia_status_t multiply(const wia__infer_t *call, const int64_t *sizes, uint32_t count,
                             int64_t *out_product) {
  int64_t result = 1;
  bool overflow = false;
  for (uint32_t i = 0; i < count; i++) {
    if (sizes[i] == 0) {
      *out_product = 0;
      return WIA_STATUS_OK;
    }
    overflow |= __builtin_mul_overflow(result, sizes[i], &result);
  }
  *out_product = result;
  if (!overflow) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: the result has more than 63 bits of elements",
                   call->op->name);
}

/* Elements of the kernel, and places that it has over images of these sizes. */
static wia_status_t count_columns(const wia__infer_t *call, const int64_t *sizes, uint32_t count,
                                  int64_t *out_taps, int64_t *out_places) {
  wia__window_t windows[WIA__MAX_SPATIAL];
  int64_t kernel[WIA__MAX_SPATIAL], places[WIA__MAX_SPATIAL];
  wia_status_t status = read_kernel(call, count, kernel);
  if (!status) status = wia__read_windows(call, sizes, kernel, count, 1, windows);
  for (uint32_t i = 0; !status && i < count; i++)
    status = wia__count_places(call, &windows[i], &places[i]);
  if (!status) status = multiply(call, kernel, count, out_taps);
  return status ? status : multiply(call, places, count, out_places);
}

wia_status_t wia__infer_im2col(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  uint32_t count;
  int64_t taps, shape[3] = {input->shape[0]};
  wia_status_t status = wia__expect_image(call, &count);
  if (!status) status = count_columns(call, input->shape + 2, count, &taps, &shape[2]);
  const int64_t rows[] = {input->shape[1], status ? 0 : taps};
  if (!status) status = multiply(call, rows, 2, &shape[1]);
  return status ? status : wia__set_output(call, input->dtype, shape, 3);
}

/* A list of sizes that the caller has to give: one to three. */
static wia_status_t read_sizes(const wia__infer_t *call, const char *name, int64_t *out_sizes,
                               uint32_t *out_count) {
  const wia_scalar_t *sizes = wia__attribute_list(call, name, out_count);
  for (uint32_t i = 0; i < *out_count; i++) out_sizes[i] = sizes[i].i64;
  if (*out_count) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: %s is not given; it has no default: expected one to three sizes",
                   call->op->name, name);
}

wia_status_t wia__infer_col2im(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  int64_t taps, places, shape[2 + WIA__MAX_SPATIAL];
  uint32_t count;
  wia_status_t status = wia__expect_rank(call, 0, 3, 3);
  if (!status) status = read_sizes(call, "image", shape + 2, &count);
  if (!status) status = count_columns(call, shape + 2, count, &taps, &places);
  if (status) return status;
  if (input->shape[1] % taps || input->shape[2] != places)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: input has %" PRId64 " rows and %" PRId64
                     " columns; expected a multiple of the %" PRId64
                     " elements of the kernel, and as many columns as it has places, %" PRId64,
                     call->op->name, input->shape[1], input->shape[2], taps, places);
  shape[0] = input->shape[0];
  shape[1] = input->shape[1] / taps;
  return wia__set_output(call, input->dtype, shape, 2 + count);
}

/* The sizes that an output shall have, or those that the windows reach over. */
static wia_status_t unpooled_sizes(const wia__infer_t *call, const wia__window_t *windows,
                                   uint32_t count, int64_t *out_sizes) {
  uint32_t given;
  wia__attribute_list(call, "size", &given);
  for (uint32_t i = 0; i < count; i++) {
    const wia__window_t *window = &windows[i];
    const int64_t step = window->stride ? window->stride : window->kernel;
    const int64_t more = window->kernel - window->before - window->after;
    if (window->size < 1 || __builtin_mul_overflow(window->size - 1, step, &out_sizes[i]) ||
        __builtin_add_overflow(out_sizes[i], more, &out_sizes[i]) || out_sizes[i] < 1)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: the %s of the input is %" PRId64
                       ", from which no size of 1 or more follows for the output",
                       call->op->name, window->direction, window->size);
  }
  if (!given) return WIA_STATUS_OK;
  int64_t wanted[WIA__MAX_SPATIAL];
  const wia_status_t status = wia__read_along(call, "size", count, 0, wanted);
  if (status) return status;
  for (uint32_t i = 0; i < count; i++) {
    if (wanted[i] < out_sizes[i])
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: the %s of the output is to be %" PRId64 "; expected %" PRId64
                       " or more, which the windows reach over",
                       call->op->name, windows[i].direction, wanted[i], out_sizes[i]);
    out_sizes[i] = wanted[i];
  }
  return WIA_STATUS_OK;
}

wia_status_t wia__infer_max_unpool(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  wia__window_t windows[WIA__MAX_SPATIAL];
  int64_t kernel[WIA__MAX_SPATIAL], shape[2 + WIA__MAX_SPATIAL];
  uint32_t count;
  wia_status_t status = wia__expect_image(call, &count);
  if (!status) status = wia__expect_shape(call, 1, input->shape, input->rank);
  if (!status) status = read_kernel(call, count, kernel);
  if (!status) status = wia__read_windows(call, input->shape + 2, kernel, count, 0, windows);
  if (!status) status = unpooled_sizes(call, windows, count, shape + 2);
  shape[0] = input->shape[0];
  shape[1] = input->shape[1];
  return status ? status : wia__set_output(call, input->dtype, shape, input->rank);
}

wia_status_t wia__infer_adaptive_pool(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  int64_t shape[2 + WIA__MAX_SPATIAL];
  uint32_t count, given;
  char text[WIA__SHAPE_TEXT];
  wia_status_t status = wia__expect_image(call, &count);
  if (!status) status = read_sizes(call, "size", shape + 2, &given);
  if (!status) status = wia__read_along(call, "size", count, 0, shape + 2);
  if (status) return status;
  shape[0] = input->shape[0];
  shape[1] = input->shape[1];
  bool none = false, empty = false;
  for (uint32_t i = 0; i < input->rank; i++) {
    none |= shape[i] == 0;
    empty |= i > 1 && input->shape[i] == 0;
  }
  if (empty && !none)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: input has the shape %s, whose parts are empty; expected 1 or more in the "
                     "dimensions behind the channels",
                     call->op->name, wia__format_shape(text, input->shape, input->rank));
  return wia__set_output(call, input->dtype, shape, input->rank);
}
