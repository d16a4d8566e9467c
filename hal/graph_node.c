/* graph_node.c: nodes of graphs: made from enqueued work, copied, described. */
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- memory -------------------------------------------------------------------------------------- */

bool wia__hold_memory(wia__allocation_t *allocation) {
  if (allocation->owned && !wia__try_use(allocation)) return false;
  wia__retain(&allocation->object);
  return true;
}

void wia__drop_memory(wia__allocation_t *allocation) {
  if (allocation->owned) wia__end_use(allocation);
  wia__release(&allocation->object);
}

wia__allocation_t *wia__node_memory(const wia__graph_node_t *node, uint32_t index) {
  const uint32_t operands = wia__count_operands(node);
  const uint32_t sides = node->transfer ? node->transfer->allocation_count : 0;
  if (index < operands) return node->tensors[index].allocation;
  if (index < operands + sides) return node->transfer->allocations[index - operands];
  return node->uses[index - operands - sides];
}

/* -- life ---------------------------------------------------------------------------------------- */

void wia__free_node(wia__graph_node_t *node) {
  if (!node) return;
  for (uint32_t i = 0; i < wia__count_memories(node); i++) {
    wia__allocation_t *allocation = wia__node_memory(node, i);
    if (allocation) wia__drop_memory(allocation);
  }
  if (node->transfer && node->transfer->layout) wia__release(&node->transfer->layout->object);
  if (node->plan) wia__release(&node->plan->object);
  free(node->dependencies);
  free(node->uses);
  free(node->tensors);
  free(node->scalars);
  free(node->transfer);
  free(node);
}

static wia__graph_node_t *make_node(int32_t kind, wia__device_t *device) {
  wia__graph_node_t *node = calloc(1, sizeof *node);
  if (!node) return NULL;
  node->kind = kind;
  node->device = device;
  wia__copy_range_name(node->label);
  return node;
}

wia__graph_node_t *wia__make_kernel_node(wia__plan_t *plan, const wia__tensor_t *tensors,
                                         const wia_scalar_t *scalars) {
  const uint32_t count = plan->input_count + plan->output_count;
  wia__graph_node_t *node = make_node(WIA_GRAPH_KERNEL, plan->device);
  if (!node) return NULL;
  node->tensors = calloc(count + 1, sizeof *node->tensors);
  node->scalars = calloc(plan->scalar_count + 1, sizeof *node->scalars);
  if (!node->tensors || !node->scalars) {
    wia__free_node(node);
    return NULL;
  }
  wia__retain(&plan->object);
  node->plan = plan;
  if (plan->scalar_count) memcpy(node->scalars, scalars, plan->scalar_count * sizeof *scalars);
  for (uint32_t i = 0; i < count; i++) {
    if (!plan->layouts[i]) continue;
    const wia__tensor_t *from = &tensors[i];
    node->tensors[i].operand.layout = plan->layouts[i];
    node->tensors[i].device = plan->device;
    if (!from->allocation) continue;
    if (!wia__hold_memory(from->allocation)) {
      wia__free_node(node);
      return NULL;
    }
    node->tensors[i].allocation = from->allocation;
    wia__set_operand(&node->tensors[i], plan->layouts[i], from->allocation, from->operand.address);
  }
  return node;
}

wia__graph_node_t *wia__make_transfer_node(const wia__transfer_t *transfer, wia__device_t *device) {
  const int32_t kind = transfer->action == WIA__FILL ? WIA_GRAPH_FILL : WIA_GRAPH_COPY;
  wia__graph_node_t *node = make_node(kind, device);
  if (!node || !(node->transfer = malloc(sizeof *transfer))) {
    free(node);
    return NULL;
  }
  *node->transfer = *transfer;
  node->transfer->allocation_count = 0;
  node->transfer->stream = NULL;
  if (transfer->layout) wia__retain(&transfer->layout->object);
  for (uint32_t i = 0; i < transfer->allocation_count; i++) {
    if (!wia__hold_memory(transfer->allocations[i])) {
      wia__free_node(node);
      return NULL;
    }
    node->transfer->allocation_count++;
  }
  return node;
}

wia__graph_node_t *wia__make_function_node(wia_host_fn_t function, void *context,
                                           wia__device_t *device) {
  wia__graph_node_t *node = make_node(WIA_GRAPH_FUNCTION, device);
  if (!node) return NULL;
  node->function = function;
  node->context = context;
  return node;
}

bool wia__add_node_use(wia__graph_node_t *node, wia__allocation_t *allocation) {
  wia__allocation_t **grown = realloc(node->uses, (node->use_count + 1) * sizeof(void *));
  if (!grown) return false;
  node->uses = grown;
  if (!wia__hold_memory(allocation)) return false;
  node->uses[node->use_count++] = allocation;
  return true;
}

bool wia__add_dependency(wia__graph_node_t *node, uint32_t dependency) {
  for (uint32_t i = 0; i < node->dependency_count; i++) {
    if (node->dependencies[i] == dependency) return true;
  }
  uint32_t *grown =
      realloc(node->dependencies, (node->dependency_count + 1) * sizeof *node->dependencies);
  if (!grown) return false;
  node->dependencies = grown;
  node->dependencies[node->dependency_count++] = dependency;
  return true;
}

/* -- lists --------------------------------------------------------------------------------------- */

wia__graph_node_t *wia__copy_node(const wia__graph_node_t *node) {
  wia__graph_node_t *copy = NULL;
  if (node->kind == WIA_GRAPH_KERNEL)
    copy = wia__make_kernel_node(node->plan, node->tensors, node->scalars);
  else if (node->kind == WIA_GRAPH_FUNCTION)
    copy = wia__make_function_node(node->function, node->context, node->device);
  else
    copy = wia__make_transfer_node(node->transfer, node->device);
  if (!copy) return NULL;
  copy->branch = node->branch;
  memcpy(copy->label, node->label, sizeof copy->label);
  bool enough = true;
  for (uint32_t i = 0; i < node->use_count && enough; i++)
    enough = wia__add_node_use(copy, node->uses[i]);
  for (uint32_t i = 0; i < node->dependency_count && enough; i++)
    enough = wia__add_dependency(copy, node->dependencies[i]);
  if (enough) return copy;
  wia__free_node(copy);
  return NULL;
}

bool wia__append_node(wia__node_list_t *list, wia__graph_node_t *node) {
  if (node && list->count == list->capacity) {
    const uint32_t capacity = list->capacity ? 2 * list->capacity : 16;
    wia__graph_node_t **grown = realloc(list->nodes, capacity * sizeof *grown);
    if (!grown) {
      wia__free_node(node);
      return false;
    }
    list->nodes = grown;
    list->capacity = capacity;
  }
  if (node) list->nodes[list->count++] = node;
  return node != NULL;
}

bool wia__copy_nodes(const wia__node_list_t *from, wia__node_list_t *to) {
  *to = (wia__node_list_t){0};
  for (uint32_t i = 0; i < from->count; i++) {
    if (wia__append_node(to, wia__copy_node(from->nodes[i]))) continue;
    wia__free_nodes(to);
    return false;
  }
  return true;
}

void wia__free_nodes(wia__node_list_t *list) {
  for (uint32_t i = 0; i < list->count; i++) wia__free_node(list->nodes[i]);
  free(list->nodes);
  *list = (wia__node_list_t){0};
}

/* -- texts --------------------------------------------------------------------------------------- */

const char *wia__node_name(const wia__graph_node_t *node) {
  switch (node->kind) {
  case WIA_GRAPH_KERNEL:
    return node->plan->name;
  case WIA_GRAPH_COPY:
    return "copy";
  case WIA_GRAPH_FILL:
    return "fill";
  default:
    return "host function";
  }
}

const char *wia__describe_node(char *text, const char *graph, const wia__graph_node_t *node,
                               uint32_t index) {
  snprintf(text, WIA__NODE_TEXT, "node %u (%s%s%s) of graph \"%.96s\"", index, node->label,
           node->label[0] ? ", " : "", wia__node_name(node), graph);
  return text;
}
