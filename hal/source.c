/* source.c: see source.h. */
#include "log.h"
#include "memory.h"
#include "memory_pool.h"
#include "platform.h"

/* -- the driver ---------------------------------------------------------------------------------- */

static wia_status_t call_driver(wia__device_t *device, const wia_memory_request_t *request,
                                wia_operand_t *out_memory) {
  wia_error_t error;
  wia__init_error(&error);
  wia__lock_device(device);
  const wia_status_t status = device->table->allocate(device->handle, request->kind, request->size,
                                                      request->alignment, out_memory, &error);
  wia__unlock_device(device);
  if (!status) {
    wia__drop_error(&error);
    return WIA_STATUS_OK;
  }
  const wia__memory_counts_t counts = wia__memory_counts(device, request->kind);
  return wia__take_error(&error, status, device->driver->name,
                         "%s can't allocate %llu bytes (%llu bytes in %llu allocations are live)",
                         device->name, (unsigned long long)request->size,
                         (unsigned long long)counts.live_size,
                         (unsigned long long)counts.live_count);
}

static void return_to_driver(wia__device_t *device, const wia_operand_t *memory, uint64_t size) {
  wia__lock_device(device);
  device->table->free(device->handle, memory);
  wia__unlock_device(device);
  if (device->flags & WIA_DEVICE_OPAQUE_MEMORY && memory->address)
    wia__return_addresses((void *)(uintptr_t)memory->address, size);
}

/* Looks at what a driver gave, and gives it an address where it has none. */
static wia_status_t check_given(wia__device_t *device, const wia_memory_request_t *request,
                                wia_operand_t *memory) {
  const bool opaque = device->flags & WIA_DEVICE_OPAQUE_MEMORY;
  if (opaque)
    memory->address =
        (uint64_t)(uintptr_t)wia__reserve_addresses(request->size, request->alignment);
  memory->layout = NULL;
  if (memory->address && memory->address % request->alignment == 0) return WIA_STATUS_OK;
  const uint64_t address = memory->address;
  return_to_driver(device, memory, request->size);
  if (opaque && !address)
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no address range of %llu bytes is left",
                     (unsigned long long)request->size);
  return wia__fail_with(WIA_STATUS_INTERNAL, device->driver->name, NULL,
                        "the driver of %s gave out address %#llx, which is not aligned to %llu "
                        "bytes: a defect of the driver",
                        device->name, (unsigned long long)address,
                        (unsigned long long)request->alignment);
}

/* -- either -------------------------------------------------------------------------------------- */

static wia_status_t ask_once(wia__device_t *device, wia__allocator_t *allocator,
                             const wia_memory_request_t *request, wia__source_t *out_source,
                             wia_operand_t *out_memory) {
  return allocator ? wia__call_allocator(device, allocator, request, out_source, out_memory)
                   : call_driver(device, request, out_memory);
}

static wia_status_t ask(wia__device_t *device, wia__allocator_t *allocator,
                        const wia_memory_request_t *request, bool urgent, wia__source_t *out_source,
                        wia_operand_t *out_memory) {
  wia__thread_t *self = wia__thread();
  if (self->deferring) urgent = false; /* inside of an allocator: what is kept may be its own */
  *out_source = (wia__source_t){0};
  wia__leave(self); /* so that what this thread retired can be given back on the way */
  wia_status_t status = ask_once(device, allocator, request, out_source, out_memory);
  if (status == WIA_STATUS_RESOURCE_EXHAUSTED &&
      atomic_load_explicit(&wia__retired_count, memory_order_relaxed)) {
    wia__collect();
    status = ask_once(device, allocator, request, out_source, out_memory);
  }
  if (status == WIA_STATUS_RESOURCE_EXHAUSTED && urgent && wia__trim_pools(device))
    status = ask_once(device, allocator, request, out_source, out_memory);
  if (wia__logs(WIA__LOG_MEMORY, WIA_LOG_DEBUG))
    wia__log(WIA__LOG_MEMORY, WIA_LOG_DEBUG, device->driver->name, "%llu bytes on %s: %s",
             (unsigned long long)request->size, device->name,
             status ? wia_get_status_name(status) : "allocated");
  if (status && urgent) {
    pthread_mutex_lock(&device->memory_mutex);
    device->counts[request->kind].failed_count++;
    pthread_mutex_unlock(&device->memory_mutex);
  }
  wia__rejoin(self);
  return status || allocator ? status : check_given(device, request, out_memory);
}

static bool serves(const wia__allocator_t *allocator, int32_t kind) {
  return allocator && allocator->given.kinds >> kind & 1;
}

static wia__allocator_t *take_device_allocator(wia__device_t *device, int32_t kind) {
  pthread_mutex_lock(&device->memory_mutex);
  wia__allocator_t *allocator = serves(device->allocator, kind) ? device->allocator : NULL;
  if (allocator) wia__retain(&allocator->object);
  pthread_mutex_unlock(&device->memory_mutex);
  return allocator;
}

wia_status_t wia__get_memory(wia__device_t *device, wia__allocator_t *allocator,
                             const wia_memory_request_t *request, bool urgent,
                             wia__source_t *out_source, wia_operand_t *out_memory) {
  if (serves(allocator, request->kind))
    return ask(device, allocator, request, urgent, out_source, out_memory);
  wia__allocator_t *own = take_device_allocator(device, request->kind);
  const wia_status_t status = ask(device, own, request, urgent, out_source, out_memory);
  if (own) wia__release(&own->object);
  return status;
}

wia_status_t wia__get_driver_memory(wia__device_t *device, const wia_memory_request_t *request,
                                    wia_operand_t *out_memory) {
  wia__source_t source;
  return ask(device, NULL, request, true, &source, out_memory);
}

void wia__give_memory_back(wia__device_t *device, const wia__source_t *source,
                           const wia_operand_t *memory, uint64_t size) {
  if (source->allocator)
    wia__return_to_allocator(device, source, memory->address, size);
  else
    return_to_driver(device, memory, size);
}

wia_status_t wia__check_memory_config(const wia__device_t *device,
                                      const wia_memory_config_t *config, int32_t *out_kind,
                                      uint64_t *out_alignment) {
  wia_memory_config_t ours = {0};
  const wia_status_t status =
      wia__read_struct(config, &ours, sizeof ours, sizeof ours, "WIA_MEMORY_CONFIG_INIT");
  if (status) return status;
  *out_kind = ours.kind ? ours.kind : WIA_MEMORY_DEVICE;
  if (*out_kind < WIA_MEMORY_DEVICE || *out_kind > WIA_MEMORY_HOST_VISIBLE)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "kind is %d; expected WIA_MEMORY_DEVICE, _HOST_PINNED or _HOST_VISIBLE",
                     (int)*out_kind);
  if (ours.alignment & (ours.alignment - 1) || ours.alignment > 1u << 30)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "alignment is %llu; expected a power of two up to 2^30",
                     (unsigned long long)ours.alignment);
  *out_alignment = ours.alignment > device->alignment ? ours.alignment : device->alignment;
  return WIA_STATUS_OK;
}
