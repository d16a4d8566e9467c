/* Finding and listing devices. */
#include <stdlib.h>
#include <string.h>

#include "copies.h"
#include "discovery.h"
#include "drivers.h"
#include "object.h"

/* A count that the ids can express; true if the driver had to be cut short. */
static wia_status_t count_devices(wia__driver_t *driver, uint32_t *out_count, wia_error_t *error) {
  const wia_driver_t *table = &driver->table;
  uint32_t count = 0;
  const wia_status_t status = table->count_devices(table->self, &count, error);
  *out_count = count < WIA__MAX_DEVICES ? count : WIA__MAX_DEVICES;
  return status;
}

wia_status_t wia__count_devices(wia__driver_t *driver, uint32_t *out_count) {
  wia_error_t error;
  wia__init_error(&error);
  const wia_status_t status = count_devices(driver, out_count, &error);
  if (status != WIA_STATUS_OK)
    return wia__take_error(&error, status, driver->name, "counting the devices of driver \"%s\"",
                           driver->name);
  wia__drop_error(&error);
  return WIA_STATUS_OK;
}

/* -- one by its name --------------------------------------------------------------------------- */

static wia_status_t find_ordinal(wia__driver_t *driver, uint32_t ordinal, int32_t *out_id) {
  uint32_t count;
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  const wia_status_t status = wia__count_devices(driver, &count);
  wia__rejoin(self);
  if (status != WIA_STATUS_OK) return status;
  if (ordinal >= count)
    return wia__fail_with(WIA_STATUS_NOT_FOUND, driver->name, NULL,
                          "there is no device \"%s:%u\": the driver has %u now, numbered from 0",
                          driver->name, ordinal, count);
  *out_id = driver->slot * WIA__MAX_DEVICES + (int32_t)ordinal;
  return WIA_STATUS_OK;
}

static wia_status_t find_device(const char *name, int32_t *out_id) {
  if (out_id == NULL) return wia__null("out_device_id");
  const wia_status_t alone = wia__check_copies();
  if (alone != WIA_STATUS_OK) return alone;
  const bool named = name != NULL && name[0] != '\0';
  char driver_name[WIA__NAME_SIZE] = "";
  uint32_t ordinal = 0;
  if (named && !wia__parse_device_name(name, driver_name, &ordinal))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "\"%.80s\" is no device name; expected driver or driver:ordinal, as npu or "
                     "npu:1, the driver in lower-case letters, digits and _",
                     name);
  wia__slot_t *slot;
  wia__refusal_t refusal;
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  const bool loaded =
      named ? wia__load_driver(driver_name, &slot, &refusal) : wia__load_default(&slot, &refusal);
  wia__rejoin(self);
  if (!loaded) return wia__fail_refusal(&refusal, named ? driver_name : NULL);
  return find_ordinal(atomic_load(&atomic_load(&slot->record)->driver), ordinal, out_id);
}

WIA_API wia_status_t wia_find_device(const char *name, int32_t *out_device_id) {
  WIA__CALL(find_device(name, out_device_id));
}

/* -- all --------------------------------------------------------------------------------------- */

/* The driver of a slot with the number of its devices, 0 when it can't be had. What is wrong goes
 * to the load report and not to the caller, who gets the others. */
static uint32_t count_in_slot(const wia__slot_t *slot, wia__driver_t **out_driver) {
  wia__record_t *record = atomic_load(&slot->record);
  wia__refusal_t refusal;
  if (record == NULL || !wia__load_record(record, &refusal)) return 0;
  *out_driver = atomic_load(&record->driver);
  uint32_t count;
  wia_error_t error;
  wia__init_error(&error);
  const wia_status_t status = count_devices(*out_driver, &count, &error);
  error.message[sizeof error.message - 1] = '\0';
  pthread_mutex_lock(&wia__records_mutex);
  record->shown.status = status;
  if (status == WIA_STATUS_OK) {
    record->shown.message = record->shown.cause = "";
  } else if (strstr(record->shown.message, wia__error_message(&error)) == NULL ||
             record->shown.message[0] == '\0') { /* no new text for what is said already */
    record->shown.message = wia__text("its devices can't be counted (%s): %s",
                                      wia_get_status_name(status), wia__error_message(&error));
    record->shown.cause = wia__text("%s", wia__error_cause(&error));
  }
  pthread_mutex_unlock(&wia__records_mutex);
  wia__drop_error(&error);
  return status == WIA_STATUS_OK ? count : 0;
}

/* Gives every usable candidate a slot: those are what the caller walks over. */
static bool mention_all(void) {
  if (wia__discover_native() != WIA_STATUS_OK) return false;
  wia__problem_t problem; /* stands in the load report */
  wia__discover_python(&problem);
  bool complete = true;
  pthread_mutex_lock(&wia__records_mutex);
  for (wia__record_t *record = wia__first_record(); record != NULL; record = record->next)
    if (record->owner && wia__give_slot(record) == NULL) complete = false;
  pthread_mutex_unlock(&wia__records_mutex);
  return complete;
}

static bool list_devices(int32_t **out_ids, uint32_t *out_count) {
  *out_ids = NULL;
  *out_count = 0;
  if (!mention_all()) return false;
  const wia__slot_t *slot;
  /* Loading one library can bring more drivers: they get slots at the end, so this loop sees them.
   */
  for (int32_t number = 0; (slot = wia__get_slot(number)) != NULL; ++number) {
    wia__driver_t *driver;
    const uint32_t count = count_in_slot(slot, &driver);
    if (count == 0) continue;
    int32_t *ids = realloc(*out_ids, (*out_count + count) * sizeof *ids);
    if (ids == NULL) return false;
    *out_ids = ids;
    for (uint32_t i = 0; i < count; ++i)
      ids[(*out_count)++] = number * WIA__MAX_DEVICES + (int32_t)i;
  }
  wia__log_failures();
  return true;
}

static wia_status_t get_devices(int32_t *out_ids, uint32_t capacity, uint32_t *out_count) {
  if (out_count == NULL) return wia__null("out_count");
  if (out_ids == NULL && capacity > 0) return wia__null("out_ids");
  const wia_status_t alone = wia__check_copies();
  if (alone != WIA_STATUS_OK) return alone;
  int32_t *ids;
  uint32_t count;
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  const bool listed = list_devices(&ids, &count);
  wia__rejoin(self);
  wia_status_t status = WIA_STATUS_OK;
  if (!listed) {
    status = wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory to list the devices");
  } else {
    *out_count = count;
    if (capacity > 0 && count > capacity)
      status = wia__fail(WIA_STATUS_OUT_OF_RANGE,
                         "capacity is %u and there are %u devices; expected room for all", capacity,
                         count);
    else if (capacity > 0 && count > 0)
      memcpy(out_ids, ids, count * sizeof *ids);
  }
  free(ids);
  return status;
}

WIA_API wia_status_t wia_get_devices(int32_t *out_ids, uint32_t capacity, uint32_t *out_count) {
  WIA__CALL(get_devices(out_ids, capacity, out_count));
}
