/* event.h: events: points in the work of a stream that others wait for. */
#ifndef WIA_EVENT_H
#define WIA_EVENT_H

#include "base.h"
#include "status.h"

WIA_BEGIN_DECLS

enum {
  WIA_EVENT_NONE = 0,    /* never recorded, or reset */
  WIA_EVENT_PENDING = 1, /* recorded, the work before it is not done */
  WIA_EVENT_DONE = 2,
  WIA_EVENT_FAILED = 3 /* the stream failed before or at this point */
};

/* Creates an event for streams of any device. */
WIA_API wia_status_t wia_create_event(wia_event_t **out_event, wia_context_t *context);

/* Invalidates the handle; whoever waits for its points goes on waiting for them. */
WIA_API wia_status_t wia_destroy_event(wia_event_t *event);

/* Gives the event a new point behind all work enqueued on the stream so far. Waiters of earlier
 * points are not concerned. On a failed stream the point fails at once and the call returns OK. */
WIA_API wia_status_t wia_record_event(wia_event_t *event, wia_stream_t *stream);

/* Gives the event a new point that is finished at once, or finishes its first: done for OK, else
 * failed with that status and message (NULL: the general text), which its waiters get.
 * Errors: INVALID_ARGUMENT for a status outside the map. */
WIA_API wia_status_t wia_signal_event(wia_event_t *event, wia_status_t status, const char *message);

/* Called once when a point is finished, with OK or its failure's status, on whatever thread finishes
 * it: it should be short and not wait. */
typedef void (*wia_event_fn_t)(void *context, wia_status_t status);

/* Has a function called when the event's current point is finished (one never recorded: its first); if
 * it is already, at once on this thread. */
WIA_API wia_status_t wia_call_on_event(wia_event_t *event, wia_event_fn_t function, void *context);

/* Waits for the event's current point; on one never recorded, for its first. Errors:
 * DEADLINE_EXCEEDED after timeout_ns; the status and message of the work that failed it. */
WIA_API wia_status_t wia_wait_event(wia_event_t *event, int64_t timeout_ns);

/* Writes the state of the event's current point, WIA_EVENT_*. For a failed point it returns OK too:
 * wia_wait_event(event, 0) returns the failure. */
WIA_API wia_status_t wia_query_event(wia_event_t *event, int32_t *out_state);

/* Writes the time from the current point of start to that of end, in nanoseconds of the host's
 * monotonic clock. Errors: FAILED_PRECONDITION when a point is not done. */
WIA_API wia_status_t wia_get_elapsed_time(wia_event_t *start, wia_event_t *end,
                                          int64_t *out_elapsed_ns);

/* Puts the event back to never recorded. Those who wait for its points go on waiting for them. */
WIA_API wia_status_t wia_reset_event(wia_event_t *event);

WIA_END_DECLS
#endif
