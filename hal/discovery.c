#include "discovery.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "env.h"
#include "fork.h"
#include "host.h"
#include "manifest.h"
#include "object.h"
#include "platform.h"
#include "slots.h"

typedef enum search_t { SEARCH_NEW, SEARCH_RUNNING, SEARCH_OVER } search_t;

static search_t native_search, python_search; /* guarded by wia__records_mutex */
static wia__problem_t python_problem;
static _Thread_local bool asking_python; /* on this thread: Python code that calls back */

/* Records that were found and are in no list yet. */
typedef struct found_t {
  wia__record_t *first, **end;
  bool failed; /* memory is short */
} found_t;

static void append(found_t *found, wia__record_t *record) {
  *found->end = record;
  found->end = &record->next;
}

/* Puts what was found into the list; short of memory, nothing of it. */
static bool take_found(found_t *found) {
  for (wia__record_t *record = found->first, *next; record != NULL; record = next) {
    next = record->next;
    record->next = NULL;
    if (found->failed) {
      free(record->library);
      free(record);
    } else {
      wia__add_record(record);
    }
  }
  return !found->failed;
}

/* -- manifests --------------------------------------------------------------------------------- */

static void add_broken(found_t *found, const char *name, const char *source, const char *message) {
  wia__record_t *record = wia__make_record(WIA_DRIVER_KIND_NATIVE, name, source);
  if (record == NULL) {
    found->failed = true;
    return;
  }
  wia__refuse_record(record, WIA_STATUS_INVALID_ARGUMENT, message, "");
  append(found, record);
}

static void add_manifest(found_t *found, const char *path) {
  const char *source = wia__text("%s", path), *problem;
  wia__manifest_t manifest;
  if (!wia__read_manifest(path, &manifest, &problem)) {
    add_broken(found, wia__text("%s", manifest.name), source, problem);
    return;
  }
  wia__record_t *record =
      wia__make_record(WIA_DRIVER_KIND_NATIVE, wia__text("%s", manifest.name), source);
  if (record == NULL) {
    free(manifest.library);
    found->failed = true;
    return;
  }
  record->library = manifest.library;
  record->shown.priority = manifest.priority;
  record->may_be_default = manifest.may_be_default;
  struct stat status;
  if (stat(manifest.library, &status) == 0) {
    record->device = status.st_dev;
    record->inode = status.st_ino;
  }
  if (manifest.abi_major != WIA_DRIVER_ABI_MAJOR)
    wia__refuse_record(
        record, WIA_STATUS_INCOMPATIBLE,
        wia__text("the manifest says driver ABI %u.%u, this library has %d.%d; expected the same "
                  "major version: install a driver made for ABI %d",
                  manifest.abi_major, manifest.abi_minor, WIA_DRIVER_ABI_MAJOR,
                  WIA_DRIVER_ABI_MINOR, WIA_DRIVER_ABI_MAJOR),
        "");
  append(found, record);
}

/* A folder that isn't there is no failure: all of them are optional. */
static void add_folder(found_t *found, const char *folder) {
  char absolute[PATH_MAX];
  if (realpath(folder, absolute) != NULL) folder = absolute; /* the program may change its folder */
  int error = 0;
  char **paths = wia__list_manifests(folder, &error);
  if (paths == NULL && error == ENOMEM) found->failed = true;
  if (paths == NULL && error != ENOENT && error != ENOMEM)
    add_broken(found, "", wia__text("%s", folder),
               wia__text("the folder can't be read: %s", strerror(error)));
  for (char **path = paths; path != NULL && *path != NULL; ++path) add_manifest(found, *path);
  wia__free_list(paths);
}

static void add_listed_folders(found_t *found, const char *list) {
  while (*list != '\0') {
    const size_t length = strcspn(list, ":");
    char *folder = strndup(list, length);
    if (folder == NULL) found->failed = true;
    if (folder != NULL && length > 0) add_folder(found, folder);
    free(folder);
    list += length;
    list += *list == ':';
  }
}

/* wia_drivers.d beside the package wia. A library that lies elsewhere has no such folder: two
 * levels up from it may be anybody's. */
static void add_package_folder(found_t *found) {
  static const char tail[] = "/wia/lib";
  const char *folder = wia__library_folder();
  const size_t length = strlen(folder), tail_length = sizeof tail - 1;
  if (length < tail_length || strcmp(folder + length - tail_length, tail) != 0) return;
  char path[PATH_MAX + sizeof "/wia_drivers.d"];
  memcpy(path, folder, length - tail_length);
  memcpy(path + length - tail_length, "/wia_drivers.d", sizeof "/wia_drivers.d");
  add_folder(found, path);
}

wia_status_t wia__discover_native(void) {
  pthread_mutex_lock(&wia__records_mutex);
  while (native_search == SEARCH_RUNNING)
    pthread_cond_wait(&wia__records_changed, &wia__records_mutex);
  if (native_search == SEARCH_OVER) {
    pthread_mutex_unlock(&wia__records_mutex);
    return WIA_STATUS_OK;
  }
  native_search = SEARCH_RUNNING;
  pthread_mutex_unlock(&wia__records_mutex);

  found_t found = {.end = &found.first};
  wia__lost = false;
  add_listed_folders(&found, wia__env_text(WIA__ENV_DRIVER_PATH));
  add_package_folder(&found);
  add_folder(&found, "/usr/share/wia/drivers.d");
  found.failed |= wia__lost;

  pthread_mutex_lock(&wia__records_mutex);
  const bool taken = take_found(&found);
  if (taken) wia__choose_default();
  native_search = taken ? SEARCH_OVER : SEARCH_NEW;
  pthread_cond_broadcast(&wia__records_changed);
  pthread_mutex_unlock(&wia__records_mutex);
  wia__log_failures();
  return taken ? WIA_STATUS_OK : WIA_STATUS_RESOURCE_EXHAUSTED;
}

/* -- entry points ------------------------------------------------------------------------------ */

static const char *copy(const char *text) { return text != NULL ? wia__text("%s", text) : ""; }

/* Called back by the bridge. */
static void add_entry_point(void *context, const char *name, const char *source,
                            const char *version, const char *problem) {
  found_t *found = context;
  wia__record_t *record = wia__make_record(WIA_DRIVER_KIND_PYTHON, copy(name), copy(source));
  if (record == NULL) {
    found->failed = true;
    return;
  }
  record->shown.version = copy(version);
  if (problem != NULL)
    wia__refuse_record(record, WIA_STATUS_INVALID_ARGUMENT, copy(problem), "");
  else if (!wia__is_driver_name(name))
    wia__refuse_record(
        record, WIA_STATUS_INVALID_ARGUMENT,
        wia__text("the entry point is named \"%.80s\"; expected a lower-case letter, "
                  "then lower-case letters, digits and _",
                  record->shown.name),
        "");
  append(found, record);
}

/* A place that could not be looked through stands in the report too. */
static void add_python_failure(found_t *found, wia_status_t status, const char *message,
                               const char *cause) {
  wia__record_t *record = wia__make_record(WIA_DRIVER_KIND_PYTHON, "", "entry points wia.drivers");
  if (record == NULL) return;
  wia__refuse_record(record, status, message, cause);
  append(found, record);
}

static wia__python_t ask_python(found_t *found, wia__problem_t *out_problem) {
  const wia__bridge_t *bridge;
  const wia__python_t outcome = wia__start_python(&bridge, out_problem);
  if (outcome != WIA__PYTHON_READY) {
    if (outcome == WIA__PYTHON_FAILED)
      add_python_failure(found, WIA_STATUS_UNAVAILABLE,
                         wia__text("Python can't be started: %s", out_problem->message),
                         out_problem->cause);
    return outcome;
  }
  wia_error_t error;
  wia__init_error(&error);
  const wia_status_t status = bridge->discover(add_entry_point, found, &error);
  if (status != WIA_STATUS_OK) {
    error.message[sizeof error.message - 1] = '\0';
    out_problem->message =
        wia__text("its entry points can't be listed: %s", wia__error_message(&error));
    out_problem->cause = copy(wia__error_cause(&error));
    add_python_failure(found, status, out_problem->message, out_problem->cause);
  }
  wia__drop_error(&error);
  return status == WIA_STATUS_OK ? WIA__PYTHON_READY : WIA__PYTHON_FAILED;
}

wia__python_t wia__discover_python(wia__problem_t *out_problem) {
  static wia__python_t outcome;
  static bool started; /* whether the search that is over had a bridge to ask */
  *out_problem = (wia__problem_t){"this thread is looking for Python drivers already", ""};
  if (asking_python) return WIA__PYTHON_FAILED;
  pthread_mutex_lock(&wia__records_mutex);
  while (python_search == SEARCH_RUNNING)
    pthread_cond_wait(&wia__records_changed, &wia__records_mutex);
  /* A program may bring Python with it after this library failed to start it. */
  if (python_search == SEARCH_NEW || (!started && wia__has_bridge())) {
    python_search = SEARCH_RUNNING;
    pthread_mutex_unlock(&wia__records_mutex);
    found_t found = {.end = &found.first};
    wia__problem_t problem;
    wia__lost = false;
    asking_python = true;
    const wia__python_t result = ask_python(&found, &problem);
    asking_python = false;
    found.failed |= wia__lost;
    pthread_mutex_lock(&wia__records_mutex);
    const bool taken = take_found(&found);
    started = wia__has_bridge();
    outcome = taken ? result : WIA__PYTHON_FAILED;
    python_problem = taken ? problem : (wia__problem_t){"memory is short", ""};
    python_search = taken ? SEARCH_OVER : SEARCH_NEW;
    pthread_cond_broadcast(&wia__records_changed);
  }
  *out_problem = python_problem;
  const wia__python_t result = outcome;
  pthread_mutex_unlock(&wia__records_mutex);
  wia__log_failures();
  return result;
}

void wia__fork_searches(wia__fork_t stage) {
  if (stage != WIA__FORK_CHILD) return;
  if (native_search == SEARCH_RUNNING) native_search = SEARCH_NEW;
  if (python_search == SEARCH_RUNNING) python_search = SEARCH_NEW;
}
