/* Allocators of the program: what they are asked for, what they may give, when it comes back. */
#include <stdlib.h>

#include "core_driver.h"

enum { BLOCKS = 512, KB = 1 << 10 };

/* An allocator over arenas that notes what it is asked for. */
typedef struct hook_t {
  pthread_mutex_t mutex;
  wia_memory_request_t last; /* of allocate */
  void *given[BLOCKS];
  uint64_t sizes[BLOCKS];
  void *next;    /* given out in place of an arena of its own; NULL: none */
  uint64_t skew; /* added to the address */
  bool empty;    /* has no memory */
  _Atomic uint32_t asked, gave, freed, wrong, released;
} hook_t;
#define NEW_HOOK {.mutex = PTHREAD_MUTEX_INITIALIZER}

static uint32_t device;
static wia_context_t *context;

static void *give(void *argument, const wia_memory_request_t *request) {
  hook_t *hook = argument;
  wia_memory_config_t config = WIA_MEMORY_CONFIG_INIT;
  void *memory = NULL;
  config.kind = request->kind;
  config.alignment = request->alignment;
  pthread_mutex_lock(&hook->mutex);
  hook->asked++;
  hook->last = *request;
  if (hook->next)
    memory = hook->next;
  else if (!hook->empty)
    wia_allocate_arena(&memory, request->size + hook->skew, request->device_id, &config);
  if (memory) memory = (void *)((uintptr_t)memory + hook->skew);
  if (memory) {
    hook->sizes[hook->gave % BLOCKS] = request->size;
    hook->given[hook->gave++ % BLOCKS] = memory;
  }
  pthread_mutex_unlock(&hook->mutex);
  return memory;
}

static void take(void *argument, void *memory, const wia_memory_request_t *request) {
  hook_t *hook = argument;
  pthread_mutex_lock(&hook->mutex);
  uint32_t i = 0;
  while (i < BLOCKS && (hook->given[i] != memory || hook->sizes[i] != request->size)) i++;
  hook->wrong += i == BLOCKS || request->device_id != core_id(device) || request->stream;
  if (i < BLOCKS) hook->given[i] = NULL;
  hook->freed++;
  if (!hook->next && wia_free_arena((void *)((uintptr_t)memory - hook->skew))) hook->wrong++;
  pthread_mutex_unlock(&hook->mutex);
}

static void let_go(void *argument) { ((hook_t *)argument)->released++; }

static wia_allocator_t allocator_of(hook_t *hook) {
  wia_allocator_t allocator = WIA_ALLOCATOR_INIT;
  allocator.allocate = give;
  allocator.free = take;
  allocator.release = let_go;
  allocator.context = hook;
  allocator.name = "the test's arenas";
  return allocator;
}

static void set(hook_t *hook) {
  const wia_allocator_t allocator = allocator_of(hook);
  CHECK_STATUS(wia_set_allocator(context, &allocator), WIA_STATUS_OK);
}

static void pool_mode(int32_t mode) {
  wia_memory_pool_config_t config = WIA_MEMORY_POOL_CONFIG_INIT;
  config.mode = mode;
  CHECK_STATUS(wia_configure_memory_pool(context, &config), WIA_STATUS_OK);
}

static void *allocate(uint64_t size) {
  void *memory = NULL;
  CHECK_STATUS(wia_malloc_async(context, size, NULL, NULL, &memory), WIA_STATUS_OK);
  return memory;
}

static void refuse(wia_status_t status, const char *text) {
  void *memory = NULL;
  CHECK_STATUS(wia_malloc_async(context, 1000, NULL, NULL, &memory), status);
  CHECK(memory == NULL);
  CHECK_MESSAGE("the test's arenas");
  CHECK_MESSAGE(text);
}

/* Takes the allocator off, and everything has come back: once, and as it was given. */
static void end(const hook_t *hook) {
  CHECK_STATUS(wia_set_allocator(context, NULL), WIA_STATUS_OK);
  CHECK_CLEAN();
  CHECK(hook->freed == hook->gave && hook->wrong == 0 && hook->released == 1);
}

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

/* -- what it may give ---------------------------------------------------------------------------- */

static void test_refusals(void) {
  static _Alignas(64) unsigned char own[8 * KB]; /* host memory */
  hook_t hook = NEW_HOOK;
  hook.empty = true;
  void *arena = NULL, *elsewhere = NULL;
  pool_mode(WIA_MEMORY_POOL_OFF);
  set(&hook);
  refuse(WIA_STATUS_RESOURCE_EXHAUSTED, "gave none: 1000 bytes were asked for");
  hook.empty = false;
  hook.skew = 8;
  refuse(WIA_STATUS_INTERNAL, "is not aligned");
  CHECK(hook.gave == 1 && hook.freed == 1 && hook.wrong == 0); /* it has it back */
  hook.skew = 0;
  CHECK_STATUS(wia_allocate_arena(&arena, 1000, core_id(device), NULL), WIA_STATUS_OK);
  hook.next = (void *)((uintptr_t)arena + 512);
  refuse(WIA_STATUS_INTERNAL, "leaves its arena");
  hook.next = (void *)((uintptr_t)arena - 512);
  refuse(WIA_STATUS_INTERNAL, "leaves its arena");
  CHECK_STATUS(wia_allocate_arena(&elsewhere, 1000,
                                  core_id(device == CORE_OTHER ? CORE_PLAIN : CORE_OTHER), NULL),
               WIA_STATUS_OK);
  hook.next = elsewhere;
  refuse(WIA_STATUS_INTERNAL, "is in an arena of another device");
  hook.next = (void *)(UINTPTR_MAX - 63);
  refuse(WIA_STATUS_INTERNAL, "leaves the address space");
  wia_device_info_t info = WIA_DEVICE_INFO_INIT;
  CHECK_STATUS(wia_get_device_info(core_id(device), &info), WIA_STATUS_OK);
  hook.next = own;
  if (!(info.flags & WIA_DEVICE_HOST_ADDRESSABLE))
    refuse(WIA_STATUS_INTERNAL, "is in no arena, and the device has no host addresses");
  hook.next = arena;
  const uint32_t freed = hook.freed;
  void *memory = allocate(1000);
  CHECK(memory == arena);
  refuse(WIA_STATUS_INTERNAL, "is in use already");
  CHECK(hook.freed == freed); /* it is the other's */
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
  CHECK(hook.freed == freed + 1);
  CHECK_STATUS(wia_free_arena(elsewhere), WIA_STATUS_OK);
  CHECK_STATUS(wia_free_arena(arena), WIA_STATUS_OK);
  CHECK_STATUS(wia_free_arena(arena), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_free_arena(NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_allocate_arena(&arena, 0, core_id(device), NULL), WIA_STATUS_OK);
  CHECK(arena == NULL);
  CHECK_STATUS(wia_allocate_arena(NULL, 1, core_id(device), NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_allocate_arena(&arena, UINT64_MAX, core_id(device), NULL),
               WIA_STATUS_RESOURCE_EXHAUSTED);
  hook.gave -= 1; /* what was in use already */
  end(&hook);
}

/* Blocks of one arena: each is an allocation, and what lies between them is none. */
static void test_parts(void) {
  hook_t hook = NEW_HOOK;
  void *arena = NULL;
  pool_mode(WIA_MEMORY_POOL_OFF);
  set(&hook);
  CHECK_STATUS(wia_allocate_arena(&arena, 4 * KB, core_id(device), NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_fill_memory(arena, "a", 1, 64, NULL), WIA_STATUS_INVALID_ARGUMENT);
  hook.next = (void *)((uintptr_t)arena + KB);
  wia_tensor_t a = core_tensor(context, 8, 1);
  hook.next = (void *)((uintptr_t)arena + 2 * KB);
  wia_tensor_t b = core_tensor(context, 8, 5);
  CHECK_STATUS(wia_free_arena(arena), WIA_STATUS_OK); /* goes with its last part */
  CHECK_STATUS(wia_sub(context, b, a, b, NULL), WIA_STATUS_OK);
  CHECK(core_has(b, 4, 0) && core_has(a, 1, 1));
  wia_address_info_t where = WIA_ADDRESS_INFO_INIT;
  CHECK_STATUS(wia_query_address((void *)((uintptr_t)arena + KB + 8), &where), WIA_STATUS_OK);
  CHECK(where.size == 32 && where.offset == 8);
  CHECK_STATUS(wia_query_address((void *)((uintptr_t)arena + KB + 32), &where),
               WIA_STATUS_NOT_FOUND);
  core_destroy(a);
  CHECK(core.allocations > core.frees);
  CHECK(core_has(b, 4, 0));
  core_destroy(b);
  end(&hook);
}

/* Where the device has host addresses memory may be from anywhere. */
static void test_host_memory(void) {
  static _Alignas(64) float own[64];
  hook_t hook = NEW_HOOK;
  hook.next = own;
  core.imports = true;
  pool_mode(WIA_MEMORY_POOL_OFF);
  set(&hook);
  wia_tensor_t a = core_tensor(context, 64, 1);
  CHECK(own[0] == 1 && own[63] == 64);
  CHECK_STATUS(wia_add(context, a, a, a, NULL), WIA_STATUS_OK);
  CHECK(own[0] == 2 && core_has(a, 2, 2));
  core_destroy(a);
  end(&hook);
  core.imports = false;
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

int main(void) {
  setenv("WIA_MEMORY_POOL", "on", 1);
  setenv("WIA_PLAN_CACHE_SIZE", "4", 1);
  core_start();
  for (device = 0; device < CORE_ALL_COUNT; device++) {
    context = core_context(device);
    wia_device_info_t info = WIA_DEVICE_INFO_INIT;
    CHECK_STATUS(wia_get_device_info(core_id(device), &info), WIA_STATUS_OK);
    test_each_allocation();
    test_work_in_flight();
    test_under_a_pool();
    test_kinds();
    test_refusals();
    test_parts();
    if (info.flags & WIA_DEVICE_HOST_ADDRESSABLE) test_host_memory();
    test_replacing();
    test_bad_arguments();
    test_device();
    test_threads(WIA_MEMORY_POOL_OFF);
    test_threads(WIA_MEMORY_POOL_ON);
    test_shutdown();
    CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
    core_evict();
    CHECK_CLEAN();
  }
  return CHECK_DONE();
}
