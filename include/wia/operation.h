/* operation.h: any operation of the catalog by its number, on tensors or on raw views.
 *
 * ops.h, made from the catalog, has the numbers (WIA_OP_*), the config structs and one function per
 * operation. What stands here is under all of them. */
#ifndef WIA_OPERATION_H
#define WIA_OPERATION_H

#include "base.h"
#include "layout.h"

WIA_BEGIN_DECLS

enum {
  WIA_ATTRIBUTE_NONE = 0,
  WIA_ATTRIBUTE_INT64 = 1,   /* data: int64_t[count] */
  WIA_ATTRIBUTE_FLOAT64 = 2, /* data: double[count] */
  WIA_ATTRIBUTE_STRING = 3,  /* data: char[count], not terminated */
  WIA_ATTRIBUTE_DTYPE = 4    /* data: int32_t, a wia_dtype_t */
};

/* One attribute by name. What is left out has its default. In a group (plan.h) an attribute whose
 * data is NULL takes its value from the launch: scalar is the index there. Frozen. */
typedef struct wia_attribute_t {
  const char *name;
  const void *data;
  int32_t type; /* WIA_ATTRIBUTE_* */
  uint32_t count;
  int32_t scalar;
  uint32_t reserved;
} wia_attribute_t;

/* A value that may change from call to call without another prepare. Frozen. */
typedef union wia_scalar_t {
  double f64;
  int64_t i64;
} wia_scalar_t;

/* Memory seen as a tensor without a handle. strides NULL: row-major. All zero: an optional operand
 * that is left out. Frozen. */
typedef struct wia_view_t {
  uint64_t address; /* of element 0 */
  const int64_t *shape;
  const int64_t *strides;
  wia_dtype_t dtype;
  uint32_t rank;
} wia_view_t;

/* Runs an operation. An optional input or output that is left out is NULL. Attributes that are scalars of the
 * launch (alpha, epsilon) are given by name like all others.
 * Outputs must have the shape and dtype that wia_infer_outputs() gives and must not overlap an
 * input, unless one is exactly that input and the driver's kernel works in place; nor another output.
 * Optional outputs are the last ones: counts from min_output_count of wia_op_info_t are good.
 * Errors: INVALID_HANDLE; INVALID_ARGUMENT for counts, shapes, dtypes, attributes, overlap, or an
 * operand of another device; UNIMPLEMENTED naming operation, dtype and driver, also for an output
 * that is an input where the kernel doesn't work in place; the kernel's. */
WIA_API wia_status_t wia_execute(wia_context_t *context, wia_op_t op, const wia_tensor_t *inputs,
                                 uint32_t input_count, const wia_tensor_t *outputs,
                                 uint32_t output_count, const wia_attribute_t *attributes,
                                 uint32_t attribute_count, wia_stream_t *stream);

/* The same on raw views. Each view has to lie inside one live allocation of the device. */
WIA_API wia_status_t wia_execute_views(wia_context_t *context, wia_op_t op,
                                       const wia_view_t *inputs, uint32_t input_count,
                                       const wia_view_t *outputs, uint32_t output_count,
                                       const wia_attribute_t *attributes, uint32_t attribute_count,
                                       wia_stream_t *stream);

/* The shape and dtype rule of an operation: writes what its outputs must be. inputs[i] all zero:
 * left out. Optional outputs may be left out of the count; one that the call can't have (split of fewer
 * sizes) is written as all zero. Needs no device. Errors: as wia_execute(). */
WIA_API wia_status_t wia_infer_outputs(wia_op_t op, const wia_shape_t *inputs, uint32_t input_count,
                                       const wia_attribute_t *attributes, uint32_t attribute_count,
                                       wia_shape_t *out_shapes, uint32_t output_count);

/* What is known of an operation of the catalog, or of one that was registered (custom.h): those have
 * the numbers from WIA_OP_CUSTOM_FIRST on, without gaps. The strings live as long as the library. */
typedef struct wia_op_info_t {
  uint32_t struct_size;
  wia_op_t op;
  const char *name;   /* "matmul" */
  const char *family; /* of its shape and dtype rule, "matmul" */
  uint32_t min_input_count, max_input_count;
  uint32_t output_count;
  uint32_t dtype_input; /* the input that dtypes is about: 0, but for a condition in front of it;
                           UINT32_MAX: no input, but the first output */
  uint64_t dtypes;      /* bit WIA_FLOAT32: allowed */
  uint32_t min_output_count; /* the outputs after them may be left out */
  uint32_t reserved;
  const char *documentation; /* of a registered operation; NULL for one of the catalog */
} wia_op_info_t;
#define WIA_OP_INFO_INIT WIA_INIT(wia_op_info_t)

/* Errors: INVALID_ARGUMENT for a number that is no operation. */
WIA_API wia_status_t wia_get_op_info(wia_op_t op, wia_op_info_t *out_info);

/* Finds an operation by its exact name. Errors: NOT_FOUND, with a near name if there is one. */
WIA_API wia_status_t wia_find_op(const char *name, wia_op_t *out_op);

/* A matrix product on plain row-major arrays: c = alpha * a b + beta * c, batch times. a is [m, k],
 * b is [k, n], c is [m, n]; transpose_a: a is stored as [k, m], transpose_b: b as [n, k].
 * dtype is that of a and b, and of c but for int8 and uint8, which give int32. */
typedef struct wia_matmul_dims_t {
  uint32_t struct_size;
  wia_dtype_t dtype;
  int64_t m, n, k;
  int64_t lda, ldb, ldc;                /* elements from row to row; 0: no gap */
  int64_t batch;                        /* 0: 1 */
  int64_t stride_a, stride_b, stride_c; /* elements from matrix to matrix; 0 for a or b: the same
                                           matrix each time; 0 for c: no gap */
  uint32_t transpose_a, transpose_b;
  double alpha, beta;
} wia_matmul_dims_t;
#define WIA_MATMUL_DIMS_INIT WIA_INIT_1(wia_matmul_dims_t, alpha, 1.0)

/* Matrix product on device addresses. Errors: as wia_execute_views(). */
WIA_API wia_status_t wia_matmul_strided(wia_context_t *context, const void *a, const void *b,
                                        void *c, const wia_matmul_dims_t *dims,
                                        wia_stream_t *stream);

WIA_END_DECLS
#endif
