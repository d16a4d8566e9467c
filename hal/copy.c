/* copy.c: copies and fills between host and devices: what the caller gave, at once or on a stream. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "op.h"
#include "platform.h"
#include "transfer.h"

/* -- now or later -------------------------------------------------------------------------------- */

static wia_status_t run_transfer(wia__item_t *item) {
  return wia__perform((wia__transfer_t *)item);
}

static wia_status_t submit_transfer(wia__item_t *item, wia_driver_stream_t stream) {
  wia__transfer_t *t = (wia__transfer_t *)item;
  t->stream = stream;
  return wia__perform(t);
}

/* Whether streams of the driver take it. */
static bool is_submittable(const wia__transfer_t *t, const wia__device_t *device) {
  const wia_driver_streams_t *streams = device->table->streams;
  if (!streams) return false;
  if (t->action == WIA__FILL) return streams->fill != NULL;
  return streams->copy &&
         (!t->destination_device || !t->source_device || t->destination_device == t->source_device);
}

static void end_transfer(wia__item_t *item, wia_status_t status, const wia__failure_t *failure) {
  wia__transfer_t *t = (wia__transfer_t *)item;
  (void)status;
  (void)failure;
  for (uint32_t i = 0; i < t->allocation_count; i++) wia__end_flight(t->allocations[i]);
  if (t->layout) wia__release(&t->layout->object);
  free(t);
}

static wia__graph_node_t *note_transfer(const wia__item_t *item) {
  const wia__transfer_t *t = (const wia__transfer_t *)item;
  return wia__make_transfer_node(t,
                                 t->destination_device ? t->destination_device : t->source_device);
}

static wia_status_t mark_transfer(wia__item_t *item, wia__queue_t *queue, uint64_t sequence) {
  wia__transfer_t *t = (wia__transfer_t *)item;
  for (uint32_t i = 0; i < t->allocation_count; i++) {
    const wia_status_t status = wia__mark(t->allocations[i], queue, sequence);
    if (status) return status;
  }
  return WIA_STATUS_OK;
}

wia_status_t wia__make_transfer(const wia__transfer_t *t, const wia__device_t *device,
                                wia__item_t **out_item) {
  wia_status_t status = WIA_STATUS_OK;
  wia__transfer_t *queued = malloc(sizeof *queued);
  if (!queued) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for queued work");
  *queued = *t;
  queued->item =
      (wia__item_t){.run = run_transfer,
                    .submit = is_submittable(t, device) ? submit_transfer : NULL,
                    .end = end_transfer,
                    .mark = mark_transfer,
                    .note = note_transfer,
                    .what = t->action == WIA__FILL ? "a fill" : "a copy",
                    .kind = t->action == WIA__FILL ? WIA_PROFILE_FILL : WIA_PROFILE_COPY};
  queued->allocation_count = 0;
  if (queued->layout) wia__retain(&queued->layout->object);
  for (uint32_t i = 0; i < t->allocation_count && !status; i++) {
    if (wia__begin_flight(t->allocations[i])) {
      queued->allocations[queued->allocation_count++] = t->allocations[i];
    } else {
      status = wia__fail(WIA_STATUS_INVALID_ARGUMENT, "the memory was freed by another thread");
    }
  }
  if (status) {
    end_transfer(&queued->item, status, NULL);
    return status;
  }
  *out_item = &queued->item;
  return WIA_STATUS_OK;
}

static wia_status_t enqueue_transfer(const wia__transfer_t *t, wia_stream_t *stream) {
  wia__queue_t *queue = NULL;
  wia__item_t *item = NULL;
  wia_status_t status = wia__resolve_stream(stream, &queue);
  if (status) return status;
  const wia__device_t *device = wia__queue_device(queue);
  if (device != t->destination_device && device != t->source_device)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "the stream is of %s, the memory of %s",
                     device->name,
                     (t->destination_device ? t->destination_device : t->source_device)->name);
  status = wia__make_transfer(t, device, &item);
  return status ? status : wia__enqueue(queue, item, mark_transfer);
}

/* -- what the caller gave ------------------------------------------------------------------------ */

typedef struct request_t {
  wia__action_t action;
  const void *destination, *source;
  uint64_t size;
  const void *pattern;
  uint32_t pattern_size;
  wia_tensor_t tensor;
} request_t;

static wia_status_t resolve_device_side(const void *address, uint64_t size, const char *argument,
                                        wia__transfer_t *t, wia_operand_t *out_operand,
                                        wia__device_t **out_device) {
  wia__allocation_t *allocation = NULL;
  const uint64_t at = (uint64_t)(uintptr_t)address;
  const wia_status_t status = wia__find_range(at, size, argument, &allocation);
  if (status) return status;
  *out_operand = wia__operand_at(allocation, at);
  *out_device = allocation->device;
  t->allocations[t->allocation_count++] = allocation;
  return WIA_STATUS_OK;
}

/* Any pointer may be given, but memory that is known to be out of the host's reach would fault. */
static wia_status_t check_host_side(const void *pointer, const char *argument) {
  const uint64_t address = (uint64_t)(uintptr_t)pointer;
  const wia__allocation_t *allocation = wia__find_allocation(address);
  if (!allocation) allocation = wia__find_forked(address);
  if (!allocation) return WIA_STATUS_OK;
  const uint32_t flags = allocation->device->flags;
  if (flags & WIA_DEVICE_HOST_ADDRESSABLE ||
      (!(flags & WIA_DEVICE_OPAQUE_MEMORY) && allocation->kind != WIA_MEMORY_DEVICE))
    return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s (%p) is memory of %s, which the host can't reach; expected host memory",
                   argument, pointer, allocation->device->name);
}

static wia_status_t check_overlap(const void *destination, const void *source, uint64_t size) {
  const uint64_t to = (uint64_t)(uintptr_t)destination, from = (uint64_t)(uintptr_t)source;
  if (to + size <= from || from + size <= to) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "source %p and destination %p overlap within %llu bytes", source, destination,
                   (unsigned long long)size);
}

static wia_status_t resolve_copy(const request_t *request, wia__transfer_t *t) {
  if (!request->destination) return wia__null("destination");
  if (!request->source) return wia__null("source");
  wia_status_t status = check_overlap(request->destination, request->source, request->size);
  if (!status && request->action != WIA__DOWNLOAD)
    status = resolve_device_side(request->destination, request->size, "destination", t,
                                 &t->destination, &t->destination_device);
  if (!status && request->action != WIA__UPLOAD)
    status = resolve_device_side(request->source, request->size, "source", t, &t->source,
                                 &t->source_device);
  if (!status && request->action == WIA__UPLOAD) {
    status = check_host_side(request->source, "source");
    t->source = wia__host_operand(request->source);
  } else if (!status && request->action == WIA__DOWNLOAD) {
    status = check_host_side(request->destination, "destination");
    t->destination = wia__host_operand(request->destination);
  }
  return status;
}

static wia_status_t resolve_fill(const request_t *request, wia__transfer_t *t) {
  const uint32_t size = request->pattern_size;
  if (!request->destination) return wia__null("destination");
  if (!request->pattern) return wia__null("pattern");
  if (size == 0 || size > 16 || size & (size - 1))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "pattern_size is %u; expected 1, 2, 4, 8 or 16 bytes", size);
  if (request->size % size)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "size is %llu; expected a multiple of the pattern's %u bytes",
                     (unsigned long long)request->size, size);
  memcpy(t->pattern, request->pattern, size);
  t->pattern_size = size;
  return resolve_device_side(request->destination, request->size, "destination", t, &t->destination,
                             &t->destination_device);
}

/* The host's side lies apart from the tensor, and no two elements are written to one place. */
static wia_status_t check_tensor_copy(const request_t *request, const wia__tensor_t *tensor,
                                      const void *host) {
  const bool write = request->action == WIA__WRITE_TENSOR;
  const char *argument = write ? "source" : "destination";
  if (!host) return wia__null(argument);
  const wia_tensor_layout_t *layout = tensor->operand.layout;
  const uint64_t from = (uint64_t)(uintptr_t)host;
  if (from < tensor->end && tensor->begin < from + request->size)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s (%p) overlaps the tensor's own memory",
                     argument, host);
  uint32_t shared = 0;
  if (write && wia__shares_elements(layout, &shared))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "stride %lld of dimension %u makes elements of the tensor share memory, so it "
                     "can't be written to",
                     (long long)layout->strides[shared], shared);
  return check_host_side(host, argument);
}

/* Also tells the size: an empty tensor has nothing to move. */
static wia_status_t resolve_tensor(const request_t *request, wia__transfer_t *t) {
  wia__tensor_t *tensor = NULL;
  wia_status_t status = wia__resolve_tensor(request->tensor, "tensor", &tensor);
  if (status) return status;
  const bool write = request->action == WIA__WRITE_TENSOR;
  const void *host = write ? request->source : request->destination;
  t->layout = wia__tensor_layout(tensor);
  char text[WIA__SHAPE_TEXT];
  if (request->size != t->layout->size)
    return wia__fail(
        WIA_STATUS_INVALID_ARGUMENT, "size is %llu bytes; a tensor of shape %s and %s has %llu",
        (unsigned long long)request->size,
        wia__format_shape(text, tensor->operand.layout->shape, tensor->operand.layout->rank),
        wia_get_dtype_name(tensor->operand.layout->dtype), (unsigned long long)t->layout->size);
  if (request->size == 0) return WIA_STATUS_OK;
  status = check_tensor_copy(request, tensor, host);
  if (status) return status;
  *(write ? &t->destination : &t->source) = tensor->operand;
  *(write ? &t->destination_device : &t->source_device) = tensor->device;
  *(write ? &t->source : &t->destination) = wia__host_operand(host);
  t->allocations[t->allocation_count++] = tensor->allocation;
  return WIA_STATUS_OK;
}

static wia_status_t resolve(const request_t *request, wia__transfer_t *t) {
  *t = (wia__transfer_t){.action = request->action, .size = request->size};
  switch (request->action) {
  case WIA__WRITE_TENSOR:
  case WIA__READ_TENSOR:
    return resolve_tensor(request, t);
  case WIA__FILL:
    return request->size ? resolve_fill(request, t) : WIA_STATUS_OK;
  default:
    return request->size ? resolve_copy(request, t) : WIA_STATUS_OK;
  }
}

static wia_status_t submit(const request_t *request, wia_stream_t *stream) {
  for (;;) {
    wia__transfer_t t;
    wia_status_t status = resolve(request, &t);
    if (!status && t.destination_device)
      status = wia__check_writable(t.allocations[0], "destination");
    if (status) return status;
    if (t.size == 0) {
      wia__queue_t *queue = NULL;
      return stream ? wia__resolve_stream(stream, &queue) : WIA_STATUS_OK;
    }
    if (stream) return enqueue_transfer(&t, stream);
    bool waited = false;
    status = wia__settle(t.allocations, t.allocation_count, &waited);
    if (status) return status;
    if (!waited) return wia__perform(&t);
  }
}

/* -- public -------------------------------------------------------------------------------------- */

WIA_API wia_status_t wia_copy_host_to_device(void *destination, const void *source, uint64_t size,
                                             wia_stream_t *stream) {
  const request_t request = {WIA__UPLOAD, destination, source, size, NULL, 0, NULL};
  WIA__CALL(submit(&request, stream));
}

WIA_API wia_status_t wia_copy_device_to_host(void *destination, const void *source, uint64_t size,
                                             wia_stream_t *stream) {
  const request_t request = {WIA__DOWNLOAD, destination, source, size, NULL, 0, NULL};
  WIA__CALL(submit(&request, stream));
}

WIA_API wia_status_t wia_copy_device_to_device(void *destination, const void *source, uint64_t size,
                                               wia_stream_t *stream) {
  const request_t request = {WIA__MOVE, destination, source, size, NULL, 0, NULL};
  WIA__CALL(submit(&request, stream));
}

WIA_API wia_status_t wia_fill_memory(void *destination, const void *pattern, uint32_t pattern_size,
                                     uint64_t size, wia_stream_t *stream) {
  const request_t request = {WIA__FILL, destination, NULL, size, pattern, pattern_size, NULL};
  WIA__CALL(submit(&request, stream));
}

WIA_API wia_status_t wia_read_tensor(wia_tensor_t tensor, void *destination, uint64_t size,
                                     wia_stream_t *stream) {
  const request_t request = {WIA__READ_TENSOR, destination, NULL, size, NULL, 0, tensor};
  WIA__CALL(submit(&request, stream));
}

WIA_API wia_status_t wia_write_tensor(wia_tensor_t tensor, const void *source, uint64_t size,
                                      wia_stream_t *stream) {
  const request_t request = {WIA__WRITE_TENSOR, NULL, source, size, NULL, 0, tensor};
  WIA__CALL(submit(&request, stream));
}
