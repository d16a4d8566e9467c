/* drain.c: ending the work of streams: cancel, reset, wait for a whole device, stop at exit. */
#include <stdlib.h>

#include "memory.h"
#include "queue.h"
#include "validate.h"

/* Fails what is queued and what waits for a point; the running item goes on. Under the queue's mutex.
 * The worker then ends each item with the failure. */
static void cancel(wia__queue_t *queue, const char *why) {
  if (queue->failure.status) return;
  uint64_t sequence = wia__cancel_submitted(queue, why);
  if (!sequence && queue->waiting) sequence = queue->taken;
  if (!sequence && queue->first) sequence = queue->first->sequence;
  if (!sequence) return;
  const wia__failure_t failure = {.status = WIA_STATUS_CANCELLED,
                                  .function = (char *)(uintptr_t)wia__thread()->function,
                                  .message = (char *)(uintptr_t)why};
  if (!queue->failure.status) { /* a driver that was asked may have told of it by now */
    wia__copy_failure(&queue->failure, &failure);
    queue->failed_sequence = sequence;
  }
  queue->interrupted = true;
  pthread_cond_signal(&queue->work);
  if (queue->native) wia__advance(queue);
}

wia_status_t wia__cancel_queue(wia__queue_t *queue) {
  pthread_mutex_lock(&queue->mutex);
  cancel(queue, "the stream was cancelled");
  wia__unlock_queue(queue);
  return WIA_STATUS_OK;
}

wia_status_t wia__reset_queue(wia__queue_t *queue) {
  wia__thread_t *self = wia__thread();
  wia_status_t status = wia__check_waiter(queue, wia__last_sequence(queue));
  if (status) return status;
  wia__retain_queue(queue);
  wia__leave(self);
  pthread_mutex_lock(&queue->mutex);
  queue->resets++;
  cancel(queue, "the stream was reset");
  wia__await_sequence(queue, queue->enqueued, -1);
  if (wia__is_validating()) wia__validate_reset(queue, queue->enqueued);
  if (queue->native) status = wia__renew_stream(queue);
  if (!status) {
    wia__free_failure(&queue->failure);
    atomic_store(&queue->failure_told, false);
    queue->failed_sequence = 0;
    queue->interrupted = false;
  }
  queue->resets--;
  wia__unlock_queue(queue);
  wia__rejoin(self);
  wia__release_queue(queue);
  return status;
}

/* -- all queues of a device ---------------------------------------------------------------------- */

/* The queues of a device with a reference each, and what is enqueued on each now. */
static wia_status_t list_queues(const wia__device_t *device, wia__mark_t **out_list,
                                uint64_t *out_count) {
  uint64_t count = 0;
  pthread_mutex_lock(&wia__queues_mutex);
  for (wia__queue_t *queue = wia__queues; queue; queue = queue->next_queue)
    count += queue->device == device;
  wia__mark_t *list = calloc(count ? count : 1, sizeof *list);
  count = 0;
  for (wia__queue_t *queue = list ? wia__queues : NULL; queue; queue = queue->next_queue) {
    if (queue->device != device) continue;
    /* a destroyed stream without work is gone for its owner, and so is its failure, although its
     * worker may still be on the way out */
    pthread_mutex_lock(&queue->mutex);
    const uint64_t last = queue->enqueued;
    const bool gone = queue->closed && wia__is_done(queue, last);
    pthread_mutex_unlock(&queue->mutex);
    if (gone) continue;
    wia__retain_queue(queue);
    list[count++] = (wia__mark_t){.queue = queue, .sequence = last};
  }
  pthread_mutex_unlock(&wia__queues_mutex);
  if (!list) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a list of streams");
  *out_list = list;
  *out_count = count;
  return WIA_STATUS_OK;
}

wia_status_t wia__synchronize_queues(const wia__device_t *device, int64_t timeout_ns) {
  const int64_t deadline_ns = wia__deadline_ns(timeout_ns);
  wia__mark_t *list = NULL;
  uint64_t count = 0;
  wia__failure_t first = {0};
  wia_status_t status = list_queues(device, &list, &count);
  if (status) return status;
  for (uint64_t i = 0; i < count; i++) {
    int64_t left_ns = WIA_TIMEOUT_INFINITE;
    if (deadline_ns >= 0) left_ns = deadline_ns - wia__now_ns();
    if (deadline_ns >= 0 && left_ns < 0) left_ns = 0;
    status = wia__wait_sequence(list[i].queue, list[i].sequence, left_ns);
    if (status && !first.status) wia__save_failure(&first);
    wia__release_queue(list[i].queue);
  }
  free(list);
  status = first.status ? wia__restore_failure(&first) : WIA_STATUS_OK;
  wia__free_failure(&first);
  return status;
}

/* -- the end ------------------------------------------------------------------------------------- */

/* Any running queue that was not told to stop yet, with a reference; NULL: none. */
static wia__queue_t *next_to_stop(void) {
  pthread_mutex_lock(&wia__queues_mutex);
  wia__queues_stopping = true;
  wia__queue_t *queue = wia__queues;
  for (; queue; queue = queue->next_queue) {
    pthread_mutex_lock(&queue->mutex);
    const bool fresh = !queue->stopped;
    queue->stopped = true;
    pthread_mutex_unlock(&queue->mutex);
    if (fresh) break;
  }
  if (queue) wia__retain_queue(queue);
  pthread_mutex_unlock(&wia__queues_mutex);
  return queue;
}

wia_status_t wia__stop_streams(int64_t timeout_ns, const char *why) {
  const int64_t deadline_ns = wia__deadline_ns(timeout_ns);
  bool in_time = true;
  for (wia__queue_t *queue; (queue = next_to_stop());) {
    pthread_mutex_lock(&queue->mutex);
    cancel(queue, why);
    const wia__thread_t *self = wia__thread(); /* exit() inside a function */
    const bool mine = atomic_load(&queue->worker) == self || atomic_load(&queue->completer) == self;
    in_time &= mine || wia__await_sequence(queue, queue->enqueued, deadline_ns);
    pthread_cond_signal(&queue->work);
    wia__unlock_queue(queue);
    wia__release_queue(queue);
  }
  return in_time ? WIA_STATUS_OK : WIA_STATUS_DEADLINE_EXCEEDED;
}

void wia__admit_streams(void) {
  pthread_mutex_lock(&wia__queues_mutex);
  wia__queues_stopping = wia__process_ending;
  pthread_mutex_unlock(&wia__queues_mutex);
}

bool wia__is_stream_thread(void) {
  const wia__thread_t *self = wia__thread();
  bool found = false;
  pthread_mutex_lock(&wia__queues_mutex);
  for (wia__queue_t *queue = wia__queues; queue && !found; queue = queue->next_queue)
    found = atomic_load(&queue->worker) == self || atomic_load(&queue->completer) == self;
  pthread_mutex_unlock(&wia__queues_mutex);
  return found;
}

bool wia__await_streams(int64_t deadline_ns) {
  while (true) {
    bool gone = true;
    pthread_mutex_lock(&wia__queues_mutex);
    for (wia__queue_t *queue = wia__queues; queue && gone; queue = queue->next_queue) {
      pthread_mutex_lock(&queue->mutex);
      gone = !queue->stopped;
      pthread_mutex_unlock(&queue->mutex);
    }
    pthread_mutex_unlock(&wia__queues_mutex);
    if (gone || (deadline_ns >= 0 && wia__now_ns() >= deadline_ns)) return gone;
    wia__pause();
  }
}
