/* memory_pool.h: the memory that a context keeps to give out again, and allocation in the order of
 * streams.
 *
 * A context takes memory from its device in segments, gives out blocks of them, and keeps what is freed
 * for its next allocations. All that wia_allocate_tensor() and wia_malloc_async() give comes from there.
 * Memory that work in flight still uses is given out again where that is safe: in the stream that uses
 * it at once, elsewhere when that work is done, which a stream waits for in its queue. Memory never
 * passes from one context to another but through the driver, so what is in a new block is undefined,
 * and nobody else's unless the driver's memory is. Blocks are 256 bytes or a multiple. */
#ifndef WIA_MEMORY_POOL_H
#define WIA_MEMORY_POOL_H

#include "memory.h"

WIA_BEGIN_DECLS

enum { WIA_MEMORY_POOL_CLASSES = 40 };

enum {
  WIA_MEMORY_POOL_DEFAULT = 0, /* as WIA_MEMORY_POOL says: on, unless it says off */
  WIA_MEMORY_POOL_ON = 1,
  WIA_MEMORY_POOL_OFF = 2 /* later allocations go to the driver and back one by one */
};

typedef struct wia_memory_pool_config_t {
  uint32_t struct_size;
  int32_t mode;        /* WIA_MEMORY_POOL_* */
  uint64_t limit_size; /* most bytes that the context may have of its device; 0: what there is */
  uint64_t keep_size;  /* free bytes above this go back to the driver as soon as they are whole
                          segments; 0: WIA_MEMORY_POOL's, UINT64_MAX: all is kept */
} wia_memory_pool_config_t;
#define WIA_MEMORY_POOL_CONFIG_INIT WIA_INIT(wia_memory_pool_config_t)

/* Sizes in bytes. */
typedef struct wia_memory_pool_info_t {
  uint32_t struct_size;
  int32_t mode; /* _ON or _OFF */
  uint64_t limit_size, keep_size;
  uint64_t reserved_size; /* taken from the driver, free or in use */
  uint64_t
      peak_reserved_size; /* highest since the last wia_reset_memory_peaks(), as the other peak */
  uint64_t used_size;     /* of blocks in use, whole */
  uint64_t peak_used_size;
  uint64_t requested_size;    /* of the same blocks: what was asked for */
  uint64_t free_size;         /* kept, in use by nobody but maybe work in flight */
  uint64_t pending_size;      /* of that: in use by work in flight */
  uint64_t largest_free_size; /* of neighbours that would make one block */
  uint32_t fragmentation;     /* per cent: the part of free_size that is not in the largest */
  uint32_t segment_count;
  uint64_t used_count, free_count; /* blocks */
  uint64_t hit_count;              /* allocations from what was kept */
  uint64_t miss_count;             /* that took memory from the driver */
  uint64_t wait_count;             /* that had a stream or the caller wait for work in flight */
  uint64_t released_count;         /* segments given back to the driver */
  uint64_t failed_count;           /* allocations refused */
  /* Blocks by size: entry i counts those of 2^i to 2^(i + 1) - 1 times 256 bytes. */
  uint64_t used_classes[WIA_MEMORY_POOL_CLASSES], free_classes[WIA_MEMORY_POOL_CLASSES];
} wia_memory_pool_info_t;
#define WIA_MEMORY_POOL_INFO_INIT WIA_INIT(wia_memory_pool_info_t)

/* Allocates memory of the context's device for use in a stream, NULL: for use anywhere. It may be memory
 * that work before in the stream still uses: other streams have to be ordered behind this call, by an
 * event, while calls without a stream wait as they always do. Size 0 gives OK and NULL. config may be
 * NULL; memory that isn't of kind WIA_MEMORY_DEVICE comes from the driver each time. Freed with
 * wia_free_async() or wia_free(). Never waits, but without a stream when the device or the limit is
 * exhausted: then for work in flight on memory that would do.
 * Errors: those of wia_allocate_memory(); INVALID_ARGUMENT for a stream of another device; the stream's
 * own failure when it would have to wait; RESOURCE_EXHAUSTED, when giving back what is kept was no help
 * either, with the sizes in its message. */
WIA_API wia_status_t wia_malloc_async(wia_context_t *context, uint64_t size,
                                      const wia_memory_config_t *config, wia_stream_t *stream,
                                      void **out_ptr);

/* Sets what the context may have and keep. It holds for what comes; a limit below what is reserved gives
 * back what is free and refuses the rest. config NULL: the defaults.
 * Errors: INVALID_ARGUMENT for a mode outside the list. */
WIA_API wia_status_t wia_configure_memory_pool(wia_context_t *context,
                                               const wia_memory_pool_config_t *config);

WIA_API wia_status_t wia_get_memory_pool_info(wia_context_t *context,
                                              wia_memory_pool_info_t *out_info);

/* Gives free segments back to the driver until at most keep_size bytes are free; those that work in
 * flight uses stay. out_size may be NULL: bytes given back. */
WIA_API wia_status_t wia_trim_memory_pool(wia_context_t *context, uint64_t keep_size,
                                          uint64_t *out_size);

/* Sets both peaks of the context's pool to what is there now. */
WIA_API wia_status_t wia_reset_memory_peaks(wia_context_t *context);

WIA_END_DECLS
#endif
