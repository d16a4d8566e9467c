/* transfer.c: carrying copies and fills out, by the drivers of the devices that they touch. */
#include "transfer.h"

#include <stdlib.h>
#include <string.h>

#include "validate.h"

enum { COPY_BATCH = 128, STAGING_SIZE = 1 << 20 };

static wia_operand_t moved(wia_operand_t operand, uint64_t bytes) {
  operand.address += bytes;
  if (operand.memory) operand.offset += bytes;
  return operand;
}

static wia_status_t call_copy(const wia__transfer_t *t, wia__device_t *device,
                              const wia_copy_t *copies, uint32_t count) {
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

/* *out_done: the driver that both devices are of has done it, or failed. Memory that was imported is
 * the host's (memory NULL), which the entry isn't for. */
static wia_status_t copy_direct(const wia__transfer_t *t, bool *out_done) {
  wia__device_t *from = t->source_device, *to = t->destination_device;
  *out_done = false;
  if (from->driver != to->driver || !from->table->copy_to_peer || !t->source.memory ||
      !t->destination.memory || (from->flags | to->flags) & WIA_DEVICE_SERIAL)
    return WIA_STATUS_OK;
  const wia_copy_t whole = {t->source, t->destination, t->size};
  wia_error_t error;
  wia__init_error(&error);
  const wia_status_t status =
      from->table->copy_to_peer(from->handle, to->handle, &whole, 1, &error);
  *out_done = status != WIA_STATUS_UNIMPLEMENTED;
  if (status && *out_done)
    return wia__take_error(&error, status, from->driver->name, "a copy from %s to %s", from->name,
                           to->name);
  wia__drop_error(&error);
  return WIA_STATUS_OK;
}

/* The source's driver reads into host memory, the destination's writes from there. */
static wia_status_t copy_between(const wia__transfer_t *t) {
  bool done = false;
  const wia_status_t direct = copy_direct(t, &done);
  if (done) return direct;
  void *staging = malloc(STAGING_SIZE);
  if (!staging) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no host memory is left");
  wia_status_t status = WIA_STATUS_OK;
  for (uint64_t at = 0; at < t->size && !status; at += STAGING_SIZE) {
    const uint64_t part = t->size - at < STAGING_SIZE ? t->size - at : STAGING_SIZE;
    const wia_copy_t down = {moved(t->source, at), wia__host_operand(staging), part};
    const wia_copy_t up = {wia__host_operand(staging), moved(t->destination, at), part};
    status = call_copy(t, t->source_device, &down, 1);
    if (!status) status = call_copy(t, t->destination_device, &up, 1);
  }
  free(staging);
  return status;
}

static wia_status_t fill(const wia__transfer_t *t) {
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
    const wia_copy_t up = {wia__host_operand(staging), moved(t->destination, at),
                           t->size - at < block ? t->size - at : block};
    status = call_copy(t, device, &up, 1);
  }
  free(staging);
  return status;
}

/* Copies between packed host memory and a tensor of any strides, in runs of the innermost
 * dimensions that are packed in the tensor too. */
static wia_status_t copy_strided(const wia__transfer_t *t) {
  const wia_tensor_layout_t *layout = &t->layout->public_layout;
  const uint64_t element = wia_get_dtype_bits(layout->dtype) / 8;
  const bool write = t->action == WIA__WRITE_TENSOR;
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

static wia_status_t perform(const wia__transfer_t *t) {
  switch (t->action) {
  case WIA__FILL:
    return fill(t);
  case WIA__WRITE_TENSOR:
  case WIA__READ_TENSOR:
    return copy_strided(t);
  default:
    if (t->destination_device && t->source_device && t->destination_device != t->source_device)
      return copy_between(t);
    const wia_copy_t whole = {t->source, t->destination, t->size};
    return call_copy(t, t->destination_device ? t->destination_device : t->source_device, &whole,
                     1);
  }
}

static const char *name_transfer(const wia__transfer_t *t) {
  static const char *const names[] = {"upload", "download", "move", "fill", "write", "read"};
  const bool between = t->action == WIA__MOVE && t->source_device != t->destination_device;
  return between ? "peer" : names[t->action];
}

static wia_status_t perform_traced(const wia__transfer_t *t) {
  /* what goes on the driver's own stream takes its time there: see submit.c */
  const int64_t begin_ns = t->stream ? 0 : wia__begin_span();
  const wia_status_t status = perform(t);
  if (begin_ns) {
    const wia__device_t *to = t->destination_device, *from = t->source_device;
    wia__end_span(t->action == WIA__FILL ? WIA_PROFILE_FILL : WIA_PROFILE_COPY, begin_ns,
                  name_transfer(t), to ? to->id : from->id,
                  to && from && to != from ? from->id : -1, t->size);
  }
  return status;
}

static void list_side(const wia__transfer_t *t, const wia_operand_t *side,
                      const wia__device_t *device, bool write, wia__uses_t *uses) {
  const wia_tensor_layout_t *layout = device && t->layout ? &t->layout->public_layout : NULL;
  wia__add_use(uses, wia__find_allocation(side->address),
               layout ? wia__layout_region(layout, side->address)
                      : wia__range_region(side->address, t->size),
               write, write ? "destination" : "source", -1);
}

void wia__list_transfer(const wia__transfer_t *t, wia__uses_t *uses) {
  uses->operation = name_transfer(t);
  list_side(t, &t->destination, t->destination_device, true, uses);
  if (t->action != WIA__FILL) list_side(t, &t->source, t->source_device, false, uses);
}

static __attribute__((noinline)) wia_status_t perform_validated(const wia__transfer_t *t) {
  wia__use_t room[2];
  wia__uses_t uses = {.device = t->destination_device ? t->destination_device : t->source_device,
                      .list = room};
  wia__list_transfer(t, &uses);
  wia_status_t status = wia__begin_use(&uses);
  if (status) return status;
  status = perform_traced(t);
  wia__end_use_of(&uses);
  return status;
}

wia_status_t wia__perform(const wia__transfer_t *t) {
  const uint32_t layers = wia__layers_on();
  if (!layers) return perform(t);
  return layers & WIA__LAYER_VALIDATE && !t->stream && wia__works_for_host() ? perform_validated(t)
                                                                             : perform_traced(t);
}
