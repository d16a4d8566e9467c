/* Graphs: the memory that they use, and updates of what they do, on devices of every sort. */
#include "core_graph.h"

/* -- memory -------------------------------------------------------------------------------------- */

static void test_memory(void) {
  wia_stream_t *stream = make_stream();
  const int64_t shape[] = {4};
  wia_tensor_t out = core_tensor(context, 4, 0), wrapped = NULL, own = core_tensor(context, 4, 1);
  void *memory = NULL, *other = NULL;
  CHECK_STATUS(wia_malloc(&memory, 16, core_id(device)), WIA_STATUS_OK);
  CHECK_STATUS(wia_wrap_tensor(context, memory, shape, NULL, 1, WIA_FLOAT32, &wrapped),
               WIA_STATUS_OK);
  const float values[] = {4, 5, 6, 7};
  CHECK_STATUS(wia_write_tensor(wrapped, values, sizeof values, NULL), WIA_STATUS_OK);
  begin(stream, "memory");
  CHECK_STATUS(wia_add(context, wrapped, own, out, stream), WIA_STATUS_OK);
  wia_executable_t *executable = instantiate(end(stream), WIA_BRANCHES_AUTO);
  core_destroy(own); /* the graph keeps it */
  core_destroy(wrapped);
  CHECK_STATUS(wia_launch_graph(executable, stream), WIA_STATUS_OK);
  CHECK(core_has(out, 5, 2));
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_INVALID_HANDLE);
  CHECK_MESSAGE("node 0 (add) of graph \"memory\"");
  CHECK_STATUS(wia_launch_graph(executable, stream), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_malloc(&other, 32, core_id(device)), WIA_STATUS_OK);
  CHECK_STATUS(wia_copy_host_to_device((char *)other + 16, values, 16, NULL), WIA_STATUS_OK);
  uint32_t count = 0;
  CHECK_STATUS(wia_update_graph_memory(executable, memory, (char *)other + 16, 16, &count),
               WIA_STATUS_OK);
  CHECK(count == 1);
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_OK);
  CHECK(core_has(out, 5, 2));
  CHECK_STATUS(wia_launch_graph(executable, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(other), WIA_STATUS_OK); /* work in flight has it still */
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_executable(executable), WIA_STATUS_OK);
  core_destroy(out);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

/* A call without a stream waits for a launch in flight, and a launch without one for work in
 * flight. */
static void test_pending(void) {
  wia_stream_t *stream = make_stream();
  wia_tensor_t a = core_tensor(context, 4, 0), b = core_tensor(context, 4, 0);
  begin(stream, NULL);
  CHECK_STATUS(wia_relu(context, a, b, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, b, one, b, stream), WIA_STATUS_OK);
  wia_executable_t *executable = instantiate(end(stream), WIA_BRANCHES_AUTO);
  core.launch_delay_us = 2000;
  for (uint32_t i = 0; i < 5; i++) {
    CHECK_STATUS(wia_add(context, a, one, a, stream), WIA_STATUS_OK);
    CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_OK);
    CHECK(core_has(b, (float)i * 2 + 2, 1));
    CHECK_STATUS(wia_add(context, a, one, a, stream), WIA_STATUS_OK);
    CHECK_STATUS(wia_launch_graph(executable, stream), WIA_STATUS_OK);
    CHECK(core_has(b, (float)i * 2 + 3, 1));
  }
  core.launch_delay_us = 0;
  CHECK_STATUS(wia_destroy_executable(executable), WIA_STATUS_OK);
  core_destroy(a);
  core_destroy(b);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

static void test_workspace(void) {
  wia_stream_t *stream = make_stream(), *other = make_stream();
  core.workspace_size = 64; /* no other test divides, so these kernels are new */
  wia_tensor_t a = core_tensor(context, 5, 2), b = core_tensor(context, 5, 2);
  begin(stream, NULL);
  CHECK_STATUS(wia_div(context, a, a, b, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_div(context, a, b, b, stream), WIA_STATUS_OK);
  wia_executable_t *executable = instantiate(end(stream), WIA_BRANCHES_AUTO);
  core.workspace_size = 0;
  for (uint32_t i = 0; i < 10; i++) {
    CHECK_STATUS(wia_launch_graph(executable, i % 2 ? stream : other), WIA_STATUS_OK);
  }
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_OK);
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK_STATUS(finish(other), WIA_STATUS_OK);
  CHECK(core_has(b, 2, 1));
  CHECK_STATUS(wia_destroy_executable(executable), WIA_STATUS_OK);
  core_destroy(a);
  core_destroy(b);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(other), WIA_STATUS_OK);
}

/* -- updates ------------------------------------------------------------------------------------- */

static void test_updates(void) {
  static const uint32_t ten = 10;
  wia_stream_t *stream = make_stream();
  wia_tensor_t a = core_tensor(context, 4, 1), b = core_tensor(context, 4, 5);
  wia_tensor_t out = core_tensor(context, 4, 0), other = core_tensor(context, 4, 0);
  wia_tensor_t longer = core_tensor(context, 5, 0);
  wia_scale_config_t config = WIA_SCALE_CONFIG_INIT;
  config.factor = 2;
  begin(stream, "updates");
  CHECK_STATUS(wia_scale(context, a, out, &config, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, out, a, out, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_host_function(stream, count_call, NULL), WIA_STATUS_OK);
  wia_executable_t *executable = instantiate(end(stream), WIA_BRANCHES_AUTO);
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_OK);
  CHECK(core_has(out, 3, 3));
  /* what doesn't fit changes nothing */
  const wia_status_t invalid = WIA_STATUS_INVALID_ARGUMENT;
  const wia_scalar_t three = {.f64 = 3};
  uint32_t count = 0;
  CHECK_STATUS(wia_update_graph_operand(executable, 0, 0, longer), invalid);
  CHECK_MESSAGE("node 0 (scale) of graph \"updates\": operand 0 is float32 [5]; expected");
  CHECK_STATUS(wia_update_graph_operand(executable, 1, 0, a), invalid); /* it was the output */
  CHECK_STATUS(wia_update_graph_operand(executable, 1, 2, other), invalid);
  CHECK_MESSAGE("other inputs");
  CHECK_STATUS(wia_update_graph_operand(executable, 2, 0, a), invalid);
  CHECK_STATUS(wia_update_graph_operand(executable, 0, 2, a), WIA_STATUS_OUT_OF_RANGE);
  CHECK_STATUS(wia_update_graph_operand(executable, 9, 0, a), WIA_STATUS_OUT_OF_RANGE);
  CHECK_STATUS(wia_update_graph_scalar(executable, 0, "alpha", &three), WIA_STATUS_NOT_FOUND);
  CHECK_MESSAGE("it has factor");
  CHECK_STATUS(wia_update_graph_tensor(executable, a, longer, &count), invalid);
  CHECK_STATUS(wia_update_graph_tensor(executable, b, a, &count), WIA_STATUS_NOT_FOUND);
  CHECK_STATUS(
      wia_update_graph_memory(executable, (char *)address_of(a) + 4, address_of(b), 8, &count),
      invalid);
  CHECK_STATUS(wia_update_graph_function(executable, 0, count_call, NULL), invalid);
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_OK);
  CHECK(core_has(out, 3, 3));
  /* what does */
  calls = 0;
  CHECK_STATUS(wia_update_graph_scalar(executable, 0, "factor", &three), WIA_STATUS_OK);
  CHECK_STATUS(wia_update_graph_function(executable, 2, count_call, (void *)(uintptr_t)&ten),
               WIA_STATUS_OK);
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_OK);
  CHECK(core_has(out, 4, 4));
  CHECK(calls == 10);
  CHECK_STATUS(wia_update_graph_tensor(executable, a, b, &count), WIA_STATUS_OK);
  CHECK(count == 2);
  CHECK_STATUS(wia_update_graph_tensor(executable, out, other, &count), WIA_STATUS_OK);
  CHECK(count == 3);
  /* launches that are enqueued keep what they had */
  core_close_gate();
  wia_tensor_t gate = core_tensor(context, 4, 0);
  CHECK_STATUS(wia_relu(context, one, gate, stream), WIA_STATUS_OK);
  CHECK(core_await_gate(1));
  CHECK_STATUS(wia_launch_graph(executable, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_update_graph_operand(executable, 1, 1, a), WIA_STATUS_OK);
  core_open_gate();
  CHECK(core_has(other, 20, 4)); /* 3 b + b */
  CHECK_STATUS(wia_launch_graph(executable, stream), WIA_STATUS_OK);
  CHECK(core_has(other, 16, 4)); /* 3 b + a */
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  calls = 0;
  const wia_tensor_t all[] = {a, b, out, other, longer, gate};
  for (uint32_t i = 0; i < 6; i++) core_destroy(all[i]);
  CHECK_STATUS(wia_destroy_executable(executable), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

static void test_replace(void) {
  wia_stream_t *stream = make_stream();
  wia_tensor_t a = core_tensor(context, 4, 1), out = core_tensor(context, 4, 0);
  begin(stream, "first");
  CHECK_STATUS(wia_add(context, a, one, out, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, out, one, out, stream), WIA_STATUS_OK);
  wia_executable_t *executable = instantiate(end(stream), WIA_BRANCHES_AUTO);
  begin(stream, "second");
  CHECK_STATUS(wia_sub(context, a, one, out, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_mul(context, out, a, out, stream), WIA_STATUS_OK);
  wia_graph_t *second = end(stream);
  begin(stream, "third");
  CHECK_STATUS(wia_sub(context, a, one, out, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_host_function(stream, count_call, NULL), WIA_STATUS_OK);
  wia_graph_t *third = end(stream);
  CHECK_STATUS(wia_update_graph(executable, third), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("node 1 (host function) of graph \"third\" has another kind");
  CHECK_STATUS(wia_launch_graph(executable, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_update_graph(executable, second), WIA_STATUS_OK);
  CHECK(core_has(out, 3, 1));
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_OK);
  float values[4];
  CHECK_STATUS(wia_read_tensor(out, values, sizeof values, NULL), WIA_STATUS_OK);
  CHECK(values[0] == 0 && values[1] == 2 && values[3] == 12);
  CHECK_STATUS(wia_destroy_graph(second), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_graph(third), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_executable(executable), WIA_STATUS_OK);
  core_destroy(a);
  core_destroy(out);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

static void run_tests(void) {
  test_memory();
  test_pending();
  test_workspace();
  test_updates();
  test_replace();
}

int main(void) { return run_on_all_devices(run_tests); }
