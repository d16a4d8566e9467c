/* buffer.c: the buffer protocol for classes written in Python, see bridge.h. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bridge.h"

static int get_buffer(PyObject *self, Py_buffer *view, int flags) {
  view->obj = NULL;
  PyObject *memory = PyObject_CallMethod(self, "__buffer__", "i", flags);
  if (!memory) return -1;
  int failed = -1;
  if (PyMemoryView_Check(memory))
    failed = PyObject_GetBuffer(memory, view, flags); /* which keeps the memoryview alive */
  else
    PyErr_Format(PyExc_TypeError, "%s.__buffer__ returned %s; expected a memoryview.",
                 Py_TYPE(self)->tp_name, Py_TYPE(memory)->tp_name);
  Py_DECREF(memory);
  return failed;
}

int wia__make_buffer_class(uint64_t list) {
  PyType_Slot slots[] = {
      {Py_tp_doc, "A base of classes with __buffer__, which Python knows from 3.12 on."},
      {Py_bf_getbuffer, __extension__(void *) get_buffer}, /* which ISO C forbids */
      {0, NULL},
  };
  PyType_Spec spec = {.name = "wia._native.Buffer",
                      .basicsize = sizeof(PyObject),
                      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                      .slots = slots};
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *made = PyType_FromSpec(&spec);
  const int failed = !made || PyList_Append((PyObject *)(uintptr_t)list, made) != 0;
  Py_XDECREF(made);
  PyErr_Clear();
  PyGILState_Release(state);
  return failed;
}
