/* layout.h: interned layouts: equal dtype, shape and strides have one object and one id. */
#ifndef WIA__LAYOUT_H
#define WIA__LAYOUT_H

#include "object.h"

typedef struct wia__layout_t {
  wia_tensor_layout_t public_layout; /* first: the two pointers convert into each other */
  wia__object_t object;
  uint64_t size;              /* bytes of the elements, packed */
  struct wia__layout_t *next; /* in its bucket */
  uint64_t hash;
  int64_t dimensions[]; /* shape, then strides */
} wia__layout_t;

/* That dtype, rank and dimensions are ones; says nothing of overflow. */
wia_status_t wia__check_shape(wia_dtype_t dtype, const int64_t *shape, uint32_t rank);

/* Checks rank, dtype, dimensions and overflow, and gives the layout with a reference of the
 * caller's. strides NULL: row-major. */
wia_status_t wia__intern_layout(wia_dtype_t dtype, const int64_t *shape, const int64_t *strides,
                                uint32_t rank, wia__layout_t **out_layout);

static inline wia__layout_t *wia__layout_of(const wia_tensor_layout_t *layout) {
  return (wia__layout_t *)(uintptr_t)layout;
}

/* Bytes of count elements of a dtype, packed types rounded up. */
uint64_t wia__packed_size(wia_dtype_t dtype, uint64_t count);

/* Whether two tensors, each given by layout and address of element 0, may share an element. Exact
 * for slices of one array with a common pitch, else by their ranges. */
bool wia__may_overlap(const wia_tensor_layout_t *a, uint64_t a_address,
                      const wia_tensor_layout_t *b, uint64_t b_address);

/* Whether two elements may share a place; *out_dimension is one whose stride makes them. */
bool wia__shares_elements(const wia_tensor_layout_t *layout, uint32_t *out_dimension);

wia_shape_t wia__shape_of(const wia_tensor_layout_t *layout);

#endif
