/* memory_pool.c: allocation from a context's pool. */
#include "memory_pool.h"

#include <stdio.h>
#include <stdlib.h>

#include "fork.h"
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

static wia__mark_t *copy_marks(const wia__memory_pool_t *pool, uint32_t *out_count);

/* Waits for all work that uses free pieces. False: this thread can't, or is interrupted. */
static bool await_all(wia__memory_pool_t *pool) {
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
  while (pool->heap.segments && await_all(pool) && wia__trim_pool(pool, 0)) {
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

/* -- the limit ----------------------------------------------------------------------------------- */

/* Counts bytes that are about to come from the driver. False: the limit is in the way. */
static bool reserve(wia__memory_pool_t *pool, uint64_t size) {
  wia__lock_pool(pool);
  const bool fits = !pool->limit || (size <= pool->limit && pool->reserved <= pool->limit - size);
  if (fits) pool->reserved += size;
  wia__unlock_pool(pool);
  return fits;
}

static void unreserve(wia__memory_pool_t *pool, uint64_t size) {
  wia__lock_pool(pool);
  pool->reserved -= size;
  wia__unlock_pool(pool);
}

/* Under the mutex: the caller has the allocation. */
static void count_used(wia__memory_pool_t *pool, uint64_t size, uint64_t requested) {
  pool->used += size;
  pool->requested += requested;
  pool->used_count++;
  if (pool->used > pool->peak_used) pool->peak_used = pool->used;
  if (pool->reserved > pool->peak_reserved) pool->peak_reserved = pool->reserved;
}

static wia_status_t refuse(wia__memory_pool_t *pool, uint64_t size, wia_status_t status) {
  wia__failure_t driver = {0};
  if (status) wia__save_failure(&driver);
  wia__lock_pool(pool);
  pool->failed_count++;
  const uint64_t used = pool->used, reserved = pool->reserved, limit = pool->limit;
  const uint64_t free_size = pool->heap.free_size, largest = wia__heap_largest(&pool->heap);
  wia__unlock_pool(pool);
  char limit_text[48] = "no limit";
  if (limit) snprintf(limit_text, sizeof limit_text, "a limit of %llu", (unsigned long long)limit);
  const char *advice = "destroy tensors or use smaller ones, or trim what other contexts keep";
  if (limit && !status)
    advice = "destroy tensors, or raise the limit with wia_configure_memory_pool()";
  status = wia__fail_with(
      WIA_STATUS_RESOURCE_EXHAUSTED, pool->device->driver->name, driver.cause,
      "%s can't allocate %llu bytes for this context: %llu of %llu reserved bytes are in use, with "
      "%s; the largest free block has %llu, fragmentation is %u %%; %s%s%s",
      pool->device->name, (unsigned long long)size, (unsigned long long)used,
      (unsigned long long)reserved, limit_text, (unsigned long long)largest,
      wia__pool_fragmentation(free_size, largest), advice, driver.message ? "; " : "",
      driver.message ? driver.message : "");
  wia__free_failure(&driver);
  return status;
}

/* -- allocate ------------------------------------------------------------------------------------ */

static wia_status_t get_memory(wia__memory_pool_t *pool, const wia_memory_request_t *request,
                               bool urgent, wia__source_t *out_source, wia_operand_t *out_memory) {
  wia__lock_pool(pool);
  wia__allocator_t *allocator = pool->allocator;
  if (allocator) wia__retain(&allocator->object);
  wia__unlock_pool(pool);
  const wia_status_t status =
      wia__get_memory(pool->device, allocator, request, urgent, out_source, out_memory);
  if (allocator) wia__release(&allocator->object);
  return status;
}

/* A piece from a new segment of that size, rounded by the caller. NULL, with *out_status OK when it is
 * the limit that is in the way, else the driver's error. */
static wia__piece_t *grow_by(wia__memory_pool_t *pool, uint64_t segment_size, uint64_t size,
                             uint64_t alignment, bool urgent, wia_status_t *out_status) {
  *out_status = WIA_STATUS_OK;
  if (!reserve(pool, segment_size)) return NULL;
  wia__segment_t *segment = calloc(1, sizeof *segment);
  if (!segment) {
    *out_status = wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no host memory is left");
    unreserve(pool, segment_size);
    return NULL;
  }
  const wia_memory_request_t request = {.struct_size = sizeof request,
                                        .device_id = pool->device->id,
                                        .kind = WIA_MEMORY_DEVICE,
                                        .size = segment_size,
                                        .alignment = alignment};
  segment->device = pool->device;
  segment->size = segment_size;
  segment->small = size <= WIA__HEAP_SMALL;
  *out_status = get_memory(pool, &request, urgent, &segment->source, &segment->memory);
  wia__piece_t *piece = NULL;
  if (!*out_status) {
    wia__lock_pool(pool);
    piece = wia__heap_add(&pool->heap, segment);
    if (piece) wia__heap_cut(&pool->heap, piece, size);
    if (piece) pool->miss_count++;
    wia__unlock_pool(pool);
    if (piece) return piece;
    *out_status = wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no host memory is left");
    wia__give_memory_back(pool->device, &segment->source, &segment->memory, segment_size);
  }
  free(segment);
  unreserve(pool, segment_size);
  return NULL;
}

static wia__piece_t *grow(wia__memory_pool_t *pool, uint64_t size, uint64_t alignment, bool urgent,
                          wia_status_t *out_status) {
  uint64_t segment_size = WIA__HEAP_SMALL_SEGMENT;
  if (size > WIA__HEAP_LARGE_SEGMENT / 2)
    segment_size = size + (WIA__HEAP_SMALL_SEGMENT - 1) - (size - 1) % WIA__HEAP_SMALL_SEGMENT;
  else if (size > WIA__HEAP_SMALL)
    segment_size = WIA__HEAP_LARGE_SEGMENT;
  wia__piece_t *piece = NULL;
  if (!urgent) piece = grow_by(pool, segment_size, size, alignment, false, out_status);
  if (piece || (!urgent && segment_size == size)) return piece;
  return grow_by(pool, size, size, alignment, urgent, out_status);
}

static wia__piece_t *take(wia__memory_pool_t *pool, uint64_t size, uint64_t alignment,
                          wia__queue_t *queue, bool all) {
  wia__lock_pool(pool);
  wia__heap_sweep(&pool->heap, all);
  wia__piece_t *piece = wia__heap_take(&pool->heap, queue, size, alignment);
  if (piece) pool->hit_count++;
  wia__unlock_pool(pool);
  return piece;
}

static void finish_point(void *context) {
  wia__finish_point(context, NULL);
  wia__release_point(context);
}

static void end_wait(wia__item_t *item, wia_status_t status, const wia__failure_t *failure) {
  (void)status;
  (void)failure;
  wia__release_point(item->wait_for);
  free(item);
}

/* Has the queue wait until that work has ended, well or not. */
static wia_status_t enqueue_wait(wia__queue_t *queue, const wia__mark_t *mark) {
  wia__item_t *item = calloc(1, sizeof *item);
  wia__point_t *point = item ? wia__create_point() : NULL;
  if (!point) {
    free(item);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for queued work");
  }
  item->wait_for = point;
  item->end = end_wait;
  wia__retain_point(point);
  const wia_status_t status = wia__watch_sequence(mark->queue, mark->sequence, finish_point, point);
  if (!status) return wia__enqueue(queue, item, NULL);
  wia__release_point(point);
  end_wait(item, status, NULL);
  return status;
}

/* Free pieces that other work in flight uses: the queue, or without one the caller, waits for it. */
static wia__piece_t *gather(wia__memory_pool_t *pool, uint64_t size, uint64_t alignment,
                            wia__queue_t *queue, wia_status_t *out_status) {
  wia__lock_pool(pool);
  wia__piece_t *piece = wia__heap_gather(&pool->heap, size, alignment);
  wia__unlock_pool(pool);
  *out_status = WIA_STATUS_OK;
  if (!piece) return NULL;
  for (uint32_t i = 0; i < piece->mark_count && !*out_status; i++) {
    const wia__mark_t *mark = &piece->marks[i];
    if (mark->queue == queue || wia__is_done(mark->queue, mark->sequence)) continue;
    *out_status = queue ? enqueue_wait(queue, mark) : wia__await_end(mark);
  }
  wia__lock_pool(pool);
  if (*out_status) {
    wia__heap_give(&pool->heap, piece);
  } else {
    pool->wait_count++;
    pool->hit_count++;
  }
  wia__unlock_pool(pool);
  return *out_status ? NULL : piece;
}

static wia_status_t find_piece(wia__memory_pool_t *pool, uint64_t size, uint64_t alignment,
                               wia__queue_t *queue, wia__piece_t **out_piece) {
  wia_status_t status = WIA_STATUS_OK;
  if ((*out_piece = take(pool, size, alignment, queue, false))) return status;
  if (atomic_load_explicit(&wia__retired_count, memory_order_relaxed)) wia__collect();
  if ((*out_piece = take(pool, size, alignment, queue, true))) return status;
  if ((*out_piece = grow(pool, size, alignment, false, &status))) return WIA_STATUS_OK;
  if (status && status != WIA_STATUS_RESOURCE_EXHAUSTED) return status;
  wia_status_t waited = WIA_STATUS_OK;
  if ((*out_piece = gather(pool, size, alignment, queue, &waited))) return WIA_STATUS_OK;
  if (queue && waited) return waited;
  await_all(pool);
  wia__trim_pool(pool, 0);
  if ((*out_piece = grow(pool, size, alignment, true, &status))) return WIA_STATUS_OK;
  return !status || status == WIA_STATUS_RESOURCE_EXHAUSTED ? refuse(pool, size, status) : status;
}

/* Of a kind or in a mode without a pool: the driver's own allocation, within the limit. */
static wia_status_t get_alone(wia__memory_pool_t *pool, wia__allocation_t *allocation,
                              const wia_memory_request_t *request) {
  const uint64_t size = allocation->size;
  if (!reserve(pool, size)) {
    wia__trim_pool(pool, 0);
    if (!reserve(pool, size)) return refuse(pool, size, WIA_STATUS_OK);
  }
  const wia_status_t status =
      get_memory(pool, request, true, &allocation->source, &allocation->memory);
  if (status) unreserve(pool, size);
  return status;
}

wia_status_t wia__get_from_pool(wia__memory_pool_t *pool, wia__allocation_t *allocation,
                                const wia_memory_request_t *request, wia__queue_t *queue) {
  wia__thread_t *self = wia__thread();
  wia__piece_t *piece = NULL;
  wia_status_t status;
  wia__lock_pool(pool);
  const bool off = pool->off;
  wia__unlock_pool(pool);
  uint64_t size = allocation->size;
  wia__leave(self);
  if (off || allocation->kind != WIA_MEMORY_DEVICE) {
    status = get_alone(pool, allocation, request);
  } else {
    uint64_t alignment = request->alignment;
    if (alignment < WIA__HEAP_GRANULE) alignment = WIA__HEAP_GRANULE;
    status = find_piece(pool, wia__heap_round(size), alignment, queue, &piece);
  }
  wia__rejoin(self);
  if (status) return status;
  if (piece) {
    size = piece->size;
    piece->requested = allocation->size;
    allocation->memory = (wia_operand_t){
        .address = wia__piece_address(piece),
        .memory = piece->segment->memory.memory,
        .offset = piece->segment->memory.offset + piece->offset,
    };
    wia__unpoison(pool->device, allocation->memory.address, allocation->size);
    allocation->piece = piece;
    allocation->marks = piece->marks;
    allocation->pending = allocation->mark_capacity = piece->mark_count;
    for (uint32_t i = 0; i < piece->mark_count; i++) piece->marks[i].inherited = true;
    piece->marks = NULL;
    piece->mark_count = 0;
  }
  wia__retain(&pool->object);
  allocation->pool = pool;
  wia__lock_pool(pool);
  count_used(pool, size, allocation->size);
  wia__unlock_pool(pool);
  return WIA_STATUS_OK;
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
