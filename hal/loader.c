#include "loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fork.h"
#include "job.h"
#include "log.h"
#include "negotiate.h"
#include "python.h"
#include "slots.h"

/* A shared library, asked for its drivers once, however many records announce it. */
typedef struct library_t {
  const wia__record_t *announced_by; /* tells its file and path */
  enum { LIBRARY_NEW, LIBRARY_LOADING, LIBRARY_LOADED } state;
  wia__offer_t offer;
  struct library_t *next;
} library_t;

static library_t *libraries; /* guarded by wia__records_mutex */

bool wia__refuse(wia__refusal_t *out_refusal, wia_status_t status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(out_refusal->message, sizeof out_refusal->message, format, arguments);
  va_end(arguments);
  out_refusal->status = status;
  out_refusal->cause = "";
  return false;
}

/* -- with the mutex held ----------------------------------------------------------------------- */

bool wia__refuse_as(wia__refusal_t *out_refusal, const wia__record_t *record) {
  wia__refuse(out_refusal, record->shown.status, "%s", record->shown.message);
  out_refusal->cause = record->shown.cause;
  return false;
}

wia_status_t wia__install_driver(wia__record_t *record, wia__driver_t *driver) {
  const wia__slot_t *slot = driver != NULL ? wia__give_slot(record) : NULL;
  if (slot == NULL) {
    free(driver);
    return WIA_STATUS_RESOURCE_EXHAUSTED;
  }
  driver->slot = slot->number;
  record->shown.state = WIA_DRIVER_STATE_LOADED;
  record->shown.status = WIA_STATUS_OK;
  record->shown.version = driver->table.version;
  atomic_store_explicit(&record->driver, driver, memory_order_release);
  return WIA_STATUS_OK;
}

static bool is_same_file(const wia__record_t *a, const wia__record_t *b) {
  if (a->inode != 0) return a->inode == b->inode && a->device == b->device;
  return b->inode == 0 && strcmp(a->library, b->library) == 0;
}

static library_t *find_library(const wia__record_t *record) {
  for (library_t *library = libraries; library != NULL; library = library->next)
    if (is_same_file(library->announced_by, record)) return library;
  library_t *library = calloc(1, sizeof *library);
  if (library == NULL) return NULL;
  library->announced_by = record;
  library->next = libraries;
  libraries = library;
  return library;
}

/* The record of a driver that a library offers: made for a manifest, made here before, or new. */
static wia__record_t *find_offered(const library_t *library, const char *name) {
  const wia__record_t *by = library->announced_by;
  for (wia__record_t *record = wia__first_record(); record != NULL; record = record->next)
    if (record->library != NULL && strcmp(record->shown.name, name) == 0 &&
        is_same_file(record, by))
      return record;
  wia__record_t *record = wia__make_record(WIA_DRIVER_KIND_NATIVE, name, by->shown.source);
  if (record == NULL) return NULL;
  record->library = by->library;
  record->device = by->device;
  record->inode = by->inode;
  record->may_be_default = false; /* no manifest speaks for it */
  wia__add_record(record);
  return record;
}

/* No table of the library has the name that its manifest gives. */
static const char *explain_misnamed(const wia__record_t *asked, const wia__offer_t *offer) {
  char names[WIA__TEXT_SIZE / 2];
  size_t length = 0;
  for (uint32_t i = 0; i < offer->count && length < sizeof names; ++i)
    length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", i > 0 ? ", " : "",
                               offer->tables[i]->name);
  return wia__text("the driver library %s has no driver \"%s\"; it has: %s. Correct the name in %s",
                   asked->library, asked->shown.name, names, asked->shown.source);
}

/* A record for each driver that a library offers. False: no memory for one, which would never be found. */
static bool note_offered(const library_t *library) {
  bool complete = true;
  for (uint32_t i = 0; i < library->offer.count && complete; ++i) {
    const wia_driver_t *table = library->offer.tables[i];
    complete = !wia__has_name(table) || find_offered(library, table->name) != NULL;
  }
  return complete;
}

/* Installs or refuses each driver that a library offers, and refuses the one that was asked for if
 * it isn't among them. Short of memory it does neither: whoever asks tries again. */
static void install_offer(const library_t *library, wia__record_t *asked) {
  if (!note_offered(library)) return;
  const wia__offer_t *offer = &library->offer;
  wia_status_t problem = WIA_STATUS_OK;
  char problem_message[WIA__TEXT_SIZE];
  bool offered = false;
  for (uint32_t i = 0; i < offer->count; ++i) {
    const wia_driver_t *table = offer->tables[i];
    char message[WIA__TEXT_SIZE];
    const wia_status_t status = wia__check_table(table, offer->minor, message);
    if (!wia__has_name(table)) { /* the fault of the record that led here, if it gets no better */
      problem = status;
      memcpy(problem_message, message, sizeof message);
      continue;
    }
    wia__record_t *record = find_offered(library, table->name);
    offered |= record == asked;
    if (!record->owner || atomic_load(&record->driver) != NULL) continue;
    if (status != WIA_STATUS_OK)
      wia__refuse_record(record, status, wia__text("%s", message), "");
    else
      (void)wia__install_driver(record, wia__adopt_table(table));
  }
  if (offered) return;
  if (problem != WIA_STATUS_OK)
    wia__refuse_record(asked, problem, wia__text("%s", problem_message), "");
  else
    wia__refuse_record(asked, WIA_STATUS_NOT_FOUND, explain_misnamed(asked, offer), "");
}

/* -- kinds of drivers; outside the mutex ------------------------------------------------------- */

static bool refuse_no_memory(wia__refusal_t *out_refusal) {
  return wia__refuse(out_refusal, WIA_STATUS_RESOURCE_EXHAUSTED,
                     "no memory to load the driver, or no slot is left for it");
}

/* Negotiates with the record's library unless that was done, and waits for whoever does it. */
static bool load_library(library_t *library) {
  while (library->state == LIBRARY_LOADING)
    pthread_cond_wait(&wia__records_changed, &wia__records_mutex);
  if (library->state == LIBRARY_LOADED) return true;
  library->state = LIBRARY_LOADING;
  pthread_mutex_unlock(&wia__records_mutex);
  wia__offer_t offer;
  wia__negotiate(library->announced_by->library, &offer);
  pthread_mutex_lock(&wia__records_mutex);
  library->offer = offer;
  library->state = offer.transient ? LIBRARY_NEW : LIBRARY_LOADED;
  pthread_cond_broadcast(&wia__records_changed);
  return !offer.transient;
}

static bool load_native(wia__record_t *record, wia__refusal_t *out_refusal) {
  refuse_no_memory(out_refusal); /* unless the record is refused, or all is well */
  pthread_mutex_lock(&wia__records_mutex);
  library_t *library = find_library(record);
  if (library != NULL && load_library(library)) {
    const wia__offer_t *offer = &library->offer;
    if (offer->status != WIA_STATUS_OK)
      wia__refuse_record(record, offer->status, offer->message, offer->cause);
    else
      install_offer(library, record);
  }
  const bool loaded = atomic_load(&record->driver) != NULL;
  pthread_mutex_unlock(&wia__records_mutex);
  return loaded;
}

static wia_status_t check_loaded(const wia__record_t *record, const wia_driver_t *table,
                                 char out_message[WIA__TEXT_SIZE]) {
  const wia_status_t status = wia__check_table(table, WIA_DRIVER_ABI_MINOR, out_message);
  if (status != WIA_STATUS_OK || strcmp(table->name, record->shown.name) == 0) return status;
  snprintf(out_message, WIA__TEXT_SIZE,
           "entry point %.200s is named \"%s\", and its driver has the name \"%s\"; expected the "
           "same",
           record->shown.source, record->shown.name, table->name);
  return WIA_STATUS_INVALID_ARGUMENT;
}

static bool load_python(wia__record_t *record, wia__refusal_t *out_refusal) {
  const wia__bridge_t *bridge;
  wia__problem_t problem;
  if (wia__start_python(&bridge, &problem) != WIA__PYTHON_READY) {
    wia__refuse(out_refusal, WIA_STATUS_UNAVAILABLE, "Python can't be started: %s",
                problem.message);
    out_refusal->cause = problem.cause;
    return false;
  }
  const char *message = "", *cause = "";
  const wia_driver_t *table = NULL;
  wia_error_t error;
  wia__init_error(&error);
  wia_status_t status = bridge->load(record->shown.name, record->shown.source,
                                     wia__driver_timeout_ns(), &table, &error);
  if (status != WIA_STATUS_OK) {
    error.message[sizeof error.message - 1] = '\0';
    message = wia__text("the driver from entry point %s can't be loaded: %s", record->shown.source,
                        wia__error_message(&error));
    cause = wia__text("%s", wia__error_cause(&error));
  } else {
    char text[WIA__TEXT_SIZE];
    status = check_loaded(record, table, text);
    if (status != WIA_STATUS_OK) message = wia__text("%s", text);
  }
  wia__drop_error(&error);
  pthread_mutex_lock(&wia__records_mutex);
  if (status == WIA_STATUS_RESOURCE_EXHAUSTED) { /* there may be memory another time */
    wia__refuse(out_refusal, status, "%s", message);
    out_refusal->cause = cause;
  } else if (status != WIA_STATUS_OK) {
    wia__refuse_record(record, status, message, cause);
  } else if (wia__install_driver(record, wia__adopt_table(table)) != WIA_STATUS_OK) {
    refuse_no_memory(out_refusal);
  }
  const bool loaded = atomic_load(&record->driver) != NULL;
  pthread_mutex_unlock(&wia__records_mutex);
  return loaded;
}

/* -- one load per record ----------------------------------------------------------------------- */

/* Whether this thread works, at any remove, for the loading of the record: waiting for it would
 * never end. */
static bool is_loading_for(const wia__record_t *record) {
  for (const wia__record_t *purpose = wia__purpose; purpose != NULL; purpose = purpose->loaded_for)
    if (purpose == record) return true;
  return false;
}

bool wia__load_record(wia__record_t *record, wia__refusal_t *out_refusal) {
  pthread_mutex_lock(&wia__records_mutex);
  if (record->loading && is_loading_for(record)) {
    pthread_mutex_unlock(&wia__records_mutex);
    return wia__refuse(out_refusal, WIA_STATUS_FAILED_PRECONDITION,
                       "the driver asked for itself while it was loaded");
  }
  while (record->loading) pthread_cond_wait(&wia__records_changed, &wia__records_mutex);
  const bool before = atomic_load(&record->driver) != NULL;
  bool loaded = before;
  if (!loaded && record->shown.state != WIA_DRIVER_STATE_REFUSED) {
    record->loading = true;
    record->loaded_for = wia__purpose;
    wia__purpose = record;
    pthread_mutex_unlock(&wia__records_mutex);
    loaded = record->shown.kind == WIA_DRIVER_KIND_PYTHON ? load_python(record, out_refusal)
                                                          : load_native(record, out_refusal);
    pthread_mutex_lock(&wia__records_mutex);
    wia__purpose = record->loaded_for;
    record->loading = false;
    pthread_cond_broadcast(&wia__records_changed);
  }
  if (record->shown.state == WIA_DRIVER_STATE_REFUSED) wia__refuse_as(out_refusal, record);
  pthread_mutex_unlock(&wia__records_mutex);
  if (loaded && !before)
    wia__log(WIA__LOG_DISCOVERY, WIA_LOG_INFO, record->shown.name, "loaded version %s from %s",
             record->shown.version, record->shown.source);
  return loaded;
}

void wia__fork_libraries(wia__fork_t stage) {
  if (stage != WIA__FORK_CHILD) return;
  for (library_t *library = libraries; library != NULL; library = library->next)
    if (library->state == LIBRARY_LOADING) library->state = LIBRARY_NEW;
}
