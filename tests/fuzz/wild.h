/* wild.h: what the parts of wild.c share: the places, and what calls are made of. */
#ifndef WILD_H
#define WILD_H

#include "calls.h"
#include "groups.h"

enum { PLACES = 6, RANKS = 12, HOST_SIZE = 4096, MEMORY_LIMIT = 1 << 20 };

/* What is in a place may be destroyed, by any thread and at any time. */
typedef _Atomic(void *) place_t;
typedef struct places_t {
  place_t contexts[CORE_ALL_COUNT], tensors[PLACES * 2], streams[PLACES], events[PLACES],
      plans[PLACES], memories[PLACES];
} places_t;
extern places_t places;
enum { ALL_PLACES = sizeof places / sizeof(place_t) };

static inline uint32_t below(calls_thread_t *t, uint32_t bound) {
  return fuzz_below(&t->random, bound);
}
static inline bool one_in(calls_thread_t *t, uint32_t count) {
  return fuzz_one_in(&t->random, count);
}
static inline uint64_t bits(calls_thread_t *t) { return fuzz_bits(&t->random); }

/* Mostly one of the list; else what belongs elsewhere, NULL, or anything. */
static inline void *pick(calls_thread_t *t, place_t *list, uint32_t count) {
  if (one_in(t, 80)) return atomic_load(&((place_t *)&places)[below(t, ALL_PLACES)]);
  if (one_in(t, 80)) return (void *)(uintptr_t)bits(t);
  if (one_in(t, 80)) return NULL;
  return atomic_load(&list[below(t, count)]);
}
#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))
#define PICK(list) pick(t, places.list, COUNT_OF(places.list))
#define PLACE(list) (&places.list[below(t, COUNT_OF(places.list))])

static inline wia_stream_t *pick_stream(calls_thread_t *t) {
  return one_in(t, 2) ? NULL : PICK(streams);
}

static inline int64_t pick_number(calls_thread_t *t) {
  static const int64_t odd[] = {INT64_MIN,        INT64_MAX,     -1, 0, INT64_C(1) << 32,
                                INT64_C(1) << 62, INT64_MAX / 4, -64};
  return one_in(t, 40) ? odd[below(t, 8)] : (int64_t)below(t, 5);
}

static inline uint32_t pick_shape(calls_thread_t *t, int64_t *shape, int64_t *strides) {
  const uint32_t rank = one_in(t, 60) ? below(t, RANKS) : below(t, 4);
  for (uint32_t i = 0; i < rank; i++) {
    shape[i] = pick_number(t);
    strides[i] = one_in(t, 4) ? -(int64_t)below(t, 3) : pick_number(t);
  }
  if (one_in(t, 3)) shape[0] = 8; /* what plans and groups of the case are for */
  return rank;
}

static inline wia_dtype_t pick_dtype(calls_thread_t *t) {
  if (one_in(t, 60)) return (wia_dtype_t)bits(t);
  return one_in(t, 5) ? (wia_dtype_t)below(t, WIA_DTYPE_COUNT + 2) : WIA_FLOAT32;
}

static inline uint64_t pick_size(calls_thread_t *t) {
  if (one_in(t, 40)) return bits(t) >> below(t, 64);
  return one_in(t, 3) ? below(t, 300) : 4 * (uint64_t)below(t, 64);
}

/* Near the start of an allocation, or anywhere. */
static inline void *pick_address(calls_thread_t *t) {
  if (one_in(t, 80)) return (void *)(uintptr_t)bits(t);
  const uint64_t base = (uint64_t)(uintptr_t)atomic_load(PLACE(memories));
  return (void *)(uintptr_t)(base + (one_in(t, 3) ? (uint64_t)below(t, 300) - 20 : 0));
}

/* Host memory is not checked, so this is always good for sizes that are. */
static inline uint64_t pick_host_size(calls_thread_t *t) {
  const uint64_t size = pick_size(t);
  return size > HOST_SIZE ? HOST_SIZE : size;
}

wia_status_t wild_make(calls_thread_t *t);    /* wild_make.c */
wia_status_t wild_destroy(calls_thread_t *t); /* the place keeps what is now stale */
wia_status_t wild_order(calls_thread_t *t);   /* wild_order.c */

#endif
