/* Scenario 20, of every function that the library calls: it comes back into the library, destroys what it
 * is called for, and takes its time. */
#include <time.h>

#include "core_driver.h"

static const int64_t forever = WIA_TIMEOUT_INFINITE, SHORT_NS = 20000000;
enum { WAIT_MS = 10000 };

static uint32_t device;

/* What a function may touch: all that the call which leads to it is for. */
typedef struct world_t {
  wia_context_t *context;
  wia_stream_t *stream, *other;
  wia_event_t *event;
  wia_tensor_t a, b;
  _Atomic uint32_t calls;
  _Atomic bool blocks;
} world_t;

static world_t make_world(void) {
  world_t w = {.context = core_context(device)};
  CHECK_STATUS(wia_create_stream(&w.stream, w.context), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_stream(&w.other, w.context), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_event(&w.event, w.context), WIA_STATUS_OK);
  w.a = core_tensor(w.context, 4, 1);
  w.b = core_tensor(w.context, 4, 0);
  return w;
}

/* Calls of every kind, none of which waits for the stream that is busy with this. */
static void come_back(world_t *w) {
  const int64_t shape[] = {6};
  float values[6] = {0};
  uint32_t done = 0;
  int32_t state = 0;
  void *memory = NULL;
  wia_tensor_t tensor = NULL;
  wia_context_t *context = NULL;
  wia_stream_t *stream = NULL;
  wia_event_t *event = NULL;
  wia_device_info_t info = WIA_DEVICE_INFO_INIT;
  CHECK_STATUS(wia_get_device_info(core_id(device), &info), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_context(&context, core_id(device)), WIA_STATUS_OK);
  CHECK_STATUS(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &tensor), WIA_STATUS_OK);
  CHECK_STATUS(wia_write_tensor(tensor, values, sizeof values, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_mul(context, tensor, tensor, tensor, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_malloc(&memory, 32, core_id(device)), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_event(&event, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, tensor, tensor, tensor, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(event, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_wait(w->other, event), WIA_STATUS_OK);
  CHECK_STATUS(wia_query_stream(w->other, &done), WIA_STATUS_OK);
  CHECK_STATUS(wia_query_event(event, &state), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_tensor(NULL), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_tensor(tensor), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

static void destroy_world(world_t *w) {
  CHECK_STATUS(wia_destroy_stream(w->stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_event(w->event), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_tensor(w->a), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_tensor(w->b), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(w->context), WIA_STATUS_OK);
}

static void act(world_t *w) {
  if (w->blocks) {
    atomic_fetch_add(&w->calls, 1);
    while (w->blocks) usleep(1000);
    return;
  }
  come_back(w);
  destroy_world(w);
  atomic_fetch_add(&w->calls, 1);
}

static void await_call(const world_t *w) {
  for (uint32_t i = 0; i < WAIT_MS && !w->calls; i++) usleep(1000);
  CHECK(w->calls == 1);
}

static void end_world(world_t *w) {
  await_call(w);
  CHECK_STATUS(wia_synchronize_stream(w->other, forever), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(w->other), WIA_STATUS_OK);
  CHECK_CLEAN();
}

/* -- on streams ------------------------------------------------------------------------------------ */

static wia_status_t on_stream(void *w, wia_status_t status, wia_error_t *error) {
  (void)status, (void)error;
  act(w);
  return WIA_STATUS_OK;
}

static void on_event(void *w, wia_status_t status) {
  CHECK(status == WIA_STATUS_OK);
  act(w);
}

static void test_host_function(void) {
  world_t w = make_world();
  CHECK_STATUS(wia_add(w.context, w.a, w.a, w.b, w.stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_host_function(w.stream, on_stream, &w), WIA_STATUS_OK);
  end_world(&w);
}

static void test_event_function(void) {
  world_t w = make_world();
  CHECK_STATUS(wia_call_on_event(w.event, on_event, &w), WIA_STATUS_OK);
  CHECK_STATUS(wia_signal_event(w.event, WIA_STATUS_OK, NULL), WIA_STATUS_OK);
  end_world(&w);
  w = make_world(); /* on the thread that finishes the work */
  CHECK_STATUS(wia_call_on_event(w.event, on_event, &w), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(w.context, w.a, w.a, w.b, w.stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(w.event, w.stream), WIA_STATUS_OK);
  end_world(&w);
}

/* One that doesn't come back holds up its stream, and waits for that end at their time; others go on. */
static void test_blocking(bool event) {
  world_t w = make_world();
  w.blocks = true;
  if (event) {
    core_close_gate(); /* else the work may be done before, and the function called on this thread */
    CHECK_STATUS(wia_call_on_event(w.event, on_event, &w), WIA_STATUS_OK);
    CHECK_STATUS(wia_relu(w.context, w.a, w.b, w.stream), WIA_STATUS_OK);
    CHECK_STATUS(wia_record_event(w.event, w.stream), WIA_STATUS_OK);
    core_open_gate();
  } else {
    CHECK_STATUS(wia_enqueue_host_function(w.stream, on_stream, &w), WIA_STATUS_OK);
  }
  await_call(&w);
  CHECK_STATUS(wia_synchronize_stream(w.stream, SHORT_NS), WIA_STATUS_DEADLINE_EXCEEDED);
  CHECK_STATUS(wia_synchronize_device(core_id(device), SHORT_NS), WIA_STATUS_DEADLINE_EXCEEDED);
  CHECK_STATUS(wia_add(w.context, w.a, w.a, w.a, w.other), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(w.other, forever), WIA_STATUS_OK);
  CHECK_STATUS(wia_cancel_stream(w.stream), WIA_STATUS_OK); /* doesn't wait */
  w.blocks = false;
  CHECK_STATUS(wia_reset_stream(w.stream), WIA_STATUS_OK);
  destroy_world(&w);
  end_world(&w);
}

/* -- beside streams --------------------------------------------------------------------------------- */

static void on_release(void *w) { act(w); }

static void test_release(void) {
  static _Alignas(64) float memory[4];
  world_t w = make_world();
  wia_import_config_t config = WIA_IMPORT_CONFIG_INIT;
  config.release = on_release;
  config.context = &w;
  CHECK_STATUS(wia_import_memory(memory, sizeof memory, core_id(device), &config), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
  end_world(&w);
}

static void on_line(void *context, int32_t level, const char *subsystem, const char *driver,
                    const char *message) {
  world_t *w = context;
  (void)level, (void)subsystem, (void)driver, (void)message;
  if (w->calls == 0) act(w);
}

/* While a kernel is prepared for operands that go meanwhile: the call goes on, or says what is gone. */
static void test_line(void) {
  world_t w = make_world();
  CHECK_STATUS(wia_set_log_callback(on_line, &w), WIA_STATUS_OK);
  CHECK_STATUS(wia_set_log_level("none,plan=debug"), WIA_STATUS_OK);
  const int64_t shape[] = {77};
  wia_tensor_t tensor = core_empty(w.context, 1, shape);
  CHECK_STATUS(wia_sub(w.context, tensor, tensor, tensor, NULL), WIA_STATUS_INVALID_HANDLE);
  core_destroy(tensor);
  CHECK_STATUS(wia_set_log_level("warning"), WIA_STATUS_OK);
  CHECK_STATUS(wia_set_log_callback(NULL, NULL), WIA_STATUS_OK);
  end_world(&w);
}

static world_t *preparing;
static wia_status_t on_prepare(void) {
  world_t *w = preparing;
  preparing = NULL;
  if (w) act(w);
  return WIA_STATUS_OK;
}

static void test_prepare(void) {
  world_t w = make_world();
  const int64_t shape[] = {78};
  wia_tensor_t tensor = core_empty(w.context, 1, shape);
  preparing = &w;
  core.in_prepare = on_prepare;
  CHECK_STATUS(wia_sub(w.context, tensor, tensor, tensor, w.stream), WIA_STATUS_INVALID_HANDLE);
  core.in_prepare = NULL;
  core_destroy(tensor);
  end_world(&w);
}

/* -- a failure that nobody asks for ----------------------------------------------------------------- */

static char line[512];
static _Atomic uint32_t lines;
static void keep_line(void *context, int32_t level, const char *subsystem, const char *driver,
                      const char *message) {
  (void)context, (void)driver;
  if (level != WIA_LOG_WARNING || strcmp(subsystem, "stream") != 0) return;
  snprintf(line, sizeof line, "%s", message);
  lines++;
}

static void leave_failure(bool asked, bool noted) {
  world_t w = make_world();
  core.fail_status = WIA_STATUS_DATA_LOSS;
  core.fail_message = "a bit fell over";
  const uint32_t launches = core.launches;
  CHECK_STATUS(wia_softmax(w.context, w.a, w.b, NULL, w.stream), WIA_STATUS_OK);
  for (uint32_t i = 0; i < WAIT_MS && core.launches == launches; i++) usleep(1000);
  usleep(10000); /* nobody is asked whether the stream knows of it */
  if (noted) CHECK_STATUS(wia_record_event(w.event, w.stream), WIA_STATUS_OK);
  if (asked) CHECK_STATUS(wia_synchronize_stream(w.stream, forever), WIA_STATUS_DATA_LOSS);
  destroy_world(&w);
  CHECK_STATUS(wia_destroy_stream(w.other), WIA_STATUS_OK);
  CHECK_STATUS(wia_shutdown(forever), WIA_STATUS_OK);
  core.fail_status = WIA_STATUS_OK;
  core.fail_message = "";
}

static void test_unread_failure(void) {
  lines = 0;
  line[0] = '\0';
  CHECK_STATUS(wia_set_log_callback(keep_line, NULL), WIA_STATUS_OK);
  leave_failure(true, false);
  leave_failure(false, true);
  CHECK(lines == 0);
  leave_failure(false, false);
  CHECK(lines == 1);
  CHECK_TEXT(line, "DATA_LOSS");
  CHECK_TEXT(line, "a bit fell over");
  CHECK_STATUS(wia_set_log_callback(NULL, NULL), WIA_STATUS_OK);
}

int main(void) {
  core_start();
  const uint32_t devices[] = {CORE_PLAIN, CORE_QUEUED};
  for (uint32_t i = 0; i < 2; i++) {
    device = devices[i];
    test_host_function();
    test_event_function();
    test_blocking(false);
    test_blocking(true);
    test_release();
    test_line();
    test_prepare();
    test_unread_failure();
  }
  return CHECK_DONE();
}
