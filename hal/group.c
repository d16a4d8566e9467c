/* group.c: checking a group and preparing it as a whole. */
#include "steps.h"

#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 4096, NODES_MAX = 1024, OUTPUTS_MAX = 8 };

enum {
  UNSET = 0,
  GIVEN = 1,
  WRITTEN = 2,
  TAKEN = 3
}; /* by: nobody, the caller, a node, an output */

static wia_status_t bad(const char *what, uint32_t index, const char *why) {
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "group: %s %u %s", what, index, why);
}

static void free_build(wia__group_t *build) {
  for (uint32_t i = 0; build->layouts && i < build->group.value_count; i++) {
    if (build->layouts[i]) wia__release(&build->layouts[i]->object);
  }
  free(build->layouts);
  free(build->values);
  free(build->value_pointers);
  free(build->states);
  free(build->nodes);
  free(build->node_pointers);
}

static wia_status_t start(wia__group_t *build, const wia_group_t *given) {
  if (!given) return wia__null("group");
  wia_status_t status = wia__read_struct(given, &build->group, sizeof build->group,
                                         sizeof build->group, "WIA_GROUP_INIT");
  if (status) return status;
  const wia_group_t *group = &build->group;
  if (group->node_count == 0 || group->node_count > NODES_MAX || group->value_count > VALUES_MAX ||
      group->output_count == 0 || group->output_count > OUTPUTS_MAX ||
      group->input_count > WIA_MAX_OPERANDS - group->output_count ||
      group->scalar_count > WIA__MAX_SCALARS)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "group: %u nodes, %u values, %u inputs, %u outputs, %u scalars; expected 1 to "
                     "%d nodes, at most %d values, 1 to %d outputs, %d operands and %d scalars",
                     group->node_count, group->value_count, group->input_count, group->output_count,
                     group->scalar_count, NODES_MAX, VALUES_MAX, OUTPUTS_MAX, WIA_MAX_OPERANDS,
                     WIA__MAX_SCALARS);
  if (!group->nodes) return wia__null("group->nodes");
  if (!group->values) return wia__null("group->values");
  if (!group->outputs) return wia__null("group->outputs");
  if (!group->inputs && group->input_count) return wia__null("group->inputs");
  build->given_scalars = group->scalar_count;
  build->whole = 1;
  build->layouts = calloc(group->value_count, sizeof *build->layouts);
  build->values = calloc(group->value_count, sizeof *build->values);
  build->value_pointers = calloc(group->value_count, sizeof *build->value_pointers);
  build->states = calloc(group->value_count, sizeof *build->states);
  build->nodes = calloc(group->node_count, sizeof *build->nodes);
  build->node_pointers = calloc(group->node_count, sizeof *build->node_pointers);
  if (build->layouts && build->values && build->value_pointers && build->states && build->nodes &&
      build->node_pointers)
    return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a group");
}

static wia_status_t take_value(wia__group_t *build, uint32_t i) {
  wia_value_t *value = &build->values[i];
  wia_tensor_layout_t layout = {0};
  if (!build->group.values[i]) return bad("value", i, "is NULL");
  wia_status_t status = wia__read_struct(build->group.values[i], value, sizeof *value,
                                         sizeof *value, "WIA_VALUE_INIT");
  if (status) return status;
  if (value->flags) return bad("value", i, "has flags that are not known");
  if (!value->layout) return bad("value", i, "has no layout");
  status = wia__read_struct(value->layout, &layout, sizeof layout, sizeof layout,
                            "wia_get_tensor_info()");
  if (!status)
    status = wia__intern_layout(layout.dtype, layout.shape, layout.strides, layout.rank,
                                &build->layouts[i]);
  if (status) return status;
  value->layout = &build->layouts[i]->public_layout;
  build->value_pointers[i] = value;
  return WIA_STATUS_OK;
}

/* -- nodes --------------------------------------------------------------------------------------- */

static wia_status_t shapes_of(wia__group_t *build, const uint32_t *values, uint32_t count,
                              uint32_t n, bool inputs, wia_shape_t *out) {
  for (uint32_t i = 0; i < count; i++) {
    memset(&out[i], 0, sizeof out[i]);
    if (values[i] == UINT32_MAX) continue;
    if (values[i] >= build->group.value_count) return bad("node", n, "names a value out of range");
    if (inputs && build->states[values[i]] == UNSET)
      return bad("node", n, "reads a value that no input is and no node before has written");
    if (!inputs && build->states[values[i]] != UNSET)
      return bad("node", n, "writes a value that is an input or written before");
    out[i] = wia__shape_of(build->values[values[i]].layout);
  }
  return WIA_STATUS_OK;
}

/* Splits the caller's attributes: those with data become words and hidden scalars, the others take
 * their place among the group's scalars. */
static wia_status_t take_attributes(wia__group_t *build, wia__node_t *node, uint32_t n) {
  const wia__op_t *op = node->op;
  wia_attribute_t fixed[WIA__MAX_WORDS + WIA__MAX_SCALARS];
  uint32_t fixed_count = 0;
  memset(node->places, 0xff, sizeof node->places);
  if (node->node.attribute_count > WIA__MAX_WORDS ||
      (node->node.attribute_count && !node->node.attributes))
    return bad("node", n, "has no attributes where it counts some, or too many");
  for (uint32_t i = 0; i < node->node.attribute_count; i++) {
    const wia_attribute_t *given = &node->node.attributes[i];
    if (given->data) {
      fixed[fixed_count++] = *given;
      continue;
    }
    uint32_t s = 0;
    while (s < op->scalar_count && (!given->name || strcmp(op->scalars[s].name, given->name))) s++;
    if (s == op->scalar_count || given->scalar < 0 ||
        (uint32_t)given->scalar >= build->given_scalars)
      return bad("node", n,
                 "has an attribute without data that is no scalar, or whose place is "
                 "beyond scalar_count");
    node->places[s] = given->scalar;
  }
  const wia_status_t status =
      wia__words_of_attributes(op, fixed, fixed_count, node->words, node->scalars);
  if (status) return status;
  for (uint32_t s = 0; s < op->scalar_count; s++) {
    if (node->places[s] < 0 && build->group.scalar_count == WIA__MAX_SCALARS) {
      build->whole = 0;
      continue;
    }
    if (node->places[s] < 0) node->places[s] = (int32_t)build->group.scalar_count++;
    if ((uint32_t)node->places[s] >= build->given_scalars ||
        build->scalars[node->places[s]].i64 == 0)
      build->scalars[node->places[s]] = node->scalars[s];
  }
  node->node.attribute_count = wia__list_attributes(op, node->words, node->places, node->attributes,
                                                    node->dtypes, &build->request);
  node->node.attributes = node->attributes;
  return WIA_STATUS_OK;
}

/* The driver's form of the operands has those left out, too. */
static void take_operands_of(wia__node_t *node) {
  for (uint32_t i = 0; i < node->op->max_input_count; i++)
    node->inputs[i] = i < node->node.input_count ? node->node.inputs[i] : UINT32_MAX;
  for (uint32_t i = 0; i < node->op->output_count; i++)
    node->outputs[i] = i < node->node.output_count ? node->node.outputs[i] : UINT32_MAX;
  node->node.inputs = node->inputs;
  node->node.outputs = node->outputs;
  node->node.input_count = node->op->max_input_count;
  node->node.output_count = node->op->output_count;
}

static wia_status_t take_node(wia__group_t *build, uint32_t n) {
  wia__node_t *node = &build->nodes[n];
  if (!build->group.nodes[n]) return bad("node", n, "is NULL");
  wia_status_t status = wia__read_struct(build->group.nodes[n], &node->node, sizeof node->node,
                                         sizeof node->node, "WIA_NODE_INIT");
  if (!status) status = wia__resolve_op(node->node.op, &node->op);
  if (status) return status;
  const wia__op_t *op = node->op;
  if (node->node.op_name && strcmp(node->node.op_name, op->name))
    return bad("node", n, "has a number and a name of different operations");
  node->node.op_name = op->name;
  if (node->node.input_count > op->max_input_count || node->node.output_count > op->output_count ||
      node->node.output_count < op->min_output_count || !node->node.outputs ||
      (node->node.input_count && !node->node.inputs))
    return bad("node", n, "has a wrong number of inputs or outputs");
  take_operands_of(node);
  status = take_attributes(build, node, n);
  wia_shape_t inputs[WIA_MAX_OPERANDS], given[WIA_MAX_OPERANDS], outputs[WIA_MAX_OPERANDS];
  if (!status)
    status = shapes_of(build, node->node.inputs, node->node.input_count, n, true, inputs);
  if (!status)
    status = shapes_of(build, node->node.outputs, node->node.output_count, n, false, given);
  if (!status)
    status = wia__infer(op, inputs, node->node.input_count, node->words, given, op->output_count,
                        outputs);
  if (status) return status;
  for (uint32_t i = 0; i < node->node.output_count; i++)
    if (node->node.outputs[i] != UINT32_MAX) build->states[node->node.outputs[i]] = WRITTEN;
  build->node_pointers[n] = &node->node;
  return WIA_STATUS_OK;
}

/* -- the whole ----------------------------------------------------------------------------------- */

static wia_status_t take_inputs(wia__group_t *build) {
  for (uint32_t i = 0; i < build->group.input_count; i++) {
    const uint32_t value = build->group.inputs[i];
    if (value >= build->group.value_count) return bad("input", i, "names a value out of range");
    if (build->states[value] != UNSET) return bad("input", i, "names a value for the second time");
    build->states[value] = GIVEN;
  }
  return WIA_STATUS_OK;
}

static wia_status_t take_outputs(wia__group_t *build) {
  for (uint32_t o = 0; o < build->group.output_count; o++) {
    const uint32_t value = build->group.outputs[o];
    if (value >= build->group.value_count || build->states[value] < WRITTEN)
      return bad("output", o, "names a value that nothing writes");
    if (build->states[value] == TAKEN) return bad("output", o, "names a value for the second time");
    build->states[value] = TAKEN;
    const int32_t alias = build->values[value].alias;
    if (alias >= 0 &&
        ((uint32_t)alias >= build->group.input_count ||
         build->values[build->group.inputs[alias]].layout != build->values[value].layout))
      return bad("output", o, "has an alias that is no input of the same layout");
    if (alias >= 0) build->aliases |= (uint64_t)(alias + 1) << (8 * o);
  }
  return WIA_STATUS_OK;
}

/* A value between nodes was nothing before it is written. */
static wia_status_t check_reads(const wia__group_t *build) {
  for (uint32_t n = 0; n < build->group.node_count; n++) {
    const wia__node_t *node = &build->nodes[n];
    const int32_t s = node->op->read_scalar;
    if (s < 0 || build->states[node->node.outputs[0]] == TAKEN) continue;
    const bool passed = node->places[s] >= 0 && (uint32_t)node->places[s] < build->given_scalars;
    if (passed || node->scalars[s].f64 != 0)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "group: %s of node %u (%s) is not fixed at 0, so the node reads what its "
                       "output was before; that is no output of the group, and was nothing",
                       node->op->scalars[s].name, n, node->op->name);
  }
  return WIA_STATUS_OK;
}

wia__plan_t *wia__create_group_plan(const wia__group_t *group, wia__device_t *device,
                                    const char *name, uint32_t scalar_count) {
  const uint32_t input_count = group->group.input_count;
  const wia_tensor_layout_t *layouts[WIA_MAX_OPERANDS];
  for (uint32_t i = 0; i < input_count; i++)
    layouts[i] = group->values[group->group.inputs[i]].layout;
  for (uint32_t o = 0; o < group->group.output_count; o++)
    layouts[input_count + o] = group->values[group->group.outputs[o]].layout;
  return wia__create_plan(device, name, layouts, input_count, group->group.output_count,
                          scalar_count, group->aliases);
}

static wia_status_t prepare_whole(wia__group_t *build, wia__device_t *device,
                                  wia__plan_t **out_plan) {
  wia__plan_t *plan =
      wia__create_group_plan(build, device, "a group of operations", build->group.scalar_count);
  if (!plan) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a plan");
  const wia_status_t status = wia__prepare_plan(plan, &build->request, NULL);
  if (status)
    wia__release(&plan->object);
  else
    *out_plan = plan;
  return status;
}

static wia_status_t prepare(wia__group_t *build, wia__device_t *device, wia__plan_t **out_plan) {
  build->group.nodes = build->node_pointers;
  build->group.values = build->value_pointers;
  build->request.struct_size = sizeof build->request;
  build->request.group = &build->group;
  wia_status_t status = WIA_STATUS_UNIMPLEMENTED;
  if (build->group.node_count > 1 && build->whole) status = prepare_whole(build, device, out_plan);
  return status == WIA_STATUS_UNIMPLEMENTED ? wia__split_group(build, device, out_plan) : status;
}

wia_status_t wia__plan_group(wia__device_t *device, const wia_group_t *group,
                             wia_scalar_t *out_scalars, wia__plan_t **out_plan) {
  wia__group_t build = {.scalars = out_scalars};
  memset(out_scalars, 0, WIA__MAX_SCALARS * sizeof *out_scalars);
  wia_status_t status = start(&build, group);
  for (uint32_t i = 0; !status && i < build.group.value_count; i++) status = take_value(&build, i);
  if (!status) status = take_inputs(&build);
  for (uint32_t n = 0; !status && n < build.group.node_count; n++) status = take_node(&build, n);
  if (!status) status = take_outputs(&build);
  if (!status) status = check_reads(&build);
  if (!status) status = prepare(&build, device, out_plan);
  free_build(&build);
  return status;
}
