/* wia_driver.h: what a driver gives the library, and what the library gives a driver.
 *
 * A driver links against nothing: its library exports one function, wia_negotiate_driver(), and
 * calls back through the host table that it is handed there.
 *
 *  - Every function that returns a status may, on failure, fill out_error, which is never NULL.
 *  - What the library passes is valid during the call only, layouts excepted: those live as long as
 *    the kernel that was prepared with them. What a driver returns lives until its destroy.
 *  - Any thread may call, several at once; the library holds no lock meanwhile. A device with
 *    WIA_DEVICE_SERIAL gets one call at a time, but for `copy` from a kernel in host memory that the
 *    driver itself runs, on a stream of its own or in a graph.
 *  - R: required; O: optional, and beside it what the library does without it.
 *  - Structs with struct_size grow at the end and never stand in arrays by value; those marked
 *    frozen never grow. All fields are words of fixed size, so that compiled code of any language
 *    can read them.
 */
#ifndef WIA_DRIVER_H
#define WIA_DRIVER_H

#include "wia.h"

WIA_BEGIN_DECLS

enum { WIA_DRIVER_ABI_MAJOR = 1, WIA_DRIVER_ABI_MINOR = 1 };

/* The driver's objects. */
typedef struct wia_driver_self_s *wia_driver_self_t;
typedef struct wia_driver_device_s *wia_driver_device_t;
typedef struct wia_driver_memory_s *wia_driver_memory_t;
typedef struct wia_driver_stream_s *wia_driver_stream_t;
typedef struct wia_driver_graph_s *wia_driver_graph_t;
typedef struct wia_driver_t wia_driver_t;

/* -- operands and kernels ------------------------------------------------------------------------ */

/* Frozen. All zero: an optional operand that is left out. */
typedef struct wia_operand_t {
  uint64_t address;           /* of element 0, good for arithmetic on every device */
  wia_driver_memory_t memory; /* the allocation, and where element 0 lies in it, in bytes: for */
  uint64_t offset;            /* devices without raw pointers */
  const wia_tensor_layout_t *layout; /* NULL for plain bytes */
} wia_operand_t;

/* What one launch of a kernel gets. Valid during the call only. */
typedef struct wia_kernel_args_t {
  uint32_t struct_size, flags;   /* flags: 0 */
  const wia_operand_t *operands; /* inputs, then outputs */
  uint32_t input_count, output_count;
  const wia_scalar_t *scalars; /* in the order of the group */
  uint64_t scalar_count;
  wia_operand_t workspace; /* of at least workspace_size bytes; its contents are anybody's */
  uint64_t workspace_size;
  wia_driver_stream_t stream; /* only for WIA_KERNEL_ASYNC: where to enqueue; NULL: do it now */
  wia_error_t *out_error;
} wia_kernel_args_t;

/* Runs a prepared kernel; it is complete on return unless args->stream is set. state is what prepare gave
 * and is not written to: scratch is the workspace. */
typedef wia_status_t (*wia_kernel_fn_t)(void *state, const wia_kernel_args_t *args);

enum {
  WIA_KERNEL_THREAD_SAFE = 1, /* several threads may run it at once; else the library takes turns */
  WIA_KERNEL_IN_PLACE = 2,    /* works when an output is exactly an input */
  WIA_KERNEL_ANY_SHAPE = 4, /* works for row-major operands of any shape, with the dtypes, ranks and
                              attributes of the request: it reads shapes from its operands. Then
                              the library doesn't prepare another. Not with a workspace. */
  /* Of a device with streams of its own: with args->stream it enqueues there and copies what it needs of
   * args; memory stays until the stream told of it. Turns (without THREAD_SAFE) are of these alone. */
  WIA_KERNEL_ASYNC = 8,
  /* Waits for no thread that may run code of others, and takes microseconds for WIA_PROMPT_ELEMENTS
   * elements of all operands together: up to these the caller may hold a lock, as Python's. */
  WIA_KERNEL_PROMPT = 16,
  WIA_PROMPT_ELEMENTS = 2048
};

/* Frozen. Below 0: not known. */
typedef struct wia_cost_t {
  double flops, bytes, time_ns, energy_pj;
} wia_cost_t;

/* Zeroed by the library but for struct_size and costs of -1, filled by prepare. */
typedef struct wia_driver_kernel_t {
  uint32_t struct_size, flags; /* flags: WIA_KERNEL_* */
  wia_kernel_fn_t fn;          /* R */
  void *state;
  void (*release)(void *state);                 /* O: nothing. Never while a launch is running */
  uint64_t workspace_size, workspace_alignment; /* 0: none; 64 */
  wia_cost_t cost;
  const char *name; /* O: the operation's; lives as long as the kernel */
  /* O, of a kernel for any shape: the cost for operands of these layouts (NULL: left out); cost is that
   * for the request's. Without it the cost for others is not known. */
  wia_status_t (*measure)(void *state, const wia_tensor_layout_t *const *layouts, uint32_t count,
                          wia_cost_t *out_cost, wia_error_t *out_error);
} wia_driver_kernel_t;

enum {
  WIA_REQUEST_REDUCED_PRECISION = 1 /* matrix units may be used, also where they round more */
};

/* What to prepare. A group of several nodes is for one kernel: who answers UNIMPLEMENTED is asked for
 * its nodes one by one. Nodes have all inputs of the catalog, UINT32_MAX for one that is left out. The
 * operands of a single operation are its own: a left-out input is among those of the group, too, and
 * its operand is all zero. Attributes that have their default are not listed; whoever meets one that it
 * doesn't know says UNIMPLEMENTED. The scalars of an operation are always listed: their data is NULL,
 * and scalar tells their place in wia_kernel_args_t.scalars. */
typedef struct wia_request_t {
  uint32_t struct_size, flags; /* flags: WIA_REQUEST_* */
  const wia_group_t *group;
  const char *candidate;    /* the algorithm asked for by name; NULL: the driver's choice */
  uint64_t workspace_limit; /* bytes; 0: none */
} wia_request_t;

/* Prepares a kernel, as prepare of the driver table does, for whom it was registered with. */
typedef wia_status_t (*wia_prepare_fn_t)(void *context, int32_t device_id,
                                         const wia_request_t *request,
                                         wia_driver_kernel_t *out_kernel, wia_error_t *out_error);

/* -- extensions ---------------------------------------------------------------------------------- */

enum { WIA_MAX_CAPABILITIES = 32, WIA_MAX_EXTENSION_OPERATIONS = 32 };

/* Extensions and capabilities that have a meaning for all. A vendor's own are "vendor::name". */
#define WIA_EXT_TRANSFORMER_ENGINE "transformer_engine"
#define WIA_CAP_FUSED_ATTENTION "fused_attention"
#define WIA_CAP_FAST_SOFTMAX "fast_softmax"
#define WIA_CAP_SPARSE_ATTENTION "sparse_attention"
#define WIA_CAP_FLASH_ATTENTION "flash_attention"

/* An operation that comes with an extension, by its name (of the catalog, or registered before), and
 * what prepares its kernels; NULL: the driver's own prepare. Frozen. */
typedef struct wia_extension_operation_t {
  const char *name;
  wia_prepare_fn_t prepare;
} wia_extension_operation_t;

/* Something that a device has beyond these headers: a table of functions of its own, operations, or
 * both. Of a driver, it lives to the end of the process; else it is copied, but for the table. */
typedef struct wia_device_extension_t {
  uint32_t struct_size;
  uint32_t reserved;
  const char *extension_id;                       /* WIA_EXT_*, or "vendor::name" */
  const char *version;                            /* "major.minor": see wia_query_extension() */
  const char *capabilities[WIA_MAX_CAPABILITIES]; /* WIA_CAP_*, or "vendor::name"; NULL ends them */
  wia_extension_operation_t operations[WIA_MAX_EXTENSION_OPERATIONS]; /* a NULL name ends them */
  const void *table; /* O: starts with its uint32_t struct_size; to the end of the process */
  void *context;     /* of prepare */
} wia_device_extension_t;
#define WIA_DEVICE_EXTENSION_INIT WIA_INIT(wia_device_extension_t)

/* -- devices and memory -------------------------------------------------------------------------- */

/* Strings live as long as the driver. */
typedef struct wia_driver_device_info_t {
  uint32_t struct_size;
  uint32_t flags; /* WIA_DEVICE_* */
  const char *description, *vendor, *architecture;
  uint32_t memory_kind_count;
  uint32_t reserved;
  uint64_t address_alignment; /* 0: 64 */
} wia_driver_device_info_t;

typedef struct wia_memory_kind_info_t {
  uint32_t struct_size;
  int32_t kind;                   /* WIA_MEMORY_* */
  uint64_t total_size, free_size; /* 0: not known */
} wia_memory_kind_info_t;

/* Frozen. One side may be host memory: its memory is NULL and its address a host pointer. */
typedef struct wia_copy_t {
  wia_operand_t source, destination;
  uint64_t size; /* bytes */
} wia_copy_t;

/* -- what the library gives a driver ------------------------------------------------------------- */

typedef struct wia_host_t {
  uint32_t struct_size;
  uint32_t reserved;
  /* Writes a line to the library's log (wia/log.h), in the subsystem "driver". */
  void (*log)(const wia_driver_t *driver, int32_t level, const char *text);
  /* The value of the environment variable WIA_<DRIVER>_<NAME>, in capitals, or of WIA_<DRIVER> for
   * the name "". NULL when it is not set or the process is privileged. */
  const char *(*get_option)(const wia_driver_t *driver, const char *name);
  /* Sets a message of any length, and a cause ("" or NULL for none), on an error that the library
   * passed. */
  void (*set_error_text)(wia_error_t *error, const char *message, const char *cause);
  /* For a driver that builds on another one: finds a device by its name, loading and opening it if
   * need be, and gives the table of its driver, with NULL for optional entries that it lacks, and the
   * device to call it with. Both stay good to the end of the process. Whoever calls that table keeps
   * to its contract as the library does: what is allocated through it is in no statistics of the
   * library, and is freed through it. May be called from open_device on, and not in count_devices.
   * Errors: INVALID_ARGUMENT for a malformed name or the asking driver's own; FAILED_PRECONDITION
   * when the device waits, at any remove, for one that is being opened by the caller; UNIMPLEMENTED
   * for a device with WIA_DEVICE_SERIAL, whose calls the library orders; what wia_find_device() and
   * opening the device give. */
  wia_status_t (*find_device)(const wia_driver_t *driver, const char *name,
                              const wia_driver_t **out_driver, wia_driver_device_t *out_device,
                              wia_error_t *out_error);
} wia_host_t;

/* -- streams of the driver's own ----------------------------------------------------------------- */

/* Tells that a stream has reached a value. error: NULL, all work before it is done; else why it is not,
 * of which the library takes the texts. In order, once for each value, on any thread, also inside
 * signal(). Returns soon, and calls no entry of the driver. */
typedef void (*wia_driver_notify_fn_t)(void *context, uint64_t value, wia_error_t *error);

/* Queues in which the device works by itself, in order each. Calls on one stream come one at a time, and
 * should not wait for the work. After a failure, and after a cancel that dropped work, nothing more runs on
 * a stream: what is signalled is told with that error, and the library destroys it and makes another.
 * The library keeps back what comes behind a host function, a wait for an event, or work that has no
 * entry here, and does that itself. */
typedef struct wia_driver_streams_t {
  uint32_t struct_size;   /* at least up to and including signal */
  int32_t least_priority; /* of create: from 0, which goes first, to this */
  /* R: context is notify's. */
  wia_status_t (*create)(wia_driver_device_t device, int32_t priority,
                         wia_driver_notify_fn_t notify, void *context,
                         wia_driver_stream_t *out_stream, wia_error_t *out_error);
  /* R: all values were told; the call that told the last may not have returned yet. */
  void (*destroy)(wia_driver_stream_t stream);
  /* R: has value, which grows from call to call, told when all that was enqueued before is done. When it
   * fails nothing tells of what was enqueued since the last value: that is over on return, dropped or
   * done, since the library lets its memory go. */
  wia_status_t (*signal)(wia_driver_stream_t stream, uint64_t value, wia_error_t *out_error);
  /* O: the library waits and copies. As copy of the device, which the host's memory outlives. */
  wia_status_t (*copy)(wia_driver_stream_t stream, const wia_copy_t *copies, uint32_t count,
                       wia_error_t *out_error);
  /* O: the library waits and fills. */
  wia_status_t (*fill)(wia_driver_stream_t stream, const wia_operand_t *target, uint64_t size,
                       const void *pattern, uint32_t pattern_size, wia_error_t *out_error);
  /* O: all goes on. Drops what has not begun; returns the first value that will be told with CANCELLED
   * for that. 0: there was nothing to drop, and the stream goes on as before. */
  uint64_t (*cancel)(wia_driver_stream_t stream);
} wia_driver_streams_t;

/* -- graphs of the driver's own ------------------------------------------------------------------ */

/* A node of a graph: one kernel (of the driver's, or registered for its device), one copy, or one
 * fill. */
typedef struct wia_driver_graph_node_t {
  uint32_t struct_size;
  int32_t kind;                 /* WIA_GRAPH_KERNEL, _COPY or _FILL */
  const char *name;             /* of the operation; for messages */
  const uint32_t *dependencies; /* nodes before this one, by index */
  uint32_t dependency_count;
  uint32_t pattern_size;
  /* KERNEL; both NULL: no output has an element, so there is nothing to do. The workspace is the
   * graph's alone: nodes share it whose order the library fixed, which is that of their branch. */
  const wia_driver_kernel_t *kernel;
  const wia_kernel_args_t
      *args;              /* without stream; out_error is the library's, and not to be used */
  const wia_copy_t *copy; /* COPY; of a FILL destination and size count */
  const void *pattern;    /* FILL: pattern_size bytes */
} wia_driver_graph_node_t;

/* Graphs that the device takes as a whole. The library launches one at a time of each, and holds
 * the memory, kernels and layouts of the nodes until destroy; all else that nodes point to is valid
 * during the call only. */
typedef struct wia_driver_graphs_t {
  uint32_t struct_size; /* at least up to and including destroy */
  uint32_t reserved;
  /* R: UNIMPLEMENTED, and the library runs the nodes one by one. In topological order. */
  wia_status_t (*create)(wia_driver_device_t device, const wia_driver_graph_node_t *const *nodes,
                         uint32_t count, wia_driver_graph_t *out_graph, wia_error_t *out_error);
  /* R: runs it once. stream NULL: complete on return, also beside streams; else it enqueues there.
   * A failure that a node is known for has its index plus 1 in out_error->detail[0]. */
  wia_status_t (*launch)(wia_driver_graph_t graph, wia_driver_stream_t stream,
                         wia_error_t *out_error);
  /* R: no launch is in flight. */
  void (*destroy)(wia_driver_graph_t graph);
  /* O: the library makes another graph. One node has other operands, scalars or addresses. No
   * launch is in flight. */
  wia_status_t (*update)(wia_driver_graph_t graph, uint32_t index,
                         const wia_driver_graph_node_t *node, wia_error_t *out_error);
} wia_driver_graphs_t;

/* -- the driver table ---------------------------------------------------------------------------- */

/* Lives as long as the process, and is not written to after it was handed over. */
struct wia_driver_t {
  uint32_t struct_size; /* at least up to and including prepare */
  uint32_t flags;       /* 0 */
  const char *name;     /* [a-z][a-z0-9_]*, the part of a device string before the colon */
  const char *version, *vendor;
  wia_driver_self_t self;

  /* R, cheap: may be called again and then tell another number. */
  wia_status_t (*count_devices)(wia_driver_self_t self, uint32_t *out_count,
                                wia_error_t *out_error);
  /* R: index is below the count. Opened at first use and kept to the end of the process. */
  wia_status_t (*open_device)(wia_driver_self_t self, uint32_t index,
                              wia_driver_device_t *out_device, wia_error_t *out_error);
  /* R */
  void (*close_device)(wia_driver_device_t device);
  /* R */
  wia_status_t (*get_info)(wia_driver_device_t device, wia_driver_device_info_t *out_info,
                           wia_error_t *out_error);
  /* R: index 0 is the kind that wia_malloc() uses. */
  wia_status_t (*get_memory_kind)(wia_driver_device_t device, uint32_t index,
                                  wia_memory_kind_info_t *out_info, wia_error_t *out_error);
  /* R: size is above 0. Fills address (unless WIA_DEVICE_OPAQUE_MEMORY) and memory. */
  wia_status_t (*allocate)(wia_driver_device_t device, int32_t kind, uint64_t size,
                           uint64_t alignment, wia_operand_t *out_memory, wia_error_t *out_error);
  /* R: no work on the memory is in flight any more. */
  void (*free)(wia_driver_device_t device, const wia_operand_t *memory);
  /* R: complete on return. Ranges are checked and don't overlap. */
  wia_status_t (*copy)(wia_driver_device_t device, const wia_copy_t *copies, uint32_t count,
                       wia_error_t *out_error);
  /* R: answers UNIMPLEMENTED for what it has no kernel for. May take long and may call wia.h. */
  wia_status_t (*prepare)(wia_driver_device_t device, const wia_request_t *request,
                          wia_driver_kernel_t *out_kernel, wia_error_t *out_error);

  /* O: UNIMPLEMENTED. Writes the dtypes of an operation, one bit each: see wia_get_device_support().*/
  wia_status_t (*get_support)(wia_driver_device_t device, const char *op_name, uint64_t *out_dtypes,
                              wia_error_t *out_error);
  /* O: the library copies the pattern from the host. Complete on return. */
  wia_status_t (*fill)(wia_driver_device_t device, const wia_operand_t *target, uint64_t size,
                       const void *pattern, uint32_t pattern_size, wia_error_t *out_error);
  /* O: WIA_LINK_HOST, figures not known; which is what out_info holds before the call. peer is
   * another device of the driver: the link leads there from device. */
  wia_status_t (*get_link)(wia_driver_device_t device, wia_driver_device_t peer,
                           wia_link_info_t *out_info, wia_error_t *out_error);
  /* O: the library runs a thread for each stream and calls the entries above from there. */
  const wia_driver_streams_t *streams;
  /* O, and for UNIMPLEMENTED: the library copies through host memory. Copies from memory of device to memory
   * of peer, another device of the driver. Complete on return. */
  wia_status_t (*copy_to_peer)(wia_driver_device_t device, wia_driver_device_t peer,
                               const wia_copy_t *copies, uint32_t count, wia_error_t *out_error);

  /* Since 1.1. O: none. The extensions of a device, always the same. */
  wia_status_t (*get_extensions)(wia_driver_device_t device,
                                 const wia_device_extension_t *const **out_extensions,
                                 uint32_t *out_count, wia_error_t *out_error);
  /* Since 1.1. O: the library runs the nodes of a graph one by one. */
  const wia_driver_graphs_t *graphs;
};

/* -- loading ------------------------------------------------------------------------------------- */

/* In: the versions and the host table of the library. Out: the version that the driver was built
 * for and its tables, one per driver in the library. */
typedef struct wia_negotiation_t {
  uint32_t struct_size;
  uint32_t core_major, core_minor;
  uint32_t driver_major, driver_minor; /* out: WIA_DRIVER_ABI_MAJOR, WIA_DRIVER_ABI_MINOR */
  uint32_t driver_count;               /* out */
  const wia_host_t *host;
  const wia_driver_t *const *drivers; /* out */
} wia_negotiation_t;

/* Exported by a driver library as wia_negotiate_driver. Called once. */
typedef wia_status_t (*wia_negotiate_driver_fn_t)(wia_negotiation_t *negotiation,
                                                  wia_error_t *out_error);

/* Registers a driver of this process, as if its library had been loaded: as the default driver only if
 * its name is the one that slot 0 is kept for. Errors: INVALID_ARGUMENT for a malformed name or a table
 * without a required entry, INCOMPATIBLE for another major version, ALREADY_EXISTS for a name in use. */
WIA_API wia_status_t wia_register_driver(const wia_driver_t *driver, uint32_t abi_major,
                                         uint32_t abi_minor);

enum {
  /* Kernels compute in host memory: of a device that isn't WIA_DEVICE_HOST_ADDRESSABLE the library
   * copies the operands there and the outputs back, with each launch. Not with WIA_KERNEL_ASYNC. */
  WIA_KERNEL_ON_HOST = 1
};

/* How kernels are registered. */
typedef struct wia_kernel_config_t {
  uint32_t struct_size;
  uint32_t flags;  /* WIA_KERNEL_ON_HOST */
  uint64_t dtypes; /* those of the operation that prepare is asked for, one bit each; 0: all */
} wia_kernel_config_t;
#define WIA_KERNEL_CONFIG_INIT WIA_INIT(wia_kernel_config_t)

/* Gives an operation kernels, to the end of the process. device: "npu:1", "npu" for all devices of that
 * driver, also one that is not loaded yet; NULL for all devices that have no kernel of their own. Who
 * is asked for a kernel, until one doesn't say UNIMPLEMENTED: what was registered for the device, for
 * its driver, the driver itself, what was registered for all.
 * Plans that exist keep their kernels; calls take the new ones from now on. prepare: any thread,
 * several at once, without a lock; may call wia.h.
 * Errors: INVALID_ARGUMENT for an operation, name or config that is none; ALREADY_EXISTS when kernels
 * of one of these dtypes are registered for the same operation and device. */
WIA_API wia_status_t wia_register_kernel(wia_op_t op, const char *device, wia_prepare_fn_t prepare,
                                         void *context, const wia_kernel_config_t *config);

/* Registers an extension for the device of a context: its operations as wia_register_kernel() does,
 * all or none, and the extension itself for wia_query_extension() and its kin.
 * Errors: INVALID_ARGUMENT for a malformed id, version, capability or table; NOT_FOUND for an
 * operation that is none; ALREADY_EXISTS for an id that the device has in this major version, or as
 * wia_register_kernel(). */
WIA_API wia_status_t wia_register_device_extension(wia_context_t *context,
                                                   const wia_device_extension_t *extension);

/* The host table, for drivers that were registered and not loaded. */
WIA_API const wia_host_t *wia_get_host(void);

WIA_END_DECLS
#endif
