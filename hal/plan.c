/* plan.c: asking a driver for a kernel. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

static void destroy_plan(wia__object_t *object) {
  wia__plan_t *plan = (wia__plan_t *)object;
  for (uint32_t i = 0; i < WIA__SCRATCHES; i++) wia__free_scratch(plan->scratches[i]);
  if (plan->kernel.release) plan->kernel.release(plan->kernel.state);
  for (uint32_t i = 0; i < plan->input_count + plan->output_count; i++) {
    if (plan->layouts[i]) wia__release(&wia__layout_of(plan->layouts[i])->object);
  }
  wia__free_failure(&plan->refusal);
  pthread_mutex_destroy(&plan->turn);
  free(plan);
}

wia__plan_t *wia__create_plan(wia__device_t *device, const char *name,
                              const wia_tensor_layout_t *const *layouts, uint32_t input_count,
                              uint32_t output_count, uint32_t scalar_count, uint64_t aliases) {
  wia__plan_t *plan = calloc(1, sizeof *plan);
  if (!plan) return NULL;
  wia__init_object(&plan->object, WIA__INTERNAL, destroy_plan);
  pthread_mutex_init(&plan->turn, NULL);
  plan->device = device;
  plan->name = name;
  plan->input_count = input_count;
  plan->output_count = output_count;
  plan->scalar_count = scalar_count;
  plan->aliases = aliases;
  plan->writes_nothing = 1;
  for (uint32_t i = 0; i < input_count + output_count; i++) {
    plan->layouts[i] = layouts[i];
    if (i >= input_count && layouts[i]->element_count) plan->writes_nothing = 0;
    if (layouts[i]) wia__retain(&wia__layout_of(layouts[i])->object);
  }
  return plan;
}

/* -- what a kernel must be ----------------------------------------------------------------------- */

/* An output whose elements share places would be written in an order nobody knows. */
static wia_status_t check_output(const wia__plan_t *plan, const wia_tensor_layout_t *layout) {
  uint32_t shared = 0;
  if (!wia__shares_elements(layout, &shared)) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: stride %lld of dimension %u makes elements of an output share memory",
                   plan->name, (long long)layout->strides[shared], shared);
}

static wia_status_t check_kernel(wia__plan_t *plan) {
  const wia_driver_kernel_t *kernel = &plan->kernel;
  const char *driver = plan->device->driver->name;
  if (!kernel->fn)
    return wia__fail_with(WIA_STATUS_INTERNAL, driver, NULL,
                          "%s: prepare said OK and gave no function: a defect of the driver",
                          plan->name);
  if (kernel->workspace_alignment & (kernel->workspace_alignment - 1))
    return wia__fail_with(WIA_STATUS_INTERNAL, driver, NULL,
                          "%s: workspace_alignment is %llu, which is no power of two: a defect of "
                          "the driver",
                          plan->name, (unsigned long long)kernel->workspace_alignment);
  if (plan->aliases && !(kernel->flags & WIA_KERNEL_IN_PLACE))
    return wia__fail_with(WIA_STATUS_INVALID_ARGUMENT, driver, NULL,
                          "%s: an output is also an input, and the kernel of %s doesn't work in "
                          "place; give another output",
                          plan->name, plan->device->name);
  return WIA_STATUS_OK;
}

static wia_status_t ask_driver(wia__plan_t *plan, const wia_request_t *request) {
  wia__device_t *device = plan->device;
  wia__thread_t *self = wia__thread();
  wia_error_t error;
  wia__init_error(&error);
  plan->kernel =
      (wia_driver_kernel_t){.struct_size = sizeof plan->kernel, .cost = {-1, -1, -1, -1}};
  wia__leave(self);
  wia__lock_device(device);
  wia_status_t status = device->table->prepare(device->handle, request, &plan->kernel, &error);
  wia__unlock_device(device);
  wia__rejoin(self);
  if (!status) {
    wia__drop_error(&error);
    return check_kernel(plan);
  }
  plan->kernel = (wia_driver_kernel_t){0}; /* what a failed prepare left there is not used */
  const wia_tensor_layout_t *first = NULL;
  for (uint32_t i = 0; i < plan->input_count && !first; i++) first = plan->layouts[i];
  return wia__take_error(&error, status, device->driver->name, "%s on %s (%s)", plan->name,
                         device->name, first ? wia_get_dtype_name(first->dtype) : "no input");
}

wia_status_t wia__prepare_plan(wia__plan_t *plan, const wia_request_t *request) {
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t i = 0; i < plan->output_count && !status; i++)
    status = check_output(plan, plan->layouts[plan->input_count + i]);
  if (!status) status = ask_driver(plan, request);
  plan->plain = plan->kernel.flags & WIA_KERNEL_THREAD_SAFE &&
                !(plan->device->flags & WIA_DEVICE_SERIAL) && !plan->kernel.workspace_size;
  plan->args = (wia_kernel_args_t){.struct_size = sizeof plan->args,
                                   .input_count = plan->input_count,
                                   .output_count = plan->output_count,
                                   .scalar_count = plan->scalar_count,
                                   .workspace_size = plan->kernel.workspace_size};
  if (status) wia__save_failure(&plan->refusal);
  return status;
}
