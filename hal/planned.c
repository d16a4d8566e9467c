/* planned.c: plan handles: a prepared kernel with the scalars it was made with. */
#include <stdlib.h>
#include <string.h>

#include "alias.h"
#include "context.h"
#include "run.h"
#include "steps.h"

typedef struct planned_t {
  wia__object_t object;
  wia__plan_t *plan;                      /* with a reference */
  uint32_t scalar_count;                  /* those that a launch may give */
  wia_scalar_t scalars[WIA__MAX_SCALARS]; /* theirs, then the fixed ones */
} planned_t;

static void destroy_planned(wia__object_t *object) {
  planned_t *planned = (planned_t *)object;
  wia__release(&planned->plan->object);
  free(planned);
}

wia__device_t *wia__planned_device(const wia__object_t *planned) {
  return ((const planned_t *)planned)->plan->device;
}

/* Takes over the reference to the plan. */
static wia_status_t make_planned(wia__plan_t *plan, uint32_t scalar_count,
                                 const wia_scalar_t *scalars, wia_plan_t **out_plan) {
  planned_t *planned = calloc(1, sizeof *planned);
  if (!planned) {
    wia__release(&plan->object);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a plan");
  }
  wia__init_object(&planned->object, WIA__PLAN, destroy_planned);
  planned->plan = plan;
  planned->scalar_count = scalar_count;
  memcpy(planned->scalars, scalars, plan->scalar_count * sizeof *scalars);
  void *handle = NULL;
  const wia_status_t status = wia__make_handle(&planned->object, &handle);
  if (!status) *out_plan = handle;
  return status;
}

/* -- create -------------------------------------------------------------------------------------- */

static wia_status_t create_plan(wia_context_t *context, const wia_group_t *group,
                                wia_plan_t **out_plan) {
  if (!out_plan) return wia__null("out_plan");
  wia__device_t *device = NULL;
  wia__plan_t *plan = NULL;
  wia_scalar_t scalars[WIA__MAX_SCALARS];
  wia_status_t status = wia__context_device(context, &device);
  if (!status) status = wia__plan_group(device, group, scalars, &plan);
  return status ? status : make_planned(plan, group->scalar_count, scalars, out_plan);
}

WIA_API wia_status_t wia_create_plan(wia_context_t *context, const wia_group_t *group,
                                     wia_plan_t **out_plan) {
  WIA__CALL(create_plan(context, group, out_plan));
}

static wia_status_t create_operation_plan(wia_context_t *context, wia_op_t op,
                                          const wia_tensor_t *inputs, uint32_t input_count,
                                          const wia_tensor_t *outputs, uint32_t output_count,
                                          const wia_attribute_t *attributes,
                                          uint32_t attribute_count, wia_plan_t **out_plan) {
  if (!out_plan) return wia__null("out_plan");
  wia__plan_t *plan = NULL;
  wia_scalar_t scalars[WIA__MAX_SCALARS];
  const wia_status_t status =
      wia__plan_operation(context, op, inputs, input_count, outputs, output_count, attributes,
                          attribute_count, scalars, &plan);
  return status ? status : make_planned(plan, plan->scalar_count, scalars, out_plan);
}

WIA_API wia_status_t wia_create_operation_plan(wia_context_t *context, wia_op_t op,
                                               const wia_tensor_t *inputs, uint32_t input_count,
                                               const wia_tensor_t *outputs, uint32_t output_count,
                                               const wia_attribute_t *attributes,
                                               uint32_t attribute_count, wia_plan_t **out_plan) {
  WIA__CALL(create_operation_plan(context, op, inputs, input_count, outputs, output_count,
                                  attributes, attribute_count, out_plan));
}

WIA_API wia_status_t wia_destroy_plan(wia_plan_t *plan) {
  WIA__CALL(wia__close_handle(plan, WIA__PLAN));
}

/* -- execute ------------------------------------------------------------------------------------- */

static wia_status_t refuse_operand(const wia__plan_t *plan, wia_tensor_t handle, uint32_t i) {
  char argument[32] = "operand";
  wia__tensor_t *tensor = NULL;
  if (!plan->layouts[i])
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: operand %u was left out when the plan was made; pass NULL", plan->name,
                     i);
  const wia_status_t status = wia__resolve_tensor(handle, argument, &tensor);
  if (status) return status;
  if (tensor->device != plan->device)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: operand %u is on %s and the plan on %s",
                     plan->name, i, tensor->device->name, plan->device->name);
  const wia_tensor_layout_t *was = tensor->operand.layout, *wanted = plan->layouts[i];
  char was_text[WIA__SHAPE_TEXT], wanted_text[WIA__SHAPE_TEXT];
  return wia__fail(
      WIA_STATUS_INVALID_ARGUMENT, "%s: operand %u is %s %s; the plan was made for %s %s%s",
      plan->name, i, wia_get_dtype_name(was->dtype),
      wia__format_shape(was_text, was->shape, was->rank), wia_get_dtype_name(wanted->dtype),
      wia__format_shape(wanted_text, wanted->shape, wanted->rank),
      was->dtype == wanted->dtype && was->rank == wanted->rank
          ? " and other strides, if the shape is the same"
          : "");
}

static inline wia_status_t execute_plan(wia_plan_t *handle, const wia_tensor_t *handles,
                                        uint32_t operand_count, const wia_scalar_t *scalars,
                                        uint32_t scalar_count, wia_stream_t *stream, bool brief,
                                        bool *again) {
  planned_t *planned = (planned_t *)wia__find_object(handle, WIA__PLAN);
  if (!planned) return wia__resolve(handle, WIA__PLAN, "plan", &planned);
  wia__plan_t *plan = planned->plan;
  const uint32_t count = plan->input_count + plan->output_count;
  if (operand_count != count || !handles)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: %u operands; expected %u inputs and %u "
                     "outputs",
                     plan->name, handles ? operand_count : 0, plan->input_count,
                     plan->output_count);
  const wia__tensor_t *operands[WIA_MAX_OPERANDS];
  bool pending = false;
  for (uint32_t i = 0; i < count; i++) {
    if (!plan->layouts[i] && !handles[i]) {
      operands[i] = NULL;
      continue;
    }
    wia__tensor_t *tensor = (wia__tensor_t *)wia__find_object(handles[i], WIA__TENSOR);
    if (__builtin_expect(!tensor || tensor->operand.layout != plan->layouts[i] ||
                             tensor->device != plan->device || !wia__is_usable(tensor),
                         0))
      return refuse_operand(plan, handles[i], i);
    operands[i] = tensor;
    if (tensor->allocation) pending |= wia__is_pending(tensor->allocation);
  }
  uint64_t aliases;
  wia_status_t status =
      wia__check_aliases(plan->name, operands, plan->input_count, plan->output_count, &aliases);
  if (status) return status;
  if (__builtin_expect(aliases != plan->aliases, 0))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: the plan was made for outputs that are%s inputs; make another plan",
                     plan->name, plan->aliases ? " other" : " not");
  wia_scalar_t merged[WIA__MAX_SCALARS];
  if (scalars) {
    if (scalar_count != planned->scalar_count)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: %u scalars; expected %u", plan->name,
                       scalar_count, planned->scalar_count);
    memcpy(merged, planned->scalars, plan->scalar_count * sizeof *merged);
    memcpy(merged, scalars, scalar_count * sizeof *merged);
    scalars = merged;
  } else {
    scalars = planned->scalars;
  }
  if (stream) {
    wia__queue_t *queue = NULL;
    status = wia__resolve_stream(stream, &queue);
    if (status) return status;
    if (wia__queue_device(queue) != plan->device)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "the stream is of %s and the plan of %s",
                       wia__queue_device(queue)->name, plan->device->name);
    return wia__launch_on(plan, operands, scalars, queue);
  }
  if (brief && (!plan->brief || pending)) {
    *again = true;
    return WIA_STATUS_OK;
  }
  if (__builtin_expect(pending, 0)) {
    wia__allocation_t *allocations[WIA_MAX_OPERANDS];
    for (uint32_t i = 0; i < count; i++)
      allocations[i] = operands[i] ? operands[i]->allocation : NULL;
    status = wia__settle(allocations, count, again);
    if (status || *again) return status;
  }
  return wia__launch(plan, operands, scalars);
}

static wia_status_t execute_plan_settled(wia_plan_t *plan, const wia_tensor_t *operands,
                                         uint32_t operand_count, const wia_scalar_t *scalars,
                                         uint32_t scalar_count, wia_stream_t *stream) {
  bool again;
  wia_status_t status;
  do {
    again = false;
    status =
        execute_plan(plan, operands, operand_count, scalars, scalar_count, stream, false, &again);
  } while (__builtin_expect(again, 0));
  return status;
}

WIA_API wia_status_t wia_execute_plan(wia_plan_t *plan, const wia_tensor_t *operands,
                                      uint32_t operand_count, const wia_scalar_t *scalars,
                                      uint32_t scalar_count, wia_stream_t *stream) {
  WIA__CALL(execute_plan_settled(plan, operands, operand_count, scalars, scalar_count, stream));
}

WIA_API bool wia__execute_brief(wia_plan_t *plan, const wia_tensor_t *operands,
                                uint32_t operand_count, const wia_scalar_t *scalars,
                                uint32_t scalar_count, wia_status_t *out_status) {
  wia__brief_t brief;
  if (!wia__begin_brief("wia_execute_plan", &brief)) return false;
  bool again = false;
  *out_status =
      execute_plan(plan, operands, operand_count, scalars, scalar_count, NULL, true, &again);
  wia__end_brief(&brief);
  return !again;
}

static wia_status_t get_plan_info(wia_plan_t *handle, wia_plan_info_t *out_info) {
  wia_status_t status = wia__check_out(out_info, sizeof *out_info, "WIA_PLAN_INFO_INIT");
  planned_t *planned = NULL;
  if (!status) status = wia__resolve(handle, WIA__PLAN, "plan", &planned);
  if (status) return status;
  wia__plan_t *plan = planned->plan;
  const uint32_t scalar_count = planned->scalar_count;
  wia_cost_t cost;
  wia__retain(&plan->object);
  status = wia__measure_plan(plan, &cost);
  wia_plan_info_t info = {.device_id = plan->device->id,
                          .name = plan->kernel.name ? plan->kernel.name : plan->name,
                          .input_count = plan->input_count,
                          .output_count = plan->output_count,
                          .scalar_count = scalar_count,
                          .flags = plan->kernel.flags,
                          .workspace_size = plan->kernel.workspace_size,
                          .flops = cost.flops,
                          .bytes = cost.bytes,
                          .time_ns = cost.time_ns,
                          .energy_pj = cost.energy_pj,
                          .kernel_count = 1};
  if (plan->steps) {
    info.flags = wia__step_flags(plan->steps);
    info.workspace_size += wia__step_workspace(plan->steps);
    info.kernel_count = wia__count_steps(plan->steps);
  }
  wia__release(&plan->object);
  if (status) return status;
  wia__write_struct(out_info, &info, sizeof info);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_plan_info(wia_plan_t *plan, wia_plan_info_t *out_info) {
  WIA__CALL(get_plan_info(plan, out_info));
}
