/* tensor.h: tensors: a layout over memory. */
#ifndef WIA__TENSOR_H
#define WIA__TENSOR_H

#include "layout.h"
#include "memory.h"

typedef struct wia__tensor_t {
  wia__object_t object;
  wia_operand_t operand; /* its layout is the public part of the tensor's, with a reference */
  uint64_t begin, end; /* addresses of the bytes that it reaches; equal when there is no element */
  wia__device_t *device;
  wia__allocation_t *allocation; /* NULL when there is no element; with a reference */
  uint32_t borrowed;             /* 1: without a use of the memory, which somebody else frees */
} wia__tensor_t;

static inline wia__layout_t *wia__tensor_layout(const wia__tensor_t *tensor) {
  return wia__layout_of(tensor->operand.layout);
}

/* Sets the operand and the range. allocation NULL: no element. */
static inline void wia__set_operand(wia__tensor_t *tensor, const wia_tensor_layout_t *layout,
                                    const wia__allocation_t *allocation, uint64_t address) {
  if (allocation) {
    tensor->operand = wia__operand_at(allocation, address);
    tensor->begin = address + (uint64_t)layout->span_begin;
    tensor->end = address + (uint64_t)layout->span_end;
  }
  tensor->operand.layout = layout;
}

/* False once borrowed memory was freed. */
static inline bool wia__is_usable(const wia__tensor_t *tensor) {
  return !tensor->borrowed || !tensor->allocation ||
         !atomic_load_explicit(&tensor->allocation->freed, memory_order_acquire);
}

/* The tensor of a handle, usable; good until wia__exit. */
wia_status_t wia__resolve_tensor(wia_tensor_t handle, const char *argument,
                                 wia__tensor_t **out_tensor);

/* Fills a tensor on the caller's stack for a raw view, whose range it checks. Afterwards the layout
 * is released with wia__end_view; the memory is good until wia__exit. */
wia_status_t wia__view_memory(wia__device_t *device, const wia_view_t *view, const char *argument,
                              wia__tensor_t *out_tensor);
void wia__end_view(wia__tensor_t *tensor);

#endif
