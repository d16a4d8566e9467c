/* trace.h: recording spans of time while somebody profiles. Off, a hook is one branch on one word.
 *
 * A thread records into a ring of its own, under the ring's mutex, which is otherwise only taken by
 * whoever starts or stops a session. A span is written once, when it ends. */
#ifndef WIA__TRACE_H
#define WIA__TRACE_H

#include <stddef.h>

#include "layer.h"
#include "wia/profile.h"

typedef struct wia__ring_t wia__ring_t;

/* A span as it stands in a ring. */
typedef struct wia__event_t {
  int64_t begin_ns, end_ns;
  uint64_t correlation, range, thread, size;
  uint32_t stream; /* 0: on the thread */
  int32_t kind, device, peer;
  char name[WIA_PROFILE_NAME_SIZE];
} wia__event_t;

/* What a thread is at, in its record. */
typedef struct wia__trace_t {
  wia__ring_t *ring;    /* NULL: it recorded nothing yet */
  uint64_t call_count;  /* for correlation ids */
  uint64_t correlation; /* of the call, or of the work of a stream that runs; 0: none */
  uint64_t range;       /* the id of the innermost range */
  uint32_t stream;      /* whose work the thread runs; 0: none */
  int32_t device;       /* that the call has used; -1: none */
} wia__trace_t;

/* Where work that runs later came from. */
typedef struct wia__origin_t {
  uint64_t correlation, range;
  int64_t submitted_ns; /* of work that a driver's own stream has: when it got it; 0: not traced */
} wia__origin_t;

/* Whether a session is going on. */
static inline bool wia__is_tracing(void) { return (wia__layers_on() & WIA__LAYER_TRACE) != 0; }

/* -- spans ----------------------------------------------------------------------------------- */

int64_t wia__trace_now(void);
/* The time when a span begins; 0: it is not to be recorded. */
static inline int64_t wia__begin_span(void) { return wia__is_tracing() ? wia__trace_now() : 0; }

/* Records a span that ends now, on the row that the thread is at. */
void wia__end_span(int32_t kind, int64_t begin_ns, const char *name, int32_t device, int32_t peer,
                   uint64_t size);

/* A call while a layer is on: puts aside what the thread was at, and brings it back. */
typedef struct wia__frame_t {
  int64_t begin_ns; /* 0: it is not traced */
  wia__trace_t outer;
} wia__frame_t;
void wia__begin_call(wia__frame_t *frame);
void wia__end_call(const wia__frame_t *frame, const char *name);

/* The name of the innermost range that is open on this thread; "" without one. out_name has
 * WIA_PROFILE_NAME_SIZE bytes. */
void wia__copy_range_name(char *out_name);

/* -- work of streams ------------------------------------------------------------------------- */

uint32_t wia__next_stream_number(void);
/* Notes in what is enqueued that it comes from this thread's call. */
void wia__trace_enqueue(wia__origin_t *out_origin, int32_t device);
/* Around work that this thread runs for a stream. */
void wia__begin_work(const wia__origin_t *origin);
void wia__end_work(void);
/* Records work that a driver's stream has done by now: it began when it was submitted, or when the work
 * before it, at *last_ns, had ended. */
void wia__trace_submitted(int32_t kind, const wia__origin_t *origin, const char *name,
                          int32_t device, uint32_t stream, int64_t *last_ns);

/* -- threads --------------------------------------------------------------------------------- */

/* The next thread that has this record is another. */
void wia__forget_thread(wia__trace_t *trace);

/* -- sessions (profile.c) -------------------------------------------------------------------- */

/* A mark in each ring; those that came later: from their beginning. */
typedef struct wia__window_t {
  int64_t begin_ns, end_ns;
  uint64_t *marks;
  uint32_t mark_count;
} wia__window_t;

/* Starts recording for one session more. False: no memory. */
bool wia__open_window(wia__window_t *window, uint32_t capacity);
/* Copies out what was recorded in the window and `wanted` says yes to. False: no memory, and the window
 * is still open. */
bool wia__read_window(wia__window_t *window, bool (*wanted)(void *context, const wia__event_t *),
                      void *context, wia__event_t **out_events, uint64_t *out_count,
                      uint64_t *out_lost);
/* Once for each that was opened. The last one frees the rings' memory. */
void wia__close_window(wia__window_t *window);

#endif
