/* call.c: calls of operations and plans that go from Python straight to libwia. A method that is
 * wrapped here runs without any Python code when it is given what most calls give it; every other
 * call, and what is wrong in any, is the wrapped function's. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "call.h"

wia__known_t wia__python;

typedef struct call_t {
  PyObject_HEAD vectorcallfunc run;
  PyObject *function, *attributes;
  char *name; /* "wia_add"; traces keep it, so it stays */
  wia_op_t op;
  Py_ssize_t required, inputs;
} call_t;

/* -- operands ------------------------------------------------------------------------------------ */

/* 0: the object is none of that kind. */
static int take(const wia__kind_t *kind, PyObject *object, void **out_handle) {
  if (!PyObject_TypeCheck(object, kind->type)) return 0;
  PyObject *handle = *wia__slot(object, kind->handle);
  *out_handle = handle ? wia__to_pointer(handle, kind->ctype) : NULL;
  if (*out_handle) return 1;
  const int is_null = handle && !PyErr_Occurred();
  PyErr_Clear();
  return is_null;
}

static int take_stream(PyObject *object, void **out_stream) {
  *out_stream = NULL;
  return object == NULL || object == Py_None || take(&wia__python.stream, object, out_stream);
}

static int take_tensors(PyObject *const *objects, Py_ssize_t count, wia_tensor_t *out_tensors) {
  for (Py_ssize_t i = 0; i < count; i++) {
    void *handle;
    if (!take(&wia__python.tensor, objects[i], &handle)) return 0;
    out_tensors[i] = handle;
  }
  return 1;
}

/* The values of "out" and "stream"; 0 when there are other names. */
static int take_names(PyObject *names, PyObject *const *values, PyObject **out, PyObject **stream) {
  const Py_ssize_t count = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *name = PyTuple_GET_ITEM(names, i);
    if (name == wia__python.out_name && out)
      *out = values[i];
    else if (name == wia__python.stream_name)
      *stream = values[i];
    else
      return 0;
  }
  return 1;
}

static PyObject *finish(wia_status_t status, PyObject *result) {
  if (status) return PyObject_CallFunction(wia__python.raise, "i", (int)status);
  Py_INCREF(result);
  return result;
}

/* -- calls --------------------------------------------------------------------------------------- */

/* The wrapped function; what it returns is remembered for other calls with such inputs. */
static PyObject *learn(const call_t *call, PyObject *const *arguments, size_t flags,
                       PyObject *names, const wia__signature_t *signature) {
  PyObject *result = PyObject_Vectorcall(call->function, arguments, flags, names);
  if (result) wia__remember(signature, result);
  return result;
}

/* A call without an output, of which wia__recall says what it is to be. Takes over its references. */
static PyObject *run_new(const call_t *call, PyObject *owner, wia_context_t *context,
                         wia_tensor_t *operands, wia_stream_t *stream,
                         const wia__result_t *result) {
  wia_tensor_t made = NULL;
  wia_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = wia_allocate_tensor(context, result->dimensions, result->rank, result->dtype, &made);
  operands[call->inputs] = made;
  if (!status) status = wia__run_op(call->name, context, call->op, operands, stream);
  Py_END_ALLOW_THREADS;
  PyObject *tensor = status ? finish(status, NULL) : wia__make_result(owner, made, result);
  if (status && made) {
    Py_BEGIN_ALLOW_THREADS;
    wia_destroy_tensor(made);
    Py_END_ALLOW_THREADS;
  }
  Py_DECREF(result->shape);
  Py_DECREF(result->code);
  return tensor;
}

PyObject *wia__allocate(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
  (void)module;
  wia__result_t result;
  void *context;
  if (count != 3 || !wia__python.tapes || !take(&wia__python.context, arguments[0], &context) ||
      !wia__describe_result(arguments[1], arguments[2], &result))
    Py_RETURN_NONE;
  wia_tensor_t made;
  wia_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = wia_allocate_tensor(context, result.dimensions, result.rank, result.dtype, &made);
  Py_END_ALLOW_THREADS;
  return status ? finish(status, NULL) : wia__make_result(arguments[0], made, &result);
}

/* Inputs by position, the output and perhaps a stream by name, no attributes, no tape. */
static PyObject *run_operation(PyObject *self, PyObject *const *arguments, size_t flags,
                               PyObject *names) {
  const call_t *call = (const call_t *)self;
  const Py_ssize_t count = PyVectorcall_NARGS(flags), given = count - 1;
  PyObject *out = NULL, *queue = NULL;
  void *context, *stream;
  wia_tensor_t operands[WIA_MAX_OPERANDS] = {NULL};
  wia__signature_t signature;
  wia__result_t result;
  if (!wia__python.tapes || given < call->required || given > call->inputs ||
      PyList_GET_SIZE(wia__python.tapes) != 0 ||
      !take_names(names, arguments + count, &out, &queue) ||
      !take(&wia__python.context, arguments[0], &context) || !take_stream(queue, &stream) ||
      !take_tensors(arguments + 1, given, operands))
    return PyObject_Vectorcall(call->function, arguments, flags, names);
  if (!out) {
    if (!wia__read_signature(call->op, arguments + 1, given, &signature))
      return PyObject_Vectorcall(call->function, arguments, flags, names);
    if (!wia__recall(&signature, &result)) return learn(call, arguments, flags, names, &signature);
    return run_new(call, arguments[0], context, operands, stream, &result);
  }
  if (!take_tensors(&out, 1, operands + call->inputs))
    return PyObject_Vectorcall(call->function, arguments, flags, names);
  wia_status_t status;
  if (stream || !wia__run_brief(call->name, context, call->op, operands, &status)) {
    Py_BEGIN_ALLOW_THREADS;
    status = wia__run_op(call->name, context, call->op, operands, stream);
    Py_END_ALLOW_THREADS;
  }
  return finish(status, out);
}

/* All operands by position, perhaps a stream by name. */
static PyObject *run_plan(PyObject *self, PyObject *const *arguments, size_t flags,
                          PyObject *names) {
  const call_t *call = (const call_t *)self;
  const Py_ssize_t count = PyVectorcall_NARGS(flags), given = count - 1;
  PyObject *queue = NULL;
  void *plan, *scalars, *stream;
  wia_tensor_t operands[WIA_MAX_OPERANDS];
  if (wia__python.tapes && given >= 0 && given <= WIA_MAX_OPERANDS &&
      take_names(names, arguments + count, NULL, &queue) &&
      take(&wia__python.plan, arguments[0], &plan) && take_stream(queue, &stream) &&
      take_tensors(arguments + 1, given, operands)) {
    PyObject *number = *wia__slot(arguments[0], wia__python.scalar_count);
    const long scalar_count = number && PyLong_Check(number) ? PyLong_AsLong(number) : -1;
    PyErr_Clear();
    if (scalar_count >= 0 && take(&wia__python.scalars, arguments[0], &scalars)) {
      wia_status_t status;
      if (stream || !wia__execute_brief(plan, operands, (uint32_t)given, scalars,
                                        (uint32_t)scalar_count, &status)) {
        Py_BEGIN_ALLOW_THREADS;
        status = wia_execute_plan(plan, operands, (uint32_t)given, scalars, (uint32_t)scalar_count,
                                  stream);
        Py_END_ALLOW_THREADS;
      }
      return finish(status, Py_None);
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
  if (member && member->type != T_OBJECT_EX) member = NULL;
  if (found && !member) PyErr_Format(PyExc_TypeError, "%R has no slot %s.", type, name);
  Py_XDECREF(found); /* the class has it */
  return member;
}

static int fill_kind(wia__kind_t *kind, PyObject *type, const char *name, PyObject *ctype) {
  *kind = (wia__kind_t){(PyTypeObject *)type, find_slot(type, name), ctype};
  return kind->handle != NULL;
}

PyObject *wia__set_call_classes(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *types[4], *ctypes[5];
  wia__known_t known = {.tapes = NULL};
  if (!PyArg_ParseTuple(arguments, "(O!O!O!O!)(OOOOO)O!O(OO)", &PyType_Type, &types[0],
                        &PyType_Type, &types[1], &PyType_Type, &types[2], &PyType_Type, &types[3],
                        &ctypes[0], &ctypes[1], &ctypes[2], &ctypes[3], &ctypes[4], &PyList_Type,
                        &known.tapes, &known.raise, &known.keep, &known.destroy))
    return NULL;
  known.out_name = PyUnicode_InternFromString("out");
  known.stream_name = PyUnicode_InternFromString("stream");
  known.scalar_count = find_slot(types[3], "_scalar_count");
  if (!known.out_name || !known.stream_name || !known.scalar_count ||
      !(known.code = find_slot(types[1], "_code")) ||
      !(known.owner = find_slot(types[1], "_context")) ||
      !(known.shape = find_slot(types[1], "_shape")) ||
      !(known.strides = find_slot(types[1], "_strides")) ||
      !fill_kind(&known.context, types[0], "_handle", ctypes[0]) ||
      !fill_kind(&known.tensor, types[1], "_handle", ctypes[1]) ||
      !fill_kind(&known.stream, types[2], "_handle", ctypes[2]) ||
      !fill_kind(&known.plan, types[3], "_handle", ctypes[3]) ||
      !fill_kind(&known.scalars, types[3], "_values", ctypes[4]))
    return NULL;
  Py_INCREF(arguments); /* and so all that is in it */
  wia__python = known;
  Py_RETURN_NONE;
}
