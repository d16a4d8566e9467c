#include "work.h"

#include <stdio.h>
#include <string.h>

enum { SIDE = 8 };

static uint32_t work_rank(work_op_t op) { return op == WORK_ADD ? 1 : 2; }

void make_work(work_t *work, const char *device, work_op_t op) {
  static const int64_t shape[] = {SIDE, SIDE};
  float values[SIDE * SIDE];
  for (uint32_t i = 0; i < SIDE * SIDE; i++) values[i] = (float)i;
  const uint64_t size = (op == WORK_ADD ? SIDE : SIDE * SIDE) * sizeof *values;
  work->op = op;
  REQUIRE(wia_find_device(device, &work->device));
  REQUIRE(wia_create_context(&work->context, work->device));
  for (uint32_t i = 0; i < 3; i++) {
    wia_tensor_t *operand = &work->operands[i];
    REQUIRE(wia_allocate_tensor(work->context, shape, work_rank(op), WIA_FLOAT32, operand));
    REQUIRE(wia_write_tensor(*operand, values, size, NULL));
  }
}

void end_work(work_t *work) {
  for (uint32_t i = 0; i < 3; i++) REQUIRE(wia_destroy_tensor(work->operands[i]));
  REQUIRE(wia_destroy_context(work->context));
}

wia_plan_t *make_plan(const work_t *work) {
  wia_plan_t *plan;
  const wia_op_t op = work->op == WORK_ADD ? WIA_OP_ADD : WIA_OP_MATMUL;
  REQUIRE(wia_create_operation_plan(work->context, op, work->operands, 2, work->operands + 2, 1,
                                    NULL, 0, &plan));
  return plan;
}

const char *kernel_name(const work_t *work) {
  static char name[128];
  wia_plan_t *plan = make_plan(work);
  wia_plan_info_t info = WIA_PLAN_INFO_INIT;
  REQUIRE(wia_get_plan_info(plan, &info));
  snprintf(name, sizeof name, "%s", info.name);
  REQUIRE(wia_destroy_plan(plan));
  return name;
}

/* -- the kernel alone ---------------------------------------------------------------------------- */

/* Asks for a device as a driver that stands on another one does. */
static const wia_driver_t *find_driver(const char *device, wia_driver_device_t *out_device) {
  static const wia_driver_t asking = {.struct_size = sizeof asking, .name = "benchmarks"};
  const wia_driver_t *driver;
  wia_error_t error = {.struct_size = sizeof error};
  REQUIRE(wia_get_host()->find_device(&asking, device, &driver, out_device, &error));
  return driver;
}

void prepare_direct(direct_t *direct, const work_t *work, const char *device) {
  static const wia_scalar_t defaults[] = {{.f64 = 1}, {.f64 = 0}}; /* alpha and beta */
  static const wia_attribute_t scalars[] = {
      {.name = "alpha", .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .scalar = 0},
      {.name = "beta", .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .scalar = 1}};
  static const uint32_t inputs[] = {0, 1}, outputs[] = {2};
  *direct = (direct_t){.kernel = {.struct_size = sizeof direct->kernel},
                       .error = {.struct_size = sizeof direct->error}};
  wia_value_t values[3];
  const wia_value_t *value_pointers[3];
  for (uint32_t i = 0; i < 3; i++) {
    wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
    REQUIRE(wia_get_tensor_info(work->operands[i], &info));
    values[i] = (wia_value_t){.struct_size = sizeof values[i], .layout = info.layout, .alias = -1};
    value_pointers[i] = &values[i];
    direct->operands[i] = (wia_operand_t){.address = info.address, .layout = info.layout};
  }
  const uint32_t scalar_count = work->op == WORK_MATMUL ? 2 : 0;
  const wia_node_t node = {.struct_size = sizeof node,
                           .op_name = work->op == WORK_ADD ? "add" : "matmul",
                           .attributes = scalars,
                           .inputs = inputs,
                           .outputs = outputs,
                           .attribute_count = scalar_count,
                           .input_count = 2,
                           .output_count = 1};
  const wia_node_t *const nodes[] = {&node};
  const wia_group_t group = {.struct_size = sizeof group,
                             .node_count = 1,
                             .nodes = nodes,
                             .values = value_pointers,
                             .inputs = inputs,
                             .outputs = outputs,
                             .value_count = 3,
                             .input_count = 2,
                             .output_count = 1,
                             .scalar_count = scalar_count};
  const wia_request_t request = {.struct_size = sizeof request, .group = &group};
  wia_driver_device_t opened;
  const wia_driver_t *driver = find_driver(device, &opened);
  REQUIRE(driver->prepare(opened, &request, &direct->kernel, &direct->error));
  REQUIRE(wia_malloc(&direct->workspace, direct->kernel.workspace_size, work->device));
  direct->args = (wia_kernel_args_t){.struct_size = sizeof direct->args,
                                     .operands = direct->operands,
                                     .input_count = 2,
                                     .output_count = 1,
                                     .scalars = defaults,
                                     .scalar_count = scalar_count,
                                     .workspace = {.address = (uintptr_t)direct->workspace},
                                     .workspace_size = direct->kernel.workspace_size,
                                     .out_error = &direct->error};
}

void end_direct(direct_t *direct) {
  direct->kernel.release(direct->kernel.state);
  REQUIRE(wia_free(direct->workspace));
}
