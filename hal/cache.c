/* cache.c: the map of prepared kernels: one preparation a key, a bound, a clock. */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

#include "env.h"
#include "kernel.h"
#include "log.h"
#include "platform.h"
#include "slots.h"
#include "supply.h"

static _Atomic uint32_t counter_count;

wia__cache_t *wia__create_cache(void) {
  wia__cache_t *cache = calloc(1, sizeof *cache);
  if (!cache) return NULL;
  cache->capacity = (uint64_t)wia__env_number(WIA__ENV_PLAN_CACHE_SIZE);
  cache->bucket_count = 16;
  while (cache->bucket_count < 2 * cache->capacity) cache->bucket_count *= 2;
  cache->buckets = calloc(cache->bucket_count, sizeof *cache->buckets);
  cache->entries = calloc(cache->capacity, sizeof *cache->entries);
  if (!cache->buckets || !cache->entries || wia__init_condition(&cache->prepared) != 0) {
    free(cache->buckets);
    free(cache->entries);
    free(cache);
    return NULL;
  }
  pthread_mutex_init(&cache->mutex, NULL);
  const uint32_t counter = atomic_fetch_add(&counter_count, 1);
  cache->counter = counter < WIA__HIT_COUNTERS ? counter : WIA__HIT_COUNTERS;
  return cache;
}

/* -- the map: all under the cache's mutex -------------------------------------------------------- */

static wia__plan_t **bucket_of(wia__cache_t *cache, const wia__key_t *key) {
  return &cache->buckets[key->hash & (cache->bucket_count - 1)];
}

static wia__plan_t *find(wia__cache_t *cache, const wia__key_t *key) {
  wia__plan_t *plan = *bucket_of(cache, key);
  while (plan && !wia__is_key(&plan->key, key)) plan = plan->next_in_bucket;
  return plan;
}

static void unlink_plan(wia__cache_t *cache, wia__plan_t *plan) {
  wia__plan_t **link = bucket_of(cache, &plan->key);
  while (*link != plan) link = &(*link)->next_in_bucket;
  *link = plan->next_in_bucket;
  wia__plan_t *last = cache->entries[--cache->entry_count];
  cache->entries[plan->position] = last;
  last->position = plan->position;
  wia__plan_t *expected = plan;
  atomic_compare_exchange_strong(&cache->front[plan->key.hash % WIA__CACHE_FRONT], &expected, NULL);
}

/* Makes room for one entry: the victim, which the caller releases outside the mutex. Plans that are
 * being prepared stay; if all are, the cache grows beyond none: the newcomer is not kept. The hand
 * stands behind the place that is free now, so that its next plan is the last to be looked at. */
static wia__plan_t *evict(wia__cache_t *cache, uint64_t *out_place) {
  for (uint64_t looked = 0; looked < 2 * cache->entry_count; looked++) {
    if (cache->hand >= cache->entry_count) cache->hand = 0;
    wia__plan_t *plan = cache->entries[cache->hand++];
    if (plan->preparing || atomic_exchange_explicit(&plan->used, 0, memory_order_relaxed)) continue;
    *out_place = plan->position;
    unlink_plan(cache, plan);
    cache->evictions++;
    return plan;
  }
  return NULL;
}

/* Takes a reference to the plan. place: where it goes among the entries, at most their number. False:
 * no room. */
static bool insert(wia__cache_t *cache, wia__plan_t *plan, uint64_t place) {
  if (cache->entry_count == cache->capacity) return false;
  wia__retain(&plan->object);
  wia__plan_t **bucket = bucket_of(cache, &plan->key);
  plan->next_in_bucket = *bucket;
  *bucket = plan;
  if (place < cache->entry_count) {
    wia__plan_t *moved = cache->entries[place];
    moved->position = cache->entry_count;
    cache->entries[moved->position] = moved;
  }
  plan->position = place;
  cache->entries[place] = plan;
  cache->entry_count++;
  return true;
}

static void put_in_front(wia__cache_t *cache, wia__plan_t *plan) {
  if (plan->refusal.status == WIA_STATUS_OK)
    atomic_store_explicit(&cache->front[plan->key.hash % WIA__CACHE_FRONT], plan,
                          memory_order_release);
}

void wia__clear_cache(wia__cache_t *cache) {
  uint64_t at = 0;
  for (wia__plan_t *plan; true; wia__release(&plan->object)) {
    pthread_mutex_lock(&cache->mutex);
    while (at < cache->entry_count && cache->entries[at]->preparing) at++;
    plan = at < cache->entry_count ? cache->entries[at] : NULL;
    if (plan) unlink_plan(cache, plan);
    pthread_mutex_unlock(&cache->mutex);
    if (!plan) return;
  }
}

/* -- obtain -------------------------------------------------------------------------------------- */

/* Whether asking again may give another answer, so that a refusal is not kept. */
static bool is_lasting(wia_status_t status) {
  return status == WIA_STATUS_OK || status == WIA_STATUS_UNIMPLEMENTED ||
         status == WIA_STATUS_INVALID_ARGUMENT;
}

/* Waits, under the mutex and outside the epoch, until another thread has prepared the plan. */
static void await_preparation(wia__cache_t *cache, wia__plan_t *plan) {
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  while (plan->preparing) wia__wait_condition(&cache->prepared, &cache->mutex, -1);
  pthread_mutex_unlock(&cache->mutex);
  wia__rejoin(self);
  pthread_mutex_lock(&cache->mutex);
}

static wia_status_t finish(wia__cache_t *cache, wia__plan_t *plan, bool kept, wia_status_t status) {
  pthread_mutex_lock(&cache->mutex);
  plan->preparing = 0;
  bool dropped = false;
  if (kept && is_lasting(status) && !plan->outdated) {
    put_in_front(cache, plan);
  } else if (kept) {
    if (plan->outdated && plan->shared) plan->shared->class.count = 0; /* is found no more */
    unlink_plan(cache, plan);
    dropped = true;
  }
  pthread_cond_broadcast(&cache->prepared);
  pthread_mutex_unlock(&cache->mutex);
  if (dropped) wia__release(&plan->object);
  return status;
}

wia_status_t wia__obtain_plan(wia__device_t *device, const wia__key_t *key, const wia__op_t *op,
                              const wia_tensor_layout_t *const *layouts, const wia_scalar_t *words,
                              uint64_t aliases, wia__plan_t **out_plan) {
  wia__cache_t *cache = device->cache;
  pthread_mutex_lock(&cache->mutex);
  wia__plan_t *plan = find(cache, key), *victim = NULL;
  bool kept = false, mine = false;
  if (plan) {
    wia__retain(&plan->object);
    if (plan->preparing) {
      cache->misses++;
      await_preparation(cache, plan);
    } else {
      put_in_front(cache, plan);
      wia__count_hit(cache, wia__thread(), plan);
    }
  } else {
    cache->misses++;
    plan = wia__create_plan(device, op->name, layouts, op->max_input_count, op->output_count,
                            op->scalar_count, aliases);
    if (plan) {
      mine = true;
      memcpy(&plan->key, key, sizeof *key);
      plan->preparing = 1;
      uint64_t place = cache->entry_count;
      if (place == cache->capacity) victim = evict(cache, &place);
      kept = insert(cache, plan, place);
    }
  }
  pthread_mutex_unlock(&cache->mutex);
  if (victim) {
    wia__log(WIA__LOG_PLAN, WIA_LOG_DEBUG, device->driver->name,
             "%s on %s: evicted; the cache holds %llu", victim->name, device->name,
             (unsigned long long)cache->capacity);
    wia__release(&victim->object);
  }
  if (!plan) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a plan");

  wia_status_t status = WIA_STATUS_OK;
  if (mine)
    status = finish(cache, plan, kept, wia__prepare_operation(plan, op, words));
  else if (plan->refusal.status)
    status = wia__restore_failure(&plan->refusal);
  if (status)
    wia__release(&plan->object);
  else
    *out_plan = plan;
  return status;
}

/* -- other kernels ------------------------------------------------------------------------------- */

static bool is_of(const wia__key_t *key, wia_op_t op) { return key->words[0] == (uint64_t)op; }

/* Takes the plans of an operation out, up to so many, for the caller to release. */
static uint32_t take_plans(wia__cache_t *cache, wia_op_t op, wia__plan_t **out_plans,
                           uint32_t capacity) {
  uint32_t count = 0;
  for (uint64_t i = cache->entry_count; i-- > 0 && count < capacity;) {
    wia__plan_t *plan = cache->entries[i];
    if (!is_of(&plan->key, op)) continue;
    if (plan->preparing) {
      plan->outdated = 1;
    } else {
      unlink_plan(cache, plan);
      out_plans[count++] = plan;
    }
  }
  return count;
}

static void forget_op(wia__cache_t *cache, wia_op_t op) {
  enum { SOME = 64 };
  wia__plan_t *plans[SOME];
  uint32_t count;
  do {
    pthread_mutex_lock(&cache->mutex);
    count = take_plans(cache, op, plans, SOME);
    for (uint32_t i = 0; i < WIA__CACHE_KERNELS; i++)
      for (wia__kernel_t *kernel = cache->kernels[i]; kernel; kernel = kernel->next)
        if (kernel->class.words[0] == (uint64_t)op) kernel->class.count = 0; /* is found no more */
    pthread_mutex_unlock(&cache->mutex);
    for (uint32_t i = 0; i < count; i++) wia__release(&plans[i]->object);
  } while (count == SOME);
}

void wia__forget_op(wia_op_t op) {
  const wia__slot_t *slot;
  for (int32_t number = 0; (slot = wia__get_slot(number)) != NULL; number++)
    for (uint32_t i = 0; i < WIA__MAX_DEVICES; i++) {
      wia__device_t *device = atomic_load_explicit(&slot->devices[i], memory_order_acquire);
      if (device) forget_op(device->cache, op);
    }
}

/* -- statistics ---------------------------------------------------------------------------------- */

static wia_status_t get_plan_cache_stats(int32_t device_id, wia_plan_cache_stats_t *out_stats) {
  wia_status_t status = wia__check_out(out_stats, sizeof *out_stats, "WIA_PLAN_CACHE_STATS_INIT");
  wia__device_t *device = NULL;
  if (!status) status = wia__get_device(device_id, &device);
  if (status) return status;
  wia__cache_t *cache = device->cache;
  const uint64_t hits = cache->counter == WIA__HIT_COUNTERS ? atomic_load(&cache->shared_hits)
                                                            : wia__sum_hits(cache->counter);
  pthread_mutex_lock(&cache->mutex);
  const wia_plan_cache_stats_t stats = {.entry_count = cache->entry_count,
                                        .capacity = cache->capacity,
                                        .hit_count = hits,
                                        .miss_count = cache->misses,
                                        .eviction_count = cache->evictions};
  pthread_mutex_unlock(&cache->mutex);
  wia__write_struct(out_stats, &stats, sizeof stats);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_plan_cache_stats(int32_t device_id,
                                              wia_plan_cache_stats_t *out_stats) {
  WIA__CALL(get_plan_cache_stats(device_id, out_stats));
}
