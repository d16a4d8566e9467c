/* memory_pool.h: the pool of a context: what it may have, what it keeps, and where that comes from. */
#ifndef WIA__MEMORY_POOL_H
#define WIA__MEMORY_POOL_H

#include "heap.h"

struct wia__memory_pool_t {
  wia__object_t object;
  wia__device_t *device;
  pthread_mutex_t mutex; /* guards all below; no driver is called and nothing waited for under it */
  wia__heap_t heap;
  _Atomic bool off; /* read without the mutex */
  bool closed;
  wia__allocator_t
      *allocator; /* of the program, with a reference; NULL: the device's, or the driver */
  uint64_t limit, keep;
  uint64_t reserved, peak_reserved, used, peak_used, requested, used_count;
  uint64_t hit_count, miss_count, wait_count, released_count, failed_count;
  wia__memory_pool_t *previous, *next; /* among all pools */
};

/* Around all that the mutex guards. Meanwhile the thread destroys nothing, although pieces let go of
 * queues: what is destroyed may be memory of the pool, whose way back is through the mutex. */
static inline void wia__lock_pool(wia__memory_pool_t *pool) {
  wia__defer_collecting();
  pthread_mutex_lock(&pool->mutex);
}
static inline void wia__unlock_pool(wia__memory_pool_t *pool) {
  pthread_mutex_unlock(&pool->mutex);
  wia__end_deferring();
}

wia_status_t wia__create_pool(wia__device_t *device, wia__memory_pool_t **out_pool);
/* The context is gone: what is free goes back, the rest when it is. Gives up a reference. */
void wia__close_pool(wia__memory_pool_t *pool);

/* Memory of the allocation's size and kind: fills its memory, pool, piece and marks. */
wia_status_t wia__get_from_pool(wia__memory_pool_t *pool, wia__allocation_t *allocation,
                                const wia_memory_request_t *request, wia__queue_t *queue);
/* The allocation's end: of its piece, then of its part in the quota. */
void wia__return_piece(wia__allocation_t *allocation);
void wia__leave_pool(wia__allocation_t *allocation);

/* Another allocator, NULL: none, for what comes; takes the reference. What is free goes back. */
void wia__set_pool_allocator(wia__memory_pool_t *pool, wia__allocator_t *allocator);

/* Gives free segments back until at most keep bytes are free. The bytes that went. */
uint64_t wia__trim_pool(wia__memory_pool_t *pool, uint64_t keep);
/* Waits for all work that uses free pieces. False: this thread can't, or is interrupted. */
bool wia__await_pool(wia__memory_pool_t *pool);
/* Of all pools of a device, all that is free. */
uint64_t wia__trim_pools(const wia__device_t *device);

/* Whether some of a range is memory of a pool. */
bool wia__is_pooled(uint64_t address, uint64_t size);

/* Per cent of what is free that is not in the largest block. */
static inline uint32_t wia__pool_fragmentation(uint64_t free_size, uint64_t largest) {
  return free_size ? (uint32_t)(100 - 100.0 * (double)largest / (double)free_size) : 0;
}

/* The settings of WIA_MEMORY_POOL (pool_info.c). */
typedef struct wia__pool_settings_t {
  bool off;
  uint64_t limit, keep;
} wia__pool_settings_t;
wia__pool_settings_t wia__pool_defaults(void);

#endif
