/* frame.h: what one running launch needs: arguments, operands, workspace. A plan keeps a few, so that
 * a launch only writes addresses. */
#ifndef WIA__FRAME_H
#define WIA__FRAME_H

#include "plan.h"

struct wia__frame_t {
  wia_kernel_args_t args;
  wia_error_t error;
  wia__allocation_t *workspace; /* with a reference and its use */
  uint64_t hits;                /* launches through the cache */
  wia_operand_t operands[];
};

/* The place of a frame that a launch is using. */
#define WIA__BUSY ((wia__frame_t *)1)

wia_status_t wia__create_frame(wia__plan_t *plan, wia__frame_t **out_frame);
void wia__free_frame(wia__frame_t *frame);

#endif
