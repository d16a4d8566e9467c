#include "core_driver.h"

#include <time.h>

enum { CANARY = 0xa5, CANARY_SIZE = 64 };

core_state_t core = {.kernel_flags = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE,
                     .memory_limit = UINT64_MAX,
                     .graph_status = WIA_STATUS_UNIMPLEMENTED,
                     .fail_message = "",
                     .fail_cause = ""};

struct wia_driver_device_s {
  uint32_t index;
  _Atomic uint32_t inside;
  _Atomic uint64_t owner; /* the thread that is inside; it may come back from prepare */
  _Atomic uint64_t live_size;
  uint64_t next_address; /* of CORE_SPLIT */
};

struct wia_driver_memory_s {
  wia_driver_device_t device;
  uint64_t size, address;
  unsigned char *bytes, *block;
  struct wia_driver_memory_s *next;
};

static struct wia_driver_device_s devices[CORE_ALL_COUNT] = {
    {.index = CORE_PLAIN},
    {.index = CORE_OTHER},
    {.index = CORE_OPAQUE},
    {.index = CORE_SERIAL},
    {.index = CORE_SPLIT, .next_address = UINT64_C(1) << 60},
    {.index = CORE_BARE},
    {.index = CORE_QUEUED},
    {.index = CORE_SPARSE}};

static pthread_mutex_t memories_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct wia_driver_memory_s *memories;

void core_fault(const char *what) {
  atomic_fetch_add(&core.faults, 1);
  printf("fault: %s\n", what);
  fflush(stdout);
}

/* -- one call at a time on the serial device ----------------------------------------------------- */

static void enter(wia_driver_device_t device) {
  const uint64_t self = (uint64_t)pthread_self();
  if (atomic_fetch_add(&device->inside, 1) == 0)
    atomic_store(&device->owner, self);
  else if (device->index == CORE_SERIAL && atomic_load(&device->owner) != self)
    core_fault("two calls at once of a serial device");
}

static void leave(wia_driver_device_t device) { atomic_fetch_sub(&device->inside, 1); }

void core_enter(wia_driver_memory_t memory) {
  if (memory) enter(memory->device);
}
void core_leave(wia_driver_memory_t memory) {
  if (memory) leave(memory->device);
}

/* -- devices ------------------------------------------------------------------------------------- */

static wia_status_t count_devices(wia_driver_self_t self, uint32_t *out_count, wia_error_t *error) {
  (void)error;
  *out_count = self ? 1 : CORE_DEVICE_COUNT;
  return WIA_STATUS_OK;
}

static wia_status_t open_device(wia_driver_self_t self, uint32_t index,
                                wia_driver_device_t *out_device, wia_error_t *error) {
  (void)error;
  core.opens++;
  *out_device = self ? (wia_driver_device_t)(void *)self : &devices[index];
  return WIA_STATUS_OK;
}

static void close_device(wia_driver_device_t device) { (void)device; }

static wia_status_t get_info(wia_driver_device_t device, wia_driver_device_info_t *out_info,
                             wia_error_t *error) {
  static const uint32_t flags[] = {[CORE_PLAIN] = WIA_DEVICE_HOST_ADDRESSABLE,
                                   [CORE_OTHER] = WIA_DEVICE_HOST_ADDRESSABLE,
                                   [CORE_OPAQUE] = WIA_DEVICE_OPAQUE_MEMORY,
                                   [CORE_SERIAL] = WIA_DEVICE_HOST_ADDRESSABLE | WIA_DEVICE_SERIAL,
                                   [CORE_SPLIT] = 0,
                                   [CORE_BARE] = WIA_DEVICE_HOST_ADDRESSABLE,
                                   [CORE_QUEUED] = WIA_DEVICE_HOST_ADDRESSABLE,
                                   [CORE_SPARSE] = WIA_DEVICE_HOST_ADDRESSABLE};
  (void)error;
  out_info->flags = flags[device->index];
  out_info->description = "memory of the test";
  out_info->memory_kind_count = 2;
  return WIA_STATUS_OK;
}

static wia_status_t get_memory_kind(wia_driver_device_t device, uint32_t index,
                                    wia_memory_kind_info_t *out_info, wia_error_t *error) {
  (void)error;
  if (index > 1) core_fault("a memory kind beyond the count");
  const uint64_t limit = atomic_load(&core.memory_limit);
  out_info->kind = index ? WIA_MEMORY_HOST_PINNED : WIA_MEMORY_DEVICE;
  out_info->total_size = limit == UINT64_MAX ? 0 : limit;
  out_info->free_size = limit == UINT64_MAX ? 0 : limit - device->live_size;
  return WIA_STATUS_OK;
}

/* -- memory: exact blocks with canary bytes behind ----------------------------------------------- */

static bool take_size(wia_driver_device_t device, uint64_t size) {
  uint64_t live = atomic_load(&device->live_size);
  do {
    const uint64_t limit = atomic_load(&core.memory_limit);
    if (size > limit || live > limit - size) return false;
  } while (!atomic_compare_exchange_weak(&device->live_size, &live, live + size));
  return true;
}

static wia_status_t allocate(wia_driver_device_t device, int32_t kind, uint64_t size,
                             uint64_t alignment, wia_operand_t *out_memory, wia_error_t *error) {
  if (kind != WIA_MEMORY_DEVICE && kind != WIA_MEMORY_HOST_PINNED) return WIA_STATUS_UNIMPLEMENTED;
  if (size == 0 || alignment < 64 || alignment & (alignment - 1)) core_fault("a bad allocation");
  if (size > UINT64_C(1) << 40 || !take_size(device, size)) {
    snprintf(error->message, sizeof error->message, "the test's device is full");
    return WIA_STATUS_RESOURCE_EXHAUSTED;
  }
  enter(device);
  wia_driver_memory_t memory = calloc(1, sizeof *memory);
  const uint64_t block_size = (size + CANARY_SIZE + alignment - 1) / alignment * alignment;
  if (!memory || !(memory->block = aligned_alloc(alignment, block_size))) abort();
  memory->device = device;
  memory->size = size;
  memory->bytes = memory->block;
  memset(memory->bytes, 0xee, size);
  memset(memory->bytes + size, CANARY, CANARY_SIZE);
  out_memory->memory = memory;
  pthread_mutex_lock(&memories_mutex);
  if (device->index == CORE_SPLIT) {
    device->next_address = (device->next_address + alignment - 1) / alignment * alignment;
    memory->address = device->next_address;
    device->next_address += size + CANARY_SIZE;
  } else if (device->index != CORE_OPAQUE) {
    memory->address = (uint64_t)(uintptr_t)memory->bytes;
  }
  memory->next = memories;
  memories = memory;
  pthread_mutex_unlock(&memories_mutex);
  if (memory->address) out_memory->address = memory->address + core.allocate_offset;
  atomic_fetch_add(&core.allocations, 1);
  atomic_fetch_add(&core.live_size, size);
  leave(device);
  return WIA_STATUS_OK;
}

static void free_memory(wia_driver_device_t device, const wia_operand_t *operand) {
  core_check_not_telling();
  enter(device);
  wia_driver_memory_t memory = operand->memory;
  pthread_mutex_lock(&memories_mutex);
  struct wia_driver_memory_s **link = &memories;
  while (*link && *link != memory) link = &(*link)->next;
  if (*link)
    *link = memory->next;
  else
    memory = NULL;
  pthread_mutex_unlock(&memories_mutex);
  if (!memory || memory->device != device) {
    core_fault("memory freed that is not the device's");
    leave(device);
    return;
  }
  for (uint32_t i = 0; i < CANARY_SIZE; i++) {
    if (memory->bytes[memory->size + i] != CANARY) {
      core_fault("bytes behind an allocation were written");
      break;
    }
  }
  atomic_fetch_sub(&device->live_size, memory->size);
  atomic_fetch_sub(&core.live_size, memory->size);
  atomic_fetch_add(&core.frees, 1);
  memset(memory->bytes, 0xdd, memory->size); /* who still reads it sees that */
  free(memory->block);
  free(memory);
  leave(device);
}

/* The host memory of an operand: through memory and offset where there are no pointers. */
unsigned char *core_operand_bytes(const wia_operand_t *operand) {
  if (!operand->memory) return (unsigned char *)(uintptr_t)operand->address;
  if (operand->memory->address && operand->address != operand->memory->address + operand->offset)
    core_fault("an operand whose address and offset differ");
  return operand->memory->bytes + operand->offset;
}

/* Memory that was given back before has other bytes, and a race that the thread sanitizer sees. */
void core_touch(const wia_operand_t *operand) {
  if (operand->memory) __atomic_load_n(core_operand_bytes(operand), __ATOMIC_RELAXED);
}

static bool is_inside(const wia_operand_t *operand, uint64_t size) {
  return !operand->memory || (operand->offset <= operand->memory->size &&
                              size <= operand->memory->size - operand->offset);
}

static bool are_apart(const unsigned char *a, const unsigned char *b, uint64_t size) {
  return a + size <= b || b + size <= a;
}

wia_status_t core_copy(wia_driver_device_t device, const wia_copy_t *copies, uint32_t count,
                       wia_error_t *error) {
  enter(device);
  atomic_fetch_add(&core.copies, 1);
  const wia_status_t status = atomic_load(&core.copy_status);
  if (status) snprintf(error->message, sizeof error->message, "the test wants this copy to fail");
  for (uint32_t i = 0; i < count && !status; i++) {
    const wia_copy_t *c = &copies[i];
    unsigned char *to = core_operand_bytes(&c->destination);
    const unsigned char *from = core_operand_bytes(&c->source);
    if ((c->destination.memory && c->destination.memory->device != device) ||
        (c->source.memory && c->source.memory->device != device) ||
        (!c->destination.memory && !c->source.memory && !core.imports))
      core_fault("a copy of another device's memory");
    if (c->size == 0 || !is_inside(&c->destination, c->size) || !is_inside(&c->source, c->size))
      core_fault("a copy beyond an allocation");
    if (!are_apart(to, from, c->size)) core_fault("a copy onto itself");
    for (uint32_t j = 0; j < i; j++) {
      if (!are_apart(to, core_operand_bytes(&copies[j].destination), c->size))
        core_fault("two copies to one place");
    }
    if (core.only_touch) {
      core_touch(&c->destination);
      core_touch(&c->source);
    } else {
      memmove(to, from, c->size);
    }
  }
  leave(device);
  return status;
}

static wia_status_t copy_to_peer(wia_driver_device_t device, wia_driver_device_t peer,
                                 const wia_copy_t *copies, uint32_t count, wia_error_t *error) {
  const wia_status_t status = atomic_load(&core.peer_status);
  core_check_not_telling();
  atomic_fetch_add(&core.peer_copies, 1);
  if (status) snprintf(error->message, sizeof error->message, "the test wants this copy to fail");
  if (device->index == CORE_SERIAL || peer->index == CORE_SERIAL)
    core_fault("a serial device that gets calls of another's");
  for (uint32_t i = 0; i < count && !status; i++) {
    const wia_copy_t *c = &copies[i];
    if (!c->source.memory || c->source.memory->device != device || !c->destination.memory ||
        c->destination.memory->device != peer)
      core_fault("a copy that doesn't lead from the device to its peer");
    if (c->size == 0 || !is_inside(&c->destination, c->size) || !is_inside(&c->source, c->size))
      core_fault("a copy beyond an allocation");
    memcpy(core_operand_bytes(&c->destination), core_operand_bytes(&c->source), c->size);
  }
  return status;
}

wia_status_t core_fill(wia_driver_device_t device, const wia_operand_t *target, uint64_t size,
                       const void *pattern, uint32_t pattern_size, wia_error_t *error) {
  (void)error;
  enter(device);
  unsigned char *to = core_operand_bytes(target);
  if (!is_inside(target, size) || size % pattern_size) core_fault("a fill beyond an allocation");
  for (uint64_t i = 0; i < size; i += pattern_size) memcpy(to + i, pattern, pattern_size);
  leave(device);
  return atomic_load(&core.copy_status);
}

static wia_status_t prepare(wia_driver_device_t device, const wia_request_t *request,
                            wia_driver_kernel_t *out_kernel, wia_error_t *error) {
  enter(device);
  const wia_status_t status = core_prepare(request, out_kernel, error);
  leave(device);
  if (device->index >= CORE_QUEUED) out_kernel->flags |= WIA_KERNEL_ASYNC;
  if (out_kernel->flags & CORE_KERNEL_WAITS)
    out_kernel->flags &= (uint32_t)~(CORE_KERNEL_WAITS | WIA_KERNEL_ASYNC);
  return status;
}

static wia_status_t get_support(wia_driver_device_t device, const char *op_name,
                                uint64_t *out_dtypes, wia_error_t *error) {
  (void)device, (void)error;
  *out_dtypes = strcmp(op_name, "add") == 0 ? UINT64_C(1) << WIA_FLOAT32 | 1 : 0;
  return WIA_STATUS_OK;
}

#define REQUIRED                                                                                   \
  .struct_size = sizeof(wia_driver_t), .version = "1.0", .vendor = "tests",                        \
  .count_devices = count_devices, .open_device = open_device, .close_device = close_device,        \
  .get_info = get_info, .get_memory_kind = get_memory_kind, .allocate = allocate,                  \
  .free = free_memory, .copy = core_copy, .prepare = prepare
#define OF_DEVICE(index) .self = (wia_driver_self_t)(void *)&devices[index]
static const wia_driver_t tables[] = {
    {REQUIRED, .name = "core", .fill = core_fill, .get_support = get_support,
     .copy_to_peer = copy_to_peer, .graphs = &core_graphs},
    {REQUIRED, .name = "bare", OF_DEVICE(CORE_BARE)},
    {REQUIRED, .name = "queued", OF_DEVICE(CORE_QUEUED), .fill = core_fill,
     .streams = &core_streams, .graphs = &core_graphs},
    {REQUIRED, .name = "sparse", OF_DEVICE(CORE_SPARSE), .streams = &core_sparse_streams}};

/* -- for tests ----------------------------------------------------------------------------------- */

wia_status_t core_register(void) {
  static uint32_t registered;
  setenv("WIA_DRIVERS", "core,bare,queued,sparse", 0);
  setenv("WIA_LIBPYTHON", "no-such-python", 1);
  wia_status_t status = WIA_STATUS_OK;
  while (!status && registered < sizeof tables / sizeof *tables) {
    status = wia_register_driver(&tables[registered], WIA_DRIVER_ABI_MAJOR, WIA_DRIVER_ABI_MINOR);
    registered += !status;
  }
  return status;
}

/* A child finds the list whole and free: drivers are called without any mutex of the library. */
static void before_fork(void) { pthread_mutex_lock(&memories_mutex); }
static void behind_fork(void) { pthread_mutex_unlock(&memories_mutex); }

void core_start(void) {
  check_counts();
  pthread_atfork(before_fork, behind_fork, behind_fork);
  /* what is given back is looked for, with canaries behind it */
  setenv("WIA_MEMORY_POOL", "off", 0);
  setenv("WIA_PLAN_CACHE_SIZE", "32", 0); /* core_evict has few to push out */
  unsetenv("WIA_DRIVER_PATH");
  if (!CHECK_STATUS(core_register(), WIA_STATUS_OK)) exit(CHECK_DONE());
}

const char *core_name(uint32_t device) {
  static const char *const names[CORE_ALL_COUNT] = {"core:0", "core:1", "core:2",   "core:3",
                                                    "core:4", "bare:0", "queued:0", "sparse:0"};
  return names[device];
}

int32_t core_id(uint32_t device) {
  int32_t id = -1;
  CHECK_STATUS(wia_find_device(core_name(device), &id), WIA_STATUS_OK);
  return id;
}

wia_context_t *core_context(uint32_t device) {
  wia_context_t *context = NULL;
  CHECK_STATUS(wia_create_context(&context, core_id(device)), WIA_STATUS_OK);
  return context;
}

/* Kernels that are neither released nor in a cache. Refusals in caches make it an estimate from
 * below. */
static int64_t lost_kernels(void) {
  int64_t held = (int64_t)core.kernels - core.releases;
  for (uint32_t i = 0; i < CORE_ALL_COUNT; i++) {
    wia_plan_cache_stats_t stats = WIA_PLAN_CACHE_STATS_INIT;
    if (wia_get_plan_cache_stats(core_id(i), &stats) == WIA_STATUS_OK)
      held -= (int64_t)stats.entry_count;
  }
  return held;
}

bool core_is_clean(void) {
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  for (uint32_t i = 0; i < 5000; i++) {
    /* any call lets the library destroy what nobody uses */
    for (uint32_t j = 0; j < 64; j++) wia_get_tensor_info(NULL, &info);
    if (core.allocations == core.frees && lost_kernels() <= 0 && !core_live_streams()) break;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  const bool clean = core.allocations == core.frees && lost_kernels() <= 0 && core.faults == 0 &&
                     !core_live_streams();
  if (!clean)
    printf("%u allocations, %u frees, %lld kernels lost, %u streams, %u faults\n", core.allocations,
           core.frees, (long long)lost_kernels(), core_live_streams(), core.faults);
  return clean;
}
