/* gradient_custom.c: nodes of a gradient, by the function of a registered operation. What the function
 * adds is written down first; then what is needed goes into the group. */
#include <stdio.h>
#include <string.h>

#include "custom.h"
#include "gradient_builder.h"

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

static wia_status_t add_operands(wia__builder_t *builder) {
  const wia__gradient_build_t *build = builder->build;
  const uint32_t count = build->op->max_input_count + build->op->output_count;
  for (uint32_t i = 0; i < build->program->slot_count; i++) {
    wia__built_value_t value = {.value = WIA__NO_VALUE};
    if (i >= count || build->of.given[i]) value.shape = build->of.slots[i];
    if (!wia__push(&builder->values, &value, sizeof value)) return wia__no_gradient_memory();
  }
  return WIA_STATUS_OK;
}

/* -- the call ------------------------------------------------------------------------------------ */

static wia_status_t call_function(wia__builder_t *builder, uint32_t wanted,
                                  uint32_t *out_gradients) {
  const wia__gradient_build_t *build = builder->build;
  const wia__op_t *op = build->op;
  const wia__custom_t *custom = wia__custom_of(op);
  wia_attribute_t attributes[WIA__MAX_WORDS];
  int32_t dtypes[WIA__MAX_WORDS];
  wia_shape_t operands[WIA_MAX_OPERANDS];
  for (uint32_t i = 0; i < op->max_input_count + op->output_count; i++)
    operands[i] = wia__built_value(builder, i)->shape;
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

static wia_status_t check_gradients(const wia__gradient_build_t *build,
                                    const wia__builder_t *builder, uint32_t wanted, bool any,
                                    const uint32_t *gradients) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < build->op->max_input_count; i++) {
    if (!(wanted >> i & 1)) continue;
    if (gradients[i] == UINT32_MAX) {
      if (any) continue;
      return wia__fail(WIA_STATUS_UNIMPLEMENTED, "%s has no gradient of its input %s",
                       build->op->name, build->op->operand_names[i]);
    }
    if (gradients[i] >= builder->values.count ||
        wia__built_value(builder, gradients[i])->shape.dtype == WIA_DTYPE_NONE)
      return wia__fail(
          WIA_STATUS_INTERNAL,
          "%s: its gradient function gave the value %u for the input %s, which is none "
          "of the %u that there are: a defect of the function",
          build->op->name, gradients[i], build->op->operand_names[i], builder->values.count);
    wia__built_value(builder, gradients[i])->needed = true;
    found++;
  }
  if (found) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_UNIMPLEMENTED, "%s has no gradient for a call like this one",
                   build->op->name);
}

static bool is_needed(const wia__builder_t *builder, const wia__built_node_t *node) {
  bool needed = false;
  for (uint32_t i = 0; i < node->op->output_count; i++)
    needed |= wia__built_value(builder, node->first + i)->needed;
  return needed;
}

/* Nodes are behind what they take. */
static void mark_needed(const wia__builder_t *builder) {
  const wia__built_node_t *nodes = builder->nodes.items;
  for (uint32_t n = builder->nodes.count; n-- > 0;) {
    if (!is_needed(builder, &nodes[n])) continue;
    for (uint32_t i = 0; i < nodes[n].input_count; i++)
      if (nodes[n].inputs[i] != UINT32_MAX)
        wia__built_value(builder, nodes[n].inputs[i])->needed = true;
  }
}

/* The value of the group for one of the builder, whose node went there before. */
static wia_status_t find_value(wia__gradient_build_t *build, const wia__builder_t *builder,
                               uint32_t i, int32_t *out_value) {
  wia_status_t status = WIA_STATUS_OK;
  wia__built_value_t *value = wia__built_value(builder, i);
  if (value->value == WIA__NO_VALUE) { /* an operand */
    status = wia__find_operand(build, i);
    value->value = build->slots[i];
  }
  *out_value = value->value;
  return status;
}

static wia_status_t emit_outputs(wia__gradient_build_t *build, const wia__builder_t *builder,
                                 const wia__built_node_t *from, wia_node_t *node) {
  const wia__op_t *op = from->op;
  uint32_t *outputs = wia__take_gradient(build->made, op->output_count * sizeof *outputs);
  if (!outputs) return wia__no_gradient_memory();
  for (uint32_t i = 0; i < op->output_count; i++) {
    wia__built_value_t *value = wia__built_value(builder, from->first + i);
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

static wia_status_t emit_node(wia__gradient_build_t *build, const wia__builder_t *builder,
                              const wia__built_node_t *from) {
  wia_node_t *node = wia__take_gradient(build->made, sizeof *node);
  uint32_t *inputs = wia__take_gradient(build->made, from->input_count * sizeof *inputs);
  if (!node || !inputs) return wia__no_gradient_memory();
  for (uint32_t i = 0; i < from->input_count; i++) {
    int32_t value = WIA__NO_VALUE;
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
static wia_status_t emit_gradient(wia__gradient_build_t *build, const wia__builder_t *builder,
                                  uint32_t input, uint32_t gradient) {
  int32_t value = WIA__NO_VALUE;
  wia_status_t status = find_value(build, builder, gradient, &value);
  if (status) return status;
  if (!wia__is_written(build, value) || wia__is_output(build, value)) {
    const wia__op_t *copy = wia__get_op(WIA_OP_COPY);
    wia_node_t *node = wia__take_gradient(build->made, sizeof *node);
    uint32_t *operands = wia__take_gradient(build->made, 2 * sizeof *operands);
    if (!node || !operands) return wia__no_gradient_memory();
    operands[0] = (uint32_t)value;
    status = wia__add_value(build, copy->operand_names[copy->max_input_count],
                            &wia__built_value(builder, gradient)->shape, NULL, &value);
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

static wia_status_t emit(wia__gradient_build_t *build, const wia__builder_t *builder,
                         uint32_t wanted, const uint32_t *gradients) {
  const wia__built_node_t *nodes = builder->nodes.items;
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
  wia__builder_t *builder = wia__create_builder(build);
  if (!builder) return wia__no_gradient_memory();
  wia_status_t status = start_operands(build);
  if (!status) status = add_operands(builder);
  if (!status) status = call_function(builder, wanted, gradients);
  if (!status) status = check_gradients(build, builder, wanted, any, gradients);
  if (!status) status = emit(build, builder, wanted, gradients);
  wia__release(&builder->object);
  return status;
}
