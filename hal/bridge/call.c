/* call.c: calls of operations and plans that go from Python straight to libwia. A method that is
 * wrapped here runs without any Python code when it is given what most calls give it; every other
 * call, and what is wrong in any, is the wrapped function's. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "bridge.h"

WIA_API wia_status_t wia__run_op(const char *function, wia_context_t *context, wia_op_t op,
                                 const wia_tensor_t *operands, wia_stream_t *stream);

void *wia__to_pointer(PyObject *cdata, PyObject *ctype); /* see build_bridge.py */

/* A class with the slot that holds a handle of cffi. */
typedef struct kind_t {
  PyTypeObject *type;
  PyMemberDef *handle;
  PyObject *ctype;
} kind_t;

typedef struct known_t {
  kind_t context, tensor, stream, plan;
  kind_t scalars;            /* of a plan: the values, and how many there are */
  PyMemberDef *scalar_count; /* None: its calls are the wrapped function's */
  PyObject *tapes, *raise;   /* a list; raises the library's last error of a status */
  PyObject *out_name, *stream_name;
} known_t;

/* Filled when the classes are there, and kept as long as the process lives. Until then calls take the
 * long way. */
static known_t python;

typedef struct call_t {
  PyObject_HEAD vectorcallfunc run;
  PyObject *function, *attributes;
  char *name; /* "wia_add"; traces keep it, so it stays */
  wia_op_t op;
  Py_ssize_t required, inputs;
} call_t;

/* -- operands ------------------------------------------------------------------------------------ */

/* 0: the object is none of that kind. */
static int take(const kind_t *kind, PyObject *object, void **out_handle) {
  if (!PyObject_TypeCheck(object, kind->type)) return 0;
  PyObject *handle = PyMember_GetOne((const char *)object, kind->handle);
  *out_handle = handle ? wia__to_pointer(handle, kind->ctype) : NULL;
  Py_XDECREF(handle); /* the object has it, and the caller has the object */
  if (*out_handle) return 1;
  const int is_null = handle && !PyErr_Occurred();
  PyErr_Clear();
  return is_null;
}

static int take_stream(PyObject *object, void **out_stream) {
  *out_stream = NULL;
  return object == NULL || object == Py_None || take(&python.stream, object, out_stream);
}

static int take_tensors(PyObject *const *objects, Py_ssize_t count, wia_tensor_t *out_tensors) {
  for (Py_ssize_t i = 0; i < count; i++) {
    void *handle;
    if (!take(&python.tensor, objects[i], &handle)) return 0;
    out_tensors[i] = handle;
  }
  return 1;
}

/* The values of "out" and "stream"; 0 when there are other names. */
static int take_names(PyObject *names, PyObject *const *values, PyObject **out, PyObject **stream) {
  const Py_ssize_t count = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *name = PyTuple_GET_ITEM(names, i);
    if (name == python.out_name && out)
      *out = values[i];
    else if (name == python.stream_name)
      *stream = values[i];
    else
      return 0;
  }
  return 1;
}

static PyObject *finish(wia_status_t status, PyObject *result) {
  if (status) return PyObject_CallFunction(python.raise, "i", (int)status);
  Py_INCREF(result);
  return result;
}

/* -- calls --------------------------------------------------------------------------------------- */

/* Inputs by position, the output and perhaps a stream by name, no attributes, no tape. */
static PyObject *run_operation(PyObject *self, PyObject *const *arguments, size_t flags,
                               PyObject *names) {
  const call_t *call = (const call_t *)self;
  const Py_ssize_t count = PyVectorcall_NARGS(flags), given = count - 1;
  PyObject *out = NULL, *queue = NULL;
  void *context, *stream;
  wia_tensor_t operands[WIA_MAX_OPERANDS] = {NULL};
  if (python.tapes && given >= call->required && given <= call->inputs &&
      PyList_GET_SIZE(python.tapes) == 0 && take_names(names, arguments + count, &out, &queue) &&
      out && take(&python.context, arguments[0], &context) && take_stream(queue, &stream) &&
      take_tensors(arguments + 1, given, operands) &&
      take_tensors(&out, 1, operands + call->inputs)) {
    wia_status_t status;
    Py_BEGIN_ALLOW_THREADS status = wia__run_op(call->name, context, call->op, operands, stream);
    Py_END_ALLOW_THREADS return finish(status, out);
  }
  return PyObject_Vectorcall(call->function, arguments, flags, names);
}

/* All operands by position, perhaps a stream by name. */
static PyObject *run_plan(PyObject *self, PyObject *const *arguments, size_t flags,
                          PyObject *names) {
  const call_t *call = (const call_t *)self;
  const Py_ssize_t count = PyVectorcall_NARGS(flags), given = count - 1;
  PyObject *queue = NULL;
  void *plan, *scalars, *stream;
  wia_tensor_t operands[WIA_MAX_OPERANDS];
  if (python.tapes && given >= 0 && given <= WIA_MAX_OPERANDS &&
      take_names(names, arguments + count, NULL, &queue) &&
      take(&python.plan, arguments[0], &plan) && take_stream(queue, &stream) &&
      take_tensors(arguments + 1, given, operands)) {
    PyObject *number = PyMember_GetOne((const char *)arguments[0], python.scalar_count);
    const long scalar_count = number && PyLong_Check(number) ? PyLong_AsLong(number) : -1;
    Py_XDECREF(number);
    PyErr_Clear();
    if (scalar_count >= 0 && take(&python.scalars, arguments[0], &scalars)) {
      wia_status_t status;
      Py_BEGIN_ALLOW_THREADS status = wia_execute_plan(plan, operands, (uint32_t)given, scalars,
                                                       (uint32_t)scalar_count, stream);
      Py_END_ALLOW_THREADS return finish(status, Py_None);
    }
  }
  return PyObject_Vectorcall(call->function, arguments, flags, names);
}

/* -- the class ----------------------------------------------------------------------------------- */

static PyObject *bind(PyObject *self, PyObject *object, PyObject *type) {
  (void)type;
  if (object) return PyMethod_New(self, object);
  Py_INCREF(self);
  return self;
}

static int traverse(PyObject *self, visitproc visit, void *arg) {
  const call_t *call = (const call_t *)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(call->function);
  Py_VISIT(call->attributes);
  return 0;
}

static int clear(PyObject *self) {
  call_t *call = (call_t *)self;
  Py_CLEAR(call->function);
  Py_CLEAR(call->attributes);
  return 0;
}

static void destroy(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(call_t, run), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(call_t, attributes), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject *make_class(void) {
  PyType_Slot slots[] = {
      {Py_tp_doc, "A method that calls the library without the interpreter where it can."},
      {Py_tp_members, members},
      {Py_tp_getset, properties},
      {Py_tp_call, __extension__(void *) PyVectorcall_Call},
      {Py_tp_descr_get, __extension__(void *) bind},
      {Py_tp_traverse, __extension__(void *) traverse},
      {Py_tp_clear, __extension__(void *) clear},
      {Py_tp_dealloc, __extension__(void *) destroy},
      {0, NULL},
  };
  PyType_Spec spec = {.name = "wia._bridge.Call",
                      .basicsize = sizeof(call_t),
                      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                               Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                      .slots = slots};
  return (PyTypeObject *)PyType_FromSpec(&spec);
}

static PyObject *make_call(PyObject *function, vectorcallfunc run, const call_t *values) {
  static PyTypeObject *type;
  if (!type) type = make_class();
  call_t *call = type ? (call_t *)type->tp_alloc(type, 0) : NULL;
  if (!call) return NULL;
  call->run = run;
  Py_INCREF(function);
  call->function = function;
  call->name = values->name;
  call->op = values->op;
  call->required = values->required;
  call->inputs = values->inputs;
  return (PyObject *)call;
}

PyObject *wia__wrap_operation(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *function;
  const char *name;
  int op;
  call_t values = {.name = NULL};
  if (!PyArg_ParseTuple(arguments, "Osinn", &function, &name, &op, &values.required,
                        &values.inputs))
    return NULL;
  if (values.required < 0 || values.inputs < values.required || values.inputs >= WIA_MAX_OPERANDS) {
    PyErr_Format(PyExc_ValueError, "%s has %zd to %zd inputs; expected fewer than %d.", name,
                 values.required, values.inputs, WIA_MAX_OPERANDS);
    return NULL;
  }
  values.name = strdup(name);
  if (!values.name) return PyErr_NoMemory();
  values.op = (wia_op_t)op;
  PyObject *call = make_call(function, run_operation, &values);
  if (!call) free(values.name);
  return call;
}

PyObject *wia__wrap_plan(PyObject *module, PyObject *function) {
  (void)module;
  const call_t values = {.name = NULL};
  return make_call(function, run_plan, &values);
}

/* -- what it has to know ------------------------------------------------------------------------- */

/* The slot of that name of a class; NULL with an exception set. */
static PyMemberDef *find_slot(PyObject *type, const char *name) {
  PyObject *found = PyObject_GetAttrString(type, name);
  PyMemberDef *member = NULL;
  if (found && Py_IS_TYPE(found, &PyMemberDescr_Type))
    member = ((PyMemberDescrObject *)found)->d_member;
  else if (found)
    PyErr_Format(PyExc_TypeError, "%R has no slot %s.", type, name);
  Py_XDECREF(found); /* the class has it */
  return member;
}

static int fill_kind(kind_t *kind, PyObject *type, const char *name, PyObject *ctype) {
  *kind = (kind_t){(PyTypeObject *)type, find_slot(type, name), ctype};
  return kind->handle != NULL;
}

PyObject *wia__set_call_classes(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *types[4], *ctypes[5];
  known_t known = {.tapes = NULL};
  if (!PyArg_ParseTuple(arguments, "(O!O!O!O!)(OOOOO)O!O", &PyType_Type, &types[0], &PyType_Type,
                        &types[1], &PyType_Type, &types[2], &PyType_Type, &types[3], &ctypes[0],
                        &ctypes[1], &ctypes[2], &ctypes[3], &ctypes[4], &PyList_Type, &known.tapes,
                        &known.raise))
    return NULL;
  known.out_name = PyUnicode_InternFromString("out");
  known.stream_name = PyUnicode_InternFromString("stream");
  known.scalar_count = find_slot(types[3], "_scalar_count");
  if (!known.out_name || !known.stream_name || !known.scalar_count ||
      !fill_kind(&known.context, types[0], "_handle", ctypes[0]) ||
      !fill_kind(&known.tensor, types[1], "_handle", ctypes[1]) ||
      !fill_kind(&known.stream, types[2], "_handle", ctypes[2]) ||
      !fill_kind(&known.plan, types[3], "_handle", ctypes[3]) ||
      !fill_kind(&known.scalars, types[3], "_values", ctypes[4]))
    return NULL;
  Py_INCREF(arguments); /* and so all that is in it */
  python = known;
  Py_RETURN_NONE;
}
