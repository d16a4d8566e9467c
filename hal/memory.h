/* memory.h: allocations: who owns a range of addresses, and what is in flight on it. */
#ifndef WIA__MEMORY_H
#define WIA__MEMORY_H

#include "device.h"
#include "object.h"

typedef struct wia__queue_t wia__queue_t; /* stream.h */

/* Work in flight: everything up to sequence on queue may use the allocation. */
typedef struct wia__mark_t {
  wia__queue_t *queue; /* holds a reference */
  uint64_t sequence;
} wia__mark_t;

/* The struct lives as long as it has references, the memory as long as it has uses: its owner, views
 * of it and work in flight. Tensors that borrow hold a reference and no use. */
typedef struct wia__allocation_t {
  wia__object_t object;
  wia__object_t memory_end; /* retired when the last use goes: gives the memory back */
  _Atomic uint32_t uses;
  _Atomic uint32_t freed; /* 1: the address is no longer valid for new calls */
  wia__device_t *device;
  wia_operand_t memory; /* at the allocation's first byte */
  uint64_t size;
  int32_t kind;
  uint32_t owned;                         /* 1: by a tensor, so wia_free() refuses it */
  struct wia__allocation_t *left, *right; /* in the map of addresses */
  uint64_t priority;
  _Atomic uint32_t pending; /* number of marks, some of which may be done by now */
  uint32_t mark_capacity;
  pthread_mutex_t mark_mutex;
  wia__mark_t *marks;
} wia__allocation_t;

/* size is above 0. Gives a reference and a use to the caller. */
wia_status_t wia__allocate(wia__device_t *device, uint64_t size, const wia_memory_config_t *config,
                           bool owned, wia__allocation_t **out_allocation);

/* False when the memory is already on its way back. */
bool wia__try_use(wia__allocation_t *allocation);
void wia__end_use(wia__allocation_t *allocation);

/* The live allocation that address lies in, or NULL. Good until wia__exit. */
wia__allocation_t *wia__find_allocation(uint64_t address);

/* Finds it, and checks that all of [address, address + size) lies inside. */
wia_status_t wia__find_range(uint64_t address, uint64_t size, const char *argument,
                             wia__allocation_t **out_allocation);

/* Notes that work up to sequence on the queue uses the allocation. */
wia_status_t wia__mark(wia__allocation_t *allocation, wia__queue_t *queue, uint64_t sequence);

static inline bool wia__is_pending(const wia__allocation_t *allocation) {
  return atomic_load_explicit(&allocation->pending, memory_order_acquire) != 0;
}

/* Waits for the work that is marked on allocations (NULL: none), outside the epoch. *out_waited says
 * whether there was any: then everything has to be looked up again. Fails with the error of work that
 * failed, *out_waited false. At most WIA_MAX_OPERANDS of them. */
wia_status_t wia__settle(wia__allocation_t *const *allocations, uint32_t count, bool *out_waited);

/* The map of addresses (address.c). */
wia_status_t wia__map_insert(wia__allocation_t *allocation);
void wia__map_remove(wia__allocation_t *allocation);

/* The operand at address, of an allocation that holds it. */
static inline wia_operand_t wia__operand_at(const wia__allocation_t *allocation, uint64_t address) {
  return (wia_operand_t){.address = address,
                         .memory = allocation->memory.memory,
                         .offset =
                             allocation->memory.offset + (address - allocation->memory.address)};
}

#endif
