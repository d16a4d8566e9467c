/* Pools of contexts: memory that work in flight still uses, in its stream, in others and at the end. */
#include <dirent.h>
#include <sched.h>

#include "core_pool.h"

#ifdef __SANITIZE_THREAD__
enum { SLOW = 1 }; /* its shadow of a large block is larger still */
#else
enum { SLOW = 0 };
#endif
enum { PAGE = 4096 };

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

/* A page of every MB: each block has one, and neighbours meet nowhere else. */
static void fill_pages(void *memory, uint32_t count, uint32_t pattern, wia_stream_t *stream) {
  for (uint32_t i = 0; i < count; i++)
    CHECK_STATUS(
        wia_fill_memory((void *)((uintptr_t)memory + (uintptr_t)i * MB), &pattern, 4, PAGE, stream),
        WIA_STATUS_OK);
}

/* 64 blocks of 1 MB freed on one stream, then one of 48 MB on another, in 64 MB. */
static void test_other_stream(void) {
  enum { COUNT = 64, LARGE = 48 };
  CHECK_STATUS(wia_trim_memory_pool(context, 0, NULL), WIA_STATUS_OK);
  limit(COUNT * (uint64_t)MB, 0);
  wia_stream_t *a = new_stream(), *b = new_stream();
  void *memory[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) {
    memory[i] = allocate(MB, a);
    fill_pages(memory[i], 1, i, a);
  }
  for (uint32_t i = 0; i < COUNT; i++) release(memory[i], a);
  void *large = allocate(LARGE * (uint64_t)MB, b);
  fill_pages(large, LARGE, 0xabcd1234, b);
  bool same = true;
  for (uint32_t i = 0; i < LARGE; i++) {
    uint32_t words[PAGE / 4];
    CHECK_STATUS(
        wia_copy_device_to_host(words, (void *)((uintptr_t)large + (uintptr_t)i * MB), PAGE, NULL),
        WIA_STATUS_OK);
    for (uint32_t j = 0; j < PAGE / 4; j++) same &= words[j] == 0xabcd1234;
  }
  CHECK(same);
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

static void run_tests(uint32_t device) {
  test_same_stream();
  if (!SLOW || device == CORE_PLAIN || device == CORE_QUEUED) test_other_stream();
  test_wait_in_queue();
  test_failed_stream();
  test_growth();
  if (device <= CORE_BARE &&
      device != CORE_SERIAL) /* of others the library has no thread, or one waits */
    for (uint32_t i = 0; i < 3; i++) test_last_of_a_stream();
  test_context_ends(device);
}

int main(void) {
  run_on_devices(run_tests);
  return CHECK_DONE();
}
