/* Scenario 21: many threads create, use and destroy, with handles that they share and that go while
 * others use them. Made for the thread sanitizer; what is checked here is that every call gives one of
 * the statuses that it may, that values are right, and that in the end everything was given back. */
#include "core_driver.h"

enum { THREADS = 6, ROUNDS = 150, SHARED = 4 };

static wia_context_t *context;
static _Atomic uint32_t wrong;

/* Statuses that a call may give when another thread destroys what it uses. */
static bool is_expected(wia_status_t status) {
  return status == WIA_STATUS_OK || status == WIA_STATUS_INVALID_HANDLE;
}

static void note(bool fine, const char *what, wia_status_t status) {
  if (fine) return;
  if (atomic_fetch_add(&wrong, 1) == 0) {
    wia_error_info_t info = WIA_ERROR_INFO_INIT;
    wia_get_last_error(&info);
    printf("%s: %s: %s\n", what, wia_get_status_name(status), info.message);
  }
}

static void expect(wia_status_t status, const char *what) {
  note(is_expected(status), what, status);
}

static void expect_ok(wia_status_t status, const char *what) {
  note(status == WIA_STATUS_OK, what, status);
}

static uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 16;
}

static void run_threads(void *(*body)(void *)) {
  pthread_t threads[THREADS];
  uint32_t seeds[THREADS];
  for (uint32_t i = 0; i < THREADS; i++) {
    seeds[i] = i + 1;
    CHECK(pthread_create(&threads[i], NULL, body, &seeds[i]) == 0);
  }
  for (uint32_t i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(atomic_load(&wrong) == 0);
}

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
    expect_ok(wia_create_context(&own, core_id(CORE_PLAIN)), "create_context");
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

static const int64_t size8[] = {8};

static wia_tensor_t new_tensor(void) {
  wia_tensor_t tensor = NULL;
  const float zeros[8] = {0};
  expect_ok(wia_allocate_tensor(context, size8, 1, WIA_FLOAT32, &tensor), "allocate");
  expect_ok(wia_write_tensor(tensor, zeros, sizeof zeros, NULL), "write");
  return tensor;
}

static wia_stream_t *new_stream(void) {
  wia_stream_t *stream = NULL;
  expect_ok(wia_create_stream(&stream, context), "create_stream");
  return stream;
}

static wia_event_t *new_event(void) {
  wia_event_t *event = NULL;
  expect_ok(wia_create_event(&event, context), "create_event");
  return event;
}

static void *new_memory(void) {
  void *memory = NULL;
  expect_ok(wia_malloc(&memory, 32, core_id(CORE_PLAIN)), "malloc");
  return memory;
}

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

static _Atomic uint32_t destroyed;
static _Atomic(wia_tensor_t) victims[ROUNDS];

static void *destroy_all(void *argument) {
  (void)argument;
  for (uint32_t i = 0; i < ROUNDS; i++) {
    const wia_status_t status = wia_destroy_tensor(atomic_load(&victims[i]));
    expect(status, "destroy");
    if (!status) atomic_fetch_add(&destroyed, 1);
  }
  return NULL;
}

/* Of all who destroy one handle, one does. */
static void test_destroy_once(void) {
  for (uint32_t i = 0; i < ROUNDS; i++) atomic_store(&victims[i], new_tensor());
  run_threads(destroy_all);
  CHECK(destroyed == ROUNDS);
}

/* -- resets from several sides ------------------------------------------------------------------- */

static _Atomic bool resetting;

static void *reset_again(void *argument) {
  (void)argument;
  while (atomic_load(&resetting)) {
    expect_ok(wia_reset_stream(one_stream), "reset");
    usleep(50);
  }
  return NULL;
}

/* A stream that says it is done is, however many resets go on: nothing of it runs afterwards. */
static void test_resets(void) {
  pthread_t threads[2];
  wia_tensor_t a = new_tensor(), b = new_tensor();
  one_stream = new_stream();
  atomic_store(&resetting, true);
  core.launch_delay_us = 100;
  for (uint32_t i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, reset_again, NULL) == 0);
  for (uint32_t i = 0; i < 4 * ROUNDS; i++) {
    for (uint32_t j = 0; j < 3; j++) {
      const wia_status_t status = wia_add(context, a, a, b, one_stream);
      note(status == WIA_STATUS_OK || status == WIA_STATUS_CANCELLED, "add", status);
    }
    const wia_status_t status = wia_synchronize_stream(one_stream, WIA_TIMEOUT_INFINITE);
    note(status == WIA_STATUS_OK || status == WIA_STATUS_CANCELLED, "synchronize", status);
    const uint32_t launches = core.launches;
    note(core.running == 0, "still running", status);
    usleep(300);
    note(core.launches == launches, "run later", status);
  }
  atomic_store(&resetting, false);
  core.launch_delay_us = 0;
  for (uint32_t i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(atomic_load(&wrong) == 0);
  CHECK_STATUS(wia_destroy_stream(one_stream), WIA_STATUS_OK);
  core_destroy(a);
  core_destroy(b);
}

/* Waits, recordings and resets in any order: streams may hang on events, and are freed by resets. */
static void *shared_events(void *argument) {
  uint32_t seed = *(uint32_t *)argument;
  for (uint32_t i = 0; i < ROUNDS; i++) {
    wia_tensor_t a = atomic_load(&tensors[next_random(&seed) % SHARED]);
    wia_stream_t *stream = atomic_load(&streams[next_random(&seed) % SHARED]);
    wia_event_t *event = atomic_load(&events[next_random(&seed) % SHARED]);
    wia_status_t status = WIA_STATUS_OK;
    switch (next_random(&seed) % 8) {
    case 0:
      status = wia_add(context, a, a, a, stream);
      break;
    case 1:
      status = wia_enqueue_wait(stream, event);
      break;
    case 2:
      status = wia_record_event(event, stream);
      break;
    case 3:
      status = wia_reset_stream(stream);
      break;
    case 4:
      status = wia_reset_event(event);
      break;
    case 5:
      status = wia_synchronize_stream(stream, 1000000);
      break;
    case 6:
      status = wia_wait_event(event, 1000000);
      break;
    default:
      replace_one(next_random(&seed) % SHARED, 2);
    }
    note(is_expected(status) || status == WIA_STATUS_CANCELLED ||
             status == WIA_STATUS_DEADLINE_EXCEEDED,
         "event", status);
  }
  return NULL;
}

static void test_shared_events(void) {
  core.only_touch = true;
  for (uint32_t i = 0; i < SHARED; i++) {
    atomic_store(&tensors[i], new_tensor());
    atomic_store(&streams[i], new_stream());
    atomic_store(&events[i], new_event());
  }
  run_threads(shared_events);
  /* they may wait for each other in a ring */
  for (uint32_t i = 0; i < SHARED; i++)
    expect_ok(wia_reset_stream(atomic_load(&streams[i])), "reset");
  for (uint32_t i = 0; i < SHARED; i++) {
    expect_ok(wia_destroy_event(atomic_load(&events[i])), "destroy");
    expect_ok(wia_destroy_stream(atomic_load(&streams[i])), "destroy");
    expect_ok(wia_destroy_tensor(atomic_load(&tensors[i])), "destroy");
  }
  CHECK_CLEAN();
  core.only_touch = false;
}

int main(void) {
  setenv("WIA_PLAN_CACHE_SIZE", "3", 1); /* so that kernels come and go, too */
  core_start();
  context = core_context(CORE_PLAIN);
  run_threads(own_objects);
  test_shared();
  test_shared_stream();
  test_destroy_once();
  test_resets();
  test_shared_events();
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_CLEAN();
  const wia_memory_info_t info = core_memory(CORE_PLAIN);
  CHECK(info.live_size == 0 && info.live_count == 0 && info.deferred_count == 0);
  CHECK(core.live_size == 0);
  return CHECK_DONE();
}
