/* host_memory.c: host memory as device memory, see bridge.h. */
#define _POSIX_C_SOURCE 200809L
#include "bridge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

wia_status_t wia__host_get_memory_kind(wia_driver_device_t device, uint32_t index,
                                       wia_memory_kind_info_t *out_info, wia_error_t *out_error) {
  (void)device;
  if (index != 0) {
    snprintf(out_error->message, sizeof out_error->message,
             "Memory kind %u was asked for; host memory is one kind, index 0.", index);
    return WIA_STATUS_OUT_OF_RANGE;
  }
  const long page_size = sysconf(_SC_PAGESIZE);
  const long pages = sysconf(_SC_PHYS_PAGES);
  out_info->kind = WIA_MEMORY_DEVICE;
  out_info->total_size = pages > 0 ? (uint64_t)pages * (uint64_t)page_size : 0;
#ifdef _SC_AVPHYS_PAGES
  const long free_pages = sysconf(_SC_AVPHYS_PAGES);
  out_info->free_size = free_pages > 0 ? (uint64_t)free_pages * (uint64_t)page_size : 0;
#endif
  return WIA_STATUS_OK;
}

wia_status_t wia__host_allocate(wia_driver_device_t device, int32_t kind, uint64_t size,
                                uint64_t alignment, wia_operand_t *out_memory,
                                wia_error_t *out_error) {
  (void)device;
  if (kind != WIA_MEMORY_DEVICE) {
    snprintf(out_error->message, sizeof out_error->message,
             "Memory kind %d was asked for; this device has only WIA_MEMORY_DEVICE.", (int)kind);
    return WIA_STATUS_UNIMPLEMENTED;
  }
  void *pointer = NULL;
  if (size > PTRDIFF_MAX || posix_memalign(&pointer, (size_t)alignment, (size_t)size) != 0) {
    snprintf(out_error->message, sizeof out_error->message,
             "The host has no %llu bytes to give. Free memory or ask for less.",
             (unsigned long long)size);
    return WIA_STATUS_RESOURCE_EXHAUSTED;
  }
  out_memory->address = (uint64_t)(uintptr_t)pointer;
  out_memory->memory = (wia_driver_memory_t)pointer;
  return WIA_STATUS_OK;
}

void wia__host_free(wia_driver_device_t device, const wia_operand_t *memory) {
  (void)device;
  free(memory->memory);
}

wia_status_t wia__host_copy(wia_driver_device_t device, const wia_copy_t *copies, uint32_t count,
                            wia_error_t *out_error) {
  (void)device;
  (void)out_error;
  for (uint32_t i = 0; i < count; i++)
    memcpy((void *)(uintptr_t)copies[i].destination.address,
           (const void *)(uintptr_t)copies[i].source.address, (size_t)copies[i].size);
  return WIA_STATUS_OK;
}

wia_status_t wia__host_fill(wia_driver_device_t device, const wia_operand_t *target, uint64_t size,
                            const void *pattern, uint32_t pattern_size, wia_error_t *out_error) {
  (void)device;
  (void)out_error;
  unsigned char *to = (unsigned char *)(uintptr_t)target->address;
  if (pattern_size == 1) {
    memset(to, *(const unsigned char *)pattern, (size_t)size);
    return WIA_STATUS_OK;
  }
  /* What is filled already is the source of the next, twice as long copy. */
  uint64_t done = size < pattern_size ? size : pattern_size;
  memcpy(to, pattern, (size_t)done);
  while (done < size) {
    const uint64_t step = done < size - done ? done : size - done;
    memcpy(to + done, to, (size_t)step);
    done += step;
  }
  return WIA_STATUS_OK;
}
