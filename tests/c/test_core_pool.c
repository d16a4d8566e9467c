/* Pools of contexts: reuse in streams and across them, limits, trimming, statistics, errors. */
#include <dirent.h>
#include <sched.h>
#include <stdlib.h>

#include "core_driver.h"

enum { MB = 1 << 20, DEVICES = CORE_ALL_COUNT };

static wia_context_t *context;

static void *allocate(uint64_t size, wia_stream_t *stream) {
  void *memory = NULL;
  CHECK_STATUS(wia_malloc_async(context, size, NULL, stream, &memory), WIA_STATUS_OK);
  return memory;
}

static void release(void *memory, wia_stream_t *stream) {
  CHECK_STATUS(wia_free_async(memory, stream), WIA_STATUS_OK);
}

static wia_memory_pool_info_t info_of(void) {
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

static void limit(uint64_t limit_size, uint64_t keep_size) {
  wia_memory_pool_config_t config = WIA_MEMORY_POOL_CONFIG_INIT;
  config.limit_size = limit_size;
  config.keep_size = keep_size;
  CHECK_STATUS(wia_configure_memory_pool(context, &config), WIA_STATUS_OK);
}

static wia_stream_t *new_stream(void) {
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  return stream;
}

static void end_stream(wia_stream_t *stream) {
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

/* Work on memory that stands at the gate. */
static void occupy(void *memory, wia_stream_t *stream) {
  wia_tensor_t tensor = NULL;
  CHECK_STATUS(
      wia_wrap_tensor(context, memory, (const int64_t[]){4}, NULL, 1, WIA_FLOAT32, &tensor),
      WIA_STATUS_OK);
  CHECK_STATUS(wia_relu(context, tensor, tensor, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_tensor(tensor), WIA_STATUS_OK);
}

/* -- one thread, no stream ----------------------------------------------------------------------- */

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
  CHECK(info_of().failed_count >= 2);
  more = allocate(2 * MB, NULL); /* what is kept makes room */
  release(more, NULL);
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

/* -- streams ------------------------------------------------------------------------------------- */

static void test_same_stream(void) {
  wia_stream_t *stream = new_stream();
  core_close_gate();
  void *memory = allocate(1000, stream);
  occupy(memory, stream);
  CHECK(core_await_gate(1));
  release(memory, stream);
  CHECK(info_of().pending_size > 0);
  void *elsewhere = allocate(1000, NULL);
  CHECK(elsewhere != memory); /* the work may still write to it */
  CHECK(allocate(1000, stream) == memory);
  const unsigned char pattern = 7;
  unsigned char byte = 0;
  CHECK_STATUS(wia_fill_memory(memory, &pattern, 1, 1000, stream), WIA_STATUS_OK);
  core_open_gate();
  CHECK_STATUS(wia_copy_device_to_host(&byte, memory, 1, NULL), WIA_STATUS_OK);
  CHECK(byte == 7);
  release(memory, NULL);
  release(elsewhere, NULL);
  end_stream(stream);
  CHECK(info_of().pending_size == 0);
}

/* 64 blocks of 1 MB freed on one stream, then one of 48 MB on another, in 64 MB. */
static void test_other_stream(void) {
  enum { COUNT = 64 };
  CHECK_STATUS(wia_trim_memory_pool(context, 0, NULL), WIA_STATUS_OK);
  limit(64 * (uint64_t)MB, 0);
  wia_stream_t *a = new_stream(), *b = new_stream();
  void *memory[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) {
    memory[i] = allocate(MB, a);
    const uint32_t pattern = i;
    CHECK_STATUS(wia_fill_memory(memory[i], &pattern, 4, MB, a), WIA_STATUS_OK);
  }
  for (uint32_t i = 0; i < COUNT; i++) release(memory[i], a);
  void *large = allocate(48 * (uint64_t)MB, b);
  const uint32_t pattern = 0xabcd1234;
  CHECK_STATUS(wia_fill_memory(large, &pattern, 4, 48 * (uint64_t)MB, b), WIA_STATUS_OK);
  uint32_t *words = malloc(48 * (size_t)MB);
  CHECK_STATUS(wia_copy_device_to_host(words, large, 48 * (uint64_t)MB, NULL), WIA_STATUS_OK);
  bool same = true;
  for (uint32_t i = 0; i < 12 * MB; i++) same &= words[i] == pattern;
  CHECK(same);
  free(words);
  release(large, b);
  end_stream(a);
  end_stream(b);
  limit(0, 0);
  CHECK_STATUS(wia_trim_memory_pool(context, 0, NULL), WIA_STATUS_OK);
  CHECK(info_of().reserved_size == 0);
}

/* The other stream waits in its queue: nobody waits here while the gate is closed. */
static void test_wait_in_queue(void) {
  limit(4 * MB, 0);
  wia_stream_t *a = new_stream(), *b = new_stream();
  core_close_gate();
  void *memory = allocate(4 * MB, a);
  occupy(memory, a);
  CHECK(core_await_gate(1));
  release(memory, a);
  CHECK(allocate(4 * MB, b) == memory);
  CHECK(info_of().wait_count == 1);
  uint32_t done = 1;
  const uint32_t pattern = 5;
  CHECK_STATUS(wia_fill_memory(memory, &pattern, 4, 4 * MB, b), WIA_STATUS_OK);
  CHECK_STATUS(wia_query_stream(b, &done), WIA_STATUS_OK);
  CHECK(done == 0);
  /* cancelled, b no longer waits; the memory is a's until the gate opens all the same */
  CHECK_STATUS(wia_cancel_stream(b), WIA_STATUS_OK);
  release(memory, NULL);
  CHECK(info_of().pending_size == 4 * MB);
  core_open_gate();
  CHECK_STATUS(wia_synchronize_stream(a, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK_STATUS(wia_reset_stream(b), WIA_STATUS_OK);
  CHECK(allocate(4 * MB, NULL) == memory);
  release(memory, NULL);
  end_stream(a);
  end_stream(b);
  limit(0, 0);
}

/* A stream's failure is no failure of who has its memory next. */
static void test_failed_stream(void) {
  limit(4 * MB, 0);
  wia_stream_t *a = new_stream(), *b = new_stream();
  core_close_gate();
  void *memory = allocate(4 * MB, a);
  occupy(memory, a);
  CHECK(core_await_gate(1));
  occupy(memory, a);
  CHECK_STATUS(wia_cancel_stream(a), WIA_STATUS_OK);
  release(memory, a);
  CHECK(allocate(4 * MB, b) == memory);
  core_open_gate();
  const uint32_t pattern = 5;
  uint32_t word = 0;
  CHECK_STATUS(wia_fill_memory(memory, &pattern, 4, 4 * MB, b), WIA_STATUS_OK);
  CHECK_STATUS(wia_copy_device_to_host(&word, memory, 4, NULL), WIA_STATUS_OK);
  CHECK(word == 5);
  release(memory, b);
  CHECK_STATUS(wia_reset_stream(a), WIA_STATUS_OK);
  end_stream(a);
  end_stream(b);
  limit(0, 0);
}

/* -- life ---------------------------------------------------------------------------------------- */

/* Tensors, views and memory outlive their context; what work in flight uses goes when it is done. */
static void test_context_ends(uint32_t device) {
  wia_stream_t *stream = new_stream();
  wia_tensor_t tensor = core_tensor(context, 4, 1), view = NULL;
  CHECK_STATUS(wia_view_tensor(tensor, 1, (const int64_t[]){3}, NULL, 1, &view), WIA_STATUS_OK);
  void *memory = allocate(1000, stream), *kept = allocate(MB, NULL);
  core_close_gate();
  occupy(memory, stream);
  CHECK(core_await_gate(1));
  release(memory, stream);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_tensor(tensor), WIA_STATUS_OK);
  CHECK(core.allocations > core.frees);
  core_open_gate();
  CHECK(core_has(view, 2, 1));
  CHECK_STATUS(wia_destroy_tensor(view), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(kept), WIA_STATUS_OK);
  end_stream(stream);
  core_evict();
  CHECK_CLEAN();
  context = core_context(device);
}

static void test_import_of_kept_memory(void) {
  void *memory = allocate(1000, NULL);
  release(memory, NULL);
  CHECK_STATUS(wia_import_memory(memory, 16, core_id(CORE_PLAIN), NULL), WIA_STATUS_ALREADY_EXISTS);
}

static uint32_t next_random(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
  return (uint32_t)(*seed >> 33);
}

/* Random sizes over four streams keep the reserve within a few times what was ever in use. */
static void test_growth(void) {
#ifdef __SANITIZE_THREAD__
  enum { SLOTS = 32, ROUNDS = 800 };
#else
  enum { SLOTS = 32, ROUNDS = 4000 };
#endif
  void *slots[SLOTS] = {NULL};
  wia_stream_t *streams[4];
  uint64_t seed = 1;
  for (uint32_t i = 0; i < 4; i++) streams[i] = new_stream();
  for (uint32_t i = 0; i < ROUNDS; i++) {
    void **slot = &slots[next_random(&seed) % SLOTS];
    wia_stream_t *stream = streams[next_random(&seed) % 4];
    if (*slot) {
      release(*slot, stream);
      *slot = NULL;
    } else {
      *slot = allocate(1 + (next_random(&seed) >> next_random(&seed) % 16) % (4 * MB), stream);
    }
  }
  const wia_memory_pool_info_t info = info_of();
  CHECK(info.peak_reserved_size <= 4 * info.peak_used_size);
  CHECK(info.hit_count > ROUNDS / 80 * info.miss_count);
  for (uint32_t i = 0; i < SLOTS; i++) release(slots[i], NULL);
  for (uint32_t i = 0; i < 4; i++) end_stream(streams[i]);
  CHECK(info_of().free_count == info_of().segment_count);
  CHECK_STATUS(wia_trim_memory_pool(context, 0, NULL), WIA_STATUS_OK);
  CHECK(info_of().reserved_size == 0);
}

/* -- locks --------------------------------------------------------------------------------------- */

static uint32_t count_threads(void) {
  DIR *folder = opendir("/proc/self/task");
  uint32_t count = 0;
  while (readdir(folder)) count++;
  closedir(folder);
  return count;
}

static void *stand_at_gate(void *tensor) {
  CHECK_STATUS(wia_relu(context, tensor, tensor, NULL), WIA_STATUS_OK);
  return NULL;
}

/* A pool lets go of the last that is known of a stream, while a block of the same pool waits to be given
 * back, which takes the pool's lock: memory_pool.h, wia__lock_pool. */
static void test_last_of_a_stream(void) {
  wia_tensor_t tensor = core_tensor(context, 4, 1);
  core_evict();
  const uint32_t threads = count_threads();
  wia_stream_t *stream = new_stream();
  pthread_t other;
  core_close_gate();
  void *memory = allocate(1000, stream), *more = allocate(2000, NULL);
  occupy(memory, stream);
  CHECK(core_await_gate(1));
  release(memory, stream);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  CHECK(pthread_create(&other, NULL, stand_at_gate, tensor) == 0);
  CHECK(core_await_gate(2));
  release(more, NULL); /* which waits for that call */
  core_open_gate();
  pthread_join(other, NULL);
  while (count_threads() > threads) sched_yield(); /* the stream's own has let go of it */
  release(allocate(1000, NULL), NULL);
  core_destroy(tensor);
}

int main(void) {
  setenv("WIA_MEMORY_POOL", "on,keep=1G,limit=0,nonsense", 1);
  setenv("WIA_PLAN_CACHE_SIZE", "4", 1);
  core_start();
  for (uint32_t device = 0; device < DEVICES; device++) {
    context = core_context(device);
    test_reuse();
    test_addresses();
    test_limits();
    test_bad_arguments();
    test_same_stream();
    test_other_stream();
    test_wait_in_queue();
    test_failed_stream();
    test_growth();
    if (device <= CORE_BARE &&
        device != CORE_SERIAL) /* else no thread of the library's, or one waits */
      for (uint32_t i = 0; i < 3; i++) test_last_of_a_stream();
    if (device == CORE_PLAIN) test_import_of_kept_memory();
    test_context_ends(device);
    CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
    core_evict();
    CHECK_CLEAN();
  }
  return CHECK_DONE();
}
