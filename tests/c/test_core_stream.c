/* Streams: order, waits, failures and their reach (scenarios 16 and 17), reset, pending memory. */
#include "core_stream.h"

enum { MS = 1000000 };

static void end_stream(wia_stream_t *stream) {
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

static void fail_with(wia_status_t status, const char *message, const char *cause) {
  core.fail_message = message;
  core.fail_cause = cause;
  core.fail_status = status;
}

static wia_status_t enqueue_failure(wia_stream_t *stream, wia_tensor_t output) {
  return wia_softmax(context, input, output, NULL, stream);
}

/* -- order and waits ----------------------------------------------------------------------------- */

static void test_order(void) {
  enum { COUNT = 2000 };
  wia_stream_t *stream = make_stream();
  wia_tensor_t a = core_tensor(context, 4, 0), b = core_tensor(context, 4, 0);
  wia_tensor_t one = core_tensor(context, 4, 1), two = core_tensor(context, 4, 2);
  const float ones[] = {1, 1, 1, 1}, twos[] = {2, 2, 2, 2};
  CHECK_STATUS(wia_write_tensor(one, ones, sizeof ones, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_write_tensor(two, twos, sizeof twos, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_write_tensor(a, (const float[]){0, 0, 0, 0}, sizeof ones, NULL), WIA_STATUS_OK);
  float expected = 0;
  for (uint32_t i = 0; i < COUNT; i++) { /* a sum that any other order changes */
    CHECK_STATUS(wia_add(context, a, i % 3 ? one : two, b, stream), WIA_STATUS_OK);
    CHECK_STATUS(i % 5 ? wia_sub(context, b, one, a, stream) : wia_mul(context, b, one, a, stream),
                 WIA_STATUS_OK);
    if (i % 100 == 99) CHECK_STATUS(wia_fill_memory(NULL, NULL, 0, 0, stream), WIA_STATUS_OK);
    expected += i % 3 ? 1 : 2;
    if (i % 5) expected -= 1;
    if (i % 400 == 0) {
      CHECK_STATUS(wia_write_tensor(a, twos, sizeof twos, stream), WIA_STATUS_OK);
      expected = 2;
    }
  }
  float host[4] = {0};
  CHECK_STATUS(wia_read_tensor(a, host, sizeof host, stream), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  for (uint32_t i = 0; i < 4; i++) CHECK(host[i] == expected);
  CHECK(core.last_thread != (uint64_t)pthread_self());
  CHECK_STATUS(wia_add(context, one, one, a, NULL), WIA_STATUS_OK);
  CHECK(core.last_thread == (uint64_t)pthread_self()); /* without a stream: on this thread */
  const wia_tensor_t all[] = {a, b, one, two};
  for (uint32_t i = 0; i < 4; i++) core_destroy(all[i]);
  end_stream(stream);
}

/* Scenario 18, of streams. */
static void test_timeouts(void) {
  wia_stream_t *stream = make_stream();
  wia_tensor_t output = core_tensor(context, 4, 0);
  uint32_t done = 77;
  CHECK_STATUS(wia_synchronize_stream(stream, 0), WIA_STATUS_OK);
  CHECK_STATUS(wia_query_stream(stream, &done), WIA_STATUS_OK);
  CHECK(done == 1);
  block(stream, output);
  const int64_t start = now_ns();
  CHECK_STATUS(wia_synchronize_stream(stream, 0), WIA_STATUS_DEADLINE_EXCEEDED);
  CHECK_STATUS(wia_synchronize_stream(stream, 30 * MS), WIA_STATUS_DEADLINE_EXCEEDED);
  CHECK(now_ns() - start >= 30 * MS);
  CHECK_STATUS(wia_query_stream(stream, &done), WIA_STATUS_OK);
  CHECK(done == 0);
  core_open_gate();
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(stream, INT64_MAX), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(stream, -2), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_synchronize_stream(stream, INT64_MIN), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_query_stream(stream, &done), WIA_STATUS_OK);
  CHECK(done == 1);
  CHECK(core_has(output, 1, 1));
  core_destroy(output);
  end_stream(stream);
}

/* A call without a stream waits for what is in flight on its memory, and for nothing else. */
static void test_pending(void) {
  wia_stream_t *stream = make_stream();
  wia_tensor_t busy = core_tensor(context, 4, 0), idle = core_tensor(context, 4, 7);
  wia_tensor_t view = NULL;
  wia_address_info_t address = WIA_ADDRESS_INFO_INIT;
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(busy, &info), WIA_STATUS_OK);
  CHECK_STATUS(wia_view_tensor(busy, 1, (const int64_t[]){2}, NULL, 1, &view), WIA_STATUS_OK);
  block(stream, busy);
  CHECK_STATUS(wia_query_address((void *)(uintptr_t)info.address, &address), WIA_STATUS_OK);
  CHECK(address.pending == 1);
  CHECK_STATUS(wia_add(context, idle, idle, idle, NULL), WIA_STATUS_OK);
  CHECK(core_has(idle, 14, 2)); /* that did not wait: the gate is closed */
  core.launch_delay_us = 1000;
  core_open_gate();
  CHECK(core_has(view, 2, 1)); /* this waited */
  core.launch_delay_us = 0;
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_query_address((void *)(uintptr_t)info.address, &address), WIA_STATUS_OK);
  CHECK(address.pending == 0);
  /* readers too: a write waits for those who read */
  wia_tensor_t source = core_tensor(context, 4, 1), copy = core_tensor(context, 4, 0);
  for (uint32_t i = 0; i < 200; i++) {
    const float values[] = {(float)i, (float)i + 1, (float)i + 2, (float)i + 3};
    CHECK_STATUS(wia_write_tensor(source, values, sizeof values, NULL), WIA_STATUS_OK);
    CHECK_STATUS(wia_relu(context, source, copy, stream), WIA_STATUS_OK);
    if (i % 2) {
      CHECK(core_has(copy, (float)i, 1));
    } else {
      const float zeros[4] = {0};
      CHECK_STATUS(wia_write_tensor(source, zeros, sizeof zeros, NULL), WIA_STATUS_OK);
      CHECK(core_has(copy, (float)i, 1));
    }
  }
  const wia_tensor_t all[] = {busy, idle, view, source, copy};
  for (uint32_t i = 0; i < 5; i++) core_destroy(all[i]);
  end_stream(stream);
}

/* -- failures ------------------------------------------------------------------------------------ */

static void check_failure(wia_status_t status, const char *message) {
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  CHECK_STATUS(wia_get_last_error(&info), WIA_STATUS_OK);
  CHECK(info.status == status);
  CHECK_TEXT(info.message, message);
  CHECK_TEXT(info.cause, "a deeper cause");
  CHECK(strncmp(core_name(device), info.driver, strlen(info.driver)) == 0);
  CHECK(strcmp(info.function, "wia_softmax") == 0); /* where the work came from */
}

/* The first failure stays, is told each time, and stops later work; others live on. */
static void test_failure(void) {
  wia_stream_t *stream = make_stream(), *other = make_stream();
  wia_tensor_t a = core_tensor(context, 4, 0), b = core_tensor(context, 4, 0);
  wia_tensor_t c = core_tensor(context, 4, 0), untouched = core_tensor(context, 4, 5);
  block(stream, a);
  fail_with(WIA_STATUS_DATA_LOSS, "the first fault", "a deeper cause");
  CHECK_STATUS(enqueue_failure(stream, b), WIA_STATUS_OK);
  CHECK_STATUS(enqueue_failure(stream, b), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, input, input, c, stream), WIA_STATUS_OK); /* never runs */
  const uint32_t launches = core.launches;
  core_open_gate();
  for (uint32_t i = 0; i < 3; i++) {
    CHECK_STATUS(finish(stream), WIA_STATUS_DATA_LOSS);
    check_failure(WIA_STATUS_DATA_LOSS, "the first fault");
  }
  CHECK(core.launches == launches + 1);
  fail_with(WIA_STATUS_ABORTED, "a second fault", "another cause");
  uint32_t done = 77;
  CHECK_STATUS(wia_query_stream(stream, &done), WIA_STATUS_DATA_LOSS);
  CHECK(done == 77);
  CHECK_STATUS(wia_add(context, input, input, c, stream), WIA_STATUS_DATA_LOSS);
  check_failure(WIA_STATUS_DATA_LOSS, "the first fault");
  CHECK_STATUS(enqueue_failure(stream, c), WIA_STATUS_DATA_LOSS);
  float host[4] = {0};
  CHECK_STATUS(wia_read_tensor(untouched, host, sizeof host, stream), WIA_STATUS_DATA_LOSS);
  CHECK_STATUS(wia_write_tensor(untouched, host, sizeof host, stream), WIA_STATUS_DATA_LOSS);

  /* a read of memory that failed work was to write; memory before it, and memory beside it */
  CHECK_STATUS(wia_read_tensor(b, host, sizeof host, NULL), WIA_STATUS_DATA_LOSS);
  check_failure(WIA_STATUS_DATA_LOSS, "the first fault");
  for (uint32_t i = 0; i < 2; i++) /* each time it is asked */
    CHECK_STATUS(wia_read_tensor(c, host, sizeof host, NULL), WIA_STATUS_DATA_LOSS);
  CHECK_STATUS(wia_add(context, c, input, untouched, NULL), WIA_STATUS_DATA_LOSS);
  CHECK(core_has(untouched, 5, 1));
  CHECK(core_has(a, 1, 1));

  fail_with(WIA_STATUS_OK, "", "");
  CHECK_STATUS(wia_add(context, untouched, untouched, untouched, other), WIA_STATUS_OK);
  CHECK_STATUS(finish(other), WIA_STATUS_OK);
  CHECK(core_has(untouched, 10, 2));

  CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, untouched, untouched, c, stream), WIA_STATUS_OK);
  CHECK(core_has(c, 20, 4));
  CHECK_STATUS(wia_read_tensor(b, host, sizeof host, NULL), WIA_STATUS_OK);
  const wia_tensor_t all[] = {a, b, c, untouched};
  for (uint32_t i = 0; i < 4; i++) core_destroy(all[i]);
  end_stream(stream);
  end_stream(other);
}

/* What is wrong at submission is returned, and doesn't fail the stream. */
static void test_refused_submissions(void) {
  wia_stream_t *stream = make_stream();
  wia_tensor_t a = core_tensor(context, 4, 0), longer = core_tensor(context, 5, 0), s = NULL;
  CHECK_STATUS(wia_allocate_tensor(context, NULL, 0, WIA_FLOAT32, &s), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, input, longer, a, stream), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_reduce_sum(context, input, s, NULL, stream), WIA_STATUS_UNIMPLEMENTED);
  CHECK_STATUS(wia_read_tensor(a, NULL, 16, stream), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_relu(context, input, a, stream), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK(core_has(a, 1, 1));
  core_destroy(a);
  core_destroy(longer);
  core_destroy(s);
  end_stream(stream);
}

/* Without a stream nothing sticks. */
static void test_failure_at_once(void) {
  wia_tensor_t a = core_tensor(context, 4, 0);
  fail_with(WIA_STATUS_UNAVAILABLE, "not now", "a deeper cause");
  CHECK_STATUS(enqueue_failure(NULL, a), WIA_STATUS_UNAVAILABLE);
  check_failure(WIA_STATUS_UNAVAILABLE, "not now");
  CHECK_MESSAGE("softmax on ");
  CHECK_MESSAGE(core_name(device));
  fail_with(4711, "", "");
  CHECK_STATUS(enqueue_failure(NULL, a), WIA_STATUS_INTERNAL);
  CHECK_MESSAGE("4711");
  fail_with(WIA_STATUS_OK, "", "");
  CHECK_STATUS(enqueue_failure(NULL, a), WIA_STATUS_OK);
  CHECK(core_has(a, 1, 1));
  core_destroy(a);
}

/* What a kernel said before it succeeded is not taken for the reason of a later failure. */
static void test_chatter(void) {
  wia_tensor_t a = core_tensor(context, 4, 0);
  const char *const texts[] = {"old news", ""};
  for (uint32_t i = 0; i < 2; i++) {
    core.chatter = texts[i];
    for (uint32_t j = 0; j < 3; j++) CHECK_STATUS(enqueue_failure(NULL, a), WIA_STATUS_OK);
    core.chatter = NULL;
    fail_with(WIA_STATUS_UNAVAILABLE, NULL, NULL);
    CHECK_STATUS(enqueue_failure(NULL, a), WIA_STATUS_UNAVAILABLE);
    wia_error_info_t info = WIA_ERROR_INFO_INIT;
    CHECK_STATUS(wia_get_last_error(&info), WIA_STATUS_OK);
    CHECK(strstr(info.message, "old news") == NULL && info.cause[0] == '\0');
    CHECK_TEXT(info.message, wia_get_status_text(WIA_STATUS_UNAVAILABLE));
    fail_with(WIA_STATUS_OK, "", "");
  }
  /* texts longer than the slot for them come through whole */
  char text[2000];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  fail_with(WIA_STATUS_UNAVAILABLE, text, text);
  CHECK_STATUS(enqueue_failure(NULL, a), WIA_STATUS_UNAVAILABLE);
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  CHECK_STATUS(wia_get_last_error(&info), WIA_STATUS_OK);
  CHECK(strstr(info.message, text) != NULL && strcmp(info.cause, text) == 0);
  fail_with(WIA_STATUS_UNAVAILABLE, "", "only a cause");
  CHECK_STATUS(enqueue_failure(NULL, a), WIA_STATUS_UNAVAILABLE);
  CHECK_STATUS(wia_get_last_error(&info), WIA_STATUS_OK);
  CHECK_TEXT(info.cause, "only a cause");
  CHECK_TEXT(info.message, wia_get_status_text(WIA_STATUS_UNAVAILABLE));
  fail_with(WIA_STATUS_OK, "", "");
  core_destroy(a);
}

/* -- reset --------------------------------------------------------------------------------------- */

static void *reset_in_thread(void *stream) {
  CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_OK);
  return NULL;
}

/* Drops the queue, and waits for what is running. */
static void test_reset(void) {
  wia_stream_t *stream = make_stream();
  wia_tensor_t a = core_tensor(context, 4, 0), b = core_tensor(context, 4, 3);
  pthread_t thread;
  block(stream, a);
  for (uint32_t i = 0; i < 10; i++) CHECK_STATUS(wia_add(context, b, b, b, stream), WIA_STATUS_OK);
  CHECK(pthread_create(&thread, NULL, reset_in_thread, stream) == 0);
  wia_status_t status = WIA_STATUS_OK; /* soon nothing is taken any more */
  for (uint32_t i = 0; i < 100000 && !status; i++) {
    status = wia_relu(context, a, a, stream);
    usleep(100);
  }
  CHECK_STATUS(status, WIA_STATUS_CANCELLED);
  core_open_gate();
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(core_has(a, 1, 1));
  CHECK(core_has(b, 3, 1)); /* dropped, and nothing waits for it */
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, b, b, b, stream), WIA_STATUS_OK);
  CHECK(core_has(b, 6, 2));
  CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_OK); /* with nothing to do */
  core_destroy(a);
  core_destroy(b);
  end_stream(stream);
}

/* Work that fails after its stream was cancelled has failed, and is the first that did. */
static void test_cancel_before_failure(void) {
  wia_stream_t *stream = make_stream();
  wia_tensor_t a = core_tensor(context, 4, 0), b = core_tensor(context, 4, 0);
  float host[4];
  fail_with(WIA_STATUS_DATA_LOSS, "the fault", "a deeper cause");
  core.launch_delay_us = 50000;
  CHECK_STATUS(enqueue_failure(stream, a), WIA_STATUS_OK);
  while (!core.running) usleep(100);
  CHECK_STATUS(wia_add(context, input, input, b, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_cancel_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_DATA_LOSS);
  CHECK_STATUS(wia_read_tensor(a, host, sizeof host, NULL), WIA_STATUS_DATA_LOSS);
  check_failure(WIA_STATUS_DATA_LOSS, "the fault");
  CHECK(wia_read_tensor(b, host, sizeof host, NULL) != WIA_STATUS_OK);
  fail_with(WIA_STATUS_OK, "", "");
  CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_OK);

  /* cancelled while it runs, and done none the less */
  CHECK_STATUS(wia_relu(context, input, a, stream), WIA_STATUS_OK);
  while (!core.running) usleep(100);
  CHECK_STATUS(wia_add(context, input, input, b, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_cancel_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_CANCELLED);
  CHECK(core_has(a, 1, 1));
  CHECK_STATUS(wia_read_tensor(b, host, sizeof host, NULL), WIA_STATUS_CANCELLED);
  core.launch_delay_us = 0;
  CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_OK);
  core_destroy(a);
  core_destroy(b);
  end_stream(stream);
}

/* Calls that succeed leave the last error alone. */
static void test_last_error_stays(void) {
  wia_stream_t *stream = make_stream();
  wia_event_t *event = NULL;
  wia_tensor_t a = core_tensor(context, 4, 0);
  CHECK_STATUS(wia_create_event(&event, context), WIA_STATUS_OK);
  fail_with(WIA_STATUS_DATA_LOSS, "a fault", "");
  CHECK_STATUS(enqueue_failure(stream, a), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_DATA_LOSS);
  fail_with(WIA_STATUS_OK, "", "");
  CHECK_STATUS(wia_free(&event), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_record_event(event, stream), WIA_STATUS_OK); /* its point fails at once */
  int32_t state = 0;
  CHECK_STATUS(wia_query_event(event, &state), WIA_STATUS_OK);
  CHECK(state == WIA_EVENT_FAILED);
  CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_OK);
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  CHECK_STATUS(wia_get_last_error(&info), WIA_STATUS_OK);
  CHECK(info.status == WIA_STATUS_INVALID_ARGUMENT && strcmp(info.function, "wia_free") == 0);
  core_destroy(a);
  CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
  end_stream(stream);
}

static void run_tests(void) {
  test_order();
  test_timeouts();
  test_pending();
  test_failure();
  test_refused_submissions();
  test_failure_at_once();
  test_chatter();
  if (device != CORE_SPARSE) { /* which can't drop what it has */
    test_reset();
    test_cancel_before_failure();
  }
  test_last_error_stays();
}

int main(void) {
  run_on_all(run_tests);
  return CHECK_DONE();
}
