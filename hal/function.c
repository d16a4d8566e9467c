/* function.c: functions of the host in the order of a stream, and memory that it uses unseen. */
#include <stdlib.h>

#include "capture.h"
#include "memory.h"
#include "validate.h"

/* -- host functions ------------------------------------------------------------------------------ */

typedef struct call_t {
  wia__item_t item;
  wia_host_fn_t function;
  wia__queue_t *queue; /* whose item it is, once it was accepted */
  wia__device_t *target;
  void *context;
  bool called;
  bool accepted; /* a refused one is never called */
} call_t;

wia_status_t wia__call_function(wia_host_fn_t function, void *context, const wia__device_t *device,
                                wia_status_t reason) {
  wia_error_t error;
  wia__init_error(&error);
  const int64_t begin_ns = wia__begin_span();
  const wia_status_t status = function(context, reason, &error);
  if (begin_ns) wia__end_span(WIA_PROFILE_FUNCTION, begin_ns, "host function", device->id, -1, 0);
  if (status) return wia__take_error(&error, status, NULL, "a host function");
  wia__drop_error(&error);
  return WIA_STATUS_OK;
}

static wia_status_t call(call_t *self, wia_status_t reason) {
  self->called = true;
  const bool validated = wia__is_validating();
  if (validated) wia__validate_function(self->queue, self->item.sequence, false);
  const wia_status_t status =
      wia__call_function(self->function, self->context, self->target, reason);
  if (validated) wia__validate_function(self->queue, self->item.sequence, true);
  return status;
}

static wia_status_t run_call(wia__item_t *item) { return call((call_t *)item, WIA_STATUS_OK); }

static void end_call(wia__item_t *item, wia_status_t status, const wia__failure_t *failure) {
  call_t *self = (call_t *)item;
  (void)failure;
  if (!self->called && self->accepted) call(self, status);
  free(self);
}

static wia__graph_node_t *note_call(const wia__item_t *item) {
  const call_t *self = (const call_t *)item;
  return wia__make_function_node(self->function, self->context, self->target);
}

static wia_status_t accept_call(wia__item_t *item, wia__queue_t *queue, uint64_t sequence) {
  (void)sequence;
  ((call_t *)item)->queue = queue;
  ((call_t *)item)->accepted = true;
  return WIA_STATUS_OK;
}

wia_status_t wia__make_function(wia_host_fn_t function, void *context, wia__device_t *device,
                                wia__item_t **out_item) {
  call_t *self = calloc(1, sizeof *self);
  if (!self) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for queued work");
  *self = (call_t){.item = {.run = run_call,
                            .end = end_call,
                            .mark = accept_call,
                            .note = note_call,
                            .kind = WIA_PROFILE_FUNCTION},
                   .function = function,
                   .context = context,
                   .target = device};
  *out_item = &self->item;
  return WIA_STATUS_OK;
}

static wia_status_t enqueue_host_function(wia_stream_t *stream, wia_host_fn_t function,
                                          void *context) {
  if (!function) return wia__null("function");
  wia__queue_t *queue = NULL;
  wia_status_t status = wia__resolve_stream(stream, &queue);
  if (status) return status;
  wia__item_t *item = NULL;
  status = wia__make_function(function, context, wia__queue_device(queue), &item);
  return status ? status : wia__enqueue(queue, item, accept_call);
}

WIA_API wia_status_t wia_enqueue_host_function(wia_stream_t *stream, wia_host_fn_t function,
                                               void *context) {
  WIA__CALL(enqueue_host_function(stream, function, context));
}

/* -- memory in use ------------------------------------------------------------------------------- */

typedef struct use_t {
  wia__item_t item;
  wia__allocation_t *allocation;
} use_t;

static void end_use(wia__item_t *item, wia_status_t status, const wia__failure_t *failure) {
  use_t *use = (use_t *)item;
  (void)status;
  (void)failure;
  wia__end_flight(use->allocation);
  free(use);
}

static wia_status_t mark_use(wia__item_t *item, wia__queue_t *queue, uint64_t sequence) {
  return wia__mark(((use_t *)item)->allocation, queue, sequence);
}

wia_status_t wia__note_use(wia__allocation_t *allocation, wia__queue_t *queue) {
  if (allocation->piece) return wia__mark(allocation, queue, wia__last_sequence(queue));
  use_t *use = calloc(1, sizeof *use);
  if (!use) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for queued work");
  if (!wia__begin_flight(allocation)) {
    free(use);
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "ptr was freed by another thread");
  }
  *use = (use_t){.item = {.end = end_use}, .allocation = allocation};
  return wia__enqueue(queue, &use->item, mark_use);
}

static wia_status_t record_stream(void *ptr, wia_stream_t *stream) {
  wia__queue_t *queue = NULL;
  wia__allocation_t *allocation = NULL;
  wia_status_t status = wia__resolve_stream(stream, &queue);
  if (!status) status = wia__find_range((uint64_t)(uintptr_t)ptr, 1, "ptr", &allocation);
  if (status) return status;
  if (allocation->device != wia__queue_device(queue))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "ptr is memory of %s and the stream of %s",
                     allocation->device->name, wia__queue_device(queue)->name);
  bool captured = false;
  status = wia__capture_use(queue, allocation, &captured);
  return captured ? status : wia__note_use(allocation, queue);
}

WIA_API wia_status_t wia_record_stream(void *ptr, wia_stream_t *stream) {
  WIA__CALL(record_stream(ptr, stream));
}
