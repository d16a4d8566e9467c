/* shape_window.c: windows that slide over images. */
#include "shape_window.h"

#include <inttypes.h>
#include <string.h>

wia_status_t wia__expect_image(const wia__infer_t *call, uint32_t *out_count) {
  const wia_status_t status = wia__expect_rank(call, 0, 3, 2 + WIA__MAX_SPATIAL);
  *out_count = call->inputs[0].rank - 2;
  return status;
}

wia_status_t wia__read_along(const wia__infer_t *call, const char *name, uint32_t count,
                             int64_t fallback, int64_t *out_values) {
  uint32_t given;
  const wia_scalar_t *values = wia__attribute_list(call, name, &given);
  if (given > 1 && given != count)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: %s has %u elements; expected %u, or one for all", call->op->name, name,
                     given, count);
  for (uint32_t i = 0; i < count; i++)
    out_values[i] = given == 0 ? fallback : values[given == 1 ? 0 : i].i64;
  return WIA_STATUS_OK;
}

static bool has_dilation(const wia__op_t *op) {
  for (uint32_t i = 0; i < op->attribute_count; i++)
    if (strcmp(op->attributes[i].name, "dilation") == 0) return true;
  return false;
}

wia_status_t wia__read_windows(const wia__infer_t *call, const int64_t *sizes,
                               const int64_t *kernel, uint32_t count, int64_t fallback,
                               wia__window_t *out_windows) {
  static const char *const directions[] = {"depth", "height", "width"};
  int64_t stride[WIA__MAX_SPATIAL], dilation[WIA__MAX_SPATIAL], padding[2 * WIA__MAX_SPATIAL];
  wia_status_t status = wia__read_along(call, "stride", count, fallback, stride);
  if (!status) status = wia__read_along(call, "padding", 2 * count, 0, padding);
  for (uint32_t i = 0; i < count; i++) dilation[i] = 1;
  if (!status && has_dilation(call->op))
    status = wia__read_along(call, "dilation", count, 1, dilation);
  if (status) return status;
  for (uint32_t i = 0; i < count; i++) {
    const char *direction = count == 1 ? "length" : directions[WIA__MAX_SPATIAL - count + i];
    if (kernel[i] > INT32_MAX || sizes[i] > INT64_MAX - 2 * (int64_t)INT32_MAX)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: the %s of the input is %" PRId64 " and that of the kernel %" PRId64
                       ", which is too large",
                       call->op->name, direction, sizes[i], kernel[i]);
    if (kernel[i] < 1)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: the %s of the kernel is %" PRId64 "; expected 1 or more",
                       call->op->name, direction, kernel[i]);
    out_windows[i] = (wia__window_t){.direction = direction,
                                     .size = sizes[i],
                                     .kernel = kernel[i],
                                     .before = padding[i],
                                     .after = padding[count + i],
                                     .stride = stride[i],
                                     .dilation = dilation[i]};
  }
  return WIA_STATUS_OK;
}

int64_t wia__reach(const wia__window_t *window) {
  return (window->kernel - 1) * window->dilation + 1;
}

wia_status_t wia__count_places(const wia__infer_t *call, const wia__window_t *window,
                               int64_t *out_count) {
  const int64_t size = window->size + window->before + window->after, span = wia__reach(window);
  if (size < span)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: the kernel reaches over %" PRId64 " elements of the %s (size %" PRId64
                     ", dilation %" PRId64 "), but there are only %" PRId64 " with padding %" PRId64
                     " and %" PRId64 "; expected at least as many",
                     call->op->name, span, window->direction, window->kernel, window->dilation,
                     size, window->before, window->after);
  *out_count = (size - span) / window->stride + 1;
  return WIA_STATUS_OK;
}
