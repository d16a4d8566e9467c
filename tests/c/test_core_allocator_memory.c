/* Allocators of the program: the memory that they give, and what is said of memory that is no good. */
#include "core_allocator.h"

static void refuse(wia_status_t status, const char *text) {
  void *memory = NULL;
  CHECK_STATUS(wia_malloc_async(context, 1000, NULL, NULL, &memory), status);
  CHECK(memory == NULL);
  CHECK_MESSAGE("the test's arenas");
  CHECK_MESSAGE(text);
}

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

/* -- calls inside of it -------------------------------------------------------------------------- */

static _Thread_local bool inside;
static _Atomic uint32_t freed_inside, refused_inside;

/* Asks the driver for more than there is, as an allocator might for another block. */
static void *give_in_need(void *argument, const wia_memory_request_t *request) {
  void *memory = NULL;
  inside = true;
  refused_inside +=
      wia_malloc(&memory, UINT64_C(1) << 32, request->device_id) == WIA_STATUS_RESOURCE_EXHAUSTED;
  inside = false;
  return give(argument, request);
}

static void take_in_need(void *argument, void *memory, const wia_memory_request_t *request) {
  freed_inside += inside;
  take(argument, memory, request);
}

/* What fails inside of an allocator gives nothing back to it: it may hold a lock of its own. */
static void test_need_inside(void) {
  hook_t hook = NEW_HOOK;
  wia_allocator_t allocator = allocator_of(&hook);
  void *memory = NULL, *more = NULL;
  allocator.allocate = give_in_need;
  allocator.free = take_in_need;
  pool_mode(WIA_MEMORY_POOL_ON);
  CHECK_STATUS(wia_set_allocator(context, &allocator), WIA_STATUS_OK);
  core.memory_limit = UINT64_C(1) << 30;
  freed_inside = refused_inside = 0;
  CHECK_STATUS(wia_free(allocate(1000)), WIA_STATUS_OK);
  CHECK(hook.asked == 1 && hook.freed == 0 && refused_inside == 1);
  CHECK_STATUS(wia_malloc_async(context, 4 << 20, NULL, NULL, &more), WIA_STATUS_OK);
  CHECK(hook.asked == 2 && hook.freed == 0 && refused_inside == 2 && freed_inside == 0);
  CHECK_STATUS(wia_malloc(&memory, UINT64_C(1) << 32, core_id(device)),
               WIA_STATUS_RESOURCE_EXHAUSTED);
  CHECK(hook.freed == 1); /* outside of it what is kept comes back */
  core.memory_limit = UINT64_MAX;
  CHECK_STATUS(wia_free(more), WIA_STATUS_OK);
  end(&hook);
}

static void run_tests(bool host) {
  test_refusals();
  test_parts();
  if (host) test_host_memory();
  test_need_inside();
}

int main(void) {
  run_on_devices(run_tests);
  return CHECK_DONE();
}
