#include "registry.h"

#include <stdlib.h>
#include <string.h>

#include "copies.h"
#include "discovery.h"
#include "drivers.h"
#include "env.h"
#include "negotiate.h"
#include "object.h"
#include "slots.h"

static bool refuse_search(wia__refusal_t *out_refusal) {
  return wia__refuse(out_refusal, WIA_STATUS_RESOURCE_EXHAUSTED, "no memory to look for drivers");
}

/* -- by name ----------------------------------------------------------------------------------- */

static wia__record_t *find_owner(const char *name) {
  pthread_mutex_lock(&wia__records_mutex);
  wia__record_t *record = wia__find_owner(name);
  pthread_mutex_unlock(&wia__records_mutex);
  return record;
}

/* Why there is no driver of that name, after all places were looked through. */
static bool explain_absence(const char *name, wia__python_t python, const wia__problem_t *problem,
                            wia__refusal_t *out_refusal) {
  char known[WIA__NAMES_SIZE];
  pthread_mutex_lock(&wia__records_mutex);
  const wia__record_t *refused = wia__find_refused(name);
  if (refused != NULL) wia__refuse_as(out_refusal, refused);
  wia__list_names(name, known);
  pthread_mutex_unlock(&wia__records_mutex);
  if (refused != NULL) return false;
  if (python == WIA__PYTHON_FAILED) {
    wia__refuse(out_refusal, WIA_STATUS_UNAVAILABLE,
                "no native driver is named \"%s\" (%s), and Python drivers can't be looked for: %s",
                name, known, problem->message);
    out_refusal->cause = problem->cause;
    return false;
  }
  return wia__refuse(
      out_refusal, WIA_STATUS_NOT_FOUND, "no driver is named \"%s\"; %s%s", name, known,
      python == WIA__PYTHON_ABSENT ? " (native ones only: this library was built without Python)"
                                   : "");
}

/* The record of a name, or NULL with a refusal. */
static wia__record_t *find_record(const char *name, wia__refusal_t *out_refusal) {
  if (wia__discover_native() != WIA_STATUS_OK) {
    refuse_search(out_refusal);
    return NULL;
  }
  wia__record_t *record = find_owner(name);
  if (record != NULL) return record;
  const char *patterns = wia__env_text(WIA__ENV_DRIVERS);
  if (!wia__is_enabled(name, patterns)) {
    wia__refuse(out_refusal, WIA_STATUS_NOT_FOUND,
                "a driver named \"%s\" is switched off by WIA_DRIVERS=%s; add \"%s\" at its end to "
                "use it",
                name, patterns, name);
    return NULL;
  }
  wia__problem_t problem;
  const wia__python_t python = wia__discover_python(&problem);
  record = find_owner(name);
  if (record == NULL) explain_absence(name, python, &problem, out_refusal);
  return record;
}

static bool load_slot(wia__record_t *record, wia__slot_t **out_slot, wia__refusal_t *out_refusal) {
  pthread_mutex_lock(&wia__records_mutex);
  *out_slot = wia__give_slot(record);
  pthread_mutex_unlock(&wia__records_mutex);
  if (*out_slot == NULL)
    return wia__refuse(out_refusal, WIA_STATUS_RESOURCE_EXHAUSTED,
                       "no memory, or none of %d slots is left, for driver \"%s\"", WIA__MAX_SLOTS,
                       record->shown.name);
  if (wia__load_record(record, out_refusal)) return true;
  pthread_mutex_lock(&wia__records_mutex);
  record->told = record->shown.message; /* the caller is */
  pthread_mutex_unlock(&wia__records_mutex);
  return false;
}

bool wia__load_driver(const char *name, wia__slot_t **out_slot, wia__refusal_t *out_refusal) {
  wia__record_t *record = find_record(name, out_refusal);
  return record != NULL && load_slot(record, out_slot, out_refusal);
}

/* -- the default driver ------------------------------------------------------------------------ */

bool wia__load_default(wia__slot_t **out_slot, wia__refusal_t *out_refusal) {
  if (wia__discover_native() != WIA_STATUS_OK) return refuse_search(out_refusal);
  const char *reason, *name = wia__default_name(&reason);
  if (name[0] == '\0')
    return wia__refuse(out_refusal, WIA_STATUS_INVALID_ARGUMENT,
                       "WIA_DEFAULT_DEVICE is \"%s\"; expected the name of a driver, for example "
                       "npu",
                       wia__env_text(WIA__ENV_DEFAULT_DEVICE));
  wia__refusal_t why;
  if (wia__load_driver(name, out_slot, &why)) return true;
  wia__refuse(out_refusal, why.status,
              "the default driver is \"%s\", %s, and can't be used: %s. Set WIA_DEFAULT_DEVICE to "
              "the name of another driver, or name a device",
              name, reason, why.message);
  out_refusal->cause = why.cause;
  return false;
}

wia_status_t wia__fail_refusal(const wia__refusal_t *refusal, const char *driver) {
  return wia__fail_with(refusal->status, driver, refusal->cause, "%s", refusal->message);
}

wia_status_t wia__get_driver(int32_t number, wia__driver_t **out_driver) {
  wia__slot_t *slot = wia__get_slot(number);
  wia__record_t *record =
      slot != NULL ? atomic_load_explicit(&slot->record, memory_order_acquire) : NULL;
  if (record == NULL && number != 0)
    return wia__fail(WIA_STATUS_NOT_FOUND,
                     "no driver has slot %d; device ids come from wia_find_device() and "
                     "wia_get_devices(), and hold for one run of a program",
                     (int)number);
  wia__driver_t *driver =
      record != NULL ? atomic_load_explicit(&record->driver, memory_order_acquire) : NULL;
  wia__refusal_t refusal;
  bool loaded = driver != NULL;
  if (!loaded) {
    wia__thread_t *self = wia__thread();
    wia__leave(self);
    loaded = number == 0 ? wia__load_default(&slot, &refusal) : wia__load_record(record, &refusal);
    wia__rejoin(self);
  }
  if (!loaded) return wia__fail_refusal(&refusal, record != NULL ? record->shown.name : NULL);
  *out_driver = atomic_load(&atomic_load(&slot->record)->driver);
  return WIA_STATUS_OK;
}

/* -- registration ------------------------------------------------------------------------------ */

/* Names that are announced elsewhere are taken, so they are looked for first; Python is asked only
 * when it runs. */
static wia_status_t discover(void) {
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  const wia_status_t status = wia__discover_native();
  wia__problem_t problem;
  if (status == WIA_STATUS_OK && wia__has_bridge()) wia__discover_python(&problem);
  wia__rejoin(self);
  if (status == WIA_STATUS_OK) return status;
  return wia__fail(status, "no memory to look for drivers");
}

/* Adds a record with a driver unless its name is taken; *out_owner is then by whom. */
static wia_status_t add_registered(wia__record_t *record, wia__driver_t *driver,
                                   const char **out_owner) {
  wia_status_t status = WIA_STATUS_OK;
  pthread_mutex_lock(&wia__records_mutex);
  const wia__record_t *owner = wia__find_owner(record->shown.name);
  if (owner != NULL) {
    *out_owner = owner->shown.source;
    status = WIA_STATUS_ALREADY_EXISTS;
  } else {
    wia__add_record(record);
    if (record->owner) {
      status = wia__install_driver(record, driver);
      driver = NULL;
    }
    if (status != WIA_STATUS_OK) wia__remove_record(record); /* it has no slot, so nobody saw it */
  }
  pthread_mutex_unlock(&wia__records_mutex);
  free(driver);
  return status;
}

static wia_status_t register_driver(const wia_driver_t *table, uint32_t major, uint32_t minor) {
  if (table == NULL) return wia__null("driver");
  char message[WIA__TEXT_SIZE];
  wia_status_t status = wia__check_copies();
  if (status != WIA_STATUS_OK) return status;
  status = wia__check_version(major, minor, message);
  if (status == WIA_STATUS_OK) status = wia__check_table(table, minor, message);
  if (status != WIA_STATUS_OK) return wia__fail(status, "%s", message);
  status = discover();
  if (status != WIA_STATUS_OK) return status;
  char *name = strdup(table->name);
  wia__record_t *record =
      name != NULL ? wia__make_record(WIA_DRIVER_KIND_MEMORY, name, "the process itself") : NULL;
  wia__driver_t *driver = record != NULL ? wia__adopt_table(table) : NULL;
  const char *owner = "";
  status = driver != NULL ? add_registered(record, driver, &owner) : WIA_STATUS_RESOURCE_EXHAUSTED;
  if (status == WIA_STATUS_OK) return status;
  free(record);
  free(name);
  if (status == WIA_STATUS_ALREADY_EXISTS)
    return wia__fail(status,
                     "the name \"%s\" is taken by the driver from %s; register this one under "
                     "another name",
                     table->name, owner);
  return wia__fail(status, "no memory, or no slot is left, for driver \"%s\"", table->name);
}

WIA_API wia_status_t wia_register_driver(const wia_driver_t *driver, uint32_t abi_major,
                                         uint32_t abi_minor) {
  WIA__CALL(register_driver(driver, abi_major, abi_minor));
}
