/* call.h: what calls from Python that run no Python code know of wia's classes (call.c, result.c). */
#ifndef WIA__CALL_H
#define WIA__CALL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <structmember.h>

#include "bridge.h"

WIA_API wia_status_t wia__run_op(const char *function, wia_context_t *context, wia_op_t op,
                                 const wia_tensor_t *operands, wia_stream_t *stream);

WIA_API bool wia__run_brief(const char *function, wia_context_t *context, wia_op_t op,
                            const wia_tensor_t *operands, wia_status_t *out_status);
WIA_API bool wia__execute_brief(wia_plan_t *plan, const wia_tensor_t *operands,
                                uint32_t operand_count, const wia_scalar_t *scalars,
                                uint32_t scalar_count, wia_status_t *out_status);

/* Of cffi, see build_bridge.py. */
void *wia__to_pointer(PyObject *cdata, PyObject *ctype);
PyObject *wia__from_pointer(void *pointer, PyObject *ctype);

/* A class with the slot that holds a handle of cffi. */
typedef struct wia__kind_t {
  PyTypeObject *type;
  PyMemberDef *handle;
  PyObject *ctype;
} wia__kind_t;

typedef struct wia__known_t {
  wia__kind_t context, tensor, stream, plan;
  wia__kind_t scalars;                         /* of a plan: the values, and how many there are */
  PyMemberDef *scalar_count;                   /* None: its calls are the wrapped function's */
  PyMemberDef *code, *owner, *shape, *strides; /* of a tensor */
  PyObject *tapes, *raise;  /* a list; raises the library's last error of a status */
  PyObject *keep, *destroy; /* ffi.gc, and wia_destroy_tensor for it */
  PyObject *out_name, *stream_name;
} wia__known_t;

/* Filled when the classes are there, and kept as long as the process lives. Until then calls take the
 * long way. */
extern wia__known_t wia__python;

/* What is in a slot, borrowed, of an object that has it; or NULL. */
static inline PyObject **wia__slot(PyObject *object, const PyMemberDef *slot) {
  return (PyObject **)(void *)((char *)object + slot->offset);
}

/* Dtypes and shapes of the inputs of an operation: all that its output depends on, without attributes. */
enum { WIA__SIGNATURE_WORDS = 28 };
typedef struct wia__signature_t {
  uint32_t count;
  int64_t
      words[WIA__SIGNATURE_WORDS]; /* the operation; of each input the dtype, the rank, the shape */
} wia__signature_t;

/* What the output is for a signature. */
typedef struct wia__result_t {
  PyObject *shape, *code;
  int64_t dimensions[WIA_MAX_RANK];
  uint32_t rank;
  wia_dtype_t dtype;
} wia__result_t;

/* 0: no shape as a tuple of sizes, or no code of a dtype. The objects get no references. */
int wia__describe_result(PyObject *shape, PyObject *code, wia__result_t *out_result);
/* 0: too long for one. inputs: tensors. */
int wia__read_signature(wia_op_t op, PyObject *const *inputs, Py_ssize_t count,
                        wia__signature_t *out_signature);
/* 0: nothing is known of it. The objects get references. */
int wia__recall(const wia__signature_t *signature, wia__result_t *out_result);
/* That a call returned this tensor. */
void wia__remember(const wia__signature_t *signature, PyObject *tensor);
/* A tensor that owns the handle, or NULL with an exception set. The handle is gone then. */
PyObject *wia__make_result(PyObject *context, wia_tensor_t handle, const wia__result_t *result);

#endif
