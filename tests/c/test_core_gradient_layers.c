/* Gradients of layers that loop and of einsum: one node for all gradients of a layer, and what their
 * rules refuse. Beside each check: the guard without which it fails. */
#include "core_gradient.h"

#define LAYOUT(...)                                                                                \
  {                                                                                                \
    .struct_size = sizeof(wia_tensor_layout_t), .dtype = WIA_FLOAT32,                              \
    .rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .shape = (const int64_t[]) {       \
      __VA_ARGS__                                                                                  \
    }                                                                                              \
  }

static uint32_t count_nodes(const wia_group_t *group, wia_op_t op, const wia_node_t **out_last) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < group->node_count; i++) {
    if (group->nodes[i]->op != op) continue;
    *out_last = group->nodes[i];
    count++;
  }
  return count;
}

/* 3 steps of a batch of 2, 5 elements to 4 gates of 4: by x, w and r, without the cell's. */
static void test_one_node_for_all(void) {
  const wia_tensor_layout_t x = LAYOUT(3, 2, 5), w = LAYOUT(1, 16, 5), r = LAYOUT(1, 16, 4);
  const wia_tensor_layout_t bias = LAYOUT(1, 32);
  const wia_tensor_layout_t *const inputs[] = {&x, &w, &r, &bias};
  wia_gradient_config_t config = WIA_GRADIENT_CONFIG_INIT;
  config.op = WIA_OP_LSTM;
  config.inputs = inputs;
  config.input_count = 4;
  wia_gradient_t *gradient = NULL;
  wia_gradient_info_t info = query(&config, &gradient);
  const wia_node_t *node = NULL;
  CHECK(info.group->output_count == 4);
  CHECK(count_nodes(info.group, WIA_OP_LSTM_GRADIENT, &node) == 1); /* find_node */
  CHECK(node->output_count == 4);                                   /* x, w, r, bias */
  for (uint32_t i = 0; i < 4; i++) CHECK(node->outputs[i] == info.group->outputs[i]);
  CHECK_STATUS(wia_destroy_gradient(gradient), WIA_STATUS_OK);
  config.wanted = 1u << 3; /* bias: what has to be there, and it */
  info = query(&config, &gradient);
  CHECK(info.group->output_count == 1);
  CHECK(count_nodes(info.group, WIA_OP_LSTM_GRADIENT, &node) == 1);
  CHECK(node->outputs[3] == info.group->outputs[0]);
  CHECK_STATUS(wia_destroy_gradient(gradient), WIA_STATUS_OK);
}

/* Nodes of other attributes are others: the scores before and behind the soft cap of attention. */
static void test_other_attributes_are_other_nodes(void) {
  const wia_tensor_layout_t heads = LAYOUT(1, 2, 3, 4);
  const wia_tensor_layout_t *const inputs[] = {&heads, &heads, &heads};
  const double cap = 2;
  const wia_attribute_t softcap = {
      .name = "softcap", .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .data = &cap};
  wia_gradient_config_t config = WIA_GRADIENT_CONFIG_INIT;
  config.op = WIA_OP_ATTENTION;
  config.inputs = inputs;
  config.input_count = 3;
  config.attributes = &softcap;
  config.attribute_count = 1;
  wia_gradient_t *gradient = NULL;
  wia_gradient_info_t info = query(&config, &gradient);
  const wia_node_t *node = NULL;
  CHECK(count_nodes(info.group, WIA_OP_ATTENTION, &node) == 2); /* is_same */
  CHECK_STATUS(wia_destroy_gradient(gradient), WIA_STATUS_OK);
}

static void refuse(wia_op_t op, const wia_shape_t *inputs, uint32_t count,
                   const wia_attribute_t *attributes, uint32_t attribute_count,
                   const char *message) {
  wia_shape_t outputs[8];
  wia_op_info_t info = WIA_OP_INFO_INIT;
  CHECK_STATUS(wia_get_op_info(op, &info), WIA_STATUS_OK);
  CHECK_STATUS(
      wia_infer_outputs(op, inputs, count, attributes, attribute_count, outputs, info.output_count),
      WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE(message);
}

static void test_refusals(void) {
  const char text[] = "ij,jk->ik";
  int64_t codes[sizeof text - 1], place = 2;
  for (uint32_t i = 0; i < sizeof text - 1; i++) codes[i] = text[i];
  const wia_attribute_t attributes[] = {
      {.name = "equation", .type = WIA_ATTRIBUTE_INT64, .count = sizeof text - 1, .data = codes},
      {.name = "place", .type = WIA_ATTRIBUTE_INT64, .count = 1, .data = &place}};
  const wia_shape_t product[] = {{.dtype = WIA_FLOAT32, .rank = 2, .shape = {3, 5}},
                                 {.dtype = WIA_FLOAT32, .rank = 2, .shape = {3, 4}},
                                 {.dtype = WIA_FLOAT32, .rank = 2, .shape = {4, 5}}};
  refuse(WIA_OP_EINSUM_GRADIENT, product, 3, attributes, 2,
         "place is 2, and there is no input of that number behind grad"); /* has_input */
  place = 1;
  const wia_shape_t turned[] = {
      {.dtype = WIA_FLOAT32, .rank = 2, .shape = {5, 3}}, product[1], product[2]};
  refuse(WIA_OP_EINSUM_GRADIENT, turned, 3, attributes, 2,
         "grad has the shape [5, 3]; expected that of the output, [3, 5]"); /* check_forward */
  wia_shape_t layer[8] = {{.dtype = WIA_FLOAT32, .rank = 4, .shape = {3, 1, 2, 4}},
                          {.dtype = WIA_FLOAT32, .rank = 3, .shape = {3, 2, 5}},
                          {.dtype = WIA_FLOAT32, .rank = 3, .shape = {1, 4, 5}},
                          {.dtype = WIA_FLOAT32, .rank = 3, .shape = {1, 4, 4}}};
  layer[7] = (wia_shape_t){.dtype = WIA_FLOAT32, .rank = 3, .shape = {1, 3, 4}};
  refuse(WIA_OP_RNN_GRADIENT, layer, 8, NULL, 0,
         "grad_last has the shape [1, 3, 4]; expected [1, 2, 4]"); /* expect_shape of last */
}

int main(void) {
  test_one_node_for_all();
  test_other_attributes_are_other_nodes();
  test_refusals();
  return CHECK_DONE();
}
