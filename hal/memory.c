/* memory.c: allocating and freeing device memory, its marks and statistics. */
#include "memory.h"

#include <stdlib.h>

#include "memory_pool.h"
#include "stream.h"
#include "validate.h"

/* -- counts -------------------------------------------------------------------------------------- */

static void count_allocated(wia__device_t *device, int32_t kind, uint64_t size) {
  pthread_mutex_lock(&device->memory_mutex);
  wia__memory_counts_t *counts = &device->counts[kind];
  counts->live_size += size;
  if (counts->live_size > counts->peak_size) counts->peak_size = counts->live_size;
  counts->live_count++;
  counts->total_count++;
  pthread_mutex_unlock(&device->memory_mutex);
}

static void count_freed(wia__allocation_t *allocation) {
  pthread_mutex_lock(&allocation->device->memory_mutex);
  wia__memory_counts_t *counts = &allocation->device->counts[allocation->kind];
  counts->live_size -= allocation->size;
  counts->live_count--;
  counts->deferred_count++;
  pthread_mutex_unlock(&allocation->device->memory_mutex);
}

static void count_given_back(wia__allocation_t *allocation) {
  pthread_mutex_lock(&allocation->device->memory_mutex);
  allocation->device->counts[allocation->kind].deferred_count--;
  pthread_mutex_unlock(&allocation->device->memory_mutex);
}

wia__memory_counts_t wia__memory_counts(wia__device_t *device, int32_t kind) {
  pthread_mutex_lock(&device->memory_mutex);
  const wia__memory_counts_t counts = device->counts[kind];
  pthread_mutex_unlock(&device->memory_mutex);
  return counts;
}

/* -- life of an allocation ----------------------------------------------------------------------- */

static void destroy_allocation(wia__object_t *object) {
  wia__allocation_t *allocation = (wia__allocation_t *)object;
  for (uint32_t i = 0; i < allocation->pending; i++) wia__release_queue(allocation->marks[i].queue);
  free(allocation->marks);
  wia__end_shadow(allocation->shadow);
  pthread_mutex_destroy(&allocation->mark_mutex);
  free(allocation);
}

static void end_memory(wia__object_t *memory_end) {
  wia__allocation_t *allocation =
      (wia__allocation_t *)((char *)memory_end - offsetof(wia__allocation_t, memory_end));
  if (allocation->piece)
    wia__return_piece(allocation);
  else if (allocation->kind != WIA_MEMORY_IMPORTED)
    wia__give_memory_back(allocation->device, &allocation->source, &allocation->memory,
                          allocation->size);
  else if (allocation->release)
    allocation->release(allocation->release_context);
  if (!allocation->is_arena) count_given_back(allocation);
  if (allocation->pool) wia__leave_pool(allocation);
  wia__release(&allocation->object);
}

bool wia__start_allocation(wia__allocation_t *allocation) {
  wia__init_object(&allocation->object, WIA__INTERNAL, destroy_allocation);
  wia__init_object(&allocation->memory_end, WIA__INTERNAL, end_memory);
  wia__retain(&allocation->object); /* the memory's own */
  atomic_init(&allocation->uses, 1);
  pthread_mutex_init(&allocation->mark_mutex, NULL);
  if (!wia__map_insert(allocation)) {
    pthread_mutex_destroy(&allocation->mark_mutex);
    return false;
  }
  if (!allocation->is_arena)
    count_allocated(allocation->device, allocation->kind, allocation->size);
  if (wia__is_validating() && !allocation->owned) wia__note_birth((uint64_t)(uintptr_t)allocation);
  return true;
}

bool wia__try_use(wia__allocation_t *allocation) {
  uint32_t uses = atomic_load_explicit(&allocation->uses, memory_order_relaxed);
  while (uses) {
    if (atomic_compare_exchange_weak(&allocation->uses, &uses, uses + 1)) return true;
  }
  return false;
}

bool wia__begin_flight(wia__allocation_t *allocation) {
  if (!allocation->piece) return wia__try_use(allocation);
  /* whoever looked it up is in an epoch, and marks it before the end of that: only then are the marks
   * taken off */
  if (!atomic_load_explicit(&allocation->uses, memory_order_relaxed)) return false;
  wia__retain(&allocation->object);
  return true;
}

void wia__end_flight(wia__allocation_t *allocation) {
  if (allocation->piece)
    wia__release(&allocation->object);
  else
    wia__end_use(allocation);
}

bool wia__invalidate(wia__allocation_t *allocation) {
  if (atomic_exchange(&allocation->freed, 1)) return false;
  wia__map_remove(allocation);
  if (!allocation->is_arena) count_freed(allocation);
  if (wia__is_validating() && !allocation->owned) wia__note_death((uint64_t)(uintptr_t)allocation);
  return true;
}

void wia__end_use(wia__allocation_t *allocation) {
  if (atomic_fetch_sub_explicit(&allocation->uses, 1, memory_order_acq_rel) != 1) return;
  wia__invalidate(allocation);
  wia__release(&allocation->memory_end); /* with the reference that the memory holds */
}

/* -- allocate ------------------------------------------------------------------------------------ */

wia_status_t wia__refuse_overlapping(const wia__device_t *device, const wia__source_t *source,
                                     uint64_t address, uint64_t size) {
  const char *whose = source->allocator ? source->allocator->name : "the driver";
  const wia_status_t status =
      wia__fail_with(WIA_STATUS_INTERNAL, device->driver->name, NULL,
                     "%s of %s gave out %#llx with %llu bytes, which overlaps memory that is in "
                     "use: a defect of it",
                     whose, device->name, (unsigned long long)address, (unsigned long long)size);
  wia__drop_source(source);
  return status;
}

wia_status_t wia__allocate(wia__device_t *device, uint64_t size, const wia_memory_config_t *config,
                           bool owned, wia__allocation_t **out_allocation) {
  const wia__demand_t demand = {0};
  return wia__allocate_in(device, &demand, size, config, owned, out_allocation);
}

wia_status_t wia__allocate_in(wia__device_t *device, const wia__demand_t *demand, uint64_t size,
                              const wia_memory_config_t *config, bool owned,
                              wia__allocation_t **out_allocation) {
  wia_memory_request_t request = {.struct_size = sizeof request,
                                  .device_id = device->id,
                                  .size = size,
                                  .stream = demand->stream};
  wia_status_t status = wia__check_memory_config(device, config, &request.kind, &request.alignment);
  if (status) return status;
  if (size > INT64_MAX)
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "%llu bytes are more than any device has",
                     (unsigned long long)size);
  wia__allocation_t *allocation = wia__make_zeroed(sizeof *allocation);
  if (!allocation) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no host memory is left");
  allocation->device = device;
  allocation->size = size;
  allocation->kind = request.kind;
  allocation->owned = owned;
  if (demand->pool)
    status = wia__get_from_pool(demand->pool, allocation, &request, demand->queue);
  else
    status =
        wia__get_memory(device, NULL, &request, true, &allocation->source, &allocation->memory);
  if (status) {
    free(allocation);
    return status;
  }
  if (!wia__start_allocation(allocation)) { /* the memory is somebody's: it is not given back */
    status = wia__refuse_overlapping(device, &allocation->source, allocation->memory.address, size);
    if (allocation->pool) wia__leave_pool(allocation);
    free(allocation);
    return status;
  }
  *out_allocation = allocation;
  return WIA_STATUS_OK;
}

static wia_status_t allocate_memory(void **out_ptr, uint64_t size, int32_t device_id,
                                    const wia_memory_config_t *config) {
  if (!out_ptr) return wia__null("out_ptr");
  wia__device_t *device;
  wia_status_t status = wia__get_device(device_id, &device);
  if (status) return status;
  if (size == 0) {
    int32_t kind;
    uint64_t alignment;
    status = wia__check_memory_config(device, config, &kind, &alignment);
    if (!status) *out_ptr = NULL;
    return status;
  }
  wia__allocation_t *allocation;
  status = wia__allocate(device, size, config, false, &allocation);
  if (status) return status;
  *out_ptr = (void *)(uintptr_t)allocation->memory.address;
  wia__release(&allocation->object); /* the use stays, for wia_free to end */
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_malloc(void **out_ptr, uint64_t size, int32_t device_id) {
  WIA__CALL(allocate_memory(out_ptr, size, device_id, NULL));
}

WIA_API wia_status_t wia_allocate_memory(void **out_ptr, uint64_t size, int32_t device_id,
                                         const wia_memory_config_t *config) {
  WIA__CALL(allocate_memory(out_ptr, size, device_id, config));
}

static wia_status_t refuse_address(uint64_t address, const char *argument) {
  if (wia__find_forked(address))
    return wia__fail(WIA_STATUS_FORKED,
                     "%s (%#llx) is in memory of the process that this one was forked from; "
                     "allocate anew here",
                     argument, (unsigned long long)address);
  return wia__fail(
      WIA_STATUS_INVALID_ARGUMENT,
      "%s (%#llx) is in no live allocation of any device: it was freed, or never given", argument,
      (unsigned long long)address);
}

/* stream NULL: at once. Else reuse is ordered behind what is on the stream now, seen or not. */
static wia_status_t free_memory(void *ptr, wia_stream_t *stream) {
  wia__queue_t *queue = NULL;
  if (stream) {
    const wia_status_t status = wia__resolve_stream(stream, &queue);
    if (status) return status;
  }
  if (!ptr) return WIA_STATUS_OK;
  const uint64_t address = (uint64_t)(uintptr_t)ptr;
  wia__allocation_t *allocation = wia__find_allocation(address);
  if (!allocation) return refuse_address(address, "ptr");
  if (allocation->memory.address != address)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%p lies %llu bytes inside an allocation of %s; free its start, %#llx", ptr,
                     (unsigned long long)(address - allocation->memory.address),
                     allocation->device->name, (unsigned long long)allocation->memory.address);
  if (allocation->owned)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%p is owned by a tensor; destroy the tensor instead", ptr);
  if (queue && allocation->device != wia__queue_device(queue))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "ptr is memory of %s and the stream of %s",
                     allocation->device->name, wia__queue_device(queue)->name);
  if (queue) {
    const wia_status_t status = wia__note_use(allocation, queue);
    if (status) return status;
  }
  if (!wia__invalidate(allocation))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%p was freed by another thread", ptr);
  wia__end_use(allocation);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_free(void *ptr) { WIA__CALL(free_memory(ptr, NULL)); }

WIA_API wia_status_t wia_free_async(void *ptr, wia_stream_t *stream) {
  WIA__CALL(free_memory(ptr, stream));
}

void wia__free_memory(void) {
  for (wia__allocation_t *allocation; (allocation = wia__find_unowned());) {
    if (wia__invalidate(allocation)) wia__end_use(allocation);
  }
  for (wia__allocation_t *arena; (arena = wia__find_arena(0));) {
    if (wia__invalidate(arena)) wia__end_use(arena);
  }
}

/* -- questions ----------------------------------------------------------------------------------- */

wia_status_t wia__find_range(uint64_t address, uint64_t size, const char *argument,
                             wia__allocation_t **out_allocation) {
  wia__allocation_t *allocation = wia__find_allocation(address);
  if (!allocation) return refuse_address(address, argument);
  const uint64_t offset = address - allocation->memory.address;
  if (size > allocation->size - offset)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: %llu bytes from offset %llu leave the allocation of %llu bytes on %s",
                     argument, (unsigned long long)size, (unsigned long long)offset,
                     (unsigned long long)allocation->size, allocation->device->name);
  *out_allocation = allocation;
  return WIA_STATUS_OK;
}

static bool has_work(wia__allocation_t *allocation) {
  bool pending = false;
  pthread_mutex_lock(&allocation->mark_mutex);
  for (uint32_t i = 0; i < allocation->pending && !pending; i++) {
    const wia__mark_t *mark = &allocation->marks[i];
    if (mark->sequence & WIA__CAPTURED) continue;
    pending = !wia__is_done(mark->queue, mark->sequence);
    if (!pending && wia__is_validating()) wia__validate_done(mark->queue, mark->sequence);
  }
  pthread_mutex_unlock(&allocation->mark_mutex);
  return pending;
}

static wia_status_t query_address(const void *address, wia_address_info_t *out_info) {
  const wia_status_t status = wia__check_out(out_info, sizeof *out_info, "WIA_ADDRESS_INFO_INIT");
  if (status) return status;
  const uint64_t at = (uint64_t)(uintptr_t)address;
  wia__allocation_t *allocation = wia__find_allocation(at);
  if (!allocation)
    return wia__fail(WIA_STATUS_NOT_FOUND, "%p is in no live allocation of any device", address);
  const wia_address_info_t info = {.device_id = allocation->device->id,
                                   .kind = allocation->kind,
                                   .pending = has_work(allocation),
                                   .base = allocation->memory.address,
                                   .size = allocation->size,
                                   .offset = at - allocation->memory.address};
  wia__write_struct(out_info, &info, sizeof info);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_query_address(const void *address, wia_address_info_t *out_info) {
  WIA__CALL(query_address(address, out_info));
}

/* What the driver says of a kind; zeros if the device lacks it. */
static wia_status_t ask_driver(wia__device_t *device, int32_t kind, wia_memory_kind_info_t *out) {
  for (uint32_t i = 0; i < device->info.memory_kind_count; i++) {
    wia_memory_kind_info_t info = {.struct_size = sizeof info};
    wia_error_t error;
    wia__init_error(&error);
    wia__lock_device(device);
    const wia_status_t status = device->table->get_memory_kind(device->handle, i, &info, &error);
    wia__unlock_device(device);
    if (status)
      return wia__take_error(&error, status, device->driver->name, "%s, memory kind %u",
                             device->name, i);
    wia__drop_error(&error);
    if (info.kind == kind) *out = info;
  }
  return WIA_STATUS_OK;
}

static wia_status_t get_memory_info(int32_t device_id, int32_t kind, wia_memory_info_t *out_info) {
  wia_status_t status = wia__check_out(out_info, sizeof *out_info, "WIA_MEMORY_INFO_INIT");
  if (status) return status;
  if (kind < WIA_MEMORY_DEVICE || kind > WIA_MEMORY_IMPORTED)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "kind is %d; expected one of WIA_MEMORY_*",
                     (int)kind);
  wia__device_t *device;
  status = wia__get_device(device_id, &device);
  if (status) return status;
  wia_memory_kind_info_t told = {0};
  status = ask_driver(device, kind, &told);
  if (status) return status;
  const wia__memory_counts_t counts = wia__memory_counts(device, kind);
  const wia_memory_info_t info = {.kind = kind,
                                  .total_size = told.total_size,
                                  .free_size = told.free_size,
                                  .live_size = counts.live_size,
                                  .peak_size = counts.peak_size,
                                  .live_count = counts.live_count,
                                  .total_count = counts.total_count,
                                  .failed_count = counts.failed_count,
                                  .deferred_count = counts.deferred_count};
  wia__write_struct(out_info, &info, sizeof info);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_memory_info(int32_t device_id, int32_t kind,
                                         wia_memory_info_t *out_info) {
  WIA__CALL(get_memory_info(device_id, kind, out_info));
}
