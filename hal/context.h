/* context.h: contexts. */
#ifndef WIA__CONTEXT_H
#define WIA__CONTEXT_H

#include "memory_pool.h"

typedef struct wia__context_t {
  wia__object_t object;
  wia__device_t *device;
  wia__memory_pool_t *pool;
} wia__context_t;

/* The device of a context handle. */
wia_status_t wia__context_device(const wia_context_t *context, wia__device_t **out_device);

/* Memory of the context for use in a stream, which may be NULL. size 0 gives OK and NULL (pool_info.c).
 * Gives a reference and a use. */
wia_status_t wia__allocate_for(wia__context_t *context, uint64_t size,
                               const wia_memory_config_t *config, const wia_stream_t *stream,
                               bool owned, wia__allocation_t **out_allocation);

#endif
