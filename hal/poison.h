/* poison.h: tells the address sanitizer which memory of host devices lies free in a pool, so that it
 * finds uses of it as it does with memory that went back to malloc(). Nothing in other builds. */
#ifndef WIA__POISON_H
#define WIA__POISON_H

#include "device.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
static inline void wia__poison(const wia__device_t *device, uint64_t address, uint64_t size) {
  if (device->flags & WIA_DEVICE_HOST_ADDRESSABLE)
    __asan_poison_memory_region((void *)(uintptr_t)address, size);
}
static inline void wia__unpoison(const wia__device_t *device, uint64_t address, uint64_t size) {
  if (device->flags & WIA_DEVICE_HOST_ADDRESSABLE)
    __asan_unpoison_memory_region((void *)(uintptr_t)address, size);
}
#else
static inline void wia__poison(const wia__device_t *device, uint64_t address, uint64_t size) {
  (void)device;
  (void)address;
  (void)size;
}
static inline void wia__unpoison(const wia__device_t *device, uint64_t address, uint64_t size) {
  (void)device;
  (void)address;
  (void)size;
}
#endif

#endif
