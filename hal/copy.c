/* copy.c: copies and fills between host and devices, at once or on a stream. */
#include <stdlib.h>
#include <string.h>

#include "op.h"
#include "platform.h"
#include "stream.h"
#include "tensor.h"

enum { COPY_BATCH = 128, STAGING_SIZE = 1 << 20, MAX_ALLOCATIONS = 2 };

/* A transfer, resolved: what it moves and which allocations it touches, the destination's first. */
typedef enum action_t { UPLOAD, DOWNLOAD, MOVE, FILL, WRITE_TENSOR, READ_TENSOR } action_t;

typedef struct transfer_t {
  wia__item_t item;
  action_t action;
  wia_operand_t destination, source; /* the host's side: memory NULL */
  uint64_t size;
  wia__device_t *destination_device, *source_device; /* the host's: NULL */
  wia__layout_t *layout; /* of the tensor; once queued: with a reference */
  uint32_t pattern_size;
  unsigned char pattern[16];
  wia__allocation_t *allocations[MAX_ALLOCATIONS]; /* once queued: with references and uses */
  uint32_t allocation_count;
  wia_driver_stream_t stream; /* the driver's own that it goes on; NULL: complete on return */
} transfer_t;

/* -- doing it ------------------------------------------------------------------------------------ */

static wia_operand_t host_operand(const void *pointer) {
  return (wia_operand_t){.address = (uint64_t)(uintptr_t)pointer};
}

static wia_operand_t moved(wia_operand_t operand, uint64_t bytes) {
  operand.address += bytes;
  if (operand.memory) operand.offset += bytes;
  return operand;
}

static wia_status_t call_copy(const transfer_t *t, wia__device_t *device, const wia_copy_t *copies,
                              uint32_t count) {
  wia_error_t error;
  wia__init_error(&error);
  wia__lock_device(device);
  const wia_status_t status = t->stream
                                  ? device->table->streams->copy(t->stream, copies, count, &error)
                                  : device->table->copy(device->handle, copies, count, &error);
  wia__unlock_device(device);
  if (status)
    return wia__take_error(&error, status, device->driver->name, "a copy on %s", device->name);
  wia__drop_error(&error);
  return WIA_STATUS_OK;
}

/* The source's driver reads into host memory, the destination's writes from there. */
static wia_status_t copy_between(const transfer_t *t) {
  void *staging = malloc(STAGING_SIZE);
  if (!staging) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no host memory is left");
  wia_status_t status = WIA_STATUS_OK;
  for (uint64_t at = 0; at < t->size && !status; at += STAGING_SIZE) {
    const uint64_t part = t->size - at < STAGING_SIZE ? t->size - at : STAGING_SIZE;
    const wia_copy_t down = {moved(t->source, at), host_operand(staging), part};
    const wia_copy_t up = {host_operand(staging), moved(t->destination, at), part};
    status = call_copy(t, t->source_device, &down, 1);
    if (!status) status = call_copy(t, t->destination_device, &up, 1);
  }
  free(staging);
  return status;
}

static wia_status_t fill(const transfer_t *t) {
  wia__device_t *device = t->destination_device;
  if (t->stream || device->table->fill) {
    wia_error_t error;
    wia__init_error(&error);
    wia__lock_device(device);
    const wia_status_t status =
        t->stream ? device->table->streams->fill(t->stream, &t->destination, t->size, t->pattern,
                                                 t->pattern_size, &error)
                  : device->table->fill(device->handle, &t->destination, t->size, t->pattern,
                                        t->pattern_size, &error);
    wia__unlock_device(device);
    if (status)
      return wia__take_error(&error, status, device->driver->name, "a fill on %s", device->name);
    wia__drop_error(&error);
    return WIA_STATUS_OK;
  }
  const uint64_t block = t->size < STAGING_SIZE ? t->size : STAGING_SIZE; /* a multiple of 16 */
  unsigned char *staging = malloc(block);
  if (!staging) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no host memory is left");
  for (uint64_t i = 0; i < block; i += t->pattern_size)
    memcpy(staging + i, t->pattern, t->pattern_size);
  wia_status_t status = WIA_STATUS_OK;
  for (uint64_t at = 0; at < t->size && !status; at += block) {
    const wia_copy_t up = {host_operand(staging), moved(t->destination, at),
                           t->size - at < block ? t->size - at : block};
    status = call_copy(t, device, &up, 1);
  }
  free(staging);
  return status;
}

/* Copies between packed host memory and a tensor of any strides, in runs of the innermost
 * dimensions that are packed in the tensor too. */
static wia_status_t copy_strided(const transfer_t *t) {
  const wia_tensor_layout_t *layout = &t->layout->public_layout;
  const uint64_t element = wia_get_dtype_bits(layout->dtype) / 8;
  const bool write = t->action == WRITE_TENSOR;
  const wia_operand_t tensor = write ? t->destination : t->source;
  const wia_operand_t host = write ? t->source : t->destination;
  wia__device_t *device = write ? t->destination_device : t->source_device;
  if (layout->contiguous) {
    const wia_copy_t whole = {t->source, t->destination, t->size};
    return call_copy(t, device, &whole, 1);
  }
  uint32_t outer = layout->rank;
  uint64_t run = 1;
  while (outer && layout->strides[outer - 1] == (int64_t)run)
    run *= (uint64_t)layout->shape[--outer];
  const uint64_t run_size = run * element;
  wia_copy_t batch[COPY_BATCH];
  uint32_t count = 0;
  int64_t index[WIA_MAX_RANK] = {0};
  wia_status_t status = WIA_STATUS_OK;
  for (uint64_t at = 0; at < t->size && !status; at += run_size) {
    int64_t offset = 0;
    for (uint32_t i = 0; i < outer; i++) offset += index[i] * layout->strides[i];
    const wia_operand_t there = moved(tensor, (uint64_t)offset * element);
    const wia_operand_t here = moved(host, at);
    batch[count++] =
        write ? (wia_copy_t){here, there, run_size} : (wia_copy_t){there, here, run_size};
    if (count == COPY_BATCH || at + run_size == t->size) {
      status = call_copy(t, device, batch, count);
      count = 0;
    }
    for (uint32_t i = outer; i-- > 0 && ++index[i] == layout->shape[i];) index[i] = 0;
  }
  return status;
}

static wia_status_t perform(const transfer_t *t) {
  switch (t->action) {
  case FILL:
    return fill(t);
  case WRITE_TENSOR:
  case READ_TENSOR:
    return copy_strided(t);
  default:
    if (t->destination_device && t->source_device && t->destination_device != t->source_device)
      return copy_between(t);
    const wia_copy_t whole = {t->source, t->destination, t->size};
    return call_copy(t, t->destination_device ? t->destination_device : t->source_device, &whole,
                     1);
  }
}

/* -- now or later -------------------------------------------------------------------------------- */

static wia_status_t run_transfer(wia__item_t *item) { return perform((transfer_t *)item); }

static wia_status_t submit_transfer(wia__item_t *item, wia_driver_stream_t stream) {
  transfer_t *t = (transfer_t *)item;
  t->stream = stream;
  return perform(t);
}

/* Whether streams of the driver take it. */
static bool is_submittable(const transfer_t *t, const wia__device_t *device) {
  const wia_driver_streams_t *streams = device->table->streams;
  if (!streams) return false;
  if (t->action == FILL) return streams->fill != NULL;
  return streams->copy &&
         (!t->destination_device || !t->source_device || t->destination_device == t->source_device);
}

static void end_transfer(wia__item_t *item, wia_status_t status, const wia__failure_t *failure) {
  transfer_t *t = (transfer_t *)item;
  (void)status;
  (void)failure;
  for (uint32_t i = 0; i < t->allocation_count; i++) {
    wia__end_use(t->allocations[i]);
    wia__release(&t->allocations[i]->object);
  }
  if (t->layout) wia__release(&t->layout->object);
  free(t);
}

static wia_status_t mark_transfer(wia__item_t *item, wia__queue_t *queue, uint64_t sequence) {
  transfer_t *t = (transfer_t *)item;
  for (uint32_t i = 0; i < t->allocation_count; i++) {
    const wia_status_t status = wia__mark(t->allocations[i], queue, sequence);
    if (status) return status;
  }
  return WIA_STATUS_OK;
}

static wia_status_t enqueue_transfer(const transfer_t *t, wia_stream_t *stream) {
  wia__queue_t *queue = NULL;
  wia_status_t status = wia__resolve_stream(stream, &queue);
  if (status) return status;
  const wia__device_t *device = wia__queue_device(queue);
  if (device != t->destination_device && device != t->source_device)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "the stream is of %s, the memory of %s",
                     device->name,
                     (t->destination_device ? t->destination_device : t->source_device)->name);
  transfer_t *queued = malloc(sizeof *queued);
  if (!queued) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for queued work");
  *queued = *t;
  queued->item = (wia__item_t){.run = run_transfer,
                               .submit = is_submittable(t, device) ? submit_transfer : NULL,
                               .end = end_transfer,
                               .what = t->action == FILL ? "a fill" : "a copy"};
  queued->allocation_count = 0;
  if (queued->layout) wia__retain(&queued->layout->object);
  for (uint32_t i = 0; i < t->allocation_count && !status; i++) {
    if (wia__try_use(t->allocations[i])) {
      wia__retain(&t->allocations[i]->object);
      queued->allocations[queued->allocation_count++] = t->allocations[i];
    } else {
      status = wia__fail(WIA_STATUS_INVALID_ARGUMENT, "the memory was freed by another thread");
    }
  }
  if (status) {
    end_transfer(&queued->item, status, NULL);
    return status;
  }
  return wia__enqueue(queue, &queued->item, mark_transfer);
}

/* -- what the caller gave ------------------------------------------------------------------------ */

typedef struct request_t {
  action_t action;
  const void *destination, *source;
  uint64_t size;
  const void *pattern;
  uint32_t pattern_size;
  wia_tensor_t tensor;
} request_t;

static wia_status_t resolve_device_side(const void *address, uint64_t size, const char *argument,
                                        transfer_t *t, wia_operand_t *out_operand,
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

static wia_status_t resolve_copy(const request_t *request, transfer_t *t) {
  if (!request->destination) return wia__null("destination");
  if (!request->source) return wia__null("source");
  wia_status_t status = check_overlap(request->destination, request->source, request->size);
  if (!status && request->action != DOWNLOAD)
    status = resolve_device_side(request->destination, request->size, "destination", t,
                                 &t->destination, &t->destination_device);
  if (!status && request->action != UPLOAD)
    status = resolve_device_side(request->source, request->size, "source", t, &t->source,
                                 &t->source_device);
  if (!status && request->action == UPLOAD) {
    status = check_host_side(request->source, "source");
    t->source = host_operand(request->source);
  } else if (!status && request->action == DOWNLOAD) {
    status = check_host_side(request->destination, "destination");
    t->destination = host_operand(request->destination);
  }
  return status;
}

static wia_status_t resolve_fill(const request_t *request, transfer_t *t) {
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
  const bool write = request->action == WRITE_TENSOR;
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
static wia_status_t resolve_tensor(const request_t *request, transfer_t *t) {
  wia__tensor_t *tensor = NULL;
  wia_status_t status = wia__resolve_tensor(request->tensor, "tensor", &tensor);
  if (status) return status;
  const bool write = request->action == WRITE_TENSOR;
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
  *(write ? &t->source : &t->destination) = host_operand(host);
  t->allocations[t->allocation_count++] = tensor->allocation;
  return WIA_STATUS_OK;
}

static wia_status_t resolve(const request_t *request, transfer_t *t) {
  *t = (transfer_t){.action = request->action, .size = request->size};
  switch (request->action) {
  case WRITE_TENSOR:
  case READ_TENSOR:
    return resolve_tensor(request, t);
  case FILL:
    return request->size ? resolve_fill(request, t) : WIA_STATUS_OK;
  default:
    return request->size ? resolve_copy(request, t) : WIA_STATUS_OK;
  }
}

static wia_status_t submit(const request_t *request, wia_stream_t *stream) {
  for (;;) {
    transfer_t t;
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
    if (!waited) return perform(&t);
  }
}

/* -- public -------------------------------------------------------------------------------------- */

WIA_API wia_status_t wia_copy_host_to_device(void *destination, const void *source, uint64_t size,
                                             wia_stream_t *stream) {
  const request_t request = {UPLOAD, destination, source, size, NULL, 0, NULL};
  WIA__CALL(submit(&request, stream));
}

WIA_API wia_status_t wia_copy_device_to_host(void *destination, const void *source, uint64_t size,
                                             wia_stream_t *stream) {
  const request_t request = {DOWNLOAD, destination, source, size, NULL, 0, NULL};
  WIA__CALL(submit(&request, stream));
}

WIA_API wia_status_t wia_copy_device_to_device(void *destination, const void *source, uint64_t size,
                                               wia_stream_t *stream) {
  const request_t request = {MOVE, destination, source, size, NULL, 0, NULL};
  WIA__CALL(submit(&request, stream));
}

WIA_API wia_status_t wia_fill_memory(void *destination, const void *pattern, uint32_t pattern_size,
                                     uint64_t size, wia_stream_t *stream) {
  const request_t request = {FILL, destination, NULL, size, pattern, pattern_size, NULL};
  WIA__CALL(submit(&request, stream));
}

WIA_API wia_status_t wia_read_tensor(wia_tensor_t tensor, void *destination, uint64_t size,
                                     wia_stream_t *stream) {
  const request_t request = {READ_TENSOR, destination, NULL, size, NULL, 0, tensor};
  WIA__CALL(submit(&request, stream));
}

WIA_API wia_status_t wia_write_tensor(wia_tensor_t tensor, const void *source, uint64_t size,
                                      wia_stream_t *stream) {
  const request_t request = {WRITE_TENSOR, NULL, source, size, NULL, 0, tensor};
  WIA__CALL(submit(&request, stream));
}
