/* base_graph.c: graphs of a device that is another driver's, which may take them, see bridge.h. */
#include <stdio.h>
#include <stdlib.h>

#include "bridge.h"

struct wia_driver_graph_s {
  const wia_driver_graphs_t *base;
  wia_driver_graph_t graph;
};

static wia_status_t create(wia_driver_device_t device, const wia_driver_graph_node_t *const *nodes,
                           uint32_t count, wia_driver_graph_t *out_graph, wia_error_t *out_error) {
  const wia__base_t *base = wia__base_of(device);
  const wia_driver_graphs_t *graphs = base->driver->graphs;
  if (!graphs) return WIA_STATUS_UNIMPLEMENTED;
  wia_driver_graph_t graph = malloc(sizeof *graph);
  if (!graph) {
    snprintf(out_error->message, sizeof out_error->message, "The host has no memory left.");
    return WIA_STATUS_RESOURCE_EXHAUSTED;
  }
  graph->base = graphs;
  const wia_status_t status = graphs->create(base->device, nodes, count, &graph->graph, out_error);
  if (status == WIA_STATUS_OK)
    *out_graph = graph;
  else
    free(graph);
  return status;
}

/* Never on a stream: the emulated device has none of its own. */
static wia_status_t launch(wia_driver_graph_t graph, wia_driver_stream_t stream,
                           wia_error_t *out_error) {
  return graph->base->launch(graph->graph, stream, out_error);
}

static void destroy(wia_driver_graph_t graph) {
  graph->base->destroy(graph->graph);
  free(graph);
}

static wia_status_t update(wia_driver_graph_t graph, uint32_t index,
                           const wia_driver_graph_node_t *node, wia_error_t *out_error) {
  if (!graph->base->update) return WIA_STATUS_UNIMPLEMENTED;
  return graph->base->update(graph->graph, index, node, out_error);
}

const wia_driver_graphs_t *wia__get_base_graphs(void) {
  static const wia_driver_graphs_t graphs = {.struct_size = sizeof graphs,
                                             .create = create,
                                             .launch = launch,
                                             .destroy = destroy,
                                             .update = update};
  return &graphs;
}
