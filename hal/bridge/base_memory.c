/* base_memory.c: memory of a device that is another driver's, see bridge.h. */
#include "bridge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGING_SIZE = 1 << 16 }; /* a multiple of every pattern */

static const wia__base_t *base_of(wia_driver_device_t device) {
  const wia__python_device_t *opened = (const wia__python_device_t *)(const void *)device;
  return (const wia__base_t *)(uintptr_t)opened->state;
}

wia_status_t wia__base_get_memory_kind(wia_driver_device_t device, uint32_t index,
                                       wia_memory_kind_info_t *out_info, wia_error_t *out_error) {
  const wia__base_t *base = base_of(device);
  return base->driver->get_memory_kind(base->device, index, out_info, out_error);
}

wia_status_t wia__base_allocate(wia_driver_device_t device, int32_t kind, uint64_t size,
                                uint64_t alignment, wia_operand_t *out_memory,
                                wia_error_t *out_error) {
  const wia__base_t *base = base_of(device);
  if (alignment < base->alignment) alignment = base->alignment;
  return base->driver->allocate(base->device, kind, size, alignment, out_memory, out_error);
}

void wia__base_free(wia_driver_device_t device, const wia_operand_t *memory) {
  const wia__base_t *base = base_of(device);
  base->driver->free(base->device, memory);
}

wia_status_t wia__base_copy(wia_driver_device_t device, const wia_copy_t *copies, uint32_t count,
                            wia_error_t *out_error) {
  const wia__base_t *base = base_of(device);
  return base->driver->copy(base->device, copies, count, out_error);
}

/* For a base without fill: copies from host memory that is full of the pattern. */
static wia_status_t fill_by_copies(const wia__base_t *base, wia_operand_t target, uint64_t size,
                                   const void *pattern, uint32_t pattern_size,
                                   wia_error_t *out_error) {
  const uint64_t block = size < STAGING_SIZE ? size : STAGING_SIZE;
  unsigned char *staging = malloc((size_t)block);
  if (!staging) {
    snprintf(out_error->message, sizeof out_error->message, "The host has no memory left.");
    return WIA_STATUS_RESOURCE_EXHAUSTED;
  }
  for (uint64_t at = 0; at < block; at += pattern_size) memcpy(staging + at, pattern, pattern_size);
  wia_status_t status = WIA_STATUS_OK;
  while (size != 0 && status == WIA_STATUS_OK) {
    const uint64_t part = size < block ? size : block;
    const wia_copy_t copy = {
        .source = {.address = (uint64_t)(uintptr_t)staging}, .destination = target, .size = part};
    status = base->driver->copy(base->device, &copy, 1, out_error);
    target.address += part;
    target.offset += part;
    size -= part;
  }
  free(staging);
  return status;
}

wia_status_t wia__base_fill(wia_driver_device_t device, const wia_operand_t *target, uint64_t size,
                            const void *pattern, uint32_t pattern_size, wia_error_t *out_error) {
  const wia__base_t *base = base_of(device);
  if (!base->driver->fill)
    return fill_by_copies(base, *target, size, pattern, pattern_size, out_error);
  return base->driver->fill(base->device, target, size, pattern, pattern_size, out_error);
}
