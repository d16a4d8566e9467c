/* context.c: contexts, and the version of the library. */
#include "context.h"

#include <stdlib.h>

#include "copies.h"

static void destroy_context(wia__object_t *object) {
  wia__close_pool(((wia__context_t *)object)->pool);
  free(object);
}

wia_status_t wia__context_device(const wia_context_t *handle, wia__device_t **out_device) {
  wia__context_t *context = NULL;
  const wia_status_t status = wia__resolve(handle, WIA__CONTEXT, "context", &context);
  if (!status) *out_device = context->device;
  return status;
}

static wia_status_t create_context(wia_context_t **out_context, int32_t device_id) {
  if (!out_context) return wia__null("out_context");
  wia__device_t *device = NULL;
  wia_status_t status = wia__check_copies();
  if (!status) status = wia__get_device(device_id, &device);
  if (status) return status;
  wia__context_t *context = calloc(1, sizeof *context);
  if (!context) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a context");
  status = wia__create_pool(device, &context->pool);
  if (status) {
    free(context);
    return status;
  }
  wia__init_object(&context->object, WIA__CONTEXT, destroy_context);
  context->device = device;
  void *handle = NULL;
  status = wia__make_handle(&context->object, &handle);
  if (!status) *out_context = handle;
  return status;
}

WIA_API wia_status_t wia_create_context(wia_context_t **out_context, int32_t device_id) {
  WIA__CALL(create_context(out_context, device_id));
}

WIA_API wia_status_t wia_destroy_context(wia_context_t *context) {
  WIA__CALL(wia__close_handle(context, WIA__CONTEXT));
}

static wia_status_t get_context_info(wia_context_t *context, wia_context_info_t *out_info) {
  wia_status_t status = wia__check_out(out_info, sizeof *out_info, "WIA_CONTEXT_INFO_INIT");
  wia__device_t *device = NULL;
  if (!status) status = wia__context_device(context, &device);
  if (status) return status;
  const wia_context_info_t info = {.device_id = device->id};
  wia__write_struct(out_info, &info, sizeof info);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_context_info(wia_context_t *context, wia_context_info_t *out_info) {
  WIA__CALL(get_context_info(context, out_info));
}

WIA_API wia_status_t wia_get_version(int32_t *out_major, int32_t *out_minor, int32_t *out_patch) {
  if (out_major) *out_major = WIA_VERSION_MAJOR;
  if (out_minor) *out_minor = WIA_VERSION_MINOR;
  if (out_patch) *out_patch = WIA_VERSION_PATCH;
  return WIA_STATUS_OK;
}
