/* submit.c: queues of devices that have streams of their own: handing items on, and hearing of them.
 *
 * An item goes from the queue to the flight, in order, either handed to the driver or past it (the
 * record of an event, a wait for what is done already, what a failure has dropped). The flight is ended
 * from its front: an item that the driver has when that tells of it, one that went past it at once. What
 * the host has to do keeps back what is behind it, and goes to the worker. */
#include "platform.h"
#include "queue.h"

static const wia_driver_streams_t *streams_of(const wia__queue_t *queue) {
  return queue->device->table->streams;
}

/* Of the failures of a queue the one that is first in its order counts. */
static void fail_at(wia__queue_t *queue, uint64_t sequence, const wia__failure_t *failure) {
  if (queue->failure.status && sequence >= queue->failed_sequence) return;
  wia__free_failure(&queue->failure);
  wia__copy_failure(&queue->failure, failure);
  queue->failed_sequence = sequence;
  queue->interrupted = true; /* the worker may wait for a point */
  pthread_cond_signal(&queue->work);
}

/* This thread's last error, kept from calls that its caller knows nothing of. */
static wia__failure_t put_last_error_aside(void) {
  wia__thread_t *self = wia__thread();
  const wia__failure_t last = self->last;
  self->last = (wia__failure_t){0};
  return last;
}

static void bring_last_error_back(wia__failure_t last) {
  wia__thread_t *self = wia__thread();
  wia__free_failure(&self->last);
  self->last = last;
}

/* -- ending items -------------------------------------------------------------------------------- */

static bool is_ended(const wia__queue_t *queue, const wia__item_t *item) {
  return !item->submitted || item->sequence <= queue->told;
}

/* Ends the front of the flight. Gives the mutex up meanwhile; a failure that an item is ended with stays
 * as it is, since all before it are ended already. */
static void complete(wia__queue_t *queue) {
  if (queue->completing) return;
  wia__thread_t *self = wia__thread();
  const char *outer = self->function;
  queue->completing = true;
  atomic_store(&queue->completer, self);
  for (wia__item_t *item; (item = queue->flight) && is_ended(queue, item);) {
    const uint64_t sequence = item->sequence;
    const bool failed = queue->failure.status && sequence >= queue->failed_sequence;
    queue->flight = item->next;
    if (!queue->flight) queue->flight_end = &queue->flight;
    pthread_mutex_unlock(&queue->mutex);
    if (item->origin.submitted_ns && item->submitted)
      wia__trace_submitted(item->kind, &item->origin, item->name ? item->name : item->what,
                           queue->device->id, queue->number, &queue->traced_ns);
    self->function = item->function;
    wia__note_told(queue, item, failed ? queue->failure.status : WIA_STATUS_OK);
    item->end(item, failed ? queue->failure.status : WIA_STATUS_OK,
              failed ? &queue->failure : NULL);
    pthread_mutex_lock(&queue->mutex);
    atomic_store_explicit(&queue->completed, sequence, memory_order_release);
    if (queue->waiters) pthread_cond_broadcast(&queue->done);
    if (queue->watches) wia__call_watches(queue);
  }
  atomic_store(&queue->completer, NULL);
  queue->completing = false;
  self->function = outer;
  if (!queue->flight && queue->waiting) pthread_cond_signal(&queue->work);
}

/* Under the mutex: the item of that value can't end before it is told. */
static void take_failure(wia__queue_t *queue, uint64_t value, wia_error_t *error) {
  const wia__item_t *item = queue->flight;
  while (item && item->sequence != value) item = item->next;
  wia__thread_t *self = wia__thread();
  const char *outer = self->function;
  const wia__failure_t last = put_last_error_aside();
  const wia_status_t status = error->status ? error->status : WIA_STATUS_INTERNAL;
  if (item) self->function = item->function;
  if (status == WIA_STATUS_CANCELLED && queue->cancel_reason) {
    wia__drop_error(error);
    self->function = queue->cancel_function;
    wia__fail(status, "%s", queue->cancel_reason);
  } else {
    wia__take_error(error, status, queue->device->driver->name, "%s on %s",
                    item && item->what ? item->what : "work", queue->device->name);
  }
  fail_at(queue, value, &self->last);
  self->function = outer;
  bring_last_error_back(last);
}

static void notify(void *context, uint64_t value, wia_error_t *error) {
  wia__queue_t *queue = context;
  wia__defer_collecting(); /* which would call the driver */
  pthread_mutex_lock(&queue->mutex);
  wia__retain_queue(queue); /* whoever hears of the value may be the last to have it */
  if (error && queue->failure.status && value >= queue->failed_sequence)
    wia__drop_error(error);
  else if (error)
    take_failure(queue, value, error);
  if (value > queue->told) queue->told = value;
  complete(queue);
  wia__unlock_queue(queue);
  wia__release_queue(queue);
  wia__end_deferring();
}

/* -- handing on ---------------------------------------------------------------------------------- */

bool wia__can_pass(wia__queue_t *queue, const wia__item_t *item) {
  if (wia__thread()->deferring) return false; /* a driver tells, and must not be called */
  if (item->submit) return true;
  if (item->run) return false;
  return !item->wait_for || queue->failure.status ||
         wia__point_state(item->wait_for) != WIA_EVENT_PENDING;
}

static wia_status_t signal_stream(wia__queue_t *queue, const wia__item_t *item, uint64_t value) {
  wia_error_t error;
  wia__init_error(&error);
  const char *what = item->what; /* the item may be gone as soon as it is signalled */
  wia__lock_device(queue->device);
  const wia_status_t status = streams_of(queue)->signal(queue->stream, value, &error);
  wia__unlock_device(queue->device);
  if (!status)
    wia__drop_error(&error);
  else
    wia__take_error(&error, status, queue->device->driver->name, "%s on %s", what,
                    queue->device->name);
  return status;
}

/* Around calls of the driver's stream; the mutex is given up between them. */
static void begin_call(wia__queue_t *queue) {
  queue->calling = true;
  pthread_mutex_unlock(&queue->mutex);
}

static void end_call(wia__queue_t *queue) {
  pthread_mutex_lock(&queue->mutex);
  queue->calling = false;
  if (queue->claims) pthread_cond_broadcast(&queue->done);
}

/* The failure of this thread is the queue's, at that sequence. */
static void fail_here(wia__queue_t *queue, uint64_t sequence) {
  pthread_mutex_lock(&queue->mutex);
  fail_at(queue, sequence, &wia__thread()->last);
  pthread_mutex_unlock(&queue->mutex);
}

/* What the driver refuses fails the queue, as any failed work. It is signalled none the less: a part of
 * it may have been taken. */
static void submit(wia__queue_t *queue, wia__item_t *item) {
  const uint64_t sequence = item->sequence;
  wia__thread_t *self = wia__thread();
  const char *outer = self->function;
  const wia__failure_t last = put_last_error_aside();
  begin_call(queue);
  self->function = item->function;
  item->origin.submitted_ns = wia__begin_span();
  if (item->submit(item, queue->stream)) fail_here(queue, sequence);
  const wia_status_t status = signal_stream(queue, item, sequence);
  if (status) fail_here(queue, sequence);
  self->function = outer;
  end_call(queue);
  bring_last_error_back(last);
  if (status) item->submitted = false; /* it will not be told of, so it is still there */
}

void wia__advance(wia__queue_t *queue) {
  if (queue->advancing) return;
  queue->advancing = true;
  while (queue->first && !queue->running && !queue->claims && wia__can_pass(queue, queue->first)) {
    wia__item_t *item = wia__take_first(queue);
    if (!queue->failure.status && item->wait_for &&
        wia__point_state(item->wait_for) == WIA_EVENT_FAILED)
      fail_at(queue, item->sequence, wia__point_failure(item->wait_for));
    item->submitted = item->submit && !queue->failure.status;
    wia__append(&queue->flight_end, item);
    if (item->submitted) submit(queue, item);
    complete(queue);
  }
  queue->advancing = false;
  if (queue->first) pthread_cond_signal(&queue->work);
}

/* -- the worker ---------------------------------------------------------------------------------- */

/* Waits for its point, or for what is before it, and runs it. */
static void run_item(wia__queue_t *queue, wia__item_t *item) {
  wia__thread()->function = item->function;
  wia_status_t status = WIA_STATUS_OK;
  queue->running = true;
  queue->taken = item->sequence;
  if (item->wait_for && !queue->failure.status) status = wia__await_point(queue, item);
  if (item->run) {
    queue->waiting = true;
    while (queue->flight || queue->completing) wia__wait_condition(&queue->work, &queue->mutex, -1);
    queue->waiting = false;
  }
  if (item->run && !status && !queue->failure.status) {
    pthread_mutex_unlock(&queue->mutex);
    const bool traced = wia__is_tracing();
    if (traced) wia__begin_work(&item->origin);
    status = item->run(item);
    if (traced) wia__end_work();
    pthread_mutex_lock(&queue->mutex);
  }
  if (status) fail_at(queue, item->sequence, &wia__thread()->last);
  item->submitted = false;
  wia__append(&queue->flight_end, item);
  queue->running = false;
  complete(queue);
}

void wia__work_for_native(wia__queue_t *queue) {
  for (;;) {
    wia__advance(queue);
    if (queue->first && !queue->advancing) {
      run_item(queue, wia__take_first(queue));
    } else if (!queue->first && (queue->closed || queue->stopped)) {
      return;
    } else {
      wia__wait_condition(&queue->work, &queue->mutex, -1);
    }
  }
}

/* Waits until no call of the driver's stream is going on. Until claims is counted down none begins but by
 * those who have claimed it, one after the other. */
static void claim_stream(wia__queue_t *queue) {
  queue->claims++;
  while (queue->calling) wia__wait_condition(&queue->done, &queue->mutex, -1);
}

uint64_t wia__cancel_submitted(wia__queue_t *queue, const char *why) {
  uint64_t value = 0;
  if (!queue->native || !streams_of(queue)->cancel || wia__thread()->deferring) return value;
  claim_stream(queue);
  if (queue->flight) {
    queue->cancel_reason = why;
    queue->cancel_function = wia__thread()->function;
    begin_call(queue);
    wia__lock_device(queue->device);
    value = streams_of(queue)->cancel(queue->stream);
    wia__unlock_device(queue->device);
    end_call(queue);
    if (!value) queue->cancel_reason = NULL;
  }
  queue->claims--;
  wia__advance(queue);
  return value;
}

/* -- the driver's stream ------------------------------------------------------------------------- */

wia_status_t wia__create_stream(wia__queue_t *queue, wia_driver_stream_t *out_stream) {
  wia__device_t *device = queue->device;
  wia_error_t error;
  wia__init_error(&error);
  wia__lock_device(device);
  const wia_status_t status =
      streams_of(queue)->create(device->handle, queue->priority, notify, queue, out_stream, &error);
  wia__unlock_device(device);
  if (status)
    return wia__take_error(&error, status, device->driver->name, "a stream on %s", device->name);
  wia__drop_error(&error);
  return status;
}

static void destroy_stream(wia__queue_t *queue, wia_driver_stream_t stream) {
  wia__lock_device(queue->device);
  streams_of(queue)->destroy(stream);
  wia__unlock_device(queue->device);
}

void wia__destroy_stream(wia__queue_t *queue) { destroy_stream(queue, queue->stream); }

wia_status_t wia__renew_stream(wia__queue_t *queue) {
  wia_status_t status = WIA_STATUS_OK;
  claim_stream(queue);
  queue->cancel_reason = NULL;
  if (queue->failure.status) { /* else another thread was quicker, or there was none */
    wia_driver_stream_t fresh = NULL, old = queue->stream;
    begin_call(queue);
    status = wia__create_stream(queue, &fresh);
    if (!status) destroy_stream(queue, old);
    end_call(queue);
    if (!status) queue->stream = fresh;
  }
  queue->claims--;
  return status;
}
