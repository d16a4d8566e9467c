/* program.h: a graph made ready to run: the inside of an executable. */
#ifndef WIA__PROGRAM_H
#define WIA__PROGRAM_H

#include "graph.h"

/* A node that has something to do. */
typedef struct wia__program_step_t {
  wia_kernel_fn_t fn; /* of a kernel that may be called as it is; else NULL */
  void *state;
  wia_kernel_args_t args; /* of any kernel */
  wia__graph_node_t *node;
  uint32_t index; /* of the node */
} wia__program_step_t;

/* Kernels of one branch and device share it, since they run one after the other. */
typedef struct wia__workspace_t {
  uint32_t branch;
  wia__device_t *device;
  uint64_t size, alignment;
  wia__allocation_t *allocation; /* with a use and a reference */
} wia__workspace_t;

/* What is launched. It runs once at a time. Its executable writes to it only while nobody else has a
 * reference and it doesn't run; else a copy takes its place. */
typedef struct wia__program_t {
  wia__object_t object;
  char *name;
  wia__device_t *device;
  wia__node_list_t list;
  wia__program_step_t *steps;
  uint32_t step_count, branch_count;
  uint32_t parallel;              /* 1: each branch on a thread of its own */
  uint32_t waits;                 /* 1: a run may wait, so it is outside the epoch */
  wia__program_step_t **step_of;  /* by node; NULL: it has nothing to do */
  unsigned char *signals;         /* by node: 1: another branch depends on it */
  wia_operand_t **operands;       /* by node: as its kernel gets them */
  char (*titles)[WIA__NODE_TEXT]; /* by node; NULL: the device has no streams of its own */
  wia_error_t *errors;            /* by branch */
  wia__workspace_t *workspaces;
  uint32_t workspace_count;
  uint32_t memory_count;
  wia__allocation_t **memories; /* that nodes use, each once: see wia__list_memories */
  _Atomic bool stale;           /* of that list: an operand has changed since */
  wia_driver_graph_t
      driver_graph; /* what the driver made of it; NULL: the library runs the nodes */
} wia__program_t;

/* Takes over the nodes, also on failure. branches: WIA_BRANCHES_*; own: without the driver's
 * graphs. */
wia_status_t wia__create_program(const char *name, wia__device_t *device, wia__node_list_t *list,
                                 uint32_t branch_count, const wia_instantiate_config_t *config,
                                 wia__program_t **out_program);

/* After the operands or scalars of a node have changed. */
void wia__refresh_node(wia__program_t *program, uint32_t node);

/* Makes the list of memories if it is stale. */
wia_status_t wia__list_memories(wia__program_t *program);

/* That no memory was freed, naming a node. *out_pending: some has work in flight. */
wia_status_t wia__check_memories(const wia__program_t *program, bool *out_pending);

/* A use of each memory, beyond those that nodes have; fails like wia__check_memories. */
wia_status_t wia__use_memories(const wia__program_t *program);
void wia__end_memories(const wia__program_t *program);

/* Runs all steps in order on this thread. Fails naming the node. */
wia_status_t wia__run_steps(wia__program_t *program);
/* Runs one. */
wia_status_t wia__run_step(wia__program_t *program, const wia__program_step_t *step);

/* Puts the node in front of this thread's last error, which is of that status. */
wia_status_t wia__name_failure(const wia__program_t *program, uint32_t node, wia_status_t status);

/* The driver's graph of it (graph_driver.c): offers the nodes. OK and no graph: the driver doesn't
 * want them. */
wia_status_t wia__offer_graph(wia__program_t *program);
void wia__drop_driver_graph(wia__program_t *program);
/* After a node has changed: the driver's graph has too, or is another, or none. */
void wia__refresh_driver_graph(wia__program_t *program, uint32_t node);
/* stream NULL: complete on return. */
wia_status_t wia__launch_driver_graph(const wia__program_t *program, wia_driver_stream_t stream);

#endif
