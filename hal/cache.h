/* cache.h: the prepared kernels of a device, found by key. */
#ifndef WIA__CACHE_H
#define WIA__CACHE_H

#include "plan.h"

enum { WIA__CACHE_FRONT = 1024, WIA__CACHE_KERNELS = 256 };

/* In front a table that is read without a lock, one plan a place; behind it a map of all plans with
 * a bound, from which the one that was not used for longest (by a clock hand) goes. */
struct wia__cache_t {
  _Atomic(wia__plan_t *) front[WIA__CACHE_FRONT];
  pthread_mutex_t mutex;
  pthread_cond_t prepared;
  wia__plan_t **buckets;
  wia__plan_t **entries;                      /* all plans, in no order, for the clock */
  wia__kernel_t *kernels[WIA__CACHE_KERNELS]; /* those for any shape, by class: see kernel.h */
  uint64_t bucket_count, entry_count, capacity, hand;
  uint64_t misses, evictions;
  uint32_t
      counter; /* in wia__thread_t.hits; WIA__HIT_COUNTERS: none is left, so shared_hits counts */
  _Atomic uint64_t shared_hits;
};

/* NULL: no memory. */
wia__cache_t *wia__create_cache(void);

static inline bool wia__is_key(const wia__key_t *a, const wia__key_t *b) {
  if (a->hash != b->hash || a->count != b->count) return false;
  for (uint32_t i = 0; i < a->count; i++) {
    if (a->words[i] != b->words[i]) return false;
  }
  return true;
}

/* Drops all plans. Those that are being prepared stay, and so does what calls and handles use. */
void wia__clear_cache(wia__cache_t *cache);

/* The plan in front that may be the one of this hash, or NULL: good until wia__exit. */
static inline wia__plan_t *wia__front_plan(wia__cache_t *cache, uint64_t hash) {
  return atomic_load_explicit(&cache->front[hash % WIA__CACHE_FRONT], memory_order_acquire);
}

/* Not for the call that had the plan prepared: so plans that serve one call go before those that
 * serve many. */
static inline void wia__count_hit(wia__cache_t *cache, wia__thread_t *self, wia__plan_t *plan) {
  if (!atomic_load_explicit(&plan->used, memory_order_relaxed))
    atomic_store_explicit(&plan->used, 1, memory_order_relaxed);
  if (__builtin_expect(cache->counter == WIA__HIT_COUNTERS, 0)) {
    atomic_fetch_add_explicit(&cache->shared_hits, 1, memory_order_relaxed);
    return;
  }
  _Atomic uint64_t *hits = &self->hits[cache->counter];
  atomic_store_explicit(hits, atomic_load_explicit(hits, memory_order_relaxed) + 1,
                        memory_order_relaxed);
}

/* The plan of a key with a reference, prepared by this thread or, if another is at it, by that one;
 * the epoch is left meanwhile. Fails with the refusal. */
wia_status_t wia__obtain_plan(wia__device_t *device, const wia__key_t *key, const wia__op_t *op,
                              const wia_tensor_layout_t *const *layouts, const wia_scalar_t *words,
                              uint64_t aliases, wia__plan_t **out_plan);

#endif
