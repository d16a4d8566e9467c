/* driver.c: the driver table: one device, its memory, and which operations it has.
 *
 * The library finds this driver by its manifest, loads it and calls wia_negotiate_driver(), the
 * only symbol that is exported. The driver links against libc and libm, not against libwia. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

#define BIT(dtype) (UINT64_C(1) << WIA_##dtype)
#define FLOAT32 BIT(FLOAT32)
#define NUMBERS (FLOAT32 | BIT(INT32))
#define CASTS (FLOAT32 | BIT(INT32) | BIT(INT64) | BIT(UINT8))
/* What is moved and not computed with: all types but those packed below a byte. */
#define MOVES                                                                                      \
  (((UINT64_C(1) << WIA_DTYPE_COUNT) - 2) &                                                        \
   ~(BIT(FLOAT4_E2M1FN) | BIT(INT4) | BIT(INT2) | BIT(UINT4) | BIT(UINT2)))

static const struct {
  const char *name;
  uint64_t dtypes; /* of the first input */
  sample_prepare_fn_t prepare;
} ops[] = {
    {"add", NUMBERS, sample_prepare_binary},
    {"sub", NUMBERS, sample_prepare_binary},
    {"mul", NUMBERS, sample_prepare_binary},
    {"div", FLOAT32, sample_prepare_binary},
    {"relu", FLOAT32, sample_prepare_relu},
    {"cast", CASTS, sample_prepare_cast},
    {"matmul", FLOAT32, sample_prepare_matmul},
    {"addmm", FLOAT32, sample_prepare_addmm},
    {"linear", FLOAT32, sample_prepare_linear},
    {"conv2d", FLOAT32, sample_prepare_conv2d},
    {"max_pool2d", FLOAT32, sample_prepare_max_pool2d},
    {"softmax", FLOAT32, sample_prepare_softmax},
    {"argmax", FLOAT32, sample_prepare_argmax},
    {"reshape", MOVES, sample_prepare_reshape},
    {"transpose", MOVES, sample_prepare_transpose},
    {"broadcast", MOVES, sample_prepare_broadcast},
};
enum { OP_COUNT = sizeof ops / sizeof *ops };

/* The header leaves this struct to the driver. A real one has the state of the hardware here. */
static struct wia_driver_device_s {
  uint32_t index;
} the_device;

static wia_status_t count_devices(wia_driver_self_t self, uint32_t *out_count,
                                  wia_error_t *out_error) {
  (void)self, (void)out_error;
  *out_count = 1;
  return WIA_STATUS_OK;
}

static wia_status_t open_device(wia_driver_self_t self, uint32_t index,
                                wia_driver_device_t *out_device, wia_error_t *out_error) {
  (void)self, (void)out_error;
  the_device.index = index;
  *out_device = &the_device;
  return WIA_STATUS_OK;
}

static void close_device(wia_driver_device_t device) { (void)device; }

static wia_status_t get_info(wia_driver_device_t device, wia_driver_device_info_t *out_info,
                             wia_error_t *out_error) {
  (void)device, (void)out_error;
  out_info->flags = WIA_DEVICE_HOST_ADDRESSABLE;
  out_info->description = "sample native driver on the host's processor";
  out_info->vendor = "WIA";
  out_info->architecture = "host";
  out_info->memory_kind_count = 1;
  return WIA_STATUS_OK;
}

static wia_status_t get_memory_kind(wia_driver_device_t device, uint32_t index,
                                    wia_memory_kind_info_t *out_info, wia_error_t *out_error) {
  (void)device;
  if (index != 0)
    return sample_fail(out_error, WIA_STATUS_OUT_OF_RANGE,
                       "memory kind %u was asked for; this device has one", index);
  out_info->kind = WIA_MEMORY_DEVICE; /* the sizes stay 0: C has no way to ask the host */
  return WIA_STATUS_OK;
}

static wia_status_t allocate(wia_driver_device_t device, int32_t kind, uint64_t size,
                             uint64_t alignment, wia_operand_t *out_memory,
                             wia_error_t *out_error) {
  (void)device;
  if (kind != WIA_MEMORY_DEVICE)
    return sample_fail(out_error, WIA_STATUS_UNIMPLEMENTED,
                       "memory kind %d was asked for; this device has WIA_MEMORY_DEVICE (%d) only",
                       kind, WIA_MEMORY_DEVICE);
  /* aligned_alloc() wants a multiple of the alignment, and PTRDIFF_MAX is the largest object in C.
   */
  const uint64_t padded = (size + alignment - 1) / alignment * alignment;
  void *memory = padded < size || padded > PTRDIFF_MAX ? NULL : aligned_alloc(alignment, padded);
  if (memory == NULL)
    return sample_fail(out_error, WIA_STATUS_RESOURCE_EXHAUSTED,
                       "the host has no %" PRIu64 " bytes with alignment %" PRIu64, size,
                       alignment);
  out_memory->address = (uintptr_t)memory;
  out_memory->memory = memory;
  return WIA_STATUS_OK;
}

static void free_memory(wia_driver_device_t device, const wia_operand_t *memory) {
  (void)device;
  free(memory->memory);
}

static wia_status_t copy(wia_driver_device_t device, const wia_copy_t *copies, uint32_t count,
                         wia_error_t *out_error) {
  (void)device, (void)out_error;
  for (uint32_t i = 0; i < count; i++)
    memcpy((void *)(uintptr_t)copies[i].destination.address,
           (const void *)(uintptr_t)copies[i].source.address, copies[i].size);
  return WIA_STATUS_OK;
}

static wia_status_t fill(wia_driver_device_t device, const wia_operand_t *target, uint64_t size,
                         const void *pattern, uint32_t pattern_size, wia_error_t *out_error) {
  (void)device, (void)out_error;
  char *bytes = (char *)(uintptr_t)target->address;
  for (uint64_t i = 0; i < size; i += pattern_size) memcpy(bytes + i, pattern, pattern_size);
  return WIA_STATUS_OK;
}

static wia_status_t prepare(wia_driver_device_t device, const wia_request_t *request,
                            wia_driver_kernel_t *out_kernel, wia_error_t *out_error) {
  (void)device;
  if (request->group->node_count > 1) return sample_prepare_group(request, out_kernel, out_error);
  sample_node_t node;
  const wia_status_t status = sample_read_node(request, &node, out_error);
  if (status != WIA_STATUS_OK) return status;
  for (uint32_t i = 0; i < OP_COUNT; i++) {
    if (strcmp(ops[i].name, node.op_name) != 0) continue;
    const wia_dtype_t dtype = node.inputs[0]->dtype;
    if ((ops[i].dtypes >> dtype & 1) == 0)
      return sample_fail(out_error, WIA_STATUS_UNIMPLEMENTED, "%s has no kernel for %s",
                         node.op_name, sample_dtype_name(dtype));
    return ops[i].prepare(&node, out_kernel);
  }
  return sample_fail(out_error, WIA_STATUS_UNIMPLEMENTED, "there is no kernel for %s",
                     node.op_name);
}

static wia_status_t get_support(wia_driver_device_t device, const char *op_name,
                                uint64_t *out_dtypes, wia_error_t *out_error) {
  (void)device, (void)out_error;
  *out_dtypes = 0;
  for (uint32_t i = 0; i < OP_COUNT; i++)
    if (strcmp(ops[i].name, op_name) == 0) *out_dtypes = ops[i].dtypes;
  return WIA_STATUS_OK;
}

static const wia_driver_t driver = {
    .struct_size = sizeof driver,
    .name = "sample",
    .version = "0.1.0",
    .vendor = "WIA",
    .count_devices = count_devices,
    .open_device = open_device,
    .close_device = close_device,
    .get_info = get_info,
    .get_memory_kind = get_memory_kind,
    .allocate = allocate,
    .free = free_memory,
    .copy = copy,
    .prepare = prepare,
    .get_support = get_support,
    .fill = fill,
};

WIA_API wia_status_t wia_negotiate_driver(wia_negotiation_t *negotiation, wia_error_t *out_error);
wia_status_t wia_negotiate_driver(wia_negotiation_t *negotiation, wia_error_t *out_error) {
  static const wia_driver_t *const drivers[] = {&driver};
  (void)out_error;
  negotiation->driver_major = WIA_DRIVER_ABI_MAJOR;
  negotiation->driver_minor = WIA_DRIVER_ABI_MINOR;
  negotiation->driver_count = 1;
  negotiation->drivers = drivers;
  return WIA_STATUS_OK;
}
