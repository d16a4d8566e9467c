/* Threads that meet in one place: who destroys a handle, resets from several sides, waits and recordings
 * in any order. */
#include <sched.h>

#include "core_threads.h"

/* -- one handle for all -------------------------------------------------------------------------- */

enum { RACERS = 2, RACES = 10000 };
static _Atomic uint32_t arrived, destroyed;
static _Atomic(wia_event_t *) victim;

/* Spins, so that all go on at the same moment. */
static void meet(uint32_t count) {
  atomic_fetch_add(&arrived, 1);
  for (uint32_t i = 1; atomic_load(&arrived) < count; i++) {
    if (i % 4096 == 0) sched_yield();
  }
}

static void *destroy_one(void *argument) {
  const bool first = argument != NULL;
  for (uint32_t i = 0; i < RACES; i++) {
    if (first) atomic_store(&victim, new_event());
    meet(RACERS * (2 * i + 1));
    const wia_status_t status = wia_destroy_event(atomic_load(&victim));
    expect(status, "destroy");
    if (!status) atomic_fetch_add(&destroyed, 1);
    meet(RACERS * (2 * i + 2));
  }
  return NULL;
}

/* Of all who destroy one handle, one does. */
static void test_destroy_once(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, destroy_one, NULL) == 0);
  destroy_one(&thread);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(destroyed == RACES && atomic_load(&wrong) == 0);
}

/* -- resets from several sides ------------------------------------------------------------------- */

static wia_stream_t *one_stream;
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

static _Atomic(wia_tensor_t) tensors[SHARED];
static _Atomic(wia_stream_t *) streams[SHARED];
static _Atomic(wia_event_t *) events[SHARED];

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
      expect_ok(
          wia_destroy_event(atomic_exchange(&events[next_random(&seed) % SHARED], new_event())),
          "destroy");
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

/* -- a ring of waits ----------------------------------------------------------------------------- */

enum { RECORDINGS = 20000 };
static wia_stream_t *ring[2];
static wia_event_t *ring_events[2];
static _Atomic bool recording;

static void *record_again(void *argument) {
  (void)argument;
  for (uint32_t i = 0; i < RECORDINGS; i++)
    expect_ok(wia_record_event(ring_events[1], ring[1]), "record");
  atomic_store(&recording, false);
  return NULL;
}

/* Whoever sees a recording lies behind it (event.c, mark_record). The recorder is often held up at its
 * stream, and who held it up is through before it wakes. */
static void test_no_ring(void) {
  pthread_t thread;
  for (uint32_t i = 0; i < 2; i++) {
    ring[i] = new_stream();
    ring_events[i] = new_event();
  }
  atomic_store(&recording, true);
  CHECK(pthread_create(&thread, NULL, record_again, NULL) == 0);
  while (atomic_load(&recording)) {
    int32_t state = WIA_EVENT_NONE;
    uint32_t done = 0;
    expect_ok(wia_query_stream(ring[1], &done), "query");
    expect_ok(wia_query_event(ring_events[1], &state), "query");
    if (state != WIA_EVENT_PENDING) continue;
    expect_ok(wia_enqueue_wait(ring[0], ring_events[1]), "wait");
    expect_ok(wia_record_event(ring_events[0], ring[0]), "record");
    expect_ok(wia_enqueue_wait(ring[1], ring_events[0]), "wait");
  }
  CHECK(pthread_join(thread, NULL) == 0);
  for (uint32_t i = 0; i < 2; i++) {
    const wia_status_t status = wia_synchronize_stream(ring[i], INT64_C(60000000000));
    CHECK_STATUS(status, WIA_STATUS_OK);
    if (status) expect(wia_cancel_stream(ring[i]), "cancel");
  }
  for (uint32_t i = 0; i < 2; i++) {
    expect_ok(wia_destroy_event(ring_events[i]), "destroy");
    expect_ok(wia_destroy_stream(ring[i]), "destroy");
  }
  CHECK(atomic_load(&wrong) == 0);
}

static void test_on(uint32_t which) {
  device = which;
  context = core_context(device);
  if (device == CORE_PLAIN) test_destroy_once(); /* a handle is the same for all */
  test_resets();
  test_shared_events();
  test_no_ring();
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_CLEAN();
}

int main(void) {
  core_start();
  test_on(CORE_PLAIN);
  test_on(CORE_QUEUED);
  test_on(CORE_SPARSE);
  return CHECK_DONE();
}
