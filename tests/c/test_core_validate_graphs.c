/* The layer validate on launches of graphs: to it a launch is one piece of work that uses what its nodes
 * use. On devices of every sort, with the library's graphs and the driver's own. Beside each check: the guard
 * without which it fails. */
#include "core_validate.h"

enum { MANY = 20 };

static void begin(void) {
  wia_capture_config_t config = WIA_CAPTURE_CONFIG_INIT;
  config.name = "decode";
  CHECK_STATUS(wia_begin_capture(three, &config), WIA_STATUS_OK);
}

static wia_executable_t *end(void) {
  wia_graph_t *graph = NULL;
  wia_executable_t *executable = NULL;
  CHECK_STATUS(wia_end_capture(three, &graph), WIA_STATUS_OK);
  CHECK_STATUS(wia_instantiate_graph(graph, NULL, &executable), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_graph(graph), WIA_STATUS_OK);
  return executable;
}

/* to = from + from, as a graph of one node. */
static wia_executable_t *graph_of(wia_tensor_t from, wia_tensor_t to) {
  begin();
  add(from, to, three);
  return end();
}

static void launch(wia_executable_t *executable, wia_stream_t *stream) {
  CHECK_STATUS(wia_launch_graph(executable, stream), WIA_STATUS_OK);
}

static void drop_graph(wia_executable_t *executable) {
  finish_all();
  CHECK_STATUS(wia_destroy_executable(executable), WIA_STATUS_OK);
}

/* -- what a launch uses -------------------------------------------------------------------------- */

static void test_hazards(void) {
  set_up();
  begin();
  add(a, b, three);
  add(b, c, three);
  wia_executable_t *executable = end();
  CHECK_NONE(); /* what is captured uses nothing yet */
  launch(executable, one);
  add(b, d, two); /* graph_uses.c, list_node */
  CHECK_RACE(READ_AFTER_WRITE, "writes its output 0 (node 0 of graph \"decode\")");
  finish_all();
  add(d, a, one);
  launch(executable, two);
  CHECK_RACE(READ_AFTER_WRITE,
             "reads its input 0 (node 0 of graph \"decode\") where add on stream");
  finish_all();
  add(c, d, one);
  launch(executable, two);
  CHECK_RACE(WRITE_AFTER_READ, "writes its output 0 (node 1 of graph \"decode\")");
  finish_all();
  launch(executable, one);
  add(a, d, two); /* both read */
  CHECK_NONE();
  add(c, c, one); /* one stream is in order */
  launch(executable, one);
  finish(one);
  add(b, d, two); /* the host has waited */
  CHECK_NONE();
  drop_graph(executable);
  tear_down();
}

/* A launch names the operation and the function that a program called. */
static void test_places(void) {
  set_up();
  wia_executable_t *executable = graph_of(a, b);
  launch(executable, one);
  CHECK_STATUS(wia_mul(context, b, b, c, two), WIA_STATUS_OK);
  const seen_t seen = see(wia_get_validation_report);
  CHECK(seen.count == 1);
  const wia_finding_t finding = finding_at(&seen, 0);
  CHECK(strcmp(finding.operation, "mul") == 0 && strcmp(finding.operation_2, "add") == 0);
  CHECK(strcmp(finding.function_2, "wia_launch_graph") == 0);
  CHECK(finding.size == COUNT * sizeof(float));
  drop(&seen);
  CHECK(count_findings() == 1);
  drop_graph(executable);
  tear_down();
}

/* More operands than any operation has: the last node's too. */
static void test_many_operands(void) {
  set_up();
  wia_tensor_t tensors[MANY + 1];
  for (uint32_t i = 0; i <= MANY; i++) tensors[i] = core_tensor(context, COUNT, 0);
  begin();
  for (uint32_t i = 0; i < MANY; i++)
    CHECK_STATUS(wia_add(context, tensors[i], a, tensors[i + 1], three), WIA_STATUS_OK);
  wia_executable_t *executable = end();
  launch(executable, one);
  add(tensors[MANY], b, two);
  CHECK_RACE(READ_AFTER_WRITE, "(node 19 of graph \"decode\")");
  finish_all();
  launch(executable, one);
  add(b, tensors[MANY / 2], two); /* one place is written, and read by the next node: told as one */
  CHECK_RACE(WRITE_AFTER_WRITE, "(node 9 of graph \"decode\")"); /* keep_one_of_each */
  drop_graph(executable);
  for (uint32_t i = 0; i <= MANY; i++) core_destroy(tensors[i]);
  tear_down();
}

static void test_transfers(void) {
  set_up();
  static float values[COUNT];
  begin();
  CHECK_STATUS(wia_write_tensor(a, values, sizeof values, three), WIA_STATUS_OK);
  wia_executable_t *executable = end();
  launch(executable, one);
  add(a, b, two);
  CHECK_RACE(READ_AFTER_WRITE, "writes its destination (node 0 of graph \"decode\")");
  finish_all();
  launch(executable, one);
  CHECK_STATUS(wia_read_tensor(b, values, sizeof values, two), WIA_STATUS_OK);
  CHECK_RACE(WRITE_AFTER_READ, "of the host from");
  drop_graph(executable);
  tear_down();
}

/* -- what orders --------------------------------------------------------------------------------- */

static void test_events(void) {
  set_up();
  wia_event_t *event = NULL;
  CHECK_STATUS(wia_create_event(&event, context), WIA_STATUS_OK);
  wia_executable_t *executable = graph_of(a, b);
  launch(executable, one);
  CHECK_STATUS(wia_record_event(event, one), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_wait(two, event), WIA_STATUS_OK);
  add(b, c, two);
  CHECK_NONE();
  finish_all();
  CHECK_STATUS(wia_reset_event(event), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_wait(two, event), WIA_STATUS_OK);
  launch(executable, two); /* held back */
  add(b, c, one);
  CHECK_STATUS(wia_record_event(event, one), WIA_STATUS_OK);
  add(b, d, one);
  CHECK_RACE(READ_AFTER_WRITE, "(node 0 of graph \"decode\")");
  drop_graph(executable);
  CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
  tear_down();
}

/* Launches of one executable never overlap, and those of two do. */
static void test_turns(void) {
  set_up();
  wia_executable_t *executable = graph_of(a, b), *other = graph_of(a, b);
  launch(executable, one);
  launch(executable, two); /* shadow.c, find_conflict: turns */
  CHECK_NONE();
  launch(other, two);
  CHECK_RACE(WRITE_AFTER_WRITE, "(node 0 of graph \"decode\")");
  drop_graph(executable);
  drop_graph(other);
  tear_down();
}

/* Without a stream it waits for what its nodes use. */
static void test_without_stream(void) {
  set_up();
  wia_executable_t *executable = graph_of(a, b);
  add(c, a, one);
  add(b, d, two);
  launch(executable, NULL); /* executable.c, launch_under: settle */
  add(b, c, one);
  finish(one);
  launch(executable, two);
  launch(executable, NULL);
  CHECK_NONE();
  drop_graph(executable);
  tear_down();
}

static void *launch_alone(void *executable) {
  launch(executable, NULL);
  return NULL;
}

static void test_threads(void) {
  set_up();
  begin();
  CHECK_STATUS(wia_relu(context, a, b, three), WIA_STATUS_OK); /* stands at the gate */
  wia_executable_t *executable = end();
  pthread_t thread;
  core_close_gate();
  CHECK(pthread_create(&thread, NULL, launch_alone, executable) == 0);
  CHECK(core_await_gate(1));
  add(a, c, one); /* both read */
  CHECK_NONE();
  add(c, b, one); /* executable.c, launch_under: begin_use */
  CHECK_RACE(WRITE_AFTER_WRITE, "two threads are in it at the same time");
  core_open_gate();
  pthread_join(thread, NULL);
  drop_graph(executable);
  tear_down();
}

static wia_status_t wait_for_two(void *unused, wia_status_t status, wia_error_t *error) {
  (void)unused, (void)error;
  if (!status) finish(two);
  return WIA_STATUS_OK;
}

/* What a host function of a graph orders isn't seen, so no node behind it is taken for a race. */
static void test_functions(void) {
  set_up();
  begin();
  add(a, b, three);
  CHECK_STATUS(wia_enqueue_host_function(three, wait_for_two, NULL), WIA_STATUS_OK);
  add(c, d, three);
  wia_executable_t *executable = end();
  add(a, c, two);
  launch(executable, one); /* graph_uses.c, list_program: the first function */
  finish_all();
  CHECK_NONE();
  core_close_gate();
  CHECK_STATUS(wia_relu(context, d, d, one), WIA_STATUS_OK);
  CHECK(core_await_gate(1)); /* the host knows what was before a function once that runs */
  launch(executable, one);
  add(b, c, two); /* and what stands before it is */
  CHECK(count_findings() != 0);
  core_open_gate();
  drop_graph(executable);
  tear_down();
}

/* -- what comes of it ---------------------------------------------------------------------------- */

static void configure(int32_t mode) {
  wia_validation_config_t config = WIA_VALIDATION_CONFIG_INIT;
  config.mode = mode;
  CHECK_STATUS(wia_configure_validation(&config), WIA_STATUS_OK);
}

static void test_errors(void) {
  set_up();
  wia_executable_t *executable = graph_of(a, b);
  configure(WIA_VALIDATION_ERROR);
  add(b, c, one);
  const uint32_t before = core.launches;
  CHECK_STATUS(wia_launch_graph(executable, two), WIA_STATUS_FAILED_PRECONDITION);
  CHECK_MESSAGE("race, write after read");
  finish_all();
  CHECK(core.launches <= before + 1); /* the add's, at most */
  launch(executable, two);
  configure(WIA_VALIDATION_REPORT);
  CHECK(count_findings() == 1);
  drop_graph(executable);
  tear_down();
}

static void test_twins(void) {
  set_up();
  const int64_t shape[] = {2, 2};
  wia_tensor_t square = core_empty(context, 2, shape);
  begin();
  CHECK_STATUS(wia_matmul(context, square, square, square, NULL, three), WIA_STATUS_OK);
  add(a, b, three);
  wia_executable_t *executable = end();
  CHECK_NONE();
  launch(executable, one); /* graph_uses.c, list_node: find_twins */
  CHECK(is_found(WIA_FINDING_OVERLAP, 0, "(node 0 of graph \"decode\") of matmul"));
  finish_all();
  configure(WIA_VALIDATION_ERROR);
  CHECK_STATUS(wia_launch_graph(executable, NULL), WIA_STATUS_FAILED_PRECONDITION);
  configure(WIA_VALIDATION_REPORT);
  CHECK(count_findings() == 1);
  drop_graph(executable);
  core_destroy(square);
  tear_down();
}

/* leak.c, add_object */
static void test_leaks(void) {
  set_up();
  wia_executable_t *executable = graph_of(a, b);
  const seen_t seen = see(wia_get_leak_report);
  bool found = false;
  for (uint64_t i = 0; i < seen.count; i++) {
    const wia_finding_t finding = finding_at(&seen, i);
    found |= !strcmp(finding.object, "executable") && finding.device_id == core_id(device) &&
             !strcmp(finding.function, "wia_instantiate_graph");
  }
  CHECK(found);
  drop(&seen);
  drop_graph(executable);
  tear_down();
}

static void run_tests(void) {
  for (int i = 0; i < 2; i++) {
    core.graph_status = i ? WIA_STATUS_OK : WIA_STATUS_UNIMPLEMENTED; /* the driver's graphs */
    test_hazards();
    test_places();
    test_many_operands();
    test_transfers();
    test_events();
    test_turns();
    test_without_stream();
    test_threads();
    test_functions();
    test_errors();
    test_twins();
    test_leaks();
  }
}

int main(void) { return run_on_all_sorts(run_tests); }
