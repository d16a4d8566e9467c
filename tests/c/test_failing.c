/* Scenario 15: the n-th allocation fails, for every n, in what a program does with a device that is open;
 * failing_each.h says what is expected. Graphs, pools, layers and operations of a program's own are in
 * test_failing_more.c. */
#include <glob.h>
#include <limits.h>

#include "failing_each.h"
#include "groups.h"

enum { WAIT_MS = 5000 };

static wia_context_t *other;

/* -- objects ------------------------------------------------------------------------------------- */

static wia_status_t make_context(void) {
  wia_status_t status = WIA_STATUS_OK;
  wia_context_t *made = NULL;
  TRY(wia_create_context(&made, core_id(device)));
  END(wia_destroy_context, made);
  return status;
}

static wia_status_t make_memory(void) {
  wia_status_t status = WIA_STATUS_OK;
  void *memory = NULL;
  char bytes[256] = {0};
  TRY(wia_malloc(&memory, sizeof bytes, core_id(device)));
  TRY(wia_copy_host_to_device(memory, bytes, sizeof bytes, NULL));
  TRY(wia_fill_memory(memory, "ab", 2, sizeof bytes, NULL));
  TRY(wia_copy_device_to_host(bytes, memory, sizeof bytes, NULL));
  if (!status) CHECK(bytes[255] == 'b');
  END(wia_free, memory);
  return status;
}

static wia_status_t make_tensors(void) {
  wia_status_t status = WIA_STATUS_OK;
  const int64_t shape[] = {4, 6}, strides[] = {1, 4};
  float values[24] = {0};
  void *memory = NULL;
  wia_tensor_t tensor = NULL, view = NULL, wrapped = NULL, moved = NULL;
  TRY(wia_allocate_tensor(context, shape, 2, WIA_FLOAT32, &tensor));
  TRY(wia_view_tensor(tensor, 0, shape, strides, 2, &view));
  TRY(wia_write_tensor(view, values, sizeof values, NULL));
  TRY(wia_read_tensor(view, values, sizeof values, NULL));
  TRY(wia_malloc(&memory, sizeof values, core_id(device)));
  TRY(wia_wrap_tensor(context, memory, shape, NULL, 2, WIA_FLOAT32, &wrapped));
  TRY(wia_allocate_tensor(other, shape, 2, WIA_FLOAT32, &moved));
  TRY(wia_copy_device_to_device(memory, memory, 0, NULL));
  END(wia_destroy_tensor, tensor);
  END(wia_destroy_tensor, view);
  END(wia_destroy_tensor, moved);
  END(wia_free, memory);
  END(wia_destroy_tensor, wrapped);
  return status;
}

static _Atomic uint32_t released;
static void release(void *imported) {
  (void)imported;
  released++;
}

/* The release function is called exactly for what was imported. */
static wia_status_t make_imports(void) {
  wia_status_t status = WIA_STATUS_OK;
  static _Alignas(64) float values[32];
  const int64_t shape[] = {8};
  wia_import_config_t config = WIA_IMPORT_CONFIG_INIT;
  config.release = release;
  wia_tensor_t tensor = NULL;
  released = 0;
  uint32_t imports = 0;
  TRY(wia_import_memory(values, 64, core_id(CORE_PLAIN), &config));
  imports += !status;
  TRY(wia_import_tensor(context, values + 16, shape, NULL, 1, WIA_FLOAT32, &config, &tensor));
  imports += tensor != NULL;
  if (imports) CHECK_STATUS(wia_free(values), WIA_STATUS_OK);
  END(wia_destroy_tensor, tensor);
  for (uint32_t i = 0; i < WAIT_MS && released < imports; i++) usleep(1000);
  CHECK(released == imports);
  return status;
}

/* -- operations ---------------------------------------------------------------------------------- */

static int64_t next_length = 100; /* each time another shape, so that kernels are prepared */

static wia_status_t run_operations(void) {
  wia_status_t status = WIA_STATUS_OK;
  const int64_t shape[] = {++next_length};
  const wia_op_t ops[] = {WIA_OP_ADD, WIA_OP_DIV};
  wia_tensor_t a = NULL, b = NULL;
  wia_plan_t *plan = NULL;
  TRY(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &a));
  TRY(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &b));
  core.workspace_size = 64;
  for (uint32_t i = 0; i < 2; i++) {
    const wia_tensor_t operands[] = {a, a, b};
    TRY(wia_execute(context, ops[i], operands, 2, operands + 2, 1, NULL, 0, NULL));
  }
  const wia_tensor_t operands[] = {a, a, b};
  TRY(wia_create_operation_plan(context, WIA_OP_ADD, operands, 2, operands + 2, 1, NULL, 0, &plan));
  TRY(wia_execute_plan(plan, operands, 3, NULL, 0, NULL));
  core.workspace_size = 0;
  END(wia_destroy_plan, plan);
  END(wia_destroy_tensor, a);
  END(wia_destroy_tensor, b);
  return status;
}

static wia_status_t run_group(void) {
  static const groups_node_t nodes[] = {{WIA_OP_SUB, {0, 1, NONE}, 3},
                                        {WIA_OP_RELU, {3, NONE, NONE}, 4},
                                        {WIA_OP_MUL, {4, 2, NONE}, 5},
                                        {0}};
  wia_status_t status = WIA_STATUS_OK;
  const int64_t shape[] = {++next_length};
  wia_tensor_t tensors[4] = {NULL};
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  wia_plan_t *plan = NULL;
  for (uint32_t i = 0; i < 4; i++)
    TRY(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &tensors[i]));
  TRY(wia_get_tensor_info(tensors[0], &info));
  groups_t g;
  groups_build(&g, info.layout, 3, nodes);
  TRY(wia_create_plan(context, &g.group, &plan));
  TRY(wia_execute_plan(plan, tensors, 4, NULL, 0, NULL));
  END(wia_destroy_plan, plan);
  for (uint32_t i = 0; i < 4; i++) END(wia_destroy_tensor, tensors[i]);
  return status;
}

/* -- streams ------------------------------------------------------------------------------------- */

static _Atomic uint32_t calls, events;
static wia_status_t on_stream(void *counter, wia_status_t status, wia_error_t *error) {
  (void)status, (void)error;
  atomic_fetch_add((_Atomic uint32_t *)counter, 1);
  return WIA_STATUS_OK;
}
static void on_event(void *counter, wia_status_t status) {
  (void)status;
  atomic_fetch_add((_Atomic uint32_t *)counter, 1);
}

/* What was accepted is done or fails the stream with the same status; nothing hangs. */
static wia_status_t run_streams(void) {
  wia_status_t status = WIA_STATUS_OK;
  const int64_t shape[] = {8};
  float values[8] = {0};
  wia_stream_t *first = NULL, *second = NULL;
  wia_event_t *event = NULL, *later = NULL;
  wia_tensor_t a = NULL, b = NULL;
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  uint32_t accepted = 0, wanted = 0;
  calls = events = 0;
  TRY(wia_create_stream(&first, context));
  TRY(wia_create_stream(&second, context));
  TRY(wia_create_event(&event, context));
  TRY(wia_create_event(&later, context));
  TRY(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &a));
  TRY(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &b));
  TRY(wia_get_tensor_info(a, &info));
  TRY(wia_call_on_event(event, on_event, &events));
  wanted += !status;
  TRY(wia_enqueue_wait(second, event));
  TRY(wia_write_tensor(a, values, sizeof values, first));
  TRY(wia_add(context, a, a, b, first));
  TRY(wia_enqueue_host_function(first, on_stream, &calls));
  accepted += !status;
  TRY(wia_record_stream((void *)(uintptr_t)info.address, first));
  TRY(wia_fill_memory((void *)(uintptr_t)info.address, "\0", 1, info.size, first));
  TRY(wia_record_event(event, first));
  TRY(wia_add(context, b, b, a, second));
  TRY(wia_record_event(later, second));
  TRY(wia_read_tensor(a, values, sizeof values, second));
  TRY(wia_synchronize_device(core_id(device), WIA_TIMEOUT_INFINITE));
  TRY(wia_synchronize_stream(second, WIA_TIMEOUT_INFINITE));
  TRY(wia_wait_event(later, WIA_TIMEOUT_INFINITE));
  TRY(wia_add(context, a, a, b, NULL));
  if (first) CHECK_STATUS(wia_reset_stream(first), WIA_STATUS_OK);
  END(wia_destroy_event, event); /* the second stream, which may still wait for it, is told */
  if (second) CHECK_STATUS(wia_cancel_stream(second), WIA_STATUS_OK);
  END(wia_destroy_event, later);
  END(wia_destroy_tensor, a);
  END(wia_destroy_stream, first);
  END(wia_destroy_tensor, b);
  END(wia_destroy_stream, second);
  for (uint32_t i = 0; i < WAIT_MS && (calls < accepted || events < wanted); i++) usleep(1000);
  CHECK(calls == accepted);
  CHECK(events == wanted);
  /* a stream that still ends tells of its failure: let the next run not meet it */
  for (uint32_t i = 0; i < WAIT_MS; i++) {
    if (wia_synchronize_device(core_id(device), WIA_TIMEOUT_INFINITE) != WIA_STATUS_CANCELLED)
      break;
    usleep(1000);
  }
  return status;
}

/* -- profiles and the log ------------------------------------------------------------------------- */

static bool is_left(const char *path) {
  char pattern[PATH_MAX + 1];
  glob_t found;
  snprintf(pattern, sizeof pattern, "%s*", path);
  const bool left = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
  if (left) globfree(&found);
  return left;
}

static wia_status_t run_profile(void) {
  wia_status_t status = WIA_STATUS_OK;
  char path[PATH_MAX];
  const int file = mkstemp(temporary_pattern("failing", path, sizeof path));
  wia_profiling_config_t config = WIA_PROFILING_CONFIG_INIT;
  config.output_file = path;
  config.event_capacity = 64;
  wia_profiling_session_t *session = NULL;
  wia_profiling_report_t *report = NULL;
  TRY(wia_start_profiling(context, &config, &session));
  TRY(wia_push_range("a range", 1));
  if (!status) CHECK_STATUS(wia_pop_range(), WIA_STATUS_OK);
  TRY(make_memory());
  if (session && wia_stop_profiling(session, &report) == WIA_STATUS_OK) session = NULL;
  END(wia_destroy_profiling_session, session); /* it goes on, and can be ended */
  if (!report) status = status ? status : short_of;
  TRY(wia_save_profile_report(report, NULL));
  END(wia_destroy_profile_report, report);
  close(file);
  unlink(path);
  CHECK(!is_left(path)); /* a half-written file, of a name that begins so */
  return status;
}

static void take_line(void *lines, int32_t level, const char *subsystem, const char *driver,
                      const char *message) {
  (void)level, (void)subsystem, (void)driver, (void)message;
  ++*(uint32_t *)lines;
}

static wia_status_t run_log(void) {
  wia_status_t status = WIA_STATUS_OK;
  uint32_t lines = 0;
  TRY(wia_set_log_callback(take_line, &lines));
  TRY(wia_set_log_level("debug"));
  TRY(run_operations());
  if (!status) CHECK(lines > 0);
  CHECK_STATUS(wia_set_log_level("warning"), WIA_STATUS_OK);
  CHECK_STATUS(wia_set_log_callback(NULL, NULL), WIA_STATUS_OK);
  return status;
}

/* -- errors: the status stays, the text may go ----------------------------------------------------- */

static wia_status_t fail_otherwise(void) {
  wia_status_t status = WIA_STATUS_OK;
  const int64_t shape[] = {4};
  wia_stream_t *stream = NULL;
  wia_event_t *event = NULL;
  wia_tensor_t a = NULL, b = NULL;
  CHECK_STATUS(wia_destroy_tensor(NULL), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_free((void *)(uintptr_t)64), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_malloc(NULL, 1, 0), WIA_STATUS_INVALID_ARGUMENT);
  TRY(wia_create_stream(&stream, context));
  TRY(wia_create_event(&event, context));
  TRY(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &a));
  TRY(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &b));
  core.fail_status = WIA_STATUS_DATA_LOSS;
  core.fail_message = "broken";
  core.fail_cause = "why";
  TRY(wia_softmax(context, a, b, NULL, stream));
  TRY(wia_record_event(event, stream));
  if (!status) {
    CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_DATA_LOSS);
    CHECK_STATUS(wia_wait_event(event, WIA_TIMEOUT_INFINITE), WIA_STATUS_DATA_LOSS);
    CHECK_STATUS(wia_add(context, a, a, b, stream), WIA_STATUS_DATA_LOSS);
    CHECK_STATUS(wia_softmax(context, a, b, NULL, NULL), WIA_STATUS_DATA_LOSS);
  } else if (stream) { /* the kernel may still run, and reads what is set below */
    (void)wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE);
  }
  END(wia_destroy_event, event);
  END(wia_destroy_stream, stream);
  core.fail_status = WIA_STATUS_OK;
  core.fail_message = core.fail_cause = "";
  END(wia_destroy_tensor, a);
  END(wia_destroy_tensor, b);
  return status;
}

/* -- every n --------------------------------------------------------------------------------------- */

static const scenario_t scenarios[] = {
    {"context", make_context, PLAIN},
    {"memory", make_memory, ALL},
    {"tensors", make_tensors, ALL},
    {"imports", make_imports, PLAIN},
    {"operations", run_operations, ALL},
    {"group", run_group, PLAIN | 1 << CORE_QUEUED},
    {"streams", run_streams, ALL},
    {"profile", run_profile, PLAIN},
    {"log", run_log, PLAIN},
    {"errors", fail_otherwise, PLAIN | 1 << CORE_QUEUED},
};

int main(void) {
  setenv("WIA_PLAN_CACHE_SIZE", "4", 1);
  core_start();
  other = core_context(CORE_OTHER);
  fail_all(scenarios, sizeof scenarios / sizeof *scenarios);
  return CHECK_DONE();
}
