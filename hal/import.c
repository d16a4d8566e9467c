/* import.c: the caller's host memory as memory of a device. */
#include <stdlib.h>

#include "memory_pool.h"

wia_status_t wia__read_import(const wia_import_config_t *config, wia_import_config_t *out_config) {
  *out_config = (wia_import_config_t){0};
  const wia_status_t status = wia__read_struct(config, out_config, sizeof *out_config,
                                               sizeof *out_config, "WIA_IMPORT_CONFIG_INIT");
  if (status) return status;
  if (out_config->flags & ~(uint32_t)WIA_IMPORT_READ_ONLY)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "flags are %#x; expected 0 or WIA_IMPORT_READ_ONLY", out_config->flags);
  return WIA_STATUS_OK;
}

static wia_status_t refuse_overlap(const wia__device_t *device, uint64_t address, uint64_t size) {
  const wia__allocation_t *first = wia__find_allocation(address);
  return wia__fail(WIA_STATUS_ALREADY_EXISTS,
                   "%#llx with %llu bytes can't be imported to %s: it overlaps memory that is live "
                   "or kept in a pool%s%s; free that first, or copy",
                   (unsigned long long)address, (unsigned long long)size, device->name,
                   first ? " of " : "", first ? first->device->name : "");
}

wia_status_t wia__import(wia__device_t *device, uint64_t address, uint64_t size,
                         const wia_import_config_t *config, bool owned,
                         wia__allocation_t **out_allocation) {
  if (!(device->flags & WIA_DEVICE_HOST_ADDRESSABLE))
    return wia__fail(WIA_STATUS_UNIMPLEMENTED,
                     "%s has no host addresses, so it can't use host memory; copy to memory of the "
                     "device",
                     device->name);
  if (!address) return wia__null("pointer");
  if (size == 0 || size > INT64_MAX || address > UINT64_MAX - size)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "size is %llu; expected 1 or more bytes that fit in the address space",
                     (unsigned long long)size);
  wia__allocation_t *allocation = calloc(1, sizeof *allocation);
  if (!allocation) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no host memory is left");
  allocation->device = device;
  allocation->memory.address = address;
  allocation->size = size;
  allocation->kind = WIA_MEMORY_IMPORTED;
  allocation->owned = owned;
  allocation->read_only = config->flags & WIA_IMPORT_READ_ONLY ? 1 : 0;
  allocation->release = config->release;
  allocation->release_context = config->context;
  if (wia__is_pooled(address, size) || !wia__start_allocation(allocation)) {
    free(allocation);
    return refuse_overlap(device, address, size);
  }
  *out_allocation = allocation;
  return WIA_STATUS_OK;
}

wia_status_t wia__refuse_write(const wia__allocation_t *allocation, const char *argument) {
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s is memory that was imported to %s as read-only, so it can't be written to; "
                   "copy it first",
                   argument, allocation->device->name);
}

static wia_status_t import_memory(void *pointer, uint64_t size, int32_t device_id,
                                  const wia_import_config_t *config) {
  wia_import_config_t ours;
  wia__device_t *device = NULL;
  wia__allocation_t *allocation = NULL;
  wia_status_t status = wia__read_import(config, &ours);
  if (!status) status = wia__get_device(device_id, &device);
  if (!status)
    status = wia__import(device, (uint64_t)(uintptr_t)pointer, size, &ours, false, &allocation);
  if (!status) wia__release(&allocation->object); /* the use stays, for wia_free to end */
  return status;
}

WIA_API wia_status_t wia_import_memory(void *pointer, uint64_t size, int32_t device_id,
                                       const wia_import_config_t *config) {
  WIA__CALL(import_memory(pointer, size, device_id, config));
}
