/* supply.h: kernels that are registered for an operation, beside those of the drivers. */
#ifndef WIA__SUPPLY_H
#define WIA__SUPPLY_H

#include "plan.h"

/* Bit 0 is WIA_DTYPE_NONE. */
#define WIA__ALL_DTYPES ((UINT64_C(1) << WIA_DTYPE_COUNT) - 2)

typedef enum wia__reach_t {
  WIA__FOR_DEVICE = 0,
  WIA__FOR_DRIVER = 1, /* from here on the driver itself has been asked */
  WIA__FOR_ALL = 2,
  WIA__REACH_COUNT = 3
} wia__reach_t;

/* Asks the prepare functions of that reach for a kernel, outside the epoch and without a lock. The
 * status of the first that doesn't say UNIMPLEMENTED; else that, with what they said appended to
 * refusals, a text of WIA__TEXT_SIZE. Only for a request of one node. */
wia_status_t wia__ask_supplies(wia__device_t *device, const wia_request_t *request,
                               wia__reach_t reach, wia_driver_kernel_t *out_kernel,
                               wia_error_t *out_error, char *refusals);

/* The dtypes of an operation that are supplied to a device. */
uint64_t wia__supplied_dtypes(const wia__device_t *device, const wia__op_t *op);

/* One registration, for wia__add_supplies: all of a list or none. */
typedef struct wia__supply_t {
  const wia__op_t *op;
  wia_prepare_fn_t prepare;
  void *context;
  uint64_t dtypes;
  uint32_t flags;
  wia__reach_t reach;
  uint32_t ordinal; /* FOR_DEVICE */
  char driver[64];  /* FOR_DEVICE, FOR_DRIVER */
  struct wia__supply_t *next;
} wia__supply_t;

/* Takes the list over on success, behind which the caller has wia__forget_op() do its part. */
wia_status_t wia__add_supplies(wia__supply_t *first);

/* Drops what the caches of all open devices know of an operation. (cache.c) */
void wia__forget_op(wia_op_t op);

/* Turns a kernel for host memory into one for a device whose memory the host can't reach. (stage.c) On
 * failure the kernel is released. */
wia_status_t wia__stage_kernel(wia__device_t *device, wia_driver_kernel_t *kernel,
                               wia_error_t *out_error);

#endif
