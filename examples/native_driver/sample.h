/* sample.h: what the files of the sample driver share.
 *
 * driver.c has the tables that the library asks for, node.c reads a request, walk.c visits strided
 * operands; each other file has the kernels of one kind of operation. A kernel comes in two parts:
 * sample_prepare_x() runs once for a signature (dtypes, shapes, strides, attributes) and decides
 * all that can be decided then; the function that it names runs at each launch and only computes.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "wia_driver.h"

enum { SAMPLE_MAX_INPUTS = 3, SAMPLE_MAX_OPERANDS = 4 };

/* -- requests (node.c) ------------------------------------------------------------------------- */

/* The one operation of a request. */
typedef struct sample_node_t {
  const char *op_name;
  const wia_tensor_layout_t *inputs[SAMPLE_MAX_INPUTS]; /* NULL: left out */
  const wia_tensor_layout_t *output;
  uint32_t input_count; /* with those left out: the output is the operand of this index */
  uint32_t attribute_count;
  const wia_attribute_t *attributes;
  uint64_t read_attributes; /* one bit each */
  const char *candidate;    /* the algorithm that was asked for; NULL: none, or it is accepted */
  wia_error_t *error;
} sample_node_t;

/* A number that is fixed, or that each launch passes. */
typedef struct sample_scalar_t {
  double value;
  int32_t index; /* in wia_kernel_args_t.scalars; -1: it is value */
  int32_t reserved;
} sample_scalar_t;

/* Fills error and returns status, so that callers can return it at once. */
wia_status_t sample_fail(wia_error_t *error, wia_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reads one node of a group. */
wia_status_t sample_read_part(const wia_request_t *request, uint32_t index, sample_node_t *out_node,
                              wia_error_t *out_error);

/* Reads a request for one operation. */
wia_status_t sample_read_node(const wia_request_t *request, sample_node_t *out_node,
                              wia_error_t *out_error);

/* Attributes by name. Each marks what it found as read. A list holds its default before the call
 * and keeps it when it is not in the request; the result is the length found, 0 for none. */
int64_t sample_get_int(sample_node_t *node, const char *name, int64_t default_value);
uint32_t sample_get_list(sample_node_t *node, const char *name, uint32_t capacity, int64_t *values);
sample_scalar_t sample_get_scalar(sample_node_t *node, const char *name, double default_value);
/* For attributes that only tell what the output's layout tells too. */
void sample_skip_attribute(sample_node_t *node, const char *name);

/* Accepts an algorithm that may be asked for by name. */
void sample_accept_algorithm(sample_node_t *node, const char *name);

/* Of kernels that any thread may run, and that take microseconds for few elements. */
enum { SAMPLE_PROMPT = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_PROMPT };

/* The end of every prepare: refuses attributes that nobody read and algorithms that nobody
 * accepted, then gives the kernel a copy of state, which the library releases. */
wia_status_t sample_finish(sample_node_t *node, wia_kernel_fn_t fn, uint32_t flags,
                           const void *state, size_t state_size, wia_driver_kernel_t *out_kernel);

static inline double sample_scalar(sample_scalar_t scalar, const wia_kernel_args_t *args) {
  return scalar.index < 0 ? scalar.value : args->scalars[scalar.index].f64;
}

/* The device is the host: addresses are pointers. */
static inline char *sample_pointer(const wia_kernel_args_t *args, uint32_t operand) {
  return (char *)(uintptr_t)args->operands[operand].address;
}

const char *sample_dtype_name(wia_dtype_t dtype);
/* Bytes of an element; 0 for a dtype that is packed below a byte. */
uint32_t sample_item_size(wia_dtype_t dtype);
/* Bytes from one element to the next along a dimension. */
int64_t sample_stride(const wia_tensor_layout_t *layout, uint32_t dimension);

/* -- strided loops (walk.c) -------------------------------------------------------------------- */

/* A loop over all positions of a shape, with up to SAMPLE_MAX_OPERANDS operands moving along. */
typedef struct sample_walk_t {
  uint32_t rank, operand_count;
  int64_t shape[WIA_MAX_RANK];
  int64_t strides[WIA_MAX_RANK][SAMPLE_MAX_OPERANDS]; /* in bytes */
} sample_walk_t;

/* Handles count positions in a line: pointers are those of the first one, strides the bytes to the
 * next. */
typedef void (*sample_row_fn_t)(const void *context, char *const *pointers, const int64_t *strides,
                                int64_t count);

/* To build a walk: start it, add the operands in their order, merge. A layout is added as numpy
 * broadcasts it to the walk's shape; strides in bytes are added as they are. */
void sample_start_walk(sample_walk_t *walk, const int64_t *shape, uint32_t rank);
void sample_add_layout(sample_walk_t *walk, const wia_tensor_layout_t *layout);
/* The same for the first dimensions of a layout only. */
void sample_add_leading(sample_walk_t *walk, const wia_tensor_layout_t *layout, uint32_t rank);
void sample_add_strides(sample_walk_t *walk, const int64_t *strides);
/* Joins dimensions that all operands cross in one stride: a walk over contiguous operands becomes
 * one row. */
void sample_merge_walk(sample_walk_t *walk);

/* pointers: one per operand, at position 0. */
void sample_run_walk(const sample_walk_t *walk, char *const *pointers, sample_row_fn_t row,
                     const void *context);

/* A kernel that is a walk and nothing else. */
typedef struct sample_rows_t {
  sample_walk_t walk;
  sample_row_fn_t row;
} sample_rows_t;
/* Over all inputs and the output, broadcast to the output's shape. */
sample_rows_t sample_make_rows(const sample_node_t *node, sample_row_fn_t row);
wia_status_t sample_run_rows(void *state, const wia_kernel_args_t *args);

/* -- kernels ----------------------------------------------------------------------------------- */

typedef wia_status_t (*sample_prepare_fn_t)(sample_node_t *node, wia_driver_kernel_t *out_kernel);

wia_status_t sample_prepare_binary(sample_node_t *node, wia_driver_kernel_t *out_kernel);
wia_status_t sample_prepare_relu(sample_node_t *node, wia_driver_kernel_t *out_kernel);
wia_status_t sample_prepare_cast(sample_node_t *node, wia_driver_kernel_t *out_kernel);
wia_status_t sample_prepare_matmul(sample_node_t *node, wia_driver_kernel_t *out_kernel);
/* A matrix product and what follows it in a group. Numbers are those of operands of a launch. */
typedef struct sample_layer_t {
  uint32_t a, b, output;
  uint32_t row;                    /* the bias */
  const wia_tensor_layout_t *bias; /* one row or one number; NULL: none is added */
  uint32_t activates;              /* 1: relu at the end */
} sample_layer_t;
wia_status_t sample_prepare_layer(sample_node_t *node, const sample_layer_t *layer,
                                  wia_driver_kernel_t *out_kernel);
/* A group of several operations (fuse.c). */
wia_status_t sample_prepare_group(const wia_request_t *request, wia_driver_kernel_t *out_kernel,
                                  wia_error_t *out_error);
wia_status_t sample_prepare_addmm(sample_node_t *node, wia_driver_kernel_t *out_kernel);
wia_status_t sample_prepare_linear(sample_node_t *node, wia_driver_kernel_t *out_kernel);
wia_status_t sample_prepare_conv2d(sample_node_t *node, wia_driver_kernel_t *out_kernel);
wia_status_t sample_prepare_max_pool2d(sample_node_t *node, wia_driver_kernel_t *out_kernel);
wia_status_t sample_prepare_softmax(sample_node_t *node, wia_driver_kernel_t *out_kernel);
wia_status_t sample_prepare_argmax(sample_node_t *node, wia_driver_kernel_t *out_kernel);
wia_status_t sample_prepare_reshape(sample_node_t *node, wia_driver_kernel_t *out_kernel);
wia_status_t sample_prepare_transpose(sample_node_t *node, wia_driver_kernel_t *out_kernel);
wia_status_t sample_prepare_broadcast(sample_node_t *node, wia_driver_kernel_t *out_kernel);

#endif
