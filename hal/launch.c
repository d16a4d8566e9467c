/* launch.c: running a kernel, at once or on a stream. */
#include <stdlib.h>
#include <string.h>

#include "frame.h"

/* -- frames -------------------------------------------------------------------------------------- */

void wia__free_frame(wia__frame_t *frame) {
  if (!frame || frame == WIA__BUSY) return;
  if (frame->workspace) {
    wia__end_use(frame->workspace);
    wia__release(&frame->workspace->object);
  }
  free(frame);
}

wia_status_t wia__create_frame(wia__plan_t *plan, wia__frame_t **out_frame) {
  const uint32_t count = plan->input_count + plan->output_count;
  wia__frame_t *frame = calloc(1, sizeof *frame + count * sizeof frame->operands[0]);
  if (!frame) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a launch");
  wia__init_error(&frame->error);
  frame->args = (wia_kernel_args_t){.struct_size = sizeof frame->args,
                                    .operands = frame->operands,
                                    .input_count = plan->input_count,
                                    .output_count = plan->output_count,
                                    .scalar_count = plan->scalar_count,
                                    .workspace_size = plan->kernel.workspace_size,
                                    .out_error = &frame->error};
  if (plan->kernel.workspace_size) {
    const wia_memory_config_t config = {.struct_size = sizeof config,
                                        .alignment = plan->kernel.workspace_alignment};
    /* nested, so that it doesn't leave the epoch in which the launch looked its tensors up */
    wia__thread_t *self = wia__enter(wia__thread()->function);
    const wia_status_t status = wia__allocate(plan->device, plan->kernel.workspace_size, &config,
                                              true, &frame->workspace);
    wia__exit(self);
    if (status) {
      free(frame);
      return status;
    }
    frame->args.workspace = frame->workspace->memory;
  }
  *out_frame = frame;
  return WIA_STATUS_OK;
}

/* Takes one of the plan's frames, or makes one: in *out_place where it belongs, or NULL if all places
 * are busy. */
static wia_status_t take_frame(wia__plan_t *plan, wia__frame_t **out_frame,
                               _Atomic(wia__frame_t *) **out_place) {
  const uint32_t start = wia__thread()->number;
  for (uint32_t i = 0; i < WIA__FRAMES; i++) {
    _Atomic(wia__frame_t *) *place = &plan->frames[(start + i) % WIA__FRAMES];
    wia__frame_t *frame = atomic_exchange_explicit(place, WIA__BUSY, memory_order_acquire);
    if (frame == WIA__BUSY) continue;
    wia_status_t status = WIA_STATUS_OK;
    if (!frame) {
      status = wia__create_frame(plan, &frame);
      if (status) atomic_store_explicit(place, NULL, memory_order_release);
    }
    *out_frame = frame;
    *out_place = place;
    return status;
  }
  *out_place = NULL;
  return wia__create_frame(plan, out_frame);
}

static void put_back(wia__plan_t *plan, wia__frame_t *frame, _Atomic(wia__frame_t *) *place) {
  if (place) {
    atomic_store_explicit(place, frame, memory_order_release);
    return;
  }
  if (frame->hits) atomic_fetch_add_explicit(&plan->hits, frame->hits, memory_order_relaxed);
  wia__free_frame(frame);
}

uint64_t wia__plan_hits(wia__plan_t *plan) {
  uint64_t hits = atomic_load_explicit(&plan->hits, memory_order_relaxed);
  for (uint32_t i = 0; i < WIA__FRAMES; i++) {
    wia__frame_t *frame = atomic_exchange_explicit(&plan->frames[i], WIA__BUSY,
                                                   memory_order_acquire);
    if (frame == WIA__BUSY) continue; /* its launch is running and counts next time */
    if (frame) hits += frame->hits;
    atomic_store_explicit(&plan->frames[i], frame, memory_order_release);
  }
  return hits;
}

/* -- now ----------------------------------------------------------------------------------------- */

static wia_status_t call_kernel(wia__plan_t *plan, wia__frame_t *frame) {
  if (plan->plain) return plan->kernel.fn(plan->kernel.state, &frame->args);
  const bool turns = !(plan->kernel.flags & WIA_KERNEL_THREAD_SAFE);
  if (turns) pthread_mutex_lock(&plan->turn);
  wia__lock_device(plan->device);
  const wia_status_t status = plan->kernel.fn(plan->kernel.state, &frame->args);
  wia__unlock_device(plan->device);
  if (turns) pthread_mutex_unlock(&plan->turn);
  return status;
}

static wia_status_t take_kernel_error(wia__plan_t *plan, wia__frame_t *frame, wia_status_t status) {
  status = wia__take_error(&frame->error, status, plan->device->driver->name, "%s on %s",
                           plan->name, plan->device->name);
  wia__init_error(&frame->error);
  return status;
}

wia_status_t wia__launch(wia__plan_t *plan, const wia__tensor_t *const *tensors,
                         const wia_scalar_t *scalars, uint32_t counted) {
  const uint32_t count = plan->input_count + plan->output_count;
  wia__frame_t *frame = NULL;
  _Atomic(wia__frame_t *) *place = NULL;
  wia_status_t status = take_frame(plan, &frame, &place);
  if (__builtin_expect(status != WIA_STATUS_OK, 0)) return status;
  for (uint32_t i = 0; i < count; i++) {
    if (tensors[i]) frame->operands[i] = tensors[i]->operand;
  }
  frame->args.scalars = scalars;
  frame->hits += counted;
  if (__builtin_expect(!plan->writes_nothing, 1)) status = call_kernel(plan, frame);
  if (__builtin_expect(status != WIA_STATUS_OK, 0)) status = take_kernel_error(plan, frame, status);
  put_back(plan, frame, place);
  return status;
}

/* -- later --------------------------------------------------------------------------------------- */

typedef struct launch_t {
  wia__item_t item;
  wia__plan_t *plan; /* with a reference, which pins the layouts */
  wia_scalar_t scalars[WIA__MAX_SCALARS];
  wia__tensor_t tensors[]; /* copies: their allocations with a reference and a use */
} launch_t;

static wia_status_t run_launch(wia__item_t *item) {
  launch_t *launch = (launch_t *)item;
  wia__plan_t *plan = launch->plan;
  const wia__tensor_t *tensors[WIA_MAX_OPERANDS];
  for (uint32_t i = 0; i < plan->input_count + plan->output_count; i++)
    tensors[i] = plan->layouts[i] ? &launch->tensors[i] : NULL;
  return wia__launch(plan, tensors, launch->scalars, 0);
}

static void end_launch(wia__item_t *item, wia_status_t status, const wia__failure_t *failure) {
  launch_t *launch = (launch_t *)item;
  (void)status;
  (void)failure;
  for (uint32_t i = 0; i < launch->plan->input_count + launch->plan->output_count; i++) {
    wia__allocation_t *allocation = launch->tensors[i].allocation;
    if (!allocation) continue;
    wia__end_use(allocation);
    wia__release(&allocation->object);
  }
  wia__release(&launch->plan->object);
  free(launch);
}

static wia_status_t mark_launch(wia__item_t *item, wia__queue_t *queue, uint64_t sequence) {
  launch_t *launch = (launch_t *)item;
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t i = 0; i < launch->plan->input_count + launch->plan->output_count && !status; i++) {
    if (launch->tensors[i].allocation)
      status = wia__mark(launch->tensors[i].allocation, queue, sequence);
  }
  return status;
}

wia_status_t wia__launch_on(wia__plan_t *plan, const wia__tensor_t *const *tensors,
                            const wia_scalar_t *scalars, wia__queue_t *queue) {
  const uint32_t count = plan->input_count + plan->output_count;
  launch_t *launch = malloc(sizeof *launch + count * sizeof launch->tensors[0]);
  if (!launch) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for queued work");
  launch->item = (wia__item_t){.run = run_launch, .end = end_launch};
  launch->plan = plan;
  wia__retain(&plan->object);
  if (plan->scalar_count) memcpy(launch->scalars, scalars, plan->scalar_count * sizeof *scalars);
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t i = 0; i < count; i++) {
    wia__tensor_t *copy = &launch->tensors[i];
    if (!tensors[i]) {
      copy->allocation = NULL;
      continue;
    }
    copy->operand = tensors[i]->operand;
    copy->allocation = tensors[i]->allocation;
    if (!copy->allocation) continue;
    if (status || !wia__try_use(copy->allocation)) {
      copy->allocation = NULL;
      status = wia__fail(WIA_STATUS_INVALID_HANDLE, "the memory of an operand was freed by another "
                                                    "thread");
    } else {
      wia__retain(&copy->allocation->object);
    }
  }
  if (status) {
    end_launch(&launch->item, status, NULL);
    return status;
  }
  return wia__enqueue(queue, &launch->item, mark_launch);
}
