/* caller.c: the line of a Python program that a call of the library came from. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdio.h>
#include <string.h>

#include "bridge.h"

WIA_API void wia__set_find_caller(int32_t (*function)(char *out_text, uint64_t size));

/* Whether a frame runs code of the package wia. */
static int is_own(PyFrameObject *frame) {
  PyObject *globals = PyFrame_GetGlobals(frame);
  PyObject *name = globals ? PyDict_GetItemString(globals, "__name__") : NULL; /* borrowed */
  const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
  const int own = text && strncmp(text, "wia", 3) == 0 && (text[3] == '.' || text[3] == '\0');
  Py_XDECREF(globals);
  return own;
}

static int print_frame(PyFrameObject *frame, char *text, uint64_t size) {
  PyCodeObject *code = PyFrame_GetCode(frame);
  PyObject *file = PyObject_GetAttrString((PyObject *)code, "co_filename");
  PyObject *name = PyObject_GetAttrString((PyObject *)code, "co_name");
  const char *file_text = file ? PyUnicode_AsUTF8(file) : NULL;
  const char *name_text = name ? PyUnicode_AsUTF8(name) : NULL;
  if (file_text && name_text)
    snprintf(text, size, "%s:%d%s%s", file_text, PyFrame_GetLineNumber(frame),
             name_text[0] == '<' ? "" : " in ", name_text[0] == '<' ? "" : name_text);
  Py_XDECREF(name);
  Py_XDECREF(file);
  Py_DECREF(code);
  return file_text && name_text;
}

static int find_frame(char *text, uint64_t size) {
  PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame && is_own(frame)) {
    PyFrameObject *outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  const int found = frame && print_frame(frame, text, size);
  Py_XDECREF(frame);
  return found;
}

/* Called with or without the GIL. */
static int32_t find_caller(char *text, uint64_t size) {
  if (!Py_IsInitialized() || !PyGILState_GetThisThreadState() || !wia__enter_gate()) return 0;
  PyObject *type, *value, *traceback;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyErr_Fetch(&type, &value, &traceback);
  const int found = find_frame(text, size);
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
  PyGILState_Release(state);
  wia__leave_gate();
  return found;
}

__attribute__((constructor)) static void offer(void) { wia__set_find_caller(find_caller); }
