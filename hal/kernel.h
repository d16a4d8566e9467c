/* kernel.h: kernels as drivers gave them, shared by the plans of all shapes that they work for. */
#ifndef WIA__KERNEL_H
#define WIA__KERNEL_H

#include "plan.h"

/* What a kernel for any shape was prepared for: a key with classes (dtype and rank) in the places of
 * layouts. */
struct wia__class_t {
  uint32_t count; /* 0: none, since an operand is not row-major */
  uint64_t hash;
  uint64_t words[WIA__KEY_WORDS];
};

struct wia__kernel_t {
  wia__object_t object;
  wia_driver_kernel_t kernel;
  pthread_mutex_t turn;  /* of one that is not thread safe */
  wia__device_t *device; /* where it is listed; NULL: for one plan */
  wia__class_t class;
  struct wia__kernel_t *next; /* in the device's list */
};

/* The class of a plan for one operation with these attribute words. */
void wia__classify(const wia__plan_t *plan, const wia__op_t *op, const wia_scalar_t *words,
                   wia__class_t *out_class);

/* A kernel of the device for that class with a reference, or NULL. */
wia__kernel_t *wia__find_kernel(wia__device_t *device, const wia__class_t *class);

/* Takes over what prepare gave. If the kernel works for any shape, and class is not NULL and not empty,
 * the device lists it for plans to come. NULL: no memory, and the kernel was released. */
wia__kernel_t *wia__adopt_kernel(wia__device_t *device, const wia_driver_kernel_t *kernel,
                                 const wia__class_t *class);

#endif
