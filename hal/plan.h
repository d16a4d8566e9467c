/* plan.h: prepared kernels: what they were prepared for, and how they are launched. */
#ifndef WIA__PLAN_H
#define WIA__PLAN_H

#include "op.h"
#include "stream.h"
#include "tensor.h"

enum { WIA__SCRATCHES = 4, WIA__KEY_WORDS = 2 + WIA_MAX_OPERANDS + WIA__MAX_WORDS };

/* What makes two calls of a device need the same kernel: operation, aliasing, layouts, attributes. */
typedef struct wia__key_t {
  uint32_t count;
  uint64_t hash;
  uint64_t words[WIA__KEY_WORDS];
} wia__key_t;

typedef struct wia__kernel_t wia__kernel_t; /* kernel.h */
typedef struct wia__class_t wia__class_t;
typedef struct wia__steps_t wia__steps_t; /* steps.h */

/* A kernel, or the refusal of one. Immutable once it is ready, but for its workspaces. */
typedef struct wia__plan_t {
  wia__object_t object;
  wia__device_t *device;
  const char *name;           /* the operation, or the group's, for messages */
  wia__kernel_t *shared;      /* with a reference; NULL: refused, or not prepared yet */
  wia_driver_kernel_t kernel; /* a copy of what is in there, close at hand */
  const wia__steps_t *steps;  /* what runs in place of one kernel, which owns them; else NULL */
  uint32_t inherited;         /* 1: it was prepared for another shape, and so is its cost */
  wia__failure_t refusal;     /* status OK: none */
  uint32_t input_count, output_count, scalar_count;
  uint32_t plain;          /* 1: may be called without a lock or a workspace */
  uint32_t brief;          /* 1: plain, and a launch takes microseconds and waits for nothing */
  uint32_t writes_nothing; /* 1: no output has an element, so there is nothing to launch */
  const wia_tensor_layout_t *layouts[WIA_MAX_OPERANDS]; /* with references; NULL: left out */
  uint64_t aliases;                                     /* see alias.h */
  wia_kernel_args_t args;                               /* of every launch, but for what changes */
  _Atomic(wia__allocation_t *) scratches[WIA__SCRATCHES]; /* workspaces: see launch.c */
  /* for the cache */
  wia__key_t key;
  struct wia__plan_t *next_in_bucket;
  uint64_t position; /* in the cache's list of entries */
  _Atomic uint32_t used;
  uint32_t preparing; /* under the cache's mutex: 1 until a thread has prepared it */
  uint32_t outdated;  /* likewise: 1 when other kernels were registered meanwhile */
} wia__plan_t;

/* A plan without a kernel yet: 1 reference. Takes references to the layouts. NULL: no memory. */
wia__plan_t *wia__create_plan(wia__device_t *device, const char *name,
                              const wia_tensor_layout_t *const *layouts, uint32_t input_count,
                              uint32_t output_count, uint32_t scalar_count, uint64_t aliases);

/* Asks the driver for the kernel of a group, outside the epoch, and notes a refusal in the plan too.
 * class: what the kernel may be shared for; NULL: nothing. */
wia_status_t wia__prepare_plan(wia__plan_t *plan, const wia_request_t *request,
                               const wia__class_t *class);

/* The same for one operation, from the plan's layouts and aliases. */
wia_status_t wia__prepare_operation(wia__plan_t *plan, const wia__op_t *op,
                                    const wia_scalar_t *words);

/* Gives the plan a kernel that somebody else than its driver made; takes it over, also on failure. */
wia_status_t wia__set_kernel(wia__plan_t *plan, const wia_driver_kernel_t *kernel);

/* The attributes of a node as a driver gets them: those of the words that are not the default, then
 * all scalars, whose places in a launch stand in scalar_places. Options go to the request. The lists
 * are the caller's: WIA__MAX_WORDS + WIA__MAX_SCALARS attributes, WIA__MAX_WORDS dtypes. */
uint32_t wia__list_attributes(const wia__op_t *op, const wia_scalar_t *words,
                              const int32_t *scalar_places, wia_attribute_t *attributes,
                              int32_t *dtypes, wia_request_t *request);

/* What a launch costs; outside the epoch, so the caller holds a reference. */
wia_status_t wia__measure_plan(const wia__plan_t *plan, wia_cost_t *out_cost);

/* Runs the kernel at once on this thread: tensors are usable, fitting, and without work in flight.
 * Also from a worker: then operands come without tensors. */
wia_status_t wia__launch(wia__plan_t *plan, const wia__tensor_t *const *tensors,
                         const wia_scalar_t *scalars);

/* The same as a step of another launch: on operands, and with a name for what fails. */
wia_status_t wia__launch_step(wia__plan_t *plan, const char *name, const wia_operand_t *operands,
                              const wia_scalar_t *scalars);

/* Calls the kernel with arguments that are complete, under the locks that it needs. */
wia_status_t wia__call_locked(wia__plan_t *plan, const wia_kernel_args_t *args);

/* Gives a workspace that no launch uses back; NULL does nothing. */
void wia__free_scratch(wia__allocation_t *scratch);

/* Puts it on a stream. Takes references and uses of what it needs. */
wia_status_t wia__launch_on(wia__plan_t *plan, const wia__tensor_t *const *tensors,
                            const wia_scalar_t *scalars, wia__queue_t *queue);

/* What a launch uses, and one that is an item of a queue, for the layer validate. */
struct wia__uses_t;
void wia__list_operands(const wia__plan_t *plan, const wia__tensor_t *tensors,
                        struct wia__uses_t *uses);
void wia__list_launch(const wia__item_t *item, struct wia__uses_t *uses);
wia__device_t *wia__planned_device(const wia__object_t *planned); /* of a plan's handle */

/* What wia__launch_on would put there. The caller enqueues it, or ends it with a failure. */
wia_status_t wia__make_launch(wia__plan_t *plan, const wia__tensor_t *const *tensors,
                              const wia_scalar_t *scalars, wia__item_t **out_item);

static inline uint64_t wia__hash_word(uint64_t hash, uint64_t word) {
  return (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
}

#endif
