/* tensor.c: making tensors and views. */
#include "tensor.h"

#include <sched.h>
#include <stdlib.h>

#include "context.h"
#include "op.h"
#include "stream.h"

static void destroy_tensor(wia__object_t *object) {
  wia__tensor_t *tensor = (wia__tensor_t *)object;
  if (tensor->allocation) {
    if (!tensor->borrowed) wia__end_use(tensor->allocation);
    wia__release(&tensor->allocation->object);
  }
  wia__release(&wia__tensor_layout(tensor)->object);
  free(tensor);
}

static wia_status_t freed(const char *argument) {
  return wia__fail(WIA_STATUS_INVALID_HANDLE,
                   "%s wraps memory that was freed with wia_free(): make a new tensor", argument);
}

wia_status_t wia__resolve_tensor(wia_tensor_t handle, const char *argument,
                                 wia__tensor_t **out_tensor) {
  const wia_status_t status = wia__resolve(handle, WIA__TENSOR, argument, out_tensor);
  if (status) return status;
  return wia__is_usable(*out_tensor) ? WIA_STATUS_OK : freed(argument);
}

/* Takes over the references to the layout and to the allocation (which may be NULL), and its use
 * unless borrowed. */
static wia_status_t make_tensor(wia__device_t *device, wia__layout_t *layout,
                                wia__allocation_t *allocation, uint64_t address, uint32_t borrowed,
                                wia_tensor_t *out_tensor) {
  wia__tensor_t *tensor = wia__make_zeroed(sizeof *tensor);
  if (!tensor) {
    if (allocation) {
      if (!borrowed) wia__end_use(allocation);
      wia__release(&allocation->object);
    }
    wia__release(&layout->object);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a tensor");
  }
  wia__init_object(&tensor->object, WIA__TENSOR, destroy_tensor);
  wia__set_operand(tensor, &layout->public_layout, allocation, address);
  tensor->device = device;
  tensor->allocation = allocation;
  tensor->borrowed = borrowed;
  void *handle = NULL;
  const wia_status_t status = wia__make_handle(&tensor->object, &handle);
  if (!status) *out_tensor = handle;
  return status;
}

/* -- allocate ------------------------------------------------------------------------------------ */

static wia_status_t allocate_tensor(wia_context_t *handle, const int64_t *shape, uint32_t rank,
                                    wia_dtype_t dtype, wia_stream_t *stream,
                                    wia_tensor_t *out_tensor) {
  if (!out_tensor) return wia__null("out_tensor");
  wia__context_t *context = NULL;
  wia__queue_t *queue = NULL;
  wia__layout_t *layout = NULL;
  wia_status_t status = wia__resolve(handle, WIA__CONTEXT, "context", &context);
  if (!status && stream) status = wia__resolve_stream(stream, &queue);
  if (!status) status = wia__intern_layout(dtype, shape, NULL, rank, &layout);
  if (status) return status;
  wia__device_t *device = context->device;
  wia__allocation_t *allocation = NULL;
  status = wia__allocate_for(context, layout->size, NULL, stream, true, &allocation);
  if (status) {
    wia__release(&layout->object);
    return status;
  }
  return make_tensor(device, layout, allocation, allocation ? allocation->memory.address : 0, 0,
                     out_tensor);
}

WIA_API wia_status_t wia_allocate_tensor(wia_context_t *context, const int64_t *shape,
                                         uint32_t rank, wia_dtype_t dtype,
                                         wia_tensor_t *out_tensor) {
  WIA__CALL(allocate_tensor(context, shape, rank, dtype, NULL, out_tensor));
}

WIA_API wia_status_t wia_allocate_tensor_async(wia_context_t *context, const int64_t *shape,
                                               uint32_t rank, wia_dtype_t dtype,
                                               wia_stream_t *stream, wia_tensor_t *out_tensor) {
  WIA__CALL(allocate_tensor(context, shape, rank, dtype, stream, out_tensor));
}

/* -- wrap and view ------------------------------------------------------------------------------- */

/* That every byte which the layout reaches from address lies in the allocation. */
static wia_status_t check_reach(const wia__layout_t *layout, const wia__allocation_t *allocation,
                                uint64_t address, const char *argument) {
  const int64_t offset = (int64_t)(address - allocation->memory.address);
  int64_t first, last;
  if (!__builtin_add_overflow(offset, layout->public_layout.span_begin, &first) && first >= 0 &&
      !__builtin_add_overflow(offset, layout->public_layout.span_end, &last) &&
      (uint64_t)last <= allocation->size)
    return WIA_STATUS_OK;
  char text[WIA__SHAPE_TEXT];
  return wia__fail(
      WIA_STATUS_INVALID_ARGUMENT,
      "%s: shape %s of %s with these strides reaches bytes %lld to %lld from offset "
      "%lld, outside the allocation of %llu bytes on %s",
      argument, wia__format_shape(text, layout->public_layout.shape, layout->public_layout.rank),
      wia_get_dtype_name(layout->public_layout.dtype), (long long)layout->public_layout.span_begin,
      (long long)layout->public_layout.span_end, (long long)offset,
      (unsigned long long)allocation->size, allocation->device->name);
}

static wia_status_t check_alignment(wia_dtype_t dtype, uint64_t address, const char *argument) {
  uint64_t size = (wia_get_dtype_bits(dtype) + 7) / 8;
  if (dtype == WIA_COMPLEX64 || dtype == WIA_COMPLEX128) size /= 2;
  if (address % size == 0) return WIA_STATUS_OK;
  return wia__fail(
      WIA_STATUS_INVALID_ARGUMENT, "%s (%#llx) is not aligned to an element of %s, %llu bytes",
      argument, (unsigned long long)address, wia_get_dtype_name(dtype), (unsigned long long)size);
}

/* The allocation that a layout at address lies in, on the device; NULL if it has no element. */
static wia_status_t find_memory(wia__device_t *device, const wia__layout_t *layout,
                                uint64_t address, const char *argument,
                                wia__allocation_t **out_allocation) {
  *out_allocation = NULL;
  if (!layout->public_layout.element_count) return WIA_STATUS_OK;
  wia__allocation_t *allocation = NULL;
  wia_status_t status = wia__find_range(address, 1, argument, &allocation);
  if (status) return status;
  if (allocation->device != device)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s is memory of %s; expected %s", argument,
                     allocation->device->name, device->name);
  status = check_reach(layout, allocation, address, argument);
  if (!status) status = check_alignment(layout->public_layout.dtype, address, argument);
  if (!status) *out_allocation = allocation;
  return status;
}

static wia_status_t wrap_tensor(wia_context_t *context, void *pointer, const int64_t *shape,
                                const int64_t *strides, uint32_t rank, wia_dtype_t dtype,
                                wia_tensor_t *out_tensor) {
  if (!out_tensor) return wia__null("out_tensor");
  const uint64_t address = (uint64_t)(uintptr_t)pointer;
  wia__device_t *device = NULL;
  wia__layout_t *layout = NULL;
  wia__allocation_t *allocation = NULL;
  wia_status_t status = wia__context_device(context, &device);
  if (!status) status = wia__intern_layout(dtype, shape, strides, rank, &layout);
  if (status) return status;
  status = find_memory(device, layout, address, "address", &allocation);
  if (status) {
    wia__release(&layout->object);
    return status;
  }
  if (allocation) wia__retain(&allocation->object);
  return make_tensor(device, layout, allocation, address, 1, out_tensor);
}

WIA_API wia_status_t wia_wrap_tensor(wia_context_t *context, void *address, const int64_t *shape,
                                     const int64_t *strides, uint32_t rank, wia_dtype_t dtype,
                                     wia_tensor_t *out_tensor) {
  WIA__CALL(wrap_tensor(context, address, shape, strides, rank, dtype, out_tensor));
}

/* A live allocation of the device that holds all of the range, with a reference and a use; NULL if
 * there is none. */
static wia_status_t share_memory(const wia__device_t *device, uint64_t begin, uint64_t size,
                                 bool read_only, wia__allocation_t **out_allocation) {
  wia__allocation_t *found = wia__find_allocation(begin);
  *out_allocation = NULL;
  if (!found || found->device != device || size > found->size - (begin - found->memory.address))
    return WIA_STATUS_OK;
  if (read_only != (found->read_only != 0))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "the memory is in use on %s as %s, so it can't be imported as %s; copy it",
                     device->name, read_only ? "writable" : "read-only",
                     read_only ? "read-only" : "writable");
  if (wia__try_use(found)) {
    wia__retain(&found->object);
    *out_allocation = found;
  } else { /* another thread is just about to take it out of the map */
    while (wia__find_allocation(begin) == found) sched_yield();
  }
  return WIA_STATUS_OK;
}

/* Whether an import of the range that found it taken may fare better now: it lies in an allocation of
 * the device, or in none at its begin. */
static bool is_free_or_shared(const wia__device_t *device, uint64_t begin, uint64_t size) {
  const wia__allocation_t *found = wia__find_allocation(begin);
  return !found ||
         (found->device == device && size <= found->size - (begin - found->memory.address));
}

enum { LOOKS = 1000 }; /* each takes another thread that imports and drops it just then */

/* *out_shared: the memory stays without the caller's help. */
static wia_status_t get_imported(wia__device_t *device, const wia__layout_t *layout,
                                 uint64_t address, const wia_import_config_t *config,
                                 bool *out_shared, wia__allocation_t **out_allocation) {
  const wia_tensor_layout_t *public_layout = &layout->public_layout;
  *out_shared = true;
  *out_allocation = NULL;
  if (!public_layout->element_count) return WIA_STATUS_OK;
  if (!address) return wia__null("address");
  wia_status_t status = check_alignment(public_layout->dtype, address, "address");
  if (status) return status;
  const uint64_t begin = address + (uint64_t)public_layout->span_begin;
  const uint64_t size = (uint64_t)(public_layout->span_end - public_layout->span_begin);
  const wia_import_config_t silent = {.flags = config->flags}; /* until nothing can fail */
  /* between the look and the import another thread may have imported the same: look again */
  for (uint32_t i = 0;; i++) {
    status =
        share_memory(device, begin, size, config->flags & WIA_IMPORT_READ_ONLY, out_allocation);
    *out_shared = *out_allocation != NULL;
    if (status || *out_shared) return status;
    status = wia__import(device, begin, size, &silent, true, out_allocation);
    if (status != WIA_STATUS_ALREADY_EXISTS || i == LOOKS ||
        !is_free_or_shared(device, begin, size))
      return status;
  }
}

static wia_status_t import_tensor(wia_context_t *context, void *pointer, const int64_t *shape,
                                  const int64_t *strides, uint32_t rank, wia_dtype_t dtype,
                                  const wia_import_config_t *config, wia_tensor_t *out_tensor) {
  if (!out_tensor) return wia__null("out_tensor");
  const uint64_t address = (uint64_t)(uintptr_t)pointer;
  wia_import_config_t ours;
  wia__device_t *device = NULL;
  wia__layout_t *layout = NULL;
  wia__allocation_t *allocation = NULL;
  bool shared = false;
  wia_status_t status = wia__read_import(config, &ours);
  if (!status) status = wia__context_device(context, &device);
  if (!status) status = wia__intern_layout(dtype, shape, strides, rank, &layout);
  if (status) return status;
  status = get_imported(device, layout, address, &ours, &shared, &allocation);
  if (status) {
    wia__release(&layout->object);
    return status;
  }
  status = make_tensor(device, layout, allocation, address, 0, out_tensor);
  if (status || !ours.release) return status;
  if (shared) {
    ours.release(ours.context);
  } else {
    allocation->release = ours.release;
    allocation->release_context = ours.context;
  }
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_import_tensor(wia_context_t *context, void *address, const int64_t *shape,
                                       const int64_t *strides, uint32_t rank, wia_dtype_t dtype,
                                       const wia_import_config_t *config,
                                       wia_tensor_t *out_tensor) {
  WIA__CALL(import_tensor(context, address, shape, strides, rank, dtype, config, out_tensor));
}

static wia_status_t view_tensor(wia_tensor_t handle, int64_t offset, const int64_t *shape,
                                const int64_t *strides, uint32_t rank, wia_tensor_t *out_tensor) {
  if (!out_tensor) return wia__null("out_tensor");
  wia__tensor_t *base = NULL;
  wia__layout_t *layout = NULL;
  wia_status_t status = wia__resolve_tensor(handle, "tensor", &base);
  if (status) return status;
  const wia_dtype_t dtype = base->operand.layout->dtype;
  status = wia__intern_layout(dtype, shape, strides, rank, &layout);
  if (status) return status;
  wia__allocation_t *allocation = layout->public_layout.element_count ? base->allocation : NULL;
  int64_t bits = 0;
  if (__builtin_mul_overflow(offset, (int64_t)wia_get_dtype_bits(dtype), &bits) || bits % 8)
    status = wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "offset %lld of %s elements is not on a byte, or overflows",
                       (long long)offset, wia_get_dtype_name(dtype));
  const uint64_t address = base->operand.address + (uint64_t)(bits / 8);
  if (!status && layout->public_layout.element_count && !allocation)
    status = wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "the tensor has no element, so a view with elements reaches outside it");
  if (!status && allocation) status = check_reach(layout, allocation, address, "view");
  if (!status && allocation && !base->borrowed && !wia__try_use(allocation))
    status = freed("tensor");
  if (status) {
    wia__release(&layout->object);
    return status;
  }
  if (allocation) wia__retain(&allocation->object);
  return make_tensor(base->device, layout, allocation, address, base->borrowed, out_tensor);
}

WIA_API wia_status_t wia_view_tensor(wia_tensor_t tensor, int64_t offset, const int64_t *shape,
                                     const int64_t *strides, uint32_t rank,
                                     wia_tensor_t *out_tensor) {
  WIA__CALL(view_tensor(tensor, offset, shape, strides, rank, out_tensor));
}

wia_status_t wia__view_memory(wia__device_t *device, const wia_view_t *view, const char *argument,
                              wia__tensor_t *out_tensor) {
  wia__layout_t *layout = NULL;
  wia__allocation_t *allocation = NULL;
  wia_status_t status =
      wia__intern_layout(view->dtype, view->shape, view->strides, view->rank, &layout);
  if (status) return status;
  status = find_memory(device, layout, view->address, argument, &allocation);
  if (status) {
    wia__release(&layout->object);
    return status;
  }
  *out_tensor = (wia__tensor_t){.device = device, .allocation = allocation, .borrowed = 1};
  wia__set_operand(out_tensor, &layout->public_layout, allocation, view->address);
  return WIA_STATUS_OK;
}

void wia__end_view(wia__tensor_t *tensor) { wia__release(&wia__tensor_layout(tensor)->object); }

/* -- destroy and ask ----------------------------------------------------------------------------- */

WIA_API wia_status_t wia_destroy_tensor(wia_tensor_t tensor) {
  WIA__CALL(wia__close_handle(tensor, WIA__TENSOR));
}

static wia_status_t get_tensor_info(wia_tensor_t handle, wia_tensor_info_t *out_info) {
  wia_status_t status = wia__check_out(out_info, sizeof *out_info, "WIA_TENSOR_INFO_INIT");
  wia__tensor_t *tensor = NULL;
  if (!status) status = wia__resolve_tensor(handle, "tensor", &tensor);
  if (status) return status;
  const wia_tensor_layout_t *layout = tensor->operand.layout;
  const wia_tensor_info_t info = {.device_id = tensor->device->id,
                                  .dtype = layout->dtype,
                                  .rank = layout->rank,
                                  .shape = layout->shape,
                                  .strides = layout->strides,
                                  .element_count = layout->element_count,
                                  .size = wia__tensor_layout(tensor)->size,
                                  .address = tensor->operand.address,
                                  .contiguous = layout->contiguous,
                                  .borrowed = tensor->borrowed,
                                  .layout = layout,
                                  .read_only =
                                      tensor->allocation ? tensor->allocation->read_only : 0};
  wia__write_struct(out_info, &info, sizeof info);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_tensor_info(wia_tensor_t tensor, wia_tensor_info_t *out_info) {
  WIA__CALL(get_tensor_info(tensor, out_info));
}
