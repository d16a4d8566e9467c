/* Allocators of the program: what they are asked for, when it comes back, and what may change meanwhile. */
#include "core_allocator.h"

/* -- what it is asked for ------------------------------------------------------------------------ */

static void test_each_allocation(void) {
  hook_t hook = NEW_HOOK;
  wia_stream_t *stream = NULL;
  void *memory = NULL;
  pool_mode(WIA_MEMORY_POOL_OFF);
  set(&hook);
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  wia_memory_config_t config = WIA_MEMORY_CONFIG_INIT;
  config.alignment = 4 * KB;
  CHECK_STATUS(wia_malloc_async(context, 1000, &config, stream, &memory), WIA_STATUS_OK);
  CHECK(hook.asked == 1 && hook.last.struct_size == sizeof hook.last && hook.last.size == 1000);
  CHECK(hook.last.device_id == core_id(device) && hook.last.kind == WIA_MEMORY_DEVICE);
  CHECK(hook.last.alignment == 4 * KB && hook.last.stream == stream && memory == hook.given[0]);
  CHECK_STATUS(wia_free_async(memory, stream), WIA_STATUS_OK);
  wia_tensor_t a = core_tensor(context, 8, 1), b = core_tensor(context, 8, 3), c = NULL;
  CHECK(hook.asked == 3 && hook.last.size == 32 && hook.last.stream == NULL);
  CHECK_STATUS(wia_allocate_tensor_async(context, (const int64_t[]){8}, 1, WIA_FLOAT32, stream, &c),
               WIA_STATUS_OK);
  CHECK(hook.last.stream == stream);
  CHECK_STATUS(wia_add(context, a, b, c, stream), WIA_STATUS_OK);
  CHECK(core_has(c, 4, 2));
  core_destroy(a);
  core_destroy(b);
  core_destroy(c);
  CHECK_STATUS(wia_malloc_async(context, 0, NULL, stream, &memory), WIA_STATUS_OK);
  CHECK(memory == NULL && hook.asked == 4); /* nothing is asked for nothing */
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  end(&hook);
}

/* Not before the work is done, on whichever stream, and then without anybody asking. */
static void test_work_in_flight(void) {
  hook_t hook = NEW_HOOK;
  wia_stream_t *stream = NULL;
  pool_mode(WIA_MEMORY_POOL_OFF);
  set(&hook);
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  wia_tensor_t a = core_tensor(context, 8, 1);
  core_close_gate();
  CHECK_STATUS(wia_relu(context, a, a, stream), WIA_STATUS_OK);
  CHECK(core_await_gate(1));
  core_destroy(a);
  CHECK_STATUS(wia_set_allocator(context, NULL), WIA_STATUS_OK);
  uint32_t done = 0;
  for (uint32_t i = 0; i < 100; i++) /* calls, so that what can go does */
    CHECK_STATUS(wia_query_stream(stream, &done), WIA_STATUS_OK);
  CHECK(hook.freed == 0 && hook.released == 0);
  core_open_gate();
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  end(&hook);
}

/* A pool asks for segments, and keeps them. */
static void test_under_a_pool(void) {
  hook_t hook = NEW_HOOK;
  void *memory[20];
  pool_mode(WIA_MEMORY_POOL_ON);
  set(&hook);
  for (uint32_t i = 0; i < 20; i++) memory[i] = allocate(1000);
  CHECK(hook.asked == 1 && hook.last.size >= 20 * KB && hook.last.stream == NULL);
  for (uint32_t i = 0; i < 20; i++) CHECK_STATUS(wia_free(memory[i]), WIA_STATUS_OK);
  CHECK(hook.freed == 0);
  CHECK_STATUS(wia_free(allocate(1000)), WIA_STATUS_OK);
  CHECK(hook.asked == 1);
  CHECK_STATUS(wia_trim_memory_pool(context, 0, NULL), WIA_STATUS_OK);
  CHECK(hook.freed == 1);
  memory[0] = allocate(1000);
  wia_memory_pool_config_t limit = WIA_MEMORY_POOL_CONFIG_INIT;
  limit.mode = WIA_MEMORY_POOL_ON;
  limit.limit_size = 4 << 20; /* which the library sees to */
  CHECK_STATUS(wia_configure_memory_pool(context, &limit), WIA_STATUS_OK);
  CHECK_STATUS(wia_malloc_async(context, 8 << 20, NULL, NULL, &memory[1]),
               WIA_STATUS_RESOURCE_EXHAUSTED);
  CHECK(hook.asked == 2);
  CHECK_STATUS(wia_free(memory[0]), WIA_STATUS_OK);
  end(&hook);
}

/* Kinds that it isn't for are the driver's. */
static void test_kinds(void) {
  hook_t hook = NEW_HOOK;
  wia_memory_config_t pinned = WIA_MEMORY_CONFIG_INIT;
  void *memory = NULL;
  pinned.kind = WIA_MEMORY_HOST_PINNED;
  set(&hook);
  CHECK_STATUS(wia_malloc_async(context, 64, &pinned, NULL, &memory), WIA_STATUS_OK);
  CHECK(hook.asked == 0);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
  end(&hook);
  hook = (hook_t)NEW_HOOK;
  wia_allocator_t allocator = allocator_of(&hook);
  allocator.kinds = 1u << WIA_MEMORY_HOST_PINNED;
  CHECK_STATUS(wia_set_allocator(context, &allocator), WIA_STATUS_OK);
  CHECK_STATUS(wia_malloc_async(context, 64, &pinned, NULL, &memory), WIA_STATUS_OK);
  CHECK(hook.asked == 1 && hook.last.kind == WIA_MEMORY_HOST_PINNED);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(allocate(64)), WIA_STATUS_OK);
  CHECK(hook.asked == 1);
  end(&hook);
}

/* -- changes ------------------------------------------------------------------------------------- */

/* Memory goes back where it came from, also behind the end of the context. */
static void test_replacing(void) {
  hook_t first = NEW_HOOK, second = NEW_HOOK;
  pool_mode(WIA_MEMORY_POOL_OFF);
  set(&first);
  void *a = allocate(1000);
  set(&second);
  void *b = allocate(1000);
  CHECK(first.asked == 1 && second.asked == 1 && first.released == 0);
  CHECK_STATUS(wia_free(a), WIA_STATUS_OK);
  CHECK(first.freed == 1 && second.freed == 0 && first.released == 1);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK(second.released == 0);
  CHECK_STATUS(wia_free(b), WIA_STATUS_OK);
  CHECK_CLEAN();
  CHECK(second.freed == 1 && second.released == 1 && !first.wrong && !second.wrong);
  context = core_context(device);
}

static void test_bad_arguments(void) {
  hook_t hook = NEW_HOOK;
  wia_allocator_t allocator = allocator_of(&hook);
  allocator.free = NULL;
  CHECK_STATUS(wia_set_allocator(context, &allocator), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("allocator->free is NULL");
  allocator = allocator_of(&hook);
  allocator.allocate = NULL;
  CHECK_STATUS(wia_set_device_allocator(core_id(device), &allocator), WIA_STATUS_INVALID_ARGUMENT);
  allocator = allocator_of(&hook);
  allocator.kinds = 1u << WIA_MEMORY_IMPORTED;
  CHECK_STATUS(wia_set_allocator(context, &allocator), WIA_STATUS_INVALID_ARGUMENT);
  allocator = allocator_of(&hook);
  CHECK_STATUS(wia_set_allocator(NULL, &allocator), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_set_device_allocator(INT32_MAX, &allocator), WIA_STATUS_NOT_FOUND);
  allocator.struct_size = 4;
  CHECK_STATUS(wia_set_allocator(context, &allocator), WIA_STATUS_INVALID_ARGUMENT);
  CHECK(hook.released == 0);
}

/* Of a device: what knows no context, workspaces, and contexts without one of their own. */
static void test_device(void) {
  hook_t hook = NEW_HOOK, own = NEW_HOOK;
  const wia_allocator_t allocator = allocator_of(&hook);
  wia_context_t *other = core_context(device);
  void *memory = NULL;
  pool_mode(WIA_MEMORY_POOL_OFF);
  core.workspace_size = 40;
  CHECK_STATUS(wia_set_device_allocator(core_id(device), &allocator), WIA_STATUS_OK);
  CHECK_STATUS(wia_malloc(&memory, 1000, core_id(device)), WIA_STATUS_OK);
  CHECK(hook.asked == 1 && hook.last.size == 1000);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
  wia_tensor_t a = core_tensor(context, 8, 2);
  CHECK(hook.asked == 2);
  CHECK_STATUS(wia_div(context, a, a, a, NULL), WIA_STATUS_OK);
  CHECK(hook.asked == 3 && hook.last.size == 40);
  CHECK(core_has(a, 1, 0));
  core_destroy(a);
  core.workspace_size = 0;
  core_evict();
  const uint32_t asked = hook.asked;
  set(&own);
  CHECK_STATUS(wia_free(allocate(1000)), WIA_STATUS_OK);
  CHECK(own.asked == 1 && hook.asked == asked);
  end(&own);
  CHECK_STATUS(wia_destroy_context(other), WIA_STATUS_OK);
  CHECK_STATUS(wia_set_device_allocator(core_id(device), NULL), WIA_STATUS_OK);
  end(&hook);
}

static void test_shutdown(void) {
  hook_t hook = NEW_HOOK;
  const wia_allocator_t allocator = allocator_of(&hook);
  void *memory = NULL, *arena = NULL;
  CHECK_STATUS(wia_set_device_allocator(core_id(device), &allocator), WIA_STATUS_OK);
  CHECK_STATUS(wia_malloc(&memory, 1000, core_id(device)), WIA_STATUS_OK);
  CHECK_STATUS(wia_allocate_arena(&arena, 1000, core_id(device), NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_shutdown(WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK(hook.freed == 1 && hook.released == 1);
  CHECK_CLEAN();
  context = core_context(device);
  CHECK_STATUS(wia_malloc(&memory, 1000, core_id(device)), WIA_STATUS_OK);
  CHECK(hook.asked == 1);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
}

/* -- threads ------------------------------------------------------------------------------------- */

enum { THREADS = 3, ROUNDS = 40 };

static void *use(void *argument) {
  (void)argument;
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  for (uint32_t i = 0; i < ROUNDS; i++) {
    void *memory = NULL;
    const uint32_t pattern = i;
    CHECK_STATUS(wia_malloc_async(context, 1000, NULL, stream, &memory), WIA_STATUS_OK);
    CHECK_STATUS(wia_fill_memory(memory, &pattern, 4, 1000, stream), WIA_STATUS_OK);
    CHECK_STATUS(wia_free_async(memory, stream), WIA_STATUS_OK);
  }
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  return NULL;
}

/* One thread changes the allocator while others use it. */
static void test_threads(int32_t mode) {
  hook_t hook = NEW_HOOK;
  pthread_t threads[THREADS];
  pool_mode(mode);
  set(&hook);
  for (uint32_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, use, NULL) == 0);
  for (uint32_t i = 0; i < ROUNDS / 10; i++) set(&hook);
  for (uint32_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  CHECK_STATUS(wia_set_allocator(context, NULL), WIA_STATUS_OK);
  CHECK_CLEAN();
  CHECK(hook.freed == hook.gave && hook.gave && !hook.wrong);
  CHECK(hook.released == 1 + ROUNDS / 10);
}

static void run_tests(bool host) {
  (void)host;
  test_each_allocation();
  test_work_in_flight();
  test_under_a_pool();
  test_kinds();
  test_replacing();
  test_bad_arguments();
  test_device();
  test_threads(WIA_MEMORY_POOL_OFF);
  test_threads(WIA_MEMORY_POOL_ON);
  test_shutdown();
}

int main(void) {
  run_on_devices(run_tests);
  return CHECK_DONE();
}
