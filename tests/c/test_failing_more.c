/* Scenario 15 of what test_failing.c leaves: graphs, pools, the layers, a program's own allocator and
 * operations, gradients, extensions. */
#include <limits.h>

#include "failing_each.h"
#include "groups.h"

static const int64_t shape8[] = {8};
static wia_op_t own; /* y = 2 x */

static void *address_of(wia_tensor_t tensor) {
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(tensor, &info), WIA_STATUS_OK);
  return (void *)(uintptr_t)info.address;
}

/* -- graphs -------------------------------------------------------------------------------------- */

static _Atomic uint32_t calls;
static wia_status_t count_call(void *unused, wia_status_t status, wia_error_t *error) {
  (void)unused, (void)status, (void)error;
  calls++;
  return WIA_STATUS_OK;
}

/* Two branches of every kind of node. */
static wia_status_t capture(wia_stream_t *first, wia_stream_t *second, wia_event_t *forks,
                            wia_event_t *joins, const wia_tensor_t *tensors, wia_graph_t **out) {
  static float values[8];
  wia_status_t status = WIA_STATUS_OK;
  wia_capture_config_t config = WIA_CAPTURE_CONFIG_INIT;
  config.name = "a graph with a name of its own";
  TRY(wia_begin_capture(first, &config));
  if (status) return status;
  TRY(wia_fill_memory(address_of(tensors[0]), "\0", 1, 32, first));
  TRY(wia_record_event(forks, first));
  TRY(wia_enqueue_wait(second, forks));
  TRY(wia_add(context, tensors[0], tensors[0], tensors[1], first));
  TRY(wia_write_tensor(tensors[2], values, sizeof values, second));
  TRY(wia_div(context, tensors[2], tensors[2], tensors[3], second));
  TRY(wia_record_event(joins, second));
  TRY(wia_enqueue_wait(first, joins));
  TRY(wia_enqueue_host_function(first, count_call, NULL));
  if (!status) return wia_end_capture(first, out);
  CHECK_STATUS(wia_cancel_capture(first), WIA_STATUS_OK); /* it is there still */
  return status;
}

static wia_status_t launch(wia_graph_t *graph, int32_t branches, wia_stream_t *stream,
                           const wia_tensor_t *tensors) {
  wia_status_t status = WIA_STATUS_OK;
  wia_executable_t *executable = NULL;
  wia_instantiate_config_t config = WIA_INSTANTIATE_CONFIG_INIT;
  config.branches = branches;
  uint32_t count = 0;
  TRY(wia_instantiate_graph(graph, &config, &executable));
  TRY(wia_launch_graph(executable, NULL));
  TRY(wia_launch_graph(executable, stream));
  TRY(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE));
  TRY(wia_update_graph_operand(executable, 1, 2, tensors[4]));
  TRY(wia_update_graph_tensor(executable, tensors[4], tensors[1], &count));
  TRY(wia_update_graph(executable, graph));
  TRY(wia_launch_graph(executable, NULL));
  END(wia_destroy_executable, executable);
  return status;
}

static wia_status_t run_graphs(void) {
  wia_status_t status = WIA_STATUS_OK;
  wia_stream_t *first = NULL, *second = NULL;
  wia_event_t *forks = NULL, *joins = NULL;
  wia_tensor_t tensors[5] = {NULL};
  wia_graph_t *graph = NULL;
  const char *dot = NULL;
  core.workspace_size = 64;
  TRY(wia_create_stream(&first, context));
  TRY(wia_create_stream(&second, context));
  TRY(wia_create_event(&forks, context));
  TRY(wia_create_event(&joins, context));
  for (uint32_t i = 0; i < 5; i++)
    TRY(wia_allocate_tensor(context, shape8, 1, WIA_FLOAT32, &tensors[i]));
  TRY(capture(first, second, forks, joins, tensors, &graph));
  TRY(wia_get_graph_dot(graph, &dot));
  TRY(launch(graph, device == CORE_PLAIN ? WIA_BRANCHES_PARALLEL : WIA_BRANCHES_IN_ORDER, first,
             tensors));
  END(wia_destroy_graph, graph);
  END(wia_destroy_event, forks);
  END(wia_destroy_event, joins);
  END(wia_destroy_stream, first);
  END(wia_destroy_stream, second);
  for (uint32_t i = 0; i < 5; i++) END(wia_destroy_tensor, tensors[i]);
  core.workspace_size = 0;
  return status;
}

/* -- pools --------------------------------------------------------------------------------------- */

static wia_status_t run_pool(void) {
  wia_status_t status = WIA_STATUS_OK;
  wia_context_t *own_context = NULL;
  wia_stream_t *first = NULL, *second = NULL;
  void *blocks[6] = {NULL};
  wia_memory_pool_config_t config = WIA_MEMORY_POOL_CONFIG_INIT;
  config.limit_size = 1 << 24;
  wia_memory_config_t aligned = WIA_MEMORY_CONFIG_INIT;
  aligned.alignment = 4096;
  TRY(wia_create_context(&own_context, core_id(device)));
  TRY(wia_configure_memory_pool(own_context, &config));
  TRY(wia_create_stream(&first, own_context));
  TRY(wia_create_stream(&second, own_context));
  TRY(wia_malloc_async(own_context, 1000, NULL, first, &blocks[0]));
  TRY(wia_malloc_async(own_context, 5000, &aligned, NULL, &blocks[1]));
  TRY(wia_fill_memory(blocks[0], "x", 1, 1000, first));
  TRY(wia_free_async(blocks[0], first));
  if (!status) blocks[0] = NULL;
  TRY(wia_malloc_async(own_context, 1000, NULL, first, &blocks[2])); /* the same block */
  TRY(wia_malloc_async(own_context, 900, NULL, second, &blocks[3]));
  TRY(wia_fill_memory(blocks[2], "y", 1, 1000, first));
  TRY(wia_fill_memory(blocks[3], "z", 1, 900, second));
  TRY(wia_malloc_async(own_context, 3 << 20, NULL, second, &blocks[4]));
  TRY(wia_synchronize_device(core_id(device), WIA_TIMEOUT_INFINITE));
  for (uint32_t i = 0; i < 6; i++) END(wia_free, blocks[i]);
  TRY(wia_trim_memory_pool(own_context, 0, NULL));
  END(wia_destroy_stream, first);
  END(wia_destroy_stream, second);
  END(wia_destroy_context, own_context);
  return status;
}

/* -- a program's own allocator ------------------------------------------------------------------- */

static _Atomic int64_t given; /* blocks that the allocator has not had back */

static void *give(void *unused, const wia_memory_request_t *request) {
  wia_memory_config_t config = WIA_MEMORY_CONFIG_INIT;
  void *memory = NULL;
  (void)unused;
  config.alignment = request->alignment;
  if (wia_allocate_arena(&memory, request->size, request->device_id, &config)) return NULL;
  given++;
  return memory;
}

static void take_back(void *unused, void *memory, const wia_memory_request_t *request) {
  (void)unused, (void)request;
  CHECK_STATUS(wia_free_arena(memory), WIA_STATUS_OK);
  given--;
}

static wia_status_t run_allocator(void) {
  wia_status_t status = WIA_STATUS_OK;
  wia_context_t *own_context = NULL;
  wia_tensor_t tensor = NULL;
  void *blocks[2] = {NULL};
  wia_allocator_t allocator = WIA_ALLOCATOR_INIT;
  allocator.allocate = give;
  allocator.free = take_back;
  allocator.name = "the test's arenas";
  TRY(wia_create_context(&own_context, core_id(device)));
  TRY(wia_set_allocator(own_context, &allocator));
  TRY(wia_malloc_async(own_context, 1000, NULL, NULL, &blocks[0]));
  TRY(wia_allocate_tensor(own_context, shape8, 1, WIA_FLOAT32, &tensor));
  TRY(wia_malloc_async(own_context, 3 << 20, NULL, NULL, &blocks[1]));
  TRY(wia_mul(own_context, tensor, tensor, tensor, NULL));
  TRY(wia_set_allocator(own_context, NULL));
  for (uint32_t i = 0; i < 2; i++) END(wia_free, blocks[i]);
  END(wia_destroy_tensor, tensor);
  END(wia_destroy_context, own_context);
  return status;
}

/* -- layers -------------------------------------------------------------------------------------- */

static void ignore(void *unused, int32_t level, const char *subsystem, const char *driver,
                   const char *message) {
  (void)unused, (void)level, (void)subsystem, (void)driver, (void)message;
}

/* A race, which is found or for which there is no memory, and both reports. */
static wia_status_t run_validate(void) {
  wia_status_t status = WIA_STATUS_OK;
  wia_stream_t *first = NULL, *second = NULL;
  wia_event_t *event = NULL;
  wia_tensor_t a = NULL, b = NULL;
  wia_validation_report_t *findings = NULL, *leaks = NULL;
  bool enabled = false;
  TRY(wia_set_log_callback(ignore, NULL));
  TRY(wia_enable_layer("validate"));
  enabled = !status;
  TRY(wia_create_stream(&first, context));
  TRY(wia_create_stream(&second, context));
  TRY(wia_create_event(&event, context));
  TRY(wia_allocate_tensor(context, shape8, 1, WIA_FLOAT32, &a));
  TRY(wia_allocate_tensor(context, shape8, 1, WIA_FLOAT32, &b));
  core.only_touch = true;
  TRY(wia_add(context, a, a, b, first));
  TRY(wia_record_event(event, first));
  TRY(wia_mul(context, a, a, b, second));
  TRY(wia_enqueue_wait(second, event));
  TRY(wia_add(context, b, b, a, second));
  TRY(wia_get_validation_report(&findings));
  TRY(wia_get_leak_report(&leaks));
  if (first) (void)wia_synchronize_stream(first, WIA_TIMEOUT_INFINITE);
  if (second) (void)wia_synchronize_stream(second, WIA_TIMEOUT_INFINITE);
  core.only_touch = false;
  END(wia_destroy_validation_report, findings);
  END(wia_destroy_validation_report, leaks);
  END(wia_destroy_event, event);
  END(wia_destroy_stream, first);
  END(wia_destroy_stream, second);
  END(wia_destroy_tensor, a);
  END(wia_destroy_tensor, b);
  CHECK_STATUS(wia_clear_findings(), WIA_STATUS_OK);
  if (enabled) CHECK_STATUS(wia_disable_layer("validate"), WIA_STATUS_OK);
  CHECK_STATUS(wia_set_log_callback(NULL, NULL), WIA_STATUS_OK);
  return status;
}

static bool is_tracing(void) {
  wia_layer_info_t info = WIA_LAYER_INFO_INIT;
  CHECK_STATUS(wia_get_layer_info(1, &info), WIA_STATUS_OK);
  CHECK_TEXT(info.name, "trace");
  return info.enabled;
}

static wia_status_t run_trace(void) {
  wia_status_t status = WIA_STATUS_OK;
  const bool before = is_tracing(); /* by WIA_LAYERS */
  wia_stream_t *stream = NULL;
  wia_tensor_t a = NULL;
  TRY(wia_enable_layer("trace"));
  const bool enabled = !status;
  TRY(wia_create_stream(&stream, context));
  TRY(wia_allocate_tensor(context, shape8, 1, WIA_FLOAT32, &a));
  TRY(wia_add(context, a, a, a, stream));
  TRY(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE));
  END(wia_destroy_tensor, a);
  END(wia_destroy_stream, stream);
  if (!enabled) return status;
  const wia_status_t ended =
      wia_disable_layer("trace"); /* without memory for its file it ends, too */
  CHECK(is_tracing() == before);
  return status ? status : ended;
}

/* -- operations of a program's own --------------------------------------------------------------- */

static wia_status_t infer_own(void *unused, const wia_infer_args_t *args, wia_shape_t *out_shapes,
                              wia_error_t *error) {
  (void)unused, (void)error;
  out_shapes[0] = args->inputs[0];
  return WIA_STATUS_OK;
}

static wia_status_t run_own(void *unused, const wia_kernel_args_t *args) {
  (void)unused;
  const float *x = (const float *)(uintptr_t)args->operands[0].address;
  float *y = (float *)(uintptr_t)args->operands[1].address;
  for (uint64_t i = 0; i < args->operands[0].layout->element_count; i++) y[i] = 2 * x[i];
  return WIA_STATUS_OK;
}

static wia_status_t prepare_own(void *unused, int32_t device_id, const wia_request_t *request,
                                wia_driver_kernel_t *out_kernel, wia_error_t *error) {
  (void)unused, (void)device_id, (void)request, (void)error;
  out_kernel->fn = run_own;
  out_kernel->flags = WIA_KERNEL_THREAD_SAFE;
  out_kernel->workspace_size = 32;
  return WIA_STATUS_OK;
}

static void register_own(void) {
  static const wia_operand_definition_t x = {.name = "x"}, y = {.name = "y"};
  wia_op_definition_t definition = WIA_OP_DEFINITION_INIT;
  definition.name = "test::twice";
  definition.infer = infer_own;
  definition.inputs = &x;
  definition.outputs = &y;
  definition.input_count = definition.output_count = 1;
  CHECK_STATUS(wia_register_op(&definition, &own), WIA_STATUS_OK);
  wia_kernel_config_t config = WIA_KERNEL_CONFIG_INIT;
  config.flags = WIA_KERNEL_ON_HOST;
  CHECK_STATUS(wia_register_kernel(own, NULL, prepare_own, NULL, &config), WIA_STATUS_OK);
}

/* By itself, on a stream, in a group. On devices without host addresses operands go by way of the host. */
static wia_status_t run_custom(void) {
  static int64_t length = 100; /* each time another shape, so that kernels are prepared */
  const int64_t shape[] = {++length};
  const groups_node_t nodes[] = {{own, {0, NONE, NONE}, 1}, {WIA_OP_ADD, {1, 0, NONE}, 2}, {0}};
  wia_status_t status = WIA_STATUS_OK;
  wia_stream_t *stream = NULL;
  wia_tensor_t tensors[2] = {NULL};
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  wia_plan_t *plan = NULL;
  groups_t g;
  TRY(wia_create_stream(&stream, context));
  TRY(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &tensors[0]));
  TRY(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &tensors[1]));
  TRY(wia_fill_memory(address_of(tensors[0]), "\0", 1, (uint64_t)length * 4, NULL));
  TRY(wia_execute(context, own, tensors, 1, tensors + 1, 1, NULL, 0, NULL));
  TRY(wia_execute(context, own, tensors, 1, tensors + 1, 1, NULL, 0, stream));
  TRY(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE));
  TRY(wia_get_tensor_info(tensors[0], &info));
  if (!status) groups_build(&g, info.layout, 1, nodes);
  TRY(wia_create_plan(context, &g.group, &plan));
  TRY(wia_execute_plan(plan, tensors, 2, NULL, 0, stream));
  if (stream) (void)wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE);
  END(wia_destroy_plan, plan);
  END(wia_destroy_stream, stream);
  END(wia_destroy_tensor, tensors[0]);
  END(wia_destroy_tensor, tensors[1]);
  return status;
}

/* -- gradients and extensions -------------------------------------------------------------------- */

static wia_status_t query_gradient(wia_op_t op, uint32_t input_count, wia_dtype_t dtype) {
  static const int64_t shape[] = {3, 4};
  const wia_tensor_layout_t layout = {
      .struct_size = sizeof layout, .dtype = dtype, .rank = 2, .shape = shape};
  const wia_tensor_layout_t *inputs[] = {&layout, &layout};
  wia_status_t status = WIA_STATUS_OK;
  wia_gradient_config_t config = WIA_GRADIENT_CONFIG_INIT;
  config.op = op;
  config.inputs = inputs;
  config.input_count = input_count;
  wia_gradient_t *gradient = NULL;
  wia_gradient_info_t info = WIA_GRADIENT_INFO_INIT;
  TRY(wia_query_gradient(&config, &gradient));
  TRY(wia_get_gradient_info(gradient, &info));
  if (!status) CHECK(info.group->node_count > 0);
  END(wia_destroy_gradient, gradient);
  return status;
}

static wia_status_t run_gradients(void) {
  wia_status_t status = WIA_STATUS_OK;
  TRY(query_gradient(WIA_OP_MUL, 2, WIA_FLOAT32));
  TRY(query_gradient(WIA_OP_SOFTMAX, 1, WIA_FLOAT64));
  TRY(query_gradient(WIA_OP_TANH, 1, WIA_BFLOAT16));
  return status;
}

static wia_status_t run_extensions(void) {
  wia_status_t status = WIA_STATUS_OK;
  uint32_t count = 0;
  const void *table = NULL;
  wia_extension_info_t info = WIA_EXTENSION_INFO_INIT;
  TRY(wia_get_extension_count(core_id(device), &count));
  TRY(wia_get_extension_info(core_id(device), 0, &info));
  TRY(wia_query_extension(core_id(device), "test::nothing", "1.4", &table));
  CHECK_STATUS(wia_query_extension(core_id(device), "test::other", "1.0", &table),
               WIA_STATUS_UNIMPLEMENTED);
  return status;
}

static const scenario_t scenarios[] = {
    {"graphs", run_graphs, PLAIN | 1 << CORE_QUEUED},
    {"pool", run_pool, ALL},
    {"allocator", run_allocator, ALL},
    {"validate", run_validate, PLAIN | 1 << CORE_QUEUED},
    {"trace", run_trace, PLAIN | 1 << CORE_QUEUED},
    {"custom operations", run_custom, ALL},
    {"gradients", run_gradients, PLAIN},
    {"extensions", run_extensions, PLAIN},
};

int main(void) {
  char trace[PATH_MAX];
  close(mkstemp(temporary_pattern("failing", trace, sizeof trace)));
  setenv("WIA_TRACE_FILE", trace, 0);
  setenv("WIA_PLAN_CACHE_SIZE", "4", 1);
  core_start();
  register_own();
  core_extend(CORE_PLAIN, "test::nothing", "1.4");
  fail_all(scenarios, sizeof scenarios / sizeof *scenarios);
  CHECK(given == 0);
  unlink(trace);
  return CHECK_DONE();
}
