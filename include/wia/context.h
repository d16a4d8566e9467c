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

WIA_END_DECLS
#endif
