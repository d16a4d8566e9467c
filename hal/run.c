/* run.c: from handles to a launch: the way of every operation call. */
#include "run.h"

#include <string.h>

#include "alias.h"
#include "cache.h"
#include "context.h"
#include "layout.h"

/* -- operands ------------------------------------------------------------------------------------ */

static wia_status_t refuse_operand(const wia__op_t *op, const wia__device_t *device,
                                   wia_tensor_t handle, uint32_t i) {
  wia__tensor_t *tensor = NULL;
  const wia_status_t status = wia__resolve_tensor(handle, op->operand_names[i], &tensor);
  if (status) return status;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: %s is on %s and the context on %s; move one of them", op->name,
                   op->operand_names[i], tensor->device->name, device->name);
}

/* Looks handles up; what is left out becomes NULL. *out_pending: some memory has work in flight. */
static inline wia_status_t gather(const wia__op_t *op, const wia__device_t *device,
                                  const wia_tensor_t *handles, const wia__tensor_t **operands,
                                  bool *out_pending) {
  const uint32_t count = op->max_input_count + op->output_count;
  bool pending = false;
  for (uint32_t i = 0; i < count; i++) {
    if (!handles[i] && wia__is_optional(op, i)) {
      operands[i] = NULL;
      continue;
    }
    wia__tensor_t *tensor = (wia__tensor_t *)wia__find_object(handles[i], WIA__TENSOR);
    if (__builtin_expect(!tensor || tensor->device != device || !wia__is_usable(tensor), 0))
      return refuse_operand(op, device, handles[i], i);
    operands[i] = tensor;
    if (tensor->allocation) pending |= wia__is_pending(tensor->allocation);
  }
  *out_pending = pending;
  return WIA_STATUS_OK;
}

static inline uint64_t layout_id(const wia__tensor_t *operand) {
  return operand ? operand->operand.layout->id : 0;
}

/* Words that are the default get its address, which is quick to compare and doesn't go into keys. */
static inline const wia_scalar_t *known_words(const wia__op_t *op, const wia_scalar_t *words) {
  if (words == op->default_words || !op->word_count ||
      memcmp(words, op->default_words, op->word_count * sizeof *words) != 0)
    return words;
  return op->default_words;
}

static inline uint32_t count_words(const wia__op_t *op, const wia_scalar_t *words) {
  return words == op->default_words ? 0 : op->word_count;
}

static inline uint64_t hash_call(const wia__op_t *op, const wia__tensor_t *const *operands,
                                 const wia_scalar_t *words, uint64_t aliases) {
  uint64_t hash = (uint64_t)op->op + (aliases << 8);
  for (uint32_t i = 0; i < op->max_input_count + op->output_count; i++)
    hash = wia__hash_word(hash, layout_id(operands[i]));
  for (uint32_t i = 0; i < count_words(op, words); i++)
    hash = wia__hash_word(hash, (uint64_t)words[i].i64);
  return hash ^ hash >> 32;
}

/* The hash is that of hash_call. */
static void make_key(const wia__op_t *op, const wia_tensor_layout_t *const *layouts,
                     const wia_scalar_t *words, uint64_t aliases, wia__key_t *key) {
  uint32_t n = 0;
  key->words[n++] = (uint64_t)op->op;
  key->words[n++] = aliases;
  for (uint32_t i = 0; i < op->max_input_count + op->output_count; i++)
    key->words[n++] = layouts[i] ? layouts[i]->id : 0;
  for (uint32_t i = 0; i < count_words(op, words); i++) key->words[n++] = (uint64_t)words[i].i64;
  key->count = n;
  uint64_t hash = key->words[0] + (aliases << 8);
  for (uint32_t i = 2; i < n; i++) hash = wia__hash_word(hash, key->words[i]);
  key->hash = hash ^ hash >> 32;
}

/* Whether a plan is for this call, without making the key: that is for calls that have none yet.
 * Layouts are interned and a plan keeps its own, so that their addresses tell. */
static inline bool is_plan_of(const wia__plan_t *plan, const wia__op_t *op,
                              const wia__tensor_t *const *operands, const wia_scalar_t *words,
                              uint64_t aliases) {
  const uint32_t count = op->max_input_count + op->output_count;
  const uint32_t word_count = count_words(op, words);
  const uint64_t *key = plan->key.words;
  if (key[0] != (uint64_t)op->op || key[1] != aliases || plan->key.count != 2 + count + word_count)
    return false;
  for (uint32_t i = 0; i < count; i++) {
    if (plan->layouts[i] != (operands[i] ? operands[i]->operand.layout : NULL)) return false;
  }
  for (uint32_t i = 0; i < word_count; i++) {
    if (key[2 + count + i] != (uint64_t)words[i].i64) return false;
  }
  return true;
}

/* -- plans --------------------------------------------------------------------------------------- */

/* The shape rule over the operands: runs when a signature is new. */
static wia_status_t check_shapes(const wia__op_t *op, const wia__tensor_t *const *operands,
                                 const wia_scalar_t *words) {
  wia_shape_t shapes[WIA_MAX_OPERANDS] = {{0}}, outputs[WIA_MAX_OPERANDS];
  for (uint32_t i = 0; i < op->max_input_count + op->output_count; i++) {
    if (operands[i]) shapes[i] = wia__shape_of(operands[i]->operand.layout);
  }
  return wia__infer(op, shapes, op->max_input_count, words, shapes + op->max_input_count,
                    op->output_count, outputs);
}

wia_status_t wia__plan_layouts(wia__device_t *device, const wia__op_t *op,
                               const wia_tensor_layout_t *const *layouts, const wia_scalar_t *words,
                               uint64_t aliases, wia__plan_t **out_plan) {
  wia__key_t key;
  words = known_words(op, words);
  make_key(op, layouts, words, aliases, &key);
  return wia__obtain_plan(device, &key, op, layouts, words, aliases, out_plan);
}

/* Checks and prepares a new signature. Leaves the epoch, so the operands are no longer good
 * afterwards; their layouts are, as long as the plan is. A registered operation's rule leaves it, too,
 * so that the layouts are held from the start. */
static wia_status_t make_plan(wia__device_t *device, const wia__op_t *op,
                              const wia__tensor_t *const *operands, const wia_scalar_t *words,
                              uint64_t aliases, wia__plan_t **out_plan) {
  const wia_tensor_layout_t *layouts[WIA_MAX_OPERANDS];
  const uint32_t count = op->max_input_count + op->output_count;
  for (uint32_t i = 0; i < count; i++) {
    layouts[i] = operands[i] ? operands[i]->operand.layout : NULL;
    if (layouts[i]) wia__retain(&wia__layout_of(layouts[i])->object);
  }
  wia_status_t status = check_shapes(op, operands, words);
  if (!status) status = wia__plan_layouts(device, op, layouts, words, aliases, out_plan);
  for (uint32_t i = 0; i < count; i++)
    if (layouts[i]) wia__release(&wia__layout_of(layouts[i])->object);
  return status;
}

/* Waits for the work in flight on the operands' memory. */
static wia_status_t settle(const wia__op_t *op, const wia__tensor_t *const *operands,
                           bool *out_waited) {
  wia__allocation_t *allocations[WIA_MAX_OPERANDS];
  const uint32_t count = op->max_input_count + op->output_count;
  for (uint32_t i = 0; i < count; i++)
    allocations[i] = operands[i] ? operands[i]->allocation : NULL;
  return wia__settle(allocations, count, out_waited);
}

/* -- the call ------------------------------------------------------------------------------------ */

/* One attempt on operands that were looked up. *again: the epoch was left, so they have to be looked
 * up anew; a plan that was made meanwhile is in *made, with a reference. brief: a call that would not
 * be brief does nothing but to set *again. */
static inline wia_status_t proceed(const wia__call_t *call, wia__device_t *device,
                                   const wia__tensor_t *const *operands, bool pending, bool brief,
                                   wia__plan_t **made, bool *again) {
  const wia__op_t *op = call->op;
  const wia_scalar_t *words = known_words(op, call->words);
  wia__queue_t *queue = NULL;
  wia_status_t status = WIA_STATUS_OK;
  if (call->stream) {
    status = wia__resolve_stream(call->stream, &queue);
    if (status) return status;
    if (wia__queue_device(queue) != device)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "the stream is of %s and the context of %s",
                       wia__queue_device(queue)->name, device->name);
  }
  uint64_t aliases;
  status = wia__check_aliases(op->name, operands, op->max_input_count, op->output_count, &aliases);
  if (__builtin_expect(status != WIA_STATUS_OK, 0)) return status;

  wia__plan_t *plan = wia__front_plan(device->cache, hash_call(op, operands, words, aliases));
  const bool known = plan && is_plan_of(plan, op, operands, words, aliases);
  if (brief && (!known || !plan->brief || pending)) {
    *again = true;
    return WIA_STATUS_OK;
  }
  if (__builtin_expect(known, 1)) {
    if (plan != *made)
      wia__count_hit(device->cache, wia__thread(), plan); /* else it counted as a miss */
  } else {
    if (*made && (*made)->device == device && is_plan_of(*made, op, operands, words, aliases)) {
      plan = *made;
    } else {
      wia__plan_t *fresh = NULL;
      status = make_plan(device, op, operands, words, aliases, &fresh);
      if (*made) wia__release(&(*made)->object);
      *made = fresh;
      *again = !status;
      return status;
    }
  }
  if (queue) return wia__launch_on(plan, operands, call->scalars, queue);
  if (__builtin_expect(pending, 0)) {
    status = settle(op, operands, again);
    if (status || *again) return status;
  }
  return wia__launch(plan, operands, call->scalars);
}

static inline wia_status_t find_device(const wia__call_t *call, wia__device_t **out_device) {
  wia__context_t *context = (wia__context_t *)wia__find_object(call->context, WIA__CONTEXT);
  if (__builtin_expect(!context, 0))
    return wia__resolve(call->context, WIA__CONTEXT, "context", &context);
  *out_device = context->device;
  return WIA_STATUS_OK;
}

static inline wia_status_t attempt(const wia__call_t *call, bool brief, wia__plan_t **made,
                                   bool *again) {
  const wia__tensor_t *operands[WIA_MAX_OPERANDS];
  wia__device_t *device = NULL;
  bool pending = false;
  wia_status_t status = find_device(call, &device);
  if (!status) status = gather(call->op, device, call->handles, operands, &pending);
  if (__builtin_expect(status != WIA_STATUS_OK, 0)) return status;
  return proceed(call, device, operands, pending, brief, made, again);
}

static wia_status_t attempt_views(const wia__call_t *call, wia__plan_t **made, bool *again) {
  const wia__op_t *op = call->op;
  const uint32_t count = op->max_input_count + op->output_count;
  wia__tensor_t tensors[WIA_MAX_OPERANDS];
  const wia__tensor_t *operands[WIA_MAX_OPERANDS] = {NULL};
  wia__device_t *device = NULL;
  bool pending = false;
  wia_status_t status = find_device(call, &device);
  for (uint32_t i = 0; i < count && !status; i++) {
    const wia_view_t *view = &call->views[i];
    if (view->dtype == WIA_DTYPE_NONE && wia__is_optional(op, i)) continue;
    status = wia__view_memory(device, view, op->operand_names[i], &tensors[i]);
    if (status) break;
    operands[i] = &tensors[i];
    if (tensors[i].allocation) pending |= wia__is_pending(tensors[i].allocation);
  }
  if (!status) status = proceed(call, device, operands, pending, false, made, again);
  for (uint32_t i = 0; i < count; i++) {
    if (operands[i]) wia__end_view(&tensors[i]);
  }
  return status;
}

wia_status_t wia__run_call(const wia__call_t *call) {
  wia__plan_t *made = NULL;
  bool again;
  wia_status_t status;
  do {
    again = false;
    status =
        call->handles ? attempt(call, false, &made, &again) : attempt_views(call, &made, &again);
  } while (__builtin_expect(again, 0));
  if (__builtin_expect(made != NULL, 0)) wia__release(&made->object);
  return status;
}

wia_status_t wia__plan_call(const wia__call_t *call, wia__plan_t **out_plan) {
  const wia__op_t *op = call->op;
  const wia_scalar_t *words = known_words(op, call->words);
  const wia__tensor_t *operands[WIA_MAX_OPERANDS];
  wia__device_t *device = NULL;
  bool pending = false;
  uint64_t aliases;
  wia_status_t status = find_device(call, &device);
  if (!status) status = gather(op, device, call->handles, operands, &pending);
  if (!status)
    status =
        wia__check_aliases(op->name, operands, op->max_input_count, op->output_count, &aliases);
  return status ? status : make_plan(device, op, operands, words, aliases, out_plan);
}

static wia_status_t run_configured(const wia__call_t *call, const void *config) {
  wia_scalar_t words[WIA__MAX_WORDS], scalars[WIA__MAX_SCALARS];
  const wia_status_t status = wia__words_of_config(call->op, config, words, scalars);
  if (status) return status;
  wia__call_t configured = *call;
  configured.words = words;
  configured.scalars = scalars;
  return wia__run_call(&configured);
}

wia_status_t wia__run_list(wia_context_t *context, const wia__op_t *op, const wia_tensor_t *inputs,
                           uint32_t input_count, const wia_tensor_t *outputs, const void *config,
                           wia_stream_t *stream) {
  if (!inputs && input_count) return wia__null("inputs");
  if (input_count < op->min_input_count || input_count > op->max_input_count)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s was given %u inputs; expected %u to %u",
                     op->name, input_count, op->min_input_count, op->max_input_count);
  wia_tensor_t operands[WIA_MAX_OPERANDS] = {NULL};
  memcpy(operands, inputs, input_count * sizeof *inputs);
  memcpy(operands + op->max_input_count, outputs, op->output_count * sizeof *outputs);
  const wia__call_t call = {context, op, operands, NULL, op->default_words, op->default_scalars,
                            stream};
  return config ? run_configured(&call, config) : wia__run_call(&call);
}

wia_status_t wia__run(const char *function, wia_context_t *context, const wia__op_t *op,
                      const wia_tensor_t *operands, const void *config, wia_stream_t *stream) {
  const wia__call_t call = {context, op, operands, NULL, op->default_words, op->default_scalars,
                            stream};
  wia__thread_t *self = wia__thread();
  const char *outer = self->function;
  wia__enter(function);
  wia__frame_t frame;
  const uint32_t layered = wia__layers_on();
  if (layered) wia__begin_call(&frame);
  const wia_status_t status = config ? run_configured(&call, config) : wia__run_call(&call);
  if (__builtin_expect(layered, 0)) wia__end_call(&frame, function);
  wia__exit(self);
  self->function = outer;
  return status;
}

WIA_API wia_status_t wia__run_op(const char *function, wia_context_t *context, wia_op_t op,
                                 const wia_tensor_t *operands, wia_stream_t *stream) {
  return wia__run(function, context, wia__get_op(op), operands, NULL, stream);
}

WIA_API bool wia__run_brief(const char *function, wia_context_t *context, wia_op_t op,
                            const wia_tensor_t *operands, wia_status_t *out_status) {
  wia__brief_t brief;
  if (!wia__begin_brief(function, &brief)) return false;
  const wia__op_t *known = wia__get_op(op);
  const wia__call_t call = {
      context, known, operands, NULL, known->default_words, known->default_scalars, NULL};
  wia__plan_t *made = NULL; /* and stays so */
  bool again = false;
  *out_status = attempt(&call, true, &made, &again);
  wia__end_brief(&brief);
  return !again;
}
