/* wia_query_gradient(): what it gives, and what it refuses. Values that come out of such groups are
 * compared in tests/python/test_gradients.py and test_gradients_from_c.py. */
#include <math.h>

#include "check.h"

static wia_tensor_layout_t layout(wia_dtype_t dtype, const int64_t *shape, uint32_t rank) {
  return (wia_tensor_layout_t){
      .struct_size = sizeof(wia_tensor_layout_t), .dtype = dtype, .rank = rank, .shape = shape};
}

static const int64_t four[] = {4}, rows[] = {3, 4};

/* A query of an operation of two inputs. */
static wia_gradient_config_t ask(wia_op_t op, const wia_tensor_layout_t *const *inputs,
                                 uint32_t count) {
  wia_gradient_config_t config = WIA_GRADIENT_CONFIG_INIT;
  config.op = op;
  config.inputs = inputs;
  config.input_count = count;
  return config;
}

static wia_gradient_info_t info_of(wia_gradient_t *gradient) {
  wia_gradient_info_t info = WIA_GRADIENT_INFO_INIT;
  CHECK_STATUS(wia_get_gradient_info(gradient, &info), WIA_STATUS_OK);
  return info;
}

static void check_roles(const wia_role_t *roles, uint32_t count, const wia_role_t *expected) {
  for (uint32_t i = 0; i < count; i++)
    CHECK(roles[i].role == expected[i].role && roles[i].index == expected[i].index);
}

/* mul of [3, 4] and [4]: the operands that are needed, by role; broadcasting is undone for b, and
 * nothing is copied for a. */
static void test_a_product(void) {
  const wia_tensor_layout_t a = layout(WIA_FLOAT32, rows, 2), b = layout(WIA_FLOAT32, four, 1);
  const wia_tensor_layout_t *inputs[] = {&a, &b};
  wia_gradient_config_t config = ask(WIA_OP_MUL, inputs, 2);
  wia_gradient_t *gradient = NULL;
  CHECK_STATUS(wia_query_gradient(&config, &gradient), WIA_STATUS_OK);
  const wia_gradient_info_t info = info_of(gradient);
  const wia_group_t *group = info.group;
  CHECK(info.op == WIA_OP_MUL && group->struct_size == sizeof *group);
  CHECK(group->node_count == 3 && group->input_count == 3 && group->output_count == 2);
  const wia_role_t from[] = {{WIA_ROLE_GRADIENT, 0}, {WIA_ROLE_INPUT, 1}, {WIA_ROLE_INPUT, 0}};
  const wia_role_t to[] = {{WIA_ROLE_INPUT, 0}, {WIA_ROLE_INPUT, 1}};
  check_roles(info.inputs, 3, from);
  check_roles(info.outputs, 2, to);
  CHECK_TEXT(group->values[group->inputs[0]]->name, "grad");
  CHECK_TEXT(group->values[group->inputs[1]]->name, "b");
  CHECK_TEXT(group->nodes[0]->op_name, "mul");
  CHECK_TEXT(group->nodes[2]->op_name, "sum_to");
  CHECK_TEXT(group->nodes[2]->source, "mul");
  const wia_tensor_layout_t *d_b = group->values[group->outputs[1]]->layout;
  CHECK(d_b->rank == 1 && d_b->shape[0] == 4 && d_b->dtype == WIA_FLOAT32 && d_b->contiguous);
  CHECK_STATUS(wia_destroy_gradient(gradient), WIA_STATUS_OK);

  config.wanted = 2;
  CHECK_STATUS(wia_query_gradient(&config, &gradient), WIA_STATUS_OK);
  CHECK(info_of(gradient).group->output_count == 1 && info_of(gradient).outputs[0].index == 1);
  CHECK_STATUS(wia_destroy_gradient(gradient), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_gradient(gradient), WIA_STATUS_INVALID_HANDLE);
}

/* Strides of the caller's tensors stay; attributes are taken, scalars are fixed. */
static void test_strides_and_attributes(void) {
  const int64_t turned[] = {1, 3};
  wia_tensor_layout_t a = layout(WIA_FLOAT64, rows, 2);
  a.strides = turned;
  const int64_t sizes[] = {5, 4};
  const wia_tensor_layout_t b = layout(WIA_FLOAT64, sizes, 2);
  const wia_tensor_layout_t *inputs[] = {&a, &b};
  const int64_t one = 1;
  const double alpha = 0.25;
  const wia_attribute_t attributes[] = {
      {.name = "transpose_b", .data = &one, .type = WIA_ATTRIBUTE_INT64, .count = 1},
      {.name = "alpha", .data = &alpha, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1}};
  wia_gradient_config_t config = ask(WIA_OP_MATMUL, inputs, 2);
  config.attributes = attributes;
  config.attribute_count = 2;
  config.wanted = 2;
  wia_gradient_t *gradient = NULL;
  CHECK_STATUS(wia_query_gradient(&config, &gradient), WIA_STATUS_OK);
  const wia_group_t *group = info_of(gradient).group;
  CHECK(group->node_count == 1 && group->scalar_count == 0);
  const wia_node_t *node = group->nodes[0];
  bool found = false;
  for (uint32_t i = 0; i < node->attribute_count; i++)
    if (strcmp(node->attributes[i].name, "alpha") == 0)
      found = *(const double *)node->attributes[i].data == alpha;
  CHECK(found);
  for (uint32_t i = 0; i < group->input_count; i++)
    if (info_of(gradient).inputs[i].role == WIA_ROLE_INPUT)
      CHECK(group->values[group->inputs[i]]->layout->strides[1] == 3);
  CHECK_STATUS(wia_destroy_gradient(gradient), WIA_STATUS_OK);

  const double beta = 1;
  const wia_attribute_t reads[] = {
      {.name = "beta", .data = &beta, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1}};
  config.attributes = reads;
  config.attribute_count = 1;
  config.inputs = (const wia_tensor_layout_t *const[]){
      &a, &(wia_tensor_layout_t){.struct_size = sizeof a,
                                 .dtype = WIA_FLOAT64,
                                 .rank = 2,
                                 .shape = (const int64_t[]){4, 5}}};
  CHECK_STATUS(wia_query_gradient(&config, &gradient), WIA_STATUS_UNIMPLEMENTED);
  CHECK_MESSAGE("matmul has no gradient: its output was read first, since beta is not 0");
}

static void refuse(const wia_gradient_config_t *config, wia_status_t status, const char *message) {
  wia_gradient_t *gradient = NULL;
  CHECK_STATUS(wia_query_gradient(config, &gradient), status);
  CHECK_MESSAGE(message);
  CHECK(gradient == NULL);
}

static void test_refusals(void) {
  const wia_status_t bad = WIA_STATUS_INVALID_ARGUMENT;
  const wia_tensor_layout_t a = layout(WIA_FLOAT32, rows, 2), b = layout(WIA_FLOAT32, four, 1);
  const wia_tensor_layout_t index = layout(WIA_INT64, four, 1);
  const wia_tensor_layout_t *inputs[] = {&a, &b}, *picked[] = {&a, &index},
                            *whole[] = {&index, &index};
  wia_gradient_config_t config = ask(WIA_OP_MUL, inputs, 2);
  CHECK_STATUS(wia_query_gradient(NULL, &(wia_gradient_t *){NULL}), bad);
  CHECK_STATUS(wia_query_gradient(&config, NULL), bad);
  config.wanted = 4;
  refuse(&config, bad, "mul: the gradient of input 2 is wanted, which is not given");
  config = ask(WIA_OP_GATHER, picked, 2);
  config.wanted = 2;
  refuse(&config, bad, "gather: the gradient of input 1 is wanted, which is no float");
  config = ask(WIA_OP_ADD, whole, 2);
  refuse(&config, WIA_STATUS_UNIMPLEMENTED, "add has no gradient: none of its inputs is a float");
  config = ask(WIA_OP_EQUAL, inputs, 2);
  refuse(&config, WIA_STATUS_UNIMPLEMENTED, "equal has no gradient: its output is no float");
  config = ask(WIA_OP_MUL, inputs, 3);
  refuse(&config, bad, "mul is given 3 inputs and 0 outputs; it has at most 2 and 1");
  config = ask(WIA_OP_MUL, NULL, 2);
  refuse(&config, bad, "config->inputs");
  config = ask(12345, inputs, 2);
  refuse(&config, bad, "op is 12345");
  const wia_tensor_layout_t *one[] = {&b};
  config = ask(WIA_OP_MUL, inputs, 2);
  config.outputs = one;
  config.output_count = 1;
  refuse(&config, bad, "mul: the output output has shape [4]; expected [3, 4]");
  CHECK_STATUS(wia_get_gradient_info(NULL, &(wia_gradient_info_t){0}), bad);
  wia_gradient_info_t info = WIA_GRADIENT_INFO_INIT;
  CHECK_STATUS(wia_get_gradient_info(NULL, &info), WIA_STATUS_INVALID_HANDLE);
}

int main(void) {
  test_a_product();
  test_strides_and_attributes();
  test_refusals();
  return CHECK_DONE();
}
