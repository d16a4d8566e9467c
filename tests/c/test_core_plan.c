/* Plans: groups of one and two nodes, their scalars and aliases, and what a launch must fit. */
#include "core_driver.h"

static wia_context_t *context;
static const wia_status_t bad = WIA_STATUS_INVALID_ARGUMENT;

static const wia_tensor_layout_t *layout_of(wia_tensor_t tensor) {
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(tensor, &info), WIA_STATUS_OK);
  return info.layout;
}

/* -- a group under construction ------------------------------------------------------------------ */

enum { VALUES = 6, NODES = 2 };

typedef struct builder_t {
  wia_value_t values[VALUES];
  const wia_value_t *value_pointers[VALUES];
  wia_node_t nodes[NODES];
  const wia_node_t *node_pointers[NODES];
  uint32_t node_inputs[NODES][2], node_outputs[NODES][1];
  uint32_t inputs[VALUES], outputs[VALUES];
  wia_group_t group;
} builder_t;

/* value 3 = op(value 0, value 1); with two nodes value 4 = second(value 3, value 2). */
static void build(builder_t *b, const wia_tensor_layout_t *layout, wia_op_t op, wia_op_t second) {
  const uint32_t node_count = second ? 2 : 1;
  memset(b, 0, sizeof *b);
  for (uint32_t i = 0; i < VALUES; i++) {
    b->values[i] = WIA_VALUE_INIT;
    b->values[i].layout = layout;
    b->value_pointers[i] = &b->values[i];
    b->inputs[i] = i;
  }
  for (uint32_t i = 0; i < NODES; i++) {
    b->node_inputs[i][0] = i ? 3 : 0;
    b->node_inputs[i][1] = i ? 2 : 1;
    b->node_outputs[i][0] = 3 + i;
    b->nodes[i] = WIA_NODE_INIT;
    b->nodes[i].op = i ? second : op;
    b->nodes[i].inputs = b->node_inputs[i];
    b->nodes[i].outputs = b->node_outputs[i];
    b->nodes[i].input_count = 2;
    b->nodes[i].output_count = 1;
    b->node_pointers[i] = &b->nodes[i];
  }
  b->outputs[0] = 2 + node_count;
  b->group = WIA_GROUP_INIT;
  b->group.nodes = b->node_pointers;
  b->group.node_count = node_count;
  b->group.values = b->value_pointers;
  b->group.value_count = VALUES;
  b->group.inputs = b->inputs;
  b->group.input_count = 1 + node_count;
  b->group.outputs = b->outputs;
  b->group.output_count = 1;
}

static wia_plan_t *make(const builder_t *b) {
  wia_plan_t *plan = NULL;
  CHECK_STATUS(wia_create_plan(context, &b->group, &plan), WIA_STATUS_OK);
  return plan;
}

static void check_refused(const builder_t *b, wia_status_t expected, const char *message) {
  wia_plan_t *plan = NULL;
  const uint32_t prepares = core.prepares;
  if (CHECK_STATUS(wia_create_plan(context, &b->group, &plan), expected)) CHECK_MESSAGE(message);
  CHECK(plan == NULL);
  if (expected == bad) CHECK(core.prepares == prepares); /* before the driver was asked */
}

static void destroy(wia_plan_t *plan) { CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK); }

/* -- groups -------------------------------------------------------------------------------------- */

static void test_groups(void) {
  wia_tensor_t a = core_tensor(context, 8, 0), b = core_tensor(context, 8, 1);
  wia_tensor_t c = core_tensor(context, 8, 2), out = core_tensor(context, 8, 0);
  builder_t builder;
  build(&builder, layout_of(a), WIA_OP_SUB, WIA_OP_NONE);
  wia_plan_t *one = make(&builder);
  const wia_tensor_t operands[] = {a, b, c, out}, two_operands[] = {a, b, out};
  CHECK_STATUS(wia_execute_plan(one, two_operands, 3, NULL, 0, NULL), WIA_STATUS_OK);
  CHECK(core_has(out, -1, 0));
  build(&builder, layout_of(a), WIA_OP_SUB, WIA_OP_MUL);
  wia_plan_t *two = make(&builder);
  CHECK_STATUS(wia_execute_plan(two, operands, 4, NULL, 0, NULL), WIA_STATUS_OK);
  CHECK(core_has(out, -2, -1)); /* (a - b) c */
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  for (uint32_t i = 0; i < 50; i++)
    CHECK_STATUS(wia_execute_plan(i % 2 ? one : two, i % 2 ? two_operands : operands, i % 2 ? 3 : 4,
                                  NULL, 0, stream),
                 WIA_STATUS_OK);
  CHECK(core_has(out, -1, 0));
  wia_plan_info_t info = WIA_PLAN_INFO_INIT;
  CHECK_STATUS(wia_get_plan_info(two, &info), WIA_STATUS_OK);
  CHECK(info.device_id == core_id(CORE_PLAIN) && info.input_count == 3 && info.output_count == 1);
  CHECK(info.kernel_count == 1);
  CHECK(info.scalar_count == 0 && info.flags == core.kernel_flags && info.workspace_size == 0);
  CHECK(strcmp(info.name, "core sub") == 0 && info.flops == 12 && info.time_ns < 0);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  destroy(one);
  destroy(two);
  const wia_tensor_t all[] = {a, b, c, out};
  for (uint32_t i = 0; i < 4; i++) core_destroy(all[i]);
}

static void test_bad_groups(void) {
  wia_tensor_t a = core_tensor(context, 8, 0), longer = core_tensor(context, 9, 0);
  const wia_tensor_layout_t *layout = layout_of(a);
  builder_t b;
  build(&b, layout, WIA_OP_ADD, WIA_OP_RELU); /* relu has one input */
  check_refused(&b, bad, "node 1");
  build(&b, layout, WIA_OP_SUB, WIA_OP_EXP);
  b.nodes[1].input_count = 1;
  check_refused(&b, WIA_STATUS_UNIMPLEMENTED, "node 1 of a group: exp"); /* nor alone */
  build(&b, layout, WIA_OP_ADD, WIA_OP_ADD);
  b.values[3].layout = layout_of(longer);
  check_refused(&b, bad, "shape");
  build(&b, layout, WIA_OP_ADD, WIA_OP_ADD);
  b.node_inputs[0][0] = 3; /* written later */
  check_refused(&b, bad, "node 0 reads");
  build(&b, layout, WIA_OP_ADD, WIA_OP_ADD);
  b.node_outputs[1][0] = 3; /* written before */
  check_refused(&b, bad, "node 1 writes");
  build(&b, layout, WIA_OP_ADD, WIA_OP_ADD);
  b.node_outputs[0][0] = 0; /* an input */
  check_refused(&b, bad, "node 0 writes");
  const uint32_t wild[] = {VALUES, UINT32_MAX - 1, UINT32_MAX};
  for (uint32_t i = 0; i < 3; i++) {
    build(&b, layout, WIA_OP_ADD, WIA_OP_ADD);
    b.node_inputs[1][1] = wild[i];
    check_refused(&b, bad, i < 2 ? "out of range" : "left out");
    build(&b, layout, WIA_OP_ADD, WIA_OP_ADD);
    b.node_outputs[1][0] = wild[i];
    check_refused(&b, bad, i < 2 ? "out of range" : "left out");
    build(&b, layout, WIA_OP_ADD, WIA_OP_ADD);
    b.inputs[2] = wild[i];
    check_refused(&b, bad, "input 2");
    build(&b, layout, WIA_OP_ADD, WIA_OP_ADD);
    b.outputs[0] = wild[i];
    check_refused(&b, bad, "output 0");
  }
  build(&b, layout, WIA_OP_ADD, WIA_OP_ADD);
  b.outputs[0] = 5; /* nothing writes it */
  check_refused(&b, bad, "nothing writes");
  b.outputs[0] = 0; /* an input of the group, and nothing writes it either */
  check_refused(&b, bad, "nothing writes");
  build(&b, layout, WIA_OP_ADD, WIA_OP_ADD);
  b.outputs[1] = 4; /* the same twice */
  b.group.output_count = 2;
  check_refused(&b, bad, "output 1");
  build(&b, layout, WIA_OP_ADD, WIA_OP_NONE);
  b.nodes[0].op = 999;
  check_refused(&b, bad, "999");
  b.nodes[0].op = WIA_OP_ADD;
  b.nodes[0].op_name = "mul";
  check_refused(&b, bad, "different");
  build(&b, layout, WIA_OP_ADD, WIA_OP_NONE);
  b.values[1].flags = 1;
  check_refused(&b, bad, "flags");
  build(&b, layout, WIA_OP_ADD, WIA_OP_NONE);
  b.values[1].layout = NULL;
  check_refused(&b, bad, "value 1");
  core_destroy(a);
  core_destroy(longer);
}

static void test_short_groups(void) {
  wia_tensor_t a = core_tensor(context, 8, 0);
  const wia_tensor_layout_t *layout = layout_of(a);
  builder_t b;
  build(&b, layout, WIA_OP_ADD, WIA_OP_NONE);
  const wia_group_t good = b.group;
  b.group.nodes = NULL;
  check_refused(&b, bad, "nodes");
  b.group = good;
  b.group.values = NULL;
  check_refused(&b, bad, "values");
  b.group = good;
  b.group.inputs = NULL;
  check_refused(&b, bad, "inputs");
  b.group = good;
  b.group.outputs = NULL;
  check_refused(&b, bad, "outputs");
  b.group = good;
  b.group.node_count = 0;
  check_refused(&b, bad, "nodes");
  const uint32_t huge[] = {UINT32_MAX, 1u << 31, 5000};
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t *counts[] = {&b.group.node_count, &b.group.value_count, &b.group.input_count,
                          &b.group.output_count, &b.group.scalar_count};
    for (uint32_t j = 0; j < 5; j++) {
      b.group = good;
      *counts[j] = huge[i];
      check_refused(&b, bad, "expected");
    }
  }
  b.group = good;
  b.node_pointers[0] = NULL;
  check_refused(&b, bad, "node 0");
  b.node_pointers[0] = &b.nodes[0];
  b.value_pointers[2] = NULL;
  check_refused(&b, bad, "value 2");
  b.value_pointers[2] = &b.values[2];
  b.nodes[0].inputs = NULL;
  check_refused(&b, bad, "node 0");
  b.nodes[0].inputs = b.node_inputs[0];
  b.nodes[0].outputs = NULL;
  check_refused(&b, bad, "node 0");
  b.nodes[0].outputs = b.node_outputs[0];
  b.nodes[0].attribute_count = 1;
  check_refused(&b, bad, "node 0");
  CHECK_STATUS(wia_create_plan(context, NULL, &(wia_plan_t *){NULL}), bad);
  CHECK_STATUS(wia_create_plan(context, &good, NULL), bad);
  core_destroy(a);
}

/* -- scalars ------------------------------------------------------------------------------------- */

static void test_scalars(void) {
  const int64_t shape[] = {2, 2};
  wia_tensor_t a = core_empty(context, 2, shape), c = core_empty(context, 2, shape);
  const float ones[] = {1, 1, 1, 1};
  CHECK_STATUS(wia_write_tensor(a, ones, sizeof ones, NULL), WIA_STATUS_OK);
  const double beta = 0.25;
  wia_attribute_t attributes[] = {
      {.name = "alpha", .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .scalar = 0},
      {.name = "beta", .data = &beta, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .scalar = -1}};
  builder_t b;
  build(&b, layout_of(a), WIA_OP_MATMUL, WIA_OP_NONE);
  b.nodes[0].attributes = attributes;
  b.nodes[0].attribute_count = 2;
  b.group.scalar_count = 1;
  const uint32_t prepares = core.prepares;
  wia_plan_t *plan = make(&b);
  const wia_tensor_t operands[] = {a, a, c};
  float expected = 0;
  CHECK_STATUS(wia_fill_memory((void *)(uintptr_t)0, NULL, 0, 0, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_write_tensor(c, (const float[]){0, 0, 0, 0}, 16, NULL), WIA_STATUS_OK);
  for (uint32_t i = 0; i < 10; i++) {
    const wia_scalar_t alpha = {.f64 = i};
    CHECK_STATUS(wia_execute_plan(plan, operands, 3, &alpha, 1, NULL), WIA_STATUS_OK);
    expected = 2.0f * (float)i + 0.25f * expected;
    CHECK(core_has(c, expected, 0));
  }
  CHECK_STATUS(wia_execute_plan(plan, operands, 3, NULL, 0, NULL), WIA_STATUS_OK);
  CHECK(core_has(c, 2 + 0.25f * expected, 0)); /* alpha's default, and the plan's beta */
  CHECK(core.prepares == prepares + 1);
  const wia_scalar_t two[2] = {{.f64 = 1}, {.f64 = 1}};
  CHECK_STATUS(wia_execute_plan(plan, operands, 3, two, 2, NULL), bad);
  CHECK_MESSAGE("scalars");
  CHECK_STATUS(wia_execute_plan(plan, operands, 3, two, 0, NULL), bad);
  CHECK_STATUS(wia_execute_plan(plan, operands, 3, two, UINT32_MAX, NULL), bad);
  wia_plan_info_t info = WIA_PLAN_INFO_INIT;
  CHECK_STATUS(wia_get_plan_info(plan, &info), WIA_STATUS_OK);
  CHECK(info.scalar_count == 1);
  destroy(plan);

  const int32_t places[] = {1, -1, INT32_MAX, INT32_MIN};
  for (uint32_t i = 0; i < 4; i++) { /* there is one place, 0 */
    attributes[0].scalar = places[i];
    check_refused(&b, bad, "node 0");
  }
  attributes[0].scalar = 0;
  attributes[0].name = "gamma";
  check_refused(&b, bad, "node 0");
  attributes[0].name = NULL;
  check_refused(&b, bad, "node 0");
  attributes[0].name = "transpose_a"; /* no scalar */
  check_refused(&b, bad, "node 0");

  /* those of an operation's plan are the catalog's: alpha, beta */
  CHECK_STATUS(wia_create_operation_plan(context, WIA_OP_MATMUL, operands, 2, operands + 2, 1, NULL,
                                         0, &plan),
               WIA_STATUS_OK);
  const wia_scalar_t scalars[] = {{.f64 = 3}, {.f64 = 0}};
  CHECK_STATUS(wia_execute_plan(plan, operands, 3, scalars, 2, NULL), WIA_STATUS_OK);
  CHECK(core_has(c, 6, 0));
  CHECK_STATUS(wia_execute_plan(plan, operands, 3, scalars, 1, NULL), bad);
  destroy(plan);
  core_destroy(a);
  core_destroy(c);
}

/* -- what a launch must fit ---------------------------------------------------------------------- */

static void test_misfits(void) {
  wia_tensor_t a = core_tensor(context, 8, 0), out = core_tensor(context, 8, 0);
  wia_tensor_t longer = core_tensor(context, 9, 0), base = core_tensor(context, 16, 0);
  wia_tensor_t strided = NULL, shifted = NULL, typed = NULL;
  CHECK_STATUS(wia_view_tensor(base, 0, (const int64_t[]){8}, (const int64_t[]){2}, 1, &strided),
               WIA_STATUS_OK);
  CHECK_STATUS(wia_view_tensor(base, 4, (const int64_t[]){8}, NULL, 1, &shifted), WIA_STATUS_OK);
  CHECK_STATUS(wia_allocate_tensor(context, (const int64_t[]){8}, 1, WIA_INT32, &typed),
               WIA_STATUS_OK);
  builder_t b;
  build(&b, layout_of(a), WIA_OP_ADD, WIA_OP_NONE);
  wia_plan_t *plan = make(&b);
  const wia_tensor_t good[] = {a, a, out};
  CHECK_STATUS(wia_execute_plan(plan, good, 3, NULL, 0, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_execute_plan(plan, good, 2, NULL, 0, NULL), bad);
  CHECK_STATUS(wia_execute_plan(plan, good, 4, NULL, 0, NULL), bad);
  CHECK_STATUS(wia_execute_plan(plan, good, UINT32_MAX, NULL, 0, NULL), bad);
  CHECK_STATUS(wia_execute_plan(plan, NULL, 3, NULL, 0, NULL), bad);
  CHECK_STATUS(wia_execute_plan(plan, NULL, 0, NULL, 0, NULL), bad);
  const uint32_t launches = core.launches;
  const wia_tensor_t wrong[] = {longer, strided, typed};
  for (uint32_t i = 0; i < 3; i++) {
    for (uint32_t j = 0; j < 3; j++) {
      wia_tensor_t operands[] = {a, a, out};
      operands[j] = wrong[i];
      CHECK_STATUS(wia_execute_plan(plan, operands, 3, NULL, 0, NULL), bad);
      CHECK_MESSAGE("the plan was made for float32 [8]");
    }
  }
  const wia_tensor_t in_place[] = {a, out, out}, overlapping[] = {shifted, a, NULL};
  CHECK_STATUS(wia_execute_plan(plan, in_place, 3, NULL, 0, NULL), bad);
  CHECK_MESSAGE("not inputs");
  wia_tensor_t first = NULL;
  CHECK_STATUS(wia_view_tensor(base, 0, (const int64_t[]){8}, NULL, 1, &first), WIA_STATUS_OK);
  wia_tensor_t operands[] = {overlapping[0], overlapping[1], first};
  CHECK_STATUS(wia_execute_plan(plan, operands, 3, NULL, 0, NULL), bad);
  CHECK_MESSAGE("overlaps");
  CHECK(core.launches == launches);
  /* any memory of the layout, whatever its address */
  const wia_tensor_t moved[] = {shifted, shifted, out};
  CHECK_STATUS(wia_execute_plan(plan, moved, 3, NULL, 0, NULL), WIA_STATUS_OK);
  CHECK(core_has(out, 8, 2));
  destroy(plan);
  const wia_tensor_t all[] = {a, out, longer, base, strided, shifted, typed, first};
  for (uint32_t i = 0; i < 8; i++) core_destroy(all[i]);
}

/* A plan for an output that is an input takes those only. */
static void test_aliases(void) {
  wia_tensor_t a = core_tensor(context, 8, 0), other = core_tensor(context, 8, 1);
  wia_tensor_t longer = core_tensor(context, 9, 0);
  builder_t b;
  build(&b, layout_of(a), WIA_OP_ADD, WIA_OP_NONE);
  b.values[3].alias = 1;
  wia_plan_t *plan = make(&b);
  const wia_tensor_t good[] = {a, other, other}, apart[] = {a, a, other}, wrong[] = {a, other, a};
  CHECK_STATUS(wia_execute_plan(plan, good, 3, NULL, 0, NULL), WIA_STATUS_OK);
  CHECK(core_has(other, 1, 2));
  CHECK_STATUS(wia_execute_plan(plan, apart, 3, NULL, 0, NULL), bad);
  CHECK_STATUS(wia_execute_plan(plan, wrong, 3, NULL, 0, NULL), bad);
  destroy(plan);
  b.values[3].alias = 2;
  check_refused(&b, bad, "output 0");
  b.values[3].alias = INT32_MAX;
  check_refused(&b, bad, "output 0");
  build(&b, layout_of(a), WIA_OP_ADD, WIA_OP_ADD);
  b.values[5].layout = layout_of(longer);
  b.inputs[2] = 2;
  b.values[4].alias = 2;
  plan = make(&b);
  destroy(plan);
  core.kernel_flags = WIA_KERNEL_THREAD_SAFE;
  build(&b, layout_of(longer), WIA_OP_ADD, WIA_OP_NONE);
  b.values[3].alias = 0;
  wia_plan_t *none = NULL;
  CHECK_STATUS(wia_create_plan(context, &b.group, &none), WIA_STATUS_UNIMPLEMENTED);
  CHECK_MESSAGE("in place");
  CHECK(none == NULL);
  core.kernel_flags = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE;
  core_destroy(a);
  core_destroy(other);
  core_destroy(longer);
}

int main(void) {
  core_start();
  context = core_context(CORE_PLAIN);
  test_groups();
  test_bad_groups();
  test_short_groups();
  test_scalars();
  test_misfits();
  test_aliases();
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_CLEAN();
  return CHECK_DONE();
}
