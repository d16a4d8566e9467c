/* device.h: drivers that are loaded and devices that are open. Neither is ever freed. */
#ifndef WIA__DEVICE_H
#define WIA__DEVICE_H

#include <pthread.h>

#include "status.h"

typedef struct wia__cache_t wia__cache_t;

typedef struct wia__driver_t {
  wia_driver_t table; /* a copy of full size: entries that an older driver lacks are NULL */
  wia_driver_streams_t streams; /* the same of table.streams, unless that is NULL */
  wia_driver_graphs_t graphs;   /* likewise */
  int32_t slot;
  char name[64];
} wia__driver_t;

typedef struct wia__memory_counts_t {
  uint64_t live_size, peak_size, live_count, total_count, failed_count, deferred_count;
} wia__memory_counts_t;

typedef struct wia__device_t {
  wia__driver_t *driver;
  const wia_driver_t *table; /* &driver->table */
  wia_driver_device_t handle;
  int32_t id;
  uint32_t flags;     /* WIA_DEVICE_* */
  uint64_t alignment; /* of allocations, at least 64 */
  char name[80];      /* "reference:0" */
  wia_driver_device_info_t info;
  pthread_mutex_t serial;       /* held around every call when WIA_DEVICE_SERIAL */
  pthread_mutex_t memory_mutex; /* guards the next two */
  wia__memory_counts_t counts[WIA_MEMORY_IMPORTED + 1];
  struct wia__allocator_t *allocator;  /* of the program, with a reference; NULL: the driver's */
  wia__cache_t *cache;                 /* prepared kernels: cache.h */
  struct wia__extension_t *extensions; /* the driver's; NULL until asked for: extension.c */
} wia__device_t;

/* The device of an id, opened at its first use. */
wia_status_t wia__get_device(int32_t id, wia__device_t **out_device);

/* Around calls of a driver. */
void wia__lock_device(wia__device_t *device);
void wia__unlock_device(wia__device_t *device);

#endif
