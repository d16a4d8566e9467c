/* graph_driver.c: graphs of the driver's own: nodes offered as a whole, kept up to date, launched. */
#include <stdlib.h>

#include "program.h"

/* What is offered: one node, with what it points to. */
typedef struct offer_t {
  wia_driver_graph_node_t node;
  wia_copy_t copy;
} offer_t;

static const wia_driver_graphs_t *graphs_of(const wia__program_t *program) {
  return program->device->table->graphs;
}

/* Whether a driver can be given a node: work of its device that it has an entry or a kernel for. */
static bool is_offered(const wia__program_t *program, const wia__graph_node_t *node) {
  if (node->device != program->device || node->function) return false;
  if (node->plan) return !node->plan->steps;
  const wia__transfer_t *t = node->transfer;
  const bool here = (!t->destination_device || t->destination_device == program->device) &&
                    (!t->source_device || t->source_device == program->device);
  return here && (!t->layout || t->layout->public_layout.contiguous);
}

static void fill_offer(const wia__program_t *program, uint32_t n, offer_t *offer) {
  const wia__graph_node_t *node = program->list.nodes[n];
  const wia__program_step_t *step = program->step_of[n];
  offer->node = (wia_driver_graph_node_t){.struct_size = sizeof offer->node,
                                          .kind = node->kind,
                                          .name = wia__node_name(node),
                                          .dependencies = node->dependencies,
                                          .dependency_count = node->dependency_count};
  if (node->plan && step) {
    offer->node.kernel = &node->plan->kernel;
    offer->node.args = &step->args;
  } else if (node->transfer) {
    const wia__transfer_t *t = node->transfer;
    offer->copy = (wia_copy_t){t->source, t->destination, t->size};
    offer->node.copy = &offer->copy;
    offer->node.pattern = t->action == WIA__FILL ? t->pattern : NULL;
    offer->node.pattern_size = t->action == WIA__FILL ? t->pattern_size : 0;
  }
}

static wia_status_t create(wia__program_t *program, offer_t *offers,
                           const wia_driver_graph_node_t **nodes) {
  wia__device_t *device = program->device;
  for (uint32_t n = 0; n < program->list.count; n++) {
    fill_offer(program, n, &offers[n]);
    nodes[n] = &offers[n].node;
  }
  wia_error_t error;
  wia__init_error(&error);
  wia_driver_graph_t graph = NULL;
  wia__lock_device(device);
  const wia_status_t status =
      graphs_of(program)->create(device->handle, nodes, program->list.count, &graph, &error);
  wia__unlock_device(device);
  if (status && status != WIA_STATUS_UNIMPLEMENTED)
    return wia__take_error(&error, status, device->driver->name, "graph \"%s\" on %s",
                           program->name, device->name);
  wia__drop_error(&error);
  if (!status) program->driver_graph = graph;
  return WIA_STATUS_OK;
}

wia_status_t wia__offer_graph(wia__program_t *program) {
  if (!graphs_of(program) || !program->list.count) return WIA_STATUS_OK;
  for (uint32_t n = 0; n < program->list.count; n++) {
    if (!is_offered(program, program->list.nodes[n])) return WIA_STATUS_OK;
  }
  offer_t *offers = calloc(program->list.count, sizeof *offers);
  const wia_driver_graph_node_t **nodes = calloc(program->list.count, sizeof *nodes);
  wia_status_t status = WIA_STATUS_OK;
  if (offers && nodes)
    status = create(program, offers, nodes);
  else
    status = wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for an executable");
  free(offers);
  free(nodes);
  return status;
}

void wia__drop_driver_graph(wia__program_t *program) {
  if (!program->driver_graph) return;
  wia__lock_device(program->device);
  graphs_of(program)->destroy(program->driver_graph);
  wia__unlock_device(program->device);
  program->driver_graph = NULL;
}

/* False: the driver can't, and its graph may be half changed. */
static bool update(wia__program_t *program, uint32_t n) {
  const wia_driver_graphs_t *graphs = graphs_of(program);
  if (!graphs->update) return false;
  offer_t offer = {0};
  wia_error_t error;
  wia__init_error(&error);
  fill_offer(program, n, &offer);
  wia__lock_device(program->device);
  const wia_status_t status = graphs->update(program->driver_graph, n, &offer.node, &error);
  wia__unlock_device(program->device);
  wia__drop_error(&error);
  return status == WIA_STATUS_OK;
}

void wia__refresh_driver_graph(wia__program_t *program, uint32_t n) {
  if (!program->driver_graph || update(program, n)) return;
  wia__drop_driver_graph(program);
  wia__offer_graph(program); /* refused: the library runs the nodes */
}

wia_status_t wia__launch_driver_graph(const wia__program_t *program, wia_driver_stream_t stream) {
  wia__device_t *device = program->device;
  wia_error_t error;
  wia__init_error(&error);
  wia__lock_device(device);
  wia_status_t status = graphs_of(program)->launch(program->driver_graph, stream, &error);
  wia__unlock_device(device);
  if (!status) {
    wia__drop_error(&error);
    return status;
  }
  const int64_t node = error.detail[0];
  error.detail[0] = 0;
  if (node < 1 || node > program->list.count)
    return wia__take_error(&error, status, device->driver->name, "graph \"%s\" on %s",
                           program->name, device->name);
  char text[WIA__NODE_TEXT];
  return wia__take_error(
      &error, status, device->driver->name, "%s on %s",
      wia__describe_node(text, program->name, program->list.nodes[node - 1], (uint32_t)node - 1),
      device->name);
}
