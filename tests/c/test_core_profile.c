/* Profiling: what is recorded, for whom, and what of it is lost. Beside each check: the guard without
 * which it fails. The file that a report makes is checked by python/test_profile.py. */
#include <sched.h>
#include <sys/wait.h>

#include "core_driver.h"

typedef struct seen_t {
  wia_profiling_report_t *report;
  wia_profiling_report_info_t info;
  wia_profile_event_t *events;
} seen_t;

static wia_profiling_session_t *start(wia_context_t *context, uint32_t capacity) {
  wia_profiling_config_t config = WIA_PROFILING_CONFIG_INIT;
  config.event_capacity = capacity;
  wia_profiling_session_t *session = NULL;
  CHECK_STATUS(wia_start_profiling(context, &config, &session), WIA_STATUS_OK);
  return session;
}

/* No two events of a row cross, and none ends before it begins. */
static void check_rows(const seen_t *seen) {
  uint32_t crossing = 0;
  for (uint64_t i = 0; i < seen->info.event_count; i++) {
    const wia_profile_event_t *a = &seen->events[i];
    if (a->end_ns < a->begin_ns || a->begin_ns < seen->info.begin_ns ||
        a->end_ns > seen->info.end_ns)
      crossing++;
    for (uint64_t j = i + 1; j < seen->info.event_count; j++) {
      const wia_profile_event_t *b = &seen->events[j];
      if (a->stream != b->stream || (!a->stream && a->thread != b->thread)) continue;
      if (b->begin_ns < a->end_ns && b->end_ns > a->end_ns) crossing++;
    }
  }
  CHECK(crossing == 0);
}

static seen_t stop(wia_profiling_session_t *session) {
  seen_t seen = {.info = WIA_PROFILING_REPORT_INFO_INIT};
  CHECK_STATUS(wia_stop_profiling(session, &seen.report), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_profile_report_info(seen.report, &seen.info), WIA_STATUS_OK);
  seen.events = calloc(seen.info.event_count + 1, sizeof *seen.events);
  for (uint64_t i = 0; i < seen.info.event_count; i++) {
    seen.events[i] = WIA_PROFILE_EVENT_INIT;
    CHECK_STATUS(wia_get_profile_event(seen.report, i, &seen.events[i]), WIA_STATUS_OK);
  }
  check_rows(&seen);
  return seen;
}

static void drop(seen_t *seen) {
  free(seen->events);
  CHECK_STATUS(wia_destroy_profile_report(seen->report), WIA_STATUS_OK);
}

static uint64_t count(const seen_t *seen, int32_t kind, const char *name) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < seen->info.event_count; i++)
    n += seen->events[i].kind == kind && strcmp(seen->events[i].name, name) == 0;
  return n;
}

/* The nth event of that kind and name, from 0; one of kind 0 if there is none. */
static wia_profile_event_t event_at(const seen_t *seen, int32_t kind, const char *name,
                                    uint64_t n) {
  for (uint64_t i = 0; i < seen->info.event_count; i++) {
    const wia_profile_event_t *event = &seen->events[i];
    if (event->kind == kind && strcmp(event->name, name) == 0 && n-- == 0) return *event;
  }
  return (wia_profile_event_t){0};
}

static void add_on(wia_context_t *context, wia_tensor_t a, wia_tensor_t out, wia_stream_t *stream) {
  CHECK_STATUS(wia_add(context, a, a, out, stream), WIA_STATUS_OK);
}

/* -- what is recorded ---------------------------------------------------------------------------- */

static void test_call(void) {
  wia_context_t *context = core_context(CORE_PLAIN);
  wia_tensor_t a = core_tensor(context, 4, 1), out = core_tensor(context, 4, 0);
  add_on(context, a, out, NULL); /* before: not in the window */
  wia_profiling_session_t *session = start(context, 0);
  add_on(context, a, out, NULL);
  CHECK_STATUS(wia_mul(context, a, a, out, NULL), WIA_STATUS_OK);
  float values[4];
  CHECK_STATUS(wia_read_tensor(out, values, sizeof values, NULL), WIA_STATUS_OK);
  seen_t seen = stop(session);
  const wia_profile_event_t call = event_at(&seen, WIA_PROFILE_CALL, "wia_add", 0);
  const wia_profile_event_t kernel = event_at(&seen, WIA_PROFILE_KERNEL, "add", 0);
  CHECK(count(&seen, WIA_PROFILE_CALL, "wia_add") == 1 &&
        count(&seen, WIA_PROFILE_KERNEL, "add") == 1);
  CHECK(call.correlation_id && call.correlation_id == kernel.correlation_id);
  CHECK(call.begin_ns <= kernel.begin_ns && kernel.end_ns <= call.end_ns);
  CHECK(call.device_id == core_id(CORE_PLAIN) && kernel.device_id == core_id(CORE_PLAIN));
  CHECK(kernel.stream == 0 && kernel.thread == call.thread && !call.cut);
  CHECK(count(&seen, WIA_PROFILE_PREPARE, "mul") <= 1); /* only once a process */
  const wia_profile_event_t copy = event_at(&seen, WIA_PROFILE_COPY, "read", 0);
  CHECK(copy.size == sizeof values && copy.correlation_id != call.correlation_id);
  CHECK(count(&seen, WIA_PROFILE_CALL, "wia_read_tensor") == 1);
  CHECK(seen.info.lost_count == 0 && seen.info.device_id == core_id(CORE_PLAIN));
  wia_profile_event_t beyond = WIA_PROFILE_EVENT_INIT;
  CHECK_STATUS(wia_get_profile_event(seen.report, seen.info.event_count, &beyond),
               WIA_STATUS_OUT_OF_RANGE);
  drop(&seen);
  core_destroy(a);
  core_destroy(out);
  wia_destroy_context(context);
}

/* A stream has a row of its own, its kernels the ids of the calls that put them there. */
static void run_stream(uint32_t device) {
  wia_context_t *context = core_context(device);
  wia_tensor_t a = core_tensor(context, 4, 1);
  wia_tensor_t outs[] = {core_tensor(context, 4, 0), core_tensor(context, 4, 0)};
  wia_stream_t *streams[2];
  for (int i = 0; i < 2; i++) CHECK_STATUS(wia_create_stream(&streams[i], context), WIA_STATUS_OK);
  wia_profiling_session_t *session = start(context, 0);
  for (int i = 0; i < 4; i++) add_on(context, a, outs[i & 1], streams[i & 1]);
  for (int i = 0; i < 2; i++) CHECK_STATUS(wia_synchronize_stream(streams[i], -1), WIA_STATUS_OK);
  seen_t seen = stop(session);
  CHECK(count(&seen, WIA_PROFILE_KERNEL, "add") == 4);
  CHECK(count(&seen, WIA_PROFILE_WAIT, "stream") == 2);
  uint32_t rows[4] = {0};
  for (uint64_t i = 0; i < 4; i++) {
    const wia_profile_event_t call = event_at(&seen, WIA_PROFILE_CALL, "wia_add", i);
    uint32_t joined = 0;
    for (uint64_t k = 0; k < 4; k++) {
      const wia_profile_event_t kernel = event_at(&seen, WIA_PROFILE_KERNEL, "add", k);
      if (kernel.correlation_id != call.correlation_id) continue;
      rows[i] = kernel.stream;
      CHECK(kernel.begin_ns >= call.begin_ns && call.stream == 0);
      joined++;
    }
    CHECK(joined == 1);
  }
  CHECK(rows[0] && rows[1] && rows[0] != rows[1] && rows[0] == rows[2] && rows[1] == rows[3]);
  drop(&seen);
  for (int i = 0; i < 2; i++) {
    wia_destroy_stream(streams[i]);
    core_destroy(outs[i]);
  }
  core_destroy(a);
  wia_destroy_context(context);
}

static void test_streams(void) { run_stream(CORE_PLAIN); }
static void test_driver_streams(void) { run_stream(CORE_QUEUED); }

/* -- for whom ------------------------------------------------------------------------------------ */

static void test_filters(void) {
  wia_context_t *context = core_context(CORE_PLAIN), *other = core_context(CORE_OTHER);
  wia_tensor_t a = core_tensor(context, 4, 1), b = core_tensor(other, 4, 1);
  wia_profiling_session_t *one = start(other, 0), *all = start(NULL, 0), *quiet = NULL;
  wia_profiling_config_t config = WIA_PROFILING_CONFIG_INIT;
  config.capture_kernels = config.capture_memory = 0;
  CHECK_STATUS(wia_start_profiling(context, &config, &quiet), WIA_STATUS_OK);
  add_on(context, a, a, NULL);
  add_on(other, b, b, NULL);
  float values[4];
  CHECK_STATUS(wia_read_tensor(a, values, sizeof values, NULL), WIA_STATUS_OK);
  seen_t seen = stop(one);
  /* profile.c, is_wanted: other devices' events */
  CHECK(count(&seen, WIA_PROFILE_KERNEL, "add") == 1 &&
        count(&seen, WIA_PROFILE_CALL, "wia_add") == 1);
  CHECK(count(&seen, WIA_PROFILE_CALL, "wia_read_tensor") == 0);
  drop(&seen);
  seen = stop(all); /* the end of one session leaves the other's events */
  CHECK(count(&seen, WIA_PROFILE_KERNEL, "add") == 2 &&
        count(&seen, WIA_PROFILE_COPY, "read") == 1);
  CHECK(seen.info.device_id == -1);
  drop(&seen);
  seen = stop(quiet);
  CHECK(count(&seen, WIA_PROFILE_KERNEL, "add") == 0 &&
        count(&seen, WIA_PROFILE_COPY, "read") == 0);
  CHECK(count(&seen, WIA_PROFILE_CALL, "wia_add") == 1);
  drop(&seen);
  core_destroy(a);
  core_destroy(b);
  wia_destroy_context(context);
  wia_destroy_context(other);
}

static void test_loss(void) {
  enum { CAPACITY = 8, CALLS = 20 };
  wia_context_t *context = core_context(CORE_PLAIN);
  wia_tensor_t a = core_tensor(context, 4, 1);
  wia_profiling_session_t *session = start(context, CAPACITY);
  for (int i = 0; i < CALLS; i++) add_on(context, a, a, NULL);
  wia_profiling_session_t *later = start(context, 0); /* shares the small rings */
  add_on(context, a, a, NULL);
  seen_t seen = stop(later); /* what the first has lost isn't lost to this one */
  CHECK(seen.info.lost_count == 0 && count(&seen, WIA_PROFILE_KERNEL, "add") == 1);
  /* start and stop of the second one, what stop() and drop() ask it, were recorded too */
  const uint64_t calls = 2 + 1 + seen.info.event_count + 1;
  drop(&seen);
  seen = stop(session);
  CHECK(seen.info.event_count == CAPACITY);
  CHECK(seen.info.lost_count == 2 * (CALLS + 1) + calls - CAPACITY);
  drop(&seen);
  core_destroy(a);
  wia_destroy_context(context);
}

/* Stopping while a kernel runs: it is left out, and the next session has it, cut. */
static void test_open_spans(void) {
  wia_context_t *context = core_context(CORE_PLAIN);
  wia_tensor_t a = core_tensor(context, 4, 1), out = core_tensor(context, 4, 0);
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  core_close_gate();
  wia_profiling_session_t *session = start(context, 0), *over = start(context, 0);
  CHECK_STATUS(wia_relu(context, a, out, stream), WIA_STATUS_OK);
  CHECK(core_await_gate(1));
  seen_t seen = stop(session);
  CHECK(count(&seen, WIA_PROFILE_KERNEL, "relu") == 0);
  CHECK(count(&seen, WIA_PROFILE_CALL, "wia_relu") == 1);
  drop(&seen);
  wia_profiling_session_t *next = start(context, 0);
  core_open_gate();
  CHECK_STATUS(wia_synchronize_stream(stream, -1), WIA_STATUS_OK);
  seen = stop(next);
  const wia_profile_event_t cut = event_at(&seen, WIA_PROFILE_KERNEL, "relu", 0);
  CHECK(cut.cut == 1 && cut.begin_ns == seen.info.begin_ns); /* profile.c, get_event */
  drop(&seen);
  CHECK_STATUS(wia_destroy_profiling_session(over), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_profiling_session(over), WIA_STATUS_INVALID_HANDLE);
  wia_destroy_stream(stream);
  core_destroy(a);
  core_destroy(out);
  wia_destroy_context(context);
}

/* -- ranges -------------------------------------------------------------------------------------- */

static void test_ranges(void) {
  wia_context_t *context = core_context(CORE_PLAIN);
  wia_tensor_t a = core_tensor(context, 4, 1);
  CHECK_STATUS(wia_pop_range(), WIA_STATUS_FAILED_PRECONDITION);
  CHECK_STATUS(wia_push_range(NULL, 0), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_push_range("early", 5), WIA_STATUS_OK); /* before the session */
  wia_profiling_session_t *session = start(context, 0);
  CHECK_STATUS(wia_push_range("a name that is longer than what an event has room for", 77),
               WIA_STATUS_OK);
  add_on(context, a, a, NULL);
  CHECK_STATUS(wia_pop_range(), WIA_STATUS_OK);
  CHECK_STATUS(wia_mul(context, a, a, a, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_pop_range(), WIA_STATUS_OK);
  CHECK_STATUS(wia_sub(context, a, a, a, NULL), WIA_STATUS_OK);
  seen_t seen = stop(session);
  CHECK(event_at(&seen, WIA_PROFILE_KERNEL, "add", 0).range_id == 77);
  CHECK(event_at(&seen, WIA_PROFILE_KERNEL, "mul", 0).range_id == 5); /* trace.c, pop_range */
  CHECK(event_at(&seen, WIA_PROFILE_KERNEL, "sub", 0).range_id == 0);
  CHECK(event_at(&seen, WIA_PROFILE_RANGE, "early", 0).cut == 1);
  CHECK(count(&seen, WIA_PROFILE_RANGE, "a name that is longer than what an event has ro") == 1);
  drop(&seen);
  for (int i = 0; i < 64; i++) CHECK_STATUS(wia_push_range("deep", 0), WIA_STATUS_OK);
  CHECK_STATUS(wia_push_range("deeper", 0), WIA_STATUS_RESOURCE_EXHAUSTED);
  for (int i = 0; i < 64; i++) CHECK_STATUS(wia_pop_range(), WIA_STATUS_OK);
  core_destroy(a);
  wia_destroy_context(context);
}

/* -- refusals ------------------------------------------------------------------------------------ */

static void refuse(const wia_profiling_config_t *config, wia_status_t expected) {
  wia_profiling_session_t *session = NULL;
  CHECK_STATUS(wia_start_profiling(NULL, config, &session), expected);
  if (session) wia_destroy_profiling_session(session);
}

static void test_refusals(void) {
  wia_profiling_session_t *session = NULL;
  wia_profiling_report_t *report = NULL;
  wia_profiling_config_t config = WIA_PROFILING_CONFIG_INIT;
  CHECK_STATUS(wia_start_profiling(NULL, NULL, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_start_profiling((wia_context_t *)1, NULL, &session), WIA_STATUS_INVALID_HANDLE);
  config.capture_power = 1;
  refuse(&config, WIA_STATUS_UNIMPLEMENTED);
  config.capture_power = 0;
  config.num_counters = 1;
  refuse(&config, WIA_STATUS_UNIMPLEMENTED);
  config.num_counters = 0;
  config.flamegraph_enabled = 1;
  refuse(&config, WIA_STATUS_UNIMPLEMENTED);
  config.flamegraph_enabled = 0;
  config.mode = 9;
  refuse(&config, WIA_STATUS_INVALID_ARGUMENT);
  config.mode = 0;
  config.output_format = 9;
  refuse(&config, WIA_STATUS_INVALID_ARGUMENT);
  config.output_format = 0;
  config.event_capacity = 1u << 30;
  refuse(&config, WIA_STATUS_INVALID_ARGUMENT);
  CHECK(session == NULL);
  CHECK_STATUS(wia_stop_profiling(NULL, &report), WIA_STATUS_INVALID_HANDLE);
  session = start(NULL, 0);
  CHECK_STATUS(wia_stop_profiling(session, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_stop_profiling(session, &report), WIA_STATUS_OK);
  CHECK_STATUS(wia_stop_profiling(session, &report), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_save_profile_report(report, NULL), WIA_STATUS_FAILED_PRECONDITION);
  CHECK_STATUS(wia_save_profile_report(report, "/no/such/folder/x.json"), WIA_STATUS_NOT_FOUND);
  CHECK_STATUS(wia_save_profile_report(report, TEST_DRIVERS), WIA_STATUS_PERMISSION_DENIED);
  CHECK_STATUS(wia_destroy_profile_report(report), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_profile_report(report), WIA_STATUS_INVALID_HANDLE);
}

/* -- threads and forks --------------------------------------------------------------------------- */

static _Atomic bool enough;

static void *call_on(void *argument) {
  wia_context_t *context = argument;
  wia_tensor_t a = core_tensor(context, 4, 1);
  while (!enough) add_on(context, a, a, NULL);
  core_destroy(a);
  return NULL;
}

/* Sessions come and go while other threads record. */
static void test_threads(void) {
  wia_context_t *context = core_context(CORE_PLAIN);
  pthread_t threads[3];
  enough = false;
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, call_on, context);
  for (int i = 0; i < 20; i++) {
    wia_profiling_session_t *session = start(context, 64);
    sched_yield();
    seen_t seen = stop(session);
    drop(&seen);
  }
  enough = true;
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  wia_destroy_context(context);
}

static void test_fork(void) {
  wia_profiling_session_t *session = start(NULL, 0);
  CHECK_STATUS(wia_push_range("parent", 1), WIA_STATUS_OK);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    wia_profiling_report_t *report = NULL;
    CHECK_STATUS(wia_stop_profiling(session, &report), WIA_STATUS_FORKED);
    session = start(NULL, 0);
    CHECK_STATUS(wia_push_range("child", 2), WIA_STATUS_OK);
    CHECK_STATUS(wia_pop_range(), WIA_STATUS_OK);
    seen_t seen = stop(session);
    CHECK(count(&seen, WIA_PROFILE_RANGE, "child") == 1);
    CHECK(event_at(&seen, WIA_PROFILE_RANGE, "child", 0).thread == (uint64_t)getpid());
    drop(&seen);
    fflush(stdout);
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK_STATUS(wia_pop_range(), WIA_STATUS_OK);
  seen_t seen = stop(session);
  CHECK(count(&seen, WIA_PROFILE_RANGE, "parent") == 1);
  drop(&seen);
}

int main(void) {
  (void)wia_disable_layer("trace"); /* of WIA_LAYERS: a session beside those of the tests */
  core_start();
  core.kernel_flags = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE;
  test_call();
  test_streams();
  test_driver_streams();
  test_filters();
  test_loss();
  test_open_spans();
  test_ranges();
  test_refusals();
  test_threads();
  test_fork();
  CHECK_CLEAN();
  return CHECK_DONE();
}
