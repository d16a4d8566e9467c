/* range_memory.c: device memory at addresses that the host can't touch, see bridge.h.
 *
 * One mapping holds both halves: the lower one has no access rights, its addresses are given out; the
 * upper one is the backing. Allocation is first fit over the free blocks, in the order of addresses.
 */
#define _DEFAULT_SOURCE
#include "bridge.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A free block in the list of its range, or an allocation. */
typedef struct block_t {
  uint64_t begin, size;
  struct block_t *next;
} block_t;

struct wia__range_t {
  unsigned char *base;
  uint64_t size, free_size;
  block_t *free_blocks;
  pthread_mutex_t mutex;
};

enum { GRANULE = 64 }; /* sizes are multiples of it, so that blocks stay few */

static uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

wia__range_t *wia__reserve_range(uint64_t size) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  if (size == 0 || size > PTRDIFF_MAX / 2 - page) return NULL;
  size = round_up(size, page);
  wia__range_t *range = calloc(1, sizeof *range);
  block_t *block = calloc(1, sizeof *block);
  void *base = MAP_FAILED;
  if (range && block)
    base = mmap(NULL, (size_t)(2 * size), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
  if (base != MAP_FAILED &&
      mprotect((unsigned char *)base + size, (size_t)size, PROT_READ | PROT_WRITE) != 0) {
    munmap(base, (size_t)(2 * size));
    base = MAP_FAILED;
  }
  if (base == MAP_FAILED) {
    free(block);
    free(range);
    return NULL;
  }
  block->size = size;
  *range = (wia__range_t){.base = base, .size = size, .free_size = size, .free_blocks = block};
  pthread_mutex_init(&range->mutex, NULL);
  return range;
}

uint64_t wia__range_distance(const wia__range_t *range) { return range->size; }

static wia__range_t *range_of(wia_driver_device_t device) {
  const wia__python_device_t *opened = (const wia__python_device_t *)(const void *)device;
  return (wia__range_t *)(uintptr_t)opened->state;
}

wia_status_t wia__range_get_memory_kind(wia_driver_device_t device, uint32_t index,
                                        wia_memory_kind_info_t *out_info, wia_error_t *out_error) {
  if (index != 0) {
    snprintf(out_error->message, sizeof out_error->message,
             "Memory kind %u was asked for; this device has one kind, index 0.", index);
    return WIA_STATUS_OUT_OF_RANGE;
  }
  wia__range_t *range = range_of(device);
  out_info->kind = WIA_MEMORY_DEVICE;
  out_info->total_size = range->size;
  pthread_mutex_lock(&range->mutex);
  out_info->free_size = range->free_size;
  pthread_mutex_unlock(&range->mutex);
  return WIA_STATUS_OK;
}

/* Where size bytes would begin in a block, or UINT64_MAX. */
static uint64_t place_in(const wia__range_t *range, const block_t *block, uint64_t size,
                         uint64_t alignment) {
  const uint64_t base = (uint64_t)(uintptr_t)range->base;
  const uint64_t begin = round_up(base + block->begin, alignment) - base;
  const uint64_t end = block->begin + block->size;
  return begin <= end && size <= end - begin ? begin : UINT64_MAX;
}

/* Cuts [begin, begin + size) out of the free block at link. What is left behind it becomes rest,
 * what is left before it stays; returns the struct that isn't needed for either, or NULL. */
static block_t *cut(block_t **link, uint64_t begin, uint64_t size, block_t *rest) {
  block_t *block = *link;
  const uint64_t before = begin - block->begin;
  const uint64_t behind = block->size - before - size;
  if (behind != 0) {
    *rest = (block_t){.begin = begin + size, .size = behind, .next = block->next};
    block->next = rest;
    rest = NULL;
  }
  if (before != 0) {
    block->size = before;
    return rest;
  }
  *link = block->next;
  free(block);
  return rest;
}

wia_status_t wia__range_allocate(wia_driver_device_t device, int32_t kind, uint64_t size,
                                 uint64_t alignment, wia_operand_t *out_memory,
                                 wia_error_t *out_error) {
  if (kind != WIA_MEMORY_DEVICE) {
    snprintf(out_error->message, sizeof out_error->message,
             "Memory kind %d was asked for; this device has only WIA_MEMORY_DEVICE.", (int)kind);
    return WIA_STATUS_UNIMPLEMENTED;
  }
  wia__range_t *range = range_of(device);
  block_t *taken = malloc(sizeof *taken), *rest = malloc(sizeof *rest);
  if (!taken || !rest) {
    free(taken);
    free(rest);
    snprintf(out_error->message, sizeof out_error->message, "The host has no memory left.");
    return WIA_STATUS_RESOURCE_EXHAUSTED;
  }
  const uint64_t rounded = size > range->size ? size : round_up(size, GRANULE);
  uint64_t begin = UINT64_MAX;
  pthread_mutex_lock(&range->mutex);
  for (block_t **link = &range->free_blocks; *link; link = &(*link)->next) {
    begin = place_in(range, *link, rounded, alignment);
    if (begin == UINT64_MAX) continue;
    rest = cut(link, begin, rounded, rest);
    range->free_size -= rounded;
    break;
  }
  const uint64_t free_size = range->free_size;
  pthread_mutex_unlock(&range->mutex);
  free(rest);
  if (begin == UINT64_MAX) {
    free(taken);
    snprintf(out_error->message, sizeof out_error->message,
             "%" PRIu64 " bytes were asked for; %" PRIu64 " of %" PRIu64
             " are free, maybe not in one piece. Free memory or ask for less.",
             size, free_size, range->size);
    return WIA_STATUS_RESOURCE_EXHAUSTED;
  }
  *taken = (block_t){.begin = begin, .size = rounded};
  out_memory->address = (uint64_t)(uintptr_t)(range->base + begin);
  out_memory->memory = (wia_driver_memory_t)(void *)taken;
  return WIA_STATUS_OK;
}

/* Joins a block with the one behind it in the list where they touch. */
static void join(block_t *block) {
  block_t *next = block->next;
  if (!next || block->begin + block->size != next->begin) return;
  block->size += next->size;
  block->next = next->next;
  free(next);
}

void wia__range_free(wia_driver_device_t device, const wia_operand_t *memory) {
  wia__range_t *range = range_of(device);
  block_t *block = (block_t *)(void *)memory->memory;
  pthread_mutex_lock(&range->mutex);
  range->free_size += block->size;
  block_t *before = NULL, *behind = range->free_blocks;
  for (; behind && behind->begin < block->begin; behind = behind->next) before = behind;
  block->next = behind;
  if (before)
    before->next = block;
  else
    range->free_blocks = block;
  join(block);
  if (before) join(before);
  pthread_mutex_unlock(&range->mutex);
}

/* The side of a copy as the host reaches it. */
static unsigned char *backing_of(const wia__range_t *range, const wia_operand_t *side) {
  return (unsigned char *)(uintptr_t)(side->address + (side->memory ? range->size : 0));
}

wia_status_t wia__range_copy(wia_driver_device_t device, const wia_copy_t *copies, uint32_t count,
                             wia_error_t *out_error) {
  (void)out_error;
  const wia__range_t *range = range_of(device);
  for (uint32_t i = 0; i < count; i++)
    memcpy(backing_of(range, &copies[i].destination), backing_of(range, &copies[i].source),
           (size_t)copies[i].size);
  return WIA_STATUS_OK;
}

wia_status_t wia__range_fill(wia_driver_device_t device, const wia_operand_t *target, uint64_t size,
                             const void *pattern, uint32_t pattern_size, wia_error_t *out_error) {
  wia_operand_t backing = *target;
  backing.address += range_of(device)->size;
  return wia__host_fill(device, &backing, size, pattern, pattern_size, out_error);
}
