/* queue.h: the inside of a queue, for the files that run it and that end its work.
 *
 * On most devices a worker thread runs the items one after the other (queue.c). On a device with
 * streams of its own (`native`) whoever enqueues hands items to the driver, which tells when they are
 * done; a worker is started only for what is the host's to do (submit.c). */
#ifndef WIA__QUEUE_H
#define WIA__QUEUE_H

#include "platform.h"
#include "stream.h"

typedef struct wia__watch_t {
  uint64_t sequence;
  void (*function)(void *context);
  void *context;
  struct wia__watch_t *next;
} wia__watch_t;

struct wia__queue_t {
  wia__object_t object;
  wia__device_t *device;
  int32_t priority;
  uint32_t number;                  /* among all streams of the process, for traces */
  struct wia__timeline_t *timeline; /* of the layer validate, under its mutex; NULL: none yet */
  _Atomic(wia__thread_t *) worker;  /* its thread, while it runs */
  pthread_mutex_t mutex;
  pthread_cond_t work; /* for the worker: an item, a finished point, an interruption */
  pthread_cond_t done; /* for those who wait for items */
  wia__item_t *first, **last;
  uint64_t enqueued;
  _Atomic uint64_t completed;
  wia__failure_t failure; /* status OK: none */
  uint64_t failed_sequence;
  uint32_t waiters;
  wia__watch_t *watches; /* called when an item has ended */
  bool idle;             /* the worker waits for an item */
  bool running;          /* an item is out of the queue */
  bool waiting;          /* that item waits, for a point or for the driver */
  uint64_t taken;        /* the sequence of the item that is out of the queue */
  bool interrupted;      /* the item that waits for a point is to end; set with a failure */
  uint32_t resets;       /* that are going on: nothing new is taken */
  bool closed;           /* the stream is destroyed: the worker ends when the queue is empty */
  bool stopped;          /* the process ends */
  struct wia__capture_t *capture; /* capture.h; NULL: none */
  uint32_t branch;                /* of the capture */
  _Atomic uint64_t capturing;     /* its id; 0: none */
  /* native only */
  bool native;
  bool has_worker;
  bool advancing;  /* a thread hands items on; the others leave it to that one */
  bool completing; /* likewise for ending items */
  bool over;       /* closed and empty, and no longer among the queues */
  bool calling;    /* the driver is in a call for its stream; it gets one at a time */
  uint32_t claims; /* of threads that want the stream for themselves: nothing more is handed on */
  wia_driver_stream_t stream;
  int64_t traced_ns;                           /* when the last item that was traced had ended */
  uint64_t told;                               /* the last value that the driver told of */
  wia__item_t *flight, **flight_end;           /* handed on or passed by, and not ended yet */
  const char *cancel_reason, *cancel_function; /* of cancelling that is going on; else NULL */
  _Atomic bool failure_told; /* somebody got the failure: a caller, a function, an event */
  _Atomic(wia__thread_t *) completer;
  wia__queue_t *previous_queue, *next_queue;
};

/* The queues whose worker runs, under their mutex. */
extern pthread_mutex_t wia__queues_mutex;
extern wia__queue_t *wia__queues;
extern bool wia__process_ending;  /* and then this stays */
extern bool wia__queues_stopping; /* no new ones: the process or the library ends */

/* Calls the watches that are due. Under the queue's mutex, which it gives up meanwhile. */
void wia__call_watches(wia__queue_t *queue);

/* Waits under the queue's mutex until the item of that sequence is done. False: the deadline passed.*/
bool wia__await_sequence(wia__queue_t *queue, uint64_t sequence, int64_t deadline_ns);

/* For a worker, under the mutex: waits until the point of the item is finished, or until the queue is
 * interrupted. Fails with the failure of either as the last error. */
wia_status_t wia__await_point(wia__queue_t *queue, wia__item_t *item);

/* Appends under the mutex. */
static inline void wia__append(wia__item_t ***end, wia__item_t *item) {
  item->next = NULL;
  **end = item;
  *end = &item->next;
}

/* Takes the first item of the queue, which it has, under the mutex. */
static inline wia__item_t *wia__take_first(wia__queue_t *queue) {
  wia__item_t *item = queue->first;
  queue->first = item->next;
  if (!queue->first) queue->last = &queue->first;
  return item;
}

/* Notes who learns of a failure when the item ends with it. */
static inline void wia__note_told(wia__queue_t *queue, const wia__item_t *item,
                                  wia_status_t status) {
  if (status && (item->kind == WIA__ITEM_RECORD || item->kind == WIA_PROFILE_FUNCTION))
    atomic_store(&queue->failure_told, true);
}

/* Its failure, which there is, as the last error; under the mutex. */
wia_status_t wia__tell_failure(wia__queue_t *queue);

/* Ends the mutex, and the queue's life among the others if it was the end of that too. */
void wia__unlock_queue(wia__queue_t *queue);
wia_status_t wia__start_worker(wia__queue_t *queue);

/* Native queues (submit.c), all under the mutex. */
/* Makes the driver's stream; without the mutex, before anybody else has the queue. */
wia_status_t wia__create_stream(wia__queue_t *queue, wia_driver_stream_t *out_stream);
void wia__destroy_stream(wia__queue_t *queue);
/* Replaces the driver's stream, when nothing is in flight. */
wia_status_t wia__renew_stream(wia__queue_t *queue);
/* Whether an item can go without a worker. */
bool wia__can_pass(wia__queue_t *queue, const wia__item_t *item);
/* Hands on what can go, and ends what is done. Gives the mutex up meanwhile. */
void wia__advance(wia__queue_t *queue);
/* The worker's life: until the queue is closed and empty. */
void wia__work_for_native(wia__queue_t *queue);
/* Has the driver drop what has not begun. The first sequence that fails, 0: none. */
uint64_t wia__cancel_submitted(wia__queue_t *queue, const char *why);

/* Fails with FAILED_PRECONDITION when the queue's own worker would wait for it. */
wia_status_t wia__check_waiter(const wia__queue_t *queue, uint64_t sequence);

#endif
