/* groups.h: groups for tests, built from a list of nodes over values of a few layouts. */
#ifndef TEST_GROUPS_H
#define TEST_GROUPS_H

#include "check.h"

enum { GROUP_VALUES = 48, GROUP_NODES = 24, NONE = UINT32_MAX };

typedef struct groups_node_t {
  wia_op_t op;
  uint32_t inputs[3], output; /* values; NONE: left out */
} groups_node_t;

typedef struct groups_t {
  wia_value_t values[GROUP_VALUES];
  const wia_value_t *value_pointers[GROUP_VALUES];
  wia_node_t nodes[GROUP_NODES];
  const wia_node_t *node_pointers[GROUP_NODES];
  uint32_t operands[GROUP_NODES][4];
  uint32_t inputs[WIA_MAX_OPERANDS], outputs[WIA_MAX_OPERANDS];
  wia_group_t group;
} groups_t;

/* All values have the layout. Nodes end at op 0; inputs are as many as there are up to the last that
 * is not NONE, but for those of the group, which are its first input_count values. One output: what
 * the last node writes. */
static inline void groups_build(groups_t *g, const wia_tensor_layout_t *layout,
                                uint32_t input_count, const groups_node_t *nodes) {
  memset(g, 0, sizeof *g);
  for (uint32_t i = 0; i < GROUP_VALUES; i++) {
    g->values[i] = WIA_VALUE_INIT;
    g->values[i].layout = layout;
    g->value_pointers[i] = &g->values[i];
  }
  for (uint32_t i = 0; i < input_count; i++) g->inputs[i] = i;
  uint32_t n = 0;
  for (; nodes[n].op; n++) {
    wia_node_t *node = &g->nodes[n];
    *node = WIA_NODE_INIT;
    memcpy(g->operands[n], nodes[n].inputs, sizeof nodes[n].inputs);
    g->operands[n][3] = g->outputs[0] = nodes[n].output;
    node->op = nodes[n].op;
    node->inputs = g->operands[n];
    node->outputs = &g->operands[n][3];
    node->output_count = 1;
    for (uint32_t i = 0; i < 3; i++) {
      if (nodes[n].inputs[i] != NONE) node->input_count = i + 1;
    }
    g->node_pointers[n] = node;
  }
  g->group = WIA_GROUP_INIT;
  g->group.nodes = g->node_pointers;
  g->group.node_count = n;
  g->group.values = g->value_pointers;
  g->group.value_count = GROUP_VALUES;
  g->group.inputs = g->inputs;
  g->group.input_count = input_count;
  g->group.outputs = g->outputs;
  g->group.output_count = 1;
}

static inline const wia_tensor_layout_t *groups_layout(wia_tensor_t tensor) {
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(tensor, &info), WIA_STATUS_OK);
  return info.layout;
}

static inline wia_plan_info_t groups_info(wia_plan_t *plan) {
  wia_plan_info_t info = WIA_PLAN_INFO_INIT;
  CHECK_STATUS(wia_get_plan_info(plan, &info), WIA_STATUS_OK);
  return info;
}

#endif
