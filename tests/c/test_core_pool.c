/* Pools of contexts: reuse, addresses, limits, trimming, statistics, errors. */
#include "core_pool.h"

static void test_reuse(void) {
  void *first = allocate(1000, NULL);
  const uint32_t allocations = core.allocations;
  for (uint32_t i = 0; i < 100; i++) {
    release(first, NULL);
    CHECK(allocate(1000, NULL) == first);
  }
  CHECK(core.allocations == allocations);
  wia_memory_pool_info_t info = info_of();
  CHECK(info.hit_count == 100 && info.miss_count == 1 && info.segment_count == 1);
  CHECK(info.used_count == 1 && info.used_size == 1024 && info.requested_size == 1000);
  CHECK_STATUS(wia_free(first), WIA_STATUS_OK); /* either way */
  CHECK_STATUS(wia_free_async(first, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_free_async(NULL, NULL), WIA_STATUS_OK);
  info = info_of();
  CHECK(info.used_size == 0 && info.free_count == 1 && info.fragmentation == 0);
  CHECK(info.peak_used_size == 1024);
  CHECK_STATUS(wia_reset_memory_peaks(context), WIA_STATUS_OK);
  CHECK(info_of().peak_used_size == 0);
  uint64_t gone = 0;
  CHECK_STATUS(wia_trim_memory_pool(context, 0, &gone), WIA_STATUS_OK);
  CHECK(gone == info.reserved_size && info_of().reserved_size == 0);
  CHECK(core.allocations == core.frees);
}

static void test_addresses(void) {
  enum { COUNT = 64 };
  void *memory[COUNT];
  for (uint64_t i = 0; i < COUNT; i++) {
    memory[i] = allocate(1 + i * i * 37, NULL);
    const uint64_t address = (uint64_t)(uintptr_t)memory[i];
    CHECK(address % 64 == 0);
    wia_address_info_t info = WIA_ADDRESS_INFO_INIT;
    CHECK_STATUS(wia_query_address(memory[i], &info), WIA_STATUS_OK);
    CHECK(info.base == address && info.size == 1 + i * i * 37 && info.kind == WIA_MEMORY_DEVICE);
    unsigned char bytes[16] = {0};
    CHECK_STATUS(wia_copy_device_to_host(bytes, (char *)(uintptr_t)(address + i * i * 37), 2, NULL),
                 WIA_STATUS_INVALID_ARGUMENT); /* of the block next to it */
  }
  for (uint64_t i = 0; i < COUNT; i++) {
    const unsigned char pattern = (unsigned char)i;
    CHECK_STATUS(wia_fill_memory(memory[i], &pattern, 1, 1 + i * i * 37, NULL), WIA_STATUS_OK);
  }
  for (uint64_t i = 0; i < COUNT; i++) {
    static unsigned char bytes[1 + COUNT * COUNT * 37];
    const uint64_t size = 1 + i * i * 37;
    CHECK_STATUS(wia_copy_device_to_host(bytes, memory[i], size, NULL), WIA_STATUS_OK);
    CHECK(bytes[0] == i && bytes[size - 1] == i);
  }
  for (uint64_t i = 0; i < COUNT; i += 2) release(memory[i], NULL);
  for (uint64_t i = 1; i < COUNT; i += 2) release(memory[i], NULL);
  CHECK(info_of().free_count == info_of().segment_count); /* all put together again */
  wia_memory_config_t config = WIA_MEMORY_CONFIG_INIT;
  for (config.alignment = 1; config.alignment <= MB; config.alignment *= 2) {
    CHECK_STATUS(wia_malloc_async(context, 300, &config, NULL, &memory[0]), WIA_STATUS_OK);
    CHECK((uint64_t)(uintptr_t)memory[0] % config.alignment == 0);
    release(memory[0], NULL);
  }
  CHECK_STATUS(wia_trim_memory_pool(context, 0, NULL), WIA_STATUS_OK);
  CHECK(info_of().reserved_size == 0);
}

static void test_limits(void) {
  limit(4 * MB, 0);
  void *memory[4], *more = NULL;
  for (uint32_t i = 0; i < 4; i++) memory[i] = allocate(MB, NULL);
  CHECK_STATUS(wia_malloc_async(context, 1, NULL, NULL, &more), WIA_STATUS_RESOURCE_EXHAUSTED);
  CHECK_MESSAGE("256 bytes");
  CHECK_MESSAGE("4194304 of 4194304 reserved bytes");
  CHECK_MESSAGE("a limit of 4194304");
  CHECK_MESSAGE("the largest free block has 0");
  CHECK_MESSAGE("raise the limit with wia_configure_memory_pool()");
  release(memory[0], NULL);
  release(memory[2], NULL);
  CHECK_STATUS(wia_malloc_async(context, 4 * MB, NULL, NULL, &more), WIA_STATUS_RESOURCE_EXHAUSTED);
  CHECK_MESSAGE("fragmentation is ");
  CHECK(info_of().failed_count >= 2);
  more = allocate(2 * MB, NULL); /* what is kept makes room */
  release(more, NULL);
  release(memory[1], NULL);
  release(memory[3], NULL);
  CHECK_STATUS(wia_trim_memory_pool(context, 0, NULL), WIA_STATUS_OK);
  release(allocate(4 * MB, NULL), NULL); /* one segment, of which quarters are free in between */
  for (uint32_t i = 0; i < 4; i++) memory[i] = allocate(MB, NULL);
  release(memory[0], NULL);
  release(memory[2], NULL);
  CHECK_STATUS(wia_malloc_async(context, 2 * MB, NULL, NULL, &more), WIA_STATUS_RESOURCE_EXHAUSTED);
  CHECK_MESSAGE("2097152 of 4194304 reserved bytes");
  CHECK_MESSAGE("the largest free block has 1048576, fragmentation is 50 %");
  release(memory[1], NULL);
  release(memory[3], NULL);
  limit(0, 1); /* keeps nothing */
  CHECK(info_of().reserved_size <= 4 * MB);
  release(allocate(3 * MB, NULL), NULL);
  CHECK(info_of().reserved_size == 0);
  core.memory_limit = 3 * MB; /* the driver's: what other contexts keep is taken from them */
  wia_context_t *other = NULL;
  wia_context_info_t of = WIA_CONTEXT_INFO_INIT;
  CHECK_STATUS(wia_get_context_info(context, &of), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_context(&other, of.device_id), WIA_STATUS_OK);
  wia_memory_pool_config_t on = WIA_MEMORY_POOL_CONFIG_INIT;
  on.mode = WIA_MEMORY_POOL_ON;
  CHECK_STATUS(wia_configure_memory_pool(other, &on), WIA_STATUS_OK);
  CHECK_STATUS(wia_malloc_async(other, 2 * MB, NULL, NULL, &more), WIA_STATUS_OK);
  CHECK_STATUS(wia_malloc_async(context, 2 * MB, NULL, NULL, &memory[0]),
               WIA_STATUS_RESOURCE_EXHAUSTED);
  CHECK_MESSAGE("no limit");
  CHECK_MESSAGE("full"); /* the driver's words */
  release(more, NULL);
  release(allocate(2 * MB, NULL), NULL);
  CHECK_STATUS(wia_destroy_context(other), WIA_STATUS_OK);
  core.memory_limit = UINT64_MAX;
  limit(0, 0);
}

static void test_bad_arguments(void) {
  void *memory = &memory;
  wia_memory_config_t config = WIA_MEMORY_CONFIG_INIT;
  config.alignment = 3;
  CHECK_STATUS(wia_malloc_async(context, 1, &config, NULL, &memory), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_malloc_async(NULL, 1, NULL, NULL, &memory), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_malloc_async(context, 1, NULL, NULL, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_malloc_async(context, UINT64_MAX, NULL, NULL, &memory),
               WIA_STATUS_RESOURCE_EXHAUSTED);
  CHECK_STATUS(wia_malloc_async(context, INT64_MAX, NULL, NULL, &memory),
               WIA_STATUS_RESOURCE_EXHAUSTED);
  CHECK(memory == &memory);
  CHECK_STATUS(wia_malloc_async(context, 0, NULL, NULL, &memory), WIA_STATUS_OK);
  CHECK(memory == NULL);
  wia_memory_pool_config_t bad = WIA_MEMORY_POOL_CONFIG_INIT;
  bad.mode = 3;
  CHECK_STATUS(wia_configure_memory_pool(context, &bad), WIA_STATUS_INVALID_ARGUMENT);
  wia_context_t *elsewhere = core_context(CORE_OTHER);
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, elsewhere), WIA_STATUS_OK);
  wia_context_info_t of = WIA_CONTEXT_INFO_INIT;
  CHECK_STATUS(wia_get_context_info(context, &of), WIA_STATUS_OK);
  if (of.device_id != core_id(CORE_OTHER)) {
    CHECK_STATUS(wia_malloc_async(context, 1, NULL, stream, &memory), WIA_STATUS_INVALID_ARGUMENT);
    memory = allocate(1, NULL);
    CHECK_STATUS(wia_free_async(memory, stream), WIA_STATUS_INVALID_ARGUMENT);
    release(memory, NULL);
  }
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(elsewhere), WIA_STATUS_OK);
}

static void test_import_of_kept_memory(void) {
  void *memory = allocate(1000, NULL);
  release(memory, NULL);
  CHECK_STATUS(wia_import_memory(memory, 16, core_id(CORE_PLAIN), NULL), WIA_STATUS_ALREADY_EXISTS);
}

static void run_tests(uint32_t device) {
  test_reuse();
  test_addresses();
  test_limits();
  test_bad_arguments();
  if (device == CORE_PLAIN) test_import_of_kept_memory();
}

int main(void) {
  run_on_devices(run_tests);
  return CHECK_DONE();
}
