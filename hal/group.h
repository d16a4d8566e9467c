/* group.h: groups of operations: checked, and turned into what a driver prepares. */
#ifndef WIA__GROUP_H
#define WIA__GROUP_H

#include "plan.h"

/* The plan of a group, prepared, with a reference. scalars: WIA__MAX_SCALARS values of a launch: the
 * group's own come first, behind them stand those that the caller fixed or left out. */
wia_status_t wia__plan_group(wia__device_t *device, const wia_group_t *group,
                             wia_scalar_t *out_scalars, wia__plan_t **out_plan);

#endif
