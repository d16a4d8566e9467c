/* pools.c: settings and statistics of pools, and allocators that come and go while others use them. */
#include "calls.h"

enum { LARGEST_LIMIT = 1 << 20, ARENAS = 4 };

static _Atomic(void *) arenas[ARENAS]; /* whose parts nobody has; freed by whoever takes one out */

/* -- allocators ---------------------------------------------------------------------------------- */

typedef struct allocator_t {
  bool scarce; /* has no memory every few times */
  _Atomic uint32_t asked;
} allocator_t;

static void *give(void *context, const wia_memory_request_t *request) {
  allocator_t *allocator = context;
  wia_memory_config_t config = WIA_MEMORY_CONFIG_INIT;
  void *memory = NULL;
  if (allocator->scarce && atomic_fetch_add(&allocator->asked, 1) % 5 == 4) return NULL;
  config.kind = request->kind;
  config.alignment = request->alignment;
  return wia_allocate_arena(&memory, request->size, request->device_id, &config) ? NULL : memory;
}

static void take(void *context, void *memory, const wia_memory_request_t *request) {
  (void)context;
  (void)request;
  if (wia_free_arena(memory)) abort(); /* it comes back once, and as it was given */
}

static void release(void *context) {
  free(context); /* who still calls it shows under the address sanitizer */
  atomic_fetch_add(&calls_kept, 1);
}

/* For a context, NULL: for a device; none, or a new one. */
static wia_status_t set_allocator(calls_thread_t *t, wia_context_t *context, int32_t device_id,
                                  bool scarce) {
  wia_allocator_t given = WIA_ALLOCATOR_INIT;
  if (fuzz_one_in(&t->random, 3))
    return context ? wia_set_allocator(context, NULL) : wia_set_device_allocator(device_id, NULL);
  allocator_t *allocator = calloc(1, sizeof *allocator);
  if (!allocator) abort();
  allocator->scarce = scarce;
  given.allocate = give;
  given.free = take;
  given.release = release;
  given.context = allocator;
  given.kinds = fuzz_below(&t->random, 8) << WIA_MEMORY_DEVICE;
  atomic_fetch_add(&calls_promised, 1); /* before another thread can take it off */
  const wia_status_t status =
      context ? wia_set_allocator(context, &given) : wia_set_device_allocator(device_id, &given);
  if (status) {
    atomic_fetch_sub(&calls_promised, 1);
    free(allocator);
  }
  return status;
}

static wia_status_t use_arena(calls_thread_t *t, int32_t device_id) {
  void *arena = NULL;
  _Atomic(void *) *place = &arenas[fuzz_below(&t->random, ARENAS)];
  const wia_status_t status =
      wia_allocate_arena(&arena, fuzz_below(&t->random, 4000), device_id, NULL);
  if (status) return status;
  arena = atomic_exchange(place, arena);
  if (arena && wia_free_arena((void *)((uintptr_t)arena + 8)) != WIA_STATUS_INVALID_ARGUMENT)
    calls_wrong(t, "an arena is freed by its start only", WIA_STATUS_OK);
  return wia_free_arena(arena);
}

/* -- pools --------------------------------------------------------------------------------------- */

static wia_status_t ask(calls_thread_t *t, wia_context_t *context, bool alone) {
  wia_memory_pool_info_t info = WIA_MEMORY_POOL_INFO_INIT;
  const wia_status_t status = wia_get_memory_pool_info(context, &info);
  if (status) return status;
  bool good = info.requested_size <= info.used_size && info.largest_free_size <= info.free_size &&
              info.used_size <= info.peak_used_size && info.fragmentation <= 100 &&
              info.pending_size <= info.free_size;
  if (alone) good = good && info.used_size + info.free_size == info.reserved_size;
  if (!good) calls_wrong(t, "the figures of a pool fit each other", status);
  return status;
}

static wia_status_t configure(calls_thread_t *t, wia_context_t *context, uint64_t least_limit) {
  wia_memory_pool_config_t config = WIA_MEMORY_POOL_CONFIG_INIT;
  config.mode = (int32_t)fuzz_below(&t->random, 3);
  if (fuzz_one_in(&t->random, 2))
    config.limit_size = least_limit + fuzz_below(&t->random, LARGEST_LIMIT);
  if (fuzz_one_in(&t->random, 2)) config.keep_size = fuzz_below(&t->random, LARGEST_LIMIT);
  return wia_configure_memory_pool(context, &config);
}

wia_status_t pools_call(calls_thread_t *t, wia_context_t *context, uint64_t least_limit) {
  const bool alone = least_limit > 0; /* else others use the context meanwhile */
  uint64_t size = 0;
  switch (fuzz_below(&t->random, 6)) {
  case 0:
    return configure(t, context, least_limit);
  case 1:
    return wia_trim_memory_pool(context, fuzz_below(&t->random, LARGEST_LIMIT), &size);
  case 2:
    return wia_reset_memory_peaks(context);
  case 3: /* NULL would be a device's */
    return context ? set_allocator(t, context, 0, !alone) : WIA_STATUS_OK;
  default:
    return ask(t, context, alone);
  }
}

wia_status_t pools_device_call(calls_thread_t *t) {
  const int32_t device_id = core_id(fuzz_below(&t->random, CORE_ALL_COUNT));
  return fuzz_one_in(&t->random, 3) ? set_allocator(t, NULL, device_id, true)
                                    : use_arena(t, device_id);
}

void pools_end(void) {
  for (uint32_t i = 0; i < CORE_ALL_COUNT; i++)
    CHECK_STATUS(wia_set_device_allocator(core_id(i), NULL), WIA_STATUS_OK);
  for (uint32_t i = 0; i < ARENAS; i++)
    CHECK_STATUS(wia_free_arena(atomic_exchange(&arenas[i], NULL)), WIA_STATUS_OK);
}
