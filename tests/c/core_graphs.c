/* core_graphs.c: the graphs of the drivers "core" and "queued": copies of the nodes, run in order. */
#include "core_driver.h"

enum { MAX_OPERANDS = 16, MAX_SCALARS = 8 };

typedef struct node_t {
  int32_t kind;
  bool empty;
  wia_driver_kernel_t kernel;
  wia_kernel_args_t args;
  wia_operand_t operands[MAX_OPERANDS];
  wia_scalar_t scalars[MAX_SCALARS];
  wia_copy_t copy;
  uint32_t pattern_size;
  unsigned char pattern[16];
} node_t;

struct wia_driver_graph_s {
  wia_driver_device_t device;
  uint32_t count;
  node_t nodes[];
};

static _Atomic uint32_t live_graphs;
uint32_t core_live_graphs(void) { return live_graphs; }

static void take(node_t *node, const wia_driver_graph_node_t *from) {
  *node = (node_t){.kind = from->kind, .pattern_size = from->pattern_size};
  if (from->kind == WIA_GRAPH_KERNEL) {
    node->empty = !from->kernel;
    if (node->empty) return;
    const uint32_t count = from->args->input_count + from->args->output_count;
    if (count > MAX_OPERANDS || from->args->scalar_count > MAX_SCALARS) abort();
    node->kernel = *from->kernel;
    node->args = *from->args;
    memcpy(node->operands, from->args->operands, count * sizeof *node->operands);
    if (from->args->scalar_count)
      memcpy(node->scalars, from->args->scalars, from->args->scalar_count * sizeof(wia_scalar_t));
  } else {
    node->copy = *from->copy;
    if (from->kind == WIA_GRAPH_FILL) memcpy(node->pattern, from->pattern, from->pattern_size);
  }
}

static wia_status_t create(wia_driver_device_t device, const wia_driver_graph_node_t *const *nodes,
                           uint32_t count, wia_driver_graph_t *out_graph, wia_error_t *error) {
  const wia_status_t status = core.graph_status;
  if (status) {
    snprintf(error->message, sizeof error->message, "the test wants no graph");
    return status;
  }
  wia_driver_graph_t graph = calloc(1, sizeof *graph + count * sizeof *graph->nodes);
  if (!graph) abort();
  graph->device = device;
  graph->count = count;
  for (uint32_t n = 0; n < count; n++) {
    for (uint32_t i = 0; i < nodes[n]->dependency_count; i++)
      if (nodes[n]->dependencies[i] >= n) core_fault("a node before what it depends on");
    take(&graph->nodes[n], nodes[n]);
  }
  atomic_fetch_add(&live_graphs, 1);
  *out_graph = graph;
  return WIA_STATUS_OK;
}

static wia_status_t run(wia_driver_graph_t graph, node_t *node, wia_driver_stream_t stream,
                        wia_error_t *error) {
  if (node->empty) return WIA_STATUS_OK;
  if (node->kind == WIA_GRAPH_KERNEL) {
    wia_kernel_args_t args = node->args;
    args.operands = node->operands;
    args.scalars = node->scalars;
    args.stream = stream;
    args.out_error = error;
    return node->kernel.fn(node->kernel.state, &args);
  }
  if (node->kind == WIA_GRAPH_COPY)
    return stream ? core_streams.copy(stream, &node->copy, 1, error)
                  : core_copy(graph->device, &node->copy, 1, error);
  return stream ? core_streams.fill(stream, &node->copy.destination, node->copy.size, node->pattern,
                                    node->pattern_size, error)
                : core_fill(graph->device, &node->copy.destination, node->copy.size, node->pattern,
                            node->pattern_size, error);
}

static wia_status_t launch(wia_driver_graph_t graph, wia_driver_stream_t stream,
                           wia_error_t *error) {
  atomic_fetch_add(&core.graph_launches, 1);
  for (uint32_t n = 0; n < graph->count; n++) {
    const wia_status_t status = run(graph, &graph->nodes[n], stream, error);
    if (!status) continue;
    error->detail[0] = n + 1;
    return status;
  }
  return WIA_STATUS_OK;
}

static void destroy(wia_driver_graph_t graph) {
  atomic_fetch_sub(&live_graphs, 1);
  free(graph);
}

static wia_status_t update(wia_driver_graph_t graph, uint32_t index,
                           const wia_driver_graph_node_t *node, wia_error_t *error) {
  (void)error;
  if (index >= graph->count) core_fault("an update of no node");
  atomic_fetch_add(&core.graph_updates, 1);
  if (core.graph_update_status) return core.graph_update_status;
  take(&graph->nodes[index], node);
  return WIA_STATUS_OK;
}

const wia_driver_graphs_t core_graphs = {.struct_size = sizeof core_graphs,
                                         .create = create,
                                         .launch = launch,
                                         .destroy = destroy,
                                         .update = update};
