/* custom.h: operations of a program's own, beside those of the catalog.
 *
 * An operation that is registered has a number like all others and goes the same ways: wia_execute(),
 * plans, groups, streams. It needs kernels: a driver that knows its name has them, or
 * wia_register_kernel() of wia_driver.h gives them to a driver, a device, or all.
 *
 * What is registered stays to the end of the process, in processes that are forked off too. */
#ifndef WIA_CUSTOM_H
#define WIA_CUSTOM_H

#include "base.h"
#include "layout.h"
#include "operation.h"
#include "status.h"

WIA_BEGIN_DECLS

enum {
  WIA_OP_CUSTOM_FIRST = 0x10000, /* the number of the first registered operation; the others follow,
                                    in the order of their registration in this process */
  WIA_OP_CUSTOM_COUNT = 4096     /* how many there can be */
};

enum { WIA_OPERAND_OPTIONAL = 1 /* may be left out; only such ones come behind it */ };

/* An input or output of an operation. Frozen. */
typedef struct wia_operand_definition_t {
  const char *name;
  uint64_t
      dtypes; /* of an input with dtypes of its own, one bit each: bit WIA_INT64 for int64; 0: it
                 has that of the operation. Of an output: 0 */
  uint32_t flags; /* WIA_OPERAND_* */
  uint32_t reserved;
} wia_operand_definition_t;

enum { WIA_ATTRIBUTE_LIST = 1 /* a list of any length up to count; without defaults: not given */ };

/* An attribute of an operation, by which kernels are prepared; or a scalar, which may differ from
 * launch to launch: FLOAT64, count 1, no flags, any value. Frozen. */
typedef struct wia_attribute_definition_t {
  const char *name;
  const void *defaults; /* as data of wia_attribute_t; NULL: zeros */
  int32_t type;         /* WIA_ATTRIBUTE_INT64, _FLOAT64 or _DTYPE */
  uint32_t count;       /* elements; 0: 1. All words of an operation: at most 64, with one more for
                           each list */
  uint32_t default_count;        /* of a list: elements in defaults */
  uint32_t flags;                /* WIA_ATTRIBUTE_LIST */
  wia_scalar_t minimum, maximum; /* of each element, the bounds included; both 0: any */
} wia_attribute_definition_t;

/* What a shape function gets. Valid during the call. */
typedef struct wia_infer_args_t {
  uint32_t struct_size;
  uint32_t input_count; /* all of the definition: one that is left out is all zero */
  const wia_shape_t
      *inputs; /* dtypes are those that the definition allows, shapes are well formed */
  const wia_shape_t
      *outputs; /* what the caller has, all zero for one left out; NULL: it asks what they
                   must be */
  const wia_attribute_t
      *attributes; /* all of the definition in its order, with their values; a list
                      that is not given has count 0 and data NULL. No scalars */
  uint32_t output_count, attribute_count;
} wia_infer_args_t;

/* A shape and dtype rule: writes what each output must be. Has to give the same for the same
 * arguments: it is asked once for each signature. Any thread, several at once, without a lock; may
 * call wia.h. On failure fills out_error, whose text follows the operation's name.
 * What it gives is checked: a rank, size or dtype that can't be is INTERNAL, naming it. */
typedef wia_status_t (*wia_infer_fn_t)(void *context, const wia_infer_args_t *args,
                                       wia_shape_t *out_shapes, wia_error_t *out_error);

/* Writes flops and bytes of one call; below 0: not known. shapes: of all inputs, then all outputs. */
typedef void (*wia_op_cost_fn_t)(void *context, const wia_shape_t *shapes, uint32_t count,
                                 double *out_flops, double *out_bytes);

/* What a gradient function gets. Valid during the call. Values have numbers: input i is i, output i is
 * input_count + i, the gradient of output i is input_count + output_count + i, and nodes add others. */
typedef struct wia_gradient_args_t {
  uint32_t struct_size;
  uint32_t input_count; /* all of the definition: one that is left out is all zero */
  const wia_shape_t *inputs;
  const wia_shape_t *outputs;
  const wia_attribute_t *attributes; /* as in wia_infer_args_t */
  const wia_scalar_t *scalars;       /* in the order of the definition */
  uint32_t output_count, attribute_count, scalar_count;
  uint32_t wanted; /* bit i: the gradient of input i, which is a float; no others need be given */
  uint32_t known;  /* bit i: there is a gradient of output i; the others are 0 */
  uint32_t reserved;
} wia_gradient_args_t;

/* Tells the gradient of an operation: adds nodes (wia_add_gradient_node) and writes for each input the value
 * that is its gradient, with its shape and dtype. What it leaves alone has none. Nodes that nothing needs
 * are left out of the group. Any thread, several at once, without a lock; may call wia.h. On failure
 * fills out_error, whose text follows the operation's name. */
typedef wia_status_t (*wia_gradient_fn_t)(void *context, const wia_gradient_args_t *args,
                                          wia_gradient_builder_t *builder, uint32_t *out_gradients,
                                          wia_error_t *out_error);

/* Adds an operation to a gradient, inside of its function. inputs are values, UINT32_MAX for one that is
 * left out; out_values gets those of the outputs, and out_shapes, unless it is NULL, what they are;
 * UINT32_MAX and all zero where the call can't have one.
 * Attributes and scalars are copied. Errors: INVALID_HANDLE after the function has returned;
 * INVALID_ARGUMENT for a value that is none or is left out, a count of outputs that the operation
 * doesn't have, and as wia_infer_outputs(). */
WIA_API wia_status_t wia_add_gradient_node(wia_gradient_builder_t *builder, wia_op_t op,
                                           const uint32_t *inputs, uint32_t input_count,
                                           const wia_attribute_t *attributes,
                                           uint32_t attribute_count, uint32_t *out_values,
                                           wia_shape_t *out_shapes, uint32_t output_count);

enum {
  WIA_OP_MIXED_DTYPES = 1 /* inputs without dtypes of their own may differ from each other */
};

/* An operation. What it points to is copied, but for context and the functions. */
typedef struct wia_op_definition_t {
  uint32_t struct_size;
  uint32_t flags;   /* WIA_OP_* */
  const char *name; /* "vendor::name": two names as drivers have them, 63 characters in all */
  const char *documentation; /* O */
  const wia_operand_definition_t *inputs, *outputs;
  uint32_t input_count, output_count; /* 1 to 31 together 32; the outputs 1 to 8 */
  const wia_attribute_definition_t *attributes, *scalars;
  uint32_t attribute_count, scalar_count; /* scalars: at most 32 */
  uint64_t
      dtypes; /* of the first input without dtypes of its own; without one, of the first output.
                 0: all */
  const char
      *family; /* a shape and dtype rule of the catalog by its name (wia_op_info_t.family), for
                  operands and attributes that include those of one of its operations; */
  wia_infer_fn_t infer;       /* or a function: one of the two */
  wia_op_cost_fn_t cost;      /* O: not known, unless the kernel tells it */
  void *context;              /* of the functions */
  wia_gradient_fn_t gradient; /* O: UNIMPLEMENTED for wia_query_gradient() */
} wia_op_definition_t;
#define WIA_OP_DEFINITION_INIT WIA_INIT(wia_op_definition_t)

/* Registers an operation. Its number holds for this process: what lasts is the name. Other threads
 * may use the library meanwhile. Errors: INVALID_ARGUMENT telling what is wrong with the definition;
 * NOT_FOUND for a family that is none; ALREADY_EXISTS for a name that is in use; RESOURCE_EXHAUSTED. */
WIA_API wia_status_t wia_register_op(const wia_op_definition_t *definition, wia_op_t *out_op);

WIA_END_DECLS
#endif
