/* graph.h: graphs: work that is captured from streams once and launched many times.
 *
 * Between wia_begin_capture() and wia_end_capture() what is enqueued on a stream is noted and does
 * not run: operations, plans, copies, fills, host functions, launches of other graphs. What was
 * noted is a graph: nodes, and edges from each node to those before it. An executable is a graph
 * made ready: its kernels are prepared, its operands looked up, so that a launch does little more
 * than call one kernel after the other.
 *
 *  - A capture belongs to its stream, whatever thread calls. Another stream joins it by
 *    wia_enqueue_wait() for an event that was recorded in it, and works in a branch of its own;
 *    before the end the first stream has to wait for an event behind that.
 *  - What would have to wait for captured work is FAILED_PRECONDITION and leaves the capture as it
 *    was: synchronizing or querying a stream or an event of it, a call without a stream and a host
 *    read or write that touch memory of captured work, a wait for an event that was recorded outside.
 *    wia_synchronize_device() waits for enqueued work, of which captured work is none.
 *  - A graph keeps what its nodes use: plans, and memory that tensors own. Memory of wia_malloc() and
 *    imported memory stay their owner's: after wia_free() a launch is INVALID_HANDLE and names the
 *    node, until that has been given other memory. Host memory of copies and the context of
 *    host functions have to stay valid as long as something can be launched.
 */
#ifndef WIA_GRAPH_H
#define WIA_GRAPH_H

#include "base.h"
#include "layout.h"
#include "operation.h"
#include "stream.h"

WIA_BEGIN_DECLS

typedef struct wia_graph wia_graph_t;
typedef struct wia_executable wia_executable_t;

/* -- capture ------------------------------------------------------------------------------------- */

typedef struct wia_capture_config_t {
  uint32_t struct_size;
  uint32_t reserved;
  const char *name; /* of the graph, in messages and profiles; copied; NULL: "graph" */
} wia_capture_config_t;
#define WIA_CAPTURE_CONFIG_INIT WIA_INIT(wia_capture_config_t)

/* Starts a capture on a stream. What was enqueued before runs on. Errors: FAILED_PRECONDITION if the
 * stream captures already; the stream's own failure. */
WIA_API wia_status_t wia_begin_capture(wia_stream_t *stream, const wia_capture_config_t *config);

/* Ends the capture that was begun on this stream, for all streams that joined it, and gives its
 * graph, which may be empty. Errors: FAILED_PRECONDITION without a capture, or if the stream only
 * joined it; the same, naming a node, if work of a branch is not waited for: the capture then goes
 * on. */
WIA_API wia_status_t wia_end_capture(wia_stream_t *stream, wia_graph_t **out_graph);

/* Ends it and drops what was captured. Destroying the stream does that too. Errors: as above. */
WIA_API wia_status_t wia_cancel_capture(wia_stream_t *stream);

/* Writes 1 if the stream captures, by its own or by joining, else 0. */
WIA_API wia_status_t wia_query_capture(wia_stream_t *stream, uint32_t *out_capturing);

/* -- graphs -------------------------------------------------------------------------------------- */

/* Kinds of nodes. */
enum {
  WIA_GRAPH_KERNEL = 1,  /* of an operation or a plan */
  WIA_GRAPH_COPY = 2,    /* of memory, or of a tensor from or to the host */
  WIA_GRAPH_FILL = 3,    /* of memory */
  WIA_GRAPH_FUNCTION = 4 /* of the host */
};

typedef struct wia_graph_info_t {
  uint32_t struct_size;
  int32_t device_id;   /* of the stream that the capture began on */
  const char *name;    /* lives as long as the graph */
  uint32_t node_count; /* in topological order: each behind those that it depends on */
  uint32_t edge_count;
  uint32_t branch_count; /* streams that took part */
  uint32_t reserved;
} wia_graph_info_t;
#define WIA_GRAPH_INFO_INIT WIA_INIT(wia_graph_info_t)

WIA_API wia_status_t wia_get_graph_info(wia_graph_t *graph, wia_graph_info_t *out_info);

/* Pointers live as long as the graph. */
typedef struct wia_graph_node_info_t {
  uint32_t struct_size;
  int32_t kind;      /* WIA_GRAPH_* */
  const char *name;  /* the operation, "copy", "fill", "host function" */
  const char *label; /* the innermost range (wia_push_range) that was open on the thread; else "" */
  int32_t device_id;
  uint32_t branch; /* the number of its stream in the capture; 0: the first */
  const uint32_t *dependencies;
  uint32_t dependency_count;
  uint32_t input_count, output_count; /* operands of a kernel */
  uint32_t scalar_count;
  /* Of a kernel its inputs, then its outputs; one that was left out has dtype 0. */
  const wia_view_t *operands;
  uint64_t size;                /* bytes of a copy or fill */
  uint64_t source, destination; /* addresses of a copy or fill; a fill has no source */
} wia_graph_node_info_t;
#define WIA_GRAPH_NODE_INFO_INIT WIA_INIT(wia_graph_node_info_t)

/* Errors: OUT_OF_RANGE for an index at or above the count. */
WIA_API wia_status_t wia_get_graph_node(wia_graph_t *graph, uint32_t index,
                                        wia_graph_node_info_t *out_info);

/* Writes the graph as text for Graphviz, which lives as long as the graph.
 * Errors: RESOURCE_EXHAUSTED. */
WIA_API wia_status_t wia_get_graph_dot(wia_graph_t *graph, const char **out_text);

/* Invalidates the handle; executables of the graph need it no longer. */
WIA_API wia_status_t wia_destroy_graph(wia_graph_t *graph);

/* -- executables --------------------------------------------------------------------------------- */

/* How branches run. */
enum {
  WIA_BRANCHES_AUTO = 0,     /* at once if that saves more time than it costs, by the costs known */
  WIA_BRANCHES_IN_ORDER = 1, /* all nodes one after the other, in the order of their numbers */
  WIA_BRANCHES_PARALLEL = 2  /* each on a thread of its own, unless the device can't */
};

typedef struct wia_instantiate_config_t {
  uint32_t struct_size;
  int32_t branches; /* WIA_BRANCHES_* */
  uint32_t own; /* 1: the library runs the nodes even if the driver could take them as a whole */
  uint32_t reserved;
} wia_instantiate_config_t;
#define WIA_INSTANTIATE_CONFIG_INIT WIA_INIT(wia_instantiate_config_t)

/* Makes a graph ready to be launched. Its workspaces are allocated here. A driver that has graphs
 * of its own is offered the nodes, if they are of its device only and none is a host function.
 * Errors: INVALID_ARGUMENT for a value of branches outside the list; RESOURCE_EXHAUSTED. */
WIA_API wia_status_t wia_instantiate_graph(wia_graph_t *graph,
                                           const wia_instantiate_config_t *config,
                                           wia_executable_t **out_executable);

/* Launches it once: as one piece of work on a stream of the graph's device; with NULL on this thread,
 * complete on return, after the work in flight on all memory that its nodes use. Launches of one
 * executable never overlap: one that comes while another runs waits for its turn. On a stream that
 * captures, its nodes are captured.
 * Errors: INVALID_HANDLE, naming the node, for memory that was freed; INVALID_ARGUMENT for a stream
 * of another device; FAILED_PRECONDITION from a host function of the executable itself, and with
 * NULL if memory is used by work that is being captured. A node that fails ends the launch: what it
 * gives, with the graph, the node's number, its label and its operation in the message. */
WIA_API wia_status_t wia_launch_graph(wia_executable_t *executable, wia_stream_t *stream);

typedef struct wia_executable_info_t {
  uint32_t struct_size;
  int32_t device_id;
  const char *name; /* lives as long as the executable */
  uint32_t node_count;
  uint32_t branch_count; /* that run at once; 1: in order */
  uint32_t driver_graph; /* 1: the driver has taken the nodes as a whole */
  uint32_t reserved;
  uint64_t workspace_size; /* bytes that the library allocated for all kernels */
} wia_executable_info_t;
#define WIA_EXECUTABLE_INFO_INIT WIA_INIT(wia_executable_info_t)

WIA_API wia_status_t wia_get_executable_info(wia_executable_t *executable,
                                             wia_executable_info_t *out_info);

/* Invalidates the handle; launches in flight go on. */
WIA_API wia_status_t wia_destroy_executable(wia_executable_t *executable);

/* -- updates ------------------------------------------------------------------------------------- */

/* All of these change an executable, not its graph, and count for later launches: those that were
 * enqueued before run with what they had. On an error nothing has changed. Errors of all:
 * OUT_OF_RANGE for a node, an operand or a scalar that is none; INVALID_ARGUMENT, naming the node,
 * for what doesn't fit. */

/* Gives one operand of a kernel another tensor, of the same device, dtype, shape and strides; outputs
 * have to meet inputs as before. */
WIA_API wia_status_t wia_update_graph_operand(wia_executable_t *executable, uint32_t node,
                                              uint32_t operand, wia_tensor_t tensor);

/* Puts new_tensor in the place of old_tensor wherever that, or a view inside of its memory, is an
 * operand or a side of a copy or fill. Both have one dtype, shape and strides. *out_count, unless
 * NULL: of places. Errors: also NOT_FOUND if there is none. */
WIA_API wia_status_t wia_update_graph_tensor(wia_executable_t *executable, wia_tensor_t old_tensor,
                                             wia_tensor_t new_tensor, uint32_t *out_count);

/* The same for size bytes at an address, which may be freed by now, on a device or on the host:
 * what lies wholly inside moves to the same offset from new_address. Errors: also INVALID_ARGUMENT
 * for an operand that lies only partly inside. */
WIA_API wia_status_t wia_update_graph_memory(wia_executable_t *executable, const void *old_address,
                                             const void *new_address, uint64_t size,
                                             uint32_t *out_count);

/* Gives a scalar of a kernel another value: f64 or i64, as the catalog has it. name: as there
 * ("alpha"); for a group its number ("0"). Errors: also NOT_FOUND, with the names there are. */
WIA_API wia_status_t wia_update_graph_scalar(wia_executable_t *executable, uint32_t node,
                                             const char *name, const wia_scalar_t *value);

/* Gives a node another host function. */
WIA_API wia_status_t wia_update_graph_function(wia_executable_t *executable, uint32_t node,
                                               wia_host_fn_t function, void *context);

/* Takes all over from another graph of the same topology: as many nodes, of the same kinds,
 * devices, branches and dependencies; operations and shapes may be others. Errors: INVALID_ARGUMENT
 * naming the first node that differs. */
WIA_API wia_status_t wia_update_graph(wia_executable_t *executable, wia_graph_t *graph);

WIA_END_DECLS
#endif
