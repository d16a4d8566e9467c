#include "python.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "env.h"
#include "fork.h"
#include "names.h"
#include "object.h"
#include "platform.h"

/* Set by the build; both empty: no Python. */
#ifndef WIA_LIBPYTHON_PATH
#define WIA_LIBPYTHON_PATH ""
#endif
#ifndef WIA_BRIDGE_FILE
#define WIA_BRIDGE_FILE ""
#endif
#ifndef WIA_PYTHON_VERSION
#define WIA_PYTHON_VERSION ""
#endif

typedef int (*start_bridge_fn_t)(char *error, size_t error_size);

enum { ERROR_SIZE = 16 * 1024 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static enum { PYTHON_NEW, PYTHON_STARTING, PYTHON_FAILED } state;
static wia__problem_t failure;
static wia__bridge_t bridge;
static _Atomic uint32_t has_bridge;
static _Thread_local bool starting; /* on this thread: Python code that calls back */

WIA_API wia_status_t wia__set_bridge(const wia__bridge_t *given) {
  if (given == NULL || given->struct_size < sizeof bridge || given->discover == NULL ||
      given->load == NULL)
    return WIA_STATUS_INVALID_ARGUMENT;
  pthread_mutex_lock(&mutex);
  if (!has_bridge) {
    bridge = *given;
    atomic_store_explicit(&has_bridge, 1, memory_order_release);
  }
  pthread_mutex_unlock(&mutex);
  return WIA_STATUS_OK;
}

bool wia__has_bridge(void) { return atomic_load_explicit(&has_bridge, memory_order_acquire) != 0; }

bool wia__sees_signals(void) { return wia__has_bridge() && bridge.check_signals != NULL; }

wia_status_t wia__check_signals(void) {
  wia_error_t error;
  wia__init_error(&error);
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  const wia_status_t status = bridge.check_signals(&error);
  wia__rejoin(self);
  if (status) return wia__take_error(&error, status, NULL, "the wait for work in flight");
  wia__drop_error(&error);
  return WIA_STATUS_OK;
}

WIA_API const char *wia__get_libpython(void) {
  const char *given = wia__env_text(WIA__ENV_LIBPYTHON);
  return given[0] != '\0' ? given : WIA_LIBPYTHON_PATH;
}

/* NULL, or why the bridge can't work with the Python of a library, or of the process (NULL). The bridge
 * is for one version of Python: another has structures of its own. */
static const char *judge_python(void *library, const char *name) {
  char *text;
  void *symbol = wia__find_symbol(library, "Py_GetVersion", &text);
  if (symbol == NULL) {
    free(text);
    return wia__text("%s is no Python library: it lacks Py_GetVersion; set WIA_LIBPYTHON to the "
                     "path of a libpython",
                     name);
  }
  const char *(*get_version)(void);
  memcpy(&get_version, &symbol, sizeof get_version); /* ISO C has no cast between the two */
  static const char wanted[] = WIA_PYTHON_VERSION ".";
  const char *version = get_version();
  if (strncmp(version, wanted, sizeof wanted - 1) == 0) return NULL;
  return wia__text("%s is Python %.*s, and wia is installed for Python " WIA_PYTHON_VERSION
                   ": use a Python of that version (WIA_LIBPYTHON names its library), or install "
                   "wia for the other one",
                   name, (int)strcspn(version, " "), version);
}

/* NULL, or what went wrong. Symbols are global: extension modules of Python don't link to it. What is not
 * the right library is never made global: it would be in the way of the right one. */
static const char *load_python_library(void) {
  char *text;
  if (wia__find_symbol(NULL, "Py_IsInitialized", &text) != NULL)
    return judge_python(NULL, "the Python of this process");
  free(text);
  const char *path = wia__get_libpython();
  if (path[0] == '\0')
    return "this library was built with a Python that has no shared libpython; set WIA_LIBPYTHON "
           "to the path of one, for example /usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0";
  void *library = wia__load_library(path, false, &text);
  const char *problem = library != NULL ? judge_python(library, path) : NULL;
  if (problem != NULL || (library != NULL && wia__load_library(path, true, &text) != NULL))
    return problem;
  problem =
      wia__text("the Python library %s can't be loaded (%s); set WIA_LIBPYTHON to the path of "
                "one that can",
                path, text != NULL ? text : "");
  free(text);
  return problem;
}

static wia__problem_t start_bridge(void) {
  wia__problem_t problem = {.message = load_python_library(), .cause = ""};
  if (problem.message != NULL) return problem;
  char path[PATH_MAX + sizeof WIA_BRIDGE_FILE + 4], *text;
  snprintf(path, sizeof path, "%s/../%s", wia__library_folder(), WIA_BRIDGE_FILE);
  void *library = wia__load_library(path, false, &text);
  void *symbol = library != NULL ? wia__find_symbol(library, "wia_bridge_start", &text) : NULL;
  if (symbol == NULL) {
    problem.message = "the bridge to Python can't be loaded; the cause has the loader's words";
    problem.cause = wia__text("%s", text != NULL ? text : path);
    free(text);
    return problem;
  }
  start_bridge_fn_t start;
  memcpy(&start, &symbol, sizeof start); /* ISO C has no cast between the two */
  char *error = calloc(1, ERROR_SIZE);
  if (error == NULL) {
    problem.message = "no memory to start Python";
  } else if (start(error, ERROR_SIZE) != 0) {
    problem.message = "the bridge to Python did not start; the cause has its words";
    problem.cause = wia__text("%s", error);
  } else if (!wia__has_bridge()) {
    problem.message = "the bridge to Python started and did not register itself; install wia anew";
  }
  free(error);
  return problem;
}

wia__python_t wia__start_python(const wia__bridge_t **out_bridge, wia__problem_t *out_problem) {
  *out_bridge = &bridge;
  *out_problem = (wia__problem_t){.cause = ""};
  if (wia__has_bridge()) return WIA__PYTHON_READY;
  if (WIA_BRIDGE_FILE[0] == '\0') {
    out_problem->message = "this library was built without Python";
    return WIA__PYTHON_ABSENT;
  }
  if (starting) {
    out_problem->message = "Python is being started by this very call";
    return WIA__PYTHON_FAILED;
  }
  pthread_mutex_lock(&mutex);
  while (state == PYTHON_STARTING && !has_bridge) pthread_cond_wait(&changed, &mutex);
  if (!has_bridge && state == PYTHON_NEW) {
    state = PYTHON_STARTING;
    pthread_mutex_unlock(&mutex);
    starting = true;
    const wia__problem_t problem = start_bridge();
    starting = false;
    pthread_mutex_lock(&mutex);
    failure = problem;
    state = problem.message != NULL ? PYTHON_FAILED : PYTHON_NEW;
    pthread_cond_broadcast(&changed);
  }
  *out_problem = failure;
  pthread_mutex_unlock(&mutex);
  return wia__has_bridge() ? WIA__PYTHON_READY : WIA__PYTHON_FAILED;
}

wia_status_t wia__get_bridge(const wia__bridge_t **out_bridge) {
  wia__problem_t problem;
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  const wia__python_t outcome = wia__start_python(out_bridge, &problem);
  wia__rejoin(self);
  if (outcome == WIA__PYTHON_READY) return WIA_STATUS_OK;
  return wia__fail_with(WIA_STATUS_UNAVAILABLE, NULL, problem.cause, "Python can't be started: %s",
                        problem.message);
}

void wia__fork_python(wia__fork_t stage) {
  wia__fork_mutex(stage, &mutex);
  if (stage != WIA__FORK_CHILD) return;
  pthread_cond_init(&changed, NULL);
  if (state == PYTHON_STARTING && !starting) state = PYTHON_NEW;
}
