/* node.c: a single operation as the group of one node that a driver prepares. */
#include <string.h>

#include "custom.h"
#include "kernel.h"
#include "layout.h"

typedef struct single_t {
  wia_request_t request;
  wia_group_t group;
  wia_node_t node;
  const wia_node_t *nodes[1];
  wia_value_t values[WIA_MAX_OPERANDS];
  const wia_value_t *value_pointers[WIA_MAX_OPERANDS];
  uint32_t operands[WIA_MAX_OPERANDS];
  wia_attribute_t attributes[WIA__MAX_WORDS + WIA__MAX_SCALARS];
  int32_t dtypes[WIA__MAX_WORDS];
  int32_t places[WIA__MAX_SCALARS];
} single_t;

static bool is_default(const wia__attribute_spec_t *spec, const wia_scalar_t *words,
                       const wia_scalar_t *defaults) {
  const uint32_t count = spec->count + spec->variable;
  return memcmp(words + spec->word, defaults + spec->word, count * sizeof *words) == 0;
}

static void set_option(wia_request_t *request, const wia__attribute_spec_t *spec, int64_t value) {
  if (spec->choices)
    request->candidate = spec->choices[value];
  else if (strcmp(spec->name, "workspace_size") == 0)
    request->workspace_limit = (uint64_t)value;
  else if (strcmp(spec->name, "use_tensor_cores") == 0 && value)
    request->flags |= WIA_REQUEST_REDUCED_PRECISION;
}

static wia_attribute_t make_attribute(const wia__attribute_spec_t *spec, const wia_scalar_t *words,
                                      int32_t *dtype) {
  wia_attribute_t attribute = {.name = spec->name,
                               .data = words + spec->word + spec->variable,
                               .type = spec->type,
                               .count = spec->count,
                               .scalar = -1};
  if (spec->variable) attribute.count = (uint32_t)words[spec->word].i64;
  if (spec->type == WIA_ATTRIBUTE_DTYPE) {
    *dtype = (int32_t)words[spec->word].i64;
    attribute.data = dtype;
  }
  return attribute;
}

uint32_t wia__list_attributes(const wia__op_t *op, const wia_scalar_t *words,
                              const int32_t *scalar_places, wia_attribute_t *attributes,
                              int32_t *dtypes, wia_request_t *request) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < op->attribute_count; i++) {
    const wia__attribute_spec_t *spec = &op->attributes[i];
    if (spec->option == WIA__OPTION_IN_CALL || is_default(spec, words, op->default_words)) continue;
    if (spec->option) {
      set_option(request, spec, words[spec->word].i64);
    } else {
      attributes[count] = make_attribute(spec, words, &dtypes[count]);
      count++;
    }
  }
  for (uint32_t i = 0; i < op->scalar_count; i++)
    attributes[count++] = (wia_attribute_t){.name = op->scalars[i].name,
                                            .type = op->scalars[i].type,
                                            .count = 1,
                                            .scalar = scalar_places[i]};
  return count;
}

static void fill_values(single_t *single, const wia__plan_t *plan, const wia__op_t *op) {
  for (uint32_t i = 0; i < plan->input_count + plan->output_count; i++) {
    wia_value_t *value = &single->values[i];
    *value = (wia_value_t){.struct_size = sizeof *value,
                           .layout = plan->layouts[i],
                           .alias = -1,
                           .name = op->operand_names[i]};
    if (i >= plan->input_count)
      value->alias = (int32_t)(plan->aliases >> (8 * (i - plan->input_count)) & 0xff) - 1;
    single->value_pointers[i] = value;
    single->operands[i] = plan->layouts[i] ? i : UINT32_MAX;
  }
}

/* What the definition of a registered operation says, where the kernel says nothing. */
static void tell_cost(wia__plan_t *plan, const wia__op_t *op) {
  const wia__custom_t *custom = wia__custom_of(op);
  wia_cost_t *cost = &plan->kernel.cost;
  const bool known = plan->inherited ? plan->kernel.measure != NULL : cost->flops >= 0;
  if (!custom || !custom->cost || known) return;
  wia_shape_t shapes[WIA_MAX_OPERANDS] = {{0}};
  const uint32_t count = plan->input_count + plan->output_count;
  for (uint32_t i = 0; i < count; i++)
    if (plan->layouts[i]) shapes[i] = wia__shape_of(plan->layouts[i]);
  if (plan->inherited) *cost = (wia_cost_t){-1, -1, -1, -1};
  plan->inherited = 0; /* this is of the shapes at hand */
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  custom->cost(custom->context, shapes, count, &cost->flops, &cost->bytes);
  wia__rejoin(self);
}

wia_status_t wia__prepare_operation(wia__plan_t *plan, const wia__op_t *op,
                                    const wia_scalar_t *words) {
  single_t single;
  memset(&single, 0, sizeof single);
  fill_values(&single, plan, op);
  for (uint32_t i = 0; i < op->scalar_count; i++) single.places[i] = (int32_t)i;
  single.request = (wia_request_t){.struct_size = sizeof single.request, .group = &single.group};
  single.node = (wia_node_t){.struct_size = sizeof single.node,
                             .op = op->op,
                             .op_name = op->name,
                             .attributes = single.attributes,
                             .inputs = single.operands,
                             .outputs = single.operands + plan->input_count,
                             .input_count = plan->input_count,
                             .output_count = plan->output_count};
  single.node.attribute_count = wia__list_attributes(op, words, single.places, single.attributes,
                                                     single.dtypes, &single.request);
  single.nodes[0] = &single.node;
  single.group = (wia_group_t){.struct_size = sizeof single.group,
                               .node_count = 1,
                               .nodes = single.nodes,
                               .values = single.value_pointers,
                               .inputs = single.operands,
                               .outputs = single.operands + plan->input_count,
                               .value_count = plan->input_count + plan->output_count,
                               .input_count = plan->input_count,
                               .output_count = plan->output_count,
                               .scalar_count = plan->scalar_count};
  wia__class_t class;
  wia__classify(plan, op, words, &class);
  const wia_status_t status = wia__prepare_plan(plan, &single.request, &class);
  if (!status) tell_cost(plan, op);
  return status;
}
