/* work.h: the work that calls are measured on: two small operands and an output on a device. */
#ifndef BENCHMARKS_WORK_H
#define BENCHMARKS_WORK_H

#include <stddef.h>

#include "timing.h"
#include "wia_driver.h"

/* 8 float32 added, or two 8x8 matrices of float32 multiplied. */
typedef enum work_op_t { WORK_ADD, WORK_MATMUL } work_op_t;

typedef struct work_t {
  work_op_t op;
  int32_t device;
  wia_context_t *context;
  wia_tensor_t operands[3];
} work_t;

void make_work(work_t *work, const char *device, work_op_t op);
void end_work(work_t *work);

/* The call as a program writes it. */
static inline wia_status_t run_work(const work_t *work, wia_stream_t *stream) {
  const wia_tensor_t *operands = work->operands;
  if (work->op == WORK_ADD)
    return wia_add(work->context, operands[0], operands[1], operands[2], stream);
  return wia_matmul(work->context, operands[0], operands[1], operands[2], NULL, stream);
}

/* The status is looked at as a program would, and keeps the compiler from leaving calls out. */
static inline void check(wia_status_t status) {
  if (__builtin_expect(status != WIA_STATUS_OK, 0)) require(status, "the measured call");
}

wia_plan_t *make_plan(const work_t *work);

/* The name of the kernel that runs it, good to the end of the program. */
const char *kernel_name(const work_t *work);

/* The driver's own kernel for it, prepared once more, and what it is called with. */
typedef struct direct_t {
  wia_driver_kernel_t kernel;
  wia_kernel_args_t args;
  wia_operand_t operands[3];
  void *workspace; /* NULL when it needs none */
  wia_error_t error;
} direct_t;

/* Needs a device whose operands are found by their addresses alone. */
void prepare_direct(direct_t *direct, const work_t *work, const char *device);
void end_direct(direct_t *direct);

#endif
