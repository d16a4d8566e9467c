/* arena.c: memory of a driver that allocators give out in parts: allocations in a map of their own. */
#include <stdlib.h>

#include "memory.h"

static wia_status_t allocate_arena(void **out_ptr, uint64_t size, int32_t device_id,
                                   const wia_memory_config_t *config) {
  if (!out_ptr) return wia__null("out_ptr");
  wia__device_t *device;
  wia_memory_request_t request = {
      .struct_size = sizeof request, .device_id = device_id, .size = size};
  wia_status_t status = wia__get_device(device_id, &device);
  if (!status) status = wia__check_memory_config(device, config, &request.kind, &request.alignment);
  if (!status && size > INT64_MAX)
    status = wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "%llu bytes are more than any device has",
                       (unsigned long long)size);
  if (status) return status;
  if (size == 0) {
    *out_ptr = NULL;
    return WIA_STATUS_OK;
  }
  wia__allocation_t *arena = calloc(1, sizeof *arena);
  if (!arena) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no host memory is left");
  arena->device = device;
  arena->size = size;
  arena->kind = request.kind;
  arena->owned = arena->is_arena = 1;
  status = wia__get_driver_memory(device, &request, &arena->memory);
  if (!status && !wia__start_allocation(arena)) /* the memory is somebody's: it is not given back */
    status = wia__refuse_overlapping(device, &arena->source, arena->memory.address, size);
  if (status) {
    free(arena);
    return status;
  }
  *out_ptr = (void *)(uintptr_t)arena->memory.address;
  wia__release(&arena->object); /* the use stays, for wia_free_arena to end */
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_allocate_arena(void **out_ptr, uint64_t size, int32_t device_id,
                                        const wia_memory_config_t *config) {
  WIA__CALL(allocate_arena(out_ptr, size, device_id, config));
}

/* The last use may be of a part. */
static wia_status_t free_arena(void *ptr) {
  if (!ptr) return WIA_STATUS_OK;
  wia__allocation_t *arena = wia__find_arena((uint64_t)(uintptr_t)ptr);
  if (!arena || !wia__invalidate(arena))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%p is not the start of an arena: it was freed, or wia_allocate_arena() never "
                     "gave it",
                     ptr);
  wia__end_use(arena);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_free_arena(void *ptr) { WIA__CALL(free_arena(ptr)); }
