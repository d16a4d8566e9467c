/* A driver whose devices 0 to 5 are each described in another way, the first three of them wrongly,
 * and which counts calls that come at the same time. */
#include <stdatomic.h>
#include <time.h>

#include "tiny.h"

WIA_API _Atomic int open_count, overlap_count; /* read by the tests */

static wia_driver_t table;
static const wia_driver_t *const tables[] = {&table};
static _Atomic int inside;

static wia_status_t open_device(wia_driver_self_t self, uint32_t index,
                                wia_driver_device_t *out_device, wia_error_t *out_error) {
  (void)self;
  atomic_fetch_add(&open_count, 1);
  if (index == 5) {
    tiny_host->set_error_text(out_error, "the link is down", "PCI slot 3");
    return WIA_STATUS_UNAVAILABLE;
  }
  const struct timespec delay = {.tv_nsec = 20000000};
  nanosleep(&delay, NULL);
  *out_device = (wia_driver_device_t)(uintptr_t)(index + 1);
  return WIA_STATUS_OK;
}

static wia_status_t get_info(wia_driver_device_t device, wia_driver_device_info_t *out_info,
                             wia_error_t *out_error) {
  tiny_get_info(device, out_info, out_error);
  switch ((uintptr_t)device - 1) {
  case 0:
    out_info->memory_kind_count = 0;
    break;
  case 1:
    out_info->address_alignment = 48;
    break;
  case 2:
    out_info->flags |= WIA_DEVICE_OPAQUE_MEMORY;
    break;
  case 3: /* as little as there can be, and a flag of the future */
    out_info->description = out_info->vendor = out_info->architecture = NULL;
    out_info->flags = WIA_DEVICE_SIMULATED | 1u << 30;
    break;
  default:
    out_info->flags |= WIA_DEVICE_SERIAL;
    break;
  }
  return WIA_STATUS_OK;
}

static wia_status_t get_support(wia_driver_device_t device, const char *op_name,
                                uint64_t *out_dtypes, wia_error_t *out_error) {
  (void)device;
  if (atomic_fetch_add(&inside, 1) != 0) atomic_fetch_add(&overlap_count, 1);
  const struct timespec delay = {.tv_nsec = 1000000};
  nanosleep(&delay, NULL);
  atomic_fetch_sub(&inside, 1);
  if (strcmp(op_name, "relu") == 0) {
    tiny_host->set_error_text(out_error, "no idea", NULL);
    return WIA_STATUS_UNAVAILABLE;
  }
  *out_dtypes = strcmp(op_name, "matmul") == 0 ? UINT64_C(1) << WIA_FLOAT32 | 1 : 0;
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_negotiate_driver(wia_negotiation_t *negotiation, wia_error_t *out_error) {
  (void)out_error;
  tiny_make(&table, "device");
  table.open_device = open_device;
  table.get_info = get_info;
  table.get_support = get_support;
  return tiny_answer(negotiation, tables, 1);
}
