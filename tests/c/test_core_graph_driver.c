/* Graphs that the driver takes as a whole: what is offered, launches, failures, updates. */
#include "core_driver.h"

static const int64_t LONG_NS = INT64_C(20000000000);

static uint32_t device;
static wia_context_t *context;
static wia_stream_t *stream;
static wia_tensor_t a, b, out; /* 1 ...; 5 ... */

static wia_status_t finish(void) { return wia_synchronize_stream(stream, LONG_NS); }

static void begin(void) { CHECK_STATUS(wia_begin_capture(stream, NULL), WIA_STATUS_OK); }

static wia_executable_t *instantiate(uint32_t own, uint32_t taken) {
  wia_graph_t *graph = NULL;
  wia_executable_t *executable = NULL;
  wia_instantiate_config_t config = WIA_INSTANTIATE_CONFIG_INIT;
  wia_executable_info_t info = WIA_EXECUTABLE_INFO_INIT;
  config.own = own;
  CHECK_STATUS(wia_end_capture(stream, &graph), WIA_STATUS_OK);
  CHECK_STATUS(wia_instantiate_graph(graph, &config, &executable), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_graph(graph), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_executable_info(executable, &info), WIA_STATUS_OK);
  CHECK(info.driver_graph == taken && core_live_graphs() == taken);
  return executable;
}

static void end(wia_executable_t *executable) {
  CHECK_STATUS(wia_destroy_executable(executable), WIA_STATUS_OK);
}

static void *address_of(wia_tensor_t tensor) {
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(tensor, &info), WIA_STATUS_OK);
  return (void *)(uintptr_t)info.address;
}

static void launch(wia_executable_t *executable, bool on_stream) {
  CHECK_STATUS(wia_launch_graph(executable, on_stream ? stream : NULL), WIA_STATUS_OK);
  if (on_stream) CHECK_STATUS(finish(), WIA_STATUS_OK);
}

/* A fill, a copy and kernels. */
static void capture(void) {
  static const float values[] = {1, 2, 3, 4};
  const uint32_t zero = 0;
  begin();
  CHECK_STATUS(wia_fill_memory(address_of(out), &zero, 4, 16, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_write_tensor(a, values, sizeof values, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, out, a, out, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, out, b, out, stream), WIA_STATUS_OK);
}

static void test_launches(void) {
  capture();
  wia_executable_t *executable = instantiate(0, 1);
  for (uint32_t i = 0; i < 6; i++) {
    core.graph_launches = 0;
    launch(executable, i % 2);
    CHECK(core.graph_launches == 1);
    CHECK(core_has(out, 6, 2));
  }
  end(executable);
  while (core_live_graphs()) usleep(100); /* the last launch may hold it a little longer */
  capture();
  end(instantiate(1, 0));
  core.graph_status = WIA_STATUS_UNIMPLEMENTED;
  capture();
  executable = instantiate(0, 0);
  launch(executable, true);
  CHECK(core_has(out, 6, 2));
  end(executable);
  core.graph_status = WIA_STATUS_OK;
}

static wia_status_t nothing(void *argument, wia_status_t status, wia_error_t *out_error) {
  (void)argument, (void)status, (void)out_error;
  return WIA_STATUS_OK;
}

/* What no driver is asked for, and one that answers with a failure. */
static void test_offers(void) {
  begin();
  CHECK_STATUS(wia_add(context, a, b, out, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_host_function(stream, nothing, NULL), WIA_STATUS_OK);
  end(instantiate(0, 0));
  begin();
  end(instantiate(0, 0));
  wia_graph_t *graph = NULL;
  wia_executable_t *executable = NULL;
  begin();
  CHECK_STATUS(wia_add(context, a, b, out, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_end_capture(stream, &graph), WIA_STATUS_OK);
  core.graph_status = WIA_STATUS_RESOURCE_EXHAUSTED;
  CHECK_STATUS(wia_instantiate_graph(graph, NULL, &executable), WIA_STATUS_RESOURCE_EXHAUSTED);
  CHECK_MESSAGE("the test wants no graph");
  core.graph_status = WIA_STATUS_OK;
  CHECK_STATUS(wia_destroy_graph(graph), WIA_STATUS_OK);
}

static void test_failures(void) {
  begin();
  CHECK_STATUS(wia_add(context, a, b, out, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_softmax(context, a, out, NULL, stream), WIA_STATUS_OK);
  wia_executable_t *executable = instantiate(0, 1);
  core.fail_message = "the unit is hot";
  core.fail_status = WIA_STATUS_ABORTED;
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_ABORTED);
  CHECK_MESSAGE("node 1 (softmax) of graph \"graph\"");
  CHECK_MESSAGE("the unit is hot");
  CHECK_STATUS(wia_launch_graph(executable, stream), WIA_STATUS_OK);
  CHECK_STATUS(finish(), WIA_STATUS_ABORTED);
  CHECK_MESSAGE("the unit is hot");
  core.fail_status = WIA_STATUS_OK;
  CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_OK);
  launch(executable, true);
  end(executable);
}

static void test_updates(void) {
  wia_tensor_t other = core_tensor(context, 4, 9);
  for (int32_t can = 1; can >= 0; can--) {
    core.graph_update_status = can ? WIA_STATUS_OK : WIA_STATUS_UNIMPLEMENTED;
    begin();
    CHECK_STATUS(wia_add(context, a, b, out, stream), WIA_STATUS_OK);
    wia_executable_t *executable = instantiate(0, 1);
    launch(executable, true);
    CHECK(core_has(out, 6, 2));
    CHECK_STATUS(wia_update_graph_operand(executable, 0, 1, other), WIA_STATUS_OK);
    for (uint32_t i = 0; i < 2; i++) {
      launch(executable, i);
      CHECK(core_has(out, 10, 2));
    }
    wia_executable_info_t info = WIA_EXECUTABLE_INFO_INIT;
    CHECK_STATUS(wia_get_executable_info(executable, &info), WIA_STATUS_OK);
    CHECK(info.driver_graph == 1);
    end(executable);
    while (core_live_graphs()) {
      wia_get_executable_info(NULL, &info); /* any call lets the library destroy what nobody uses */
      usleep(100);
    }
  }
  core.graph_update_status = WIA_STATUS_OK;
  CHECK(core.graph_updates);
  core_destroy(other);
}

int main(void) {
  static const uint32_t devices[] = {CORE_PLAIN, CORE_OPAQUE, CORE_SERIAL, CORE_QUEUED};
  core_start();
  core.graph_status = WIA_STATUS_OK;
  for (uint32_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    device = devices[i];
    context = core_context(device);
    CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
    a = core_tensor(context, 4, 1);
    b = core_tensor(context, 4, 5);
    out = core_tensor(context, 4, 0);
    test_launches();
    test_offers();
    test_failures();
    test_updates();
    core_destroy(a);
    core_destroy(b);
    core_destroy(out);
    CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
    CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  }
  CHECK_CLEAN();
  CHECK(core_live_graphs() == 0);
  return CHECK_DONE();
}
