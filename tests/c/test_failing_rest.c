/* Scenario 15 of what the other files leave: other ways to make objects, what can be asked, updates of
 * graphs, gradients of a program's own, a device's allocator, and the end. */
#include "failing_each.h"

static const int64_t shape8[] = {8};

static uint64_t address_of(wia_tensor_t tensor) {
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  return wia_get_tensor_info(tensor, &info) ? 0 : info.address;
}

/* -- made in other ways -------------------------------------------------------------------------- */

static wia_status_t make_others(void) {
  wia_status_t status = WIA_STATUS_OK;
  wia_stream_config_t low = WIA_STREAM_CONFIG_INIT;
  wia_memory_config_t pinned = WIA_MEMORY_CONFIG_INIT;
  wia_memory_info_t memory = WIA_MEMORY_INFO_INIT;
  wia_address_info_t place = WIA_ADDRESS_INFO_INIT;
  wia_stream_t *stream = NULL;
  wia_event_t *first = NULL, *second = NULL, *signalled = NULL;
  wia_tensor_t tensor = NULL;
  void *bytes = NULL;
  int32_t least = 0, state = 0;
  int64_t elapsed_ns = 0;
  uint32_t done = 0;
  pinned.kind = WIA_MEMORY_HOST_PINNED;
  TRY(wia_get_stream_priority_range(core_id(device), &least, &state));
  low.priority = least;
  TRY(wia_create_stream_with_config(&stream, context, &low));
  TRY(wia_create_event(&first, context));
  TRY(wia_create_event(&second, context));
  TRY(wia_create_event(&signalled, context));
  TRY(wia_allocate_memory(&bytes, 100, core_id(device), &pinned));
  TRY(wia_get_memory_info(core_id(device), WIA_MEMORY_HOST_PINNED, &memory));
  TRY(wia_query_address(bytes, &place));
  if (!status) CHECK(memory.live_count > 0 && place.size == 100);
  TRY(wia_allocate_tensor_async(context, shape8, 1, WIA_FLOAT32, stream, &tensor));
  TRY(wia_prefetch((void *)(uintptr_t)address_of(tensor), 32, WIA_PREFETCH_L1));
  TRY(wia_record_event(first, stream));
  TRY(wia_add(context, tensor, tensor, tensor, stream));
  TRY(wia_record_event(second, stream));
  TRY(wia_query_event(second, &state));
  TRY(wia_query_stream(stream, &done));
  TRY(wia_wait_event(second, WIA_TIMEOUT_INFINITE));
  TRY(wia_get_elapsed_time(first, second, &elapsed_ns));
  TRY(wia_signal_event(signalled, WIA_STATUS_ABORTED, "the program's words"));
  TRY(wia_reset_event(signalled));
  END(wia_destroy_tensor, tensor);
  END(wia_destroy_stream, stream);
  END(wia_destroy_event, first);
  END(wia_destroy_event, second);
  END(wia_destroy_event, signalled);
  END(wia_free, bytes);
  return status;
}

/* -- what can be asked --------------------------------------------------------------------------- */

static wia_status_t ask_device(void) {
  wia_status_t status = WIA_STATUS_OK;
  const wia_shape_t shapes[] = {{.dtype = WIA_FLOAT32, .rank = 1, .shape = {8}},
                                {.dtype = WIA_FLOAT32, .rank = 1, .shape = {8}}};
  wia_shape_t shape;
  wia_op_info_t op = WIA_OP_INFO_INIT;
  wia_context_info_t own = WIA_CONTEXT_INFO_INIT;
  wia_memory_pool_info_t pool = WIA_MEMORY_POOL_INFO_INIT;
  wia_plan_cache_stats_t cache = WIA_PLAN_CACHE_STATS_INIT;
  wia_link_info_t link = WIA_LINK_INFO_INIT;
  wia_op_t found = 0;
  wia_dtype_t dtype = 0;
  uint64_t dtypes = 0;
  uint32_t layers = 0;
  TRY(wia_find_op("add", &found));
  TRY(wia_find_dtype("float32", &dtype));
  TRY(wia_get_op_info(found, &op));
  TRY(wia_infer_outputs(found, shapes, 2, NULL, 0, &shape, 1));
  if (!status) CHECK(dtype == WIA_FLOAT32 && shape.rank == 1 && shape.shape[0] == 8);
  TRY(wia_get_context_info(context, &own));
  TRY(wia_get_memory_pool_info(context, &pool));
  TRY(wia_reset_memory_peaks(context));
  TRY(wia_get_plan_cache_stats(core_id(device), &cache));
  TRY(wia_get_layer_count(&layers));
  TRY(wia_get_link_info(core_id(device), core_id(CORE_OTHER), &link));
  if (device != CORE_QUEUED) TRY(wia_get_device_support(core_id(device), found, &dtypes));
  return status;
}

static wia_status_t run_views(void) {
  static int64_t length = 100; /* each time another shape, so that kernels are prepared */
  const int64_t shape[] = {++length};
  wia_status_t status = WIA_STATUS_OK;
  wia_tensor_t tensors[2] = {NULL};
  wia_view_t views[2];
  wia_plan_t *plan = NULL;
  wia_plan_info_t info = WIA_PLAN_INFO_INIT;
  for (uint32_t i = 0; i < 2; i++) {
    TRY(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &tensors[i]));
    views[i] = (wia_view_t){.shape = shape, .dtype = WIA_FLOAT32, .rank = 1};
    if (!status) views[i].address = address_of(tensors[i]);
  }
  wia_matmul_dims_t square = WIA_MATMUL_DIMS_INIT;
  square.dtype = WIA_FLOAT32;
  square.m = square.n = square.k = 3;
  TRY(wia_execute_views(context, WIA_OP_RELU, views, 1, views + 1, 1, NULL, 0, NULL));
  TRY(wia_matmul_strided(context, (void *)(uintptr_t)views[0].address,
                         (void *)(uintptr_t)views[0].address, (void *)(uintptr_t)views[1].address,
                         &square, NULL));
  TRY(wia_create_operation_plan(context, WIA_OP_RELU, tensors, 1, tensors + 1, 1, NULL, 0, &plan));
  TRY(wia_get_plan_info(plan, &info));
  END(wia_destroy_plan, plan);
  for (uint32_t i = 0; i < 2; i++) END(wia_destroy_tensor, tensors[i]);
  return status;
}

/* -- reports ------------------------------------------------------------------------------------- */

static void ignore(void *unused, const wia_finding_t *finding) { (void)unused, (void)finding; }

/* What there was no memory for counts as lost. */
static wia_status_t read_reports(void) {
  wia_status_t status = WIA_STATUS_OK;
  wia_validation_config_t told = WIA_VALIDATION_CONFIG_INIT;
  wia_profiling_session_t *session = NULL;
  wia_profiling_report_t *report = NULL;
  wia_profiling_report_info_t profile = WIA_PROFILING_REPORT_INFO_INIT;
  wia_profile_event_t event = WIA_PROFILE_EVENT_INIT;
  wia_validation_report_t *leaks = NULL;
  wia_validation_report_info_t info = WIA_VALIDATION_REPORT_INFO_INIT;
  wia_finding_t finding = WIA_FINDING_INIT;
  told.function = ignore;
  TRY(wia_configure_validation(&told));
  TRY(wia_get_leak_report(&leaks)); /* of the context, if of nothing else */
  TRY(wia_get_validation_report_info(leaks, &info));
  if (!status) CHECK(info.finding_count > 0 || info.lost_count > 0);
  if (info.finding_count) TRY(wia_get_finding(leaks, 0, &finding));
  TRY(wia_start_profiling(NULL, NULL, &session));
  TRY(wia_push_range("a range", 1));
  if (!status) CHECK_STATUS(wia_pop_range(), WIA_STATUS_OK);
  if (session && wia_stop_profiling(session, &report) == WIA_STATUS_OK) session = NULL;
  if (session) status = short_of;
  TRY(wia_get_profile_report_info(report, &profile));
  if (!status) CHECK(profile.event_count > 0 || profile.lost_count > 0);
  if (profile.event_count) TRY(wia_get_profile_event(report, 0, &event));
  END(wia_destroy_profiling_session, session);
  END(wia_destroy_profile_report, report);
  END(wia_destroy_validation_report, leaks);
  CHECK_STATUS(wia_configure_validation(NULL), WIA_STATUS_OK);
  return status;
}

/* -- graphs -------------------------------------------------------------------------------------- */

static _Atomic uint32_t calls;
static wia_status_t count_call(void *unused, wia_status_t status, wia_error_t *error) {
  (void)unused, (void)status, (void)error;
  calls++;
  return WIA_STATUS_OK;
}

static wia_status_t capture(wia_stream_t *stream, const wia_tensor_t *tensors, wia_graph_t **out) {
  const wia_scale_config_t config = WIA_SCALE_CONFIG_INIT;
  wia_status_t status = WIA_STATUS_OK;
  uint32_t capturing = 0;
  TRY(wia_begin_capture(stream, NULL));
  if (status) return status;
  TRY(wia_query_capture(stream, &capturing));
  CHECK(status || capturing);
  TRY(wia_scale(context, tensors[0], tensors[1], &config, stream));
  TRY(wia_enqueue_host_function(stream, count_call, NULL));
  if (!status) return wia_end_capture(stream, out);
  CHECK_STATUS(wia_cancel_capture(stream), WIA_STATUS_OK);
  return status;
}

static wia_status_t update_graphs(void) {
  wia_status_t status = WIA_STATUS_OK;
  wia_stream_t *stream = NULL;
  wia_tensor_t tensors[3] = {NULL};
  wia_graph_t *graph = NULL;
  wia_graph_info_t info = WIA_GRAPH_INFO_INIT;
  wia_graph_node_info_t node = WIA_GRAPH_NODE_INFO_INIT;
  wia_executable_t *executable = NULL;
  wia_executable_info_t executable_info = WIA_EXECUTABLE_INFO_INIT;
  const wia_scalar_t three = {.f64 = 3};
  uint32_t count = 0;
  TRY(wia_create_stream(&stream, context));
  for (uint32_t i = 0; i < 3; i++)
    TRY(wia_allocate_tensor(context, shape8, 1, WIA_FLOAT32, &tensors[i]));
  TRY(capture(stream, tensors, &graph));
  TRY(wia_get_graph_info(graph, &info));
  TRY(wia_get_graph_node(graph, 0, &node));
  TRY(wia_instantiate_graph(graph, NULL, &executable));
  TRY(wia_get_executable_info(executable, &executable_info));
  TRY(wia_update_graph_scalar(executable, 0, "factor", &three));
  TRY(wia_update_graph_function(executable, 1, count_call, NULL));
  if (!status)
    status = wia_update_graph_memory(executable, (void *)(uintptr_t)address_of(tensors[1]),
                                     (void *)(uintptr_t)address_of(tensors[2]), 32, &count);
  if (!status) CHECK(count == 1);
  TRY(wia_launch_graph(executable, stream));
  if (stream) (void)wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE);
  END(wia_destroy_executable, executable);
  END(wia_destroy_graph, graph);
  END(wia_destroy_stream, stream);
  for (uint32_t i = 0; i < 3; i++) END(wia_destroy_tensor, tensors[i]);
  return status;
}

/* -- gradients of a program's own ---------------------------------------------------------------- */

static wia_op_t cubed; /* y = x x x */

static wia_status_t infer_same(void *unused, const wia_infer_args_t *args, wia_shape_t *out_shapes,
                               wia_error_t *error) {
  (void)unused, (void)error;
  out_shapes[0] = args->inputs[0];
  return WIA_STATUS_OK;
}

/* 3 x x g */
static wia_status_t tell_gradient(void *unused, const wia_gradient_args_t *args,
                                  wia_gradient_builder_t *builder, uint32_t *out_gradients,
                                  wia_error_t *error) {
  static const double three = 3;
  const wia_attribute_t by = {
      .name = "factor", .data = &three, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .scalar = 1};
  wia_status_t status = WIA_STATUS_OK;
  uint32_t square = 0, product = 0;
  (void)unused, (void)args, (void)error;
  TRY(wia_add_gradient_node(builder, WIA_OP_MUL, (uint32_t[]){0, 0}, 2, NULL, 0, &square, NULL, 1));
  TRY(wia_add_gradient_node(builder, WIA_OP_MUL, (uint32_t[]){square, 2}, 2, NULL, 0, &product,
                            NULL, 1));
  TRY(wia_add_gradient_node(builder, WIA_OP_SCALE, &product, 1, &by, 1, out_gradients, NULL, 1));
  return status;
}

static void register_cubed(void) {
  static const wia_operand_definition_t x = {.name = "x"}, y = {.name = "y"};
  wia_op_definition_t definition = WIA_OP_DEFINITION_INIT;
  definition.name = "test::cubed";
  definition.infer = infer_same;
  definition.gradient = tell_gradient;
  definition.inputs = &x;
  definition.outputs = &y;
  definition.input_count = definition.output_count = 1;
  CHECK_STATUS(wia_register_op(&definition, &cubed), WIA_STATUS_OK);
}

static wia_status_t query_own_gradient(void) {
  const wia_tensor_layout_t layout = {
      .struct_size = sizeof layout, .dtype = WIA_FLOAT32, .rank = 1, .shape = shape8};
  const wia_tensor_layout_t *inputs[] = {&layout};
  wia_status_t status = WIA_STATUS_OK;
  wia_gradient_config_t config = WIA_GRADIENT_CONFIG_INIT;
  wia_gradient_info_t info = WIA_GRADIENT_INFO_INIT;
  wia_gradient_t *gradient = NULL;
  config.op = cubed;
  config.inputs = inputs;
  config.input_count = 1;
  TRY(wia_query_gradient(&config, &gradient));
  TRY(wia_get_gradient_info(gradient, &info));
  if (!status) CHECK(info.group->node_count == 3);
  END(wia_destroy_gradient, gradient);
  return status;
}

/* -- a device's allocator ------------------------------------------------------------------------ */

static _Atomic int64_t given; /* blocks that the allocator has not had back */

static void *give(void *unused, const wia_memory_request_t *request) {
  wia_memory_config_t config = WIA_MEMORY_CONFIG_INIT;
  void *memory = NULL;
  (void)unused;
  config.kind = request->kind;
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

static wia_status_t set_device_allocator(void) {
  wia_status_t status = WIA_STATUS_OK;
  wia_tensor_t tensor = NULL;
  void *memory = NULL;
  wia_allocator_t allocator = WIA_ALLOCATOR_INIT;
  allocator.allocate = give;
  allocator.free = take_back;
  TRY(wia_set_device_allocator(core_id(device), &allocator));
  TRY(wia_malloc(&memory, 100, core_id(device)));
  TRY(wia_allocate_tensor(context, shape8, 1, WIA_FLOAT32, &tensor));
  CHECK_STATUS(wia_set_device_allocator(core_id(device), NULL), WIA_STATUS_OK);
  END(wia_free, memory);
  END(wia_destroy_tensor, tensor);
  return status;
}

/* -- the end ------------------------------------------------------------------------------------- */

static wia_status_t shut_down(void) {
  wia_status_t status = WIA_STATUS_OK;
  wia_context_t *made = NULL;
  wia_stream_t *stream = NULL;
  wia_tensor_t tensor = NULL;
  TRY(wia_create_context(&made, core_id(device)));
  TRY(wia_create_stream(&stream, made));
  TRY(wia_allocate_tensor(made, shape8, 1, WIA_FLOAT32, &tensor));
  TRY(wia_add(made, tensor, tensor, tensor, stream));
  const wia_status_t ended = wia_shutdown(WIA_TIMEOUT_INFINITE);
  return status ? status : ended;
}

static void test_shutdown(void) {
  static const scenario_t scenario = {"shutdown", shut_down, PLAIN};
  core_start();
  device = CORE_PLAIN;
  fail_each(&scenario, false);
  fail_each(&scenario, true);
  CHECK_CLEAN();
}

static const scenario_t scenarios[] = {
    {"other objects", make_others, ALL},
    {"questions", ask_device, ALL},
    {"views", run_views, ALL},
    {"reports", read_reports, PLAIN},
    {"updates of graphs", update_graphs, ALL},
    {"own gradient", query_own_gradient, PLAIN},
    {"device allocator", set_device_allocator, ALL},
};

int main(void) {
  setenv("WIA_PLAN_CACHE_SIZE", "4", 1);
  RUN_ALONE(test_shutdown);
  core_start();
  register_cubed();
  fail_all(scenarios, sizeof scenarios / sizeof *scenarios);
  CHECK(given == 0);
  return CHECK_DONE();
}
