/* Graphs: capture, launch, branches, failures, on devices of every sort. */
#include "core_graph.h"

/* -- capture and launch -------------------------------------------------------------------------- */

/* Every kind of node, run several times, without a stream and on one. */
static void test_kinds(void) {
  static const float values[] = {10, 20, 30, 40};
  static float host[4];
  const uint32_t pattern = 0;
  wia_stream_t *stream = make_stream();
  wia_tensor_t a = core_tensor(context, 4, 5), sum = core_tensor(context, 4, 5);
  CHECK_STATUS(wia_push_range("layer 1", 7), WIA_STATUS_OK);
  begin(stream, "kinds");
  CHECK_STATUS(wia_fill_memory(address_of(sum), &pattern, 4, 16, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_write_tensor(a, values, sizeof values, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, a, one, sum, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, sum, one, sum, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_host_function(stream, count_call, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_pop_range(), WIA_STATUS_OK);
  CHECK_STATUS(wia_read_tensor(sum, host, sizeof host, stream), WIA_STATUS_OK);
  wia_graph_t *graph = end(stream);
  CHECK(core_has(sum, 5, 1)); /* nothing ran */
  CHECK(calls == 0);
  wia_graph_info_t info = WIA_GRAPH_INFO_INIT;
  CHECK_STATUS(wia_get_graph_info(graph, &info), WIA_STATUS_OK);
  CHECK(info.node_count == 6 && info.edge_count == 5 && info.branch_count == 1);
  CHECK(strcmp(info.name, "kinds") == 0 && info.device_id == core_id(device));
  wia_graph_node_info_t node = WIA_GRAPH_NODE_INFO_INIT;
  CHECK_STATUS(wia_get_graph_node(graph, 2, &node), WIA_STATUS_OK);
  CHECK(node.kind == WIA_GRAPH_KERNEL && node.input_count == 2 && node.output_count == 1);
  CHECK(strcmp(node.name, "add") == 0 && strcmp(node.label, "layer 1") == 0);
  CHECK(node.dependency_count == 1 && node.dependencies[0] == 1);
  CHECK(node.operands[2].address == (uint64_t)(uintptr_t)address_of(sum));
  CHECK(node.operands[2].rank == 1 && node.operands[2].dtype == WIA_FLOAT32);
  CHECK_STATUS(wia_get_graph_node(graph, 5, &node), WIA_STATUS_OK);
  CHECK(node.kind == WIA_GRAPH_COPY && node.size == 16 && node.label[0] == '\0');
  CHECK_STATUS(wia_get_graph_node(graph, 6, &node), WIA_STATUS_OUT_OF_RANGE);
  const char *dot = NULL;
  CHECK_STATUS(wia_get_graph_dot(graph, &dot), WIA_STATUS_OK);
  CHECK_TEXT(dot, "digraph \"kinds\"");
  CHECK_TEXT(dot, "n1 -> n2");
  CHECK_TEXT(dot, "2: add\\nlayer 1\\nfloat32 [4]");
  wia_executable_t *executable = instantiate(graph, WIA_BRANCHES_AUTO);
  for (uint32_t i = 0; i < 4; i++) {
    CHECK_STATUS(wia_launch_graph(executable, i % 2 ? stream : NULL), WIA_STATUS_OK);
    if (i % 2) CHECK_STATUS(finish(stream), WIA_STATUS_OK);
    CHECK(core_has(sum, 12, 10));
    CHECK(host[0] == 12 && host[3] == 42 && calls == i + 1);
  }
  calls = 0;
  CHECK_STATUS(wia_destroy_executable(executable), WIA_STATUS_OK);
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_INVALID_HANDLE);
  core_destroy(a);
  core_destroy(sum);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

static void test_empty(void) {
  wia_stream_t *stream = make_stream();
  begin(stream, NULL);
  wia_executable_t *executable = instantiate(end(stream), WIA_BRANCHES_PARALLEL);
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_launch_graph(executable, stream), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_executable(executable), WIA_STATUS_OK);
  /* operands without an element: a node, and nothing to do */
  wia_tensor_t none = core_empty(context, 1, (const int64_t[]){0});
  begin(stream, NULL);
  CHECK_STATUS(wia_add(context, none, none, none, stream), WIA_STATUS_OK);
  executable = instantiate(end(stream), WIA_BRANCHES_AUTO);
  const uint32_t launches = core.launches;
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_launch_graph(executable, stream), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK(core.launches == launches);
  CHECK_STATUS(wia_destroy_executable(executable), WIA_STATUS_OK);
  core_destroy(none);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

/* What would wait for captured work is refused, and leaves the capture as it was. */
static void test_refusals(void) {
  wia_stream_t *stream = make_stream(), *other = make_stream();
  wia_event_t *event = make_event(), *outside = make_event();
  wia_tensor_t out = core_tensor(context, 4, 3);
  wia_graph_t *graph = NULL;
  float host[4];
  uint32_t flag = 7;
  int32_t state = 0;
  int64_t elapsed = 0;
  CHECK_STATUS(wia_end_capture(stream, &graph), WIA_STATUS_FAILED_PRECONDITION);
  CHECK_STATUS(wia_cancel_capture(stream), WIA_STATUS_FAILED_PRECONDITION);
  CHECK_STATUS(wia_query_capture(stream, &flag), WIA_STATUS_OK);
  CHECK(flag == 0);
  CHECK_STATUS(wia_record_event(outside, other), WIA_STATUS_OK);
  begin(stream, "refusals");
  CHECK_STATUS(wia_query_capture(stream, &flag), WIA_STATUS_OK);
  CHECK(flag == 1);
  CHECK_STATUS(wia_begin_capture(stream, NULL), WIA_STATUS_FAILED_PRECONDITION);
  CHECK_STATUS(wia_add(context, one, one, out, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(event, stream), WIA_STATUS_OK);
  const wia_status_t no = WIA_STATUS_FAILED_PRECONDITION;
  CHECK_STATUS(wia_synchronize_stream(stream, LONG_NS), no);
  CHECK_STATUS(wia_query_stream(stream, &flag), no);
  CHECK_STATUS(wia_reset_stream(stream), no);
  CHECK_STATUS(wia_cancel_stream(stream), no);
  CHECK_STATUS(wia_wait_event(event, LONG_NS), no);
  CHECK_STATUS(wia_query_event(event, &state), no);
  CHECK_STATUS(wia_get_elapsed_time(event, outside, &elapsed), no);
  CHECK_STATUS(wia_read_tensor(out, host, sizeof host, NULL), no);
  CHECK_MESSAGE("wia_end_capture");
  CHECK_STATUS(wia_write_tensor(out, host, sizeof host, NULL), no);
  CHECK_STATUS(wia_add(context, one, out, out, NULL), no);
  CHECK_STATUS(wia_enqueue_wait(stream, outside), no);
  CHECK_MESSAGE("not recorded in the capture");
  /* what has nothing to do with it goes on */
  wia_tensor_t apart = core_tensor(context, 4, 3);
  CHECK_STATUS(wia_add(context, apart, apart, apart, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, apart, apart, apart, other), WIA_STATUS_OK);
  CHECK_STATUS(finish(other), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_device(core_id(device), LONG_NS), WIA_STATUS_OK);
  wia_address_info_t address = WIA_ADDRESS_INFO_INIT;
  CHECK_STATUS(wia_query_address(address_of(out), &address), WIA_STATUS_OK);
  CHECK(address.pending == 0);
  graph = end(stream);
  wia_graph_info_t info = WIA_GRAPH_INFO_INIT;
  CHECK_STATUS(wia_get_graph_info(graph, &info), WIA_STATUS_OK);
  CHECK(info.node_count == 1);
  CHECK(core_has(out, 3, 1)); /* the memory is free again */
  CHECK_STATUS(wia_query_event(event, &state), no);
  CHECK_STATUS(wia_enqueue_wait(other, event), no); /* its capture has ended */
  CHECK_STATUS(wia_record_event(event, other), WIA_STATUS_OK);
  CHECK_STATUS(wia_wait_event(event, LONG_NS), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_graph(graph), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_event(outside), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(other), WIA_STATUS_OK);
  core_destroy(out);
  core_destroy(apart);
}

/* A capture that is dropped, and one whose stream is. */
static void test_cancel(void) {
  wia_stream_t *stream = make_stream(), *second = make_stream();
  wia_event_t *event = make_event();
  wia_tensor_t out = core_tensor(context, 4, 3);
  uint32_t flag = 7;
  begin(stream, NULL);
  CHECK_STATUS(wia_add(context, one, one, out, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(event, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_wait(second, event), WIA_STATUS_OK);
  CHECK_STATUS(wia_cancel_capture(second), WIA_STATUS_FAILED_PRECONDITION);
  CHECK_STATUS(wia_cancel_capture(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_query_capture(second, &flag), WIA_STATUS_OK);
  CHECK(flag == 0);
  CHECK_STATUS(wia_add(context, one, one, out, second), WIA_STATUS_OK); /* this runs */
  CHECK_STATUS(finish(second), WIA_STATUS_OK);
  CHECK(core_has(out, 2, 0));
  begin(stream, NULL);
  CHECK_STATUS(wia_record_event(event, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_wait(second, event), WIA_STATUS_OK);
  CHECK_STATUS(wia_sub(context, one, one, out, second), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, one, one, out, second), WIA_STATUS_OK);
  CHECK_STATUS(finish(second), WIA_STATUS_OK);
  CHECK(core_has(out, 2, 0));
  CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(second), WIA_STATUS_OK);
  core_destroy(out);
}

/* -- branches ------------------------------------------------------------------------------------ */

static void test_branches(void) {
  wia_stream_t *first = make_stream(), *second = make_stream(), *third = make_stream();
  wia_event_t *fork = make_event(), *join = make_event();
  wia_tensor_t a = core_tensor(context, 4, 0), b = core_tensor(context, 4, 0);
  wia_tensor_t c = core_tensor(context, 4, 0);
  wia_graph_t *graph = NULL;
  for (int32_t mode = WIA_BRANCHES_AUTO; mode <= WIA_BRANCHES_PARALLEL; mode++) {
    begin(first, "branches");
    CHECK_STATUS(wia_add(context, one, one, a, first), WIA_STATUS_OK); /* 2 */
    CHECK_STATUS(wia_record_event(fork, first), WIA_STATUS_OK);
    CHECK_STATUS(wia_enqueue_wait(second, fork), WIA_STATUS_OK);
    CHECK_STATUS(wia_add(context, a, one, b, second), WIA_STATUS_OK); /* 3 */
    CHECK_STATUS(wia_add(context, a, a, c, first), WIA_STATUS_OK);    /* 4 */
    CHECK_STATUS(wia_end_capture(second, &graph), WIA_STATUS_FAILED_PRECONDITION);
    CHECK_MESSAGE("only joined");
    CHECK_STATUS(wia_end_capture(first, &graph), WIA_STATUS_FAILED_PRECONDITION);
    CHECK_MESSAGE("doesn't wait for node 1 (add) of graph \"branches\", which branch 1");
    CHECK_STATUS(wia_record_event(join, second), WIA_STATUS_OK);
    CHECK_STATUS(wia_enqueue_wait(first, join), WIA_STATUS_OK);
    CHECK_STATUS(wia_add(context, b, c, a, first), WIA_STATUS_OK); /* 7 */
    begin(third, "another");
    CHECK_STATUS(wia_enqueue_wait(third, join), WIA_STATUS_FAILED_PRECONDITION);
    CHECK_STATUS(wia_cancel_capture(third), WIA_STATUS_OK);
    graph = end(first);
    wia_graph_info_t info = WIA_GRAPH_INFO_INIT;
    CHECK_STATUS(wia_get_graph_info(graph, &info), WIA_STATUS_OK);
    CHECK(info.node_count == 4 && info.edge_count == 4 && info.branch_count == 2);
    wia_executable_t *executable = instantiate(graph, mode);
    wia_executable_info_t made = WIA_EXECUTABLE_INFO_INIT;
    CHECK_STATUS(wia_get_executable_info(executable, &made), WIA_STATUS_OK);
    const bool can = mode == WIA_BRANCHES_PARALLEL && device != CORE_SERIAL && device < CORE_QUEUED;
    CHECK(made.branch_count == (can ? 2 : 1) && made.node_count == 4);
    for (uint32_t i = 0; i < 20; i++) {
      CHECK_STATUS(wia_launch_graph(executable, i % 2 ? third : NULL), WIA_STATUS_OK);
      CHECK(core_has(a, 7, 0));
      CHECK_STATUS(wia_sub(context, a, a, a, NULL), WIA_STATUS_OK);
    }
    CHECK_STATUS(wia_destroy_executable(executable), WIA_STATUS_OK);
  }
  const wia_tensor_t all[] = {a, b, c};
  for (uint32_t i = 0; i < 3; i++) core_destroy(all[i]);
  CHECK_STATUS(wia_destroy_event(fork), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_event(join), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(first), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(second), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(third), WIA_STATUS_OK);
}

/* The nodes of a graph that is launched on a stream that captures are captured. */
static void test_nested(void) {
  wia_stream_t *stream = make_stream();
  wia_tensor_t a = core_tensor(context, 4, 0);
  begin(stream, "inner");
  CHECK_STATUS(wia_add(context, a, one, a, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, a, one, a, stream), WIA_STATUS_OK);
  wia_executable_t *inner = instantiate(end(stream), WIA_BRANCHES_AUTO);
  begin(stream, "outer");
  CHECK_STATUS(wia_launch_graph(inner, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, a, a, a, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_launch_graph(inner, stream), WIA_STATUS_OK);
  wia_graph_t *graph = end(stream);
  wia_graph_info_t info = WIA_GRAPH_INFO_INIT;
  CHECK_STATUS(wia_get_graph_info(graph, &info), WIA_STATUS_OK);
  CHECK(info.node_count == 5 && info.edge_count == 4);
  wia_executable_t *outer = instantiate(graph, WIA_BRANCHES_AUTO);
  CHECK_STATUS(wia_launch_graph(outer, stream), WIA_STATUS_OK);
  CHECK(core_has(a, 6, 2));
  CHECK_STATUS(wia_destroy_executable(inner), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_executable(outer), WIA_STATUS_OK);
  core_destroy(a);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

/* -- failures ------------------------------------------------------------------------------------ */

static void test_failures(void) {
  wia_stream_t *stream = make_stream();
  wia_tensor_t a = core_tensor(context, 4, 0), b = core_tensor(context, 4, 9);
  begin(stream, "decode");
  CHECK_STATUS(wia_add(context, a, one, a, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_push_range("block 2", 1), WIA_STATUS_OK);
  CHECK_STATUS(wia_softmax(context, a, b, NULL, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_pop_range(), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, a, one, b, stream), WIA_STATUS_OK);
  wia_executable_t *executable = instantiate(end(stream), WIA_BRANCHES_AUTO);
  core.fail_message = "the unit is hot";
  core.fail_status = WIA_STATUS_ABORTED;
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_ABORTED);
  CHECK_MESSAGE("node 1 (block 2, softmax) of graph \"decode\"");
  CHECK_MESSAGE("the unit is hot");
  CHECK_STATUS(wia_launch_graph(executable, stream), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_ABORTED);
  CHECK_MESSAGE("node 1 (block 2, softmax) of graph \"decode\"");
  CHECK_MESSAGE("the unit is hot");
  CHECK_STATUS(wia_launch_graph(executable, stream), WIA_STATUS_ABORTED); /* as any work */
  core.fail_status = WIA_STATUS_OK;
  CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_launch_graph(executable, stream), WIA_STATUS_OK); /* it is none the worse */
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  core.chatter = "said and forgotten";
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_OK);
  core.chatter = NULL;
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_executable(executable), WIA_STATUS_OK);
  core_destroy(a);
  core_destroy(b);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

static wia_status_t launch_itself(void *argument, wia_status_t status, wia_error_t *out_error) {
  (void)out_error;
  return status ? status : wia_launch_graph(*(wia_executable_t **)argument, NULL);
}

static void test_recursion(void) {
  static wia_executable_t *executable;
  if (device >= CORE_QUEUED) return; /* there its node runs as one of the stream's */
  wia_stream_t *stream = make_stream();
  begin(stream, "itself");
  CHECK_STATUS(wia_enqueue_host_function(stream, launch_itself, &executable), WIA_STATUS_OK);
  executable = instantiate(end(stream), WIA_BRANCHES_AUTO);
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_FAILED_PRECONDITION);
  CHECK_MESSAGE("node 0 (host function) of graph \"itself\"");
  CHECK_STATUS(wia_launch_graph(executable, stream), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_FAILED_PRECONDITION);
  CHECK_STATUS(wia_destroy_executable(executable), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

static void run_tests(void) {
  test_kinds();
  test_empty();
  test_refusals();
  test_cancel();
  test_branches();
  test_nested();
  test_failures();
  test_recursion();
}

int main(void) { return run_on_all_devices(run_tests); }
