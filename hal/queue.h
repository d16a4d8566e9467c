/* queue.h: the inside of a queue, for the files that run it and that end its work. */
#ifndef WIA__QUEUE_H
#define WIA__QUEUE_H

#include "platform.h"
#include "stream.h"

struct wia__queue_t {
  wia__object_t object;
  wia__device_t *device;
  int32_t priority;
  _Atomic(wia__thread_t *) worker; /* its thread, while it runs */
  pthread_mutex_t mutex;
  pthread_cond_t work; /* for the worker: an item, a finished point, an interruption */
  pthread_cond_t done; /* for those who wait for items */
  wia__item_t *first, **last;
  uint64_t enqueued;
  _Atomic uint64_t completed;
  wia__failure_t failure; /* status OK: none */
  uint64_t failed_sequence;
  uint32_t waiters;
  bool idle;        /* the worker waits for an item */
  bool running;     /* an item is out of the queue */
  bool waiting;     /* that item waits for a point */
  bool interrupted; /* the item that waits for a point is to end; set with a failure */
  uint32_t resets;  /* that are going on: nothing new is taken */
  bool closed;      /* the stream is destroyed: the worker ends when the queue is empty */
  bool stopped;     /* the process ends */
  wia__queue_t *previous_queue, *next_queue;
};

/* The queues whose worker runs, under their mutex. */
extern pthread_mutex_t wia__queues_mutex;
extern wia__queue_t *wia__queues;
extern bool wia__queues_stopping; /* no new ones: the process ends */

/* Waits under the queue's mutex until the item of that sequence is done. False: the deadline passed.*/
bool wia__await_sequence(wia__queue_t *queue, uint64_t sequence, int64_t deadline_ns);

/* Fails with FAILED_PRECONDITION when the queue's own worker would wait for it. */
wia_status_t wia__check_waiter(const wia__queue_t *queue, uint64_t sequence);

#endif
