/* Events: points, waits of hosts and streams, times, failures on their way, scenario 18. */
#include <time.h>

#include "core_stream.h"

enum { MS = 1000000 };

static uint32_t peer; /* of the streams on another device */

static int32_t state_of(wia_event_t *event) {
  int32_t state = -1;
  CHECK_STATUS(wia_query_event(event, &state), WIA_STATUS_OK);
  return state;
}

static void end(wia_stream_t *stream, wia_event_t *event) {
  if (stream) CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  if (event) CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
}

/* From here on launches of softmax fail. */
static void set_failing(bool failing) {
  core.fail_message = "the origin";
  core.fail_cause = "its cause";
  core.fail_status = failing ? WIA_STATUS_DATA_LOSS : WIA_STATUS_OK;
}

static void check_origin(void) {
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  CHECK_STATUS(wia_get_last_error(&info), WIA_STATUS_OK);
  CHECK_TEXT(info.message, "the origin");
  CHECK_TEXT(info.cause, "its cause");
  CHECK(info.status == WIA_STATUS_DATA_LOSS &&
        strncmp(core_name(device), info.driver, strlen(info.driver)) == 0);
}

/* -- states and times ---------------------------------------------------------------------------- */

static void test_states(void) {
  wia_stream_t *stream = make_stream();
  wia_event_t *start = make_event(), *stop = make_event();
  wia_tensor_t a = core_tensor(context, 4, 0);
  int64_t elapsed = 77;
  CHECK(state_of(start) == WIA_EVENT_NONE);
  CHECK_STATUS(wia_get_elapsed_time(start, stop, &elapsed), WIA_STATUS_FAILED_PRECONDITION);
  CHECK_MESSAGE("never recorded");
  const int64_t begin_ns = now_ns();
  CHECK_STATUS(wia_record_event(start, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_wait_event(start, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK(state_of(start) == WIA_EVENT_DONE);
  block(stream, a);
  CHECK_STATUS(wia_record_event(stop, stream), WIA_STATUS_OK);
  CHECK(state_of(stop) == WIA_EVENT_PENDING);
  CHECK_STATUS(wia_get_elapsed_time(start, stop, &elapsed), WIA_STATUS_FAILED_PRECONDITION);
  CHECK_MESSAGE("going on");
  CHECK(elapsed == 77);
  usleep(30000);
  core_open_gate();
  CHECK_STATUS(wia_wait_event(stop, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_elapsed_time(start, stop, &elapsed), WIA_STATUS_OK);
  CHECK(elapsed >= 30 * MS && elapsed <= now_ns() - begin_ns);
  int64_t back = 0, none = 77;
  CHECK_STATUS(wia_get_elapsed_time(stop, start, &back), WIA_STATUS_OK);
  CHECK(back == -elapsed);
  CHECK_STATUS(wia_get_elapsed_time(stop, stop, &none), WIA_STATUS_OK);
  CHECK(none == 0);
  CHECK_STATUS(wia_reset_event(start), WIA_STATUS_OK);
  CHECK(state_of(start) == WIA_EVENT_NONE);
  CHECK_STATUS(wia_get_elapsed_time(start, stop, &elapsed), WIA_STATUS_FAILED_PRECONDITION);
  CHECK_STATUS(wia_reset_event(start), WIA_STATUS_OK);
  core_destroy(a);
  end(stream, start);
  end(NULL, stop);
}

/* Each recording is a point of its own: those who wait for the one are not held up by the next. */
static void test_points(void) {
  wia_stream_t *one = make_stream(), *two = make_stream();
  wia_event_t *event = make_event();
  wia_tensor_t a = core_tensor(context, 4, 0);
  CHECK_STATUS(wia_record_event(event, one), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_wait(two, event), WIA_STATUS_OK);
  CHECK_STATUS(finish(one), WIA_STATUS_OK);
  block(one, a);
  CHECK_STATUS(wia_record_event(event, one), WIA_STATUS_OK);
  CHECK(state_of(event) == WIA_EVENT_PENDING);
  CHECK_STATUS(finish(two), WIA_STATUS_OK); /* it waited for the first point */
  CHECK_STATUS(wia_enqueue_wait(two, event), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(two, 20 * MS), WIA_STATUS_DEADLINE_EXCEEDED);
  CHECK_STATUS(wia_reset_event(event), WIA_STATUS_OK); /* the waiter keeps its point */
  CHECK_STATUS(wia_synchronize_stream(two, 20 * MS), WIA_STATUS_DEADLINE_EXCEEDED);
  core_open_gate();
  CHECK_STATUS(finish(two), WIA_STATUS_OK);
  CHECK(state_of(event) == WIA_EVENT_NONE);
  core_destroy(a);
  end(one, event);
  end(two, NULL);
}

/* -- order --------------------------------------------------------------------------------------- */

/* A chain over streams, of two devices: each adds to what the one before has written. */
static void test_across_streams(void) {
  enum { STREAMS = 4, ROUNDS = 100 };
  wia_context_t *other = core_context(peer);
  wia_stream_t *streams[STREAMS];
  wia_event_t *events[STREAMS];
  wia_tensor_t a = core_tensor(context, 4, 0), one = core_tensor(context, 4, 1);
  for (uint32_t i = 0; i < STREAMS; i++) {
    CHECK_STATUS(wia_create_stream(&streams[i], i == 2 ? other : context), WIA_STATUS_OK);
    events[i] = make_event();
  }
  const float ones[] = {1, 1, 1, 1};
  CHECK_STATUS(wia_write_tensor(one, ones, sizeof ones, NULL), WIA_STATUS_OK);
  for (uint32_t i = 0; i < STREAMS * ROUNDS; i++) {
    wia_stream_t *stream = streams[i % STREAMS];
    if (i) CHECK_STATUS(wia_enqueue_wait(stream, events[(i - 1) % STREAMS]), WIA_STATUS_OK);
    if (i % STREAMS != 2) CHECK_STATUS(wia_add(context, a, one, a, stream), WIA_STATUS_OK);
    CHECK_STATUS(wia_record_event(events[i % STREAMS], stream), WIA_STATUS_OK);
  }
  CHECK_STATUS(wia_wait_event(events[STREAMS - 1], WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK(core_has(a, (STREAMS - 1) * ROUNDS, 1));
  for (uint32_t i = 0; i < STREAMS; i++) end(streams[i], events[i]);
  core_destroy(a);
  core_destroy(one);
  CHECK_STATUS(wia_destroy_context(other), WIA_STATUS_OK);
}

/* A wait that is enqueued before the event is recorded. */
static void test_wait_before_record(void) {
  wia_stream_t *one = make_stream(), *two = make_stream();
  wia_event_t *event = make_event();
  wia_tensor_t a = core_tensor(context, 4, 0), b = core_tensor(context, 4, 0);
  CHECK_STATUS(wia_enqueue_wait(two, event), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, a, a, b, two), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(two, 20 * MS), WIA_STATUS_DEADLINE_EXCEEDED);
  uint32_t done = 77;
  CHECK_STATUS(wia_query_stream(two, &done), WIA_STATUS_OK);
  CHECK(done == 0);
  CHECK_STATUS(wia_wait_event(event, 0), WIA_STATUS_DEADLINE_EXCEEDED);
  CHECK_STATUS(wia_wait_event(event, 20 * MS), WIA_STATUS_DEADLINE_EXCEEDED);
  CHECK_STATUS(wia_wait_event(event, -2), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_reset_event(event), WIA_STATUS_OK); /* its first point is still to come */
  CHECK_STATUS(wia_relu(context, input, a, one), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(event, one), WIA_STATUS_OK);
  CHECK_STATUS(finish(two), WIA_STATUS_OK);
  CHECK(core_has(b, 2, 2));
  core_destroy(a);
  core_destroy(b);
  end(one, event);
  end(two, NULL);
}

/* Streams that wait for each other: told by the time-out, undone by a reset. */
static void test_cycle(void) {
  wia_stream_t *one = make_stream(), *two = make_stream();
  wia_event_t *first = make_event(), *second = make_event();
  CHECK_STATUS(wia_enqueue_wait(one, second), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(first, one), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_wait(two, first), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(second, two), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(one, 20 * MS), WIA_STATUS_DEADLINE_EXCEEDED);
  CHECK_STATUS(wia_wait_event(second, 20 * MS), WIA_STATUS_DEADLINE_EXCEEDED);
  CHECK_STATUS(wia_reset_stream(one), WIA_STATUS_OK);
  CHECK_STATUS(finish(one), WIA_STATUS_OK);
  CHECK_STATUS(wia_wait_event(first, WIA_TIMEOUT_INFINITE), WIA_STATUS_CANCELLED);
  CHECK_STATUS(finish(two), WIA_STATUS_CANCELLED);
  CHECK_MESSAGE("reset");
  CHECK(state_of(second) == WIA_EVENT_FAILED);
  end(one, first);
  end(two, second);
}

/* -- failures ------------------------------------------------------------------------------------ */

/* From the kernel to its stream, to the event, to a stream that waits, and so on to the host. */
static void test_failure_travels(void) {
  wia_stream_t *streams[3], *apart = make_stream();
  wia_event_t *events[3];
  wia_tensor_t a = core_tensor(context, 4, 0), b = core_tensor(context, 4, 0);
  for (uint32_t i = 0; i < 3; i++) {
    streams[i] = make_stream();
    events[i] = make_event();
  }
  set_failing(true);
  block(streams[0], a); /* all is enqueued before the first thing fails */
  CHECK_STATUS(wia_softmax(context, input, a, NULL, streams[0]), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(events[0], streams[0]), WIA_STATUS_OK);
  for (uint32_t i = 1; i < 3; i++) {
    CHECK_STATUS(wia_enqueue_wait(streams[i], events[i - 1]), WIA_STATUS_OK);
    CHECK_STATUS(wia_add(context, input, input, b, streams[i]), WIA_STATUS_OK);
    CHECK_STATUS(wia_record_event(events[i], streams[i]), WIA_STATUS_OK);
  }
  core_open_gate();
  for (uint32_t i = 0; i < 3; i++) {
    CHECK_STATUS(wia_wait_event(events[i], WIA_TIMEOUT_INFINITE), WIA_STATUS_DATA_LOSS);
    check_origin();
    CHECK_STATUS(wia_wait_event(events[i], 0), WIA_STATUS_DATA_LOSS);
    CHECK_STATUS(finish(streams[i]), WIA_STATUS_DATA_LOSS);
    check_origin();
    CHECK(state_of(events[i]) == WIA_EVENT_FAILED);
  }
  int64_t elapsed = 0;
  CHECK_STATUS(wia_get_elapsed_time(events[0], events[1], &elapsed),
               WIA_STATUS_FAILED_PRECONDITION);
  CHECK_MESSAGE("failed");
  set_failing(false);
  CHECK_STATUS(wia_reset_event(events[0]), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(events[0], streams[0]), WIA_STATUS_OK); /* on a failed stream */
  CHECK(state_of(events[0]) == WIA_EVENT_FAILED);
  float host[4];
  CHECK_STATUS(wia_read_tensor(b, host, sizeof host, NULL), WIA_STATUS_DATA_LOSS);
  check_origin();
  CHECK_STATUS(wia_enqueue_wait(streams[1], events[0]), WIA_STATUS_DATA_LOSS);
  CHECK_STATUS(wia_relu(context, input, a, apart), WIA_STATUS_OK);
  CHECK_STATUS(finish(apart), WIA_STATUS_OK);

  /* a stream that is reset, and an event recorded anew, have nothing of it */
  CHECK_STATUS(wia_reset_stream(streams[1]), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(events[1], streams[1]), WIA_STATUS_OK);
  CHECK_STATUS(wia_wait_event(events[1], WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK_STATUS(finish(streams[2]), WIA_STATUS_DATA_LOSS);
  for (uint32_t i = 0; i < 3; i++) end(streams[i], events[i]);
  end(apart, NULL);
  core_destroy(a);
  core_destroy(b);
}

typedef struct waiter_t {
  wia_event_t *event;
  wia_status_t status;
  _Atomic bool started;
} waiter_t;

static void *wait_in_thread(void *argument) {
  waiter_t *waiter = argument;
  atomic_store(&waiter->started, true);
  waiter->status = wia_wait_event(waiter->event, WIA_TIMEOUT_INFINITE);
  if (waiter->status == WIA_STATUS_DATA_LOSS) check_origin();
  return NULL;
}

/* All who wait already are woken: by a failure, and by the end of an event that is never recorded. */
static bool test_waiters(uint32_t destroyed, uint32_t pause_us) {
  enum { COUNT = 4 };
  wia_stream_t *stream = make_stream(), *waiting = make_stream();
  wia_event_t *event = make_event();
  wia_tensor_t a = core_tensor(context, 4, 0);
  waiter_t waiters[COUNT];
  pthread_t threads[COUNT];
  CHECK_STATUS(wia_enqueue_wait(waiting, event), WIA_STATUS_OK);
  for (uint32_t i = 0; i < COUNT; i++) {
    waiters[i] = (waiter_t){.event = event};
    CHECK(pthread_create(&threads[i], NULL, wait_in_thread, &waiters[i]) == 0);
    while (!atomic_load(&waiters[i].started)) usleep(100);
  }
  usleep(pause_us);
  if (destroyed) {
    CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
  } else {
    set_failing(true);
    CHECK_STATUS(wia_softmax(context, input, a, NULL, stream), WIA_STATUS_OK);
    CHECK_STATUS(wia_record_event(event, stream), WIA_STATUS_OK);
  }
  const wia_status_t expected = destroyed ? WIA_STATUS_CANCELLED : WIA_STATUS_DATA_LOSS;
  bool waited = true;
  for (uint32_t i = 0; i < COUNT; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    const bool late = destroyed && waiters[i].status == WIA_STATUS_INVALID_HANDLE;
    CHECK(waiters[i].status == expected || late);
    waited = waited && !late;
  }
  CHECK_STATUS(finish(waiting), expected);
  set_failing(false);
  core_destroy(a);
  end(stream, destroyed ? NULL : event);
  end(waiting, NULL);
  return waited;
}

/* An event goes while its point is pending: who waits goes on waiting for the point. */
static void test_destroy_recorded(void) {
  wia_stream_t *one = make_stream(), *two = make_stream();
  wia_event_t *event = make_event();
  wia_tensor_t a = core_tensor(context, 4, 0), b = core_tensor(context, 4, 0);
  block(one, a);
  CHECK_STATUS(wia_record_event(event, one), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_wait(two, event), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, a, a, b, two), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(one), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(two, 20 * MS), WIA_STATUS_DEADLINE_EXCEEDED);
  core_open_gate();
  CHECK_STATUS(finish(two), WIA_STATUS_OK);
  CHECK(core_has(b, 2, 2));
  core_destroy(a);
  core_destroy(b);
  end(two, NULL);
}

static void run_tests(void) {
  test_states();
  test_points();
  test_across_streams();
  test_wait_before_record();
  test_cycle();
  test_failure_travels();
  core_retry(test_waiters, false);
  core_retry(test_waiters, true);
  test_destroy_recorded();
}

/* On streams of the library's and of the driver's, and over both. */
static void test_on(uint32_t which, uint32_t other) {
  peer = other;
  run_on(which, run_tests);
}

int main(void) {
  core_start();
  test_on(CORE_PLAIN, CORE_OTHER);
  test_on(CORE_QUEUED, CORE_OTHER);
  test_on(CORE_PLAIN, CORE_QUEUED);
  test_on(CORE_SPARSE, CORE_QUEUED);
  return CHECK_DONE();
}
