/* plan.c: asking a driver for a kernel. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "log.h"
#include "names.h"
#include "platform.h"
#include "steps.h"
#include "supply.h"

static void destroy_plan(wia__object_t *object) {
  wia__plan_t *plan = (wia__plan_t *)object;
  for (uint32_t i = 0; i < WIA__SCRATCHES; i++) wia__free_scratch(plan->scratches[i]);
  if (plan->shared) wia__release(&plan->shared->object);
  for (uint32_t i = 0; i < plan->input_count + plan->output_count; i++) {
    if (plan->layouts[i]) wia__release(&wia__layout_of(plan->layouts[i])->object);
  }
  wia__free_failure(&plan->refusal);
  free(plan);
}

wia__plan_t *wia__create_plan(wia__device_t *device, const char *name,
                              const wia_tensor_layout_t *const *layouts, uint32_t input_count,
                              uint32_t output_count, uint32_t scalar_count, uint64_t aliases) {
  wia__plan_t *plan = calloc(1, sizeof *plan);
  if (!plan) return NULL;
  wia__init_object(&plan->object, WIA__INTERNAL, destroy_plan);
  plan->device = device;
  plan->name = name;
  plan->input_count = input_count;
  plan->output_count = output_count;
  plan->scalar_count = scalar_count;
  plan->aliases = aliases;
  plan->writes_nothing = 1;
  for (uint32_t i = 0; i < input_count + output_count; i++) {
    plan->layouts[i] = layouts[i];
    if (i >= input_count && layouts[i] && layouts[i]->element_count) plan->writes_nothing = 0;
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
    return wia__fail_with(WIA_STATUS_UNIMPLEMENTED, driver, NULL,
                          "%s: an output is also an input, and the kernel of %s doesn't work in "
                          "place; give another output",
                          plan->name, plan->device->name);
  return WIA_STATUS_OK;
}

/* Who is asked, in this order: see wia_register_kernel(). Outside the epoch. */
static wia_status_t ask_all(wia__device_t *device, const wia_request_t *request,
                            wia_driver_kernel_t *kernel, wia_error_t *error, char *refusals) {
  wia_status_t status =
      wia__ask_supplies(device, request, WIA__FOR_DEVICE, kernel, error, refusals);
  if (status == WIA_STATUS_UNIMPLEMENTED)
    status = wia__ask_supplies(device, request, WIA__FOR_DRIVER, kernel, error, refusals);
  if (status != WIA_STATUS_UNIMPLEMENTED) return status;
  const wia_driver_kernel_t blank = *kernel;
  wia__lock_device(device);
  status = device->table->prepare(device->handle, request, kernel, error);
  wia__unlock_device(device);
  if (status != WIA_STATUS_UNIMPLEMENTED) return status;
  wia_error_t other;
  wia__init_error(&other);
  *kernel = blank;
  status = wia__ask_supplies(device, request, WIA__FOR_ALL, kernel, &other, refusals);
  if (status == WIA_STATUS_UNIMPLEMENTED) { /* the driver's words stay the answer */
    wia__drop_error(&other);
    return status;
  }
  wia__drop_error(error);
  wia__init_error(error);
  if (status) wia__set_error_text(error, wia__error_message(&other), wia__error_cause(&other));
  wia__drop_error(&other);
  return status;
}

static wia_status_t ask_driver(wia__plan_t *plan, const wia_request_t *request,
                               const wia__class_t *class) {
  wia__device_t *device = plan->device;
  wia__thread_t *self = wia__thread();
  char refusals[WIA__TEXT_SIZE] = "";
  wia_error_t error;
  wia__init_error(&error);
  wia_driver_kernel_t kernel = {.struct_size = sizeof kernel, .cost = {-1, -1, -1, -1}};
  wia__leave(self);
  const int64_t start_ns = wia__now_ns();
  const int64_t begin_ns = wia__begin_span();
  const wia_status_t status = ask_all(device, request, &kernel, &error, refusals);
  if (begin_ns) wia__end_span(WIA_PROFILE_PREPARE, begin_ns, plan->name, device->id, -1, 0);
  if (wia__logs(WIA__LOG_PLAN, WIA_LOG_DEBUG))
    wia__log(WIA__LOG_PLAN, WIA_LOG_DEBUG, device->driver->name, "%s on %s: %s after %lld us",
             plan->name, device->name, status ? wia_get_status_name(status) : "prepared",
             (long long)((wia__now_ns() - start_ns) / 1000));
  wia__rejoin(self);
  if (!status) { /* what a failed prepare left in the kernel is not used */
    wia__drop_error(&error);
    plan->shared = wia__adopt_kernel(device, &kernel, class);
    return plan->shared ? WIA_STATUS_OK
                        : wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a kernel");
  }
  const wia_tensor_layout_t *first = NULL;
  for (uint32_t i = 0; i < plan->input_count && !first; i++) first = plan->layouts[i];
  return wia__take_error(&error, status, device->driver->name, "%s on %s (%s)%s%s", plan->name,
                         device->name, first ? wia_get_dtype_name(first->dtype) : "no input",
                         *refusals ? ": " : "", refusals);
}

/* Whether all operands together are as small as WIA_KERNEL_PROMPT speaks of. */
static bool is_small(const wia__plan_t *plan) {
  uint64_t room = WIA_PROMPT_ELEMENTS;
  for (uint32_t i = 0; i < plan->input_count + plan->output_count; i++) {
    const wia_tensor_layout_t *layout = plan->layouts[i];
    if (layout && layout->element_count > room) return false;
    room -= layout ? layout->element_count : 0;
  }
  return true;
}

static void use_kernel(wia__plan_t *plan) {
  plan->kernel = plan->shared->kernel;
  plan->plain = plan->kernel.flags & WIA_KERNEL_THREAD_SAFE &&
                !(plan->device->flags & WIA_DEVICE_SERIAL) && !plan->kernel.workspace_size;
  plan->brief = plan->plain && plan->kernel.flags & WIA_KERNEL_PROMPT && is_small(plan);
  plan->args = (wia_kernel_args_t){.struct_size = sizeof plan->args,
                                   .input_count = plan->input_count,
                                   .output_count = plan->output_count,
                                   .scalar_count = plan->scalar_count,
                                   .workspace_size = plan->kernel.workspace_size};
}

wia_status_t wia__prepare_plan(wia__plan_t *plan, const wia_request_t *request,
                               const wia__class_t *class) {
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t i = plan->input_count; i < plan->input_count + plan->output_count && !status; i++)
    if (plan->layouts[i]) status = check_output(plan, plan->layouts[i]);
  if (!status && class) plan->shared = wia__find_kernel(plan->device, class);
  plan->inherited = plan->shared != NULL;
  if (!status && !plan->shared) status = ask_driver(plan, request, class);
  if (plan->shared) use_kernel(plan);
  if (!status) status = check_kernel(plan);
  if (status) wia__save_failure(&plan->refusal);
  return status;
}

wia_status_t wia__set_kernel(wia__plan_t *plan, const wia_driver_kernel_t *kernel) {
  plan->shared = wia__adopt_kernel(plan->device, kernel, NULL);
  if (!plan->shared) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a kernel");
  use_kernel(plan);
  return WIA_STATUS_OK;
}

wia_status_t wia__measure_plan(const wia__plan_t *plan, wia_cost_t *out_cost) {
  if (plan->steps) return wia__measure_steps(plan->steps, out_cost);
  const wia_driver_kernel_t *kernel = &plan->kernel;
  *out_cost = plan->inherited ? (wia_cost_t){-1, -1, -1, -1} : kernel->cost;
  if (!plan->inherited || !kernel->measure) return WIA_STATUS_OK;
  wia__thread_t *self = wia__thread();
  wia_error_t error;
  wia__init_error(&error);
  wia__leave(self);
  const wia_status_t status = kernel->measure(
      kernel->state, plan->layouts, plan->input_count + plan->output_count, out_cost, &error);
  wia__rejoin(self);
  if (status)
    return wia__take_error(&error, status, plan->device->driver->name, "the cost of %s",
                           plan->name);
  wia__drop_error(&error);
  return WIA_STATUS_OK;
}
