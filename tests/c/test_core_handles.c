/* Scenario 10: every handle argument of every function, given NULL, random bits, a destroyed handle, one
 * of another type, and one of another device. */
#include "core_driver.h"

typedef enum kind_t { CONTEXT, STREAM, EVENT, PLAN, TENSOR, KIND_COUNT } kind_t;

/* Good arguments of every kind, and the one under test instead of one of them. */
static wia_context_t *context;
static wia_stream_t *stream;
static wia_event_t *event;
static wia_plan_t *plan;
static wia_tensor_t tensor, output;
static void *memory;
static float host[4];

static void *good_handle(kind_t kind) {
  void *const handles[] = {context, stream, event, plan, tensor};
  return handles[kind];
}

/* -- the functions ------------------------------------------------------------------------------- */

static wia_status_t get_context_info(void *h) {
  wia_context_info_t info = WIA_CONTEXT_INFO_INIT;
  return wia_get_context_info(h, &info);
}
static wia_status_t create_stream(void *h) {
  wia_stream_t *made = NULL;
  const wia_status_t status = wia_create_stream(&made, h);
  CHECK(made == NULL);
  return status;
}
static wia_status_t create_event(void *h) {
  wia_event_t *made = NULL;
  const wia_status_t status = wia_create_event(&made, h);
  CHECK(made == NULL);
  return status;
}
static wia_status_t allocate_tensor(void *h) {
  wia_tensor_t made = NULL;
  const wia_status_t status = wia_allocate_tensor(h, NULL, 0, WIA_FLOAT32, &made);
  CHECK(made == NULL);
  return status;
}
static wia_status_t wrap_tensor(void *h) {
  wia_tensor_t made = NULL;
  const wia_status_t status = wia_wrap_tensor(h, memory, NULL, NULL, 0, WIA_FLOAT32, &made);
  CHECK(made == NULL);
  return status;
}

static wia_status_t execute_with(wia_context_t *c, wia_tensor_t a, wia_tensor_t b, wia_tensor_t out,
                                 wia_stream_t *s) {
  const wia_tensor_t inputs[] = {a, b};
  return wia_execute(c, WIA_OP_ADD, inputs, 2, &out, 1, NULL, 0, s);
}
static wia_status_t execute_context(void *h) {
  return execute_with(h, tensor, tensor, output, NULL);
}
static wia_status_t execute_input(void *h) {
  return execute_with(context, tensor, h, output, NULL);
}
static wia_status_t execute_output(void *h) {
  return execute_with(context, tensor, tensor, h, NULL);
}
static wia_status_t execute_stream(void *h) {
  return execute_with(context, tensor, tensor, output, h);
}

static wia_status_t views_with(wia_context_t *c, wia_stream_t *s) {
  const int64_t shape[] = {4};
  const wia_view_t view = {(uint64_t)(uintptr_t)memory, shape, NULL, WIA_FLOAT32, 1};
  const wia_view_t inputs[] = {view, view};
  return wia_execute_views(c, WIA_OP_ADD, inputs, 2, &view, 1, NULL, 0, s);
}
static wia_status_t views_context(void *h) { return views_with(h, NULL); }
static wia_status_t views_stream(void *h) { return views_with(context, h); }

static wia_status_t strided_with(wia_context_t *c, wia_stream_t *s) {
  wia_matmul_dims_t dims = WIA_MATMUL_DIMS_INIT;
  dims.dtype = WIA_FLOAT32;
  dims.m = dims.n = dims.k = 1;
  char *bytes = memory;
  return wia_matmul_strided(c, bytes, bytes, bytes + 4, &dims, s);
}
static wia_status_t strided_context(void *h) { return strided_with(h, NULL); }
static wia_status_t strided_stream(void *h) { return strided_with(context, h); }

static wia_status_t create_plan(void *h) {
  const wia_group_t group = WIA_GROUP_INIT;
  wia_plan_t *made = NULL;
  const wia_status_t status = wia_create_plan(h, &group, &made);
  CHECK(made == NULL);
  return status;
}
static wia_status_t operation_plan(wia_context_t *c, wia_tensor_t input, wia_tensor_t out) {
  const wia_tensor_t inputs[] = {tensor, input};
  wia_plan_t *made = NULL;
  const wia_status_t status =
      wia_create_operation_plan(c, WIA_OP_ADD, inputs, 2, &out, 1, NULL, 0, &made);
  CHECK(made == NULL);
  return status;
}
static wia_status_t plan_context(void *h) { return operation_plan(h, tensor, output); }
static wia_status_t plan_input(void *h) { return operation_plan(context, h, output); }
static wia_status_t plan_output(void *h) { return operation_plan(context, tensor, h); }

static wia_status_t launch_with(wia_plan_t *p, wia_tensor_t a, wia_tensor_t out, wia_stream_t *s) {
  const wia_tensor_t operands[] = {a, tensor, out};
  return wia_execute_plan(p, operands, 3, NULL, 0, s);
}
static wia_status_t launch_plan(void *h) { return launch_with(h, tensor, output, NULL); }
static wia_status_t launch_input(void *h) { return launch_with(plan, h, output, NULL); }
static wia_status_t launch_output(void *h) { return launch_with(plan, tensor, h, NULL); }
static wia_status_t launch_stream(void *h) { return launch_with(plan, tensor, output, h); }

static wia_status_t destroy_context(void *h) { return wia_destroy_context(h); }
static wia_status_t destroy_stream(void *h) { return wia_destroy_stream(h); }
static wia_status_t destroy_event(void *h) { return wia_destroy_event(h); }
static wia_status_t destroy_plan(void *h) { return wia_destroy_plan(h); }
static wia_status_t destroy_tensor(void *h) { return wia_destroy_tensor(h); }

static wia_status_t synchronize_stream(void *h) { return wia_synchronize_stream(h, 0); }
static wia_status_t query_stream(void *h) {
  uint32_t done = 77;
  const wia_status_t status = wia_query_stream(h, &done);
  CHECK(done == 77);
  return status;
}
static wia_status_t reset_stream(void *h) { return wia_reset_stream(h); }
static wia_status_t enqueue_wait_stream(void *h) { return wia_enqueue_wait(h, event); }
static wia_status_t enqueue_wait_event(void *h) { return wia_enqueue_wait(stream, h); }
static wia_status_t record_event(void *h) { return wia_record_event(h, stream); }
static wia_status_t record_stream(void *h) { return wia_record_event(event, h); }
static wia_status_t wait_event(void *h) { return wia_wait_event(h, 0); }
static wia_status_t query_event(void *h) {
  int32_t state = 77;
  const wia_status_t status = wia_query_event(h, &state);
  CHECK(state == 77);
  return status;
}
static wia_status_t elapsed_start(void *h) {
  int64_t time_ns = 77;
  const wia_status_t status = wia_get_elapsed_time(h, event, &time_ns);
  CHECK(time_ns == 77);
  return status;
}
static wia_status_t elapsed_end(void *h) {
  int64_t time_ns = 77;
  const wia_status_t status = wia_get_elapsed_time(event, h, &time_ns);
  CHECK(time_ns == 77);
  return status;
}
static wia_status_t reset_event(void *h) { return wia_reset_event(h); }

static wia_status_t copy_up(void *h) { return wia_copy_host_to_device(memory, host, 16, h); }
static wia_status_t copy_down(void *h) { return wia_copy_device_to_host(host, memory, 16, h); }
static wia_status_t copy_across(void *h) {
  return wia_copy_device_to_device(memory, (char *)memory + 32, 16, h);
}
static wia_status_t copy_nothing(void *h) { return wia_copy_device_to_host(host, memory, 0, h); }
static wia_status_t fill_memory(void *h) { return wia_fill_memory(memory, host, 4, 16, h); }
static wia_status_t read_stream(void *h) { return wia_read_tensor(tensor, host, 16, h); }
static wia_status_t write_stream(void *h) { return wia_write_tensor(tensor, host, 16, h); }
static wia_status_t read_tensor(void *h) { return wia_read_tensor(h, host, 16, NULL); }
static wia_status_t write_tensor(void *h) { return wia_write_tensor(h, host, 16, NULL); }
static wia_status_t view_tensor(void *h) {
  wia_tensor_t made = NULL;
  const wia_status_t status = wia_view_tensor(h, 0, NULL, NULL, 0, &made);
  CHECK(made == NULL);
  return status;
}
static wia_status_t get_tensor_info(void *h) {
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  return wia_get_tensor_info(h, &info);
}
static wia_status_t get_plan_info(void *h) {
  wia_plan_info_t info = WIA_PLAN_INFO_INIT;
  return wia_get_plan_info(h, &info);
}

typedef struct argument_t {
  const char *name;
  kind_t kind;
  bool may_be_null;
  bool other_device; /* a handle of another device is refused */
  wia_status_t (*call)(void *handle);
} argument_t;

static const argument_t arguments[] = {
    {"wia_get_context_info", CONTEXT, false, false, get_context_info},
    {"wia_create_stream", CONTEXT, false, false, create_stream},
    {"wia_create_event", CONTEXT, false, false, create_event},
    {"wia_allocate_tensor", CONTEXT, false, false, allocate_tensor},
    {"wia_wrap_tensor", CONTEXT, false, true, wrap_tensor},
    {"wia_execute", CONTEXT, false, true, execute_context},
    {"wia_execute", TENSOR, false, true, execute_input},
    {"wia_execute", TENSOR, false, true, execute_output},
    {"wia_execute", STREAM, true, true, execute_stream},
    {"wia_execute_views", CONTEXT, false, true, views_context},
    {"wia_execute_views", STREAM, true, true, views_stream},
    {"wia_matmul_strided", CONTEXT, false, true, strided_context},
    {"wia_matmul_strided", STREAM, true, true, strided_stream},
    {"wia_create_plan", CONTEXT, false, false, create_plan},
    {"wia_create_operation_plan", CONTEXT, false, true, plan_context},
    {"wia_create_operation_plan", TENSOR, false, true, plan_input},
    {"wia_create_operation_plan", TENSOR, false, true, plan_output},
    {"wia_execute_plan", PLAN, false, true, launch_plan},
    {"wia_execute_plan", TENSOR, false, true, launch_input},
    {"wia_execute_plan", TENSOR, false, true, launch_output},
    {"wia_execute_plan", STREAM, true, true, launch_stream},
    {"wia_destroy_context", CONTEXT, false, false, destroy_context},
    {"wia_destroy_stream", STREAM, false, false, destroy_stream},
    {"wia_destroy_event", EVENT, false, false, destroy_event},
    {"wia_destroy_plan", PLAN, false, false, destroy_plan},
    {"wia_destroy_tensor", TENSOR, false, false, destroy_tensor},
    {"wia_synchronize_stream", STREAM, false, false, synchronize_stream},
    {"wia_query_stream", STREAM, false, false, query_stream},
    {"wia_reset_stream", STREAM, false, false, reset_stream},
    {"wia_enqueue_wait", STREAM, false, false, enqueue_wait_stream},
    {"wia_enqueue_wait", EVENT, false, false, enqueue_wait_event},
    {"wia_record_event", EVENT, false, false, record_event},
    {"wia_record_event", STREAM, false, false, record_stream},
    {"wia_wait_event", EVENT, false, false, wait_event},
    {"wia_query_event", EVENT, false, false, query_event},
    {"wia_get_elapsed_time", EVENT, false, false, elapsed_start},
    {"wia_get_elapsed_time", EVENT, false, false, elapsed_end},
    {"wia_reset_event", EVENT, false, false, reset_event},
    {"wia_copy_host_to_device", STREAM, true, true, copy_up},
    {"wia_copy_device_to_host", STREAM, true, true, copy_down},
    {"wia_copy_device_to_device", STREAM, true, true, copy_across},
    {"wia_copy_device_to_host", STREAM, true, false, copy_nothing},
    {"wia_fill_memory", STREAM, true, true, fill_memory},
    {"wia_read_tensor", STREAM, true, true, read_stream},
    {"wia_write_tensor", STREAM, true, true, write_stream},
    {"wia_read_tensor", TENSOR, false, false, read_tensor},
    {"wia_write_tensor", TENSOR, false, false, write_tensor},
    {"wia_view_tensor", TENSOR, false, false, view_tensor},
    {"wia_get_tensor_info", TENSOR, false, false, get_tensor_info},
    {"wia_get_plan_info", PLAN, false, false, get_plan_info},
};
enum { ARGUMENT_COUNT = sizeof arguments / sizeof arguments[0] };

/* -- bad handles --------------------------------------------------------------------------------- */

static uint64_t random_bits(void) {
  static uint64_t state = UINT64_C(88172645463325252); /* the seed */
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static void check_refused(const argument_t *argument, void *handle, const char *what) {
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  const wia_status_t status = argument->call(handle);
  wia_get_last_error(&info);
  if (!CHECK(status == WIA_STATUS_INVALID_HANDLE) ||
      !CHECK(strcmp(info.function, argument->name) == 0))
    printf("  %s, %s: gave %s; last error: %s: %s\n", argument->name, what,
           wia_get_status_name(status), info.function, info.message);
}

/* A handle of each kind that was destroyed, in a place that is in use again by the same kind. */
static void *destroyed[KIND_COUNT];

static void *make_handle(kind_t kind) {
  wia_context_t *c = NULL;
  wia_stream_t *s = NULL;
  wia_event_t *e = NULL;
  wia_plan_t *p = NULL;
  const wia_tensor_t inputs[] = {tensor, tensor};
  switch (kind) {
  case CONTEXT:
    CHECK_STATUS(wia_create_context(&c, core_id(CORE_PLAIN)), WIA_STATUS_OK);
    return c;
  case STREAM:
    CHECK_STATUS(wia_create_stream(&s, context), WIA_STATUS_OK);
    return s;
  case EVENT:
    CHECK_STATUS(wia_create_event(&e, context), WIA_STATUS_OK);
    return e;
  case PLAN:
    CHECK_STATUS(wia_create_operation_plan(context, WIA_OP_ADD, inputs, 2, &output, 1, NULL, 0, &p),
                 WIA_STATUS_OK);
    return p;
  default:
    return core_tensor(context, 4, 0);
  }
}

static wia_status_t destroy_handle(kind_t kind, void *handle) {
  wia_status_t (*const functions[])(void *) = {destroy_context, destroy_stream, destroy_event,
                                               destroy_plan, destroy_tensor};
  return functions[kind](handle);
}

static void test_bad_handles(void) {
  char local = 0;
  for (uint32_t k = 0; k < KIND_COUNT; k++) {
    destroyed[k] = make_handle((kind_t)k);
    CHECK_STATUS(destroy_handle((kind_t)k, destroyed[k]), WIA_STATUS_OK);
  }
  for (uint32_t i = 0; i < ARGUMENT_COUNT; i++) {
    const argument_t *argument = &arguments[i];
    const uint64_t good = (uint64_t)(uintptr_t)good_handle(argument->kind);
    if (!argument->may_be_null) check_refused(argument, NULL, "NULL");
    check_refused(argument, destroyed[argument->kind], "destroyed");
    check_refused(argument, &local, "a pointer");
    check_refused(argument, (void *)UINTPTR_MAX, "all bits");
    check_refused(argument, (void *)(uintptr_t)1, "1");
    for (uint32_t bit = 0; bit < 64; bit++) /* among them other generations and types */
      check_refused(argument, (void *)(uintptr_t)(good ^ UINT64_C(1) << bit), "one bit off");
    for (uint32_t n = 0; n < 50; n++)
      check_refused(argument, (void *)(uintptr_t)random_bits(), "random bits");
    for (uint32_t k = 0; k < KIND_COUNT; k++) {
      if (k == (uint32_t)argument->kind) continue;
      check_refused(argument, good_handle((kind_t)k), "another type");
    }
  }
}

static void test_messages(void) {
  CHECK_STATUS(wia_wait_event((wia_event_t *)(void *)stream, 0), WIA_STATUS_INVALID_HANDLE);
  CHECK_MESSAGE("event is a stream; expected an event");
  CHECK_STATUS(execute_with(context, tensor, NULL, output, NULL), WIA_STATUS_INVALID_HANDLE);
  CHECK_MESSAGE("b is NULL; expected a tensor");
  CHECK_STATUS(execute_with(context, tensor, tensor, destroyed[TENSOR], NULL),
               WIA_STATUS_INVALID_HANDLE);
  CHECK_MESSAGE("output");
  CHECK_MESSAGE("destroyed");
}

/* A place is used again, and the old handle still names nothing. */
static void test_reuse(void) {
  enum { ROUNDS = 3000 }; /* more than there are places */
  void *const first = make_handle(TENSOR);
  CHECK_STATUS(wia_destroy_tensor(first), WIA_STATUS_OK);
  for (uint32_t i = 0; i < ROUNDS; i++) {
    void *const handle = make_handle(TENSOR);
    if (!CHECK(handle != first)) break;
    wia_destroy_tensor(handle);
  }
  CHECK_STATUS(get_tensor_info(first), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_destroy_tensor(first), WIA_STATUS_INVALID_HANDLE);
}

static void test_other_device(void) {
  wia_context_t *other_context = core_context(CORE_OTHER);
  wia_stream_t *other_stream = NULL;
  CHECK_STATUS(wia_create_stream(&other_stream, other_context), WIA_STATUS_OK);
  wia_tensor_t other_tensor = core_tensor(other_context, 4, 0);
  wia_plan_t *other_plan = NULL;
  const wia_tensor_t operands[] = {other_tensor, other_tensor};
  wia_tensor_t other_output = core_tensor(other_context, 4, 0);
  CHECK_STATUS(wia_create_operation_plan(other_context, WIA_OP_ADD, operands, 2, &other_output, 1,
                                         NULL, 0, &other_plan),
               WIA_STATUS_OK);
  void *const others[] = {other_context, other_stream, NULL, other_plan, other_tensor};
  for (uint32_t i = 0; i < ARGUMENT_COUNT; i++) {
    if (!arguments[i].other_device) continue;
    const wia_status_t status = arguments[i].call(others[arguments[i].kind]);
    if (!CHECK_STATUS(status, WIA_STATUS_INVALID_ARGUMENT)) printf("  %s\n", arguments[i].name);
    CHECK_MESSAGE("core:0");
    CHECK_MESSAGE("core:1");
  }
  /* an event goes with streams of any device */
  CHECK_STATUS(wia_record_event(event, other_stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_wait(stream, event), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  for (uint32_t k = 0; k < KIND_COUNT; k++) {
    if (others[k]) CHECK_STATUS(destroy_handle((kind_t)k, others[k]), WIA_STATUS_OK);
  }
  core_destroy(other_output);
}

int main(void) {
  core_start();
  context = core_context(CORE_PLAIN);
  tensor = core_tensor(context, 4, 0);
  output = core_tensor(context, 4, 0);
  stream = make_handle(STREAM);
  event = make_handle(EVENT);
  plan = make_handle(PLAN);
  CHECK_STATUS(wia_malloc(&memory, 64, core_id(CORE_PLAIN)), WIA_STATUS_OK);
  test_bad_handles();
  test_messages();
  test_reuse();
  test_other_device();
  for (uint32_t k = KIND_COUNT; k-- > 0;)
    CHECK_STATUS(destroy_handle((kind_t)k, good_handle((kind_t)k)), WIA_STATUS_OK);
  core_destroy(output);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
  CHECK_CLEAN();
  return CHECK_DONE();
}
