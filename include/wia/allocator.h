/* allocator.h: device memory from functions of the program.
 *
 * A context, or a whole device, may be given functions to allocate and free with in place of its driver:
 * an application that has an allocator of its own (RMM, a framework's, an arena for each NUMA node), or
 * one that counts, bounds or records. On a device with host addresses memory may be from anywhere; on
 * any device it may be a part of an arena, which wia_allocate_arena() takes from the driver.
 *
 * A context's pool stays in front of its functions, which then get requests for segments; with
 * WIA_MEMORY_POOL_OFF each allocation is a request. What a device's functions get beside: wia_malloc(),
 * contexts without functions of their own, and the workspaces of plans and graphs, which are a device's
 * and no context's. */
#ifndef WIA_ALLOCATOR_H
#define WIA_ALLOCATOR_H

#include "memory.h"

WIA_BEGIN_DECLS

/* What is asked for. Valid during the call. */
typedef struct wia_memory_request_t {
  uint32_t struct_size;
  int32_t device_id;
  int32_t kind; /* WIA_MEMORY_* */
  uint32_t reserved;
  uint64_t size;      /* bytes, above 0 */
  uint64_t alignment; /* bytes, a power of two, at least 64 */
  wia_stream_t
      *stream; /* that is to use it first, as the caller gave it; NULL: none in particular, as for
                  a segment of a pool. NULL when it is freed */
} wia_memory_request_t;

/* Gives memory that nobody uses, neither the host nor work in flight, or NULL if there is none. On the
 * thread that asks for memory, which holds no lock of the library. It may call the library, but not for
 * memory that would be asked of it again, and not wait for streams. Until it has returned the thread calls
 * free only if it trims a pool. After NULL it may be asked once more, when memory was given back. */
typedef void *(*wia_allocate_fn_t)(void *context, const wia_memory_request_t *request);

/* Takes memory back: once for each, when nothing uses it any more, all work in flight on any stream
 * included. On any thread, which holds no lock of the library. The request is as it was. It may call the
 * library, but not wait for streams. */
typedef void (*wia_free_fn_t)(void *context, void *ptr, const wia_memory_request_t *request);

typedef struct wia_allocator_t {
  uint32_t struct_size;
  uint32_t kinds; /* bits 1 << WIA_MEMORY_*: what it is asked for; others come from the driver. 0:
                     WIA_MEMORY_DEVICE */
  wia_allocate_fn_t allocate;
  wia_free_fn_t free;
  wia_release_fn_t
      release;      /* told when none of the functions will be called again; NULL: nobody is */
  void *context;    /* handed to all of them */
  const char *name; /* for messages; copied; NULL: "allocator" */
} wia_allocator_t;
#define WIA_ALLOCATOR_INIT WIA_INIT(wia_allocator_t)

/* Sets the functions that a context takes memory from, NULL: the device's, or the driver. They are for what
 * comes: memory goes back where it came from, so former ones are called as long as some of theirs is
 * used. What the pool keeps free is given back at once; free parts of segments in use serve on, so for
 * all memory to come from here it is set first. After a failure release is not called.
 * Allocating then fails with RESOURCE_EXHAUSTED, naming the allocator, when it gives NULL, and with
 * INTERNAL for memory that isn't aligned, that is in use already, that leaves its arena, or that the
 * device can't reach.
 * Errors: INVALID_ARGUMENT without one of the two functions, or for a kind outside the list. */
WIA_API wia_status_t wia_set_allocator(wia_context_t *context, const wia_allocator_t *allocator);

/* The same for a device: for all its memory but arenas and what contexts' own functions give.
 * wia_shutdown() takes them off again. Errors: also NOT_FOUND for the device. */
WIA_API wia_status_t wia_set_device_allocator(int32_t device_id, const wia_allocator_t *allocator);

/* Takes memory from the device's driver for an allocator to give out parts of. No address in it is valid
 * for calls until it was given out, and it counts in no statistics but with what was. config may be NULL.
 * Size 0 gives OK and NULL. Errors: those of wia_allocate_memory(). */
WIA_API wia_status_t wia_allocate_arena(void **out_ptr, uint64_t size, int32_t device_id,
                                        const wia_memory_config_t *config);

/* Frees an arena by the address that was given: at once, or when the last part of it is no longer used.
 * NULL is OK. Errors: INVALID_ARGUMENT for an address that is not the start of an arena. */
WIA_API wia_status_t wia_free_arena(void *ptr);

WIA_END_DECLS
#endif
