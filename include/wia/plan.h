/* plan.h: plans: kernels prepared once for a signature and run many times. */
#ifndef WIA_PLAN_H
#define WIA_PLAN_H

#include "base.h"
#include "layout.h"
#include "operation.h"

WIA_BEGIN_DECLS

/* A group is a small graph of operations that one kernel computes; a single operation is a group of
 * one node. Structs with struct_size grow, so they stand in arrays of pointers. */
enum { WIA_VALUE_NONE = 0 };
typedef struct wia_value_t {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  const wia_tensor_layout_t *layout;
  int32_t alias; /* an output that is exactly the storage of that input of the group; else -1 */
  uint32_t reserved;
  const char *name;
} wia_value_t;
#define WIA_VALUE_INIT WIA_INIT_1(wia_value_t, alias, -1)

typedef struct wia_node_t {
  uint32_t struct_size;
  wia_op_t op;
  const char *op_name; /* the identity in files; a number may differ from run to run */
  const wia_attribute_t *attributes;
  const uint32_t *inputs;  /* indices of values; UINT32_MAX: left out */
  const uint32_t *outputs; /* likewise */
  uint32_t attribute_count, input_count, output_count, reserved;
  const char *source; /* where it comes from, for messages; may be NULL */
} wia_node_t;
#define WIA_NODE_INIT WIA_INIT(wia_node_t)

typedef struct wia_group_t {
  uint32_t struct_size;
  uint32_t node_count;
  const wia_node_t *const *nodes; /* in topological order */
  const wia_value_t *const *values;
  const uint32_t *inputs; /* values that are operands, in the order of a launch */
  const uint32_t *outputs;
  uint32_t value_count, input_count, output_count;
  uint32_t scalar_count; /* values that a launch passes */
} wia_group_t;
#define WIA_GROUP_INIT WIA_INIT(wia_group_t)

/* The strings live as long as the plan. Costs below 0 are not known. Of a group that was split, name
 * has the operations, flags those that all of its kernels have, and costs are sums. */
typedef struct wia_plan_info_t {
  uint32_t struct_size;
  int32_t device_id;
  const char *name; /* of the kernel, as profiles show it */
  uint32_t input_count, output_count;
  uint32_t scalar_count;
  uint32_t flags;          /* WIA_KERNEL_* of wia_driver.h */
  uint64_t workspace_size; /* bytes that a launch takes */
  double flops, bytes, time_ns, energy_pj;
  uint32_t kernel_count; /* 1, or the kernels of a group that was split, one after the other */
  uint32_t reserved;
} wia_plan_info_t;
#define WIA_PLAN_INFO_INIT WIA_INIT(wia_plan_info_t)

/* Prepares a group: one kernel if the driver has one for it as a whole, else one for each node, which
 * a launch runs one after the other. wia_plan_info_t.kernel_count tells. What goes from one to the
 * next lies in memory of the plan: as much as lives at one time, once for each of the launches that
 * run at once. Shapes and dtypes are checked as for single operations. The driver runs without a lock
 * of the library and may take long.
 * Errors, which name the node: INVALID_ARGUMENT, also for a node that reads its output as it was
 * before (beta of matmul) when that is no output of the group; UNIMPLEMENTED when the driver lacks a node as well,
 * or when a group that it doesn't take as a whole reads an input after an output in its place was
 * written. */
WIA_API wia_status_t wia_create_plan(wia_context_t *context, const wia_group_t *group,
                                     wia_plan_t **out_plan);

/* The same for one operation, with the layouts and the aliasing of these tensors. Its scalars are
 * those of the catalog entry, in its order. */
WIA_API wia_status_t wia_create_operation_plan(wia_context_t *context, wia_op_t op,
                                               const wia_tensor_t *inputs, uint32_t input_count,
                                               const wia_tensor_t *outputs, uint32_t output_count,
                                               const wia_attribute_t *attributes,
                                               uint32_t attribute_count, wia_plan_t **out_plan);

/* Invalidates the handle; work in flight goes on. */
WIA_API wia_status_t wia_destroy_plan(wia_plan_t *plan);

/* Runs a plan. operands are its inputs, then its outputs, with exactly the layouts and the aliasing
 * it was made for; left-out operands are NULL. scalars NULL: those given when the plan was made.
 * Errors: INVALID_HANDLE; INVALID_ARGUMENT for a wrong count, layout, aliasing or device; the
 * kernel's. */
WIA_API wia_status_t wia_execute_plan(wia_plan_t *plan, const wia_tensor_t *operands,
                                      uint32_t operand_count, const wia_scalar_t *scalars,
                                      uint32_t scalar_count, wia_stream_t *stream);

WIA_API wia_status_t wia_get_plan_info(wia_plan_t *plan, wia_plan_info_t *out_info);

/* The cache of prepared kernels of a device, over the life of the process. */
typedef struct wia_plan_cache_stats_t {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t entry_count; /* kernels held now, refusals included */
  uint64_t capacity;    /* WIA_PLAN_CACHE_SIZE */
  uint64_t hit_count;   /* calls that found their kernel */
  uint64_t miss_count;  /* calls that had to prepare, or to wait for it */
  uint64_t eviction_count;
} wia_plan_cache_stats_t;
#define WIA_PLAN_CACHE_STATS_INIT WIA_INIT(wia_plan_cache_stats_t)

WIA_API wia_status_t wia_get_plan_cache_stats(int32_t device_id, wia_plan_cache_stats_t *out_stats);

WIA_END_DECLS
#endif
