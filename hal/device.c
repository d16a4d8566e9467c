#include "device.h"

#include <stdio.h>
#include <stdlib.h>

#include "cache.h"
#include "drivers.h"
#include "log.h"
#include "object.h"
#include "op.h"
#include "registry.h"
#include "supply.h"

enum {
  FLAGS = WIA_DEVICE_SERIAL | WIA_DEVICE_OPAQUE_MEMORY | WIA_DEVICE_HOST_ADDRESSABLE |
      WIA_DEVICE_SIMULATED,
  MIN_ALIGNMENT = 64
};

static const uint64_t KNOWN_DTYPES = (UINT64_C(1) << WIA_DTYPE_COUNT) - 2; /* bit 0 is NONE */

/* -- opening ----------------------------------------------------------------------------------- */

/* Refuses what the rest of the library could not work with. */
static wia_status_t check_info(const wia__device_t *device, const wia_memory_kind_info_t *kind) {
  const wia_driver_device_info_t *info = &device->info;
  const char *what = NULL;
  if (info->memory_kind_count == 0)
    what = "0 memory kinds; expected at least 1";
  else if ((info->address_alignment & (info->address_alignment - 1)) != 0)
    what = "an address alignment that is no power of two";
  else if ((info->flags & WIA_DEVICE_OPAQUE_MEMORY) && (info->flags & WIA_DEVICE_HOST_ADDRESSABLE))
    what = "memory that is both opaque and addressable by the host; expected one at most";
  else if (kind->kind <= WIA_MEMORY_NONE || kind->kind > WIA_MEMORY_IMPORTED)
    what = "a first memory kind that is none of WIA_MEMORY_*";
  if (what == NULL) return WIA_STATUS_OK;
  return wia__fail_with(WIA_STATUS_INTERNAL, device->driver->name, NULL,
                        "the driver describes device \"%s\" with %s: report this to its vendor",
                        device->name, what);
}

static wia_status_t describe(wia__device_t *device) {
  const wia_driver_t *table = device->table;
  wia_driver_device_info_t *info = &device->info;
  wia_memory_kind_info_t kind = {.struct_size = sizeof kind};
  wia_error_t error;
  info->struct_size = sizeof *info;
  wia__init_error(&error);
  wia_status_t status = table->get_info(device->handle, info, &error);
  if (status == WIA_STATUS_OK) status = table->get_memory_kind(device->handle, 0, &kind, &error);
  if (status != WIA_STATUS_OK)
    return wia__take_error(&error, status, device->driver->name, "describing device \"%s\"",
                           device->name);
  wia__drop_error(&error);
  if (info->description == NULL) info->description = "";
  if (info->vendor == NULL) info->vendor = table->vendor;
  if (info->architecture == NULL) info->architecture = "";
  device->flags = info->flags & FLAGS;
  device->alignment =
      info->address_alignment > MIN_ALIGNMENT ? info->address_alignment : MIN_ALIGNMENT;
  return check_info(device, &kind);
}

static wia_status_t fail_no_memory(const wia__driver_t *driver, uint32_t ordinal) {
  return wia__fail_with(WIA_STATUS_RESOURCE_EXHAUSTED, driver->name, NULL,
                        "no memory to open device \"%s:%u\"", driver->name, ordinal);
}

static wia_status_t start_device(wia__device_t *device, uint32_t ordinal) {
  const wia_driver_t *table = device->table;
  wia_error_t error;
  wia__init_error(&error);
  wia_status_t status = table->open_device(table->self, ordinal, &device->handle, &error);
  if (status != WIA_STATUS_OK)
    return wia__take_error(&error, status, device->driver->name, "opening device \"%s\"",
                           device->name);
  wia__drop_error(&error);
  status = describe(device);
  if (status == WIA_STATUS_OK && (device->cache = wia__create_cache()) == NULL)
    status = fail_no_memory(device->driver, ordinal);
  if (status != WIA_STATUS_OK) table->close_device(device->handle);
  return status;
}

/* Runs driver code: no lock is held, and no other thread opens this device. */
static wia_status_t make_device(wia__driver_t *driver, int32_t id, wia__device_t **out_device) {
  const uint32_t ordinal = (uint32_t)id % WIA__MAX_DEVICES;
  wia__device_t *device = calloc(1, sizeof *device);
  if (device == NULL) return fail_no_memory(driver, ordinal);
  device->driver = driver;
  device->table = &driver->table;
  device->id = id;
  snprintf(device->name, sizeof device->name, "%s:%u", driver->name, ordinal);
  /* recursive, since prepare may call the library */
  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&device->serial, &recursive);
  pthread_mutexattr_destroy(&recursive);
  pthread_mutex_init(&device->memory_mutex, NULL);
  const wia_status_t status = start_device(device, ordinal);
  if (status == WIA_STATUS_OK) {
    *out_device = device;
    return status;
  }
  pthread_mutex_destroy(&device->serial);
  pthread_mutex_destroy(&device->memory_mutex);
  free(device);
  return status;
}

static wia_status_t check_ordinal(wia__driver_t *driver, int32_t id) {
  const uint32_t ordinal = (uint32_t)id % WIA__MAX_DEVICES;
  uint32_t count = 0;
  const wia_status_t status = wia__count_devices(driver, &count);
  if (status != WIA_STATUS_OK) return status;
  if (ordinal < count) return WIA_STATUS_OK;
  return wia__fail_with(WIA_STATUS_NOT_FOUND, driver->name, NULL,
                        "there is no device \"%s:%u\" (id %d): the driver has %u now, numbered "
                        "from 0",
                        driver->name, ordinal, (int)id, count);
}

/* Waits until nobody opens the device any more, with wia__records_mutex held. False: whoever does is
 * waiting for this thread, since a driver asked for a device while it opened its own. */
static bool await_opener(const wia__slot_t *slot, uint32_t ordinal, wia__opener_t *self) {
  const wia__opener_t *opener;
  while ((opener = slot->openers[ordinal]) != NULL) {
    for (const wia__opener_t *other = opener; other != NULL; other = other->waits_for)
      if (other == self) return false;
    self->waits_for = opener;
    pthread_cond_wait(&wia__records_changed, &wia__records_mutex);
    self->waits_for = NULL;
  }
  return true;
}

static wia_status_t fail_cycle(const wia__driver_t *driver, uint32_t ordinal) {
  return wia__fail_with(WIA_STATUS_FAILED_PRECONDITION, driver->name, NULL,
                        "device \"%s:%u\" was asked for while it was opened, by a driver that it "
                        "needs itself: set one of the two up on another device",
                        driver->name, ordinal);
}

/* Opens a device unless another thread is at it, for which it waits. */
static wia_status_t open_device(wia__driver_t *driver, wia__slot_t *slot, int32_t id,
                                wia__device_t **out_device) {
  const uint32_t ordinal = (uint32_t)id % WIA__MAX_DEVICES;
  static _Thread_local wia__opener_t self;
  pthread_mutex_lock(&wia__records_mutex);
  const bool waited = await_opener(slot, ordinal, &self);
  wia__device_t *device = atomic_load(&slot->devices[ordinal]);
  if (waited && device == NULL) slot->openers[ordinal] = &self;
  pthread_mutex_unlock(&wia__records_mutex);
  if (!waited) return fail_cycle(driver, ordinal);
  wia_status_t status = WIA_STATUS_OK;
  if (device == NULL) {
    status = check_ordinal(driver, id);
    if (status == WIA_STATUS_OK) status = make_device(driver, id, &device);
    pthread_mutex_lock(&wia__records_mutex);
    if (status == WIA_STATUS_OK)
      atomic_store_explicit(&slot->devices[ordinal], device, memory_order_release);
    slot->openers[ordinal] = NULL;
    pthread_cond_broadcast(&wia__records_changed);
    pthread_mutex_unlock(&wia__records_mutex);
    if (status == WIA_STATUS_OK)
      wia__log(WIA__LOG_DEVICE, WIA_LOG_INFO, driver->name, "%s is open", device->name);
  }
  if (status == WIA_STATUS_OK) *out_device = device;
  return status;
}

wia_status_t wia__get_device(int32_t id, wia__device_t **out_device) {
  const int32_t number = id / WIA__MAX_DEVICES;
  wia__slot_t *slot = id < 0 ? NULL : wia__get_slot(number);
  if (slot == NULL)
    return wia__fail(WIA_STATUS_NOT_FOUND,
                     "no device has id %d; ids come from wia_find_device() and wia_get_devices(), "
                     "and hold for one run of a program",
                     (int)id);
  wia__device_t *device =
      atomic_load_explicit(&slot->devices[id % WIA__MAX_DEVICES], memory_order_acquire);
  if (device != NULL) {
    *out_device = device;
    return WIA_STATUS_OK;
  }
  wia__driver_t *driver;
  wia_status_t status = wia__get_driver(number, &driver);
  if (status != WIA_STATUS_OK) return status;
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  status = open_device(driver, slot, id, out_device);
  wia__rejoin(self);
  return status;
}

void wia__lock_device(wia__device_t *device) {
  if (device->flags & WIA_DEVICE_SERIAL) pthread_mutex_lock(&device->serial);
}

void wia__unlock_device(wia__device_t *device) {
  if (device->flags & WIA_DEVICE_SERIAL) pthread_mutex_unlock(&device->serial);
}

/* -- what it is and can do --------------------------------------------------------------------- */

static wia_status_t get_total_size(wia__device_t *device, uint64_t *out_size) {
  wia_memory_kind_info_t kind = {.struct_size = sizeof kind};
  wia_error_t error;
  wia__init_error(&error);
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  wia__lock_device(device);
  const wia_status_t status = device->table->get_memory_kind(device->handle, 0, &kind, &error);
  wia__unlock_device(device);
  wia__rejoin(self);
  if (status != WIA_STATUS_OK)
    return wia__take_error(&error, status, device->driver->name,
                           "asking for the memory of device \"%s\"", device->name);
  wia__drop_error(&error);
  *out_size = kind.total_size;
  return WIA_STATUS_OK;
}

static wia_status_t get_device_info(int32_t id, wia_device_info_t *out_info) {
  wia_status_t status = wia__check_out(out_info, sizeof(wia_device_info_t), "WIA_DEVICE_INFO_INIT");
  if (status != WIA_STATUS_OK) return status;
  wia__device_t *device;
  status = wia__get_device(id, &device);
  if (status != WIA_STATUS_OK) return status;
  wia_device_info_t info = {.struct_size = sizeof info,
                            .device_id = device->id,
                            .name = device->name,
                            .description = device->info.description,
                            .driver_name = device->driver->name,
                            .driver_version = device->table->version,
                            .vendor = device->info.vendor,
                            .architecture = device->info.architecture,
                            .flags = device->flags,
                            .memory_kind_count = device->info.memory_kind_count};
  status = get_total_size(device, &info.total_memory_size);
  if (status == WIA_STATUS_OK) wia__write_struct(out_info, &info, sizeof info);
  return status;
}

WIA_API wia_status_t wia_get_device_info(int32_t device_id, wia_device_info_t *out_info) {
  WIA__CALL(get_device_info(device_id, out_info));
}

static wia_status_t ask_support(wia__device_t *device, const wia__op_t *op, uint64_t *out_dtypes) {
  const wia_driver_t *table = device->table;
  wia_error_t error;
  wia__init_error(&error);
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  wia__lock_device(device);
  const wia_status_t status = table->get_support(device->handle, op->name, out_dtypes, &error);
  wia__unlock_device(device);
  wia__rejoin(self);
  if (status != WIA_STATUS_OK)
    return wia__take_error(&error, status, table->name, "asking device \"%s\" about %s",
                           device->name, op->name);
  wia__drop_error(&error);
  return WIA_STATUS_OK;
}

static wia_status_t get_device_support(int32_t id, wia_op_t op, uint64_t *out_dtypes) {
  if (out_dtypes == NULL) return wia__null("out_dtypes");
  const wia__op_t *entry = wia__get_op(op);
  if (entry == NULL)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "op is %d; expected one of WIA_OP_*, see wia/ops.h", (int)op);
  wia__device_t *device;
  wia_status_t status = wia__get_device(id, &device);
  if (status != WIA_STATUS_OK) return status;
  const uint64_t supplied = wia__supplied_dtypes(device, entry);
  const wia_driver_t *table = device->table;
  if (table->get_support == NULL && supplied == 0)
    return wia__fail_with(
        WIA_STATUS_UNIMPLEMENTED, table->name, NULL,
        "driver \"%s\" doesn't tell what it supports (it has no get_support): try "
        "the call itself, or wia_create_plan()",
        table->name);
  uint64_t dtypes = 0;
  if (table->get_support != NULL) status = ask_support(device, entry, &dtypes);
  if (status == WIA_STATUS_UNIMPLEMENTED && supplied != 0) status = WIA_STATUS_OK;
  if (status == WIA_STATUS_OK) *out_dtypes = (dtypes & KNOWN_DTYPES) | supplied;
  return status;
}

WIA_API wia_status_t wia_get_device_support(int32_t device_id, wia_op_t op, uint64_t *out_dtypes) {
  WIA__CALL(get_device_support(device_id, op, out_dtypes));
}
