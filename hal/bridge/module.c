/* module.c: what interpreter the extension module wia._bridge is imported in. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bridge.h"

PyObject *wia__wrap_operation(PyObject *module, PyObject *arguments);
PyObject *wia__wrap_plan(PyObject *module, PyObject *function);
PyObject *wia__allocate(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *wia__set_call_classes(PyObject *module, PyObject *arguments);
PyMODINIT_FUNC wia__init_bridge(void); /* of cffi; build_bridge.py gives it that name */

/* The functions that Python drivers are called through are one set in a process, and so are the objects
 * behind them: of the first interpreter that imports the module. */
static int refuse(void) {
  const char *text = NULL;
  if (PyInterpreterState_Get() != PyInterpreterState_Main())
    text =
        "wia works in the main interpreter alone, and this is a subinterpreter. Import it in the "
        "main one, or in a process of its own.";
  else if (wia__is_gate_closed())
    text =
        "the interpreter that wia was imported in has ended, and wia can't begin anew in another "
        "one. Keep one interpreter as long as the process runs, or start another process.";
  if (text) PyErr_SetString(PyExc_ImportError, text);
  return text != NULL;
}

static PyObject *check_interpreter(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  if (refuse()) return NULL;
  Py_RETURN_NONE;
}

/* Python calls the function below once in a process where it can, and copies the module for other
 * interpreters; so wia._native asks again. */
static PyMethodDef functions[] = {
    {"check_interpreter", check_interpreter, METH_NOARGS,
     "Raises ImportError unless the library can be used in this interpreter."},
    /* of call.c */
    {"wrap_operation", wia__wrap_operation, METH_VARARGS,
     "A method that runs an operation, in front of a function: (function, name, number, required "
     "inputs, inputs)."},
    {"allocate", __extension__(PyCFunction)(void *) wia__allocate, METH_FASTCALL,
     "allocate(context, shape, code): a new row-major tensor; None: the arguments are other ones."},
    {"wrap_plan", wia__wrap_plan, METH_O, "The same for calls of a plan."},
    {"set_call_classes", wia__set_call_classes, METH_VARARGS,
     "Tells what those look at: classes, their handles' types, tapes, what raises the last error, "
     "and ffi.gc with what it calls for a tensor."},
    {NULL, NULL, 0, NULL},
};

PyMODINIT_FUNC PyInit__bridge(void) {
  if (refuse()) return NULL;
  PyObject *module = wia__init_bridge();
  if (module && PyModule_AddFunctions(module, functions) != 0) Py_CLEAR(module);
  return module;
}
