/* Import of host memory: addresses, release, read-only, sharing, work in flight, statistics. */
#include <time.h>

#include "core_driver.h"

enum { COUNT = 16 };

typedef struct owner_t {
  _Atomic uint32_t released;
} owner_t;

static void release(void *context) { atomic_fetch_add(&((owner_t *)context)->released, 1); }

/* Whether the owner is told, maybe by another thread a little later, and once. */
static bool is_released(owner_t *owner) {
  const struct timespec pause = {.tv_nsec = 1000000};
  for (uint32_t i = 0; i < 10000 && !atomic_load(&owner->released); i++) nanosleep(&pause, NULL);
  return atomic_load(&owner->released) == 1;
}

static wia_import_config_t config_of(owner_t *owner, uint32_t flags) {
  wia_import_config_t config = WIA_IMPORT_CONFIG_INIT;
  config.flags = flags;
  config.release = release;
  config.context = owner;
  return config;
}

static wia_memory_info_t imported(uint32_t device) {
  wia_memory_info_t info = WIA_MEMORY_INFO_INIT;
  CHECK_STATUS(wia_get_memory_info(core_id(device), WIA_MEMORY_IMPORTED, &info), WIA_STATUS_OK);
  return info;
}

static void number(float *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) values[i] = (float)i;
}

static wia_tensor_t import_tensor(wia_context_t *context, float *values, int64_t count,
                                  owner_t *owner, uint32_t flags) {
  wia_tensor_t tensor = NULL;
  const wia_import_config_t config = config_of(owner, flags);
  CHECK_STATUS(wia_import_tensor(context, values, &count, NULL, 1, WIA_FLOAT32, &config, &tensor),
               WIA_STATUS_OK);
  return tensor;
}

static void wait_at(wia_context_t *context, wia_tensor_t a, wia_tensor_t out,
                    wia_stream_t *stream) {
  core_close_gate();
  CHECK_STATUS(wia_relu(context, a, out, stream), WIA_STATUS_OK);
  CHECK(core_await_gate(1));
}

static void test_memory(uint32_t device) {
  float values[COUNT], back[COUNT] = {0};
  owner_t owner = {0};
  number(values, COUNT);
  const uint64_t peak = imported(device).peak_size, total = imported(device).total_count;
  const wia_import_config_t config = config_of(&owner, 0);
  CHECK_STATUS(wia_import_memory(values, sizeof values, core_id(device), &config), WIA_STATUS_OK);
  wia_address_info_t info = WIA_ADDRESS_INFO_INIT;
  CHECK_STATUS(wia_query_address(&values[3], &info), WIA_STATUS_OK);
  CHECK(info.kind == WIA_MEMORY_IMPORTED && info.device_id == core_id(device) && !info.pending);
  CHECK(info.base == (uint64_t)(uintptr_t)values && info.size == sizeof values &&
        info.offset == 12);
  wia_memory_info_t counts = imported(device);
  CHECK(counts.live_size == sizeof values && counts.live_count == 1);
  CHECK(counts.peak_size >= peak && counts.total_count == total + 1);
  CHECK_STATUS(wia_copy_device_to_host(back, values, sizeof back, NULL), WIA_STATUS_OK);
  CHECK(memcmp(back, values, sizeof back) == 0);
  const float one = 1;
  CHECK_STATUS(wia_fill_memory(values, &one, sizeof one, 2 * sizeof one, NULL), WIA_STATUS_OK);
  CHECK(values[0] == 1 && values[1] == 1 && values[2] == 2);
  CHECK_STATUS(wia_free(&values[1]), WIA_STATUS_INVALID_ARGUMENT);
  CHECK(owner.released == 0);
  CHECK_STATUS(wia_free(values), WIA_STATUS_OK);
  CHECK(is_released(&owner));
  CHECK_STATUS(wia_free(values), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_query_address(values, &info), WIA_STATUS_NOT_FOUND);
  counts = imported(device);
  CHECK(counts.live_size == 0 && counts.live_count == 0 && counts.deferred_count == 0);
  CHECK_STATUS(wia_import_memory(values, sizeof values, core_id(device), NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(values), WIA_STATUS_OK); /* nobody to tell */
}

static void test_wrapped(void) {
  float values[COUNT];
  number(values, COUNT);
  wia_context_t *context = core_context(CORE_PLAIN);
  const int64_t shape[] = {COUNT};
  wia_tensor_t a = NULL, b = core_tensor(context, COUNT, 0);
  CHECK_STATUS(wia_import_memory(values, sizeof values, core_id(CORE_PLAIN), NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_wrap_tensor(context, values, shape, NULL, 1, WIA_FLOAT32, &a), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, a, a, b, NULL), WIA_STATUS_OK);
  CHECK(core_has(b, 0, 2));
  CHECK_STATUS(wia_add(context, b, b, a, NULL), WIA_STATUS_OK);
  CHECK(values[0] == 0 && values[5] == 20);
  CHECK_STATUS(wia_free(values), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, a, a, b, NULL), WIA_STATUS_INVALID_HANDLE);
  core_destroy(a);
  core_destroy(b);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

/* Imported memory is the host's: a copy between it and another device of the driver is no copy between
 * two devices' memories. Found by fuzz_calls. */
static void test_peer(void) {
  float values[COUNT], back[COUNT] = {0};
  void *other = NULL;
  number(values, COUNT);
  CHECK_STATUS(wia_malloc(&other, sizeof values, core_id(CORE_OTHER)), WIA_STATUS_OK);
  CHECK_STATUS(wia_import_memory(values, sizeof values, core_id(CORE_PLAIN), NULL), WIA_STATUS_OK);
  const uint32_t peer_copies = core.peer_copies;
  CHECK_STATUS(wia_copy_device_to_device(other, values, sizeof values, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_copy_device_to_host(back, other, sizeof values, NULL), WIA_STATUS_OK);
  CHECK(memcmp(values, back, sizeof values) == 0);
  memset(values, 0, sizeof values);
  CHECK_STATUS(wia_copy_device_to_device(values, other, sizeof values, NULL), WIA_STATUS_OK);
  CHECK(memcmp(values, back, sizeof values) == 0);
  CHECK(core.peer_copies == peer_copies);
  CHECK_STATUS(wia_free(values), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(other), WIA_STATUS_OK);
}

static void test_refused(void) {
  float values[COUNT];
  const int32_t id = core_id(CORE_PLAIN);
  const uint32_t hostless[] = {CORE_OPAQUE, CORE_SPLIT};
  owner_t owner = {0};
  wia_import_config_t config = config_of(&owner, 0);
  for (uint32_t i = 0; i < 2; i++) {
    CHECK_STATUS(wia_import_memory(values, sizeof values, core_id(hostless[i]), &config),
                 WIA_STATUS_UNIMPLEMENTED);
    CHECK_MESSAGE(hostless[i] == CORE_OPAQUE ? "core:2" : "core:4");
  }
  CHECK_STATUS(wia_import_memory(NULL, 4, id, &config), WIA_STATUS_INVALID_ARGUMENT);
  const uint64_t sizes[] = {0, UINT64_C(1) << 63, UINT64_MAX};
  for (uint32_t i = 0; i < 3; i++)
    CHECK_STATUS(wia_import_memory(values, sizes[i], id, &config), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_import_memory((void *)(uintptr_t)(UINT64_MAX - 3), 8, id, &config),
               WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_import_memory(values, 4, 4711, &config), WIA_STATUS_NOT_FOUND);
  config.flags = 2;
  CHECK_STATUS(wia_import_memory(values, 4, id, &config), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("WIA_IMPORT_READ_ONLY");
  config.flags = 0;
  CHECK_STATUS(wia_import_memory(&values[4], 16, id, &config), WIA_STATUS_OK);
  for (uint32_t i = 1; i < 8; i++) /* before, at, in, at the end of and behind [4, 8) */
    CHECK_STATUS(wia_import_memory(&values[i], 16, core_id(CORE_OTHER), &config),
                 WIA_STATUS_ALREADY_EXISTS);
  CHECK_MESSAGE("core:1");
  CHECK_STATUS(wia_import_memory(&values[0], 16, id, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_import_memory(&values[8], 16, id, NULL), WIA_STATUS_OK);
  CHECK(owner.released == 0);
  for (uint32_t i = 0; i < 3; i++) CHECK_STATUS(wia_free(&values[4 * i]), WIA_STATUS_OK);
  CHECK(is_released(&owner));
}

static void test_tensor(uint32_t device) {
  float values[COUNT];
  owner_t owner = {0};
  number(values, COUNT);
  wia_context_t *context = core_context(device);
  wia_tensor_t a = NULL, b = core_tensor(context, 4, 0), view = NULL;
  const wia_import_config_t config = config_of(&owner, 0);
  /* elements 15, 11, 7, 3 */
  CHECK_STATUS(wia_import_tensor(context, &values[15], (const int64_t[]){4}, (const int64_t[]){-4},
                                 1, WIA_FLOAT32, &config, &a),
               WIA_STATUS_OK);
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(a, &info), WIA_STATUS_OK);
  CHECK(!info.borrowed && !info.read_only && info.address == (uint64_t)(uintptr_t)&values[15]);
  wia_address_info_t address = WIA_ADDRESS_INFO_INIT;
  CHECK_STATUS(wia_query_address(&values[3], &address), WIA_STATUS_OK);
  CHECK(address.base == (uint64_t)(uintptr_t)&values[3] && address.size == 13 * sizeof(float));
  CHECK(core_has(a, 15, -4));
  CHECK_STATUS(wia_free(&values[3]), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_add(context, a, a, b, NULL), WIA_STATUS_OK);
  CHECK(core_has(b, 30, -8));
  CHECK_STATUS(wia_add(context, b, b, a, NULL), WIA_STATUS_OK);
  CHECK(values[15] == 60 && values[3] == 12 && values[4] == 4);
  CHECK_STATUS(wia_view_tensor(a, -4, (const int64_t[]){2}, (const int64_t[]){-4}, 1, &view),
               WIA_STATUS_OK);
  core_destroy(a);
  CHECK(owner.released == 0 && core_has(view, 44, -16));
  core_destroy(view);
  CHECK(is_released(&owner));
  core_destroy(b);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

static void test_tensor_refused(void) {
  float values[COUNT];
  owner_t owner = {0};
  wia_context_t *plain = core_context(CORE_PLAIN), *opaque = core_context(CORE_OPAQUE);
  wia_tensor_t tensor = NULL;
  const wia_import_config_t config = config_of(&owner, 0);
  const int64_t shape[] = {2, 2};
  CHECK_STATUS(wia_import_tensor(opaque, values, shape, NULL, 2, WIA_FLOAT32, &config, &tensor),
               WIA_STATUS_UNIMPLEMENTED);
  CHECK_STATUS(wia_import_tensor(plain, NULL, shape, NULL, 2, WIA_FLOAT32, &config, &tensor),
               WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(
      wia_import_tensor(plain, (char *)values + 2, shape, NULL, 2, WIA_FLOAT32, &config, &tensor),
      WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("aligned");
  CHECK_STATUS(wia_import_tensor(plain, values, shape, NULL, 2, 4711, &config, &tensor),
               WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_import_tensor(plain, values, shape, (const int64_t[]){INT64_MAX / 8, 1}, 2,
                                 WIA_FLOAT32, &config, &tensor),
               WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_import_tensor(plain, values, shape, NULL, 2, WIA_FLOAT32, &config, NULL),
               WIA_STATUS_INVALID_ARGUMENT);
  CHECK(tensor == NULL && owner.released == 0);
  /* without elements there is nothing to keep */
  CHECK_STATUS(wia_import_tensor(plain, NULL, (const int64_t[]){0, 2}, NULL, 2, WIA_FLOAT32,
                                 &config, &tensor),
               WIA_STATUS_OK);
  CHECK(owner.released == 1);
  core_destroy(tensor);
  CHECK_STATUS(wia_destroy_context(plain), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(opaque), WIA_STATUS_OK);
}

static void test_read_only(uint32_t device) {
  float values[COUNT], same[COUNT];
  owner_t owner = {0}, other = {0};
  number(values, COUNT);
  memcpy(same, values, sizeof same);
  wia_context_t *context = core_context(device);
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  wia_tensor_t a = import_tensor(context, values, COUNT, &owner, WIA_IMPORT_READ_ONLY);
  wia_tensor_t b = core_tensor(context, COUNT, 1), tensor = NULL;
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(a, &info), WIA_STATUS_OK);
  CHECK(info.read_only == 1);
  wia_plan_t *plan = NULL;
  const wia_tensor_t good[] = {b, b, b}, bad[] = {b, b, a};
  CHECK_STATUS(wia_create_operation_plan(context, WIA_OP_ADD, good, 2, bad + 2, 1, NULL, 0, &plan),
               WIA_STATUS_INVALID_ARGUMENT);
  wia_stream_t *const streams[] = {NULL, stream};
  for (uint32_t i = 0; i < 2; i++) {
    CHECK_STATUS(wia_add(context, b, b, a, streams[i]), WIA_STATUS_INVALID_ARGUMENT);
    CHECK_MESSAGE("read-only");
    CHECK_STATUS(wia_write_tensor(a, same, sizeof same, streams[i]), WIA_STATUS_INVALID_ARGUMENT);
    CHECK_STATUS(wia_fill_memory(values, "", 1, 4, streams[i]), WIA_STATUS_INVALID_ARGUMENT);
    CHECK_STATUS(wia_copy_host_to_device(values, same, 4, streams[i]), WIA_STATUS_INVALID_ARGUMENT);
    CHECK_STATUS(wia_copy_device_to_device(values, &values[4], 4, streams[i]),
                 WIA_STATUS_INVALID_ARGUMENT);
    CHECK_MESSAGE("read-only");
  }
  wia_view_t views[3] = {{0}};
  const int64_t shape[] = {COUNT};
  for (uint32_t i = 0; i < 3; i++)
    views[i] =
        (wia_view_t){.address = info.address, .dtype = WIA_FLOAT32, .rank = 1, .shape = shape};
  CHECK_STATUS(wia_execute_views(context, WIA_OP_ADD, views, 2, &views[2], 1, NULL, 0, NULL),
               WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("read-only");
  CHECK_STATUS(wia_add(context, a, a, b, NULL), WIA_STATUS_OK);
  CHECK(core_has(b, 0, 2));
  CHECK(memcmp(values, same, sizeof same) == 0);
  const wia_import_config_t writable = config_of(&other, 0);
  CHECK_STATUS(wia_import_tensor(context, values, shape, NULL, 1, WIA_FLOAT32, &writable, &tensor),
               WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("writable");
  core_destroy(a);
  core_destroy(b);
  CHECK(is_released(&owner) && other.released == 0);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

/* Memory inside a live allocation: one keeps the other. */
static void test_shared(void) {
  float values[COUNT];
  owner_t first = {0}, second = {0}, third = {0};
  number(values, COUNT);
  wia_context_t *context = core_context(CORE_PLAIN), *elsewhere = core_context(CORE_OTHER);
  wia_tensor_t a = import_tensor(context, values, 8, &first, 0);
  wia_tensor_t b = import_tensor(context, &values[2], 4, &second, 0), c = NULL;
  CHECK(first.released == 0 && second.released == 1 && imported(CORE_PLAIN).live_count == 1);
  core_destroy(a);
  CHECK(first.released == 0 && core_has(b, 2, 1));
  const int64_t count = 4;
  const wia_import_config_t config = config_of(&third, 0);
  CHECK_STATUS(wia_import_tensor(context, &values[6], &count, NULL, 1, WIA_FLOAT32, &config, &c),
               WIA_STATUS_ALREADY_EXISTS);
  CHECK_STATUS(wia_import_tensor(elsewhere, &values[2], &count, NULL, 1, WIA_FLOAT32, &config, &c),
               WIA_STATUS_ALREADY_EXISTS);
  CHECK(third.released == 0);
  core_destroy(b);
  CHECK(is_released(&first));
  /* also in memory that the device gave */
  void *memory = NULL;
  CHECK_STATUS(wia_malloc(&memory, sizeof values, core_id(CORE_PLAIN)), WIA_STATUS_OK);
  CHECK_STATUS(wia_copy_host_to_device(memory, values, sizeof values, NULL), WIA_STATUS_OK);
  c = import_tensor(context, memory, 4, &third, 0);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
  CHECK(third.released == 1 && core_has(c, 0, 1));
  core_destroy(c);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(elsewhere), WIA_STATUS_OK);
}

static void test_in_flight(uint32_t device) {
  float values[COUNT], result[COUNT];
  owner_t owner = {0}, out_owner = {0};
  number(values, COUNT);
  wia_context_t *context = core_context(device);
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  const wia_import_config_t config = config_of(&owner, 0);
  CHECK_STATUS(wia_import_memory(values, sizeof values, core_id(device), &config), WIA_STATUS_OK);
  wia_tensor_t a = NULL, out = import_tensor(context, result, COUNT, &out_owner, 0);
  CHECK_STATUS(wia_wrap_tensor(context, values, (const int64_t[]){COUNT}, NULL, 1, WIA_FLOAT32, &a),
               WIA_STATUS_OK);
  wait_at(context, a, out, stream);
  wia_address_info_t info = WIA_ADDRESS_INFO_INIT;
  CHECK_STATUS(wia_query_address(values, &info), WIA_STATUS_OK);
  CHECK(info.pending == 1);
  CHECK_STATUS(wia_free(values), WIA_STATUS_OK);
  core_destroy(a);
  core_destroy(out);
  CHECK(imported(device).deferred_count == 1); /* a tensor's memory is live until the work ends */
  CHECK(owner.released == 0 && out_owner.released == 0);
  core_open_gate();
  CHECK(is_released(&owner) && is_released(&out_owner));
  CHECK(result[3] == 3 && result[15] == 15);
  CHECK(imported(device).deferred_count == 0 && imported(device).live_count == 0);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

/* Threads that import, share and drop the same memory. */
static float shared_values[COUNT];
static owner_t shared_owner;
enum { THREADS = 4, ROUNDS = 500 };

static void *churn(void *context) {
  for (uint32_t i = 0; i < ROUNDS; i++) {
    wia_tensor_t tensor = import_tensor(context, shared_values, COUNT, &shared_owner, 0);
    CHECK(core_has(tensor, 0, 1));
    core_destroy(tensor);
  }
  return NULL;
}

static void test_threads(void) {
  pthread_t threads[THREADS];
  number(shared_values, COUNT);
  wia_context_t *context = core_context(CORE_PLAIN);
  for (uint32_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, churn, context);
  for (uint32_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  const struct timespec pause = {.tv_nsec = 1000000};
  for (uint32_t i = 0; i < 5000 && shared_owner.released != THREADS * ROUNDS; i++) {
    nanosleep(&pause, NULL);
    wia_free(NULL);
  }
  CHECK(shared_owner.released == THREADS * ROUNDS);
  CHECK(imported(CORE_PLAIN).live_count == 0);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

int main(void) {
  core_start();
  core.imports = true;
  const uint32_t devices[] = {CORE_PLAIN, CORE_OTHER, CORE_SERIAL};
  for (uint32_t i = 0; i < 3; i++) {
    test_memory(devices[i]);
    test_tensor(devices[i]);
    test_read_only(devices[i]);
    if (devices[i] != CORE_SERIAL) test_in_flight(devices[i]); /* it asks while a kernel runs */
  }
  test_wrapped();
  test_peer();
  test_refused();
  test_tensor_refused();
  test_shared();
  test_threads();
  CHECK_CLEAN();
  return CHECK_DONE();
}
