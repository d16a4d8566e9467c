/* prefetch.c: hints to the host's caches. */
#include "object.h"

static wia_status_t prefetch(const void *address, uint64_t size, int32_t level) {
  enum { LINE = 64, MOST = 1 << 20 }; /* more than a cache level holds is no hint */
  if (level < WIA_PREFETCH_L1 || level > WIA_PREFETCH_L3)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "level is %d; expected WIA_PREFETCH_L1, _L2 or _L3", (int)level);
  if (size > MOST) size = MOST;
  for (uint64_t i = 0; i < size; i += LINE) {
    const void *at = (const void *)(uintptr_t)((uint64_t)(uintptr_t)address + i);
    if (level == WIA_PREFETCH_L1)
      __builtin_prefetch(at, 0, 3);
    else if (level == WIA_PREFETCH_L2)
      __builtin_prefetch(at, 0, 2);
    else
      __builtin_prefetch(at, 0, 1);
  }
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_prefetch(const void *address, uint64_t size, int32_t level) {
  WIA__CALL(prefetch(address, size, level));
}
