/* queue.c: the queue of a stream and the worker thread that runs it. */
#include <stdlib.h>

#include "fork.h"
#include "log.h"

#include "capture.h"
#include "finding.h"
#include "queue.h"
#include "validate.h"

pthread_mutex_t wia__queues_mutex = PTHREAD_MUTEX_INITIALIZER;
wia__queue_t *wia__queues;
bool wia__queues_stopping, wia__process_ending;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

enum { EXIT_TIMEOUT_S = 10 };
static const char ENDING[] = "the process is ending, or the library is being shut down";

/* -- life ---------------------------------------------------------------------------------------- */

/* Nobody can ask for it any more. */
static void warn_of_failure(const wia__queue_t *queue) {
  const wia__failure_t *failure = &queue->failure;
  /* cancelled on purpose, or because the process or its interpreter ends */
  const bool wanted =
      failure->status == WIA_STATUS_CANCELLED || failure->status == WIA_STATUS_UNAVAILABLE;
  if (!failure->status || wanted || queue->failure_told) return;
  wia__log(WIA__LOG_STREAM, WIA_LOG_WARNING, queue->device->driver->name,
           "a stream of %s was destroyed with a failure that nobody asked for: %s: %s; "
           "wia_synchronize_stream() tells of it",
           queue->device->name, wia_get_status_name(failure->status),
           failure->message ? failure->message : wia_get_status_text(failure->status));
}

static void destroy_queue(wia__object_t *object) {
  wia__queue_t *queue = (wia__queue_t *)object;
  warn_of_failure(queue);
  if (queue->stream) wia__destroy_stream(queue);
  wia__end_timeline(queue->timeline);
  wia__free_failure(&queue->failure);
  pthread_cond_destroy(&queue->work);
  pthread_cond_destroy(&queue->done);
  pthread_mutex_destroy(&queue->mutex);
  free(queue);
}

void wia__retain_queue(wia__queue_t *queue) { wia__retain(&queue->object); }
void wia__release_queue(wia__queue_t *queue) { wia__release(&queue->object); }
wia__device_t *wia__queue_device(const wia__queue_t *queue) { return queue->device; }

int32_t wia__least_priority(const wia__device_t *device) {
  const wia_driver_streams_t *streams = device->table->streams;
  return streams ? streams->least_priority : WIA__PRIORITY_LEAST;
}

static void link_queue(wia__queue_t *queue) {
  queue->previous_queue = NULL;
  queue->next_queue = wia__queues;
  if (wia__queues) wia__queues->previous_queue = queue;
  wia__queues = queue;
}

static void unlink_queue(wia__queue_t *queue) {
  pthread_mutex_lock(&wia__queues_mutex);
  if (queue->previous_queue)
    queue->previous_queue->next_queue = queue->next_queue;
  else
    wia__queues = queue->next_queue;
  if (queue->next_queue) queue->next_queue->previous_queue = queue->previous_queue;
  pthread_mutex_unlock(&wia__queues_mutex);
}

wia_status_t wia__tell_failure(wia__queue_t *queue) {
  atomic_store(&queue->failure_told, true);
  return wia__restore_failure(&queue->failure);
}

void wia__unlock_queue(wia__queue_t *queue) {
  const bool ends =
      queue->native && queue->closed && !queue->over &&
      atomic_load_explicit(&queue->completed, memory_order_relaxed) == queue->enqueued;
  if (ends) queue->over = true;
  pthread_mutex_unlock(&queue->mutex);
  if (!ends) return;
  unlink_queue(queue);
  wia__release_queue(queue);
}

/* -- the worker ---------------------------------------------------------------------------------- */

/* wia__wake_queue takes the mutex, so a point that finishes between the look at its state and the wait is
 * not missed. */
wia_status_t wia__await_point(wia__queue_t *queue, wia__item_t *item) {
  const bool subscribed = wia__subscribe(item->wait_for, queue);
  queue->waiting = true;
  /* a driver's own stream still runs what is before this wait, so there it has no span of its own */
  const int64_t begin_ns = queue->native ? 0 : wia__begin_span();
  while (!queue->interrupted && wia__point_state(item->wait_for) == WIA_EVENT_PENDING)
    wia__wait_condition(&queue->work, &queue->mutex, subscribed ? -1 : wia__now_ns() + 1000000);
  queue->waiting = false;
  if (begin_ns) wia__end_span(WIA_PROFILE_WAIT, begin_ns, "event", queue->device->id, -1, 0);
  if (queue->interrupted) return queue->failure.status;
  if (wia__point_state(item->wait_for) == WIA_EVENT_FAILED)
    return wia__restore_failure(wia__point_failure(item->wait_for));
  return WIA_STATUS_OK;
}

/* Runs or drops one item. Under the queue's mutex, which it gives up meanwhile. A failure, once it is
 * there, stays until a reset, and that waits for this; so it may be read without the mutex. */
static void run_item(wia__queue_t *queue, wia__item_t *item) {
  const uint64_t sequence = item->sequence;
  wia_status_t status = queue->failure.status;
  queue->running = true;
  queue->taken = sequence;
  wia__thread()->function = item->function;
  const bool traced = wia__is_tracing();
  if (traced) wia__begin_work(&item->origin);
  if (!status && item->wait_for) status = wia__await_point(queue, item);
  const wia__failure_t *known = queue->failure.status ? &queue->failure : NULL;
  pthread_mutex_unlock(&queue->mutex);
  wia__failure_t fresh = {0};
  if (!status && item->run) status = item->run(item);
  if (traced) wia__end_work();
  if (status && !known) wia__save_failure(&fresh);
  wia__note_told(queue, item, status);
  item->end(item, status, status ? (known ? known : &fresh) : NULL);
  pthread_mutex_lock(&queue->mutex);
  if (fresh.status) { /* also if what comes later was cancelled meanwhile: this failed first */
    wia__free_failure(&queue->failure);
    queue->failure = fresh;
    queue->failed_sequence = sequence;
  }
  queue->running = false;
  atomic_store_explicit(&queue->completed, sequence, memory_order_release);
  if (queue->waiters) pthread_cond_broadcast(&queue->done);
  if (queue->watches) wia__call_watches(queue);
}

static void *work(void *argument) {
  wia__queue_t *queue = argument;
  atomic_store(&queue->worker, wia__thread());
  wia__thread()->trace.stream = queue->number;
  if (queue->priority) wia__lower_priority(queue->priority);
  pthread_mutex_lock(&queue->mutex);
  if (queue->native) {
    wia__work_for_native(queue);
    atomic_store(&queue->worker, NULL);
    wia__unlock_queue(queue);
    wia__release_queue(queue);
    return NULL;
  }
  for (;;) {
    if (queue->first) {
      run_item(queue, wia__take_first(queue));
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
  atomic_store(&queue->worker, NULL);
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

static void stop_at_exit(void) {
  pthread_mutex_lock(&wia__queues_mutex);
  wia__process_ending = true;
  pthread_mutex_unlock(&wia__queues_mutex);
  if (wia__stop_streams(EXIT_TIMEOUT_S * INT64_C(1000000000), "the process is ending"))
    wia__log(
        WIA__LOG_STREAM, WIA_LOG_WARNING, NULL,
        "the process is ending, and after %d s work that had begun still runs: it is left behind",
        EXIT_TIMEOUT_S);
}
static void register_exit(void) { atexit(stop_at_exit); }

wia_status_t wia__start_worker(wia__queue_t *queue) {
  wia__retain_queue(queue); /* the worker's */
  const int error = wia__start_thread(work, queue, "wia stream");
  if (!error) return WIA_STATUS_OK;
  wia__release_queue(queue);
  return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED,
                   "no thread for a stream can be started (error %d)", error);
}

/* Puts the queue among the others, with a reference until it ends. */
static wia_status_t start_queue(wia__queue_t *queue) {
  pthread_mutex_lock(&wia__queues_mutex);
  wia_status_t status = WIA_STATUS_OK;
  if (wia__queues_stopping)
    status = wia__fail(WIA_STATUS_UNAVAILABLE, ENDING);
  else if (queue->native)
    wia__retain_queue(queue);
  else
    status = wia__start_worker(queue);
  if (!status) link_queue(queue);
  pthread_mutex_unlock(&wia__queues_mutex);
  return status;
}

wia_status_t wia__create_queue(wia__device_t *device, int32_t priority, wia__queue_t **out_queue) {
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
  queue->priority = priority;
  queue->number = wia__next_stream_number();
  queue->last = &queue->first;
  queue->flight_end = &queue->flight;
  queue->native = device->table->streams != NULL;
  wia_status_t status = WIA_STATUS_OK;
  if (queue->native) status = wia__create_stream(queue, &queue->stream);
  if (!status) status = start_queue(queue);
  if (status)
    destroy_queue(&queue->object);
  else
    *out_queue = queue;
  return status;
}

void wia__close_queue(wia__queue_t *queue) {
  pthread_mutex_lock(&queue->mutex);
  queue->closed = true;
  pthread_cond_signal(&queue->work);
  wia__unlock_queue(queue);
}

/* -- enqueue ------------------------------------------------------------------------------------ */

typedef wia_status_t (*mark_fn_t)(wia__item_t *item, wia__queue_t *queue, uint64_t sequence);

/* What the layers that are on do with an item. Under the mutex. */
static wia_status_t enter_layers(wia__queue_t *queue, wia__item_t *item, uint64_t sequence,
                                 uint32_t layers, wia__site_t site) {
  if (layers & WIA__LAYER_TRACE) wia__trace_enqueue(&item->origin, queue->device->id);
  if (!(layers & WIA__LAYER_VALIDATE)) return WIA_STATUS_OK;
  const wia_status_t status = wia__validate_item(queue, item, sequence, site);
  if (status) wia__thread()->refused = 1;
  return status;
}

/* Under the mutex. */
static wia_status_t check_open(wia__queue_t *queue) {
  wia_status_t status = queue->failure.status;
  if (status)
    wia__tell_failure(queue);
  else if (queue->closed)
    status = wia__fail(WIA_STATUS_INVALID_HANDLE, "the stream was destroyed by another thread");
  else if (queue->stopped)
    status = wia__fail(WIA_STATUS_UNAVAILABLE, ENDING);
  else if (queue->resets)
    status = wia__fail(WIA_STATUS_CANCELLED, "the stream is being reset by another thread");
  return status;
}

/* Under the mutex. */
static void append_items(wia__queue_t *queue, wia__item_t *first) {
  for (wia__item_t *item = first, *next; item; item = next) {
    next = item->next;
    item->sequence = ++queue->enqueued;
    item->function = wia__thread()->function;
    wia__append(&queue->last, item);
  }
  if (queue->native) {
    wia__advance(queue);
  } else if (queue->idle) {
    queue->idle = false; /* one wake is enough */
    pthread_cond_signal(&queue->work);
  }
}

static inline __attribute__((always_inline)) wia_status_t append(wia__queue_t *queue,
                                                                 wia__item_t *first,
                                                                 uint32_t layers,
                                                                 wia__site_t site) {
  bool captured = false;
  pthread_mutex_lock(&queue->mutex);
  wia_status_t status = WIA_STATUS_OK;
  if (queue->capture) status = wia__capture_items(queue, first, &captured);
  if (!captured) status = check_open(queue);
  uint64_t sequence = queue->enqueued;
  for (wia__item_t *item = captured ? NULL : first; item && !status; item = item->next) {
    if (queue->native && !queue->has_worker && !wia__can_pass(queue, item))
      queue->has_worker = !(status = wia__start_worker(queue));
    sequence++;
    if (layers && !status) status = enter_layers(queue, item, sequence, layers, site);
    if (!status && item->mark) status = item->mark(item, queue, sequence);
  }
  if (!captured && !status) append_items(queue, first);
  wia__unlock_queue(queue);
  for (wia__item_t *item = captured || status ? first : NULL, *next; item; item = next) {
    next = item->next;
    item->end(item, status, NULL);
  }
  return status;
}

static __attribute__((noinline)) wia_status_t append_layered(wia__queue_t *queue,
                                                             wia__item_t *first, uint32_t layers) {
  const wia__site_t site = layers & WIA__LAYER_VALIDATE ? wia__capture_site() : 0;
  const wia_status_t status = append(queue, first, layers, site);
  if (layers & WIA__LAYER_VALIDATE) wia__tell_findings();
  return status;
}

wia_status_t wia__enqueue_all(wia__queue_t *queue, wia__item_t *first) {
  const uint32_t layers = wia__layers_on();
  return layers ? append_layered(queue, first, layers) : append(queue, first, 0, 0);
}

wia_status_t wia__enqueue(wia__queue_t *queue, wia__item_t *item, mark_fn_t mark) {
  item->next = NULL;
  item->mark = mark;
  return wia__enqueue_all(queue, item);
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
  if (status) wia__tell_failure(queue);
  pthread_mutex_unlock(&queue->mutex);
  return status;
}

/* The child has no workers. */
void wia__fork_queues(wia__fork_t stage) {
  wia__fork_mutex(stage, &wia__queues_mutex);
  if (stage != WIA__FORK_CHILD) return;
  wia__queues = NULL;
  wia__queues_stopping = wia__process_ending;
}
