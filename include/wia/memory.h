/* memory.h: device memory by address: allocate, copy, fill, ask.
 *
 * Addresses are unique over the host and all devices of the process and good for arithmetic, so an
 * address alone says which device it is on. A range that is stale, foreign or out of bounds is an
 * error, never a crash. */
#ifndef WIA_MEMORY_H
#define WIA_MEMORY_H

#include "base.h"

WIA_BEGIN_DECLS

enum {
  WIA_MEMORY_NONE = 0,
  WIA_MEMORY_DEVICE = 1,       /* the device's own */
  WIA_MEMORY_HOST_PINNED = 2,  /* host memory that the device reaches fast */
  WIA_MEMORY_HOST_VISIBLE = 3, /* device memory that the host may dereference */
  WIA_MEMORY_IMPORTED = 4      /* somebody else's */
};

typedef struct wia_memory_config_t {
  uint32_t struct_size;
  int32_t kind;       /* WIA_MEMORY_*; 0: WIA_MEMORY_DEVICE */
  uint64_t alignment; /* bytes, a power of two; 0: the device's own, at least 64 */
} wia_memory_config_t;
#define WIA_MEMORY_CONFIG_INIT WIA_INIT(wia_memory_config_t)

typedef struct wia_address_info_t {
  uint32_t struct_size;
  int32_t device_id;
  int32_t kind;     /* WIA_MEMORY_* */
  uint32_t pending; /* 1: work in flight uses the allocation */
  uint64_t base;    /* first byte of the allocation */
  uint64_t size;    /* bytes of the allocation */
  uint64_t offset;  /* of the address asked for, from base */
} wia_address_info_t;
#define WIA_ADDRESS_INFO_INIT WIA_INIT(wia_address_info_t)

/* Sizes in bytes, since the process started. */
typedef struct wia_memory_info_t {
  uint32_t struct_size;
  int32_t kind;
  uint64_t total_size; /* as the driver tells it; 0: not known */
  uint64_t free_size;
  uint64_t live_size;      /* allocated and not freed */
  uint64_t peak_size;      /* highest live_size so far */
  uint64_t live_count;     /* allocations */
  uint64_t total_count;    /* allocations ever made */
  uint64_t failed_count;   /* allocations refused by the driver */
  uint64_t deferred_count; /* freed, but kept by work in flight, views or tensors */
} wia_memory_info_t;
#define WIA_MEMORY_INFO_INIT WIA_INIT(wia_memory_info_t)

/* Allocates device memory of the default kind. Size 0 gives OK and NULL.
 * Errors: NOT_FOUND for the device; RESOURCE_EXHAUSTED with the sizes in its message. */
WIA_API wia_status_t wia_malloc(void **out_ptr, uint64_t size, int32_t device_id);

/* The same with a kind and an alignment. Errors: also INVALID_ARGUMENT for a kind or an alignment
 * that isn't one, UNIMPLEMENTED for a kind that the device lacks. */
WIA_API wia_status_t wia_allocate_memory(void **out_ptr, uint64_t size, int32_t device_id,
                                         const wia_memory_config_t *config);

enum { WIA_IMPORT_READ_ONLY = 1 /* the memory is never an output, nor copied or filled to */ };

/* Is told that imported memory is no longer used: once, on any thread, which holds no lock of the
 * library. */
typedef void (*wia_release_fn_t)(void *context);

typedef struct wia_import_config_t {
  uint32_t struct_size;
  uint32_t flags;           /* WIA_IMPORT_* */
  wia_release_fn_t release; /* NULL: nobody needs to be told */
  void *context;            /* handed to release */
} wia_import_config_t;
#define WIA_IMPORT_CONFIG_INIT WIA_INIT(wia_import_config_t)

/* Makes host memory of the caller an allocation of a device that has host addresses, at the same
 * address and of kind WIA_MEMORY_IMPORTED. It is copied, wrapped, marked and counted as memory of
 * wia_malloc() is. wia_free() ends that: release is called when the work in flight is done. The
 * memory must stay until then. After a failure release is not called. config may be NULL.
 * Errors: NOT_FOUND for the device; UNIMPLEMENTED if it has no host addresses; INVALID_ARGUMENT for
 * NULL, for size 0, for a range that leaves the address space, for a flag outside the list;
 * ALREADY_EXISTS if the range overlaps a live allocation of any device. */
WIA_API wia_status_t wia_import_memory(void *pointer, uint64_t size, int32_t device_id,
                                       const wia_import_config_t *config);

/* Frees memory by the address that allocation gave. NULL is OK. Never waits: the address is invalid
 * at once for new calls, the memory is given back when the work in flight on it is done. Tensors
 * that wrap it become invalid.
 * Errors: INVALID_ARGUMENT for an address that is not the start of a live allocation. */
WIA_API wia_status_t wia_free(void *ptr);

/* The same behind what is on a stream now, of work that the library doesn't see too: later calls have no
 * use of the address, and the memory serves again where that is safe, in the same stream at once.
 * stream NULL: wia_free(). Errors: also INVALID_ARGUMENT for a stream of another device;
 * RESOURCE_EXHAUSTED when there is no host memory to note the stream: it is not freed then. */
WIA_API wia_status_t wia_free_async(void *ptr, wia_stream_t *stream);

/* Copy size bytes. With a stream the copy is enqueued and host memory has to stay valid until it is
 * done; the stream's device has to be the one of the memory (of either one between devices).
 * Overlapping ranges are INVALID_ARGUMENT, size 0 does nothing.
 * Errors: INVALID_ARGUMENT for a range outside a live allocation. */
WIA_API wia_status_t wia_copy_host_to_device(void *destination, const void *source, uint64_t size,
                                             wia_stream_t *stream);
WIA_API wia_status_t wia_copy_device_to_host(void *destination, const void *source, uint64_t size,
                                             wia_stream_t *stream);
WIA_API wia_status_t wia_copy_device_to_device(void *destination, const void *source, uint64_t size,
                                               wia_stream_t *stream);

/* Fills size bytes with a pattern of 1, 2, 4, 8 or 16 bytes; size is a multiple of it. */
WIA_API wia_status_t wia_fill_memory(void *destination, const void *pattern, uint32_t pattern_size,
                                     uint64_t size, wia_stream_t *stream);

/* Tells which live allocation an address lies in. Errors: NOT_FOUND when in none. */
WIA_API wia_status_t wia_query_address(const void *address, wia_address_info_t *out_info);

/* Statistics of one memory kind of a device. Errors: NOT_FOUND for the device, INVALID_ARGUMENT for
 * a kind outside the list. */
WIA_API wia_status_t wia_get_memory_info(int32_t device_id, int32_t kind,
                                         wia_memory_info_t *out_info);

enum { WIA_PREFETCH_NONE = 0, WIA_PREFETCH_L1 = 1, WIA_PREFETCH_L2 = 2, WIA_PREFETCH_L3 = 3 };

/* Hints that the host is about to read size bytes at address into a cache level. It never faults,
 * whatever the address; on memory that the host can't read it has no effect.
 * Errors: INVALID_ARGUMENT for a level outside the list. */
WIA_API wia_status_t wia_prefetch(const void *address, uint64_t size, int32_t level);

WIA_END_DECLS
#endif
