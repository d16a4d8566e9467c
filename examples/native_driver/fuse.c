/* fuse.c: groups that one kernel computes: a matrix product, then a bias, relu, or both.
 *
 * What lies between the operations stays in registers and is never written. All other groups are
 * UNIMPLEMENTED: the library then asks for their operations one by one. */
#include <string.h>

#include "sample.h"

static bool is_op(const wia_group_t *group, uint32_t node, const char *name) {
  return node < group->node_count && strcmp(group->nodes[node]->op_name, name) == 0;
}

/* The number of a value among the operands of a launch; UINT32_MAX: it lies between nodes. */
static uint32_t find_operand(const wia_group_t *group, uint32_t value) {
  for (uint32_t i = 0; i < group->input_count; i++)
    if (group->inputs[i] == value) return i;
  for (uint32_t i = 0; i < group->output_count; i++)
    if (group->outputs[i] == value) return group->input_count + i;
  return UINT32_MAX;
}

static bool has_shape(const wia_tensor_layout_t *a, const wia_tensor_layout_t *b) {
  return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

/* One row, or one number, that is added to each row of output. */
static bool is_row(const wia_tensor_layout_t *bias, const wia_tensor_layout_t *output) {
  if (bias->rank > output->rank) return false;
  for (uint32_t i = 0; i + 1 < bias->rank; i++)
    if (bias->shape[i] != 1) return false;
  return true;
}

/* Node 1 as the addition of a row to the product, which is value `sum`. */
static bool read_bias(const wia_group_t *group, uint32_t sum, sample_layer_t *layer) {
  const wia_node_t *node = group->nodes[1];
  const uint32_t bias = node->inputs[0] == sum ? node->inputs[1] : node->inputs[0];
  if ((node->inputs[0] != sum && node->inputs[1] != sum) || bias == sum) return false;
  layer->row = find_operand(group, bias);
  layer->bias = group->values[bias]->layout;
  const wia_tensor_layout_t *product = group->values[sum]->layout;
  return is_row(layer->bias, product) &&
         has_shape(group->values[node->outputs[0]]->layout, product);
}

static bool read_layer(const wia_group_t *group, sample_layer_t *layer) {
  if (!is_op(group, 0, "matmul") || group->output_count != 1) return false;
  const wia_node_t *product = group->nodes[0];
  if (group->values[product->inputs[0]]->layout->rank < 2 ||
      group->values[product->inputs[1]]->layout->rank < 2)
    return false;
  layer->a = find_operand(group, product->inputs[0]);
  layer->b = find_operand(group, product->inputs[1]);
  uint32_t last = product->outputs[0], n = 1;
  if (is_op(group, n, "add")) {
    if (!read_bias(group, last, layer)) return false;
    last = group->nodes[n++]->outputs[0];
  }
  if (is_op(group, n, "relu")) {
    if (group->nodes[n]->inputs[0] != last) return false;
    layer->activates = 1;
    last = group->nodes[n++]->outputs[0];
  }
  layer->output = find_operand(group, last);
  return n == group->node_count && layer->output == group->input_count;
}

wia_status_t sample_prepare_group(const wia_request_t *request, wia_driver_kernel_t *out_kernel,
                                  wia_error_t *out_error) {
  const wia_group_t *group = request->group;
  sample_layer_t layer = {0};
  if (!read_layer(group, &layer))
    return sample_fail(out_error, WIA_STATUS_UNIMPLEMENTED,
                       "a group of %u operations was given; this driver fuses matmul, then add of "
                       "a row, relu, or both",
                       group->node_count);
  sample_node_t node;
  const wia_status_t status = sample_read_part(request, 0, &node, out_error);
  if (status != WIA_STATUS_OK) return status;
  if (node.inputs[0]->dtype != WIA_FLOAT32)
    return sample_fail(out_error, WIA_STATUS_UNIMPLEMENTED, "a group of %s",
                       sample_dtype_name(node.inputs[0]->dtype));
  /* The product is written where the group ends, which has its shape. */
  node.output = group->values[group->outputs[0]]->layout;
  out_kernel->name = layer.bias == NULL ? "matmul_relu"
                     : layer.activates  ? "matmul_add_relu"
                                        : "matmul_add";
  return sample_prepare_layer(&node, &layer, out_kernel);
}
