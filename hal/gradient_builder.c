/* gradient_builder.c: what a gradient function adds, checked and written down. */
#include "gradient_builder.h"

#include <stdlib.h>
#include <string.h>

#include "custom.h"

static void destroy_builder(wia__object_t *object) {
  wia__builder_t *builder = (wia__builder_t *)object;
  free(builder->values.items);
  free(builder->nodes.items);
  pthread_mutex_destroy(&builder->mutex);
  free(builder);
}

wia__builder_t *wia__create_builder(wia__gradient_build_t *build) {
  wia__builder_t *builder = calloc(1, sizeof *builder);
  if (!builder) return NULL;
  wia__init_object(&builder->object, WIA__GRADIENT_BUILDER, destroy_builder);
  pthread_mutex_init(&builder->mutex, NULL);
  builder->build = build;
  return builder;
}

static wia_status_t copy_attributes(wia__gradient_t *made, const wia_attribute_t *given,
                                    uint32_t count, wia_attribute_t **out_attributes) {
  wia_attribute_t *attributes = wia__take_gradient(made, count * sizeof *attributes);
  if (!attributes) return wia__no_gradient_memory();
  for (uint32_t i = 0; i < count; i++) {
    const size_t each = given[i].type == WIA_ATTRIBUTE_DTYPE ? sizeof(int32_t) : sizeof(int64_t);
    const size_t length = strlen(given[i].name) + 1;
    char *name = wia__take_gradient(made, length);
    void *data = wia__take_gradient(made, given[i].count * each);
    if (!name || !data) return wia__no_gradient_memory();
    memcpy(name, given[i].name, length);
    if (given[i].count) memcpy(data, given[i].data, given[i].count * each);
    attributes[i] = given[i];
    attributes[i].name = name;
    attributes[i].data = data;
    attributes[i].scalar = -1;
  }
  *out_attributes = attributes;
  return WIA_STATUS_OK;
}

/* Under the mutex. */
static wia_status_t read_inputs(const wia__builder_t *builder, const wia__op_t *op,
                                const uint32_t *inputs, uint32_t count, wia_shape_t *out_shapes) {
  if (!builder->build)
    return wia__fail(WIA_STATUS_INVALID_HANDLE,
                     "the gradient function that the builder was for has returned");
  for (uint32_t i = 0; i < count; i++) {
    out_shapes[i] = (wia_shape_t){0};
    if (inputs[i] == UINT32_MAX) continue;
    if (inputs[i] >= builder->values.count)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "inputs[%u] of %s is the value %u; there are %u so far", i, op->name,
                       inputs[i], builder->values.count);
    out_shapes[i] = wia__built_value(builder, inputs[i])->shape;
    if (out_shapes[i].dtype == WIA_DTYPE_NONE)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "inputs[%u] of %s is the value %u, an operand that the call left out", i,
                       op->name, inputs[i]);
  }
  return WIA_STATUS_OK;
}

/* Under the mutex; a failure leaves the values as they were. */
static wia_status_t append(wia__builder_t *builder, wia__built_node_t *node, const uint32_t *inputs,
                           const wia_attribute_t *attributes, const wia_shape_t *shapes) {
  wia__gradient_t *made = builder->build->made;
  const uint32_t before = builder->values.count;
  const wia_status_t status =
      copy_attributes(made, attributes, node->attribute_count, &node->attributes);
  if (status) return status;
  node->first = before;
  node->inputs = wia__take_gradient(made, node->input_count * sizeof *inputs);
  bool enough = node->inputs != NULL;
  if (enough && node->input_count) memcpy(node->inputs, inputs, node->input_count * sizeof *inputs);
  for (uint32_t i = 0; i < node->op->output_count && enough; i++) {
    const wia__built_value_t value = {.shape = shapes[i], .value = WIA__NO_VALUE};
    enough = wia__push(&builder->values, &value, sizeof value);
  }
  if (enough && wia__push(&builder->nodes, node, sizeof *node)) return WIA_STATUS_OK;
  builder->values.count = before;
  return wia__no_gradient_memory();
}

static wia_status_t add(wia__builder_t *builder, wia__built_node_t *node, const uint32_t *inputs,
                        const wia_attribute_t *attributes, wia_shape_t *out_shapes) {
  wia_shape_t given[WIA_MAX_OPERANDS];
  wia_scalar_t words[WIA__MAX_WORDS], scalars[WIA__MAX_SCALARS];
  pthread_mutex_lock(&builder->mutex);
  wia_status_t status = read_inputs(builder, node->op, inputs, node->input_count, given);
  pthread_mutex_unlock(&builder->mutex);
  if (!status)
    status = wia__words_of_attributes(node->op, attributes, node->attribute_count, words, scalars);
  if (!status) status = wia__infer(node->op, given, node->input_count, words, NULL, 0, out_shapes);
  if (status) return status;
  pthread_mutex_lock(&builder->mutex);
  status = read_inputs(builder, node->op, inputs, node->input_count, given); /* is it still good? */
  if (!status) status = append(builder, node, inputs, attributes, out_shapes);
  pthread_mutex_unlock(&builder->mutex);
  return status;
}

static wia_status_t add_node(wia_gradient_builder_t *handle, wia_op_t number,
                             const uint32_t *inputs, uint32_t input_count,
                             const wia_attribute_t *attributes, uint32_t attribute_count,
                             uint32_t *out_values, wia_shape_t *out_shapes, uint32_t output_count) {
  if (!inputs && input_count) return wia__null("inputs");
  if (!out_values) return wia__null("out_values");
  wia__builder_t *builder = NULL;
  const wia__op_t *op = NULL;
  wia_status_t status = wia__resolve(handle, WIA__GRADIENT_BUILDER, "builder", &builder);
  if (!status) status = wia__resolve_op(number, &op);
  if (status) return status;
  if (input_count > op->max_input_count || output_count < 1 || output_count > op->output_count)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s is given %u inputs and %u outputs; it has at most %u and %u", op->name,
                     input_count, output_count, op->max_input_count, op->output_count);
  wia__built_node_t node = {
      .op = op, .input_count = input_count, .attribute_count = attribute_count};
  wia_shape_t shapes[WIA_MAX_OPERANDS];
  wia__retain(&builder->object); /* a shape function is called outside the epoch */
  status = add(builder, &node, inputs, attributes, shapes);
  wia__release(&builder->object);
  for (uint32_t i = 0; i < output_count && !status; i++) {
    out_values[i] = shapes[i].dtype ? node.first + i : UINT32_MAX;
    if (out_shapes) out_shapes[i] = shapes[i];
  }
  return status;
}

WIA_API wia_status_t wia_add_gradient_node(wia_gradient_builder_t *builder, wia_op_t op,
                                           const uint32_t *inputs, uint32_t input_count,
                                           const wia_attribute_t *attributes,
                                           uint32_t attribute_count, uint32_t *out_values,
                                           wia_shape_t *out_shapes, uint32_t output_count) {
  WIA__CALL(add_node(builder, op, inputs, input_count, attributes, attribute_count, out_values,
                     out_shapes, output_count));
}
