/* layout.h: dtype, shape and strides of a tensor, as the library keeps them. */
#ifndef WIA_LAYOUT_H
#define WIA_LAYOUT_H

#include "base.h"

WIA_BEGIN_DECLS

enum { WIA_FORMAT_NONE = 0, WIA_FORMAT_STRIDED = 1 };

/* Interned and immutable: two tensors of equal layout have the same pointer and the same id, and an
 * id is never reused. It lives while a tensor or a plan has it. */
typedef struct wia_tensor_layout_t {
  uint32_t struct_size;
  wia_dtype_t dtype;
  uint32_t rank;
  uint32_t format; /* WIA_FORMAT_STRIDED */
  uint64_t id;
  uint64_t element_count;
  const int64_t *shape;
  const int64_t *strides;       /* in elements, may be zero or negative */
  int64_t span_begin, span_end; /* bytes touched, relative to element 0; both 0 when empty */
  uint32_t contiguous;          /* 1: row-major without gaps */
  uint32_t reserved;
} wia_tensor_layout_t;

/* Dtype and shape by value, as shape rules give them. Frozen: it never grows. */
typedef struct wia_shape_t {
  wia_dtype_t dtype;
  uint32_t rank;
  int64_t shape[8];
} wia_shape_t;

WIA_END_DECLS
#endif
