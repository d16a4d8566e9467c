/* queue.c: the queue of a stream and the worker thread that runs it. */
#include <stdlib.h>

#include "platform.h"
#include "stream.h"

struct wia__queue_t {
  wia__object_t object;
  wia__device_t *device;
  pthread_mutex_t mutex;
  pthread_cond_t work; /* for the worker: an item, a finished point, an interruption */
  pthread_cond_t done; /* for those who wait for items */
  wia__item_t *first, **last;
  uint64_t enqueued;
  _Atomic uint64_t completed;
  wia__failure_t failure; /* status OK: none */
  uint64_t failed_sequence;
  uint32_t waiters;
  bool idle;    /* the worker waits for an item */
  bool running; /* an item is out of the queue */
  /* Resets that are going on: the item that waits for a point is to end as CANCELLED, and nothing new
   * is taken. */
  uint32_t interrupts;
  bool closed;  /* the stream is destroyed: the worker ends when the queue is empty */
  bool stopped; /* the process ends */
  wia__queue_t *previous_queue, *next_queue;
};

static pthread_mutex_t queues_mutex = PTHREAD_MUTEX_INITIALIZER;
static wia__queue_t *queues; /* those whose worker runs */
static bool stopping;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

enum { EXIT_TIMEOUT_S = 10 };

/* -- life ---------------------------------------------------------------------------------------- */

static void destroy_queue(wia__object_t *object) {
  wia__queue_t *queue = (wia__queue_t *)object;
  wia__free_failure(&queue->failure);
  pthread_cond_destroy(&queue->work);
  pthread_cond_destroy(&queue->done);
  pthread_mutex_destroy(&queue->mutex);
  free(queue);
}

void wia__retain_queue(wia__queue_t *queue) { wia__retain(&queue->object); }
void wia__release_queue(wia__queue_t *queue) { wia__release(&queue->object); }
wia__device_t *wia__queue_device(const wia__queue_t *queue) { return queue->device; }

static void link_queue(wia__queue_t *queue) {
  queue->previous_queue = NULL;
  queue->next_queue = queues;
  if (queues) queues->previous_queue = queue;
  queues = queue;
}

static void unlink_queue(wia__queue_t *queue) {
  pthread_mutex_lock(&queues_mutex);
  if (queue->previous_queue)
    queue->previous_queue->next_queue = queue->next_queue;
  else
    queues = queue->next_queue;
  if (queue->next_queue) queue->next_queue->previous_queue = queue->previous_queue;
  pthread_mutex_unlock(&queues_mutex);
}

/* -- the worker ---------------------------------------------------------------------------------- */

/* Waits until the point of the item is finished. Under the queue's mutex: wia__wake_queue takes it, so
 * a point that finishes between the look at its state and the wait is not missed. */
static wia_status_t await_point(wia__queue_t *queue, wia__item_t *item) {
  const bool subscribed = wia__subscribe(item->wait_for, queue);
  while (!queue->interrupts && wia__point_state(item->wait_for) == WIA_EVENT_PENDING)
    wia__wait_condition(&queue->work, &queue->mutex, subscribed ? -1 : wia__now_ns() + 1000000);
  if (wia__point_state(item->wait_for) == WIA_EVENT_FAILED)
    return wia__restore_failure(wia__point_failure(item->wait_for));
  if (wia__point_state(item->wait_for) == WIA_EVENT_PENDING)
    return wia__fail(WIA_STATUS_CANCELLED, "the stream was reset or ended while it waited");
  return WIA_STATUS_OK;
}

/* Runs or drops one item. Under the queue's mutex, which it gives up meanwhile. */
static void run_item(wia__queue_t *queue, wia__item_t *item) {
  const uint64_t sequence = item->sequence;
  wia_status_t status = queue->failure.status;
  queue->running = true;
  wia__thread()->function = item->function;
  if (!status && item->wait_for) status = await_point(queue, item);
  const bool failed_before = queue->failure.status != WIA_STATUS_OK;
  const bool ran = !status;
  pthread_mutex_unlock(&queue->mutex);
  wia__failure_t failure = {0};
  if (ran) status = item->run ? item->run(item) : WIA_STATUS_OK;
  if (status && !failed_before) wia__save_failure(&failure);
  /* the queue's failure is written by this thread only, or while it doesn't run: readable here */
  item->end(item, status, status ? (failed_before ? &queue->failure : &failure) : NULL);
  pthread_mutex_lock(&queue->mutex);
  if (status && !failed_before) {
    queue->failure = failure;
    queue->failed_sequence = sequence;
  }
  queue->running = false;
  atomic_store_explicit(&queue->completed, sequence, memory_order_release);
  if (queue->waiters) pthread_cond_broadcast(&queue->done);
}

static void *work(void *argument) {
  wia__queue_t *queue = argument;
  pthread_mutex_lock(&queue->mutex);
  for (;;) {
    wia__item_t *item = queue->first;
    if (item) {
      queue->first = item->next;
      if (!queue->first) queue->last = &queue->first;
      run_item(queue, item);
    } else if (queue->closed || queue->stopped) {
      break;
    } else {
      queue->idle = true;
      wia__wait_condition(&queue->work, &queue->mutex, -1);
      queue->idle = false;
    }
  }
  queue->stopped = true;
  pthread_cond_broadcast(&queue->done);
  pthread_mutex_unlock(&queue->mutex);
  unlink_queue(queue);
  wia__release_queue(queue);
  return NULL;
}

void wia__wake_queue(wia__queue_t *queue) {
  pthread_mutex_lock(&queue->mutex);
  pthread_cond_signal(&queue->work);
  pthread_mutex_unlock(&queue->mutex);
}

/* -- create, close ------------------------------------------------------------------------------- */

static void stop_at_exit(void) { wia__stop_streams(EXIT_TIMEOUT_S * INT64_C(1000000000)); }
static void register_exit(void) { atexit(stop_at_exit); }

wia_status_t wia__create_queue(wia__device_t *device, wia__queue_t **out_queue) {
  pthread_once(&exit_once, register_exit);
  wia__queue_t *queue = calloc(1, sizeof *queue);
  if (!queue || wia__init_condition(&queue->work) != 0) {
    free(queue);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a stream");
  }
  wia__init_condition(&queue->done);
  pthread_mutex_init(&queue->mutex, NULL);
  wia__init_object(&queue->object, WIA__INTERNAL, destroy_queue);
  queue->device = device;
  queue->last = &queue->first;
  wia__retain_queue(queue); /* the worker's */
  pthread_mutex_lock(&queues_mutex);
  const bool refused = stopping;
  const int error = refused ? 0 : wia__start_thread(work, queue, "wia stream");
  if (!refused && !error) link_queue(queue);
  pthread_mutex_unlock(&queues_mutex);
  if (!refused && !error) {
    *out_queue = queue;
    return WIA_STATUS_OK;
  }
  destroy_queue(&queue->object);
  if (refused) return wia__fail(WIA_STATUS_UNAVAILABLE, "the process is ending");
  return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED,
                   "no thread for a stream can be started (error %d)", error);
}

void wia__close_queue(wia__queue_t *queue) {
  pthread_mutex_lock(&queue->mutex);
  queue->closed = true;
  pthread_cond_signal(&queue->work);
  pthread_mutex_unlock(&queue->mutex);
}

/* -- enqueue and wait ---------------------------------------------------------------------------- */

wia_status_t wia__enqueue(wia__queue_t *queue, wia__item_t *item,
                          wia_status_t (*mark)(wia__item_t *item, wia__queue_t *queue,
                                               uint64_t sequence)) {
  pthread_mutex_lock(&queue->mutex);
  wia_status_t status = queue->failure.status;
  if (status)
    wia__restore_failure(&queue->failure);
  else if (queue->closed)
    status = wia__fail(WIA_STATUS_INVALID_HANDLE, "the stream was destroyed by another thread");
  else if (queue->stopped)
    status = wia__fail(WIA_STATUS_UNAVAILABLE, "the process is ending");
  else if (queue->interrupts)
    status = wia__fail(WIA_STATUS_CANCELLED, "the stream is being reset by another thread");
  else if (mark)
    status = mark(item, queue, queue->enqueued + 1);
  if (!status) {
    item->sequence = ++queue->enqueued;
    item->function = wia__thread()->function;
    item->next = NULL;
    *queue->last = item;
    queue->last = &item->next;
    if (queue->idle) {
      queue->idle = false; /* one wake is enough */
      pthread_cond_signal(&queue->work);
    }
  }
  pthread_mutex_unlock(&queue->mutex);
  if (status) item->end(item, status, NULL);
  return status;
}

bool wia__is_done(const wia__queue_t *queue, uint64_t sequence) {
  return atomic_load_explicit(&queue->completed, memory_order_acquire) >= sequence;
}

wia_status_t wia__wait_sequence(wia__queue_t *queue, uint64_t sequence, int64_t timeout_ns) {
  wia__thread_t *self = wia__thread();
  const int64_t deadline_ns = wia__deadline_ns(timeout_ns);
  wia__retain_queue(queue);
  wia__leave(self);
  bool in_time = true;
  pthread_mutex_lock(&queue->mutex);
  queue->waiters++;
  while (!wia__is_done(queue, sequence) && in_time)
    in_time = wia__wait_condition(&queue->done, &queue->mutex, deadline_ns);
  queue->waiters--;
  wia_status_t status = WIA_STATUS_OK;
  if (queue->failure.status && queue->failed_sequence <= sequence)
    status = wia__restore_failure(&queue->failure);
  else if (!wia__is_done(queue, sequence))
    status = wia__fail(WIA_STATUS_DEADLINE_EXCEEDED, "the stream was not done after %lld ns",
                       (long long)timeout_ns);
  pthread_mutex_unlock(&queue->mutex);
  wia__rejoin(self);
  wia__release_queue(queue);
  return status;
}

uint64_t wia__last_sequence(wia__queue_t *queue) {
  pthread_mutex_lock(&queue->mutex);
  const uint64_t sequence = queue->enqueued;
  pthread_mutex_unlock(&queue->mutex);
  return sequence;
}

wia_status_t wia__queue_status(wia__queue_t *queue) {
  pthread_mutex_lock(&queue->mutex);
  const wia_status_t status = queue->failure.status;
  if (status) wia__restore_failure(&queue->failure);
  pthread_mutex_unlock(&queue->mutex);
  return status;
}

/* -- reset and stop ------------------------------------------------------------------------------ */

/* Drops what is queued, interrupts a wait for a point, and waits for the running item. Under the
 * queue's mutex, which it gives up while items end. False: the deadline passed first. Until the caller
 * takes its interrupt back nothing new is enqueued. */
static bool drop_items(wia__queue_t *queue, const char *why, int64_t deadline_ns) {
  const wia__failure_t failure = {.status = WIA_STATUS_CANCELLED,
                                  .message = (char *)(uintptr_t)why};
  wia__item_t *items = queue->first;
  queue->first = NULL;
  queue->last = &queue->first;
  queue->interrupts++;
  pthread_cond_signal(&queue->work);
  pthread_mutex_unlock(&queue->mutex);
  while (items) {
    wia__item_t *next = items->next;
    items->end(items, WIA_STATUS_CANCELLED, &failure);
    items = next;
  }
  pthread_mutex_lock(&queue->mutex);
  bool in_time = true;
  queue->waiters++;
  while (queue->running && in_time)
    in_time = wia__wait_condition(&queue->done, &queue->mutex, deadline_ns);
  queue->waiters--;
  if (!in_time) return false;
  atomic_store_explicit(&queue->completed, queue->enqueued, memory_order_release);
  if (queue->waiters) pthread_cond_broadcast(&queue->done);
  return true;
}

void wia__reset_queue(wia__queue_t *queue) {
  wia__thread_t *self = wia__thread();
  wia__retain_queue(queue);
  wia__leave(self);
  pthread_mutex_lock(&queue->mutex);
  drop_items(queue, "the stream was reset", -1);
  queue->interrupts--;
  wia__free_failure(&queue->failure);
  pthread_mutex_unlock(&queue->mutex);
  wia__rejoin(self);
  wia__release_queue(queue);
}

/* Any running queue that was not told to stop yet, with a reference; NULL: none. */
static wia__queue_t *next_to_stop(void) {
  pthread_mutex_lock(&queues_mutex);
  stopping = true;
  wia__queue_t *queue = queues;
  for (; queue; queue = queue->next_queue) {
    pthread_mutex_lock(&queue->mutex);
    const bool fresh = !queue->stopped;
    queue->stopped = true;
    pthread_mutex_unlock(&queue->mutex);
    if (fresh) break;
  }
  if (queue) wia__retain_queue(queue);
  pthread_mutex_unlock(&queues_mutex);
  return queue;
}

WIA_API wia_status_t wia__stop_streams(int64_t timeout_ns) {
  const int64_t deadline_ns = wia__deadline_ns(timeout_ns);
  bool in_time = true;
  for (wia__queue_t *queue; (queue = next_to_stop());) {
    pthread_mutex_lock(&queue->mutex);
    in_time &= drop_items(queue, "the process is ending", deadline_ns);
    pthread_mutex_unlock(&queue->mutex);
    wia__release_queue(queue);
  }
  return in_time ? WIA_STATUS_OK : WIA_STATUS_DEADLINE_EXCEEDED;
}
