/* result.c: the tensors that calls return which were given none: what they are for which inputs, and
 * objects for them. All of it under the GIL. */
#include "call.h"

enum { ENTRIES = 512 };

/* An entry gives way to another signature that has its place. */
static struct {
  wia__signature_t signature;
  wia__result_t result;
} known[ENTRIES];

/* -- what is known ------------------------------------------------------------------------------- */

/* 0: no tuple of at most that many sizes. */
static int read_shape(PyObject *shape, int64_t *out_dimensions, Py_ssize_t room) {
  if (!shape || !PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) > room) return 0;
  int bad = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); i++) {
    out_dimensions[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
    bad |= out_dimensions[i] < 0;
  }
  if (bad) PyErr_Clear();
  return !bad;
}

int wia__read_signature(wia_op_t op, PyObject *const *inputs, Py_ssize_t count,
                        wia__signature_t *out_signature) {
  int64_t *words = out_signature->words;
  uint32_t n = 0;
  words[n++] = op;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *shape = *wia__slot(inputs[i], wia__python.shape);
    if (n + 2 > WIA__SIGNATURE_WORDS ||
        !read_shape(shape, words + n + 2, WIA__SIGNATURE_WORDS - n - 2))
      return 0;
    words[n] = PyLong_AsLong(*wia__slot(inputs[i], wia__python.code));
    words[n + 1] = PyTuple_GET_SIZE(shape);
    n += 2 + (uint32_t)words[n + 1];
  }
  out_signature->count = n;
  return 1;
}

static uint32_t place_of(const wia__signature_t *signature) {
  uint64_t hash = 0;
  for (uint32_t i = 0; i < signature->count; i++)
    hash = (hash ^ (uint64_t)signature->words[i]) * UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(hash >> 32) % ENTRIES;
}

int wia__recall(const wia__signature_t *signature, wia__result_t *out_result) {
  const uint32_t place = place_of(signature);
  if (known[place].signature.count != signature->count ||
      memcmp(known[place].signature.words, signature->words,
             signature->count * sizeof *signature->words) != 0)
    return 0;
  *out_result = known[place].result;
  Py_INCREF(out_result->shape);
  Py_INCREF(out_result->code);
  return 1;
}

int wia__describe_result(PyObject *shape, PyObject *code, wia__result_t *out_result) {
  if (!PyLong_CheckExact(code) || !read_shape(shape, out_result->dimensions, WIA_MAX_RANK))
    return 0;
  out_result->shape = shape;
  out_result->code = code;
  out_result->rank = (uint32_t)PyTuple_GET_SIZE(shape);
  out_result->dtype = (wia_dtype_t)PyLong_AsLong(code);
  return 1;
}

void wia__remember(const wia__signature_t *signature, PyObject *tensor) {
  wia__result_t result;
  if (!PyObject_TypeCheck(tensor, wia__python.tensor.type) ||
      *wia__slot(tensor, wia__python.strides) != Py_None ||
      !wia__describe_result(*wia__slot(tensor, wia__python.shape),
                            *wia__slot(tensor, wia__python.code), &result))
    return;
  Py_INCREF(result.shape);
  Py_INCREF(result.code);
  const uint32_t place = place_of(signature);
  const wia__result_t old = known[place].result;
  known[place].signature = *signature;
  known[place].result = result;
  Py_XDECREF(old.shape);
  Py_XDECREF(old.code);
}

/* -- the object ---------------------------------------------------------------------------------- */

/* As Tensor.__init__ does it. */
static PyObject *own(wia_tensor_t handle) {
  PyObject *plain = wia__from_pointer(handle, wia__python.tensor.ctype);
  PyObject *const arguments[] = {plain, wia__python.destroy};
  PyObject *owning = plain ? PyObject_Vectorcall(wia__python.keep, arguments, 2, NULL) : NULL;
  Py_XDECREF(plain);
  return owning;
}

static void put(PyObject *object, const PyMemberDef *slot, PyObject *value) {
  Py_INCREF(value);
  *wia__slot(object, slot) = value;
}

PyObject *wia__make_result(PyObject *context, wia_tensor_t handle, const wia__result_t *result) {
  PyTypeObject *type = wia__python.tensor.type;
  PyObject *owning = own(handle);
  if (!owning) {
    wia_destroy_tensor(handle);
    return NULL;
  }
  PyObject *tensor = type->tp_alloc(type, 0);
  if (tensor) {
    put(tensor, wia__python.tensor.handle, owning);
    put(tensor, wia__python.owner, context);
    put(tensor, wia__python.code, result->code);
    put(tensor, wia__python.shape, result->shape);
    put(tensor, wia__python.strides, Py_None);
  }
  Py_DECREF(owning);
  return tensor;
}
