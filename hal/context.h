/* context.h: contexts. */
#ifndef WIA__CONTEXT_H
#define WIA__CONTEXT_H

#include "device.h"
#include "object.h"

typedef struct wia__context_t {
  wia__object_t object;
  wia__device_t *device;
} wia__context_t;

/* The device of a context handle. */
wia_status_t wia__context_device(const wia_context_t *context, wia__device_t **out_device);

#endif
