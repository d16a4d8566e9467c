/* pool_life.c: all pools: what they have free, how it goes back to where it came from, and their end. */
#include <stdlib.h>

#include "fork.h"
#include "memory_pool.h"
#include "poison.h"
#include "stream.h"

static pthread_mutex_t pools_mutex = PTHREAD_MUTEX_INITIALIZER; /* before a pool's own */
static wia__memory_pool_t *pools;

/* -- segments ------------------------------------------------------------------------------------ */

/* Gives a chain of segments that are in no heap back to the driver. The bytes that went. */
static uint64_t release_segments(wia__segment_t *segments) {
  uint64_t size = 0;
  for (wia__segment_t *next; segments; segments = next) {
    next = segments->next;
    size += segments->size;
    wia__unpoison(segments->device, segments->memory.address, segments->size);
    wia__give_memory_back(segments->device, &segments->source, &segments->memory, segments->size);
    free(segments);
  }
  return size;
}

/* Under the mutex. */
static wia__segment_t *shrink(wia__memory_pool_t *pool, uint64_t keep) {
  if (pool->heap.free_size <= keep) return NULL;
  wia__segment_t *segments = wia__heap_shrink(&pool->heap, keep);
  for (const wia__segment_t *s = segments; s; s = s->next) {
    pool->reserved -= s->size;
    pool->released_count++;
  }
  return segments;
}

uint64_t wia__trim_pool(wia__memory_pool_t *pool, uint64_t keep) {
  wia__lock_pool(pool);
  wia__heap_sweep(&pool->heap, true);
  wia__segment_t *segments = shrink(pool, keep);
  wia__unlock_pool(pool);
  return release_segments(segments);
}

void wia__set_pool_allocator(wia__memory_pool_t *pool, wia__allocator_t *allocator) {
  wia__lock_pool(pool);
  wia__allocator_t *former = pool->allocator;
  pool->allocator = allocator;
  wia__unlock_pool(pool);
  if (former) wia__release(&former->object);
  wia__trim_pool(pool, 0);
}

uint64_t wia__trim_pools(const wia__device_t *device) {
  wia__segment_t *all = NULL;
  pthread_mutex_lock(&pools_mutex);
  for (wia__memory_pool_t *pool = pools; pool; pool = pool->next) {
    if (pool->device != device) continue;
    wia__lock_pool(pool);
    wia__heap_sweep(&pool->heap, true);
    for (wia__segment_t *s = shrink(pool, 0), *next; s; s = next) {
      next = s->next;
      s->next = all;
      all = s;
    }
    wia__unlock_pool(pool);
  }
  pthread_mutex_unlock(&pools_mutex);
  return release_segments(all);
}

bool wia__is_pooled(uint64_t address, uint64_t size) {
  bool found = false;
  pthread_mutex_lock(&pools_mutex);
  for (wia__memory_pool_t *pool = pools; pool && !found; pool = pool->next) {
    wia__lock_pool(pool);
    for (wia__segment_t *s = pool->heap.segments; s && !found; s = s->next)
      found = address - s->memory.address < s->size || s->memory.address - address < size;
    wia__unlock_pool(pool);
  }
  pthread_mutex_unlock(&pools_mutex);
  return found;
}

/* -- life ---------------------------------------------------------------------------------------- */

/* A copy of the marks of free pieces, with references. */
static wia__mark_t *copy_marks(const wia__memory_pool_t *pool, uint32_t *out_count) {
  uint32_t count = 0;
  for (const wia__segment_t *s = pool->heap.segments; s; s = s->next) {
    for (const wia__piece_t *p = s->first; p; p = p->after) count += p->lane ? p->mark_count : 0;
  }
  wia__mark_t *marks = count ? calloc(count, sizeof *marks) : NULL;
  *out_count = 0;
  for (const wia__segment_t *s = pool->heap.segments; s && marks; s = s->next) {
    for (const wia__piece_t *p = s->first; p; p = p->after) {
      for (uint32_t i = 0; p->lane && i < p->mark_count; i++) {
        marks[*out_count] = p->marks[i];
        wia__retain_queue(marks[(*out_count)++].queue);
      }
    }
  }
  return marks;
}

bool wia__await_pool(wia__memory_pool_t *pool) {
  uint32_t count;
  wia__lock_pool(pool);
  wia__mark_t *marks = copy_marks(pool, &count);
  wia__unlock_pool(pool);
  bool waited = true;
  for (uint32_t i = 0; i < count; i++) {
    waited = waited && !wia__await_end(&marks[i]);
    wia__release_queue(marks[i].queue);
  }
  free(marks);
  return waited;
}

static void destroy_pool(wia__object_t *object) {
  wia__memory_pool_t *pool = (wia__memory_pool_t *)object;
  /* only where no host memory was left to have it done when the work ended */
  while (pool->heap.segments && wia__await_pool(pool) && wia__trim_pool(pool, 0)) {
  }
  pthread_mutex_lock(&pools_mutex);
  if (pool->previous)
    pool->previous->next = pool->next;
  else
    pools = pool->next;
  if (pool->next) pool->next->previous = pool->previous;
  pthread_mutex_unlock(&pools_mutex);
  if (pool->allocator) wia__release(&pool->allocator->object);
  free(pool->heap.spare);
  pthread_mutex_destroy(&pool->mutex);
  free(pool);
}

wia_status_t wia__create_pool(wia__device_t *device, wia__memory_pool_t **out_pool) {
  wia__memory_pool_t *pool = calloc(1, sizeof *pool);
  if (!pool) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a memory pool");
  const wia__pool_settings_t settings = wia__pool_defaults();
  wia__init_object(&pool->object, WIA__INTERNAL, destroy_pool);
  pthread_mutex_init(&pool->mutex, NULL);
  pool->device = device;
  pool->off = settings.off;
  pool->limit = settings.limit;
  pool->keep = settings.keep;
  pthread_mutex_lock(&pools_mutex);
  pool->next = pools;
  if (pool->next) pool->next->previous = pool;
  pools = pool;
  pthread_mutex_unlock(&pools_mutex);
  *out_pool = pool;
  return WIA_STATUS_OK;
}

/* Trims a closed pool when the last of some work has ended. An object, since where that is told the
 * driver may not be called. */
typedef struct drain_t {
  wia__object_t object;
  wia__memory_pool_t *pool;
} drain_t;

static void destroy_drain(wia__object_t *object) {
  drain_t *drain = (drain_t *)object;
  wia__trim_pool(drain->pool, 0);
  wia__release(&drain->pool->object);
  free(drain);
}

static void release_drain(void *drain) { wia__release(drain); }

/* Has the memory given back when the work is done that has these marks, of which it takes the
 * references. Without host memory for that it happens when the pool is destroyed. */
static void drain_later(wia__memory_pool_t *pool, wia__mark_t *marks, uint32_t count) {
  drain_t *drain = count ? calloc(1, sizeof *drain) : NULL;
  if (drain) {
    wia__init_object(&drain->object, WIA__INTERNAL, destroy_drain);
    wia__retain(&pool->object);
    drain->pool = pool;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (drain) {
      wia__retain(&drain->object);
      if (wia__watch_sequence(marks[i].queue, marks[i].sequence, release_drain, drain))
        wia__release(&drain->object);
    }
    wia__release_queue(marks[i].queue);
  }
  if (drain) wia__release(&drain->object);
  free(marks);
}

void wia__close_pool(wia__memory_pool_t *pool) {
  uint32_t count;
  wia__lock_pool(pool);
  pool->closed = true;
  pool->keep = 0;
  wia__heap_sweep(&pool->heap, true);
  wia__segment_t *segments = shrink(pool, 0);
  wia__mark_t *marks = copy_marks(pool, &count);
  wia__unlock_pool(pool);
  release_segments(segments);
  drain_later(pool, marks, count);
  wia__release(&pool->object);
}

/* -- free ---------------------------------------------------------------------------------------- */

void wia__return_piece(wia__allocation_t *allocation) {
  wia__memory_pool_t *pool = allocation->pool;
  wia__piece_t *piece = allocation->piece;
  const uint64_t requested = piece->requested;
  uint32_t count = 0;
  wia__mark_t *marks = NULL;
  wia__take_marks(allocation, &piece->marks, &piece->mark_count);
  wia__lock_pool(pool);
  pool->used -= piece->size;
  pool->requested -= requested;
  pool->used_count--;
  wia__heap_give(&pool->heap, piece);
  wia__segment_t *segments = shrink(pool, pool->keep);
  if (pool->closed) marks = copy_marks(pool, &count);
  wia__unlock_pool(pool);
  release_segments(segments);
  if (marks) drain_later(pool, marks, count);
}

void wia__leave_pool(wia__allocation_t *allocation) {
  wia__memory_pool_t *pool = allocation->pool;
  if (!allocation->piece) {
    wia__lock_pool(pool);
    pool->reserved -= allocation->size;
    pool->used -= allocation->size;
    pool->requested -= allocation->size;
    pool->used_count--;
    wia__unlock_pool(pool);
  }
  wia__release(&pool->object);
}

void wia__fork_pools(wia__fork_t stage) {
  wia__fork_mutex(stage, &pools_mutex);
  if (stage == WIA__FORK_CHILD) pools = NULL;
}
