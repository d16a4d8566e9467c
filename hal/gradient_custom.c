/* gradient_custom.c: nodes of a gradient, by the function of a registered operation. What the function
 * adds is written down first; then what is needed goes into the group. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "custom.h"
#include "gradient.h"

enum { NONE = -1 };

typedef struct value_t {
  wia_shape_t shape; /* of an operand that is left out: all zero */
  bool needed;
  int32_t value; /* of the group; NONE: not yet */
} value_t;

typedef struct node_t {
  const wia__op_t *op;
  uint32_t *inputs;
  wia_attribute_t *attributes;
  uint32_t input_count, attribute_count;
  uint32_t first; /* the value of its first output */
} node_t;

/* What the function has a handle of. */
typedef struct builder_t {
  wia__object_t object;
  pthread_mutex_t mutex;
  wia__gradient_build_t *build; /* NULL: the function has returned */
  wia__items_t values, nodes;
} builder_t;

static void destroy_builder(wia__object_t *object) {
  builder_t *builder = (builder_t *)object;
  free(builder->values.items);
  free(builder->nodes.items);
  pthread_mutex_destroy(&builder->mutex);
  free(builder);
}

static value_t *value_at(const builder_t *builder, uint32_t i) {
  return (value_t *)builder->values.items + i;
}

/* -- operands ------------------------------------------------------------------------------------ */

/* A program without steps: operands have names and slots as those of the catalog have. */
static wia_status_t start_operands(wia__gradient_build_t *build) {
  const wia__op_t *op = build->op;
  const uint32_t inputs = op->max_input_count, outputs = op->output_count;
  wia__gradient_program_t *program = wia__take_gradient(build->made, sizeof *program);
  const char **names = wia__take_gradient(build->made, (inputs + 2 * outputs) * sizeof *names);
  if (!program || !names) return wia__no_gradient_memory();
  memcpy(names, op->operand_names, (inputs + outputs) * sizeof *names);
  for (uint32_t i = 0; i < outputs; i++) {
    const size_t size = strlen(op->operand_names[inputs + i]) + sizeof "grad_";
    char *name = wia__take_gradient(build->made, size);
    if (!name) return wia__no_gradient_memory();
    snprintf(name, size, "grad_%s", op->operand_names[inputs + i]);
    names[inputs + outputs + i] = name;
  }
  program->names = names;
  program->slot_count = inputs + 2 * outputs;
  build->program = program;
  wia__start_program(build, 0);
  return WIA_STATUS_OK;
}

static wia_status_t add_operands(builder_t *builder) {
  const wia__gradient_build_t *build = builder->build;
  const uint32_t count = build->op->max_input_count + build->op->output_count;
  for (uint32_t i = 0; i < build->program->slot_count; i++) {
    value_t value = {.value = NONE};
    if (i >= count || build->of.given[i]) value.shape = build->of.slots[i];
    if (!wia__push(&builder->values, &value, sizeof value)) return wia__no_gradient_memory();
  }
  return WIA_STATUS_OK;
}

/* -- what the function adds ---------------------------------------------------------------------- */

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
static wia_status_t read_inputs(const builder_t *builder, const wia__op_t *op,
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
    out_shapes[i] = value_at(builder, inputs[i])->shape;
    if (out_shapes[i].dtype == WIA_DTYPE_NONE)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "inputs[%u] of %s is the value %u, an operand that the call left out", i,
                       op->name, inputs[i]);
  }
  return WIA_STATUS_OK;
}

/* Under the mutex; a failure leaves the values as they were. */
static wia_status_t append(builder_t *builder, node_t *node, const uint32_t *inputs,
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
    const value_t value = {.shape = shapes[i], .value = NONE};
    enough = wia__push(&builder->values, &value, sizeof value);
  }
  if (enough && wia__push(&builder->nodes, node, sizeof *node)) return WIA_STATUS_OK;
  builder->values.count = before;
  return wia__no_gradient_memory();
}

static wia_status_t add(builder_t *builder, node_t *node, const uint32_t *inputs,
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
  builder_t *builder = NULL;
  const wia__op_t *op = NULL;
  wia_status_t status = wia__resolve(handle, WIA__GRADIENT_BUILDER, "builder", &builder);
  if (!status) status = wia__resolve_op(number, &op);
  if (status) return status;
  if (input_count > op->max_input_count || output_count < 1 || output_count > op->output_count)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s is given %u inputs and %u outputs; it has at most %u and %u", op->name,
                     input_count, output_count, op->max_input_count, op->output_count);
  node_t node = {.op = op, .input_count = input_count, .attribute_count = attribute_count};
  wia_shape_t shapes[WIA_MAX_OPERANDS];
  wia__retain(&builder->object); /* a shape function is called outside the epoch */
  status = add(builder, &node, inputs, attributes, shapes);
  wia__release(&builder->object);
  for (uint32_t i = 0; i < output_count && !status; i++) {
    out_values[i] = node.first + i;
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

/* -- the call ------------------------------------------------------------------------------------ */

static wia_status_t call_function(builder_t *builder, uint32_t wanted, uint32_t *out_gradients) {
  const wia__gradient_build_t *build = builder->build;
  const wia__op_t *op = build->op;
  const wia__custom_t *custom = wia__custom_of(op);
  wia_attribute_t attributes[WIA__MAX_WORDS];
  int32_t dtypes[WIA__MAX_WORDS];
  wia_shape_t operands[WIA_MAX_OPERANDS];
  for (uint32_t i = 0; i < op->max_input_count + op->output_count; i++)
    operands[i] = value_at(builder, i)->shape;
  const wia_gradient_args_t args = {.struct_size = sizeof args,
                                    .input_count = op->max_input_count,
                                    .inputs = operands,
                                    .outputs = operands + op->max_input_count,
                                    .attributes = attributes,
                                    .scalars = build->scalars,
                                    .output_count = op->output_count,
                                    .attribute_count =
                                        wia__give_attributes(op, build->words, attributes, dtypes),
                                    .scalar_count = op->scalar_count,
                                    .wanted = wanted,
                                    .known = build->known};
  void *handle = NULL;
  wia__retain(&builder->object);
  wia_status_t status = wia__make_handle(&builder->object, &handle);
  if (status) return status;
  wia_error_t error;
  wia__init_error(&error);
  wia__thread_t *self = wia__thread();
  const char *function = self->function;
  wia__leave(self);
  status = custom->gradient(custom->context, &args, handle, out_gradients, &error);
  wia__rejoin(self);
  self->function = function;
  wia__close_handle(handle, WIA__GRADIENT_BUILDER);
  pthread_mutex_lock(&builder->mutex); /* who still adds, on another thread, ends here */
  builder->build = NULL;
  pthread_mutex_unlock(&builder->mutex);
  if (status) return wia__take_error(&error, status, NULL, "%s", op->name);
  wia__drop_error(&error);
  return WIA_STATUS_OK;
}

/* -- into the group ------------------------------------------------------------------------------ */

static wia_status_t check_gradients(const wia__gradient_build_t *build, const builder_t *builder,
                                    uint32_t wanted, bool any, const uint32_t *gradients) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < build->op->max_input_count; i++) {
    if (!(wanted >> i & 1)) continue;
    if (gradients[i] == UINT32_MAX) {
      if (any) continue;
      return wia__fail(WIA_STATUS_UNIMPLEMENTED, "%s has no gradient of its input %s",
                       build->op->name, build->op->operand_names[i]);
    }
    if (gradients[i] >= builder->values.count ||
        value_at(builder, gradients[i])->shape.dtype == WIA_DTYPE_NONE)
      return wia__fail(
          WIA_STATUS_INTERNAL,
          "%s: its gradient function gave the value %u for the input %s, which is none "
          "of the %u that there are: a defect of the function",
          build->op->name, gradients[i], build->op->operand_names[i], builder->values.count);
    value_at(builder, gradients[i])->needed = true;
    found++;
  }
  if (found) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_UNIMPLEMENTED, "%s has no gradient for a call like this one",
                   build->op->name);
}

static bool is_needed(const builder_t *builder, const node_t *node) {
  bool needed = false;
  for (uint32_t i = 0; i < node->op->output_count; i++)
    needed |= value_at(builder, node->first + i)->needed;
  return needed;
}

/* Nodes are behind what they take. */
static void mark_needed(const builder_t *builder) {
  const node_t *nodes = builder->nodes.items;
  for (uint32_t n = builder->nodes.count; n-- > 0;) {
    if (!is_needed(builder, &nodes[n])) continue;
    for (uint32_t i = 0; i < nodes[n].input_count; i++)
      if (nodes[n].inputs[i] != UINT32_MAX) value_at(builder, nodes[n].inputs[i])->needed = true;
  }
}

/* The value of the group for one of the builder, whose node went there before. */
static wia_status_t find_value(wia__gradient_build_t *build, const builder_t *builder, uint32_t i,
                               int32_t *out_value) {
  wia_status_t status = WIA_STATUS_OK;
  value_t *value = value_at(builder, i);
  if (value->value == NONE) { /* an operand */
    status = wia__find_operand(build, i);
    value->value = build->slots[i];
  }
  *out_value = value->value;
  return status;
}

static wia_status_t emit_outputs(wia__gradient_build_t *build, const builder_t *builder,
                                 const node_t *from, wia_node_t *node) {
  const wia__op_t *op = from->op;
  uint32_t *outputs = wia__take_gradient(build->made, op->output_count * sizeof *outputs);
  if (!outputs) return wia__no_gradient_memory();
  for (uint32_t i = 0; i < op->output_count; i++) {
    value_t *value = value_at(builder, from->first + i);
    outputs[i] = UINT32_MAX;
    if (i >= op->min_output_count && !value->needed) continue;
    const wia_status_t status = wia__add_value(build, op->operand_names[op->max_input_count + i],
                                               &value->shape, NULL, &value->value);
    if (status) return status;
    outputs[i] = (uint32_t)value->value;
    node->output_count = i + 1;
  }
  node->outputs = outputs;
  return WIA_STATUS_OK;
}

static wia_status_t emit_node(wia__gradient_build_t *build, const builder_t *builder,
                              const node_t *from) {
  wia_node_t *node = wia__take_gradient(build->made, sizeof *node);
  uint32_t *inputs = wia__take_gradient(build->made, from->input_count * sizeof *inputs);
  if (!node || !inputs) return wia__no_gradient_memory();
  for (uint32_t i = 0; i < from->input_count; i++) {
    int32_t value = NONE;
    inputs[i] = UINT32_MAX;
    if (from->inputs[i] == UINT32_MAX) continue;
    const wia_status_t status = find_value(build, builder, from->inputs[i], &value);
    if (status) return status;
    inputs[i] = (uint32_t)value;
  }
  *node = WIA_NODE_INIT;
  node->op = from->op->op;
  node->op_name = from->op->name;
  node->attributes = from->attributes;
  node->attribute_count = from->attribute_count;
  node->inputs = inputs;
  node->input_count = from->input_count;
  node->source = build->op->name;
  const wia_status_t status = emit_outputs(build, builder, from, node);
  if (status) return status;
  return wia__push(&build->made->nodes, &node, sizeof node) ? WIA_STATUS_OK
                                                            : wia__no_gradient_memory();
}

/* An output of a group is what a node has written, and is there once: of anything else a copy is. */
static wia_status_t emit_gradient(wia__gradient_build_t *build, const builder_t *builder,
                                  uint32_t input, uint32_t gradient) {
  int32_t value = NONE;
  wia_status_t status = find_value(build, builder, gradient, &value);
  if (status) return status;
  if (!wia__is_written(build, value) || wia__is_output(build, value)) {
    const wia__op_t *copy = wia__get_op(WIA_OP_COPY);
    wia_node_t *node = wia__take_gradient(build->made, sizeof *node);
    uint32_t *operands = wia__take_gradient(build->made, 2 * sizeof *operands);
    if (!node || !operands) return wia__no_gradient_memory();
    operands[0] = (uint32_t)value;
    status = wia__add_value(build, copy->operand_names[copy->max_input_count],
                            &value_at(builder, gradient)->shape, NULL, &value);
    if (status) return status;
    operands[1] = (uint32_t)value;
    *node = WIA_NODE_INIT;
    node->op = copy->op;
    node->op_name = copy->name;
    node->inputs = operands;
    node->outputs = operands + 1;
    node->input_count = node->output_count = 1;
    node->source = build->op->name;
    if (!wia__push(&build->made->nodes, &node, sizeof node)) return wia__no_gradient_memory();
  }
  return wia__add_output(build, input, value);
}

static wia_status_t emit(wia__gradient_build_t *build, const builder_t *builder, uint32_t wanted,
                         const uint32_t *gradients) {
  const node_t *nodes = builder->nodes.items;
  wia_status_t status = WIA_STATUS_OK;
  mark_needed(builder);
  for (uint32_t n = 0; n < builder->nodes.count && !status; n++)
    if (is_needed(builder, &nodes[n])) status = emit_node(build, builder, &nodes[n]);
  for (uint32_t i = 0; i < build->op->max_input_count && !status; i++)
    if (wanted >> i & 1 && gradients[i] != UINT32_MAX)
      status = emit_gradient(build, builder, i, gradients[i]);
  return status;
}

wia_status_t wia__call_gradient(wia__gradient_build_t *build, uint32_t wanted, bool any) {
  uint32_t gradients[WIA_MAX_OPERANDS];
  memset(gradients, 0xff, sizeof gradients);
  builder_t *builder = calloc(1, sizeof *builder);
  if (!builder) return wia__no_gradient_memory();
  wia__init_object(&builder->object, WIA__GRADIENT_BUILDER, destroy_builder);
  pthread_mutex_init(&builder->mutex, NULL);
  builder->build = build;
  wia_status_t status = start_operands(build);
  if (!status) status = add_operands(builder);
  if (!status) status = call_function(builder, wanted, gradients);
  if (!status) status = check_gradients(build, builder, wanted, any, gradients);
  if (!status) status = emit(build, builder, wanted, gradients);
  wia__release(&builder->object);
  return status;
}
