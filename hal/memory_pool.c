/* memory_pool.c: allocation from a context's pool. */
#include "memory_pool.h"

#include <stdio.h>
#include <stdlib.h>

#include "poison.h"
#include "stream.h"

/* What is looked for: bytes, rounded from what was asked for, and whose work is to use them. */
typedef struct want_t {
  uint64_t requested, size, alignment;
  wia__queue_t *queue;
} want_t;

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

/* Under the mutex: the caller has that many bytes, of which it asked for some. */
static void count_used(wia__memory_pool_t *pool, uint64_t size, uint64_t requested) {
  pool->used += size;
  pool->requested += requested;
  pool->used_count++;
  if (pool->used > pool->peak_used) pool->peak_used = pool->used;
  if (pool->reserved > pool->peak_reserved) pool->peak_reserved = pool->reserved;
}

static void count_piece(wia__memory_pool_t *pool, wia__piece_t *piece, uint64_t requested) {
  piece->requested = requested;
  count_used(pool, piece->size, requested);
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
static wia__piece_t *grow_by(wia__memory_pool_t *pool, uint64_t segment_size, const want_t *want,
                             bool urgent, wia_status_t *out_status) {
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
                                        .alignment = want->alignment};
  segment->device = pool->device;
  segment->size = segment_size;
  segment->small = want->size <= WIA__HEAP_SMALL;
  *out_status = get_memory(pool, &request, urgent, &segment->source, &segment->memory);
  wia__piece_t *piece = NULL;
  if (!*out_status) {
    wia__lock_pool(pool);
    piece = wia__heap_add(&pool->heap, segment);
    if (piece) {
      wia__heap_cut(&pool->heap, piece, want->size);
      count_piece(pool, piece, want->requested);
      pool->miss_count++;
    }
    wia__unlock_pool(pool);
    if (piece) return piece;
    *out_status = wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no host memory is left");
    wia__give_memory_back(pool->device, &segment->source, &segment->memory, segment_size);
  }
  free(segment);
  unreserve(pool, segment_size);
  return NULL;
}

static wia__piece_t *grow(wia__memory_pool_t *pool, const want_t *want, bool urgent,
                          wia_status_t *out_status) {
  const uint64_t size = want->size;
  uint64_t segment_size = WIA__HEAP_SMALL_SEGMENT;
  if (size > WIA__HEAP_LARGE_SEGMENT / 2)
    segment_size = size + (WIA__HEAP_SMALL_SEGMENT - 1) - (size - 1) % WIA__HEAP_SMALL_SEGMENT;
  else if (size > WIA__HEAP_SMALL)
    segment_size = WIA__HEAP_LARGE_SEGMENT;
  wia__piece_t *piece = NULL;
  if (!urgent) piece = grow_by(pool, segment_size, want, false, out_status);
  if (piece || (!urgent && segment_size == size)) return piece;
  return grow_by(pool, size, want, urgent, out_status);
}

static wia__piece_t *take(wia__memory_pool_t *pool, const want_t *want, bool all) {
  wia__lock_pool(pool);
  wia__heap_sweep(&pool->heap, all);
  wia__piece_t *piece = wia__heap_take(&pool->heap, want->queue, want->size, want->alignment);
  if (piece) {
    count_piece(pool, piece, want->requested);
    pool->hit_count++;
  }
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
static wia__piece_t *gather(wia__memory_pool_t *pool, const want_t *want,
                            wia_status_t *out_status) {
  wia__queue_t *queue = want->queue;
  wia__lock_pool(pool);
  wia__piece_t *piece = wia__heap_gather(&pool->heap, want->size, want->alignment);
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
    count_piece(pool, piece, want->requested);
    pool->wait_count++;
    pool->hit_count++;
  }
  wia__unlock_pool(pool);
  return *out_status ? NULL : piece;
}

static wia_status_t find_piece(wia__memory_pool_t *pool, const want_t *want,
                               wia__piece_t **out_piece) {
  wia_status_t status = WIA_STATUS_OK;
  if ((*out_piece = take(pool, want, false))) return status;
  if (atomic_load_explicit(&wia__retired_count, memory_order_relaxed)) wia__collect();
  if ((*out_piece = take(pool, want, true))) return status;
  if ((*out_piece = grow(pool, want, false, &status))) return WIA_STATUS_OK;
  if (status && status != WIA_STATUS_RESOURCE_EXHAUSTED) return status;
  wia_status_t waited = WIA_STATUS_OK;
  if ((*out_piece = gather(pool, want, &waited))) return WIA_STATUS_OK;
  if (want->queue && waited) return waited;
  wia__await_pool(pool);
  wia__trim_pool(pool, 0);
  if ((*out_piece = grow(pool, want, true, &status))) return WIA_STATUS_OK;
  if (status && status != WIA_STATUS_RESOURCE_EXHAUSTED) return status;
  return refuse(pool, want->size, status);
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
  if (status) {
    unreserve(pool, size);
    return status;
  }
  wia__lock_pool(pool);
  count_used(pool, size, size);
  wia__unlock_pool(pool);
  return WIA_STATUS_OK;
}

wia_status_t wia__get_from_pool(wia__memory_pool_t *pool, wia__allocation_t *allocation,
                                const wia_memory_request_t *request, wia__queue_t *queue) {
  wia__thread_t *self = wia__thread();
  wia__piece_t *piece = NULL;
  wia_status_t status;
  wia__leave(self);
  if (atomic_load_explicit(&pool->off, memory_order_relaxed) ||
      allocation->kind != WIA_MEMORY_DEVICE) {
    status = get_alone(pool, allocation, request);
  } else {
    want_t want = {allocation->size, wia__heap_round(allocation->size), request->alignment, queue};
    if (want.alignment < WIA__HEAP_GRANULE) want.alignment = WIA__HEAP_GRANULE;
    status = find_piece(pool, &want, &piece);
  }
  wia__rejoin(self);
  if (status) return status;
  if (piece) {
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
  return WIA_STATUS_OK;
}
