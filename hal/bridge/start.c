/* start.c: the bridge in a C process: starts the interpreter, in the environment that this file is
 * installed in, and imports the Python side of WIA. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge.h"

static int python_is_ours;

int wia__python_is_ours(void) { return python_is_ours; }

enum {
  PATH_SIZE = PATH_MAX,
  LEVELS = 6 /* from <prefix>/lib/python3.11/site-packages/wia/ up to <prefix>, and one to spare */
};

int wia__raise_in_thread(uint64_t thread, uint64_t exception_class) {
  const PyGILState_STATE state = PyGILState_Ensure();
  const int found =
      PyThreadState_SetAsyncExc((unsigned long)thread, (PyObject *)(uintptr_t)exception_class);
  PyGILState_Release(state);
  return found;
}

__attribute__((visibility("default"))) int wia_bridge_start(char *error, size_t error_size);

static void print_error(char *error, size_t error_size, const char *what, const char *why) {
  if (error_size != 0)
    snprintf(error, error_size, "%s%s%s", what, why && *why ? ": " : "", why ? why : "");
}

/* The folder that holds the package wia: the parent of the folder of this file. */
static int find_site_packages(char *out_path) {
  Dl_info info;
  if (!dladdr((const void *)(uintptr_t)wia_bridge_start, &info) || !info.dli_fname ||
      !realpath(info.dli_fname, out_path))
    return 0;
  for (int level = 0; level < 2; level++) {
    char *slash = strrchr(out_path, '/');
    if (!slash || slash == out_path) return 0;
    *slash = '\0';
  }
  return 1;
}

/* The interpreter's executable belonging to a folder of packages; its place is what Python derives
 * its paths from, those of a virtual environment too. */
static int find_program(const char *site_packages, char *out_path) {
  char folder[PATH_SIZE];
  snprintf(folder, sizeof folder, "%s", site_packages);
  for (int level = 0; level < LEVELS; level++) {
    char *slash = strrchr(folder, '/');
    if (!slash) return 0;
    *slash = '\0';
    if (snprintf(out_path, PATH_SIZE, "%s/bin/python3", folder) < PATH_SIZE &&
        access(out_path, X_OK) == 0)
      return 1;
  }
  return 0;
}

static int initialize(const char *site_packages, char *error, size_t error_size) {
  char program[PATH_SIZE];
  PyConfig config;
  struct sigaction interrupt;
  sigaction(SIGINT, NULL, &interrupt);
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;
  config.parse_argv = 0;
  config.buffered_stdio = 0; /* a C program never ends the interpreter: nobody would flush */
  PyStatus status = PyStatus_Ok();
  if (find_program(site_packages, program))
    status = PyConfig_SetBytesString(&config, &config.program_name, program);
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  /* Python's signal module takes SIGINT over when it is first imported, whatever the configuration
   * says. So it is imported here, and what the program does on SIGINT is put back. */
  if (!PyStatus_Exception(status)) {
    Py_XDECREF(PyImport_ImportModule("signal"));
    PyErr_Clear();
  }
  sigaction(SIGINT, &interrupt, NULL);
  if (PyStatus_Exception(status)) {
    print_error(error, error_size, "The Python interpreter could not start", status.err_msg);
    return 0;
  }
  return 1;
}

/* The text of the current exception with its traceback. */
static void take_exception(char *error, size_t error_size) {
  PyObject *type, *value, *traceback, *module = NULL, *lines = NULL, *empty = NULL, *text = NULL;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  module = PyImport_ImportModule("traceback");
  if (module)
    lines = PyObject_CallMethod(module, "format_exception", "OOO", type, value ? value : Py_None,
                                traceback ? traceback : Py_None);
  empty = PyUnicode_FromString("");
  if (lines && empty) text = PyUnicode_Join(empty, lines);
  const char *bytes = text ? PyUnicode_AsUTF8(text) : NULL;
  print_error(error, error_size, "The Python side of WIA could not be imported",
              bytes ? bytes : "and its traceback could not be printed");
  PyErr_Clear();
  Py_XDECREF(text);
  Py_XDECREF(empty);
  Py_XDECREF(lines);
  Py_XDECREF(module);
  Py_XDECREF(traceback);
  Py_XDECREF(value);
  Py_XDECREF(type);
}

/* Puts the folder on the path unless it is there, and follows its .pth files (editable installs).
 */
static int add_site_packages(const char *site_packages) {
  PyObject *path = PySys_GetObject("path"); /* borrowed */
  PyObject *folder = PyUnicode_DecodeFSDefault(site_packages);
  int found = path && folder ? PySequence_Contains(path, folder) : -1;
  if (found == 0) {
    PyObject *site = PyImport_ImportModule("site");
    PyObject *result = site ? PyObject_CallMethod(site, "addsitedir", "O", folder) : NULL;
    found = result ? 1 : -1;
    Py_XDECREF(result);
    Py_XDECREF(site);
  }
  Py_XDECREF(folder);
  return found == 1;
}

int wia_bridge_start(char *error, size_t error_size) {
  char site_packages[PATH_SIZE];
  if (!find_site_packages(site_packages)) {
    print_error(error, error_size, "The folder of the WIA bridge could not be found", NULL);
    return 1;
  }
  const int running = Py_IsInitialized();
  python_is_ours = !running;
  PyGILState_STATE state = PyGILState_UNLOCKED;
  if (running && !wia__enter_gate()) {
    wia_error_t refusal = {0};
    (void)wia__refuse_at_gate(&refusal);
    print_error(error, error_size, refusal.message, NULL);
    return 1;
  }
  if (running)
    state = PyGILState_Ensure();
  else if (!initialize(site_packages, error, error_size))
    return 1;
  if (!running) wia__watch_forks();
  PyObject *host = NULL;
  if (add_site_packages(site_packages)) host = PyImport_ImportModule("wia._host");
  const int failed = host == NULL;
  if (failed) take_exception(error, error_size);
  Py_XDECREF(host);
  if (running) {
    PyGILState_Release(state);
    wia__leave_gate();
  } else {
    PyEval_SaveThread(); /* other threads take it from here on */
  }
  return failed;
}
