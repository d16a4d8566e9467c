/* What streams and events do with functions of the host, signals, cancelling, whole devices. */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "core_stream.h"

/* What a host function was told, and what it does. */
typedef struct told_t {
  _Atomic uint32_t calls;
  _Atomic wia_status_t status; /* of the last call */
  wia_status_t answer;
  const char *message;
  wia_stream_t *stream; /* to wait for, or to reset, from inside; NULL: neither */
  _Atomic wia_status_t inside;
  _Atomic int nice_value;
} told_t;

static wia_status_t tell(void *context_, wia_status_t status, wia_error_t *out_error) {
  told_t *told = context_;
  told->status = status;
  told->nice_value = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
  if (told->stream) told->inside = wia_synchronize_stream(told->stream, LONG_NS);
  if (told->message) snprintf(out_error->message, sizeof out_error->message, "%s", told->message);
  told->calls++;
  return told->answer;
}

static void hear(void *context_, wia_status_t status) {
  told_t *told = context_;
  told->status = status;
  told->calls++;
}

/* -- host functions ------------------------------------------------------------------------------ */

static void test_order(void) {
  wia_stream_t *stream = make_stream();
  wia_tensor_t output = core_tensor(context, 4, 0);
  told_t told = {.status = -1};
  block(stream, output);
  CHECK_STATUS(wia_enqueue_host_function(stream, tell, &told), WIA_STATUS_OK);
  CHECK(told.calls == 0); /* the work before it is not done */
  core_open_gate();
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK(told.calls == 1 && told.status == WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_host_function(stream, NULL, &told), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_enqueue_host_function(NULL, tell, &told), WIA_STATUS_INVALID_HANDLE);
  CHECK(told.calls == 1);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  core_destroy(output);
}

/* Scenario 20: what it returns fails the stream; whoever comes later is told, or refused. */
static void test_failure(void) {
  wia_stream_t *stream = make_stream();
  wia_tensor_t output = core_tensor(context, 4, 0);
  told_t bad = {.answer = WIA_STATUS_DATA_LOSS, .message = "the file ended"}, after = {0};
  block(stream, output);
  CHECK_STATUS(wia_enqueue_host_function(stream, tell, &bad), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_host_function(stream, tell, &after), WIA_STATUS_OK);
  core_open_gate();
  CHECK_STATUS(finish(stream), WIA_STATUS_DATA_LOSS);
  CHECK_MESSAGE("the file ended");
  CHECK(bad.calls == 1 && after.calls == 1 && after.status == WIA_STATUS_DATA_LOSS);
  CHECK_STATUS(wia_enqueue_host_function(stream, tell, &after), WIA_STATUS_DATA_LOSS);
  CHECK(after.calls == 1); /* a refused one is never called */
  CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_host_function(stream, tell, &after), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK(after.calls == 2 && after.status == WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  core_destroy(output);
}

static wia_status_t destroy_own(void *stream, wia_status_t status, wia_error_t *out_error) {
  (void)out_error;
  (void)status;
  return wia_destroy_stream(stream);
}

/* Scenario 20: it may call anything; to wait for itself is an error and no hang. */
static void test_reentry(void) {
  wia_stream_t *stream = make_stream(), *other = make_stream();
  told_t itself = {.stream = stream}, another = {.stream = other};
  CHECK_STATUS(wia_enqueue_host_function(stream, tell, &itself), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_host_function(stream, tell, &another), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK(itself.inside == WIA_STATUS_FAILED_PRECONDITION);
  CHECK(another.inside == WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_host_function(stream, destroy_own, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_device(core_id(device), LONG_NS), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_destroy_stream(other), WIA_STATUS_OK);
}

/* -- cancel -------------------------------------------------------------------------------------- */

static void test_cancel(void) {
  wia_stream_t *stream = make_stream();
  wia_event_t *event = make_event();
  wia_tensor_t output = core_tensor(context, 4, 0), untouched = core_tensor(context, 4, 7);
  told_t told = {0};
  CHECK_STATUS(wia_cancel_stream(stream), WIA_STATUS_OK); /* nothing to cancel: nothing fails */
  block(stream, output);
  CHECK_STATUS(wia_add(context, input, input, untouched, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_host_function(stream, tell, &told), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(event, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_cancel_stream(stream), WIA_STATUS_OK);
  core_open_gate();
  CHECK_STATUS(wia_wait_event(event, LONG_NS), WIA_STATUS_CANCELLED);
  CHECK_STATUS(finish(stream), WIA_STATUS_CANCELLED);
  CHECK(told.calls == 1 && told.status == WIA_STATUS_CANCELLED);
  CHECK(core_has(output, 1, 1)); /* what was running went on, and its result may be read */
  CHECK_STATUS(wia_add(context, input, input, output, stream), WIA_STATUS_CANCELLED);
  CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_OK);
  CHECK(core_has(untouched, 7, 1));
  CHECK_STATUS(wia_add(context, input, input, output, stream), WIA_STATUS_OK);
  CHECK(core_has(output, 2, 2));
  CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  core_destroy(output);
  core_destroy(untouched);
}

static void test_cancel_a_wait(void) {
  wia_stream_t *stream = make_stream();
  wia_event_t *never = make_event();
  CHECK_STATUS(wia_enqueue_wait(stream, never), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(stream, 1000000), WIA_STATUS_DEADLINE_EXCEEDED);
  CHECK_STATUS(wia_cancel_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_CANCELLED);
  CHECK_STATUS(wia_cancel_stream(NULL), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_destroy_event(never), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

/* -- events -------------------------------------------------------------------------------------- */

static void test_signal(void) {
  wia_stream_t *stream = make_stream();
  wia_event_t *event = make_event();
  wia_tensor_t output = core_tensor(context, 4, 0);
  told_t told = {.status = -1};
  int32_t state = -1;
  CHECK_STATUS(wia_enqueue_wait(stream, event), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, input, input, output, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_call_on_event(event, hear, &told), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(stream, 1000000), WIA_STATUS_DEADLINE_EXCEEDED);
  CHECK(told.calls == 0);
  CHECK_STATUS(wia_signal_event(event, WIA_STATUS_OK, NULL), WIA_STATUS_OK);
  CHECK(told.calls == 1 && told.status == WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK(core_has(output, 2, 2));
  CHECK_STATUS(wia_query_event(event, &state), WIA_STATUS_OK);
  CHECK(state == WIA_EVENT_DONE);

  /* a failed signal is the failure of those who wait for it, message included */
  CHECK_STATUS(wia_signal_event(event, WIA_STATUS_UNAVAILABLE, "no more frames"), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_wait(stream, event), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_UNAVAILABLE);
  CHECK_MESSAGE("no more frames");
  CHECK_STATUS(wia_call_on_event(event, hear, &told), WIA_STATUS_OK); /* at once */
  CHECK(told.calls == 2 && told.status == WIA_STATUS_UNAVAILABLE);
  CHECK_STATUS(wia_signal_event(event, 4711, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_signal_event(NULL, WIA_STATUS_OK, NULL), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_call_on_event(event, NULL, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_call_on_event(NULL, hear, &told), WIA_STATUS_INVALID_HANDLE);

  wia_event_t *unused = make_event();
  CHECK_STATUS(wia_call_on_event(unused, hear, &told), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_event(unused), WIA_STATUS_OK);
  CHECK(told.calls == 3 && told.status == WIA_STATUS_CANCELLED);
  CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  core_destroy(output);
}

/* -- memory, devices, priorities ----------------------------------------------------------------- */

static void test_record_stream(void) {
  wia_stream_t *stream = make_stream();
  wia_tensor_t output = core_tensor(context, 4, 0);
  void *memory = NULL;
  wia_address_info_t info = WIA_ADDRESS_INFO_INIT;
  CHECK_STATUS(wia_malloc(&memory, 64, core_id(device)), WIA_STATUS_OK);
  const uint32_t frees = core.frees;
  block(stream, output);
  CHECK_STATUS(wia_record_stream(memory, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_query_address(memory, &info), WIA_STATUS_OK);
  CHECK(info.pending == 1);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
  CHECK(core.frees == frees); /* kept until the work before is done */
  CHECK_STATUS(wia_record_stream(memory, stream), WIA_STATUS_INVALID_ARGUMENT);
  core_open_gate();
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  void *foreign = NULL;
  CHECK_STATUS(wia_malloc(&foreign, 64, core_id(CORE_OTHER)), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_stream(foreign, stream), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("core:1");
  CHECK_STATUS(wia_free(foreign), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_stream(NULL, stream), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_record_stream(memory, NULL), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  core_destroy(output);
}

static void test_device(void) {
  wia_stream_t *one = make_stream(), *two = make_stream();
  wia_tensor_t output = core_tensor(context, 4, 0);
  told_t bad = {.answer = WIA_STATUS_ABORTED};
  const int32_t id = core_id(device);
  CHECK_STATUS(wia_synchronize_device(id, LONG_NS), WIA_STATUS_OK);
  block(one, output);
  CHECK_STATUS(wia_destroy_stream(one), WIA_STATUS_OK); /* its work counts too */
  CHECK_STATUS(wia_synchronize_device(id, 0), WIA_STATUS_DEADLINE_EXCEEDED);
  CHECK_STATUS(wia_synchronize_device(core_id(CORE_OTHER), LONG_NS), WIA_STATUS_OK);
  core_open_gate();
  CHECK_STATUS(wia_synchronize_device(id, LONG_NS), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_host_function(two, tell, &bad), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_device(id, LONG_NS), WIA_STATUS_ABORTED);
  CHECK_STATUS(wia_synchronize_device(id, -2), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_synchronize_device(-1, 0), WIA_STATUS_NOT_FOUND);
  CHECK_STATUS(wia_destroy_stream(two), WIA_STATUS_OK);
  core_destroy(output);
}

static void test_priority(void) {
  int32_t least = -1, greatest = -1;
  const int32_t id = core_id(device);
  CHECK_STATUS(wia_get_stream_priority_range(id, &least, &greatest), WIA_STATUS_OK);
  CHECK(greatest == 0 && least > 0);
  CHECK(device == CORE_PLAIN || least == CORE_LEAST_PRIORITY);
  CHECK_STATUS(wia_get_stream_priority_range(id, NULL, &greatest), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_get_stream_priority_range(id, &least, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_get_stream_priority_range(-1, &least, &greatest), WIA_STATUS_NOT_FOUND);
  wia_stream_config_t config = WIA_STREAM_CONFIG_INIT;
  wia_stream_t *stream = NULL;
  const int32_t wrong[] = {least + 1, -1};
  for (uint32_t i = 0; i < 2; i++) {
    config.priority = wrong[i];
    CHECK_STATUS(wia_create_stream_with_config(&stream, context, &config),
                 WIA_STATUS_INVALID_ARGUMENT);
  }
  const int own = getpriority(PRIO_PROCESS, 0);
  for (int32_t priority = 0; priority <= least; priority += least) {
    told_t told = {0};
    config.priority = priority;
    CHECK_STATUS(wia_create_stream_with_config(&stream, context, &config), WIA_STATUS_OK);
    CHECK_STATUS(wia_enqueue_host_function(stream, tell, &told), WIA_STATUS_OK);
    CHECK_STATUS(finish(stream), WIA_STATUS_OK);
    CHECK(told.nice_value == (priority ? priority : own) || own > priority);
    CHECK(device == CORE_PLAIN || core.last_priority == priority);
    CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  }
}

static void run_tests(void) {
  test_order();
  test_failure();
  test_reentry();
  if (device != CORE_SPARSE) test_cancel(); /* which can't drop what it has */
  test_cancel_a_wait();
  test_signal();
  test_record_stream();
  test_device();
  test_priority();
}

int main(void) {
  run_on_all(run_tests);
  return CHECK_DONE();
}
