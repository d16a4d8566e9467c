/* stream.h: the queue and the worker thread behind a stream, and the points behind events. */
#ifndef WIA__STREAM_H
#define WIA__STREAM_H

#include "device.h"
#include "object.h"

typedef struct wia__queue_t wia__queue_t;
typedef struct wia__point_t wia__point_t;
typedef struct wia__item_t wia__item_t;
typedef struct wia__graph_node_t wia__graph_node_t; /* graph.h */

/* A piece of queued work; the first member of what the enqueuer allocates. */
struct wia__item_t {
  wia__item_t *next;
  uint64_t sequence;
  const char *function;   /* the public one that enqueued it: what it fails with names it */
  wia__point_t *wait_for; /* NULL, or the item is done when this point is; holds a reference */
  wia_status_t (*run)(wia__item_t *item); /* on the worker; sets the last error */
  /* Instead of run, if not NULL: hands it to the driver's own queue (submit.c). Only where the
   * stream's device has one. */
  wia_status_t (*submit)(wia__item_t *item, wia_driver_stream_t stream);
  const wia__item_t *inner; /* whose work this is, in front of a name of its own; NULL: none */
  const char *name;         /* for profiles; NULL: what */
  const char *what;         /* with submit: for messages, "matmul"; good until end */
  int32_t kind; /* of what it is, WIA_PROFILE_* or WIA__ITEM_*; 0: nothing of interest */
  wia__origin_t origin;
  bool submitted; /* the driver has it and will tell when it is done */
  /* Called when it is enqueued, under the queue's mutex, with the sequence that it gets; NULL for
   * none. */
  wia_status_t (*mark)(wia__item_t *item, wia__queue_t *queue, uint64_t sequence);
  /* What a graph gets of it, if the queue captures; NULL: what no graph can have. */
  wia__graph_node_t *(*note)(const wia__item_t *item);
  /* Called once, ran or not, and frees the item. status: of the run, or why it did not run, and then
   * failure (which may be NULL) tells more. */
  void (*end)(wia__item_t *item, wia_status_t status, const wia__failure_t *failure);
};

/* Kinds beside those of profiles, for the layer validate: the record of a point; a wait for one that is
 * recorded, and for one that isn't yet. */
enum { WIA__ITEM_RECORD = -1, WIA__ITEM_WAIT = -2, WIA__ITEM_WAIT_OPEN = -3 };

/* Marks a place in a stream; ends with the point done or failed. */
typedef struct wia__recording_t {
  wia__item_t item;
  wia__point_t *point;
} wia__recording_t;

/* That a time-out of a public function is one. */
wia_status_t wia__check_timeout(int64_t timeout_ns);

/* Streams ------------------------------------------------------------------------------------- */

wia_status_t wia__create_queue(wia__device_t *device, int32_t priority, wia__queue_t **out_queue);
/* Lets the worker end once the queue is empty. */
void wia__close_queue(wia__queue_t *queue);
/* Fails what is queued with CANCELLED; doesn't wait. */
wia_status_t wia__cancel_queue(wia__queue_t *queue);
/* The same, and then waits until all has ended and forgets the failure. */
wia_status_t wia__reset_queue(wia__queue_t *queue);
/* Waits for all that is enqueued on the queues of a device now. Fails with the first failure met. */
wia_status_t wia__synchronize_queues(const wia__device_t *device, int64_t timeout_ns);
void wia__retain_queue(wia__queue_t *queue);
void wia__release_queue(wia__queue_t *queue);
wia__device_t *wia__queue_device(const wia__queue_t *queue);
/* Of the streams of a device: from 0 to this. */
int32_t wia__least_priority(const wia__device_t *device);

/* Appends an item, which the queue owns from here on, also on failure. Before, under the queue's
 * mutex, `mark` is called with the sequence that the item gets; NULL for none. Fails with the queue's
 * own failure. */
wia_status_t wia__enqueue(wia__queue_t *queue, wia__item_t *item,
                          wia_status_t (*mark)(wia__item_t *item, wia__queue_t *queue,
                                               uint64_t sequence));

/* The same for several, linked by next, one after the other and nothing between: all, or none.
 * Their marks are called if there are any. */
wia_status_t wia__enqueue_all(wia__queue_t *queue, wia__item_t *first);

uint64_t wia__last_sequence(wia__queue_t *queue);
/* OK, or its failure as the last error. */
wia_status_t wia__queue_status(wia__queue_t *queue);
bool wia__is_done(const wia__queue_t *queue, uint64_t sequence);
/* Calls the function once the item of that sequence has ended, well or not: at once, or on the thread
 * that ends it, which holds no lock. */
wia_status_t wia__watch_sequence(wia__queue_t *queue, uint64_t sequence,
                                 void (*function)(void *context), void *context);
/* Waits, outside the epoch, until the item of that sequence is done. Fails with the failure of the
 * queue if that came at or before it. */
wia_status_t wia__wait_sequence(wia__queue_t *queue, uint64_t sequence, int64_t timeout_ns);

/* The queue behind a stream handle: good until wia__exit. */
wia_status_t wia__resolve_stream(const wia_stream_t *stream, wia__queue_t **out_queue);

/* Ends all streams of the process: queued work is dropped as CANCELLED, with why as the reason, running
 * work is waited for until timeout_ns. Later work on them is refused as UNAVAILABLE, and so are new
 * streams until wia__admit_streams, which has no effect once the process is ending. */
wia_status_t wia__stop_streams(int64_t timeout_ns, const char *why);
void wia__admit_streams(void);
/* Waits until those that were stopped and destroyed are gone. False: the deadline passed. */
bool wia__await_streams(int64_t deadline_ns);
/* Whether this thread runs what a stream has to do, or tells of it. */
bool wia__is_stream_thread(void);

/* Calls a host function, which is told the reason why what came before is not done; OK: it is. */
wia_status_t wia__call_function(wia_host_fn_t function, void *context, const wia__device_t *device,
                                wia_status_t reason);
/* What a stream gets of it. The caller enqueues that, or ends it with a failure. */
wia_status_t wia__make_function(wia_host_fn_t function, void *context, wia__device_t *device,
                                wia__item_t **out_item);

/* Points -------------------------------------------------------------------------------------- */

/* One recording of an event: once done or failed it stays so. */
wia__point_t *wia__create_point(void); /* NULL: no memory */
void wia__retain_point(wia__point_t *point);
void wia__release_point(wia__point_t *point);
/* The first call counts. failure is copied; NULL: done. */
void wia__finish_point(wia__point_t *point, const wia__failure_t *failure);
/* WIA_EVENT_PENDING, _DONE or _FAILED */
int32_t wia__point_state(wia__point_t *point);
int64_t wia__point_time_ns(wia__point_t *point);
/* Outside the epoch. Fails with the point's failure. */
wia_status_t wia__wait_point(wia__point_t *point, int64_t timeout_ns);
/* Has the queue woken when the point is finished; the point holds a reference to it until then.
 * False: no memory, so the queue has to look again by itself. */
bool wia__subscribe(wia__point_t *point, wia__queue_t *queue);
void wia__wake_queue(wia__queue_t *queue);
/* Calls the function when the point is finished, at once if it is. */
wia_status_t wia__call_on_point(wia__point_t *point, wia_event_fn_t function, void *context);
/* What the layer validate keeps with the point, under its mutex. */
struct wia__moment_t **wia__point_moment(wia__point_t *point);
/* The failure of a failed point; good while the point is. */
const wia__failure_t *wia__point_failure(wia__point_t *point);

#endif
