/* graph.h: nodes of captured work, and the graphs that they make. */
#ifndef WIA__GRAPH_H
#define WIA__GRAPH_H

#include "plan.h"
#include "transfer.h"
#include "wia/graph.h"

/* A piece of captured work. It keeps its plan, and memory that tensors own; of other memory only
 * the struct, so that it can be told to be freed. */
typedef struct wia__graph_node_t {
  int32_t kind; /* WIA_GRAPH_* */
  uint32_t branch;
  wia__device_t *device;
  uint32_t *dependencies; /* nodes before this one, without repetition */
  uint32_t dependency_count;
  uint32_t use_count;
  wia__allocation_t **uses; /* memory that it uses unseen: wia_record_stream() */
  wia__plan_t *plan;        /* of a kernel */
  wia__tensor_t *tensors;   /* its operands; allocation NULL: without memory, or left out */
  wia_scalar_t *scalars;
  wia__transfer_t *transfer; /* of a copy or fill */
  wia_host_fn_t function;
  void *context;
  char label[WIA_PROFILE_NAME_SIZE];
} wia__graph_node_t;

typedef struct wia__node_list_t {
  wia__graph_node_t **nodes;
  uint32_t count, capacity;
} wia__node_list_t;

/* What enqueued work makes of itself for a capture. NULL: no memory, or memory freed meanwhile. */
wia__graph_node_t *wia__make_kernel_node(wia__plan_t *plan, const wia__tensor_t *tensors,
                                         const wia_scalar_t *scalars);
wia__graph_node_t *wia__make_transfer_node(const wia__transfer_t *transfer, wia__device_t *device);
wia__graph_node_t *wia__make_function_node(wia_host_fn_t function, void *context,
                                           wia__device_t *device);
void wia__free_node(wia__graph_node_t *node);

/* Has a node use memory that none of its operands is in. False: no memory. */
bool wia__add_node_use(wia__graph_node_t *node, wia__allocation_t *allocation);
bool wia__add_dependency(wia__graph_node_t *node, uint32_t dependency);

/* Takes over the node, also on failure. False: no memory. */
bool wia__append_node(wia__node_list_t *list, wia__graph_node_t *node);
bool wia__copy_nodes(const wia__node_list_t *from, wia__node_list_t *to);
wia__graph_node_t *wia__copy_node(const wia__graph_node_t *node);
void wia__free_nodes(wia__node_list_t *list);

/* Holds as a node does; false: the memory is on its way back. */
bool wia__hold_memory(wia__allocation_t *allocation);
void wia__drop_memory(wia__allocation_t *allocation);

static inline uint32_t wia__count_operands(const wia__graph_node_t *node) {
  return node->plan ? node->plan->input_count + node->plan->output_count : 0;
}
/* Of all memory that the node uses, one after the other; NULL: none in this place. */
static inline uint32_t wia__count_memories(const wia__graph_node_t *node) {
  return wia__count_operands(node) + (node->transfer ? node->transfer->allocation_count : 0) +
         node->use_count;
}
wia__allocation_t *wia__node_memory(const wia__graph_node_t *node, uint32_t index);

/* "matmul", "copy", "fill", "host function" */
const char *wia__node_name(const wia__graph_node_t *node);
/* `node 3 (layer 2, matmul) of graph "decode"` */
enum { WIA__NODE_TEXT = 256 };
const char *wia__describe_node(char *text, const char *graph, const wia__graph_node_t *node,
                               uint32_t index);

/* The object behind a handle. Immutable. */
typedef struct wia__graph_t {
  wia__object_t object;
  char *name;
  wia__device_t *device;
  uint32_t branch_count;
  wia__node_list_t list;
  wia_view_t **views; /* of each node's operands, for whoever asks */
  pthread_mutex_t mutex;
  char *dot; /* once it was asked for */
} wia__graph_t;

/* Takes over the nodes and the name, also on failure. */
wia_status_t wia__create_graph(char *name, wia__device_t *device, uint32_t branch_count,
                               wia__node_list_t *list, wia_graph_t **out_graph);

#endif
