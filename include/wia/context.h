/* context.h: a context: one user's connection to one device. */
#ifndef WIA_CONTEXT_H
#define WIA_CONTEXT_H

#include "base.h"

WIA_BEGIN_DECLS

typedef struct wia_context_info_t {
  uint32_t struct_size;
  int32_t device_id;
} wia_context_info_t;
#define WIA_CONTEXT_INFO_INIT WIA_INIT(wia_context_info_t)

/* Creates a context on a device; id 0 is ordinal 0 of the default driver. Opens the device on its
 * first use, and never starts Python for id 0 while a native driver is present.
 * Errors: NOT_FOUND for an id that no device has; what opening the device returns. */
WIA_API wia_status_t wia_create_context(wia_context_t **out_context, int32_t device_id);

/* Invalidates the handle. Tensors, streams and plans made with it stay fully usable. */
WIA_API wia_status_t wia_destroy_context(wia_context_t *context);

WIA_API wia_status_t wia_get_context_info(wia_context_t *context, wia_context_info_t *out_info);

/* Gives up all that this process has of the library, for a program or a plug-in that goes on without it,
 * or begins anew: every handle becomes invalid, memory from wia_malloc() and imports are given back, what
 * is queued on streams is CANCELLED, kernels that were kept are released. Calls that wait get CANCELLED.
 * Work that is running and calls that are going on in other threads are waited for. Drivers stay loaded
 * and devices open, the log's settings stay; all functions may be called afterwards, also while it goes
 * on: what other threads make meanwhile may live or not. Not needed before a process ends.
 * Errors: DEADLINE_EXCEEDED when that took longer than timeout_ns: what is still used then is given back
 * when its use ends. FAILED_PRECONDITION in a function that the library calls, which would wait for
 * itself. */
WIA_API wia_status_t wia_shutdown(int64_t timeout_ns);

WIA_END_DECLS
#endif
