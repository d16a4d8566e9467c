/* core_allocator.h: an allocator for the tests of allocators, over arenas. Included once a program. */
#ifndef TEST_CORE_ALLOCATOR_H
#define TEST_CORE_ALLOCATOR_H

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

static inline void *give(void *argument, const wia_memory_request_t *request) {
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

static inline void take(void *argument, void *memory, const wia_memory_request_t *request) {
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

static inline void let_go(void *argument) { ((hook_t *)argument)->released++; }

static inline wia_allocator_t allocator_of(hook_t *hook) {
  wia_allocator_t allocator = WIA_ALLOCATOR_INIT;
  allocator.allocate = give;
  allocator.free = take;
  allocator.release = let_go;
  allocator.context = hook;
  allocator.name = "the test's arenas";
  return allocator;
}

static inline void set(hook_t *hook) {
  const wia_allocator_t allocator = allocator_of(hook);
  CHECK_STATUS(wia_set_allocator(context, &allocator), WIA_STATUS_OK);
}

static inline void pool_mode(int32_t mode) {
  wia_memory_pool_config_t config = WIA_MEMORY_POOL_CONFIG_INIT;
  config.mode = mode;
  CHECK_STATUS(wia_configure_memory_pool(context, &config), WIA_STATUS_OK);
}

static inline void *allocate(uint64_t size) {
  void *memory = NULL;
  CHECK_STATUS(wia_malloc_async(context, size, NULL, NULL, &memory), WIA_STATUS_OK);
  return memory;
}

/* Takes the allocator off, and everything has come back: once, and as it was given. */
static inline void end(const hook_t *hook) {
  CHECK_STATUS(wia_set_allocator(context, NULL), WIA_STATUS_OK);
  CHECK_CLEAN();
  CHECK(hook->freed == hook->gave && hook->wrong == 0 && hook->released == 1);
}

/* Runs tests on each device; host: whether it has host addresses. */
static inline void run_on_devices(void (*tests)(bool host)) {
  setenv("WIA_MEMORY_POOL", "on", 1);
  setenv("WIA_PLAN_CACHE_SIZE", "4", 1);
  core_start();
  for (device = 0; device < CORE_ALL_COUNT; device++) {
    context = core_context(device);
    wia_device_info_t info = WIA_DEVICE_INFO_INIT;
    CHECK_STATUS(wia_get_device_info(core_id(device), &info), WIA_STATUS_OK);
    tests(info.flags & WIA_DEVICE_HOST_ADDRESSABLE);
    CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
    core_evict();
    CHECK_CLEAN();
  }
}

#endif
