/* event.c: events: a handle to a current point, which each recording replaces. */
#include <stdlib.h>

#include "capture.h"
#include "context.h"
#include "validate.h"

typedef struct event_t {
  wia__object_t object;
  pthread_mutex_t mutex;
  wia__point_t *current;
  wia__captured_t
      *captured; /* of a recording on a stream that captures, which then is the last; else NULL */
  bool recorded; /* the current point belongs to a recording; else the first one takes it over */
} event_t;

/* A recording on its way into a stream. */
typedef struct record_t {
  wia__recording_t recording;
  event_t *event;            /* good until it is installed */
  bool installed;            /* the event stands for it */
  wia__point_t *replaced;    /* what it stood for before; let go of under no lock, since whoever */
  wia__captured_t *captured; /* waits is told then */
} record_t;

static const char NO_MEMORY[] = "no memory for an event";

static void destroy_event(wia__object_t *object) {
  event_t *event = (event_t *)object;
  if (!event->recorded) {
    const wia__failure_t failure = {
        .status = WIA_STATUS_CANCELLED,
        .message = (char *)(uintptr_t)"the event was destroyed before it was recorded"};
    wia__finish_point(event->current, &failure);
  }
  wia__release_point(event->current);
  wia__release_captured(event->captured);
  pthread_mutex_destroy(&event->mutex);
  free(event);
}

static wia_status_t create_event(wia_event_t **out_event, wia_context_t *context) {
  if (!out_event) return wia__null("out_event");
  wia__device_t *device = NULL;
  wia_status_t status = wia__context_device(context, &device);
  if (status) return status;
  event_t *event = calloc(1, sizeof *event);
  if (!event || !(event->current = wia__create_point())) {
    free(event);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, NO_MEMORY);
  }
  wia__init_object(&event->object, WIA__EVENT, destroy_event);
  pthread_mutex_init(&event->mutex, NULL);
  void *handle = NULL;
  status = wia__make_handle(&event->object, &handle);
  if (!status) *out_event = handle;
  return status;
}

WIA_API wia_status_t wia_create_event(wia_event_t **out_event, wia_context_t *context) {
  WIA__CALL(create_event(out_event, context));
}

WIA_API wia_status_t wia_destroy_event(wia_event_t *event) {
  WIA__CALL(wia__close_handle(event, WIA__EVENT));
}

/* -- points of an event -------------------------------------------------------------------------- */

/* Replaces what the event stands for in a capture; takes over the reference. Under its mutex. */
static wia__captured_t *swap_captured(event_t *event, wia__captured_t *captured) {
  wia__captured_t *old = event->captured;
  event->captured = captured;
  return old;
}

static wia_status_t refuse_captured(void) {
  return wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                   "the event was last recorded on a stream that captured, where it is an edge of "
                   "the graph and is never done: record it on a stream that doesn't capture");
}

/* The current point with a reference, and whether it was recorded. */
static wia_status_t get_point(wia_event_t *handle, wia__point_t **out_point, bool *out_recorded) {
  event_t *event = NULL;
  const wia_status_t status = wia__resolve(handle, WIA__EVENT, "event", &event);
  if (status) return status;
  pthread_mutex_lock(&event->mutex);
  const bool captured = event->captured != NULL;
  if (!captured) {
    *out_point = event->current;
    *out_recorded = event->recorded;
    wia__retain_point(event->current);
  }
  pthread_mutex_unlock(&event->mutex);
  return captured ? refuse_captured() : WIA_STATUS_OK;
}

/* The point of the event's next recording, with a reference: a fresh one, or the first one's. */
static wia__point_t *prepare_point(event_t *event) {
  wia__point_t *point = wia__create_point();
  if (!point) return NULL;
  pthread_mutex_lock(&event->mutex);
  wia__point_t *unused = NULL;
  if (!event->recorded) {
    unused = point;
    point = event->current;
    wia__retain_point(point);
  }
  pthread_mutex_unlock(&event->mutex);
  wia__release_point(unused);
  return point;
}

/* From here on the event stands for that recording. */
static void install_point(record_t *record) {
  event_t *event = record->event;
  wia__point_t **point = &record->recording.point;
  pthread_mutex_lock(&event->mutex);
  record->captured = swap_captured(event, NULL);
  if (event->current != *point && event->recorded) {
    record->replaced = event->current;
    event->current = *point;
    wia__retain_point(*point);
  } else if (event->current != *point) { /* reset meanwhile, and somebody may wait for that one */
    record->replaced = *point;
    *point = event->current;
    wia__retain_point(*point);
  }
  event->recorded = true;
  pthread_mutex_unlock(&event->mutex);
  record->installed = true;
}

static void finish_record(record_t *record, const wia__failure_t *failure) {
  if (!record->installed) install_point(record);
  wia__finish_point(record->recording.point, failure);
  wia__release_point(record->recording.point);
  wia__release_point(record->replaced);
  wia__release_captured(record->captured);
}

/* Under the mutex of the queue: who sees the recording lies behind it, so that no two streams can come
 * to wait for each other. */
static wia_status_t mark_record(wia__item_t *item, wia__queue_t *queue, uint64_t sequence) {
  (void)queue;
  (void)sequence;
  install_point((record_t *)item);
  return WIA_STATUS_OK;
}

static void end_record(wia__item_t *item, wia_status_t status, const wia__failure_t *failure) {
  record_t *record = (record_t *)item;
  wia__failure_t refused = {0};
  if (status && !failure) wia__save_failure(&refused); /* refused by the queue just now */
  finish_record(record, status ? (failure ? failure : &refused) : NULL);
  wia__free_failure(&refused);
  free(record);
}

static wia_status_t record_event(wia_event_t *handle, wia_stream_t *stream) {
  event_t *event = NULL;
  wia__queue_t *queue = NULL;
  wia_status_t status = wia__resolve(handle, WIA__EVENT, "event", &event);
  if (!status) status = wia__resolve_stream(stream, &queue);
  if (status) return status;
  wia__captured_t *captured = NULL;
  status = wia__capture_record(queue, &captured);
  if (status) return status;
  if (captured) {
    pthread_mutex_lock(&event->mutex);
    captured = swap_captured(event, captured);
    pthread_mutex_unlock(&event->mutex);
    wia__release_captured(captured);
    return WIA_STATUS_OK;
  }
  wia__point_t *point = prepare_point(event);
  record_t *record = point ? malloc(sizeof *record) : NULL;
  if (!record) {
    wia__release_point(point);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, NO_MEMORY);
  }
  *record = (record_t){
      .recording = {.item = {.end = end_record, .kind = WIA__ITEM_RECORD}, .point = point},
      .event = event};
  /* a refusal fails the point, so that the waiters learn of it; for the caller it is no error */
  wia__thread_t *self = wia__thread();
  const wia__failure_t last = self->last;
  self->last = (wia__failure_t){0};
  self->refused = 0;
  const wia_status_t refusal = wia__enqueue(queue, &record->recording.item, mark_record);
  if (refusal && self->refused) { /* but that of the layer validate, for a fault of the call */
    wia__failure_t before = last;
    wia__free_failure(&before);
    return refusal;
  }
  wia__free_failure(&self->last);
  self->last = last;
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_record_event(wia_event_t *event, wia_stream_t *stream) {
  WIA__CALL(record_event(event, stream));
}

static wia_status_t signal_event(wia_event_t *handle, wia_status_t status, const char *message) {
  event_t *event = NULL;
  if (!wia__is_status(status))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "status is %d; expected one of WIA_STATUS_*",
                     (int)status);
  const wia_status_t found = wia__resolve(handle, WIA__EVENT, "event", &event);
  if (found) return found;
  record_t record = {.recording.point = prepare_point(event), .event = event};
  if (!record.recording.point) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, NO_MEMORY);
  const char *text = message ? message : wia_get_status_text(status);
  const wia__failure_t failure = {.status = status,
                                  .function = (char *)(uintptr_t)"wia_signal_event",
                                  .message = (char *)(uintptr_t)text};
  finish_record(&record, status ? &failure : NULL);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_signal_event(wia_event_t *event, wia_status_t status,
                                      const char *message) {
  WIA__CALL(signal_event(event, status, message));
}

/* -- waits --------------------------------------------------------------------------------------- */

static void end_wait(wia__item_t *item, wia_status_t status, const wia__failure_t *failure) {
  (void)status;
  (void)failure;
  wia__release_point(item->wait_for);
  free(item);
}

/* *out_captured: the wait is an edge of a graph, and there is no more to do. */
static wia_status_t capture_wait(wia__queue_t *queue, wia_event_t *handle, bool *out_captured) {
  event_t *event = NULL;
  wia_status_t status = wia__resolve(handle, WIA__EVENT, "event", &event);
  if (status) return status;
  pthread_mutex_lock(&event->mutex);
  wia__captured_t *captured = event->captured;
  if (captured) wia__retain_captured(captured);
  pthread_mutex_unlock(&event->mutex);
  status = wia__capture_wait(queue, captured, out_captured);
  wia__release_captured(captured);
  return status;
}

static wia_status_t enqueue_wait(wia_stream_t *stream, wia_event_t *event) {
  wia__queue_t *queue = NULL;
  bool captured = false;
  wia_status_t status = wia__resolve_stream(stream, &queue);
  if (!status) status = capture_wait(queue, event, &captured);
  if (status || captured) return status;
  wia__item_t *item = calloc(1, sizeof *item);
  if (!item) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for queued work");
  bool recorded = false;
  status = get_point(event, &item->wait_for, &recorded);
  if (status) {
    free(item);
    return status;
  }
  item->end = end_wait;
  item->kind = recorded ? WIA__ITEM_WAIT : WIA__ITEM_WAIT_OPEN;
  return wia__enqueue(queue, item, NULL);
}

WIA_API wia_status_t wia_enqueue_wait(wia_stream_t *stream, wia_event_t *event) {
  WIA__CALL(enqueue_wait(stream, event));
}

static wia_status_t wait_event(wia_event_t *event, int64_t timeout_ns) {
  wia__point_t *point = NULL;
  bool recorded = false;
  wia_status_t status = get_point(event, &point, &recorded);
  if (status) return status;
  status = wia__check_timeout(timeout_ns);
  if (!status) status = wia__wait_point(point, timeout_ns);
  wia__release_point(point);
  return status;
}

WIA_API wia_status_t wia_wait_event(wia_event_t *event, int64_t timeout_ns) {
  WIA__CALL(wait_event(event, timeout_ns));
}

static wia_status_t call_on_event(wia_event_t *event, wia_event_fn_t function, void *context) {
  if (!function) return wia__null("function");
  wia__point_t *point = NULL;
  bool recorded = false;
  wia_status_t status = get_point(event, &point, &recorded);
  if (status) return status;
  status = wia__call_on_point(point, function, context);
  wia__release_point(point);
  return status;
}

WIA_API wia_status_t wia_call_on_event(wia_event_t *event, wia_event_fn_t function, void *context) {
  WIA__CALL(call_on_event(event, function, context));
}

static wia_status_t query_event(wia_event_t *event, int32_t *out_state) {
  if (!out_state) return wia__null("out_state");
  wia__point_t *point = NULL;
  bool recorded = false;
  const wia_status_t status = get_point(event, &point, &recorded);
  if (status) return status;
  *out_state = recorded ? wia__point_state(point) : WIA_EVENT_NONE;
  if (wia__is_validating() && *out_state > WIA_EVENT_PENDING) wia__validate_seen(point);
  wia__release_point(point);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_query_event(wia_event_t *event, int32_t *out_state) {
  WIA__CALL(query_event(event, out_state));
}

/* -- times and reset ----------------------------------------------------------------------------- */

/* Releases the point. */
static wia_status_t get_time(wia__point_t *point, bool recorded, const char *argument,
                             int64_t *out_time_ns) {
  wia_status_t status = WIA_STATUS_OK;
  const int32_t state = wia__point_state(point);
  if (wia__is_validating() && state == WIA_EVENT_DONE) wia__validate_seen(point);
  if (state == WIA_EVENT_DONE)
    *out_time_ns = wia__point_time_ns(point);
  else
    status = wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                       "%s is not done: %s; wait for it with wia_wait_event() first", argument,
                       !recorded                   ? "it was never recorded"
                       : state == WIA_EVENT_FAILED ? "its stream failed"
                                                   : "the work before it is still going on");
  wia__release_point(point);
  return status;
}

static wia_status_t get_elapsed_time(wia_event_t *start, wia_event_t *end,
                                     int64_t *out_elapsed_ns) {
  if (!out_elapsed_ns) return wia__null("out_elapsed_ns");
  wia__point_t *start_point = NULL, *end_point = NULL;
  bool start_recorded = false, end_recorded = false;
  wia_status_t status = get_point(start, &start_point, &start_recorded);
  if (status) return status;
  status = get_point(end, &end_point, &end_recorded);
  if (status) {
    wia__release_point(start_point);
    return status;
  }
  int64_t start_ns = 0, end_ns = 0;
  status = get_time(start_point, start_recorded, "start", &start_ns);
  if (status)
    wia__release_point(end_point);
  else
    status = get_time(end_point, end_recorded, "end", &end_ns);
  if (!status) *out_elapsed_ns = end_ns - start_ns;
  return status;
}

WIA_API wia_status_t wia_get_elapsed_time(wia_event_t *start, wia_event_t *end,
                                          int64_t *out_elapsed_ns) {
  WIA__CALL(get_elapsed_time(start, end, out_elapsed_ns));
}

static wia_status_t reset_event(wia_event_t *handle) {
  event_t *event = NULL;
  const wia_status_t status = wia__resolve(handle, WIA__EVENT, "event", &event);
  if (status) return status;
  wia__point_t *fresh = wia__create_point();
  if (!fresh) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, NO_MEMORY);
  pthread_mutex_lock(&event->mutex);
  wia__point_t *unused = fresh;
  wia__captured_t *captured = swap_captured(event, NULL);
  if (event->recorded) {
    unused = event->current;
    event->current = fresh;
    event->recorded = false;
  }
  pthread_mutex_unlock(&event->mutex);
  wia__release_point(unused);
  wia__release_captured(captured);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_reset_event(wia_event_t *event) { WIA__CALL(reset_event(event)); }
