/* core_pool.h: what the tests of pools share. Included once a program. */
#ifndef TEST_CORE_POOL_H
#define TEST_CORE_POOL_H

#include "core_driver.h"

enum { MB = 1 << 20, DEVICES = CORE_ALL_COUNT };

static wia_context_t *context; /* whose pool it is */

static inline void *allocate(uint64_t size, wia_stream_t *stream) {
  void *memory = NULL;
  CHECK_STATUS(wia_malloc_async(context, size, NULL, stream, &memory), WIA_STATUS_OK);
  return memory;
}

static inline void release(void *memory, wia_stream_t *stream) {
  CHECK_STATUS(wia_free_async(memory, stream), WIA_STATUS_OK);
}

static inline wia_memory_pool_info_t info_of(void) {
  wia_memory_pool_info_t info = WIA_MEMORY_POOL_INFO_INIT;
  CHECK_STATUS(wia_get_memory_pool_info(context, &info), WIA_STATUS_OK);
  CHECK(info.struct_size == sizeof info);
  CHECK(info.used_size + info.free_size == info.reserved_size);
  CHECK(info.requested_size <= info.used_size && info.largest_free_size <= info.free_size);
  uint64_t used = 0, free_count = 0;
  for (uint32_t i = 0; i < WIA_MEMORY_POOL_CLASSES; i++) {
    used += info.used_classes[i];
    free_count += info.free_classes[i];
  }
  CHECK(used == info.used_count && free_count == info.free_count);
  return info;
}

static inline void limit(uint64_t limit_size, uint64_t keep_size) {
  wia_memory_pool_config_t config = WIA_MEMORY_POOL_CONFIG_INIT;
  config.limit_size = limit_size;
  config.keep_size = keep_size;
  CHECK_STATUS(wia_configure_memory_pool(context, &config), WIA_STATUS_OK);
}

static inline wia_stream_t *new_stream(void) {
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  return stream;
}

static inline void end_stream(wia_stream_t *stream) {
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

/* Work on memory that stands at the gate. */
static inline void occupy(void *memory, wia_stream_t *stream) {
  wia_tensor_t tensor = NULL;
  CHECK_STATUS(
      wia_wrap_tensor(context, memory, (const int64_t[]){4}, NULL, 1, WIA_FLOAT32, &tensor),
      WIA_STATUS_OK);
  CHECK_STATUS(wia_relu(context, tensor, tensor, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_tensor(tensor), WIA_STATUS_OK);
}

/* Runs tests on each device, in a context with a pool whatever the environment says. */
static inline void run_on_devices(void (*tests)(uint32_t device)) {
  setenv("WIA_MEMORY_POOL", "on,keep=1G,limit=0,nonsense", 1);
  setenv("WIA_PLAN_CACHE_SIZE", "4", 1);
  core_start();
  for (uint32_t device = 0; device < DEVICES; device++) {
    context = core_context(device);
    tests(device);
    CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
    core_evict();
    CHECK_CLEAN();
  }
}

#endif
