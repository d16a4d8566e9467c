/* Streams that are the driver's own: what goes there and what the host does, refusals, entries that a
 * driver lacks. What holds for streams of every kind is tested with those. */
#include <dirent.h>

#include "core_stream.h"

/* The library's threads for streams, by their name. */
static uint32_t count_workers(void) {
  uint32_t count = 0;
  DIR *folder = opendir("/proc/self/task");
  if (!folder) abort();
  for (struct dirent *entry; (entry = readdir(folder));) {
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
    FILE *file = fopen(path, "r");
    if (!file) continue;
    if (fgets(name, sizeof name, file)) count += strncmp(name, "wia stream", 10) == 0;
    fclose(file);
  }
  closedir(folder);
  return count;
}

static wia_status_t do_nothing(void *context_, wia_status_t status, wia_error_t *out_error) {
  (void)context_, (void)status, (void)out_error;
  return WIA_STATUS_OK;
}

/* Kernels, copies, fills and records need no thread of the library's; a host function does. */
static void test_threads(void) {
  while (count_workers()) usleep(100); /* those of earlier tests are on the way out */
  wia_stream_t *stream = make_stream();
  wia_event_t *event = make_event();
  wia_tensor_t a = core_tensor(context, 4, 0);
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  const float values[] = {5, 6, 7, 8}, zero = 0;
  float host[4] = {0};
  CHECK_STATUS(wia_get_tensor_info(a, &info), WIA_STATUS_OK);
  block(stream, a);
  CHECK_STATUS(wia_fill_memory((void *)(uintptr_t)info.address, &zero, 4, 16, stream),
               WIA_STATUS_OK);
  CHECK_STATUS(wia_write_tensor(a, values, sizeof values, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, a, a, a, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_read_tensor(a, host, sizeof host, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(event, stream), WIA_STATUS_OK);
  CHECK(device == CORE_SPARSE || count_workers() == 0); /* that one takes no copies */
  core_open_gate();
  CHECK_STATUS(wia_wait_event(event, LONG_NS), WIA_STATUS_OK);
  CHECK(host[0] == 10 && host[3] == 16);
  CHECK_STATUS(wia_enqueue_wait(stream, event), WIA_STATUS_OK); /* which is done: nothing to do */
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK(count_workers() == (device == CORE_SPARSE));
  CHECK_STATUS(wia_enqueue_host_function(stream, do_nothing, NULL), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK(count_workers() == 1);
  core_destroy(a);
  CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

/* A kernel whose driver works in its streams and that is prepared without that: the library calls it. */
static void test_mixture(void) {
  wia_stream_t *stream = make_stream();
  wia_tensor_t a = core_tensor(context, 4, 0), strided = NULL;
  float host[2] = {0};
  CHECK_STATUS(wia_view_tensor(a, 0, (const int64_t[]){2}, (const int64_t[]){2}, 1, &strided),
               WIA_STATUS_OK);
  core.kernel_flags |= CORE_KERNEL_WAITS;
  CHECK_STATUS(wia_mul(context, input, input, a, stream), WIA_STATUS_OK);
  core.kernel_flags &= ~(uint32_t)CORE_KERNEL_WAITS;
  CHECK_STATUS(wia_add(context, a, input, a, stream), WIA_STATUS_OK); /* behind it, by the driver */
  CHECK_STATUS(wia_read_tensor(strided, host, sizeof host, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_div(context, a, input, a, stream), WIA_STATUS_OK); /* with a workspace */
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK(host[0] == 2 && host[1] == 12);
  CHECK(core_has(a, 2, 1));
  core_destroy(strided);
  core_destroy(a);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

/* What the driver doesn't take fails the stream and not the call; what it had taken before is done. */
static void test_refusals(void) {
  wia_stream_t *stream = make_stream(), *none = NULL;
  wia_event_t *event = make_event();
  wia_tensor_t a = core_tensor(context, 4, 0), b = core_tensor(context, 4, 7);
  _Atomic wia_status_t *const refusals[] = {&core.submit_status, &core.signal_status};
  for (uint32_t i = 0; i < 2; i++) {
    block(stream, a);
    *refusals[i] = WIA_STATUS_UNAVAILABLE;
    CHECK_STATUS(wia_free(&stream), WIA_STATUS_INVALID_ARGUMENT);
    CHECK_STATUS(wia_add(context, input, input, b, stream), WIA_STATUS_OK);
    wia_error_info_t info =
        WIA_ERROR_INFO_INIT; /* a call that succeeds leaves the last error alone */
    CHECK_STATUS(wia_get_last_error(&info), WIA_STATUS_OK);
    CHECK(info.status == WIA_STATUS_INVALID_ARGUMENT);
    *refusals[i] = WIA_STATUS_OK;
    CHECK_STATUS(wia_record_event(event, stream), WIA_STATUS_OK);
    core_open_gate();
    CHECK_STATUS(wia_wait_event(event, LONG_NS), WIA_STATUS_UNAVAILABLE);
    CHECK_STATUS(finish(stream), WIA_STATUS_UNAVAILABLE);
    CHECK_MESSAGE("add on ");
    CHECK_MESSAGE("nothing to be taken");
    CHECK(core_has(a, 1, 1));
    core.stream_status = WIA_STATUS_RESOURCE_EXHAUSTED;
    CHECK_STATUS(wia_create_stream(&none, context), WIA_STATUS_RESOURCE_EXHAUSTED);
    CHECK_MESSAGE("wants no stream");
    CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_RESOURCE_EXHAUSTED);
    CHECK_STATUS(finish(stream), WIA_STATUS_UNAVAILABLE); /* as before */
    core.stream_status = WIA_STATUS_OK;
    CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_OK);
    CHECK_STATUS(wia_add(context, input, input, b, stream), WIA_STATUS_OK);
    CHECK_STATUS(finish(stream), WIA_STATUS_OK);
    CHECK(core_has(b, 2, 2));
  }
  CHECK(!none);
  core_destroy(a);
  core_destroy(b);
  CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

/* What the driver took is over when it refuses to tell of it: its operands may go. */
static void test_refused_signal(void) {
  wia_stream_t *stream = make_stream();
  wia_tensor_t a = core_tensor(context, 4, 0);
  const uint32_t launches = core.launches;
  core.launch_delay_us = 20000;
  core.signal_status = WIA_STATUS_UNAVAILABLE;
  CHECK_STATUS(wia_add(context, input, input, a, stream), WIA_STATUS_OK);
  const uint32_t launched = core.launches;
  CHECK(core.running == 0);
  core_destroy(a);
  core.launch_delay_us = 0;
  core.signal_status = WIA_STATUS_OK;
  CHECK_STATUS(finish(stream), WIA_STATUS_UNAVAILABLE);
  CHECK(launched <= launches + 1 && core.launches == launched);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

/* A stream that waits for an event fails at once when work before the wait does. */
static void test_failure_before_wait(void) {
  wia_stream_t *stream = make_stream();
  wia_event_t *never = make_event();
  wia_tensor_t a = core_tensor(context, 4, 0);
  core.fail_status = WIA_STATUS_DATA_LOSS;
  core.launch_delay_us = 20000;
  CHECK_STATUS(wia_softmax(context, input, a, NULL, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_wait(stream, never), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_DATA_LOSS);
  core.launch_delay_us = 0;
  core.fail_status = WIA_STATUS_OK;
  core_destroy(a);
  CHECK_STATUS(wia_destroy_event(never), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

typedef struct follow_t {
  wia_stream_t *stream;
  wia_tensor_t output;
  bool cancels; /* else it adds */
  _Atomic wia_status_t wait, done;
  _Atomic bool called;
} follow_t;

static void follow(void *context_, wia_status_t status) {
  follow_t *self = context_;
  (void)status;
  self->wait = wia_synchronize_stream(self->stream, LONG_NS);
  self->done = self->cancels ? wia_cancel_stream(self->stream)
                             : wia_add(context, input, input, self->output, self->stream);
  self->called = true;
}

/* On the thread on which the driver tells: no entry of the driver is called from there, and nothing
 * waits for itself. */
static void test_callback(bool cancels) {
  wia_stream_t *stream = make_stream();
  wia_event_t *event = make_event(), *never = make_event();
  follow_t self = {.stream = stream, .output = core_tensor(context, 4, 0), .cancels = cancels};
  block(stream, self.output);
  CHECK_STATUS(wia_record_event(event, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_call_on_event(event, follow, &self), WIA_STATUS_OK);
  CHECK(!self.called);
  if (cancels) CHECK_STATUS(wia_enqueue_wait(stream, never), WIA_STATUS_OK);
  core_open_gate();
  while (!self.called) usleep(100);
  CHECK(self.wait == WIA_STATUS_FAILED_PRECONDITION);
  CHECK(self.done == WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), cancels ? WIA_STATUS_CANCELLED : WIA_STATUS_OK);
  CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_OK);
  CHECK(core_has(self.output, cancels ? 1 : 2, cancels ? 1 : 2));
  core_destroy(self.output);
  CHECK_STATUS(wia_destroy_event(never), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

/* Without cancel in the table: what the driver has goes on, what the library still holds is dropped. */
static void test_cancel_what_is_held(void) {
  wia_stream_t *stream = make_stream();
  wia_event_t *never = make_event();
  wia_tensor_t a = core_tensor(context, 4, 0), b = core_tensor(context, 4, 7);
  block(stream, a);
  CHECK_STATUS(wia_add(context, a, input, a, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_wait(stream, never), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, input, input, b, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_cancel_stream(stream), WIA_STATUS_OK);
  core_open_gate();
  CHECK_STATUS(finish(stream), WIA_STATUS_CANCELLED);
  CHECK_MESSAGE("cancelled");
  CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_OK);
  CHECK(core_has(a, device == CORE_SPARSE ? 2 : 1, device == CORE_SPARSE ? 2 : 1));
  CHECK(core_has(b, 7, 1));
  core_destroy(a);
  core_destroy(b);
  CHECK_STATUS(wia_destroy_event(never), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

static wia_status_t stay(void *context_, wia_status_t status, wia_error_t *out_error) {
  _Atomic int32_t *state = context_;
  (void)status, (void)out_error;
  *state = 1;
  while (*state == 1) usleep(100);
  return WIA_STATUS_OK;
}

/* A host function waits for what the driver has, and what is behind it waits for it. */
static void test_host_in_between(void) {
  wia_stream_t *stream = make_stream();
  wia_tensor_t a = core_tensor(context, 4, 0);
  _Atomic int32_t state = 0;
  block(stream, a);
  CHECK_STATUS(wia_enqueue_host_function(stream, stay, (void *)&state), WIA_STATUS_OK);
  usleep(20000);
  CHECK(state == 0);
  core_open_gate();
  while (state == 0) usleep(100);
  const uint32_t launches = core.launches;
  CHECK_STATUS(wia_add(context, a, a, a, stream), WIA_STATUS_OK);
  usleep(20000);
  CHECK(core.launches == launches);
  state = 2;
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK(core_has(a, 2, 2));
  core_destroy(a);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

static void run_tests(void) {
  test_threads();
  test_mixture();
  test_host_in_between();
  test_refusals();
  test_refused_signal();
  test_failure_before_wait();
  test_callback(false);
  test_callback(true);
  test_cancel_what_is_held();
  core_evict();
}

int main(void) {
  setenv("WIA_PLAN_CACHE_SIZE", "3", 1);
  core_start();
  run_on(CORE_QUEUED, run_tests);
  run_on(CORE_SPARSE, run_tests);
  return CHECK_DONE();
}
