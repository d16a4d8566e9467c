/* gradient_steps.c: nodes of a gradient, by the program of an operation of the catalog. */
#include <assert.h>
#include <string.h>

#include "gradient.h"
#include "layout.h"

enum { ABSENT = -1, MISSING = -2 }; /* slots: a left-out operand; not looked at yet */

/* -- nodes --------------------------------------------------------------------------------------- */

static bool fill_attribute(wia__gradient_t *made, const wia__attribute_spec_t *spec, bool scalar,
                           const wia__list_t *list, wia_attribute_t *out) {
  void *data = wia__take_gradient(made, list->count * sizeof(int64_t));
  if (!data) return false;
  const bool real = scalar || spec->type == WIA_ATTRIBUTE_FLOAT64;
  out->name = spec->name;
  out->type = real ? WIA_ATTRIBUTE_FLOAT64 : spec->type;
  out->count = list->count;
  for (uint32_t i = 0; i < list->count; i++) {
    const wia_scalar_t item = list->items[i];
    if (real)
      ((double *)data)[i] = list->real ? item.f64 : (double)item.i64;
    else if (spec->type == WIA_ATTRIBUTE_DTYPE)
      ((int32_t *)data)[i] = (int32_t)item.i64;
    else
      ((int64_t *)data)[i] = list->real ? (int64_t)item.f64 : item.i64;
  }
  out->data = data;
  return true;
}

static const wia__attribute_spec_t *find_spec(const wia__op_t *op, const char *name,
                                              bool *out_scalar) {
  for (uint32_t i = 0; i < op->attribute_count + op->scalar_count; i++) {
    *out_scalar = i >= op->attribute_count;
    const wia__attribute_spec_t *spec =
        *out_scalar ? &op->scalars[i - op->attribute_count] : &op->attributes[i];
    if (strcmp(spec->name, name) == 0) return spec;
  }
  return NULL;
}

/* A list that was not given is left out. */
static wia_status_t fill_attributes(wia__gradient_build_t *build, const wia__gradient_step_t *step,
                                    const wia__op_t *op, wia_node_t *node) {
  wia_attribute_t *attributes =
      wia__take_gradient(build->made, step->attribute_count * sizeof *attributes);
  if (!attributes) return wia__no_gradient_memory();
  node->attributes = attributes;
  for (uint32_t i = 0; i < step->attribute_count; i++) {
    bool scalar = false;
    const wia__attribute_spec_t *spec = find_spec(op, step->attributes[i].name, &scalar);
    assert(spec); /* the generator looked */
    wia__list_t list;
    wia__compute_terms(&build->of, step->attributes[i].terms, &list);
    if (!fill_attribute(build->made, spec, scalar, &list, &attributes[node->attribute_count++]))
      return wia__no_gradient_memory();
  }
  return WIA_STATUS_OK;
}

static wia_shape_t shape_of_value(const wia__gradient_build_t *build, uint32_t value) {
  wia_shape_t none = {0};
  return value == UINT32_MAX ? none : wia__shape_of(wia__value_of(build, (int32_t)value)->layout);
}

/* One output of a node, which becomes the slot of the step. */
static wia_status_t add_output(wia__gradient_build_t *build, const wia__gradient_step_t *step,
                               const wia_shape_t *shapes, wia_node_t *node) {
  uint32_t *outputs = (uint32_t *)node->outputs; /* made by add_outputs() */
  int32_t value = (int32_t)outputs[step->output];
  if (outputs[step->output] == UINT32_MAX) {
    const char *name = build->program->names[step->to];
    const wia_status_t status = wia__add_value(build, name, &shapes[step->output], NULL, &value);
    if (status) return status;
    outputs[step->output] = (uint32_t)value;
    if (node->output_count <= step->output) node->output_count = step->output + 1u;
  }
  build->slots[step->to] = value;
  return WIA_STATUS_OK;
}

/* The outputs that have to be there, and the one that is wanted. There is room for all. */
static wia_status_t add_outputs(wia__gradient_build_t *build, const wia__gradient_step_t *step,
                                const wia__op_t *op, const wia_shape_t *shapes, wia_node_t *node) {
  uint32_t *outputs = wia__take_gradient(build->made, op->output_count * sizeof *outputs);
  if (!outputs) return wia__no_gradient_memory();
  for (uint32_t i = 0; i < op->output_count; i++) outputs[i] = UINT32_MAX;
  node->outputs = outputs;
  node->output_count = op->min_output_count;
  const wia_status_t status = add_output(build, step, shapes, node);
  for (uint32_t i = 0; !status && i < op->min_output_count; i++) {
    if (outputs[i] != UINT32_MAX) continue;
    int32_t value = 0;
    const wia_status_t failed =
        wia__add_value(build, op->operand_names[op->max_input_count + i], &shapes[i], NULL, &value);
    if (failed) return failed;
    outputs[i] = (uint32_t)value;
  }
  return status;
}

static size_t attribute_size(const wia_attribute_t *attribute) {
  return attribute->count *
         (attribute->type == WIA_ATTRIBUTE_DTYPE ? sizeof(int32_t) : sizeof(int64_t));
}

static bool is_same(const wia_node_t *a, const wia_node_t *b) {
  if (a->op != b->op || a->input_count != b->input_count ||
      a->attribute_count != b->attribute_count)
    return false;
  if (a->input_count && memcmp(a->inputs, b->inputs, a->input_count * sizeof *a->inputs) != 0)
    return false;
  for (uint32_t i = 0; i < a->attribute_count; i++) {
    const wia_attribute_t *one = &a->attributes[i], *other = &b->attributes[i];
    if (strcmp(one->name, other->name) != 0 || one->count != other->count ||
        (one->count && memcmp(one->data, other->data, attribute_size(one)) != 0))
      return false;
  }
  return true;
}

/* The node that gives several outputs and was made for another of them; NULL: there is none. */
static wia_node_t *find_node(const wia__gradient_build_t *build, const wia_node_t *node,
                             const wia__op_t *op) {
  wia_node_t *const *nodes = build->made->nodes.items;
  for (uint32_t i = 0; op->output_count > 1 && i < build->made->nodes.count; i++)
    if (is_same(nodes[i], node)) return nodes[i];
  return NULL;
}

/* Whether the operation would only copy what it gets, for these shapes. */
static bool copies(const wia__op_t *op, const wia_node_t *node, const wia_shape_t *from,
                   const wia_shape_t *to) {
  if (op->op != WIA_OP_COPY && op->op != WIA_OP_SUM_TO && op->op != WIA_OP_RESHAPE &&
      op->op != WIA_OP_BROADCAST && op->op != WIA_OP_CAST)
    return false;
  for (uint32_t i = 0; i < node->attribute_count; i++)
    if (node->attributes[i].type == WIA_ATTRIBUTE_FLOAT64 &&
        *(const double *)node->attributes[i].data != 1)
      return false;
  return from->dtype == to->dtype && from->rank == to->rank &&
         memcmp(from->shape, to->shape, from->rank * sizeof *from->shape) == 0;
}

static bool is_target(const wia__gradient_build_t *build, uint32_t slot) {
  const uint32_t count = build->program->list ? 1 : build->op->max_input_count;
  for (uint32_t i = 0; i < count; i++)
    if (build->program->targets[i] == (int32_t)slot) return true;
  return false;
}

static wia_status_t add_node(wia__gradient_build_t *build, const wia__gradient_step_t *step,
                             const uint32_t *inputs, uint32_t input_count) {
  const wia__op_t *op = wia__get_op(step->op);
  wia_node_t *node = wia__take_gradient(build->made, sizeof *node);
  if (!node) return wia__no_gradient_memory();
  *node = WIA_NODE_INIT;
  node->op = step->op;
  node->op_name = op->name;
  node->inputs = inputs;
  node->input_count = input_count;
  node->source = build->op->name;
  wia_status_t status = fill_attributes(build, step, op, node);
  wia_shape_t given[WIA_MAX_OPERANDS], shapes[WIA_MAX_OPERANDS];
  wia_scalar_t words[WIA__MAX_WORDS], scalars[WIA__MAX_SCALARS];
  for (uint32_t i = 0; i < input_count; i++) given[i] = shape_of_value(build, inputs[i]);
  if (!status)
    status = wia__words_of_attributes(op, node->attributes, node->attribute_count, words, scalars);
  if (!status) status = wia__infer(op, given, input_count, words, NULL, 0, shapes);
  if (status) return status;
  if (copies(op, node, &given[0], &shapes[0])) {
    const int32_t value = (int32_t)inputs[0];
    if (!is_target(build, step->to) ||
        (wia__is_written(build, value) && !wia__is_output(build, value))) {
      build->slots[step->to] = value;
      return WIA_STATUS_OK;
    }
  }
  wia_node_t *there = find_node(build, node, op);
  if (there) return add_output(build, step, shapes, there);
  status = add_outputs(build, step, op, shapes, node);
  if (!status && !wia__push(&build->made->nodes, &node, sizeof node))
    status = wia__no_gradient_memory();
  return status;
}

/* A gradient that there isn't is 0. */
static wia_status_t add_zero(wia__gradient_build_t *build, uint32_t slot, uint32_t output) {
  static const wia__gradient_attribute_t none;
  const wia__op_t *op = wia__get_op(WIA_OP_FILL);
  const wia_shape_t *shape = &build->outputs[output];
  const wia__gradient_step_t step = {.op = WIA_OP_FILL, .to = (uint16_t)slot, .attributes = &none};
  wia_node_t *node = wia__take_gradient(build->made, sizeof *node);
  wia_attribute_t *attributes = wia__take_gradient(build->made, 2 * sizeof *attributes);
  int64_t *sizes = wia__take_gradient(build->made, sizeof shape->shape);
  int32_t *dtype = wia__take_gradient(build->made, sizeof *dtype);
  if (!node || !attributes || !sizes || !dtype) return wia__no_gradient_memory();
  memcpy(sizes, shape->shape, sizeof shape->shape);
  *dtype = shape->dtype;
  attributes[0] = (wia_attribute_t){
      .name = "shape", .data = sizes, .type = WIA_ATTRIBUTE_INT64, .count = shape->rank};
  attributes[1] =
      (wia_attribute_t){.name = "dtype", .data = dtype, .type = WIA_ATTRIBUTE_DTYPE, .count = 1};
  *node = WIA_NODE_INIT;
  node->op = op->op;
  node->op_name = op->name;
  node->attributes = attributes;
  node->attribute_count = 2;
  node->source = build->op->name;
  const wia_status_t status = add_outputs(build, &step, op, shape, node);
  if (!status && !wia__push(&build->made->nodes, &node, sizeof node))
    return wia__no_gradient_memory();
  return status;
}

/* -- slots --------------------------------------------------------------------------------------- */

static uint32_t input_slots(const wia__gradient_build_t *build) {
  return build->program->list ? 1 : build->op->max_input_count;
}

wia_status_t wia__find_operand(wia__gradient_build_t *build, uint32_t slot) {
  const uint32_t inputs = input_slots(build), outputs = build->op->output_count;
  const char *name = build->program->names[slot];
  if (!build->of.given[slot] && slot < inputs + outputs) {
    build->slots[slot] = ABSENT;
    return WIA_STATUS_OK;
  }
  if (slot < inputs)
    return wia__add_operand(build, WIA_ROLE_INPUT, build->program->list ? build->of.place : slot,
                            name, &build->slots[slot]);
  if (slot < inputs + outputs)
    return wia__add_operand(build, WIA_ROLE_OUTPUT, slot - inputs, name, &build->slots[slot]);
  const uint32_t output = slot - inputs - outputs;
  if (build->outputs[output].dtype == WIA_DTYPE_NONE) {
    build->slots[slot] = ABSENT;
    return WIA_STATUS_OK;
  }
  if (!(build->known >> output & 1)) return add_zero(build, slot, output);
  return wia__add_operand(build, WIA_ROLE_GRADIENT, output, name, &build->slots[slot]);
}

static wia_status_t find_slot(wia__gradient_build_t *build, uint32_t slot, int32_t *out_value);

static wia_status_t do_step(wia__gradient_build_t *build, const wia__gradient_step_t *step) {
  const uint32_t room = step->input_count + build->config->input_count;
  uint32_t *inputs = wia__take_gradient(build->made, room * sizeof *inputs), count = 0;
  if (!inputs) return wia__no_gradient_memory();
  for (uint32_t i = 0; i < step->input_count; i++) {
    const bool list = step->inputs[i] == WIA__LIST;
    for (uint32_t k = 0; k < (list ? build->config->input_count : 1); k++) {
      int32_t value = ABSENT;
      wia_status_t status = WIA_STATUS_OK;
      if (!list)
        status = find_slot(build, step->inputs[i], &value);
      else if (build->inputs[k].dtype != WIA_DTYPE_NONE)
        status = wia__add_operand(build, WIA_ROLE_INPUT, k, build->program->names[0], &value);
      if (status) return status;
      if (count >= WIA_MAX_OPERANDS)
        return wia__fail(WIA_STATUS_UNIMPLEMENTED, "%s has no gradient for a list of %u inputs",
                         build->op->name, build->config->input_count);
      inputs[count++] = value < 0 ? UINT32_MAX : (uint32_t)value;
    }
  }
  return add_node(build, step, inputs, count);
}

/* The value of a slot, with all nodes that it takes. */
static wia_status_t find_slot(wia__gradient_build_t *build, uint32_t slot, int32_t *out_value) {
  wia_status_t status = WIA_STATUS_OK;
  const wia__gradient_program_t *program = build->program;
  if (build->slots[slot] == MISSING) {
    if (slot < input_slots(build) + 2 * build->op->output_count) {
      status = wia__find_operand(build, slot);
    } else {
      uint32_t i = 0;
      while (i < program->step_count &&
             (program->steps[i].to != slot || !wia__holds(&build->of, program->steps[i].condition)))
        i++;
      if (i == program->step_count)
        return wia__fail(WIA_STATUS_UNIMPLEMENTED,
                         "%s has no gradient for operands and attributes like these: its page says "
                         "for which it has",
                         build->op->name);
      status = do_step(build, &program->steps[i]);
    }
  }
  *out_value = build->slots[slot];
  return status;
}

/* -- the whole ----------------------------------------------------------------------------------- */

/* Slots as they are before any step; those of operands are kept from run to run by their values. */
void wia__start_program(wia__gradient_build_t *build, uint32_t place) {
  const uint32_t inputs = input_slots(build), outputs = build->op->output_count;
  const wia_gradient_config_t *config = build->config;
  wia__terms_of_t *of = &build->of;
  of->place = place;
  for (uint32_t i = 0; i < build->program->slot_count; i++) build->slots[i] = MISSING;
  for (uint32_t i = 0; i < inputs; i++) {
    const uint32_t from = build->program->list ? place : i;
    of->slots[i] = build->inputs[from];
    of->given[i] = build->inputs[from].dtype != WIA_DTYPE_NONE;
  }
  for (uint32_t i = 0; i < outputs; i++) {
    of->slots[inputs + i] = of->slots[inputs + outputs + i] = build->outputs[i];
    of->given[inputs + i] = config->outputs ? i < config->output_count && config->outputs[i]
                                            : i < build->op->min_output_count;
    of->given[inputs + outputs + i] = build->known >> i & 1;
  }
}

wia_status_t wia__add_gradient(wia__gradient_build_t *build, uint32_t input) {
  if (build->program->list || build->made->outputs.count == 0) wia__start_program(build, input);
  const uint32_t slot = (uint32_t)build->program->targets[build->program->list ? 0 : input];
  int32_t value = 0;
  const wia_status_t status = find_slot(build, slot, &value);
  if (status) return status;
  return wia__add_output(build, input, value);
}
