/* tiny.h: a small driver on host memory, which the driver libraries of the tests are made of. Each
 * changes the one thing that its test is about. Its options, read at every call:
 *   WIA_<NAME>_DEVICES  how many devices there are; 1 */
#ifndef TEST_TINY_H
#define TEST_TINY_H

#include <stdlib.h>
#include <string.h>

#include "wia_driver.h"

static const wia_host_t *tiny_host;

static inline wia_status_t tiny_count_devices(wia_driver_self_t self, uint32_t *out_count,
                                              wia_error_t *out_error) {
  (void)out_error;
  const char *text = tiny_host->get_option((const wia_driver_t *)self, "devices");
  *out_count = text != NULL ? (uint32_t)strtoul(text, NULL, 10) : 1;
  return WIA_STATUS_OK;
}

static inline wia_status_t tiny_open_device(wia_driver_self_t self, uint32_t index,
                                            wia_driver_device_t *out_device,
                                            wia_error_t *out_error) {
  (void)self, (void)index, (void)out_error;
  *out_device = NULL; /* it has no state */
  return WIA_STATUS_OK;
}

static inline void tiny_close_device(wia_driver_device_t device) { (void)device; }

static inline wia_status_t tiny_get_info(wia_driver_device_t device,
                                         wia_driver_device_info_t *out_info,
                                         wia_error_t *out_error) {
  (void)device, (void)out_error;
  out_info->flags = WIA_DEVICE_HOST_ADDRESSABLE;
  out_info->description = "tiny test device";
  out_info->vendor = "WIA tests";
  out_info->architecture = "host";
  out_info->memory_kind_count = 1;
  return WIA_STATUS_OK;
}

static inline wia_status_t tiny_get_memory_kind(wia_driver_device_t device, uint32_t index,
                                                wia_memory_kind_info_t *out_info,
                                                wia_error_t *out_error) {
  (void)device, (void)index, (void)out_error;
  out_info->kind = WIA_MEMORY_DEVICE;
  out_info->total_size = 1 << 20;
  return WIA_STATUS_OK;
}

static inline wia_status_t tiny_allocate(wia_driver_device_t device, int32_t kind, uint64_t size,
                                         uint64_t alignment, wia_operand_t *out_memory,
                                         wia_error_t *out_error) {
  (void)device, (void)kind, (void)out_error;
  void *base = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (base == NULL) return WIA_STATUS_RESOURCE_EXHAUSTED;
  out_memory->address = (uint64_t)(uintptr_t)base;
  out_memory->memory = (wia_driver_memory_t)base;
  return WIA_STATUS_OK;
}

static inline void tiny_free(wia_driver_device_t device, const wia_operand_t *memory) {
  (void)device;
  free(memory->memory);
}

static inline wia_status_t tiny_copy(wia_driver_device_t device, const wia_copy_t *copies,
                                     uint32_t count, wia_error_t *out_error) {
  (void)device, (void)out_error;
  for (uint32_t i = 0; i < count; ++i)
    memcpy((void *)(uintptr_t)copies[i].destination.address,
           (const void *)(uintptr_t)copies[i].source.address, copies[i].size);
  return WIA_STATUS_OK;
}

static inline wia_status_t tiny_prepare(wia_driver_device_t device, const wia_request_t *request,
                                        wia_driver_kernel_t *out_kernel, wia_error_t *out_error) {
  (void)device, (void)request, (void)out_kernel, (void)out_error;
  return WIA_STATUS_UNIMPLEMENTED;
}

/* A table with every required entry and no optional one. self is the table itself. */
static inline void tiny_make(wia_driver_t *table, const char *name) {
  *table = (wia_driver_t){.struct_size = sizeof *table,
                          .name = name,
                          .version = "1.2.3",
                          .vendor = "WIA tests",
                          .self = (wia_driver_self_t)table,
                          .count_devices = tiny_count_devices,
                          .open_device = tiny_open_device,
                          .close_device = tiny_close_device,
                          .get_info = tiny_get_info,
                          .get_memory_kind = tiny_get_memory_kind,
                          .allocate = tiny_allocate,
                          .free = tiny_free,
                          .copy = tiny_copy,
                          .prepare = tiny_prepare};
}

/* Answers a negotiation with some tables, which stay where they are. */
static inline wia_status_t tiny_answer(wia_negotiation_t *negotiation,
                                       const wia_driver_t *const *tables, uint32_t count) {
  tiny_host = negotiation->host;
  negotiation->driver_major = WIA_DRIVER_ABI_MAJOR;
  negotiation->driver_minor = WIA_DRIVER_ABI_MINOR;
  negotiation->driver_count = count;
  negotiation->drivers = tables;
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_negotiate_driver(wia_negotiation_t *negotiation, wia_error_t *out_error);

#endif
