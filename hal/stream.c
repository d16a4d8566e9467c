/* stream.c: the public side of streams. */
#include "stream.h"

#include <stdlib.h>

#include "capture.h"
#include "context.h"
#include "platform.h"
#include "validate.h"

/* The object behind a handle. Its destruction closes the queue, which lives on while it has work. */
typedef struct stream_t {
  wia__object_t object;
  wia__queue_t *queue;
} stream_t;

static void destroy_stream(wia__object_t *object) {
  stream_t *stream = (stream_t *)object;
  wia__abandon_capture(stream->queue);
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

static wia_status_t create_stream(wia_stream_t **out_stream, wia_context_t *context,
                                  const wia_stream_config_t *given) {
  if (!out_stream) return wia__null("out_stream");
  wia_stream_config_t config = {0};
  wia__device_t *device = NULL;
  wia_status_t status =
      wia__read_struct(given, &config, sizeof config, sizeof config, "WIA_STREAM_CONFIG_INIT");
  if (!status) status = wia__context_device(context, &device);
  if (status) return status;
  const int32_t least = wia__least_priority(device);
  if (config.priority < 0 || config.priority > least)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "priority is %d; expected 0, the highest, to %d "
                     "(wia_get_stream_priority_range)",
                     (int)config.priority, (int)least);
  stream_t *stream = calloc(1, sizeof *stream);
  if (!stream) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a stream");
  status = wia__create_queue(device, config.priority, &stream->queue);
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
  WIA__CALL(create_stream(out_stream, context, NULL));
}

WIA_API wia_status_t wia_create_stream_with_config(wia_stream_t **out_stream,
                                                   wia_context_t *context,
                                                   const wia_stream_config_t *config) {
  WIA__CALL(create_stream(out_stream, context, config));
}

static wia_status_t get_stream_priority_range(int32_t device_id, int32_t *out_least,
                                              int32_t *out_greatest) {
  if (!out_least) return wia__null("out_least");
  if (!out_greatest) return wia__null("out_greatest");
  wia__device_t *device = NULL;
  const wia_status_t status = wia__get_device(device_id, &device);
  if (status) return status;
  *out_least = wia__least_priority(device);
  *out_greatest = 0;
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_stream_priority_range(int32_t device_id, int32_t *out_least,
                                                   int32_t *out_greatest) {
  WIA__CALL(get_stream_priority_range(device_id, out_least, out_greatest));
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
  if (!status) status = wia__refuse_capturing(queue);
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
  if (!status) status = wia__refuse_capturing(queue);
  if (!status) status = wia__queue_status(queue);
  if (status) return status;
  const uint64_t sequence = wia__last_sequence(queue);
  *out_done = wia__is_done(queue, sequence);
  if (*out_done && wia__is_validating()) wia__validate_done(queue, sequence);
  return status;
}

WIA_API wia_status_t wia_query_stream(wia_stream_t *stream, uint32_t *out_done) {
  WIA__CALL(query_stream(stream, out_done));
}

static wia_status_t reset_stream(wia_stream_t *stream) {
  wia__queue_t *queue = NULL;
  wia_status_t status = wia__resolve_stream(stream, &queue);
  if (!status) status = wia__refuse_capturing(queue);
  return status ? status : wia__reset_queue(queue);
}

WIA_API wia_status_t wia_reset_stream(wia_stream_t *stream) { WIA__CALL(reset_stream(stream)); }

static wia_status_t cancel_stream(wia_stream_t *stream) {
  wia__queue_t *queue = NULL;
  wia_status_t status = wia__resolve_stream(stream, &queue);
  if (!status) status = wia__refuse_capturing(queue);
  return status ? status : wia__cancel_queue(queue);
}

WIA_API wia_status_t wia_cancel_stream(wia_stream_t *stream) { WIA__CALL(cancel_stream(stream)); }

static wia_status_t synchronize_device(int32_t device_id, int64_t timeout_ns) {
  wia__device_t *device = NULL;
  wia_status_t status = wia__check_timeout(timeout_ns);
  if (!status) status = wia__get_device(device_id, &device);
  return status ? status : wia__synchronize_queues(device, timeout_ns);
}

WIA_API wia_status_t wia_synchronize_device(int32_t device_id, int64_t timeout_ns) {
  WIA__CALL(synchronize_device(device_id, timeout_ns));
}
