/* shape_pool.c: rules of pooling. */
#include <inttypes.h>

#include "shape_window.h"

/* With ceil_mode a last window may hang over, if it begins inside. */
static int64_t count_hanging(const wia__window_t *window) {
  const int64_t room = window->size + window->before + window->after - wia__reach(window);
  int64_t count = (room + window->stride - 1) / window->stride + 1;
  if ((count - 1) * window->stride >= window->size + window->before) count--;
  return count;
}

static wia_status_t pooled_size(const wia__infer_t *call, wia__window_t *window,
                                int64_t *out_size) {
  if (window->stride == 0) window->stride = window->kernel;
  if (window->before >= wia__reach(window) || window->after >= wia__reach(window))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: the padding of the %s is %" PRId64 " and %" PRId64
                     "; expected less than the reach of the kernel, %" PRId64,
                     call->op->name, window->direction, window->before, window->after,
                     wia__reach(window));
  const wia_status_t status = wia__count_places(call, window, out_size);
  if (!status && wia__attribute(call, "ceil_mode")) *out_size = count_hanging(window);
  return status;
}

static wia_status_t read_kernel(const wia__infer_t *call, uint32_t count, int64_t *out_kernel) {
  wia_status_t status = wia__read_along(call, "kernel", count, 0, out_kernel);
  for (uint32_t i = 0; !status && i < count; i++)
    if (out_kernel[i] < 1)
      status = wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                         "%s: kernel is %" PRId64
                         " in dimension %u; it has no default: expected 1 or more",
                         call->op->name, out_kernel[i], i);
  return status;
}

wia_status_t wia__infer_pool(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  wia__window_t windows[WIA__MAX_SPATIAL];
  int64_t kernel[WIA__MAX_SPATIAL];
  uint32_t count;
  wia_status_t status = wia__expect_image(call, &count);
  if (!status) status = read_kernel(call, count, kernel);
  if (!status) status = wia__read_windows(call, input->shape + 2, kernel, count, 0, windows);
  if (status) return status;
  int64_t shape[WIA_MAX_RANK] = {input->shape[0], input->shape[1]};
  for (uint32_t i = 0; !status && i < count; i++)
    status = pooled_size(call, &windows[i], &shape[2 + i]);
  if (!status) status = wia__set_output(call, input->dtype, shape, input->rank);
  if (!status && call->op->output_count == 2) /* indices */
    status = wia__set_output_at(call, 1, WIA_INT64, shape, input->rank);
  return status;
}

wia_status_t wia__infer_pool2d(const wia__infer_t *call) {
  const wia_status_t status = wia__expect_rank(call, 0, 4, 4);
  return status ? status : wia__infer_pool(call);
}

static wia_status_t check_pixels(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  char text[WIA__SHAPE_TEXT];
  bool empty = false;
  for (uint32_t i = 2; i < input->rank; i++) empty |= input->shape[i] == 0;
  if (!empty || !input->shape[0] || !input->shape[1]) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: input has the shape %s, so there is no largest element among none; "
                   "expected 1 or more in the dimensions behind the channels",
                   call->op->name, wia__format_shape(text, input->shape, input->rank));
}

wia_status_t wia__infer_global_pool(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  const wia_op_t op = call->op->op;
  uint32_t count;
  wia_status_t status = wia__expect_image(call, &count);
  if (!status && (op == WIA_OP_GLOBAL_MAX_POOL || op == WIA_OP_GLOBAL_MAX_POOL2D))
    status = check_pixels(call);
  const int64_t shape[] = {input->shape[0], input->shape[1], 1, 1, 1};
  return status ? status : wia__set_output(call, input->dtype, shape, input->rank);
}

wia_status_t wia__infer_global_pool2d(const wia__infer_t *call) {
  const wia_status_t status = wia__expect_rank(call, 0, 4, 4);
  return status ? status : wia__infer_global_pool(call);
}
