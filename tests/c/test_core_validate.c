/* The layer validate: races, and what is none. Beside each check: the guard without which it fails. */
#include <sched.h>

#include "core_validate.h"

static void test_hazards(void) {
  set_up();
  add(a, b, one);
  add(b, c, two); /* shadow.c, find_conflict */
  CHECK_RACE(READ_AFTER_WRITE, "reads its input 0 where add on stream");
  add(d, b, three);
  CHECK(count_findings() == 1); /* of several before it the first is named */
  finish_all();
  add(a, b, one);
  add(a, c, two); /* two readers */
  add(d, a, three);
  CHECK_RACE(WRITE_AFTER_READ, "writes its output 0 where add on stream");
  finish_all();
  add(a, b, one);
  add(b, c, one); /* one stream is in order */
  CHECK_NONE();
  add(b, a, two); /* shadow.c, stands_for: its read doesn't hide its write */
  CHECK(count_findings() == 2);
  add(d, d, two); /* and has nothing to do with this */
  CHECK_NONE();
  tear_down();
}

/* Findings name both places, and are told once for these. */
static void test_places(void) {
  set_up();
  for (int i = 0; i < 3; i++) {
    add(a, b, one);
    CHECK_STATUS(wia_mul(context, a, a, b, two), WIA_STATUS_OK);
    finish_all();
  }
  const seen_t seen = see(wia_get_validation_report);
  CHECK(seen.count == 1);
  const wia_finding_t finding = finding_at(&seen, 0);
  CHECK(finding.count == 3); /* finding.c, add_finding */
  CHECK(strcmp(finding.operation, "mul") == 0 && strcmp(finding.operation_2, "add") == 0);
  CHECK(strcmp(finding.function, "wia_mul") == 0 && strcmp(finding.function_2, "wia_add") == 0);
  CHECK(finding.stream && finding.stream_2 && finding.stream != finding.stream_2);
  CHECK(finding.size == COUNT * sizeof(float) && finding.device_id == core_id(device));
  CHECK_TEXT(finding.message, finding.site);
  CHECK_TEXT(finding.message, finding.site_2);
  CHECK_TEXT(finding.site, "test_core_validate");
  CHECK(!strstr(finding.site, "libwia")); /* site.c, describe_frames: frames of its own */
  wia_finding_t none = WIA_FINDING_INIT;
  CHECK_STATUS(wia_get_finding(seen.report, 1, &none), WIA_STATUS_OUT_OF_RANGE);
  drop(&seen);
  CHECK(count_findings() == 1);
  tear_down();
}

/* -- what orders --------------------------------------------------------------------------------- */

static void test_events(void) {
  set_up();
  add(a, b, one);
  record(event, one);
  enqueue_wait(two, event); /* timeline.c, run_step: a wait */
  add(b, c, two);
  record(other, two);
  enqueue_wait(three, other); /* what two knows, three knows */
  add(d, b, three);
  CHECK_NONE();
  add(d, c, one); /* nobody told one */
  CHECK(count_findings() >= 1);
  finish_all();
  add(a, b, one);
  record(event, one);
  add(a, c, one); /* behind the record */
  enqueue_wait(two, event);
  add(c, d, two);
  CHECK_RACE(READ_AFTER_WRITE, "reads its input 0");
  tear_down();
}

static void test_host_waits(void) {
  set_up();
  uint32_t done = 0;
  int32_t state = 0;
  add(a, b, one);
  finish(one); /* sequence.c, wait_sequence */
  add(b, c, two);
  CHECK_STATUS(wia_synchronize_device(core_id(device), WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  add(c, d, three);
  record(event, three);
  CHECK_STATUS(wia_wait_event(event, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK); /* point.c */
  add(a, d, one);
  while (!done) CHECK_STATUS(wia_query_stream(one, &done), WIA_STATUS_OK); /* stream.c */
  add(d, c, two);
  record(event, two);
  while (state != WIA_EVENT_DONE)
    CHECK_STATUS(wia_query_event(event, &state), WIA_STATUS_OK); /* event.c */
  add(a, c, three);
  CHECK_STATUS(wia_reset_stream(three), WIA_STATUS_OK); /* drain.c */
  add(a, c, one);
  CHECK_NONE();
  tear_down();
}

/* What the host saw of a stream doesn't count for what came later there. */
static void test_host_saw_less(void) {
  set_up();
  add(a, b, two);
  record(event, two);
  add(a, c, one);
  record(other, one);
  enqueue_wait(one, event);
  add(a, d, one);
  CHECK_STATUS(wia_wait_event(other, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  add(c, c, NULL); /* waits for what one has done before it waited for two: timeline.c, learn */
  CHECK_NONE();
  add(c, b, three);
  CHECK_RACE(WRITE_AFTER_WRITE, "writes its output 0 where add on stream");
  finish_all();
  add(a, c, one);
  record(other, one);
  add(a, d, one);
  CHECK_STATUS(wia_wait_event(other, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  add(b, a, three); /* behind add(a, c), but not behind add(a, d) */
  CHECK_RACE(WRITE_AFTER_READ, "writes its output 0 where add on stream");
  tear_down();
}

static void test_calls_without_stream(void) {
  set_up();
  float values[COUNT];
  add(a, b, one);
  add(b, c, NULL); /* waits for b */
  add(b, d, two);
  add(c, d, two);
  CHECK_NONE();
  CHECK_STATUS(wia_read_tensor(d, values, sizeof values, NULL), WIA_STATUS_OK);
  add(a, d, three);
  CHECK_NONE();
  tear_down();
}

static wia_status_t do_nothing(void *context_, wia_status_t status, wia_error_t *error) {
  (void)context_;
  (void)status;
  (void)error;
  return WIA_STATUS_OK;
}

static wia_status_t use_memory(void *unused, wia_status_t status, wia_error_t *error) {
  (void)unused;
  (void)error;
  if (!status) add(c, d, three); /* c was written before the function on its stream */
  if (!status) finish(three);
  return WIA_STATUS_OK;
}

/* A function on a stream runs behind what is before it, and what it does is before what is behind it. */
static void test_functions(void) {
  set_up();
  add(a, c, one);
  CHECK_STATUS(wia_enqueue_host_function(one, use_memory, NULL), WIA_STATUS_OK);
  add(d, b, one); /* timeline.c, is_blocked: held back until the function has waited for d */
  finish_all();
  CHECK_NONE();
  CHECK_STATUS(wia_enqueue_host_function(one, do_nothing, NULL), WIA_STATUS_OK);
  add(d, b, one);
  add(a, b, two);
  finish_all();
  CHECK(count_findings() == 1);
  tear_down();
}

static void release(void *flag, wia_status_t status) {
  (void)status;
  atomic_store((_Atomic uint32_t *)flag, 1);
}

static void test_callbacks(void) {
  set_up();
  _Atomic uint32_t done = 0;
  add(a, b, one);
  record(event, one);
  CHECK_STATUS(wia_call_on_event(event, release, &done), WIA_STATUS_OK);
  while (!done) sched_yield();
  add(b, c, two); /* point.c, tell_subscribers */
  CHECK_NONE();
  tear_down();
}

/* -- waits before records ------------------------------------------------------------------------ */

static void test_late_records(void) {
  set_up();
  enqueue_wait(two, event);
  add(b, c, two); /* held back: what it waits for isn't known yet */
  add(a, b, one);
  record(event, one);
  finish_all();
  CHECK_NONE();
  CHECK_STATUS(wia_reset_event(event), WIA_STATUS_OK);
  enqueue_wait(two, event);
  add(b, c, two);
  record(event, one);
  add(a, b, one); /* behind the record */
  finish_all();
  CHECK_RACE(WRITE_AFTER_READ, "writes its output 0 where");
  CHECK_STATUS(wia_reset_event(event), WIA_STATUS_OK);
  enqueue_wait(two, event);
  add(b, c, two);
  add(a, b, three);
  record(event, one);                                      /* three is not what two waits for */
  CHECK_RACE(READ_AFTER_WRITE, "reads its input 0 where"); /* found at the record */
  CHECK_STATUS(wia_reset_event(event), WIA_STATUS_OK);
  finish_all();
  enqueue_wait(two, event);
  add(b, c, two);
  add(a, b, three);
  finish(three);
  CHECK_STATUS(wia_signal_event(event, WIA_STATUS_OK, NULL), WIA_STATUS_OK); /* by who has waited */
  finish_all();
  CHECK_NONE();
  tear_down();
}

/* What was dropped is over when the stream was reset, and so is what waited behind it. */
static void test_dropped(void) {
  set_up();
  enqueue_wait(one, event);
  add(a, b, one);
  record(other, one);
  enqueue_wait(two, other);
  add(b, c, two);
  CHECK_STATUS(wia_reset_stream(one), WIA_STATUS_OK);
  CHECK_STATUS(wia_reset_stream(two), WIA_STATUS_OK);
  add(a, b, three);
  add(b, c, three);
  CHECK_NONE();
  tear_down();
}

static void run_tests(void) {
  test_hazards();
  test_places();
  test_events();
  test_host_waits();
  test_host_saw_less();
  test_calls_without_stream();
  test_functions();
  test_callbacks();
  test_late_records();
  test_dropped();
}

int main(void) { return run_on_all_sorts(run_tests); }
