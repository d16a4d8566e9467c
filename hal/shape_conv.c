/* shape_conv.c: rules of windows that slide over images. */
#include "shape.h"

#include <inttypes.h>

/* One direction of a window: the sizes are below 2^31 or come from a shape. */
typedef struct window_t {
  const char *direction;
  int64_t size, kernel, before, after, stride, dilation;
} window_t;

/* Elements that a kernel spans, itself included. */
static int64_t reach(const window_t *window) { return (window->kernel - 1) * window->dilation + 1; }

static wia_status_t read_window(const wia__infer_t *call, uint32_t direction, int64_t kernel,
                                window_t *out_window) {
  uint32_t count;
  const wia_scalar_t *padding = wia__attribute_list(call, "padding", &count);
  *out_window = (window_t){
      .direction = direction ? "width" : "height",
      .size = call->inputs[0].shape[2 + direction],
      .kernel = kernel,
      .before = padding[direction].i64,
      .after = padding[2 + direction].i64,
      .stride = wia__attribute_list(call, "stride", &count)[direction].i64,
      .dilation = wia__attribute_list(call, "dilation", &count)[direction].i64,
  };
  int64_t end;
  if (kernel > INT32_MAX || __builtin_add_overflow(out_window->size, 2 * (int64_t)INT32_MAX, &end))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: the %s of the input is %" PRId64 " and that of the kernel %" PRId64
                     ", which is too large",
                     call->op->name, out_window->direction, out_window->size, kernel);
  return WIA_STATUS_OK;
}

static wia_status_t check_fit(const wia__infer_t *call, const window_t *window) {
  if (window->size + window->before + window->after >= reach(window)) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: the kernel reaches over %" PRId64 " elements of the %s (size %" PRId64
                   ", dilation %" PRId64 "), but there are only %" PRId64 " with padding %" PRId64
                   " and %" PRId64 "; expected at least as many",
                   call->op->name, reach(window), window->direction, window->kernel,
                   window->dilation, window->size + window->before + window->after, window->before,
                   window->after);
}

static wia_status_t check_groups(const wia__infer_t *call, int64_t groups) {
  const int64_t channels = call->inputs[0].shape[1];
  const int64_t *weight = call->inputs[1].shape;
  if (channels % groups || weight[0] % groups)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "conv2d: groups is %" PRId64 ", input has %" PRId64
                     " channels and weight %" PRId64
                     " outputs; expected both to be divisible by groups",
                     groups, channels, weight[0]);
  if (weight[1] != channels / groups)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "conv2d: weight takes %" PRId64
                     " channels (its dimension 1); expected %" PRId64 ": the %" PRId64
                     " channels of input divided by groups, %" PRId64,
                     weight[1], channels / groups, channels, groups);
  if (weight[2] < 1 || weight[3] < 1)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "conv2d: the kernel is %" PRId64 " by %" PRId64 "; expected at least 1 by 1",
                     weight[2], weight[3]);
  return WIA_STATUS_OK;
}

wia_status_t wia__infer_conv2d(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0], *weight = &call->inputs[1];
  const wia_dtype_t dtype = wia__product_dtype(input->dtype);
  wia_status_t status = wia__expect_rank(call, 0, 4, 4);
  if (!status) status = wia__expect_rank(call, 1, 4, 4);
  if (!status) status = wia__expect_dtype(call, 1, input->dtype);
  if (!status) status = check_groups(call, wia__attribute(call, "groups"));
  if (!status && wia__has_input(call, 2)) {
    status = wia__expect_shape(call, 2, weight->shape, 1);
    if (!status) status = wia__expect_dtype(call, 2, dtype);
  }
  if (status) return status;
  int64_t shape[4] = {input->shape[0], weight->shape[0]};
  for (uint32_t i = 0; i < 2; i++) {
    window_t window;
    status = read_window(call, i, weight->shape[2 + i], &window);
    if (!status) status = check_fit(call, &window);
    if (status) return status;
    shape[2 + i] =
        (window.size + window.before + window.after - reach(&window)) / window.stride + 1;
  }
  return wia__set_output(call, dtype, shape, 4);
}

/* Windows of a pooling: with ceil_mode a last one may hang over, if it begins inside. */
static int64_t count_windows(const window_t *window, bool ceil_mode) {
  const int64_t room = window->size + window->before + window->after - reach(window);
  int64_t count = (room + (ceil_mode ? window->stride - 1 : 0)) / window->stride + 1;
  if (ceil_mode && (count - 1) * window->stride >= window->size + window->before) count--;
  return count;
}

wia_status_t wia__infer_pool2d(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  const bool ceil_mode = wia__attribute(call, "ceil_mode") != 0;
  uint32_t count;
  const wia_scalar_t *kernel = wia__attribute_list(call, "kernel", &count);
  wia_status_t status = wia__expect_rank(call, 0, 4, 4);
  if (status) return status;
  if (kernel[0].i64 < 1 || kernel[1].i64 < 1)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: kernel is %" PRId64 " by %" PRId64
                     "; it has no default: expected at least 1 by 1",
                     call->op->name, kernel[0].i64, kernel[1].i64);
  int64_t shape[4] = {input->shape[0], input->shape[1]};
  for (uint32_t i = 0; i < 2; i++) {
    window_t window;
    status = read_window(call, i, kernel[i].i64, &window);
    if (status) return status;
    if (window.stride == 0) window.stride = window.kernel;
    if (window.before >= reach(&window) || window.after >= reach(&window))
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: the padding of the %s is %" PRId64 " and %" PRId64
                       "; expected less than the reach of the kernel, %" PRId64,
                       call->op->name, window.direction, window.before, window.after,
                       reach(&window));
    status = check_fit(call, &window);
    if (status) return status;
    shape[2 + i] = count_windows(&window, ceil_mode);
  }
  return wia__set_output(call, input->dtype, shape, 4);
}

wia_status_t wia__infer_global_pool2d(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  char text[WIA__SHAPE_TEXT];
  const wia_status_t status = wia__expect_rank(call, 0, 4, 4);
  if (status) return status;
  const int64_t shape[4] = {input->shape[0], input->shape[1], 1, 1};
  const bool has_images = shape[0] && shape[1], has_pixels = input->shape[2] && input->shape[3];
  if (call->op->op == WIA_OP_GLOBAL_MAX_POOL2D && has_images && !has_pixels)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: input has the shape %s, so there is no largest element among none; "
                     "expected a height and width of 1 or more",
                     call->op->name, wia__format_shape(text, input->shape, input->rank));
  return wia__set_output(call, input->dtype, shape, 4);
}
