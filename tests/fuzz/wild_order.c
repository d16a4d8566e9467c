/* wild_order.c: events, waits and host functions of threads that share handles. */
#include "wild.h"

/* A wait for an event that nobody ever records holds its stream, and who waits for that, for ever: so
 * no event is reset between the question whether it was recorded and the wait. */
static pthread_rwlock_t resets = PTHREAD_RWLOCK_INITIALIZER;

typedef struct function_t {
  wia_stream_t *stream;
  wia_event_t *event;
  wia_tensor_t tensor;
  uint32_t what;
} function_t;

/* Calls that don't wait, from a thread of the library: its own stream may be destroyed by them. */
static wia_status_t run_function(void *context, wia_status_t status, wia_error_t *out_error) {
  function_t *function = context;
  uint32_t done;
  (void)status;
  (void)out_error;
  if (function->what == 0) wia_destroy_stream(function->stream);
  if (function->what == 1) wia_query_stream(function->stream, &done);
  if (function->what == 2) wia_record_event(function->event, function->stream);
  if (function->what == 3) wia_destroy_tensor(function->tensor);
  const wia_status_t result = function->what == 4 ? WIA_STATUS_ABORTED : WIA_STATUS_OK;
  free(function);
  atomic_fetch_add(&calls_kept, 1);
  return result;
}

static wia_status_t enqueue_function(calls_thread_t *t) {
  function_t *function = malloc(sizeof *function);
  if (!function) abort();
  *function = (function_t){PICK(streams), PICK(events), PICK(tensors), below(t, 12)};
  wia_stream_t *stream = function->stream;
  if (one_in(t, 2)) function->stream = PICK(streams);
  atomic_fetch_add(&calls_promised, 1);
  const wia_status_t status = wia_enqueue_host_function(stream, run_function, function);
  if (status) {
    free(function);
    atomic_fetch_sub(&calls_promised, 1);
  }
  return status;
}

static void see_event(void *context, wia_status_t status) {
  (void)context;
  (void)status;
  atomic_fetch_add(&calls_kept, 1);
}

/* A wait in a stream, or a function, for a point that will come. */
static wia_status_t follow_event(calls_thread_t *t, wia_event_t *event) {
  int32_t state = WIA_EVENT_NONE;
  pthread_rwlock_rdlock(&resets);
  wia_status_t status = wia_query_event(event, &state);
  if (!status && state != WIA_EVENT_NONE && one_in(t, 3)) {
    atomic_fetch_add(&calls_promised, 1);
    status = wia_call_on_event(event, see_event, NULL);
    if (status) atomic_fetch_sub(&calls_promised, 1);
  } else if (!status && state != WIA_EVENT_NONE) {
    status = wia_enqueue_wait(PICK(streams), event);
  }
  pthread_rwlock_unlock(&resets);
  return status;
}

static wia_status_t reset_event(wia_event_t *event) {
  pthread_rwlock_wrlock(&resets);
  const wia_status_t status = wia_reset_event(event);
  pthread_rwlock_unlock(&resets);
  return status;
}

/* Of a signal; INTERNAL would come back, and is what no call gives by itself. */
static wia_status_t pick_failure(calls_thread_t *t) {
  const wia_status_t status = (wia_status_t)below(t, 20);
  return status == WIA_STATUS_INTERNAL ? WIA_STATUS_OK : status;
}

wia_status_t wild_order(calls_thread_t *t) {
  wia_stream_t *stream = PICK(streams);
  wia_event_t *event = PICK(events);
  uint32_t done = 0;
  int64_t elapsed = 0;
  switch (below(t, 12)) {
  case 0:
  case 1:
    return wia_record_event(event, stream);
  case 2:
  case 3:
    return follow_event(t, event);
  case 4:
    return wia_wait_event(event, below(t, 100000));
  case 5:
    return wia_get_elapsed_time(event, PICK(events), &elapsed);
  case 6:
    return wia_query_stream(stream, &done);
  case 7:
    return one_in(t, 10) ? reset_event(event) : wia_record_stream(pick_address(t), stream);
  case 8:
    return one_in(t, 3) ? wia_reset_stream(stream)
                        : wia_synchronize_stream(stream, below(t, 1000000));
  case 9:
    return one_in(t, 10) ? wia_cancel_stream(stream) : WIA_STATUS_OK;
  case 10:
    return one_in(t, 10) ? wia_signal_event(event, pick_failure(t), "a test's reason")
                         : WIA_STATUS_OK;
  default:
    return enqueue_function(t);
  }
}
