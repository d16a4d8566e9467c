/* launch.c: running a kernel, at once or on a stream. */
#include <stdlib.h>
#include <string.h>

#include "fork.h"
#include "graph.h"
#include "kernel.h"
#include "pool.h"
#include "validate.h"

/* -- workspaces ---------------------------------------------------------------------------------- */

/* A plan keeps a few workspaces, so that launches one after the other use the same. The place of one
 * that a launch is using: */
#define BUSY ((wia__allocation_t *)1)

void wia__free_scratch(wia__allocation_t *scratch) {
  if (!scratch || scratch == BUSY) return;
  wia__end_use(scratch);
  wia__release(&scratch->object);
}

static wia_status_t make_scratch(wia__plan_t *plan, wia__allocation_t **out_scratch) {
  const wia_memory_config_t config = {.struct_size = sizeof config,
                                      .alignment = plan->kernel.workspace_alignment};
  /* nested, so that it doesn't leave the epoch in which the launch looked its tensors up */
  wia__thread_t *self = wia__enter(wia__thread()->function);
  const wia_status_t status =
      wia__allocate(plan->device, plan->kernel.workspace_size, &config, true, out_scratch);
  wia__exit(self);
  return status;
}

/* Takes a workspace: in *out_place where it belongs, or NULL if all places are busy. */
static wia_status_t take_scratch(wia__plan_t *plan, wia__allocation_t **out_scratch,
                                 _Atomic(wia__allocation_t *) **out_place) {
  const uint32_t start = wia__thread()->number;
  for (uint32_t i = 0; i < WIA__SCRATCHES; i++) {
    _Atomic(wia__allocation_t *) *place = &plan->scratches[(start + i) % WIA__SCRATCHES];
    wia__allocation_t *scratch = atomic_exchange_explicit(place, BUSY, memory_order_acquire);
    if (scratch == BUSY) continue;
    wia_status_t status = WIA_STATUS_OK;
    if (!scratch) {
      status = make_scratch(plan, &scratch);
      if (status) atomic_store_explicit(place, NULL, memory_order_release);
    }
    *out_scratch = scratch;
    *out_place = place;
    return status;
  }
  *out_place = NULL;
  return make_scratch(plan, out_scratch);
}

/* Where it belongs, if anywhere; NULL does nothing. */
static void give_scratch(wia__allocation_t *scratch, _Atomic(wia__allocation_t *) *place) {
  if (place)
    atomic_store_explicit(place, scratch, memory_order_release);
  else
    wia__free_scratch(scratch);
}

/* -- now ----------------------------------------------------------------------------------------- */

wia_status_t wia__call_locked(wia__plan_t *plan, const wia_kernel_args_t *args) {
  if (plan->steps) return plan->kernel.fn(plan->kernel.state, args); /* each step sees to itself */
  const bool turns = !(plan->kernel.flags & WIA_KERNEL_THREAD_SAFE);
  if (turns) pthread_mutex_lock(&plan->shared->turn);
  wia__lock_device(plan->device);
  const wia_status_t status = plan->kernel.fn(plan->kernel.state, args);
  wia__unlock_device(plan->device);
  if (turns) pthread_mutex_unlock(&plan->shared->turn);
  return status;
}

/* What a plain launch doesn't need: a workspace, turns. */
static wia_status_t call_with_care(wia__plan_t *plan, wia_kernel_args_t *args) {
  if (!plan->kernel.workspace_size) return wia__call_locked(plan, args);
  wia__allocation_t *scratch = NULL;
  _Atomic(wia__allocation_t *) *place = NULL;
  wia_status_t status = take_scratch(plan, &scratch, &place);
  if (status) return wia__save_error(args->out_error, status);
  args->workspace = scratch->memory;
  status = wia__call_locked(plan, args);
  give_scratch(scratch, place);
  return status;
}

/* The error of a launch, which is over. */
static inline wia_status_t finish(const wia__plan_t *plan, const char *name, wia_error_t *error,
                                  wia_status_t status) {
  if (__builtin_expect(status == WIA_STATUS_OK, 1)) {
    if (__builtin_expect(atomic_load_explicit(&wia__text_count, memory_order_relaxed) != 0, 0))
      wia__drop_error(error);
    return status;
  }
  if (!plan->steps)
    return wia__take_error(error, status, plan->device->driver->name, "%s on %s", name,
                           plan->device->name);
  wia__drop_error(error); /* the step that failed is the last error already */
  return status;
}

static inline wia_status_t call_kernel(wia__plan_t *plan, wia_kernel_args_t *args) {
  return plan->plain ? plan->kernel.fn(plan->kernel.state, args) : call_with_care(plan, args);
}

static wia_status_t call_traced(wia__plan_t *plan, wia_kernel_args_t *args) {
  const int64_t begin_ns = wia__begin_span();
  const wia_status_t status = call_kernel(plan, args);
  if (!begin_ns) return status;
  if (plan->steps)
    wia__end_span(WIA_PROFILE_GROUP, begin_ns, plan->kernel.name, plan->device->id, -1, 0);
  else
    wia__end_span(WIA_PROFILE_KERNEL, begin_ns, plan->name, plan->device->id, -1, 0);
  return status;
}

static void add_operand(wia__uses_t *uses, const wia__plan_t *plan, uint32_t i,
                        const wia_operand_t *operand, wia__allocation_t *allocation) {
  const bool write = i >= plan->input_count;
  wia__add_use(uses, allocation, wia__layout_region(operand->layout, operand->address), write,
               write ? "output" : "input", (int32_t)(write ? i - plan->input_count : i));
}

static __attribute__((noinline)) wia_status_t call_validated(wia__plan_t *plan,
                                                             wia_kernel_args_t *args) {
  wia__use_t room[WIA_MAX_OPERANDS];
  wia__uses_t uses = {.operation = plan->name, .device = plan->device, .list = room};
  for (uint32_t i = 0; i < plan->input_count + plan->output_count; i++) {
    const wia_operand_t *operand = &args->operands[i];
    if (!operand->layout || !operand->layout->element_count) continue;
    wia__allocation_t *allocation = wia__find_allocation(operand->address);
    if (allocation) add_operand(&uses, plan, i, operand, allocation);
  }
  wia_status_t status = wia__begin_use(&uses);
  if (status) return wia__save_error(args->out_error, status);
  status = call_traced(plan, args);
  wia__end_use_of(&uses);
  return status;
}

/* Apart, so that a launch without layers keeps nothing for them. */
static __attribute__((noinline)) wia_status_t call_layered(wia__plan_t *plan,
                                                           wia_kernel_args_t *args) {
  return wia__is_validating() && wia__works_for_host() ? call_validated(plan, args)
                                                       : call_traced(plan, args);
}

static inline wia_status_t launch_operands(wia__plan_t *plan, const char *name,
                                           const wia_operand_t *operands,
                                           const wia_scalar_t *scalars) {
  wia_error_t error;
  wia__init_error(&error);
  wia_kernel_args_t args = plan->args;
  args.operands = operands;
  args.scalars = scalars;
  args.out_error = &error;
  const wia_status_t status =
      wia__layers_on() ? call_layered(plan, &args) : call_kernel(plan, &args);
  return finish(plan, name, &error, status);
}

wia_status_t wia__launch(wia__plan_t *plan, const wia__tensor_t *const *tensors,
                         const wia_scalar_t *scalars) {
  if (__builtin_expect(plan->writes_nothing, 0)) return WIA_STATUS_OK;
  const uint32_t count = plan->input_count + plan->output_count;
  wia_operand_t operands[WIA_MAX_OPERANDS];
  for (uint32_t i = 0; i < count; i++) {
    if (tensors[i])
      operands[i] = tensors[i]->operand;
    else
      operands[i] = (wia_operand_t){0};
  }
  return launch_operands(plan, plan->name, operands, scalars);
}

wia_status_t wia__launch_step(wia__plan_t *plan, const char *name, const wia_operand_t *operands,
                              const wia_scalar_t *scalars) {
  return plan->writes_nothing ? WIA_STATUS_OK : launch_operands(plan, name, operands, scalars);
}

/* -- later --------------------------------------------------------------------------------------- */

typedef struct launch_t {
  wia__item_t item;
  wia__plan_t *plan;          /* with a reference, which pins the layouts */
  wia__allocation_t *scratch; /* of a submitted launch, and where it belongs */
  _Atomic(wia__allocation_t *) *scratch_place;
  wia_scalar_t scalars[WIA__MAX_SCALARS];
  wia__tensor_t tensors[]; /* copies: their allocations in flight, which keeps them */
} launch_t;

/* Launches of few operands, which most are, use the same blocks over and over. */
enum { POOLED_OPERANDS = 4 };
static wia__pool_t pool;

static launch_t *make_launch(uint32_t count) {
  const uint32_t room = count > POOLED_OPERANDS ? count : POOLED_OPERANDS;
  const size_t size = sizeof(launch_t) + room * sizeof(wia__tensor_t);
  return room > POOLED_OPERANDS ? malloc(size)
                                : wia__take_block(&pool, &wia__thread()->spare_launches, size);
}

static void free_launch(launch_t *launch, uint32_t count) {
  if (count > POOLED_OPERANDS)
    free(launch);
  else
    wia__give_block(&pool, launch);
}

/* Its list may be half changed. */
void wia__fork_launches(wia__fork_t stage) {
  if (stage != WIA__FORK_CHILD) return;
  atomic_store(&pool.given, NULL);
  atomic_store(&pool.count, 0);
}

static wia_status_t run_launch(wia__item_t *item) {
  launch_t *launch = (launch_t *)item;
  wia__plan_t *plan = launch->plan;
  const wia__tensor_t *tensors[WIA_MAX_OPERANDS];
  for (uint32_t i = 0; i < plan->input_count + plan->output_count; i++)
    tensors[i] = plan->layouts[i] ? &launch->tensors[i] : NULL;
  return wia__launch(plan, tensors, launch->scalars);
}

/* On a stream of the driver's: the kernel enqueues itself there. */
static wia_status_t submit_launch(wia__item_t *item, wia_driver_stream_t stream) {
  launch_t *launch = (launch_t *)item;
  wia__plan_t *plan = launch->plan;
  if (plan->writes_nothing) return WIA_STATUS_OK;
  wia_operand_t operands[WIA_MAX_OPERANDS];
  wia_error_t error;
  wia__init_error(&error);
  wia_kernel_args_t args = plan->args;
  for (uint32_t i = 0; i < plan->input_count + plan->output_count; i++)
    operands[i] = plan->layouts[i] ? launch->tensors[i].operand : (wia_operand_t){0};
  args.operands = operands;
  args.scalars = launch->scalars;
  args.stream = stream;
  args.out_error = &error;
  if (plan->kernel.workspace_size) {
    const wia_status_t status = take_scratch(plan, &launch->scratch, &launch->scratch_place);
    if (status) {
      launch->scratch_place = NULL;
      return status;
    }
    args.workspace = launch->scratch->memory;
  }
  return finish(plan, plan->name, &error, wia__call_locked(plan, &args));
}

static wia__graph_node_t *note_launch(const wia__item_t *item) {
  const launch_t *launch = (const launch_t *)item;
  return wia__make_kernel_node(launch->plan, launch->tensors, launch->scalars);
}

static void end_launch(wia__item_t *item, wia_status_t status, const wia__failure_t *failure) {
  launch_t *launch = (launch_t *)item;
  (void)status;
  (void)failure;
  give_scratch(launch->scratch, launch->scratch_place);
  const uint32_t count = launch->plan->input_count + launch->plan->output_count;
  for (uint32_t i = 0; i < count; i++) {
    if (launch->tensors[i].allocation) wia__end_flight(launch->tensors[i].allocation);
  }
  wia__release(&launch->plan->object);
  free_launch(launch, count);
}

void wia__list_operands(const wia__plan_t *plan, const wia__tensor_t *tensors, wia__uses_t *uses) {
  for (uint32_t i = 0; i < plan->input_count + plan->output_count; i++) {
    if (plan->layouts[i] && tensors[i].allocation && !plan->writes_nothing)
      add_operand(uses, plan, i, &tensors[i].operand, tensors[i].allocation);
  }
}

void wia__list_launch(const wia__item_t *item, wia__uses_t *uses) {
  const launch_t *launch = (const launch_t *)item;
  wia__list_operands(launch->plan, launch->tensors, uses);
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

wia_status_t wia__make_launch(wia__plan_t *plan, const wia__tensor_t *const *tensors,
                              const wia_scalar_t *scalars, wia__item_t **out_item) {
  const uint32_t count = plan->input_count + plan->output_count;
  launch_t *launch = make_launch(count);
  if (!launch) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for queued work");
  launch->item = (wia__item_t){.run = run_launch,
                               .end = end_launch,
                               .mark = mark_launch,
                               .note = note_launch,
                               .what = plan->name,
                               .kind = WIA_PROFILE_KERNEL};
  if (plan->device->table->streams && plan->kernel.flags & WIA_KERNEL_ASYNC)
    launch->item.submit = submit_launch;
  launch->plan = plan;
  launch->scratch = NULL;
  launch->scratch_place = NULL;
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
    if (status || !wia__begin_flight(copy->allocation)) {
      copy->allocation = NULL;
      status = wia__fail(WIA_STATUS_INVALID_HANDLE, "the memory of an operand was freed by another "
                                                    "thread");
    }
  }
  if (status) {
    end_launch(&launch->item, status, NULL);
    return status;
  }
  *out_item = &launch->item;
  return WIA_STATUS_OK;
}

wia_status_t wia__launch_on(wia__plan_t *plan, const wia__tensor_t *const *tensors,
                            const wia_scalar_t *scalars, wia__queue_t *queue) {
  wia__item_t *item = NULL;
  const wia_status_t status = wia__make_launch(plan, tensors, scalars, &item);
  return status ? status : wia__enqueue(queue, item, mark_launch);
}
