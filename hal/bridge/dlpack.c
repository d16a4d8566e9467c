/* dlpack.c: capsules with arrays, in and out, see bridge.h. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>
#include <string.h>

#include "bridge.h"

/* A capsule is renamed by whoever takes its contents over. */
#define LEGACY "dltensor"
#define LEGACY_USED "used_dltensor"
#define VERSIONED "dltensor_versioned"
#define VERSIONED_USED "used_dltensor_versioned"

/* -- in ------------------------------------------------------------------------------------------ */

int wia__take_dlpack(uint64_t capsule, wia__dlpack_legacy_t **out_legacy,
                     wia__dlpack_versioned_t **out_versioned) {
  PyObject *object = (PyObject *)(uintptr_t)capsule;
  int failed = 1;
  *out_legacy = NULL;
  *out_versioned = NULL;
  const PyGILState_STATE state = PyGILState_Ensure();
  if (PyCapsule_IsValid(object, VERSIONED)) {
    *out_versioned = PyCapsule_GetPointer(object, VERSIONED);
    failed = PyCapsule_SetName(object, VERSIONED_USED) != 0;
  } else if (PyCapsule_IsValid(object, LEGACY)) {
    *out_legacy = PyCapsule_GetPointer(object, LEGACY);
    failed = PyCapsule_SetName(object, LEGACY_USED) != 0;
  }
  PyErr_Clear();
  PyGILState_Release(state);
  return failed;
}

void wia__release_legacy_dlpack(void *legacy) {
  wia__dlpack_legacy_t *managed = legacy;
  if (!managed->deleter || !wia__enter_gate()) return;
  managed->deleter(managed);
  wia__leave_gate();
}

void wia__release_versioned_dlpack(void *versioned) {
  wia__dlpack_versioned_t *managed = versioned;
  if (!managed->deleter || !wia__enter_gate()) return;
  managed->deleter(managed);
  wia__leave_gate();
}

/* -- out ----------------------------------------------------------------------------------------- */

/* One of the two forms, and the numbers behind its pointers. */
typedef struct given_t {
  union {
    wia__dlpack_legacy_t legacy;
    wia__dlpack_versioned_t versioned;
  } form;
  int64_t numbers[]; /* shape, then strides */
} given_t;

/* The memory may be given back meanwhile, by a driver that is waiting for the GIL: so it is let go. */
static void destroy(void *tensor) {
  PyThreadState *held = NULL;
  const int alive = wia__enter_gate();
  if (alive && PyGILState_Check()) held = PyEval_SaveThread();
  wia_destroy_tensor((wia_tensor_t)tensor);
  if (held) PyEval_RestoreThread(held);
  if (alive) wia__leave_gate();
}

static void delete_legacy(wia__dlpack_legacy_t *self) {
  destroy(self->context);
  free(self);
}

static void delete_versioned(wia__dlpack_versioned_t *self) {
  destroy(self->context);
  free(self);
}

/* Of a capsule that nobody took over. */
static void end_capsule(PyObject *capsule) {
  if (PyCapsule_IsValid(capsule, VERSIONED)) {
    wia__dlpack_versioned_t *managed = PyCapsule_GetPointer(capsule, VERSIONED);
    managed->deleter(managed);
  } else if (PyCapsule_IsValid(capsule, LEGACY)) {
    wia__dlpack_legacy_t *managed = PyCapsule_GetPointer(capsule, LEGACY);
    managed->deleter(managed);
  }
}

static given_t *make_given(int versioned, uint64_t flags, const wia__dlpack_array_t *array,
                           wia_tensor_t tensor) {
  const size_t rank = (size_t)array->rank;
  given_t *given = calloc(1, sizeof *given + 2 * rank * sizeof *given->numbers);
  if (!given) return NULL;
  wia__dlpack_array_t ours = *array;
  ours.shape = given->numbers;
  ours.strides = given->numbers + rank;
  if (rank) {
    memcpy(ours.shape, array->shape, rank * sizeof *ours.shape);
    memcpy(ours.strides, array->strides, rank * sizeof *ours.strides);
  }
  if (versioned)
    given->form.versioned = (wia__dlpack_versioned_t){.major = WIA__DLPACK_MAJOR,
                                                      .minor = WIA__DLPACK_MINOR,
                                                      .context = tensor,
                                                      .deleter = delete_versioned,
                                                      .flags = flags,
                                                      .array = ours};
  else
    given->form.legacy =
        (wia__dlpack_legacy_t){.array = ours, .context = tensor, .deleter = delete_legacy};
  return given;
}

int wia__give_dlpack(uint64_t list, int versioned, uint64_t flags, const wia__dlpack_array_t *array,
                     wia_tensor_t tensor) {
  given_t *given = make_given(versioned, flags, array, tensor);
  if (!given) return 1;
  const char *name = versioned ? VERSIONED : LEGACY;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *capsule = PyCapsule_New(given, name, NULL);
  const int failed = !capsule || PyList_Append((PyObject *)(uintptr_t)list, capsule) != 0;
  if (!failed) PyCapsule_SetDestructor(capsule, end_capsule); /* from here on the capsule owns it */
  Py_XDECREF(capsule);
  PyErr_Clear();
  PyGILState_Release(state);
  if (failed) free(given);
  return failed;
}
