/* capture.h: streams whose work is noted for a graph instead of being done.
 *
 * A queue that captures points to its capture, under the queue's mutex, which is taken before the
 * capture's own. A capture that has ended is let go of by each of its queues when that is next
 * used. */
#ifndef WIA__CAPTURE_H
#define WIA__CAPTURE_H

#include "graph.h"
#include "queue.h"

/* The nodes behind which the next one of a branch lies. */
typedef struct wia__frontier_t {
  uint32_t *nodes;
  uint32_t count;
} wia__frontier_t;

typedef struct wia__branch_t {
  wia__queue_t *queue; /* with a reference */
  wia__frontier_t frontier;
} wia__branch_t;

typedef struct wia__capture_t {
  wia__object_t object;
  pthread_mutex_t mutex;
  _Atomic bool live;
  uint64_t id; /* grows from capture to capture */
  char *name;
  wia__branch_t *branches; /* the first: of the stream that began it */
  uint32_t branch_count;
  wia__node_list_t list;
} wia__capture_t;

wia__capture_t *wia__create_capture(const char *name); /* NULL: no memory */

/* Under the queue's mutex: the capture that the queue is in, and that goes on; else NULL. */
wia__capture_t *wia__current_capture(wia__queue_t *queue);
void wia__leave_capture(wia__queue_t *queue);
/* Under the capture's mutex, too: in a branch of its own. */
wia_status_t wia__join_capture(wia__queue_t *queue, wia__capture_t *capture);

/* What an event stands for that was recorded on a stream that captures: the nodes behind which it
 * lies. */
typedef struct wia__captured_t wia__captured_t;
void wia__retain_captured(wia__captured_t *captured);
void wia__release_captured(wia__captured_t *captured); /* NULL does nothing */

/* Under the queue's mutex. Notes items instead of having them run, if the queue captures:
 * *out_captured. Fails without memory, and for items that no graph can have. */
wia_status_t wia__capture_items(wia__queue_t *queue, wia__item_t *first, bool *out_captured);

/* The same for the nodes of a launch, copied, behind what the queue has captured so far. */
wia_status_t wia__capture_nodes(wia__queue_t *queue, const wia__node_list_t *list,
                                bool *out_captured);

/* What an event that is recorded on the queue now stands for, with a reference; NULL: it doesn't
 * capture. */
wia_status_t wia__capture_record(wia__queue_t *queue, wia__captured_t **out_captured);

/* A wait on the queue for an event, of which captured is NULL unless it was recorded in a capture.
 * *out_captured: it was noted, and there is no more to do. */
wia_status_t wia__capture_wait(wia__queue_t *queue, wia__captured_t *captured, bool *out_captured);

/* Memory that the work enqueued on the queue so far uses unseen, if the queue captures. */
wia_status_t wia__capture_use(wia__queue_t *queue, wia__allocation_t *allocation,
                              bool *out_captured);

/* Fails with FAILED_PRECONDITION if the queue captures. */
wia_status_t wia__refuse_capturing(const wia__queue_t *queue);

/* The stream is destroyed. */
void wia__abandon_capture(wia__queue_t *queue);

#endif
