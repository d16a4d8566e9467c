/* base_memory.c: memory of a device that is another driver's, see bridge.h. */
#include "bridge.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STAGING_SIZE = 1 << 16 }; /* a multiple of every pattern */

/* -- the limit: what is allocated, by its address, since free isn't told the size ------------------ */

enum { BUCKETS = 1024 };

typedef struct block_t {
  const wia__base_t *base;
  uint64_t key, size;
  struct block_t *next;
} block_t;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the blocks, live sizes and links */
static block_t *blocks[BUCKETS];

/* Bases without addresses have handles. */
static uint64_t key_of(const wia_operand_t *memory) {
  return memory->address ? memory->address : (uint64_t)(uintptr_t)memory->memory;
}

static block_t **place_of(uint64_t key) { return &blocks[(key >> 6) % BUCKETS]; }

/* Counts the size against the limit; false: there is no room. */
static bool take_size(wia__base_t *base, uint64_t size, uint64_t *out_live) {
  pthread_mutex_lock(&mutex);
  *out_live = base->live_size;
  const bool fits = size <= base->limit && base->live_size <= base->limit - size;
  if (fits) base->live_size += size;
  pthread_mutex_unlock(&mutex);
  return fits;
}

static void give_size(wia__base_t *base, uint64_t size) {
  pthread_mutex_lock(&mutex);
  base->live_size -= size;
  pthread_mutex_unlock(&mutex);
}

static wia_status_t fail_full(const wia__base_t *base, uint64_t size, uint64_t live,
                              wia_error_t *out_error) {
  snprintf(out_error->message, sizeof out_error->message,
           "%llu bytes are wanted; of the %llu that this device is limited to, %llu are in use and "
           "%llu free",
           (unsigned long long)size, (unsigned long long)base->limit, (unsigned long long)live,
           (unsigned long long)(base->limit - live));
  return WIA_STATUS_RESOURCE_EXHAUSTED;
}

static void add_block(block_t *block, const wia__base_t *base, const wia_operand_t *memory,
                      uint64_t size) {
  *block = (block_t){.base = base, .key = key_of(memory), .size = size};
  pthread_mutex_lock(&mutex);
  block_t **place = place_of(block->key);
  block->next = *place;
  *place = block;
  pthread_mutex_unlock(&mutex);
}

static uint64_t drop_block(const wia__base_t *base, const wia_operand_t *memory) {
  const uint64_t key = key_of(memory);
  pthread_mutex_lock(&mutex);
  block_t **link = place_of(key), *block = NULL;
  while (*link && ((*link)->base != base || (*link)->key != key)) link = &(*link)->next;
  if ((block = *link)) *link = block->next;
  pthread_mutex_unlock(&mutex);
  const uint64_t size = block ? block->size : 0;
  free(block);
  return size;
}

/* -- entries ------------------------------------------------------------------------------------- */

wia_status_t wia__base_get_memory_kind(wia_driver_device_t device, uint32_t index,
                                       wia_memory_kind_info_t *out_info, wia_error_t *out_error) {
  wia__base_t *base = wia__base_of(device);
  const wia_status_t status =
      base->driver->get_memory_kind(base->device, index, out_info, out_error);
  if (status != WIA_STATUS_OK || !base->limit || out_info->kind != WIA_MEMORY_DEVICE) return status;
  pthread_mutex_lock(&mutex);
  const uint64_t left = base->limit - base->live_size;
  pthread_mutex_unlock(&mutex);
  if (!out_info->total_size || out_info->total_size > base->limit)
    out_info->total_size = base->limit;
  if (!out_info->free_size || out_info->free_size > left) out_info->free_size = left;
  return status;
}

wia_status_t wia__base_allocate(wia_driver_device_t device, int32_t kind, uint64_t size,
                                uint64_t alignment, wia_operand_t *out_memory,
                                wia_error_t *out_error) {
  wia__base_t *base = wia__base_of(device);
  if (alignment < base->alignment) alignment = base->alignment;
  if (!base->limit || kind != WIA_MEMORY_DEVICE)
    return base->driver->allocate(base->device, kind, size, alignment, out_memory, out_error);
  uint64_t live = 0;
  if (!take_size(base, size, &live)) return fail_full(base, size, live, out_error);
  block_t *block = malloc(sizeof *block);
  wia_status_t status = WIA_STATUS_RESOURCE_EXHAUSTED;
  if (block)
    status = base->driver->allocate(base->device, kind, size, alignment, out_memory, out_error);
  else
    snprintf(out_error->message, sizeof out_error->message, "The host has no memory left.");
  if (status == WIA_STATUS_OK) {
    add_block(block, base, out_memory, size);
  } else {
    free(block);
    give_size(base, size);
  }
  return status;
}

void wia__base_free(wia_driver_device_t device, const wia_operand_t *memory) {
  wia__base_t *base = wia__base_of(device);
  const uint64_t size = base->limit ? drop_block(base, memory) : 0;
  base->driver->free(base->device, memory);
  if (size) give_size(base, size);
}

wia_status_t wia__base_copy(wia_driver_device_t device, const wia_copy_t *copies, uint32_t count,
                            wia_error_t *out_error) {
  const wia__base_t *base = wia__base_of(device);
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
  const wia__base_t *base = wia__base_of(device);
  if (!base->driver->fill)
    return fill_by_copies(base, *target, size, pattern, pattern_size, out_error);
  return base->driver->fill(base->device, target, size, pattern, pattern_size, out_error);
}

/* -- links --------------------------------------------------------------------------------------- */

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void sleep_until(int64_t end_ns) {
  const struct timespec end = {.tv_sec = end_ns / INT64_C(1000000000),
                               .tv_nsec = end_ns % INT64_C(1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) != 0) {
  }
}

/* Books the link, which carries one copy after the other; returns when the last byte arrives. */
static int64_t book_link(wia__base_t *base, uint64_t peer, uint64_t size, int64_t now) {
  enum { LONGEST_S = 1000000000 };
  double carry_ns = base->bandwidth > 0 ? (double)size / base->bandwidth * 1e9 : 0;
  double late_ns = base->latency_ns > 0 ? base->latency_ns : 0;
  if (carry_ns > LONGEST_S * 1e9) carry_ns = LONGEST_S * 1e9;
  if (late_ns > LONGEST_S * 1e9) late_ns = LONGEST_S * 1e9;
  pthread_mutex_lock(&mutex);
  int64_t *free_ns = &base->free_ns[peer % WIA__BASE_PEERS];
  if (*free_ns < now) *free_ns = now;
  *free_ns += (int64_t)carry_ns;
  const int64_t end = *free_ns + (int64_t)late_ns;
  pthread_mutex_unlock(&mutex);
  return end;
}

wia_status_t wia__base_copy_to_peer(wia_driver_device_t device, wia_driver_device_t peer,
                                    const wia_copy_t *copies, uint32_t count,
                                    wia_error_t *out_error) {
  wia__base_t *from = wia__base_of(device);
  const wia__base_t *to = wia__base_of(peer);
  if (from->driver != to->driver) return WIA_STATUS_UNIMPLEMENTED;
  uint64_t size = 0;
  for (uint32_t i = 0; i < count; i++) size += copies[i].size;
  wia_status_t status = WIA_STATUS_UNIMPLEMENTED;
  const int64_t start = now_ns();
  if (from->device == to->device)
    status = from->driver->copy(from->device, copies, count, out_error);
  else if (from->driver->copy_to_peer)
    status = from->driver->copy_to_peer(from->device, to->device, copies, count, out_error);
  if (status != WIA_STATUS_OK) return status;
  const int64_t end = book_link(from, to->index, size, start);
  if (end > start) sleep_until(end);
  return status;
}
