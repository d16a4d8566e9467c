/* tensor.h: tensors: memory with dtype, shape and strides. */
#ifndef WIA_TENSOR_H
#define WIA_TENSOR_H

#include "base.h"
#include "layout.h"
#include "memory.h"

WIA_BEGIN_DECLS

/* shape and strides point into the layout and stay valid until the tensor is destroyed. */
typedef struct wia_tensor_info_t {
  uint32_t struct_size;
  int32_t device_id;
  wia_dtype_t dtype;
  uint32_t rank;
  const int64_t *shape;
  const int64_t *strides; /* in elements */
  uint64_t element_count;
  uint64_t size;       /* bytes of the elements, packed row-major */
  uint64_t address;    /* of element 0; 0 when there is no element */
  uint32_t contiguous; /* 1: row-major without gaps */
  uint32_t borrowed;   /* 1: wraps memory that somebody else frees */
  const wia_tensor_layout_t *layout;
  uint32_t read_only; /* 1: over memory imported with WIA_IMPORT_READ_ONLY */
  uint32_t reserved;
} wia_tensor_info_t;
#define WIA_TENSOR_INFO_INIT WIA_INIT(wia_tensor_info_t)

/* Allocates a row-major tensor that owns its memory, on the context's device. The elements are not
 * set. shape may be NULL when rank is 0.
 * Errors: INVALID_ARGUMENT for a negative dimension, a rank above WIA_MAX_RANK, an unknown dtype or
 * a size that overflows; RESOURCE_EXHAUSTED. */
WIA_API wia_status_t wia_allocate_tensor(wia_context_t *context, const int64_t *shape,
                                         uint32_t rank, wia_dtype_t dtype,
                                         wia_tensor_t *out_tensor);

/* The same on memory as wia_malloc_async() gives it for a stream, with its errors. */
WIA_API wia_status_t wia_allocate_tensor_async(wia_context_t *context, const int64_t *shape,
                                               uint32_t rank, wia_dtype_t dtype,
                                               wia_stream_t *stream, wia_tensor_t *out_tensor);

/* Makes a tensor over memory from wia_malloc(), which it borrows: after wia_free() of that memory
 * uses of the tensor are INVALID_HANDLE. strides are in elements; NULL: row-major.
 * Errors: INVALID_ARGUMENT when the range that shape and strides reach leaves the allocation, the
 * address is not aligned to the element, or the memory is on another device. */
WIA_API wia_status_t wia_wrap_tensor(wia_context_t *context, void *address, const int64_t *shape,
                                     const int64_t *strides, uint32_t rank, wia_dtype_t dtype,
                                     wia_tensor_t *out_tensor);

/* Makes a tensor over host memory of the caller, on a device that has host addresses, without a copy:
 * imports what shape and strides reach, and owns that. release is called when no view and no work in
 * flight needs it, for a tensor without elements at once. Memory that lies inside a live allocation
 * of the device is shared: that allocation stays until the tensor goes, and release is called at
 * once. strides are in elements; NULL: row-major. config may be NULL.
 * Errors: those of wia_import_memory() and wia_wrap_tensor(); INVALID_ARGUMENT when the memory that
 * is shared is read-only and the import isn't, or the other way round. */
WIA_API wia_status_t wia_import_tensor(wia_context_t *context, void *address, const int64_t *shape,
                                       const int64_t *strides, uint32_t rank, wia_dtype_t dtype,
                                       const wia_import_config_t *config, wia_tensor_t *out_tensor);

/* Makes a view: another shape and strides over the same memory, its element 0 at offset elements
 * from the tensor's. It keeps the memory alive and is valid after the tensor is destroyed.
 * strides NULL: row-major. Errors: INVALID_ARGUMENT when it reaches outside the memory. */
WIA_API wia_status_t wia_view_tensor(wia_tensor_t tensor, int64_t offset, const int64_t *shape,
                                     const int64_t *strides, uint32_t rank,
                                     wia_tensor_t *out_tensor);

/* Invalidates the handle; the memory goes when no view and no work in flight needs it. */
WIA_API wia_status_t wia_destroy_tensor(wia_tensor_t tensor);

WIA_API wia_status_t wia_get_tensor_info(wia_tensor_t tensor, wia_tensor_info_t *out_info);

/* Copy all elements between a tensor of any strides and packed row-major host memory of exactly
 * size bytes. With a stream, host memory has to stay valid until the copy is done.
 * Errors: INVALID_ARGUMENT when size is not the tensor's. */
WIA_API wia_status_t wia_read_tensor(wia_tensor_t tensor, void *destination, uint64_t size,
                                     wia_stream_t *stream);
WIA_API wia_status_t wia_write_tensor(wia_tensor_t tensor, const void *source, uint64_t size,
                                      wia_stream_t *stream);

WIA_END_DECLS
#endif
