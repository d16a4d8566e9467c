/* Scenario 14, and what is said of memory: bounds, frees, alignment, statistics, addresses. */
#include <signal.h>

#include "core_driver.h"

static const uint32_t ALL[] = {CORE_PLAIN,  CORE_OTHER, CORE_OPAQUE,
                               CORE_SERIAL, CORE_SPLIT, CORE_BARE};
enum { DEVICES = sizeof ALL / sizeof ALL[0] };

/* -- allocate ------------------------------------------------------------------------------------ */

static void test_sizes(uint32_t device) {
  const int32_t id = core_id(device);
  void *memory = &memory;
  CHECK_STATUS(wia_malloc(&memory, 0, id), WIA_STATUS_OK);
  CHECK(memory == NULL);
  CHECK_STATUS(wia_free(NULL), WIA_STATUS_OK);
  const uint64_t huge[] = {UINT64_C(1) << 62, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX,
                           UINT64_MAX - 63};
  for (uint32_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
    memory = &memory;
    CHECK_STATUS(wia_malloc(&memory, huge[i], id), WIA_STATUS_RESOURCE_EXHAUSTED);
    CHECK(memory == &memory);
  }
  memory = core_allocate(1, device);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
}

static void test_exhaust_and_recover(uint32_t device) {
  enum { SIZE = 1000, COUNT = 10 };
  void *memory[COUNT], *more = NULL;
  const int32_t id = core_id(device);
  const wia_memory_info_t before = core_memory(device);
  core.memory_limit = COUNT * SIZE + SIZE / 2;
  for (uint32_t i = 0; i < COUNT; i++) memory[i] = core_allocate(SIZE, device);
  CHECK_STATUS(wia_malloc(&more, SIZE, id), WIA_STATUS_RESOURCE_EXHAUSTED);
  CHECK(more == NULL);
  CHECK_MESSAGE("1000 bytes");
  CHECK_MESSAGE("10000 bytes in 10 allocations");
  CHECK_MESSAGE("full");
  wia_tensor_t tensor = NULL;
  wia_context_t *context = core_context(device);
  CHECK_STATUS(wia_allocate_tensor(context, (const int64_t[]){1000}, 1, WIA_FLOAT32, &tensor),
               WIA_STATUS_RESOURCE_EXHAUSTED);
  CHECK(tensor == NULL);
  wia_memory_info_t info = core_memory(device);
  CHECK(info.failed_count >= before.failed_count + 2);
  CHECK(info.live_size == COUNT * SIZE && info.live_count == COUNT);
  CHECK(info.total_size == core.memory_limit && info.free_size == SIZE / 2);
  /* each time the place of one that was freed serves at once */
  for (uint32_t round = 0; round < 100; round++) {
    CHECK_STATUS(wia_free(memory[round % COUNT]), WIA_STATUS_OK);
    memory[round % COUNT] = core_allocate(SIZE, device);
  }
  for (uint32_t i = 0; i < COUNT; i++) CHECK_STATUS(wia_free(memory[i]), WIA_STATUS_OK);
  core.memory_limit = UINT64_MAX;
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

static void test_kinds_and_alignment(uint32_t device) {
  const int32_t id = core_id(device);
  wia_memory_config_t config = WIA_MEMORY_CONFIG_INIT;
  void *memory = NULL;
  for (config.alignment = 1; config.alignment <= 1 << 20; config.alignment *= 2) {
    CHECK_STATUS(wia_allocate_memory(&memory, 100, id, &config), WIA_STATUS_OK);
    const uint64_t address = (uint64_t)(uintptr_t)memory;
    CHECK(address % config.alignment == 0 && address % 64 == 0);
    CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
  }
  const uint64_t bad[] = {3, 65, 96, UINT64_C(1) << 31, UINT64_MAX, UINT64_C(1) << 63};
  for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    memory = &memory;
    config.alignment = bad[i];
    CHECK_STATUS(wia_allocate_memory(&memory, 100, id, &config), WIA_STATUS_INVALID_ARGUMENT);
    CHECK_STATUS(wia_allocate_memory(&memory, 0, id, &config), WIA_STATUS_INVALID_ARGUMENT);
    CHECK(memory == &memory);
  }
  config = WIA_MEMORY_CONFIG_INIT;
  config.kind = WIA_MEMORY_HOST_PINNED;
  CHECK_STATUS(wia_allocate_memory(&memory, 100, id, &config), WIA_STATUS_OK);
  wia_address_info_t info = WIA_ADDRESS_INFO_INIT;
  CHECK_STATUS(wia_query_address(memory, &info), WIA_STATUS_OK);
  CHECK(info.kind == WIA_MEMORY_HOST_PINNED);
  wia_memory_info_t pinned = WIA_MEMORY_INFO_INIT;
  CHECK_STATUS(wia_get_memory_info(id, WIA_MEMORY_HOST_PINNED, &pinned), WIA_STATUS_OK);
  CHECK(pinned.live_count == 1 && pinned.live_size == 100);
  CHECK(core_memory(device).live_count == 0);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
  config.kind = WIA_MEMORY_HOST_VISIBLE;
  CHECK_STATUS(wia_allocate_memory(&memory, 100, id, &config), WIA_STATUS_UNIMPLEMENTED);
  const int32_t kinds[] = {-1, WIA_MEMORY_IMPORTED, 5, INT32_MAX, INT32_MIN};
  for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    config.kind = kinds[i];
    CHECK_STATUS(wia_allocate_memory(&memory, 100, id, &config), WIA_STATUS_INVALID_ARGUMENT);
  }
}

/* -- free ---------------------------------------------------------------------------------------- */

static void test_bad_frees(uint32_t device) {
  wia_context_t *context = core_context(device);
  void *memory = core_allocate(100, device);
  char local = 0;
  CHECK_STATUS(wia_free(core_at(memory, 1)), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("1 bytes inside");
  CHECK_STATUS(wia_free(core_at(memory, 99)), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_free(core_at(memory, 100)), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_free(core_at(memory, -1)), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_free(&local), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_free((void *)UINTPTR_MAX), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_free((void *)(uintptr_t)1), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_INVALID_ARGUMENT);
  /* a tensor's own memory goes with the tensor */
  wia_tensor_t tensor = core_tensor(context, 4, 0);
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(tensor, &info), WIA_STATUS_OK);
  CHECK_STATUS(wia_free((void *)(uintptr_t)info.address), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("tensor");
  CHECK(core_has(tensor, 0, 1));
  core_destroy(tensor);
  CHECK_STATUS(wia_free((void *)(uintptr_t)info.address), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

/* -- questions ----------------------------------------------------------------------------------- */

static void test_query(uint32_t device) {
  enum { COUNT = 20 };
  void *memory[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) memory[i] = core_allocate(64 + i, device);
  for (uint32_t i = 0; i < COUNT; i++) {
    const uint64_t size = 64 + i, offsets[] = {0, 1, size / 2, size - 1};
    for (uint32_t j = 0; j < 4; j++) {
      wia_address_info_t info = WIA_ADDRESS_INFO_INIT;
      CHECK_STATUS(wia_query_address(core_at(memory[i], (int64_t)offsets[j]), &info),
                   WIA_STATUS_OK);
      CHECK(info.base == (uint64_t)(uintptr_t)memory[i] && info.size == size);
      CHECK(info.offset == offsets[j] && info.device_id == core_id(device));
      CHECK(info.kind == WIA_MEMORY_DEVICE && info.pending == 0);
    }
    wia_address_info_t info = WIA_ADDRESS_INFO_INIT;
    info.size = 77;
    const wia_status_t behind = wia_query_address(core_at(memory[i], (int64_t)size), &info);
    CHECK(behind == WIA_STATUS_NOT_FOUND ? info.size == 77 : info.offset == 0);
  }
  wia_address_info_t info = WIA_ADDRESS_INFO_INIT;
  for (uint32_t i = 0; i < COUNT; i += 2) CHECK_STATUS(wia_free(memory[i]), WIA_STATUS_OK);
  for (uint32_t i = 0; i < COUNT; i++)
    CHECK_STATUS(wia_query_address(memory[i], &info), i % 2 ? WIA_STATUS_OK : WIA_STATUS_NOT_FOUND);
  for (uint32_t i = 1; i < COUNT; i += 2) CHECK_STATUS(wia_free(memory[i]), WIA_STATUS_OK);
  CHECK_STATUS(wia_query_address(NULL, &info), WIA_STATUS_NOT_FOUND);
  CHECK_STATUS(wia_query_address((void *)UINTPTR_MAX, &info), WIA_STATUS_NOT_FOUND);
}

static void test_statistics(uint32_t device) {
  const wia_memory_info_t start = core_memory(device);
  CHECK(start.live_size == 0 && start.live_count == 0 && start.deferred_count == 0);
  void *a = core_allocate(1 << 20, device), *b = core_allocate(1 << 19, device);
  wia_memory_info_t info = core_memory(device);
  CHECK(info.live_size == (1 << 20) + (1 << 19) && info.live_count == 2);
  CHECK(info.total_count == start.total_count + 2);
  CHECK(info.peak_size == (start.peak_size > info.live_size ? start.peak_size : info.live_size));
  CHECK_STATUS(wia_free(a), WIA_STATUS_OK);
  const wia_memory_info_t less = core_memory(device);
  CHECK(less.live_size == 1 << 19 && less.live_count == 1 && less.peak_size == info.peak_size);
  CHECK_STATUS(wia_free(b), WIA_STATUS_OK);
  info = core_memory(device);
  CHECK(info.live_size == 0 && info.live_count == 0 && info.failed_count == start.failed_count);
  CHECK(info.kind == WIA_MEMORY_DEVICE);
  const int32_t kinds[] = {-1, 0, 5, INT32_MAX};
  for (uint32_t i = 0; i < 4; i++)
    CHECK_STATUS(wia_get_memory_info(core_id(device), kinds[i], &info),
                 WIA_STATUS_INVALID_ARGUMENT);
}

/* -- addresses ----------------------------------------------------------------------------------- */

/* No allocation of any device shares an address with another. */
static void test_unique_addresses(void) {
  enum { COUNT = 30, SIZE = 5000 };
  void *memory[DEVICES * COUNT];
  for (uint32_t i = 0; i < DEVICES * COUNT; i++) memory[i] = core_allocate(SIZE, ALL[i % DEVICES]);
  for (uint32_t i = 0; i < DEVICES * COUNT; i++) {
    const uint64_t base = (uint64_t)(uintptr_t)memory[i];
    for (uint32_t j = 0; j < i; j++) {
      const uint64_t other = (uint64_t)(uintptr_t)memory[j];
      if (!CHECK(base + SIZE <= other || other + SIZE <= base)) break;
    }
  }
  for (uint32_t i = 0; i < DEVICES * COUNT; i++) CHECK_STATUS(wia_free(memory[i]), WIA_STATUS_OK);
}

/* The host can't read what an opaque device has; it faults, as on real hardware. */
static void test_opaque_faults(void) {
  volatile char *memory = core_allocate(100, CORE_OPAQUE);
  for (uint32_t write = 0; write < 2; write++) {
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGSEGV, SIG_DFL);
      signal(SIGBUS, SIG_DFL);
      if (write)
        memory[50] = 1;
      else
        (void)memory[50];
      _exit(0);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS));
  }
  CHECK_STATUS(wia_free((void *)(uintptr_t)memory), WIA_STATUS_OK);
}

/* A driver that gives out the same memory twice, or unaligned: its fault, and it is named. */
static void test_bad_driver(void) {
  void *memory = NULL;
  const uint32_t live = core.allocations - core.frees;
  core.allocate_offset = 8;
  CHECK_STATUS(wia_malloc(&memory, 100, core_id(CORE_SPLIT)), WIA_STATUS_INTERNAL);
  CHECK_MESSAGE("aligned");
  wia_error_info_t error = WIA_ERROR_INFO_INIT;
  CHECK_STATUS(wia_get_last_error(&error), WIA_STATUS_OK);
  CHECK(strcmp(error.driver, "core") == 0);
  CHECK(core.allocations - core.frees == live);
  core.allocate_offset = 0;
  void *first = core_allocate(1 << 16, CORE_SPLIT);
  core.allocate_offset = (uint64_t)-(1 << 15); /* into the middle of the first */
  CHECK_STATUS(wia_malloc(&memory, 64, core_id(CORE_SPLIT)), WIA_STATUS_INTERNAL);
  CHECK_MESSAGE("overlaps");
  CHECK(memory == NULL);
  core.allocate_offset = 0;
  CHECK_STATUS(wia_free(first), WIA_STATUS_OK);
}

static void test_devices(void) {
  void *memory = NULL;
  const int32_t bad[] = {-1, INT32_MIN, INT32_MAX, core_id(CORE_PLAIN) + CORE_DEVICE_COUNT,
                         core_id(CORE_PLAIN) + 255};
  for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    wia_memory_info_t info = WIA_MEMORY_INFO_INIT;
    wia_plan_cache_stats_t stats = WIA_PLAN_CACHE_STATS_INIT;
    wia_context_t *context = NULL;
    CHECK_STATUS(wia_malloc(&memory, 10, bad[i]), WIA_STATUS_NOT_FOUND);
    CHECK_STATUS(wia_malloc(&memory, 0, bad[i]), WIA_STATUS_NOT_FOUND);
    CHECK_STATUS(wia_get_memory_info(bad[i], WIA_MEMORY_DEVICE, &info), WIA_STATUS_NOT_FOUND);
    CHECK_STATUS(wia_get_plan_cache_stats(bad[i], &stats), WIA_STATUS_NOT_FOUND);
    CHECK_STATUS(wia_create_context(&context, bad[i]), WIA_STATUS_NOT_FOUND);
    CHECK(memory == NULL && context == NULL);
  }
}

static void test_prefetch(void) {
  void *memory = core_allocate(100, CORE_OPAQUE);
  void *const addresses[] = {NULL, memory, (void *)UINTPTR_MAX, &memory};
  for (uint32_t i = 0; i < 4; i++) {
    for (int32_t level = WIA_PREFETCH_L1; level <= WIA_PREFETCH_L3; level++) {
      CHECK_STATUS(wia_prefetch(addresses[i], 100, level), WIA_STATUS_OK);
      CHECK_STATUS(wia_prefetch(addresses[i], UINT64_MAX, level), WIA_STATUS_OK);
    }
  }
  CHECK_STATUS(wia_prefetch(memory, 100, WIA_PREFETCH_NONE), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_prefetch(memory, 100, 4), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_prefetch(memory, 100, -1), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
}

int main(void) {
  core_start();
  for (uint32_t i = 0; i < DEVICES; i++) {
    test_statistics(ALL[i]);
    test_sizes(ALL[i]);
    test_exhaust_and_recover(ALL[i]);
    test_kinds_and_alignment(ALL[i]);
    test_bad_frees(ALL[i]);
    test_query(ALL[i]);
  }
  test_unique_addresses();
  test_opaque_faults();
  test_devices();
  test_prefetch();
  CHECK_CLEAN();
  test_bad_driver();
  return CHECK_DONE();
}
