/* program_run.c: running the steps of a graph on this thread. */
#include "program.h"

wia_status_t wia__name_failure(const wia__program_t *program, uint32_t node, wia_status_t status) {
  char text[WIA__NODE_TEXT];
  wia__failure_t failure;
  wia__save_failure(&failure);
  wia__fail_with(status, failure.driver, failure.cause, "%s: %s",
                 wia__describe_node(text, program->name, program->list.nodes[node], node),
                 failure.message);
  wia__free_failure(&failure);
  return status;
}

/* What a step that failed left, as this thread's last error. */
static __attribute__((noinline)) wia_status_t fail_step(const wia__program_t *program,
                                                        const wia__program_step_t *step,
                                                        wia_status_t status) {
  const wia__plan_t *plan = step->node->plan;
  if (plan && !plan->steps) {
    wia_error_t *error = step->args.out_error;
    wia__take_error(error, status, plan->device->driver->name, "%s on %s", plan->name,
                    plan->device->name);
    wia__init_error(error);
  }
  return wia__name_failure(program, step->index, status);
}

/* What is no kernel that can be called as it is. */
static wia_status_t call_step(const wia__program_step_t *step) {
  const wia__graph_node_t *node = step->node;
  if (node->plan) return wia__call_locked(node->plan, &step->args);
  if (node->transfer) return wia__perform(node->transfer);
  return wia__call_function(node->function, node->context, node->device, WIA_STATUS_OK);
}

static wia_status_t run_step(const wia__program_t *program, const wia__program_step_t *step) {
  const wia_status_t status = step->fn ? step->fn(step->state, &step->args) : call_step(step);
  return status ? fail_step(program, step, status) : WIA_STATUS_OK;
}

static wia_status_t run_traced(const wia__program_t *program, const wia__program_step_t *step) {
  const wia__plan_t *plan = step->node->plan;
  const int64_t begin_ns = plan ? wia__begin_span() : 0; /* the others have spans of their own */
  const wia_status_t status = run_step(program, step);
  if (begin_ns && plan->steps)
    wia__end_span(WIA_PROFILE_GROUP, begin_ns, plan->kernel.name, plan->device->id, -1, 0);
  else if (begin_ns)
    wia__end_span(WIA_PROFILE_KERNEL, begin_ns, plan->name, plan->device->id, -1, 0);
  return status;
}

wia_status_t wia__run_step(wia__program_t *program, const wia__program_step_t *step) {
  const wia_status_t status =
      wia__is_tracing() ? run_traced(program, step) : run_step(program, step);
  /* what a kernel said that then succeeded */
  if (__builtin_expect(atomic_load_explicit(&wia__text_count, memory_order_relaxed) != 0, 0) &&
      step->args.out_error) {
    wia__drop_error(step->args.out_error);
    wia__init_error(step->args.out_error);
  }
  return status;
}

wia_status_t wia__run_steps(wia__program_t *program) {
  const wia__program_step_t *const end = program->steps + program->step_count;
  if (wia__is_tracing() || atomic_load_explicit(&wia__text_count, memory_order_relaxed) != 0) {
    wia_status_t status = WIA_STATUS_OK;
    for (const wia__program_step_t *step = program->steps; step < end && !status; step++)
      status = wia__run_step(program, step);
    return status;
  }
  for (const wia__program_step_t *step = program->steps; step < end; step++) {
    const wia_status_t status = __builtin_expect(step->fn != NULL, 1)
                                    ? step->fn(step->state, &step->args)
                                    : call_step(step);
    if (__builtin_expect(status != WIA_STATUS_OK, 0)) return fail_step(program, step, status);
  }
  if (__builtin_expect(atomic_load_explicit(&wia__text_count, memory_order_relaxed) != 0, 0)) {
    for (const wia__program_step_t *step = program->steps; step < end; step++) {
      if (!step->args.out_error) continue;
      wia__drop_error(step->args.out_error);
      wia__init_error(step->args.out_error);
    }
  }
  return WIA_STATUS_OK;
}
