/* graph.c: graphs: what a capture gave, and what can be asked of it. */
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- life ---------------------------------------------------------------------------------------- */

static void destroy_graph(wia__object_t *object) {
  wia__graph_t *graph = (wia__graph_t *)object;
  for (uint32_t n = 0; graph->views && n < graph->list.count; n++) free(graph->views[n]);
  free(graph->views);
  wia__free_nodes(&graph->list);
  pthread_mutex_destroy(&graph->mutex);
  free(graph->name);
  free(graph->dot);
  free(graph);
}

static wia_view_t *make_views(const wia__graph_node_t *node) {
  const uint32_t count = wia__count_operands(node);
  wia_view_t *views = calloc(count + 1, sizeof *views);
  for (uint32_t i = 0; i < count && views; i++) {
    const wia_operand_t *operand = &node->tensors[i].operand;
    if (!operand->layout) continue;
    views[i] = (wia_view_t){operand->address, operand->layout->shape, operand->layout->strides,
                            operand->layout->dtype, operand->layout->rank};
  }
  return views;
}

wia_status_t wia__create_graph(char *name, wia__device_t *device, uint32_t branch_count,
                               wia__node_list_t *list, wia_graph_t **out_graph) {
  wia__graph_t *graph = calloc(1, sizeof *graph);
  bool enough = graph && name;
  if (!graph) {
    free(name);
    wia__free_nodes(list);
  } else {
    wia__init_object(&graph->object, WIA__GRAPH, destroy_graph);
    pthread_mutex_init(&graph->mutex, NULL);
    graph->name = name;
    graph->device = device;
    graph->branch_count = branch_count;
    graph->list = *list;
    graph->views = calloc(list->count + 1, sizeof *graph->views);
    enough = enough && graph->views;
    for (uint32_t n = 0; n < list->count && enough; n++)
      enough = (graph->views[n] = make_views(list->nodes[n])) != NULL;
    if (!enough) wia__release(&graph->object);
  }
  if (!enough) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a graph");
  void *handle = NULL;
  const wia_status_t status = wia__make_handle(&graph->object, &handle);
  if (!status) *out_graph = handle;
  return status;
}

WIA_API wia_status_t wia_destroy_graph(wia_graph_t *graph) {
  WIA__CALL(wia__close_handle(graph, WIA__GRAPH));
}

/* -- what it is made of -------------------------------------------------------------------------- */

static uint32_t count_edges(const wia__node_list_t *list) {
  uint32_t count = 0;
  for (uint32_t n = 0; n < list->count; n++) count += list->nodes[n]->dependency_count;
  return count;
}

static wia_status_t get_graph_info(wia_graph_t *handle, wia_graph_info_t *out_info) {
  wia__graph_t *graph = NULL;
  wia_status_t status = wia__check_out(out_info, sizeof *out_info, "WIA_GRAPH_INFO_INIT");
  if (!status) status = wia__resolve(handle, WIA__GRAPH, "graph", &graph);
  if (status) return status;
  const wia_graph_info_t info = {.device_id = graph->device->id,
                                 .name = graph->name,
                                 .node_count = graph->list.count,
                                 .edge_count = count_edges(&graph->list),
                                 .branch_count = graph->branch_count};
  wia__write_struct(out_info, &info, sizeof info);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_graph_info(wia_graph_t *graph, wia_graph_info_t *out_info) {
  WIA__CALL(get_graph_info(graph, out_info));
}

static wia_status_t get_graph_node(wia_graph_t *handle, uint32_t index,
                                   wia_graph_node_info_t *out_info) {
  wia__graph_t *graph = NULL;
  wia_status_t status = wia__check_out(out_info, sizeof *out_info, "WIA_GRAPH_NODE_INFO_INIT");
  if (!status) status = wia__resolve(handle, WIA__GRAPH, "graph", &graph);
  if (status) return status;
  if (index >= graph->list.count)
    return wia__fail(WIA_STATUS_OUT_OF_RANGE, "index is %u; expected one below the %u nodes", index,
                     graph->list.count);
  const wia__graph_node_t *node = graph->list.nodes[index];
  wia_graph_node_info_t info = {.kind = node->kind,
                                .name = wia__node_name(node),
                                .label = node->label,
                                .device_id = node->device->id,
                                .branch = node->branch,
                                .dependencies = node->dependencies,
                                .dependency_count = node->dependency_count};
  if (node->plan) {
    info.input_count = node->plan->input_count;
    info.output_count = node->plan->output_count;
    info.scalar_count = node->plan->scalar_count;
    info.operands = graph->views[index];
  }
  if (node->transfer) {
    info.size = node->transfer->size;
    info.source = node->transfer->source.address;
    info.destination = node->transfer->destination.address;
  }
  wia__write_struct(out_info, &info, sizeof info);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_graph_node(wia_graph_t *graph, uint32_t index,
                                        wia_graph_node_info_t *out_info) {
  WIA__CALL(get_graph_node(graph, index, out_info));
}

/* -- as text ------------------------------------------------------------------------------------- */

/* Names are anybody's: in a quoted string of Graphviz a quote or a backslash needs one before it. */
static void write_quoted(FILE *file, const char *text) {
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', file);
    fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
  }
}

static void write_label(FILE *file, const wia__graph_node_t *node, uint32_t index) {
  fprintf(file, "%u: ", index);
  write_quoted(file, wia__node_name(node));
  if (node->label[0]) {
    fputs("\\n", file);
    write_quoted(file, node->label);
  }
  if (node->plan && node->plan->output_count && node->plan->layouts[node->plan->input_count]) {
    const wia_tensor_layout_t *layout = node->plan->layouts[node->plan->input_count];
    char text[WIA__SHAPE_TEXT];
    fprintf(file, "\\n%s %s", wia_get_dtype_name(layout->dtype),
            wia__format_shape(text, layout->shape, layout->rank));
  }
  if (node->transfer) fprintf(file, "\\n%llu bytes", (unsigned long long)node->transfer->size);
}

static char *write_dot(const wia__graph_t *graph) {
  static const char *const shapes[] = {[WIA_GRAPH_KERNEL] = "box",
                                       [WIA_GRAPH_COPY] = "cds",
                                       [WIA_GRAPH_FILL] = "cds",
                                       [WIA_GRAPH_FUNCTION] = "ellipse"};
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  if (!file) return NULL;
  fputs("digraph \"", file);
  write_quoted(file, graph->name);
  fputs("\" {\n  node [fontname=\"sans-serif\"];\n", file);
  for (uint32_t n = 0; n < graph->list.count; n++) {
    const wia__graph_node_t *node = graph->list.nodes[n];
    fprintf(file, "  n%u [shape=%s, label=\"", n, shapes[node->kind]);
    write_label(file, node, n);
    fputs("\"];\n", file);
  }
  for (uint32_t n = 0; n < graph->list.count; n++) {
    const wia__graph_node_t *node = graph->list.nodes[n];
    for (uint32_t i = 0; i < node->dependency_count; i++)
      fprintf(file, "  n%u -> n%u;\n", node->dependencies[i], n);
  }
  fputs("}\n", file);
  const bool failed = ferror(file) != 0;
  if (fclose(file) || failed) {
    free(text);
    return NULL;
  }
  return text;
}

static wia_status_t get_graph_dot(wia_graph_t *handle, const char **out_text) {
  if (!out_text) return wia__null("out_text");
  wia__graph_t *graph = NULL;
  const wia_status_t status = wia__resolve(handle, WIA__GRAPH, "graph", &graph);
  if (status) return status;
  pthread_mutex_lock(&graph->mutex);
  if (!graph->dot) graph->dot = write_dot(graph);
  const char *text = graph->dot;
  pthread_mutex_unlock(&graph->mutex);
  if (!text) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for the graph's text");
  *out_text = text;
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_graph_dot(wia_graph_t *graph, const char **out_text) {
  WIA__CALL(get_graph_dot(graph, out_text));
}
