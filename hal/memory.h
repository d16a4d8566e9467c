/* memory.h: allocations: who owns a range of addresses, and what is in flight on it. */
#ifndef WIA__MEMORY_H
#define WIA__MEMORY_H

#include "source.h"

typedef struct wia__queue_t wia__queue_t;             /* stream.h */
typedef struct wia__memory_pool_t wia__memory_pool_t; /* memory_pool.h */

/* Work in flight: everything up to sequence on queue may use the allocation. */
typedef struct wia__mark_t {
  wia__queue_t *queue; /* holds a reference */
  uint64_t sequence;   /* WIA__CAPTURED and the id of a capture: of work that it has noted */
  bool inherited;      /* from who had the memory before: waited for, but a failure is not ours */
} wia__mark_t;
#define WIA__CAPTURED (UINT64_C(1) << 63)

/* Whether that capture still goes on. */
bool wia__is_captured(const wia__mark_t *mark);

/* The struct lives as long as it has references, the memory as long as it has uses: its owner, views
 * of it and work in flight. Tensors that borrow hold a reference and no use. Memory of a pool doesn't
 * wait for work in flight: it goes back with its marks, and the pool sees to what may have it next. */
struct wia__allocation_t {
  wia__object_t object;
  wia__object_t memory_end; /* retired when the last use goes: gives the memory back */
  _Atomic uint32_t uses;
  _Atomic uint32_t freed; /* 1: the address is no longer valid for new calls */
  wia__device_t *device;
  wia_operand_t memory; /* at the allocation's first byte */
  uint64_t size;
  int32_t kind;
  uint32_t owned;               /* 1: by a tensor, so wia_free() refuses it */
  uint32_t read_only;           /* 1: imported so */
  uint32_t is_arena;            /* 1: for parts of it: in a map of its own, and not counted */
  wia__source_t source;         /* of memory that is not a pool's or imported */
  wia__memory_pool_t *pool;     /* whose quota it counts in, with a reference; NULL: none's */
  struct wia__piece_t *piece;   /* of the pool's heap; NULL: the driver's own allocation */
  struct wia__shadow_t *shadow; /* of the layer validate, under its mutex; NULL: none yet */
  wia_release_fn_t release;     /* of imported memory; NULL: nobody is told */
  void *release_context;
  struct wia__allocation_t *left, *right; /* in the map of addresses */
  uint64_t priority;
  _Atomic uint32_t pending; /* number of marks, some of which may be done by now */
  uint32_t mark_capacity;
  pthread_mutex_t mark_mutex;
  wia__mark_t *marks;
};

/* size is above 0. Gives a reference and a use to the caller. */
wia_status_t wia__allocate(wia__device_t *device, uint64_t size, const wia_memory_config_t *config,
                           bool owned, wia__allocation_t **out_allocation);

/* Whose pool memory is from and which stream is to use it; each may be NULL, and the caller has references
 * to the first two. */
typedef struct wia__demand_t {
  wia__memory_pool_t *pool;
  wia__queue_t *queue;
  wia_stream_t *stream; /* the queue's handle, for allocators to know it by */
} wia__demand_t;
wia_status_t wia__allocate_in(wia__device_t *device, const wia__demand_t *demand, uint64_t size,
                              const wia_memory_config_t *config, bool owned,
                              wia__allocation_t **out_allocation);

/* The error for memory that was given out twice. It is not given back, but its source let go of. */
wia_status_t wia__refuse_overlapping(const wia__device_t *device, const wia__source_t *source,
                                     uint64_t address, uint64_t size);

wia__memory_counts_t wia__memory_counts(wia__device_t *device, int32_t kind);

/* Puts a zeroed struct that has its device, memory, size and kind into use, with a reference and a use
 * for the caller. False, and nothing happened: the range overlaps a live allocation or overflows. */
bool wia__start_allocation(wia__allocation_t *allocation);

/* Host memory as an allocation of the device: import.c. config: of full size, checked by
 * wia__read_import. As wia__allocate. */
wia_status_t wia__read_import(const wia_import_config_t *config, wia_import_config_t *out_config);
wia_status_t wia__import(wia__device_t *device, uint64_t address, uint64_t size,
                         const wia_import_config_t *config, bool owned,
                         wia__allocation_t **out_allocation);

/* Fails if the allocation may not be written to. */
wia_status_t wia__refuse_write(const wia__allocation_t *allocation, const char *argument);
static inline wia_status_t wia__check_writable(const wia__allocation_t *allocation,
                                               const char *argument) {
  if (__builtin_expect(!allocation->read_only, 1)) return WIA_STATUS_OK;
  return wia__refuse_write(allocation, argument);
}

/* False when the memory is already on its way back. */
bool wia__try_use(wia__allocation_t *allocation);
void wia__end_use(wia__allocation_t *allocation);

/* Makes the address invalid; false if it already was. */
bool wia__invalidate(wia__allocation_t *allocation);

/* For queued work, from before it is marked until it has ended. False: the memory was freed. Memory of
 * a pool gives a reference, and any other a use, which keeps it until then. */
bool wia__begin_flight(wia__allocation_t *allocation);
void wia__end_flight(wia__allocation_t *allocation);

/* The live allocation that address lies in, or NULL. Good until wia__exit. */
wia__allocation_t *wia__find_allocation(uint64_t address);

/* Frees all memory that the program has and no tensor owns, as wia_free() does. */
void wia__free_memory(void);

/* Finds it, and checks that all of [address, address + size) lies inside. */
wia_status_t wia__find_range(uint64_t address, uint64_t size, const char *argument,
                             wia__allocation_t **out_allocation);

/* Notes that work up to sequence on the queue uses the allocation. */
wia_status_t wia__mark(wia__allocation_t *allocation, wia__queue_t *queue, uint64_t sequence);

static inline bool wia__is_pending(const wia__allocation_t *allocation) {
  return atomic_load_explicit(&allocation->pending, memory_order_acquire) != 0;
}

/* That unseen work which is on the queue now uses the allocation (function.c). */
wia_status_t wia__note_use(wia__allocation_t *allocation, wia__queue_t *queue);
/* Takes all marks off; each has a reference to its queue. */
void wia__take_marks(wia__allocation_t *allocation, wia__mark_t **out_marks, uint32_t *out_count);
/* Waits, outside the epoch, until that work has ended, well or not. Fails when this thread can't wait
 * for it, or is interrupted. */
wia_status_t wia__await_end(const wia__mark_t *mark);

/* Waits for the work that is marked on allocations (NULL: none), outside the epoch. *out_waited says
 * whether there was any: then everything has to be looked up again. Fails with the error of work that
 * failed, *out_waited false. At most WIA_MAX_OPERANDS of them. */
wia_status_t wia__settle(wia__allocation_t *const *allocations, uint32_t count, bool *out_waited);

/* The maps of addresses, one of them of arenas (address.c). Inserting is false if the range overlaps another
 * or overflows. */
bool wia__map_insert(wia__allocation_t *allocation);
void wia__map_remove(wia__allocation_t *allocation);
/* Whether some of a range is in a live allocation. */
bool wia__is_mapped(uint64_t address, uint64_t size);
/* The arena that some of a range is in, with a use, or NULL. */
wia__allocation_t *wia__use_arena(uint64_t address, uint64_t size);
/* The arena that starts there, 0: any; or NULL. Good until wia__exit. */
wia__allocation_t *wia__find_arena(uint64_t address);
/* Calls visit for each live one, under a lock that it must not need. */
void wia__each_allocation(void (*visit)(void *context, const wia__allocation_t *allocation),
                          void *context);
/* Any live allocation that no tensor owns, or NULL. Good until wia__exit. */
wia__allocation_t *wia__find_unowned(void);
/* What address lay in before the process was forked off, or NULL. */
const wia__allocation_t *wia__find_forked(uint64_t address);

/* The operand at address, of an allocation that holds it. */
static inline wia_operand_t wia__operand_at(const wia__allocation_t *allocation, uint64_t address) {
  return (wia_operand_t){.address = address,
                         .memory = allocation->memory.memory,
                         .offset =
                             allocation->memory.offset + (address - allocation->memory.address)};
}

#endif
