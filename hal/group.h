/* group.h: groups of operations: checked, and turned into what a driver prepares. */
#ifndef WIA__GROUP_H
#define WIA__GROUP_H

#include "plan.h"

/* A node of a checked group. As the driver gets it, it has all operands of the catalog, UINT32_MAX
 * for those left out, and attributes in their one form. */
typedef struct wia__node_t {
  wia_node_t node;
  const wia__op_t *op;
  uint32_t inputs[WIA_MAX_OPERANDS], outputs[WIA_MAX_OPERANDS];
  wia_scalar_t words[WIA__MAX_WORDS];
  wia_scalar_t scalars[WIA__MAX_SCALARS]; /* those that the node fixes, and defaults */
  int32_t places[WIA__MAX_SCALARS];       /* of its scalars among those of a launch; -1: fixed, and
                                             not passed */
  wia_attribute_t attributes[WIA__MAX_WORDS + WIA__MAX_SCALARS];
  int32_t dtypes[WIA__MAX_WORDS];
} wia__node_t;

/* A group whose values, nodes and shapes are right. */
typedef struct wia__group_t {
  wia_group_t group; /* the driver's form; scalar_count has those that nodes fix, too */
  wia_request_t request;
  wia__layout_t **layouts; /* per value, with a reference */
  wia_value_t *values;
  const wia_value_t **value_pointers;
  unsigned char *states; /* per value */
  wia__node_t *nodes;
  const wia_node_t **node_pointers;
  uint32_t given_scalars; /* those that a launch passes */
  uint32_t whole;         /* 0: more scalars are fixed than a kernel can be given */
  wia_scalar_t *scalars;
  uint64_t aliases; /* see alias.h */
} wia__group_t;

/* The plan of a group, prepared, with a reference. scalars: WIA__MAX_SCALARS values of a launch: the
 * group's own come first, behind them stand those that the caller fixed or left out. */
wia_status_t wia__plan_group(wia__device_t *device, const wia_group_t *group,
                             wia_scalar_t *out_scalars, wia__plan_t **out_plan);

/* A plan for the operands of a group that has no kernel yet. NULL: no memory. */
wia__plan_t *wia__create_group_plan(const wia__group_t *group, wia__device_t *device,
                                    const char *name, uint32_t scalar_count);

#endif
