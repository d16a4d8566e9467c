/* sequence.c: how far a queue has come: whether an item of it is done, waiting until it is, and being told. */
#include <stdlib.h>

#include "queue.h"
#include "validate.h"

bool wia__is_done(const wia__queue_t *queue, uint64_t sequence) {
  return atomic_load_explicit(&queue->completed, memory_order_acquire) >= sequence;
}

/* Work that was marked and then refused for lack of memory never comes. Under the mutex. */
static uint64_t latest(const wia__queue_t *queue, uint64_t sequence) {
  return sequence < queue->enqueued ? sequence : queue->enqueued;
}

wia_status_t wia__watch_sequence(wia__queue_t *queue, uint64_t sequence,
                                 void (*function)(void *context), void *context) {
  wia__watch_t *watch = calloc(1, sizeof *watch);
  if (!watch) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no host memory is left");
  *watch = (wia__watch_t){.sequence = sequence, .function = function, .context = context};
  pthread_mutex_lock(&queue->mutex);
  watch->sequence = latest(queue, sequence);
  const bool done = wia__is_done(queue, watch->sequence);
  if (!done) {
    watch->next = queue->watches;
    queue->watches = watch;
  }
  pthread_mutex_unlock(&queue->mutex);
  if (done) {
    free(watch);
    function(context);
  }
  return WIA_STATUS_OK;
}

void wia__call_watches(wia__queue_t *queue) {
  wia__watch_t *due = NULL;
  for (wia__watch_t **link = &queue->watches; *link;) {
    wia__watch_t *watch = *link;
    if (wia__is_done(queue, watch->sequence)) {
      *link = watch->next;
      watch->next = due;
      due = watch;
    } else {
      link = &watch->next;
    }
  }
  if (!due) return;
  pthread_mutex_unlock(&queue->mutex);
  for (wia__watch_t *next; due; due = next) {
    next = due->next;
    due->function(due->context);
    free(due);
  }
  pthread_mutex_lock(&queue->mutex);
}

bool wia__await_sequence(wia__queue_t *queue, uint64_t sequence, int64_t deadline_ns) {
  bool in_time = true;
  queue->waiters++;
  while (!wia__is_done(queue, sequence) && in_time)
    in_time = wia__wait_condition(&queue->done, &queue->mutex, deadline_ns);
  queue->waiters--;
  return wia__is_done(queue, sequence);
}

wia_status_t wia__check_waiter(const wia__queue_t *queue, uint64_t sequence) {
  const wia__thread_t *self = wia__thread();
  if (wia__is_done(queue, sequence) ||
      (atomic_load(&queue->worker) != self && atomic_load(&queue->completer) != self))
    return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                   "a function that a stream runs would wait for that stream, and so for itself");
}

wia_status_t wia__wait_sequence(wia__queue_t *queue, uint64_t sequence, int64_t timeout_ns) {
  wia__thread_t *self = wia__thread();
  const int64_t deadline_ns = wia__deadline_ns(timeout_ns);
  wia_status_t status = wia__check_waiter(queue, sequence);
  if (status) return status;
  wia__retain_queue(queue);
  wia__leave(self);
  const int64_t begin_ns = wia__begin_span();
  pthread_mutex_lock(&queue->mutex);
  sequence = latest(queue, sequence);
  const bool in_time = wia__await_sequence(queue, sequence, deadline_ns);
  if (queue->failure.status && queue->failed_sequence <= sequence)
    status = wia__tell_failure(queue);
  else if (!in_time)
    status = wia__fail(WIA_STATUS_DEADLINE_EXCEEDED, "the stream was not done after %lld ns",
                       (long long)timeout_ns);
  pthread_mutex_unlock(&queue->mutex);
  if (begin_ns) wia__end_span(WIA_PROFILE_WAIT, begin_ns, "stream", queue->device->id, -1, 0);
  if (in_time && wia__is_validating()) wia__validate_done(queue, sequence);
  wia__rejoin(self);
  wia__release_queue(queue);
  return status;
}
