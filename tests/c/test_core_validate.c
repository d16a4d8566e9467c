/* The layer validate: races, and what is none. Beside each check: the guard without which it fails. */
#include <sched.h>

#include "findings.h"

enum { COUNT = 16 };

static uint32_t device;
static wia_context_t *context;
static wia_stream_t *one, *two, *three;
static wia_event_t *event, *other;
static wia_tensor_t a, b, c, d;
static _Atomic uint32_t lines;

static void set_up(void) {
  context = core_context(device);
  CHECK_STATUS(wia_create_stream(&one, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_stream(&two, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_stream(&three, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_event(&event, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_event(&other, context), WIA_STATUS_OK);
  a = core_tensor(context, COUNT, 0);
  b = core_tensor(context, COUNT, 0);
  c = core_tensor(context, COUNT, 0);
  d = core_tensor(context, COUNT, 0);
}

static void tear_down(void) {
  finish(one);
  finish(two);
  finish(three);
  wia_destroy_stream(one);
  wia_destroy_stream(two);
  wia_destroy_stream(three);
  wia_destroy_event(event);
  wia_destroy_event(other);
  core_destroy(a);
  core_destroy(b);
  core_destroy(c);
  core_destroy(d);
  wia_destroy_context(context);
}

static void add(wia_tensor_t from, wia_tensor_t to, wia_stream_t *stream) {
  CHECK_STATUS(wia_add(context, from, from, to, stream), WIA_STATUS_OK);
}
static void record(wia_event_t *at, wia_stream_t *stream) {
  CHECK_STATUS(wia_record_event(at, stream), WIA_STATUS_OK);
}
static void enqueue_wait(wia_stream_t *stream, wia_event_t *at) {
  CHECK_STATUS(wia_enqueue_wait(stream, at), WIA_STATUS_OK);
}
static void finish_all(void) {
  finish(one);
  finish(two);
  finish(three);
}

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

/* -- places in memory ---------------------------------------------------------------------------- */

static wia_tensor_t view(wia_tensor_t of, int64_t offset, int64_t count, int64_t stride) {
  wia_tensor_t made = NULL;
  CHECK_STATUS(wia_view_tensor(of, offset, &count, &stride, 1, &made), WIA_STATUS_OK);
  return made;
}

/* region.c: regions_meet. */
static void test_views(void) {
  set_up();
  const struct {
    int64_t offset, count, stride;
    int64_t offset_2, count_2, stride_2;
    uint32_t races;
  } cases[] = {
      {0, 8, 2, 1, 8, 2, 0},   {0, 8, 1, 8, 8, 1, 0},    {0, 8, 1, 7, 8, 1, 1},
      {0, 8, 2, 2, 2, 6, 1},   {0, 4, 4, 1, 5, 3, 1},    {0, 4, 4, 2, 4, 4, 0},
      {15, 8, -2, 0, 8, 2, 0}, {15, 8, -2, 1, 2, 14, 1}, {0, 5, 3, 1, 3, 6, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    wia_tensor_t left = view(a, cases[i].offset, cases[i].count, cases[i].stride);
    wia_tensor_t right = view(a, cases[i].offset_2, cases[i].count_2, cases[i].stride_2);
    add(left, left, one);
    add(right, right, two);
    const uint64_t found = count_findings();
    if (!CHECK((found != 0) == cases[i].races)) printf("  case %d\n", (int)i);
    finish_all();
    core_destroy(left);
    core_destroy(right);
  }
  tear_down();
}

/* Columns of one matrix, and rows of another order. */
static void test_matrices(void) {
  set_up();
  wia_tensor_t columns[2], block = NULL;
  const int64_t shape[] = {4, 2}, strides[] = {4, 1}, square[] = {2, 2};
  for (int64_t i = 0; i < 2; i++)
    CHECK_STATUS(wia_view_tensor(a, 2 * i, shape, strides, 2, &columns[i]), WIA_STATUS_OK);
  CHECK_STATUS(wia_view_tensor(a, 5, square, strides, 2, &block), WIA_STATUS_OK);
  add(columns[0], columns[0], one);
  add(columns[1], columns[1], two);
  CHECK_NONE();
  add(block, block, three);
  CHECK(count_findings() != 0);
  core_destroy(columns[0]);
  core_destroy(columns[1]);
  core_destroy(block);
  tear_down();
}

static void test_host_memory(void) {
  set_up();
  float values[COUNT], more[COUNT];
  CHECK_STATUS(wia_read_tensor(a, values, sizeof values, one), WIA_STATUS_OK);
  CHECK_STATUS(wia_write_tensor(b, values, sizeof values, two), WIA_STATUS_OK);
  CHECK_RACE(READ_AFTER_WRITE, "of the host from");
  finish_all();
  CHECK_STATUS(wia_read_tensor(a, values, sizeof values, one), WIA_STATUS_OK);
  CHECK_STATUS(wia_read_tensor(a, more, sizeof more, two), WIA_STATUS_OK);
  CHECK_NONE();
  CHECK_STATUS(wia_write_tensor(b, values, sizeof values, NULL), WIA_STATUS_OK); /* too early */
  CHECK_RACE(READ_AFTER_WRITE, "write without a stream reads its source");
  finish_all();
  tear_down();
}

/* Memory that was freed is another's when it is given out again. */
static void test_reuse(void) {
  set_up();
  for (int i = 0; i < 20; i++) {
    wia_tensor_t fresh = core_tensor(context, COUNT, 0);
    add(fresh, fresh, i % 2 ? one : two);
    core_destroy(fresh);
  }
  CHECK_NONE();
  tear_down();
}

/* -- threads ------------------------------------------------------------------------------------- */

static void *stand_in(void *unused) {
  CHECK_STATUS(wia_relu(context, a, b, NULL), WIA_STATUS_OK);
  return unused;
}

/* Threads that are in the same memory at the same time; not those that aren't. */
static void test_threads(void) {
  set_up();
  pthread_t thread;
  add(a, b, NULL);
  core_close_gate();
  CHECK(pthread_create(&thread, NULL, stand_in, NULL) == 0);
  CHECK(core_await_gate(1));
  add(a, c, NULL); /* both read */
  CHECK_NONE();
  add(c, b, NULL); /* shadow.c, is_before: in it */
  CHECK_RACE(WRITE_AFTER_WRITE, "two threads are in it at the same time");
  add(c, b, one);
  CHECK_RACE(WRITE_AFTER_WRITE, "two threads are in it at the same time");
  core_open_gate();
  pthread_join(thread, NULL);
  finish_all();
  add(a, b, NULL);
  add(c, b, one);
  CHECK_NONE();
  tear_down();
}

/* More streams than are told apart at once, and more accesses than are kept. */
static void test_many(void) {
  set_up();
  CHECK_STATUS(wia_signal_event(event, WIA_STATUS_OK, NULL), WIA_STATUS_OK);
  for (int i = 0; i < 300; i++) {
    wia_stream_t *stream = NULL;
    CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
    enqueue_wait(stream, event);
    add(a, b, stream);
    record(event, stream);
    wia_destroy_stream(stream);
  }
  enqueue_wait(one, event);
  for (int64_t i = 0; i < 600; i++) {
    wia_tensor_t part = view(b, i % COUNT, 1, 1);
    add(part, part, one);
    core_destroy(part);
  }
  CHECK_NONE();
  finish(one);
  tear_down();
}

int main(void) {
  static const uint32_t devices[] = {CORE_PLAIN, CORE_OPAQUE, CORE_QUEUED, CORE_SPARSE};
  core_start();
  core.only_touch = true;
  core.kernel_flags = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE;
  CHECK_STATUS(wia_set_log_callback(swallow, &lines), WIA_STATUS_OK);
  CHECK_STATUS(wia_configure_validation(&(wia_validation_config_t){
                   sizeof(wia_validation_config_t), WIA_VALIDATION_REPORT, NULL, NULL}),
               WIA_STATUS_OK);
  CHECK_STATUS(wia_enable_layer("validate"), WIA_STATUS_OK);
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    device = devices[i];
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
    test_views();
    test_matrices();
    test_host_memory();
    test_reuse();
    test_threads();
    test_many();
  }
  CHECK(lines > 0); /* finding.c, tell */
  CHECK_STATUS(wia_disable_layer("validate"), WIA_STATUS_OK);
  core_evict();
  CHECK_CLEAN();
  return CHECK_DONE();
}
