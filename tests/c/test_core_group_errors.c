/* Groups: outputs that are inputs, and what fails. */
#include "core_group.h"

/* -- outputs that are inputs --------------------------------------------------------------------- */

static void test_aliases(void) {
  wia_tensor_t a = core_tensor(context, 7, 0), b = core_tensor(context, 7, 1);
  const wia_tensor_layout_t *layout = groups_layout(a);
  groups_t g;
  /* b = relu(a + b) * a, where the last node doesn't read b: its kernel need not work in place */
  const groups_node_t late[] = {
      {ADD, {0, 1, NONE}, 2}, {RELU, {2, NONE, NONE}, 3}, {MUL, {3, 0, NONE}, 4}, {0}};
  groups_build(&g, layout, 2, late);
  g.values[4].alias = 1;
  core.kernel_flags = WIA_KERNEL_THREAD_SAFE;
  wia_plan_t *plan = make(&g);
  core.kernel_flags |= WIA_KERNEL_IN_PLACE;
  EXECUTE(plan, NULL, a, b, b); /* (2 i + 1) i */
  float values[7];
  CHECK_STATUS(wia_read_tensor(b, values, sizeof values, NULL), WIA_STATUS_OK);
  for (uint32_t i = 0; i < 7; i++) CHECK(values[i] == (float)((2 * i + 1) * i));
  /* a is read when b, which is the same tensor, is written */
  CHECK_STATUS(wia_execute_plan(plan, (wia_tensor_t[]){b, b, b}, 3, NULL, 0, NULL), bad);
  destroy(plan);
  g.values[4].alias = 0;
  plan = make(&g);
  EXECUTE(plan, NULL, a, b, a);
  CHECK_STATUS(wia_execute_plan(plan, (wia_tensor_t[]){a, b, b}, 3, NULL, 0, NULL), bad);
  EXECUTE(plan, NULL, b, b, b); /* value 1 is read early */
  destroy(plan);
  /* b is written before it is read for the last time */
  const groups_node_t early[] = {
      {RELU, {0, NONE, NONE}, 2}, {ADD, {2, 1, NONE}, 3}, {RELU, {3, NONE, NONE}, 4}, {0}};
  groups_build(&g, layout, 2, early);
  g.outputs[0] = 2;
  g.outputs[1] = 4;
  g.group.output_count = 2;
  g.values[2].alias = 1;
  check_refused(&g, WIA_STATUS_UNIMPLEMENTED, "output 0 of a group is its input 1, which node 1");
  /* value 0 is written early in its own place; value 1 may be the same tensor, and is read later */
  g.values[2].alias = 0;
  plan = make(&g);
  wia_tensor_t out = core_tensor(context, 7, 0);
  EXECUTE(plan, NULL, a, b, a, out);
  CHECK_STATUS(wia_execute_plan(plan, (wia_tensor_t[]){a, a, a, out}, 4, NULL, 0, NULL), bad);
  CHECK_MESSAGE("input 1 is the same tensor as output 0");
  destroy(plan);
  const wia_tensor_t all[] = {a, b, out};
  for (uint32_t i = 0; i < 3; i++) core_destroy(all[i]);
}

/* -- errors -------------------------------------------------------------------------------------- */

static void test_failures(void) {
  const groups_node_t nodes[] = {
      {ADD, {0, 0, NONE}, 1}, {SOFTMAX, {1, NONE, NONE}, 2}, {RELU, {2, NONE, NONE}, 3}, {0}};
  wia_tensor_t a = core_tensor(context, 4, 0), out = core_tensor(context, 4, 9);
  groups_t g;
  groups_build(&g, groups_layout(a), 1, nodes);
  wia_plan_t *plan = make(&g);
  core.fail_status = WIA_STATUS_DATA_LOSS;
  core.fail_message = "the bits are gone";
  core.fail_cause = "cosmic rays";
  const wia_tensor_t operands[] = {a, out};
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  for (uint32_t i = 0; i < 2; i++) { /* at once, and on a stream */
    wia_status_t status = wia_execute_plan(plan, operands, 2, NULL, 0, i ? stream : NULL);
    if (i) {
      CHECK(status == WIA_STATUS_OK);
      status = wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE);
    }
    CHECK_STATUS(status, WIA_STATUS_DATA_LOSS);
    CHECK_MESSAGE("node 1 of a group, softmax on core:0: the bits are gone");
    wia_error_info_t error = WIA_ERROR_INFO_INIT;
    CHECK_STATUS(wia_get_last_error(&error), WIA_STATUS_OK);
    CHECK(strcmp(error.cause, "cosmic rays") == 0 && strcmp(error.driver, "core") == 0);
    CHECK(strcmp(error.function, "wia_execute_plan") == 0 || i);
  }
  core.fail_status = WIA_STATUS_OK;
  core.fail_message = core.fail_cause = "";
  CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  EXECUTE(plan, NULL, a, out);
  CHECK(core_has(out, 0, 2));
  destroy(plan);
  /* a node that the driver lacks, with where it comes from */
  g.nodes[2].op = WIA_OP_EXP;
  g.nodes[2].source = "model.py:12";
  check_refused(&g, WIA_STATUS_UNIMPLEMENTED, "node 2 of a group, model.py:12: exp on core:0");
  g.nodes[2].op = RELU;
  core.prepare_status = WIA_STATUS_DATA_LOSS; /* the whole fails, and isn't split */
  const uint32_t prepares = core.prepares;
  check_refused(&g, WIA_STATUS_DATA_LOSS, "a group of operations");
  CHECK(core.prepares == prepares + 1);
  core.prepare_status = WIA_STATUS_OK;
  /* memory for what lies between is not to be had: it is taken at the first launch */
  wia_tensor_t big = core_tensor(context, 4096, 0), big_out = core_tensor(context, 4096, 0);
  groups_build(&g, groups_layout(big), 1, nodes);
  plan = make(&g);
  core.memory_limit = 1;
  CHECK_STATUS(wia_execute_plan(plan, (wia_tensor_t[]){big, big_out}, 2, NULL, 0, NULL),
               WIA_STATUS_RESOURCE_EXHAUSTED);
  core.memory_limit = UINT64_MAX;
  EXECUTE(plan, NULL, big, big_out);
  CHECK(core_has(big_out, 0, 2));
  destroy(plan);
  const wia_tensor_t all[] = {a, out, big, big_out};
  for (uint32_t i = 0; i < 4; i++) core_destroy(all[i]);
}

static void run_tests(void) {
  test_aliases();
  test_failures();
}

int main(void) {
  run_on_plain(run_tests);
  return CHECK_DONE();
}
