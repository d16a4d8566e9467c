/* stream.c: the public side of streams. */
#include "stream.h"

#include <stdlib.h>

#include "context.h"

/* The object behind a handle. Its destruction closes the queue, which lives on while it has work. */
typedef struct stream_t {
  wia__object_t object;
  wia__queue_t *queue;
} stream_t;

static void destroy_stream(wia__object_t *object) {
  stream_t *stream = (stream_t *)object;
  wia__close_queue(stream->queue);
  wia__release_queue(stream->queue);
  free(stream);
}

wia_status_t wia__resolve_stream(const wia_stream_t *handle, wia__queue_t **out_queue) {
  stream_t *stream = NULL;
  const wia_status_t status = wia__resolve(handle, WIA__STREAM, "stream", &stream);
  if (!status) *out_queue = stream->queue;
  return status;
}

static wia_status_t create_stream(wia_stream_t **out_stream, wia_context_t *context) {
  if (!out_stream) return wia__null("out_stream");
  wia__device_t *device = NULL;
  wia_status_t status = wia__context_device(context, &device);
  if (status) return status;
  stream_t *stream = calloc(1, sizeof *stream);
  if (!stream) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a stream");
  status = wia__create_queue(device, &stream->queue);
  if (status) {
    free(stream);
    return status;
  }
  wia__init_object(&stream->object, WIA__STREAM, destroy_stream);
  void *handle = NULL;
  status = wia__make_handle(&stream->object, &handle);
  if (!status) *out_stream = handle;
  return status;
}

WIA_API wia_status_t wia_create_stream(wia_stream_t **out_stream, wia_context_t *context) {
  WIA__CALL(create_stream(out_stream, context));
}

WIA_API wia_status_t wia_destroy_stream(wia_stream_t *stream) {
  WIA__CALL(wia__close_handle(stream, WIA__STREAM));
}

wia_status_t wia__check_timeout(int64_t timeout_ns) {
  if (timeout_ns >= 0 || timeout_ns == WIA_TIMEOUT_INFINITE) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "timeout_ns is %lld; expected 0 or more, or WIA_TIMEOUT_INFINITE",
                   (long long)timeout_ns);
}

static wia_status_t synchronize_stream(wia_stream_t *stream, int64_t timeout_ns) {
  wia__queue_t *queue = NULL;
  wia_status_t status = wia__resolve_stream(stream, &queue);
  if (!status) status = wia__check_timeout(timeout_ns);
  if (status) return status;
  return wia__wait_sequence(queue, wia__last_sequence(queue), timeout_ns);
}

WIA_API wia_status_t wia_synchronize_stream(wia_stream_t *stream, int64_t timeout_ns) {
  WIA__CALL(synchronize_stream(stream, timeout_ns));
}

static wia_status_t query_stream(wia_stream_t *stream, uint32_t *out_done) {
  if (!out_done) return wia__null("out_done");
  wia__queue_t *queue = NULL;
  wia_status_t status = wia__resolve_stream(stream, &queue);
  if (!status) status = wia__queue_status(queue);
  if (!status) *out_done = wia__is_done(queue, wia__last_sequence(queue));
  return status;
}

WIA_API wia_status_t wia_query_stream(wia_stream_t *stream, uint32_t *out_done) {
  WIA__CALL(query_stream(stream, out_done));
}

static wia_status_t reset_stream(wia_stream_t *stream) {
  wia__queue_t *queue = NULL;
  const wia_status_t status = wia__resolve_stream(stream, &queue);
  if (!status) wia__reset_queue(queue);
  return status;
}

WIA_API wia_status_t wia_reset_stream(wia_stream_t *stream) { WIA__CALL(reset_stream(stream)); }
