/* stream.h: streams: queues of asynchronous work, in order each, ordered among each other by
 * events only. */
#ifndef WIA_STREAM_H
#define WIA_STREAM_H

#include "base.h"

WIA_BEGIN_DECLS

/* Creates a stream on the context's device. Errors: RESOURCE_EXHAUSTED when no thread can start. */
WIA_API wia_status_t wia_create_stream(wia_stream_t **out_stream, wia_context_t *context);

/* Invalidates the handle. Work that was enqueued still runs; nobody waits for it here. */
WIA_API wia_status_t wia_destroy_stream(wia_stream_t *stream);

/* Waits until all work enqueued so far is done. Errors: DEADLINE_EXCEEDED after timeout_ns; the
 * status and message of the first failed work, every time it is asked. */
WIA_API wia_status_t wia_synchronize_stream(wia_stream_t *stream, int64_t timeout_ns);

/* Writes 1 if all work enqueued so far is done, else 0. Errors: that of the first failed work. */
WIA_API wia_status_t wia_query_stream(wia_stream_t *stream, uint32_t *out_done);

/* Makes a failed stream usable again: drops its queue and forgets the error. Work that is running
 * is waited for. */
WIA_API wia_status_t wia_reset_stream(wia_stream_t *stream);

/* Makes later work on the stream wait for the event's current point; for an event never recorded,
 * for its first. If that point fails, the stream fails with the same status and message.
 * Errors: the stream's own failure. */
WIA_API wia_status_t wia_enqueue_wait(wia_stream_t *stream, wia_event_t *event);

WIA_END_DECLS
#endif
