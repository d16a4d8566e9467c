/* gradient_group.c: a gradient as a group: its memory, values, operands and outputs. */
#include <stdlib.h>
#include <string.h>

#include "gradient.h"
#include "layout.h"

typedef struct wia__gradient_block_t {
  struct wia__gradient_block_t *next;
  _Alignas(16) unsigned char bytes[];
} wia__gradient_block_t;

/* -- memory -------------------------------------------------------------------------------------- */

wia_status_t wia__no_gradient_memory(void) {
  return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a gradient");
}

void *wia__take_gradient(wia__gradient_t *made, size_t size) {
  wia__gradient_block_t *block = calloc(1, sizeof *block + (size ? size : 1));
  if (!block) return NULL;
  block->next = made->blocks;
  made->blocks = block;
  return block->bytes;
}

bool wia__push(wia__items_t *list, const void *item, size_t size) {
  if (list->count == list->room) {
    const uint32_t room = list->room ? 2 * list->room : 16;
    void *items = realloc(list->items, room * size);
    if (!items) return false;
    list->items = items;
    list->room = room;
  }
  memcpy((char *)list->items + list->count++ * size, item, size);
  return true;
}

static void destroy_gradient(wia__object_t *object) {
  wia__gradient_t *made = (wia__gradient_t *)object;
  wia__layout_t *const *layouts = made->layouts.items;
  for (uint32_t i = 0; i < made->layouts.count; i++) wia__release(&layouts[i]->object);
  while (made->blocks) {
    wia__gradient_block_t *next = made->blocks->next;
    free(made->blocks);
    made->blocks = next;
  }
  wia__items_t *const lists[] = {&made->nodes,   &made->values,      &made->inputs,
                                 &made->outputs, &made->input_roles, &made->output_roles,
                                 &made->layouts};
  for (uint32_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]->items);
  free(made);
}

wia__gradient_t *wia__create_gradient(void) {
  wia__gradient_t *made = calloc(1, sizeof *made);
  if (made) wia__init_object(&made->object, WIA__GRADIENT, destroy_gradient);
  return made;
}

/* -- values -------------------------------------------------------------------------------------- */

wia_status_t wia__add_value(wia__gradient_build_t *build, const char *name,
                            const wia_shape_t *shape, const wia_tensor_layout_t *given,
                            int32_t *out_value) {
  wia__gradient_t *made = build->made;
  wia__layout_t *layout = NULL;
  const wia_status_t status = wia__intern_layout(
      shape->dtype, shape->shape, given ? given->strides : NULL, shape->rank, &layout);
  if (status) return status;
  if (!wia__push(&made->layouts, &layout, sizeof(void *))) {
    wia__release(&layout->object);
    return wia__no_gradient_memory();
  }
  wia_value_t *value = wia__take_gradient(made, sizeof *value);
  if (!value || !wia__push(&made->values, &value, sizeof value)) return wia__no_gradient_memory();
  *value = WIA_VALUE_INIT;
  value->layout = &layout->public_layout;
  value->name = name;
  *out_value = (int32_t)made->values.count - 1;
  return WIA_STATUS_OK;
}

const wia_value_t *wia__value_of(const wia__gradient_build_t *build, int32_t value) {
  return ((wia_value_t *const *)build->made->values.items)[value];
}

bool wia__is_written(const wia__gradient_build_t *build, int32_t value) {
  const uint32_t *inputs = build->made->inputs.items;
  for (uint32_t i = 0; i < build->made->inputs.count; i++)
    if (inputs[i] == (uint32_t)value) return false;
  return true;
}

bool wia__is_output(const wia__gradient_build_t *build, int32_t value) {
  const uint32_t *outputs = build->made->outputs.items;
  for (uint32_t i = 0; i < build->made->outputs.count; i++)
    if (outputs[i] == (uint32_t)value) return true;
  return false;
}

/* An input of the group. */
wia_status_t wia__add_operand(wia__gradient_build_t *build, int32_t role, uint32_t index,
                              const char *name, int32_t *out_value) {
  int32_t *known = &build->operands[role - 1][index];
  if (*known < 0) {
    const wia_gradient_config_t *config = build->config;
    const wia_shape_t *shape =
        role == WIA_ROLE_INPUT ? &build->inputs[index] : &build->outputs[index];
    const wia_tensor_layout_t *layout = NULL;
    if (role == WIA_ROLE_INPUT)
      layout = config->inputs[index];
    else if (config->outputs && index < config->output_count)
      layout = config->outputs[index];
    const wia_status_t status = wia__add_value(build, name, shape, layout, known);
    if (status) return status;
    const wia_role_t is = {.role = role, .index = index};
    const uint32_t value = (uint32_t)*known;
    if (!wia__push(&build->made->inputs, &value, sizeof value) ||
        !wia__push(&build->made->input_roles, &is, sizeof is))
      return wia__no_gradient_memory();
  }
  *out_value = *known;
  return WIA_STATUS_OK;
}

/* -- outputs ------------------------------------------------------------------------------------- */

wia_status_t wia__add_output(wia__gradient_build_t *build, uint32_t input, int32_t value) {
  const wia_role_t is = {.role = WIA_ROLE_INPUT, .index = input};
  const uint32_t output = (uint32_t)value;
  const wia_shape_t *wanted = &build->inputs[input];
  const wia_tensor_layout_t *found = wia__value_of(build, value)->layout;
  if (found->rank != wanted->rank || found->dtype != wanted->dtype ||
      memcmp(found->shape, wanted->shape, wanted->rank * sizeof *wanted->shape) != 0)
    return wia__fail(WIA_STATUS_INTERNAL,
                     "the gradient of %s by input %u has another shape or dtype than the input: a "
                     "defect of that gradient",
                     build->op->name, input);
  if (!wia__push(&build->made->outputs, &output, sizeof output) ||
      !wia__push(&build->made->output_roles, &is, sizeof is))
    return wia__no_gradient_memory();
  return WIA_STATUS_OK;
}

void wia__finish_gradient(wia__gradient_t *made, wia_op_t op) {
  made->group = WIA_GROUP_INIT;
  made->group.nodes = made->nodes.items;
  made->group.node_count = made->nodes.count;
  made->group.values = made->values.items;
  made->group.value_count = made->values.count;
  made->group.inputs = made->inputs.items;
  made->group.input_count = made->inputs.count;
  made->group.outputs = made->outputs.items;
  made->group.output_count = made->outputs.count;
  made->info = WIA_GRADIENT_INFO_INIT;
  made->info.op = op;
  made->info.group = &made->group;
  made->info.inputs = made->input_roles.items;
  made->info.outputs = made->output_roles.items;
}
