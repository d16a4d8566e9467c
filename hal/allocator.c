/* allocator.c: functions of the program that give and take device memory. */
#include <stdio.h>
#include <stdlib.h>

#include "context.h"

/* -- life ---------------------------------------------------------------------------------------- */

static void destroy_allocator(wia__object_t *object) {
  wia__allocator_t *allocator = (wia__allocator_t *)object;
  if (allocator->given.release) allocator->given.release(allocator->given.context);
  free(allocator);
}

wia_status_t wia__create_allocator(const wia_allocator_t *given, wia__allocator_t **out_allocator) {
  const uint32_t kinds =
      1u << WIA_MEMORY_DEVICE | 1u << WIA_MEMORY_HOST_PINNED | 1u << WIA_MEMORY_HOST_VISIBLE;
  wia_allocator_t ours = {0};
  *out_allocator = NULL;
  if (!given) return WIA_STATUS_OK;
  const wia_status_t status =
      wia__read_struct(given, &ours, sizeof ours, sizeof ours, "WIA_ALLOCATOR_INIT");
  if (status) return status;
  if (!ours.allocate || !ours.free)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "allocator->%s is NULL; expected both functions, as memory goes back where it "
                     "came from",
                     ours.allocate ? "free" : "allocate");
  if (ours.kinds & ~kinds)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "allocator->kinds is %#x; expected bits 1 << WIA_MEMORY_DEVICE, _HOST_PINNED "
                     "and _HOST_VISIBLE",
                     ours.kinds);
  wia__allocator_t *allocator = calloc(1, sizeof *allocator);
  if (!allocator) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for an allocator");
  if (!ours.kinds) ours.kinds = 1u << WIA_MEMORY_DEVICE;
  snprintf(allocator->name, sizeof allocator->name, "%s", ours.name ? ours.name : "allocator");
  ours.name = NULL; /* the caller's */
  allocator->given = ours;
  wia__init_object(&allocator->object, WIA__INTERNAL, destroy_allocator);
  *out_allocator = allocator;
  return WIA_STATUS_OK;
}

/* -- asking -------------------------------------------------------------------------------------- */

/* A reason why the device can't use the memory, or NULL. *out_taken: it is somebody's, so it doesn't go
 * back. */
static const char *find_fault(const wia__device_t *device, const wia_memory_request_t *request,
                              uint64_t address, const wia__allocation_t *arena, bool *out_taken) {
  *out_taken = false;
  if (address % request->alignment) return "is not aligned";
  if (address > UINT64_MAX - request->size) return "leaves the address space";
  if (arena && arena->device != device) return "is in an arena of another device";
  if (arena && arena->kind != request->kind) return "is in an arena of another kind";
  if (arena && (address < arena->memory.address ||
                request->size > arena->size - (address - arena->memory.address)))
    return "leaves its arena";
  if (!arena && !(device->flags & WIA_DEVICE_HOST_ADDRESSABLE))
    return "is in no arena, and the device has no host addresses";
  if (!wia__is_pooled(address, request->size) && !wia__is_mapped(address, request->size))
    return NULL;
  *out_taken = true;
  return "is in use already";
}

void wia__return_to_allocator(wia__device_t *device, const wia__source_t *source, uint64_t address,
                              uint64_t size) {
  const wia_memory_request_t request = {.struct_size = sizeof request,
                                        .device_id = device->id,
                                        .kind = source->kind,
                                        .size = size,
                                        .alignment = source->alignment};
  const wia_allocator_t *given = &source->allocator->given;
  wia__defer_collecting();
  given->free(given->context, (void *)(uintptr_t)address, &request);
  wia__end_deferring();
  wia__drop_source(source);
}

void wia__drop_source(const wia__source_t *source) {
  if (source->arena) wia__end_use(source->arena);
  if (source->allocator) wia__release(&source->allocator->object);
}

wia_status_t wia__call_allocator(wia__device_t *device, wia__allocator_t *allocator,
                                 const wia_memory_request_t *request, wia__source_t *out_source,
                                 wia_operand_t *out_memory) {
  const wia_allocator_t *given = &allocator->given;
  wia__defer_collecting(); /* what is destroyed would come to free, with a lock held that both take */
  const uint64_t address = (uint64_t)(uintptr_t)given->allocate(given->context, request);
  wia__end_deferring();
  if (!address)
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED,
                     "%s, which %s takes memory from, gave none: %llu bytes were asked for",
                     allocator->name, device->name, (unsigned long long)request->size);
  bool taken;
  wia__retain(&allocator->object);
  const wia__source_t source = {.allocator = allocator,
                                .arena = wia__use_arena(address, request->size),
                                .alignment = request->alignment,
                                .kind = request->kind};
  const char *fault = find_fault(device, request, address, source.arena, &taken);
  if (!fault) {
    *out_memory =
        source.arena ? wia__operand_at(source.arena, address) : (wia_operand_t){.address = address};
    *out_source = source;
    return WIA_STATUS_OK;
  }
  if (taken)
    wia__drop_source(&source);
  else
    wia__return_to_allocator(device, &source, address, request->size);
  return wia__fail(
      WIA_STATUS_INTERNAL,
      "%s gave %s the address %#llx for %llu bytes aligned to %llu, which %s: a defect "
      "of the allocator",
      allocator->name, device->name, (unsigned long long)address, (unsigned long long)request->size,
      (unsigned long long)request->alignment, fault);
}

/* -- setting ------------------------------------------------------------------------------------- */

static wia_status_t set_allocator(wia_context_t *handle, const wia_allocator_t *given) {
  wia__context_t *context = NULL;
  wia__allocator_t *allocator = NULL;
  wia_status_t status = wia__resolve(handle, WIA__CONTEXT, "context", &context);
  if (!status) status = wia__create_allocator(given, &allocator);
  if (!status) wia__set_pool_allocator(context->pool, allocator);
  return status;
}

WIA_API wia_status_t wia_set_allocator(wia_context_t *context, const wia_allocator_t *allocator) {
  WIA__CALL(set_allocator(context, allocator));
}

void wia__replace_allocator(wia__device_t *device, wia__allocator_t *allocator) {
  pthread_mutex_lock(&device->memory_mutex);
  wia__allocator_t *former = device->allocator;
  device->allocator = allocator;
  pthread_mutex_unlock(&device->memory_mutex);
  if (former) wia__release(&former->object);
}

static wia_status_t set_device_allocator(int32_t device_id, const wia_allocator_t *given) {
  wia__device_t *device = NULL;
  wia__allocator_t *allocator = NULL;
  wia_status_t status = wia__get_device(device_id, &device);
  if (!status) status = wia__create_allocator(given, &allocator);
  if (status) return status;
  wia__replace_allocator(device, allocator);
  wia__trim_pools(device);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_set_device_allocator(int32_t device_id, const wia_allocator_t *allocator) {
  WIA__CALL(set_device_allocator(device_id, allocator));
}
