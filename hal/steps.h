/* steps.h: groups that no one kernel computes: several, one after the other, in one launch. */
#ifndef WIA__STEPS_H
#define WIA__STEPS_H

#include "group.h"

/* The plan of a group with a kernel for each node, with a reference. Its kernel is the library's: it
 * runs theirs, and what goes from one to the next lies in its workspace. A group of one node whose
 * operands are the operation's has the operation's own plan. Fails naming the node. */
wia_status_t wia__split_group(const wia__group_t *group, wia__device_t *device,
                              wia__plan_t **out_plan);

uint32_t wia__count_steps(const wia__steps_t *steps);

/* The flags that all kernels have, and the largest of their workspaces. */
uint32_t wia__step_flags(const wia__steps_t *steps);
uint64_t wia__step_workspace(const wia__steps_t *steps);

/* The sum of the kernels' costs; not known if that of one isn't. As wia__measure_plan. */
wia_status_t wia__measure_steps(const wia__steps_t *steps, wia_cost_t *out_cost);

#endif
