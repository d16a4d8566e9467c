/* run.h: running one operation on handles. */
#ifndef WIA__RUN_H
#define WIA__RUN_H

#include "plan.h"

typedef struct wia__call_t {
  wia_context_t *context;
  const wia__op_t *op;
  /* One of the two: op->max_input_count inputs (NULL or all zero: left out), then the outputs. */
  const wia_tensor_t *handles;
  const wia_view_t *views;
  const wia_scalar_t *words, *scalars;
  wia_stream_t *stream;
} wia__call_t;

/* Between wia__enter and wia__exit. */
wia_status_t wia__run_call(const wia__call_t *call);

/* The plan that a call on handles would use, with a reference. */
wia_status_t wia__plan_call(const wia__call_t *call, wia__plan_t **out_plan);

/* The plan of an operation on operands of these layouts (NULL: left out), with a reference. Shapes are
 * checked, the layouts held by the caller; the epoch is left. */
wia_status_t wia__plan_layouts(wia__device_t *device, const wia__op_t *op,
                               const wia_tensor_layout_t *const *layouts, const wia_scalar_t *words,
                               uint64_t aliases, wia__plan_t **out_plan);

/* The same from public arguments, with the scalars that the attributes give (execute.c). */
wia_status_t wia__plan_operation(wia_context_t *context, wia_op_t op, const wia_tensor_t *inputs,
                                 uint32_t input_count, const wia_tensor_t *outputs,
                                 uint32_t output_count, const wia_attribute_t *attributes,
                                 uint32_t attribute_count, wia_scalar_t *out_scalars,
                                 wia__plan_t **out_plan);

/* Around a call whose caller holds a lock that others need, as Python's. False where it would have to
 * wait or to call drivers: layers are on, or something is to be destroyed. It destroys nothing. */
typedef struct wia__brief_t {
  wia__thread_t *self;
  const char *outer;
} wia__brief_t;

static inline bool wia__begin_brief(const char *function, wia__brief_t *out_brief) {
  if (wia__layers_on() || atomic_load_explicit(&wia__retired_count, memory_order_relaxed))
    return false;
  wia__thread_t *self = wia__thread();
  *out_brief = (wia__brief_t){self, self->function};
  self->deferring++;
  wia__enter(function);
  return true;
}

static inline void wia__end_brief(const wia__brief_t *brief) {
  wia__exit(brief->self);
  brief->self->deferring--;
  brief->self->function = brief->outer;
}

#endif
