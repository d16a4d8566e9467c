/* Operations and kernels that a program registers: on every sort of device. */
#include <math.h>

#include "custom_gain.h"

enum { THREADS = 8 };

/* -- on every device, in every way of calling ---------------------------------------------------- */

static void run_group(wia_context_t *context, wia_op_t op, wia_tensor_t x, wia_tensor_t y) {
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(x, &info), WIA_STATUS_OK);
  wia_value_t value = WIA_VALUE_INIT;
  value.layout = info.layout;
  const wia_value_t *const values[] = {&value, &value, &value};
  const uint32_t places[] = {0, 1, 2};
  wia_attribute_t scalar = {.name = "gain", .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .scalar = 0};
  wia_node_t first = WIA_NODE_INIT, second = WIA_NODE_INIT;
  first.op = op;
  first.inputs = places;
  first.outputs = places + 1;
  first.attributes = &scalar;
  first.input_count = first.output_count = first.attribute_count = 1;
  second.op = WIA_OP_ADD;
  second.inputs = (const uint32_t[]){1, 0};
  second.outputs = places + 2;
  second.input_count = 2;
  second.output_count = 1;
  const wia_node_t *const nodes[] = {&first, &second};
  wia_group_t group = WIA_GROUP_INIT;
  group.nodes = nodes;
  group.values = values;
  group.inputs = places;
  group.outputs = places + 2;
  group.node_count = 2;
  group.value_count = 3;
  group.input_count = group.output_count = group.scalar_count = 1;
  wia_plan_t *plan = NULL;
  CHECK_STATUS(wia_create_plan(context, &group, &plan), WIA_STATUS_OK);
  const wia_tensor_t operands[] = {x, y};
  const wia_scalar_t five = {.f64 = 5};
  CHECK_STATUS(wia_execute_plan(plan, operands, 2, &five, 1, NULL), WIA_STATUS_OK);
  CHECK(core_has(y, 6, 6));
  CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
}

/* Captured from a stream, and launched with two values of its scalar. */
static void run_graph(wia_stream_t *stream, wia_context_t *context, wia_op_t op, wia_tensor_t x,
                      wia_tensor_t y) {
  wia_graph_t *graph = NULL;
  wia_executable_t *executable = NULL;
  const wia_scalar_t five = {.f64 = 5}, seven = {.f64 = 7};
  CHECK_STATUS(wia_begin_capture(stream, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_execute(context, op, &x, 1, &y, 1, gain_of(&five.f64), 1, stream),
               WIA_STATUS_OK);
  CHECK_STATUS(wia_end_capture(stream, &graph), WIA_STATUS_OK);
  CHECK_STATUS(wia_instantiate_graph(graph, NULL, &executable), WIA_STATUS_OK);
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_OK);
  CHECK(core_has(y, 5, 5));
  CHECK_STATUS(wia_update_graph_scalar(executable, 0, "gain", &seven), WIA_STATUS_OK);
  CHECK_STATUS(wia_launch_graph(executable, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK(core_has(y, 7, 7));
  CHECK_STATUS(wia_destroy_executable(executable), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_graph(graph), WIA_STATUS_OK);
}

static void run_everywhere(uint32_t device, wia_op_t op) {
  wia_context_t *context = core_context(device);
  const wia_tensor_t x = core_tensor(context, 5, 1), y = core_tensor(context, 5, 0);
  const double three = 3;
  CHECK_STATUS(wia_execute(context, op, &x, 1, &y, 1, gain_of(&three), 1, NULL), WIA_STATUS_OK);
  CHECK(core_has(y, 3, 3));
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_execute(context, op, &y, 1, &y, 1, gain_of(&three), 1, stream),
               device == CORE_SPLIT || device == CORE_OPAQUE || gain_flags & WIA_KERNEL_IN_PLACE
                   ? WIA_STATUS_OK
                   : WIA_STATUS_UNIMPLEMENTED);
  CHECK_STATUS(wia_execute(context, op, &x, 1, &y, 1, gain_of(&three), 1, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK(core_has(y, 3, 3));
  run_graph(stream, context, op, x, y);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  const wia_attribute_t mode = {
      .name = "mode", .data = &(int64_t){1}, .type = WIA_ATTRIBUTE_INT64, .count = 1, .scalar = -1};
  wia_plan_t *plan = NULL;
  CHECK_STATUS(wia_create_operation_plan(context, op, &x, 1, &y, 1, &mode, 1, &plan),
               WIA_STATUS_OK);
  const wia_tensor_t operands[] = {x, y};
  CHECK_STATUS(wia_execute_plan(plan, operands, 2, NULL, 0, NULL), WIA_STATUS_OK);
  CHECK(core_has(y, 2, 1));
  CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
  run_group(context, op, x, y);
  core_destroy(x);
  core_destroy(y);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

static void test_everywhere(void) {
  core_start();
  const wia_op_t op = register_gain("test::gain");
  CHECK(op == WIA_OP_CUSTOM_FIRST);
  wia_op_t found = 0;
  CHECK_STATUS(wia_find_op("test::gain", &found), WIA_STATUS_OK);
  CHECK(found == op);
  CHECK_STATUS(wia_find_op("test::gian", &found), WIA_STATUS_NOT_FOUND);
  CHECK_MESSAGE("did you mean \"test::gain\"?");
  wia_op_info_t info = WIA_OP_INFO_INIT;
  CHECK_STATUS(wia_get_op_info(op, &info), WIA_STATUS_OK);
  CHECK_TEXT(info.documentation, "times gain");
  CHECK_TEXT(info.family, "same");
  CHECK_STATUS(wia_get_op_info(op + 1, &info), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_register_kernel(op, NULL, prepare_gain, "everywhere", on_host()), WIA_STATUS_OK);
  for (uint32_t device = 0; device < CORE_ALL_COUNT; device++) {
    uint64_t dtypes = 0;
    run_everywhere(device, op);
    CHECK_STATUS(wia_get_device_support(core_id(device), op, &dtypes), WIA_STATUS_OK);
    CHECK(dtypes == UINT64_C(1) << WIA_FLOAT32);
  }
  CHECK_CLEAN();
}

/* Kernels with a workspace, that work in place, and for any shape. */
static void test_kernel_sorts(void) {
  core_start();
  gain_flags = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE | WIA_KERNEL_ANY_SHAPE;
  wia_op_t op = register_gain("test::any_shape");
  CHECK_STATUS(wia_register_kernel(op, "core", prepare_gain, "any", on_host()), WIA_STATUS_OK);
  for (uint32_t device = 0; device < CORE_DEVICE_COUNT; device++) {
    run_everywhere(device, op);
    prepares = 0;
    wia_context_t *context = core_context(device);
    for (int64_t size = 20; size < 23; size++) {
      const wia_tensor_t x = core_tensor(context, size, 1), y = core_tensor(context, size, 0);
      CHECK_STATUS(wia_execute(context, op, &x, 1, &y, 1, NULL, 0, NULL), WIA_STATUS_OK);
      CHECK(core_has(y, 1, 1));
      core_destroy(x);
      core_destroy(y);
    }
    CHECK(prepares == 0);
    CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  }
  gain_flags = WIA_KERNEL_IN_PLACE;
  gain_workspace = 1000;
  op = register_gain("test::workspace");
  CHECK_STATUS(wia_register_kernel(op, "core:4", prepare_gain, "w", on_host()), WIA_STATUS_OK);
  run_everywhere(CORE_SPLIT, op);
  CHECK_CLEAN();
}

/* What lies between the elements of an output is not written, on a device with memory of its own. */
static void test_strided(void) {
  core_start();
  const wia_op_t op = register_gain("test::gain");
  CHECK_STATUS(wia_register_kernel(op, "core", prepare_gain, "x", on_host()), WIA_STATUS_OK);
  const uint32_t devices[] = {CORE_PLAIN, CORE_OPAQUE, CORE_SPLIT};
  for (uint32_t d = 0; d < 3; d++) {
    wia_context_t *context = core_context(devices[d]);
    const wia_tensor_t base = core_tensor(context, 200, 0), x = core_tensor(context, 200, 1);
    wia_tensor_info_t to = WIA_TENSOR_INFO_INIT, from = WIA_TENSOR_INFO_INIT;
    CHECK_STATUS(wia_get_tensor_info(base, &to), WIA_STATUS_OK);
    CHECK_STATUS(wia_get_tensor_info(x, &from), WIA_STATUS_OK);
    const int64_t shape[] = {10, 5}, back[] = {-10, 2}, rows[] = {20, 1};
    const double two = 2;
    const wia_view_t in = {.address = from.address + 90 * 4,
                           .shape = shape,
                           .strides = back,
                           .dtype = WIA_FLOAT32,
                           .rank = 2};
    wia_view_t out = {.address = to.address + 4,
                      .shape = shape,
                      .strides = rows,
                      .dtype = WIA_FLOAT32,
                      .rank = 2};
    CHECK_STATUS(wia_execute_views(context, op, &in, 1, &out, 1, gain_of(&two), 1, NULL),
                 WIA_STATUS_OK);
    float values[200];
    CHECK_STATUS(wia_read_tensor(base, values, sizeof values, NULL), WIA_STATUS_OK);
    bool right = true;
    for (int i = 0; i < 200; i++) {
      const int row = i / 20, column = i % 20 - 1;
      const float wanted =
          column >= 0 && column < 5 ? 2 * (float)(1 + 90 - 10 * row + 2 * column) : (float)i;
      right &= values[i] == wanted;
    }
    CHECK(right);
    const int64_t empty[] = {0, 5};
    out.shape = empty;
    wia_view_t nothing = in;
    nothing.shape = empty;
    CHECK_STATUS(wia_execute_views(context, op, &nothing, 1, &out, 1, NULL, 0, NULL),
                 WIA_STATUS_OK);
    const wia_view_t scalar = {.address = to.address, .dtype = WIA_FLOAT32};
    const wia_view_t one = {.address = from.address, .dtype = WIA_FLOAT32};
    CHECK_STATUS(wia_execute_views(context, op, &one, 1, &scalar, 1, gain_of(&two), 1, NULL),
                 WIA_STATUS_OK);
    core_destroy(base);
    core_destroy(x);
    CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  }
  CHECK_CLEAN();
}

/* -- who is asked -------------------------------------------------------------------------------- */

static const char *kernel_name(wia_context_t *context, wia_op_t op) {
  static char name[64];
  const wia_tensor_t x = core_tensor(context, 3, 1), y = core_tensor(context, 3, 0);
  const wia_tensor_t inputs[] = {x, x};
  wia_plan_t *plan = NULL;
  wia_plan_info_t info = WIA_PLAN_INFO_INIT;
  const uint32_t count = op == WIA_OP_ADD ? 2 : 1;
  if (CHECK_STATUS(wia_create_operation_plan(context, op, inputs, count, &y, 1, NULL, 0, &plan),
                   WIA_STATUS_OK)) {
    CHECK_STATUS(wia_get_plan_info(plan, &info), WIA_STATUS_OK);
    snprintf(name, sizeof name, "%s", info.name);
    CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
  }
  core_destroy(x);
  core_destroy(y);
  return name;
}

static void test_order(void) {
  core_start();
  wia_context_t *context = core_context(CORE_PLAIN), *other = core_context(CORE_OTHER);
  const wia_op_t op = register_gain("test::order");
  const wia_tensor_t x = core_tensor(context, 3, 1), y = core_tensor(context, 3, 0);
  CHECK_STATUS(wia_execute(context, op, &x, 1, &y, 1, NULL, 0, NULL), WIA_STATUS_UNIMPLEMENTED);
  CHECK_MESSAGE("test::order on core:0 (float32)");
  /* the refusal is not remembered once there are kernels; nor is a kernel once there is a nearer one */
  CHECK_STATUS(wia_register_kernel(op, NULL, prepare_gain, "all", NULL), WIA_STATUS_OK);
  CHECK_TEXT(kernel_name(context, op), "all");
  CHECK_STATUS(wia_register_kernel(op, "core", prepare_gain, "driver", NULL), WIA_STATUS_OK);
  CHECK_TEXT(kernel_name(context, op), "driver");
  CHECK_STATUS(wia_register_kernel(op, "core:0", prepare_gain, "device", NULL), WIA_STATUS_OK);
  CHECK_TEXT(kernel_name(context, op), "device");
  CHECK_TEXT(kernel_name(other, op), "driver");
  CHECK_STATUS(wia_register_kernel(op, "core:0", prepare_gain, "again", NULL),
               WIA_STATUS_ALREADY_EXISTS);
  CHECK_STATUS(wia_register_kernel(op, NULL, prepare_gain, "again", NULL),
               WIA_STATUS_ALREADY_EXISTS);
  /* an operation of the catalog: before the driver's kernel, or behind it */
  CHECK_STATUS(wia_register_kernel(WIA_OP_ADD, NULL, prepare_gain, "all", NULL), WIA_STATUS_OK);
  CHECK(strcmp(kernel_name(context, WIA_OP_ADD), "all") != 0);
  CHECK_STATUS(wia_register_kernel(WIA_OP_ADD, "core", prepare_gain, "mine", NULL), WIA_STATUS_OK);
  CHECK_TEXT(kernel_name(context, WIA_OP_ADD), "mine");
  /* who declines is passed over; all that declined are told */
  prepare_status = WIA_STATUS_UNIMPLEMENTED;
  const wia_op_t fresh = register_gain("test::declined");
  CHECK_STATUS(wia_register_kernel(fresh, NULL, prepare_gain, "all", NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_register_kernel(fresh, "core", prepare_gain, "driver", NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_execute(context, fresh, &x, 1, &y, 1, NULL, 0, NULL), WIA_STATUS_UNIMPLEMENTED);
  CHECK_MESSAGE("registered for the driver: driver declines; the kernels registered for all "
                "devices: all declines");
  prepare_status = WIA_STATUS_RESOURCE_EXHAUSTED; /* no answer for later, and not passed over */
  CHECK_STATUS(wia_register_kernel(fresh, "core:0", prepare_gain, "device", NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_execute(context, fresh, &x, 1, &y, 1, NULL, 0, NULL),
               WIA_STATUS_RESOURCE_EXHAUSTED);
  CHECK_MESSAGE("device declines");
  prepare_status = WIA_STATUS_OK;
  CHECK_STATUS(wia_execute(context, fresh, &x, 1, &y, 1, NULL, 0, NULL), WIA_STATUS_OK);
  launch_status = WIA_STATUS_DATA_LOSS;
  CHECK_STATUS(wia_execute(context, fresh, &x, 1, &y, 1, NULL, 0, NULL), WIA_STATUS_DATA_LOSS);
  CHECK_MESSAGE("told to fail");
  launch_status = WIA_STATUS_OK;
  core_destroy(x);
  core_destroy(y);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(other), WIA_STATUS_OK);
  core_evict();
  CHECK_CLEAN();
  CHECK(kernels == 0); /* all were released */
}

static wia_status_t prepare_nothing(void *context, int32_t device_id, const wia_request_t *request,
                                    wia_driver_kernel_t *out_kernel, wia_error_t *out_error) {
  (void)device_id, (void)request, (void)out_error;
  *out_kernel = *(const wia_driver_kernel_t *)context;
  return WIA_STATUS_OK;
}

/* Kernels that can't be: said of those who registered them, not of the driver. */
static void test_bad_kernels(void) {
  core_start();
  wia_context_t *context = core_context(CORE_SPLIT);
  const wia_tensor_t x = core_tensor(context, 3, 1), y = core_tensor(context, 3, 0);
  const wia_driver_kernel_t bad[] = {
      {.struct_size = sizeof *bad},
      {.struct_size = sizeof *bad, .fn = run_gain, .workspace_alignment = 3},
      {.struct_size = sizeof *bad, .fn = run_gain, .flags = WIA_KERNEL_ASYNC}};
  const char *const parts[] = {"gave no function", "no power of two", "asynchronous"};
  for (uint32_t i = 0; i < 3; i++) {
    char name[32];
    snprintf(name, sizeof name, "test::bad%u", i);
    const wia_op_t op = register_gain(name);
    CHECK_STATUS(
        wia_register_kernel(op, "core:4", prepare_nothing, (void *)(uintptr_t)&bad[i], on_host()),
        WIA_STATUS_OK);
    CHECK_STATUS(wia_execute(context, op, &x, 1, &y, 1, NULL, 0, NULL), WIA_STATUS_INTERNAL);
    CHECK_MESSAGE(parts[i]);
    CHECK_MESSAGE("a defect of what was registered");
  }
  wia_kernel_config_t config = WIA_KERNEL_CONFIG_INIT;
  config.flags = 2;
  CHECK_STATUS(wia_register_kernel(WIA_OP_ADD, NULL, prepare_gain, NULL, &config),
               WIA_STATUS_INVALID_ARGUMENT);
  config.flags = 0;
  config.dtypes = 1;
  CHECK_STATUS(wia_register_kernel(WIA_OP_ADD, NULL, prepare_gain, NULL, &config),
               WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_register_kernel(WIA_OP_ADD, NULL, NULL, NULL, NULL),
               WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_register_kernel(WIA_OP_ADD, "No Name", prepare_gain, NULL, NULL),
               WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_register_kernel(WIA_OP_CUSTOM_FIRST + 77, NULL, prepare_gain, NULL, NULL),
               WIA_STATUS_INVALID_ARGUMENT);
  core_destroy(x);
  core_destroy(y);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_CLEAN();
}

/* -- threads and forks --------------------------------------------------------------------------- */

static wia_op_t shared_op;

static void *register_many(void *argument) {
  const uint32_t number = *(const uint32_t *)argument;
  wia_context_t *context = core_context(CORE_PLAIN);
  const wia_tensor_t x = core_tensor(context, 4, 1), y = core_tensor(context, 4, 0);
  for (uint32_t i = 0; i < 10; i++) {
    char name[32];
    wia_op_t found;
    snprintf(name, sizeof name, "test::t%u_%u", number, i);
    const wia_op_t op = register_gain(name);
    CHECK_STATUS(wia_find_op(name, &found), WIA_STATUS_OK);
    CHECK(found == op);
    CHECK_STATUS(wia_register_kernel(op, i % 2 ? "core" : NULL, prepare_gain, "t", NULL),
                 WIA_STATUS_OK);
    CHECK_STATUS(wia_execute(context, op, &x, 1, &y, 1, NULL, 0, NULL), WIA_STATUS_OK);
    CHECK(core_has(y, 1, 1));
    CHECK_STATUS(wia_execute(context, shared_op, &x, 1, &y, 1, NULL, 0, NULL), WIA_STATUS_OK);
  }
  core_destroy(x);
  core_destroy(y);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  return NULL;
}

static void test_threads(void) {
  core_start();
  pthread_t threads[THREADS];
  uint32_t numbers[THREADS];
  shared_op = register_gain("test::shared");
  CHECK_STATUS(wia_register_kernel(shared_op, NULL, prepare_gain, "all", NULL), WIA_STATUS_OK);
  for (uint32_t i = 0; i < THREADS; i++) {
    numbers[i] = i;
    CHECK(pthread_create(&threads[i], NULL, register_many, &numbers[i]) == 0);
  }
  /* meanwhile a nearer kernel comes */
  CHECK_STATUS(wia_register_kernel(shared_op, "core", prepare_gain, "near", NULL), WIA_STATUS_OK);
  for (uint32_t i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  wia_context_t *context = core_context(CORE_PLAIN);
  CHECK_TEXT(kernel_name(context, shared_op), "near");
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_CLEAN();
}

static void test_fork(void) {
  core_start();
  shared_op = register_gain("test::inherited");
  CHECK_STATUS(wia_register_kernel(shared_op, NULL, prepare_gain, "all", NULL), WIA_STATUS_OK);
  wia_context_t *context = core_context(CORE_PLAIN);
  CHECK_TEXT(kernel_name(context, shared_op), "all");
  const pid_t child = fork();
  if (child == 0) {
    wia_op_t op = 0;
    bool good = wia_find_op("test::inherited", &op) == WIA_STATUS_OK && op == shared_op;
    wia_context_t *anew = core_context(CORE_PLAIN);
    good &= strcmp(kernel_name(anew, op), "all") == 0;
    good &= register_gain("test::of_the_child") == op + 1;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

int main(void) {
  RUN_ALONE(test_everywhere);
  RUN_ALONE(test_kernel_sorts);
  RUN_ALONE(test_strided);
  RUN_ALONE(test_order);
  RUN_ALONE(test_bad_kernels);
  RUN_ALONE(test_threads);
  RUN_ALONE(test_fork);
  return CHECK_DONE();
}
