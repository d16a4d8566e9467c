/* Groups under the library on the sample driver: what it fuses has the bits of separate calls, and
 * what it refuses is split. */
#include <math.h>

#include "check.h"
#include "groups.h"
#include "sample.h"

enum { ADD = WIA_OP_ADD, SUB = WIA_OP_SUB, MUL = WIA_OP_MUL, RELU = WIA_OP_RELU };
enum { MATMUL = WIA_OP_MATMUL, LINEAR = WIA_OP_LINEAR, MOST = 4096 };

static wia_context_t *context;

static wia_tensor_t empty(uint32_t rank, const int64_t *shape) {
  wia_tensor_t tensor = NULL;
  CHECK_STATUS(wia_allocate_tensor(context, shape, rank, WIA_FLOAT32, &tensor), WIA_STATUS_OK);
  return tensor;
}

/* Numbers of both signs; with `special` some that are none. */
static wia_tensor_t make(uint32_t rank, const int64_t *shape, bool special) {
  static uint32_t state = 1;
  wia_tensor_t tensor = empty(rank, shape);
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(tensor, &info), WIA_STATUS_OK);
  float values[MOST];
  for (uint64_t i = 0; i < info.element_count && i < MOST; i++) {
    state = state * 1664525u + 1013904223u;
    values[i] = (float)((int32_t)(state >> 8) % 4096) / 512 - 4;
    if (special && state >> 29 == 0) values[i] = i % 3 ? (i % 3 == 1 ? NAN : INFINITY) : -0.0f;
  }
  CHECK_STATUS(wia_write_tensor(tensor, values, info.size, NULL), WIA_STATUS_OK);
  return tensor;
}

static void destroy(wia_tensor_t tensor) {
  CHECK_STATUS(wia_destroy_tensor(tensor), WIA_STATUS_OK);
}

/* -- layers -------------------------------------------------------------------------------------- */

typedef struct shapes_t {
  const char *name;
  uint32_t a_rank, b_rank, bias_rank, c_rank;
  int64_t a[3], b[3], bias[3], c[3];
  bool fused, turned, special; /* turned: views of b and bias with the strides of columns */
} shapes_t;

static const shapes_t all_shapes[] = {
    {"edges", 2, 2, 1, 2, {5, 7}, {7, 11}, {11}, {5, 11}, true, false, false},
    {"tiles", 2, 2, 1, 2, {8, 6}, {6, 16}, {16}, {8, 16}, true, false, false},
    {"no numbers", 2, 2, 1, 2, {9, 6}, {6, 17}, {17}, {9, 17}, true, false, true},
    {"batch", 3, 2, 1, 3, {3, 4, 5}, {5, 8}, {8}, {3, 4, 8}, true, false, false},
    {"columns", 2, 2, 1, 2, {8, 6}, {6, 16}, {16}, {8, 16}, true, true, false},
    {"a row of rank 2", 2, 2, 2, 2, {4, 3}, {3, 8}, {1, 8}, {4, 8}, true, false, false},
    {"one number", 2, 2, 0, 2, {4, 3}, {3, 8}, {0}, {4, 8}, true, false, false},
    {"one number of rank 1", 2, 2, 1, 2, {5, 3}, {3, 9}, {1}, {5, 9}, true, false, false},
    {"nothing to sum", 2, 2, 1, 2, {4, 0}, {0, 8}, {8}, {4, 8}, true, false, false},
    {"no rows", 2, 2, 1, 2, {0, 3}, {3, 8}, {8}, {0, 8}, true, false, false},
    {"a column", 2, 2, 2, 2, {4, 3}, {3, 8}, {4, 1}, {4, 8}, false, false, false},
    {"a vector", 1, 2, 1, 1, {3}, {3, 8}, {8}, {8}, false, false, false}};

static void execute(wia_op_t op, wia_tensor_t a, wia_tensor_t b, wia_tensor_t c) {
  const wia_tensor_t inputs[] = {a, b};
  CHECK_STATUS(wia_execute(context, op, inputs, b ? 2 : 1, &c, 1, NULL, 0, NULL), WIA_STATUS_OK);
}

static bool are_equal(wia_tensor_t a, wia_tensor_t b) {
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  float x[MOST], y[MOST];
  CHECK_STATUS(wia_get_tensor_info(a, &info), WIA_STATUS_OK);
  CHECK_STATUS(wia_read_tensor(a, x, info.size, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_read_tensor(b, y, info.size, NULL), WIA_STATUS_OK);
  for (uint64_t i = 0; i < info.element_count; i++)
    if (!(isnan(x[i]) && isnan(y[i])) && memcmp(&x[i], &y[i], sizeof *x) != 0) return false;
  return true;
}

static wia_tensor_t turn(wia_tensor_t tensor, const int64_t *shape, uint32_t rank) {
  wia_tensor_t view = NULL;
  const int64_t strides[] = {1, shape[0]}, step[] = {2};
  CHECK_STATUS(wia_view_tensor(tensor, 0, shape, rank == 2 ? strides : step, rank, &view),
               WIA_STATUS_OK);
  destroy(tensor);
  return view;
}

static void check_layer(const shapes_t *shapes, bool bias, bool activates, bool bias_first) {
  const int64_t long_bias[] = {2 * shapes->bias[0]};
  const groups_node_t chain[] = {{MATMUL, {0, 1, NONE}, 3},
                                 {ADD, {bias_first ? 2 : 3, bias_first ? 3 : 2, NONE}, 4},
                                 {RELU, {4, NONE, NONE}, 5},
                                 {0}},
                      direct[] = {{MATMUL, {0, 1, NONE}, 3}, {RELU, {3, NONE, NONE}, 4}, {0}};
  wia_tensor_t a = make(shapes->a_rank, shapes->a, shapes->special);
  wia_tensor_t b = make(shapes->b_rank, shapes->b, shapes->special);
  wia_tensor_t row = make(shapes->bias_rank, shapes->turned ? long_bias : shapes->bias, false);
  if (shapes->turned) {
    b = turn(b, shapes->b, 2);
    row = turn(row, shapes->bias, 1);
  }
  wia_tensor_t out = make(shapes->c_rank, shapes->c, true), expected[3];
  for (uint32_t i = 0; i < 3; i++) expected[i] = empty(shapes->c_rank, shapes->c);
  groups_t g;
  groups_build(&g, groups_layout(out), 3, bias ? chain : direct);
  g.values[0].layout = groups_layout(a);
  g.values[1].layout = groups_layout(b);
  g.values[2].layout = groups_layout(row);
  if (bias && !activates) {
    g.group.node_count = 2;
    g.outputs[0] = 4;
  }
  wia_plan_t *plan = NULL;
  CHECK_STATUS(wia_create_plan(context, &g.group, &plan), WIA_STATUS_OK);
  const bool fused = shapes->fused || (!bias && shapes->a_rank > 1);
  if (!CHECK(groups_info(plan).kernel_count == (fused ? 1 : g.group.node_count)))
    printf("  %s\n", shapes->name);
  const wia_tensor_t operands[] = {a, b, row, out};
  CHECK_STATUS(wia_execute_plan(plan, operands, 4, NULL, 0, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
  execute(MATMUL, a, b, expected[0]);
  uint32_t last = 0;
  if (bias) execute(ADD, expected[last], row, expected[last + 1]), last++;
  if (activates) execute(RELU, expected[last], NULL, expected[last + 1]), last++;
  if (!CHECK(are_equal(out, expected[last]))) printf("  %s\n", shapes->name);
  const wia_tensor_t all[] = {a, b, row, out, expected[0], expected[1], expected[2]};
  for (uint32_t i = 0; i < 7; i++) destroy(all[i]);
}

static void test_layers(void) {
  for (uint32_t i = 0; i < sizeof all_shapes / sizeof *all_shapes; i++) {
    check_layer(&all_shapes[i], true, true, i % 2);
    check_layer(&all_shapes[i], true, false, i % 2 == 0);
    check_layer(&all_shapes[i], false, true, false);
  }
}

/* The factor of the product is the launch's, the transposition the group's. */
static void test_attributes(void) {
  const int64_t shape[] = {8, 8};
  wia_tensor_t a = make(2, shape, false), out = empty(2, shape), expected[2];
  for (uint32_t i = 0; i < 2; i++) expected[i] = empty(2, shape);
  groups_t g;
  groups_build(&g, groups_layout(a), 1,
               (groups_node_t[]){{MATMUL, {0, 0, NONE}, 1}, {RELU, {1, NONE, NONE}, 2}, {0}});
  const int64_t one = 1;
  const double half = 0.5;
  wia_attribute_t attributes[] = {
      {.name = "alpha", .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .scalar = 0},
      {.name = "transpose_b", .data = &one, .type = WIA_ATTRIBUTE_INT64, .count = 1, .scalar = -1},
      {.name = "beta", .data = &half, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .scalar = -1}};
  g.nodes[0].attributes = attributes;
  g.nodes[0].attribute_count = 2;
  g.group.scalar_count = 1;
  wia_plan_t *plan = NULL;
  CHECK_STATUS(wia_create_plan(context, &g.group, &plan), WIA_STATUS_OK);
  CHECK(groups_info(plan).kernel_count == 1);
  const wia_scalar_t alpha = {.f64 = -0.75};
  CHECK_STATUS(wia_execute_plan(plan, (wia_tensor_t[]){a, out}, 2, &alpha, 1, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
  attributes[0].data = &alpha.f64;
  CHECK_STATUS(
      wia_execute(context, MATMUL, (wia_tensor_t[]){a, a}, 2, expected, 1, attributes, 2, NULL),
      WIA_STATUS_OK);
  execute(RELU, expected[0], NULL, expected[1]);
  CHECK(are_equal(out, expected[1]));
  /* what the product was before is nothing that could be added to it */
  g.nodes[0].attribute_count = 3;
  plan = NULL;
  CHECK_STATUS(wia_create_plan(context, &g.group, &plan), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("beta of node 0 (matmul) is not fixed at 0");
  attributes[2].data = NULL;
  attributes[2].scalar = 0;
  CHECK_STATUS(wia_create_plan(context, &g.group, &plan), WIA_STATUS_INVALID_ARGUMENT);
  CHECK(plan == NULL);
  const wia_tensor_t all[] = {a, out, expected[0], expected[1]};
  for (uint32_t i = 0; i < 4; i++) destroy(all[i]);
}

/* -- groups that are split ----------------------------------------------------------------------- */

static void check_split(const groups_node_t *nodes, uint32_t input_count, uint32_t kernels,
                        float first, float second) {
  const int64_t shape[] = {2, 2};
  wia_tensor_t a = empty(2, shape), out = empty(2, shape);
  CHECK_STATUS(wia_write_tensor(a, (const float[]){1, -2, 3, -4}, 16, NULL), WIA_STATUS_OK);
  groups_t g;
  groups_build(&g, groups_layout(a), input_count, nodes);
  wia_plan_t *plan = NULL;
  CHECK_STATUS(wia_create_plan(context, &g.group, &plan), WIA_STATUS_OK);
  CHECK(groups_info(plan).kernel_count == kernels);
  const wia_tensor_t operands[] = {a, a, a, out};
  float host[4] = {0};
  CHECK_STATUS(wia_execute_plan(plan, operands + 3 - input_count, input_count + 1, NULL, 0, NULL),
               WIA_STATUS_OK);
  CHECK_STATUS(wia_read_tensor(out, host, sizeof host, NULL), WIA_STATUS_OK);
  CHECK(host[0] == first && host[1] == second);
  CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
  destroy(a);
  destroy(out);
}

/* a a is [-5, 6; -9, 10]. */
static void test_splits(void) {
  check_split((groups_node_t[]){{ADD, {0, 0, NONE}, 3}, {RELU, {3, NONE, NONE}, 4}, {0}}, 1, 2, 2,
              0);
  check_split((groups_node_t[]){{MATMUL, {0, 0, NONE}, 3}, {ADD, {3, 3, NONE}, 4}, {0}}, 1, 2, -10,
              12);
  check_split((groups_node_t[]){{MATMUL, {0, 0, NONE}, 3}, {RELU, {0, NONE, NONE}, 4}, {0}}, 1, 2,
              1, 0);
  check_split((groups_node_t[]){{MATMUL, {0, 0, NONE}, 3}, {SUB, {3, 0, NONE}, 4}, {0}}, 1, 2, -6,
              8);
  check_split(
      (groups_node_t[]){
          {MATMUL, {0, 0, NONE}, 3}, {RELU, {3, NONE, NONE}, 4}, {MUL, {4, 4, NONE}, 5}, {0}},
      1, 3, 0, 36);
  /* an input that nobody reads, and a bias that is left out: x x^T */
  check_split((groups_node_t[]){{LINEAR, {0, 1, NONE}, 3}, {0}}, 3, 1, 5, 11);
}

int main(void) {
  int32_t device_id = -1;
  CHECK_STATUS(wia_register_driver(load_sample(), WIA_DRIVER_ABI_MAJOR, WIA_DRIVER_ABI_MINOR),
               WIA_STATUS_OK);
  CHECK_STATUS(wia_find_device(load_sample()->name, &device_id), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_context(&context, device_id), WIA_STATUS_OK);
  test_layers();
  test_attributes();
  test_splits();
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  return CHECK_DONE();
}
