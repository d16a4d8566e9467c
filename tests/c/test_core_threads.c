/* Scenario 21: many threads create, use and destroy, with handles that they share and that go while
 * others use them. Made for the thread sanitizer; what is checked here is that every call gives one of
 * the statuses that it may, that values are right, and that in the end everything was given back. */
#include "core_threads.h"

/* -- each thread its own objects, all of one device ---------------------------------------------- */

static void *own_objects(void *argument) {
  uint32_t seed = *(uint32_t *)argument;
  for (uint32_t i = 0; i < ROUNDS; i++) {
    const int64_t size = 1 + next_random(&seed) % 5;
    wia_context_t *own = NULL;
    wia_stream_t *stream = NULL;
    wia_event_t *event = NULL;
    wia_tensor_t a = NULL, b = NULL, view = NULL;
    wia_plan_t *plan = NULL;
    float values[5] = {1, 2, 3, 4, 5}, back[5] = {0};
    const uint64_t bytes = (uint64_t)size * sizeof(float);
    expect_ok(wia_create_context(&own, core_id(device)), "create_context");
    expect_ok(wia_create_stream(&stream, own), "create_stream");
    expect_ok(wia_create_event(&event, own), "create_event");
    expect_ok(wia_allocate_tensor(own, &size, 1, WIA_FLOAT32, &a), "allocate");
    expect_ok(wia_allocate_tensor(own, &size, 1, WIA_FLOAT32, &b), "allocate");
    expect_ok(wia_destroy_context(own), "destroy_context");
    expect_ok(wia_write_tensor(a, values, bytes, i % 2 ? stream : NULL), "write");
    const wia_tensor_t operands[] = {a, a, b};
    expect_ok(wia_create_operation_plan(context, i % 3 ? WIA_OP_ADD : WIA_OP_MUL, operands, 2,
                                        operands + 2, 1, NULL, 0, &plan),
              "create_plan");
    expect_ok(wia_execute_plan(plan, operands, 3, NULL, 0, stream), "execute_plan");
    expect_ok(wia_record_event(event, stream), "record");
    expect_ok(wia_destroy_plan(plan), "destroy_plan");
    expect_ok(wia_view_tensor(b, 0, &size, NULL, 1, &view), "view");
    expect_ok(wia_destroy_tensor(a), "destroy");
    expect_ok(wia_destroy_tensor(b), "destroy");
    if (i % 4) expect_ok(wia_wait_event(event, WIA_TIMEOUT_INFINITE), "wait");
    expect_ok(wia_destroy_stream(stream), "destroy_stream");
    expect_ok(wia_read_tensor(view, back, bytes, NULL), "read");
    for (int64_t j = 0; j < size; j++)
      note(back[j] == (i % 3 ? 2 * values[j] : values[j] * values[j]), "value", 0);
    expect_ok(wia_destroy_tensor(view), "destroy");
    expect_ok(wia_destroy_event(event), "destroy_event");
  }
  return NULL;
}

/* -- handles that all share, and that are replaced all the time ---------------------------------- */

static _Atomic(wia_tensor_t) tensors[SHARED];
static _Atomic(wia_stream_t *) streams[SHARED];
static _Atomic(wia_event_t *) events[SHARED];
static _Atomic(void *) memories[SHARED];

static void replace_one(uint32_t place, uint32_t kind) {
  switch (kind) {
  case 0:
    expect_ok(wia_destroy_tensor(atomic_exchange(&tensors[place], new_tensor())), "destroy");
    break;
  case 1:
    expect_ok(wia_destroy_stream(atomic_exchange(&streams[place], new_stream())), "destroy");
    break;
  case 2:
    expect_ok(wia_destroy_event(atomic_exchange(&events[place], new_event())), "destroy");
    break;
  default:
    expect_ok(wia_free(atomic_exchange(&memories[place], new_memory())), "free");
  }
}

/* Freed by another thread, or used again for something else. */
static bool is_memory_status(wia_status_t status) {
  return status == WIA_STATUS_OK || status == WIA_STATUS_INVALID_ARGUMENT ||
         status == WIA_STATUS_INVALID_HANDLE;
}

static void *shared_objects(void *argument) {
  uint32_t seed = *(uint32_t *)argument;
  float host[8];
  for (uint32_t i = 0; i < ROUNDS; i++) {
    wia_tensor_t a = atomic_load(&tensors[next_random(&seed) % SHARED]);
    wia_tensor_t b = atomic_load(&tensors[next_random(&seed) % SHARED]);
    wia_stream_t *stream = atomic_load(&streams[next_random(&seed) % SHARED]);
    wia_event_t *event = atomic_load(&events[next_random(&seed) % SHARED]);
    void *memory = atomic_load(&memories[next_random(&seed) % SHARED]);
    wia_status_t status;
    uint32_t done;
    int32_t state;
    wia_tensor_t wrap = NULL;
    wia_address_info_t info = WIA_ADDRESS_INFO_INIT;
    switch (next_random(&seed) % 12) {
    case 0:
      expect(wia_add(context, a, a, b, stream), "add on a stream");
      break;
    case 1:
      expect(wia_add(context, a, b, b, NULL), "add");
      break;
    case 2:
      expect(wia_read_tensor(a, host, sizeof host, NULL), "read");
      break;
    case 3:
      expect(wia_record_event(event, stream), "record");
      break;
    case 4:
      status = wia_wait_event(event, 0);
      note(is_expected(status) || status == WIA_STATUS_DEADLINE_EXCEEDED ||
               status == WIA_STATUS_CANCELLED,
           "wait", status);
      break;
    case 5:
      expect(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), "synchronize");
      break;
    case 6:
      expect(wia_query_stream(stream, &done), "query_stream");
      expect(wia_query_event(event, &state), "query_event");
      break;
    case 7:
      status = wia_copy_device_to_device(memory, atomic_load(&memories[0]), 8, stream);
      note(is_memory_status(status), "copy", status);
      break;
    case 8:
      status = wia_wrap_tensor(context, memory, size8, NULL, 1, WIA_FLOAT32, &wrap);
      note(is_memory_status(status), "wrap", status);
      if (!status) {
        expect(wia_add(context, a, a, wrap, stream), "add to a wrap");
        expect_ok(wia_destroy_tensor(wrap), "destroy");
      }
      break;
    case 9:
      status = wia_query_address(memory, &info);
      note(is_expected(status) || status == WIA_STATUS_NOT_FOUND, "query_address", status);
      break;
    default:
      replace_one(next_random(&seed) % SHARED, next_random(&seed) % 4);
    }
  }
  return NULL;
}

static void test_shared(void) {
  core.only_touch = true; /* streams that nobody has ordered may write to one place */
  for (uint32_t i = 0; i < SHARED; i++) {
    atomic_store(&tensors[i], new_tensor());
    atomic_store(&streams[i], new_stream());
    atomic_store(&events[i], new_event());
    atomic_store(&memories[i], new_memory());
  }
  run_threads(shared_objects);
  for (uint32_t i = 0; i < SHARED; i++) {
    expect_ok(wia_destroy_tensor(atomic_load(&tensors[i])), "destroy");
    expect_ok(wia_destroy_stream(atomic_load(&streams[i])), "destroy");
    expect_ok(wia_destroy_event(atomic_load(&events[i])), "destroy");
    expect_ok(wia_free(atomic_load(&memories[i])), "free");
  }
  CHECK_CLEAN(); /* before it writes again */
  core.only_touch = false;
}

/* -- one stream for all, one handle for all ------------------------------------------------------ */

static wia_stream_t *one_stream;
static wia_tensor_t one_sum, one_one;

static void *share_stream(void *argument) {
  (void)argument;
  for (uint32_t i = 0; i < ROUNDS; i++)
    expect_ok(wia_add(context, one_sum, one_one, one_sum, one_stream), "add");
  return NULL;
}

static void test_shared_stream(void) {
  const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  one_stream = new_stream();
  one_sum = new_tensor();
  one_one = new_tensor();
  expect_ok(wia_write_tensor(one_one, ones, sizeof ones, NULL), "write");
  run_threads(share_stream);
  CHECK(core_has(one_sum, THREADS * ROUNDS, 0)); /* none was lost */
  CHECK_STATUS(wia_destroy_stream(one_stream), WIA_STATUS_OK);
  core_destroy(one_sum);
  core_destroy(one_one);
}

static void test_on(uint32_t which) {
  device = which;
  context = core_context(device);
  run_threads(own_objects);
  test_shared();
  test_shared_stream();
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_CLEAN();
  const wia_memory_info_t info = core_memory(device);
  CHECK(info.live_size == 0 && info.live_count == 0 && info.deferred_count == 0);
  CHECK(core.live_size == 0);
}

int main(void) {
  setenv("WIA_PLAN_CACHE_SIZE", "3", 1); /* so that kernels come and go, too */
  core_start();
  test_on(CORE_PLAIN);
  test_on(CORE_QUEUED);
  test_on(CORE_SPARSE);
  return CHECK_DONE();
}
