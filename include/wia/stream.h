/* stream.h: streams: queues of asynchronous work, in order each, ordered among each other by
 * events only. */
#ifndef WIA_STREAM_H
#define WIA_STREAM_H

#include "base.h"
#include "status.h"

WIA_BEGIN_DECLS

typedef struct wia_stream_config_t {
  uint32_t struct_size;
  int32_t priority; /* in the device's range; 0: the highest, the default */
} wia_stream_config_t;
#define WIA_STREAM_CONFIG_INIT WIA_INIT(wia_stream_config_t)

/* Creates a stream on the context's device. Errors: RESOURCE_EXHAUSTED when no thread can start. */
WIA_API wia_status_t wia_create_stream(wia_stream_t **out_stream, wia_context_t *context);

/* The same with a priority. Errors: also INVALID_ARGUMENT for one outside the range. */
WIA_API wia_status_t wia_create_stream_with_config(wia_stream_t **out_stream,
                                                   wia_context_t *context,
                                                   const wia_stream_config_t *config);

/* Writes the range of priorities of a device's streams: a lower number goes first, so *out_least is
 * at or above *out_greatest. Both 0: the device has no priorities. */
WIA_API wia_status_t wia_get_stream_priority_range(int32_t device_id, int32_t *out_least,
                                                   int32_t *out_greatest);

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

/* Fails what is queued, and a wait for an event, with CANCELLED; what is running goes on. Doesn't
 * wait. If there was anything to cancel, the stream has failed and needs wia_reset_stream(). */
WIA_API wia_status_t wia_cancel_stream(wia_stream_t *stream);

/* A function that a stream runs in its order, on a thread of the library. status: OK when the work
 * before it is done, else why it is not (cancelled, or the stream's failure). What it returns, if it
 * was called with OK, fails the stream like any work. It may call any function of the library, but
 * not wait for its own stream: that is FAILED_PRECONDITION. */
typedef wia_status_t (*wia_host_fn_t)(void *context, wia_status_t status, wia_error_t *out_error);

/* Enqueues a host function. It is called exactly once if this returns OK, else never.
 * Errors: the stream's own failure. */
WIA_API wia_status_t wia_enqueue_host_function(wia_stream_t *stream, wia_host_fn_t function,
                                               void *context);

/* Tells that work which was enqueued on the stream so far, in a way that the library can't see, uses
 * an allocation: freed memory is given back, and host reads and writes start, only after it.
 * Errors: INVALID_ARGUMENT for an address in no live allocation of the stream's device. */
WIA_API wia_status_t wia_record_stream(void *ptr, wia_stream_t *stream);

/* Waits for all work enqueued so far on all streams of a device, those of other contexts and destroyed
 * ones too. Errors: the first failure met; DEADLINE_EXCEEDED. */
WIA_API wia_status_t wia_synchronize_device(int32_t device_id, int64_t timeout_ns);

/* Makes later work on the stream wait for the event's current point; for an event never recorded,
 * for its first. If that point fails, the stream fails with the same status and message.
 * Errors: the stream's own failure. */
WIA_API wia_status_t wia_enqueue_wait(wia_stream_t *stream, wia_event_t *event);

WIA_END_DECLS
#endif
