/* dispatch LIBRARY: what a call costs beside its kernel. LIBRARY is the sample driver's, from which
 * the same kernel is also called directly, on the same memory. Prints JSON. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"
#include "wia_driver.h"

enum { ROUNDS = 2000, REPEATS = 200 };

typedef wia_status_t (*op_fn_t)(wia_context_t *, wia_tensor_t, wia_tensor_t, wia_tensor_t);

typedef struct call_t {
  wia_context_t *context;
  wia_tensor_t operands[3];
  wia_plan_t *plan;
  op_fn_t op;
  wia_driver_kernel_t kernel;
  wia_kernel_args_t args;
  wia_operand_t kernel_operands[3];
} call_t;

/* The status is looked at as a program would, and keeps the compiler from leaving calls out. */
static void check(wia_status_t status) {
  if (__builtin_expect(status != WIA_STATUS_OK, 0)) require(status, "the measured call");
}

static void repeat_direct(void *context, uint32_t count) {
  call_t *call = context;
  const wia_kernel_fn_t fn = call->kernel.fn;
  void *state = call->kernel.state;
  for (uint32_t i = 0; i < count; i++) check(fn(state, &call->args));
}

/* As the library does it: function and state come from memory each time. */
static void repeat_table(void *context, uint32_t count) {
  call_t *call = context;
  const volatile wia_driver_kernel_t *kernel = &call->kernel;
  for (uint32_t i = 0; i < count; i++) check(kernel->fn(kernel->state, &call->args));
}

static void repeat_plan(void *context, uint32_t count) {
  call_t *call = context;
  for (uint32_t i = 0; i < count; i++)
    check(wia_execute_plan(call->plan, call->operands, 3, NULL, 0, NULL));
}

static void repeat_op(void *context, uint32_t count) {
  call_t *call = context;
  for (uint32_t i = 0; i < count; i++)
    check(call->op(call->context, call->operands[0], call->operands[1], call->operands[2]));
}

static wia_status_t call_add(wia_context_t *context, wia_tensor_t a, wia_tensor_t b,
                             wia_tensor_t c) {
  return wia_add(context, a, b, c, NULL);
}

static wia_status_t call_matmul(wia_context_t *context, wia_tensor_t a, wia_tensor_t b,
                                wia_tensor_t c) {
  return wia_matmul(context, a, b, c, NULL, NULL);
}

/* -- set-up ------------------------------------------------------------------------------------ */

static const wia_driver_t *load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *symbol = library == NULL ? NULL : dlsym(library, "wia_negotiate_driver");
  if (symbol == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  wia_negotiate_driver_fn_t negotiate;
  memcpy(&negotiate, &symbol, sizeof negotiate);
  wia_negotiation_t negotiation = {.struct_size = sizeof negotiation,
                                   .core_major = WIA_DRIVER_ABI_MAJOR,
                                   .core_minor = WIA_DRIVER_ABI_MINOR,
                                   .host = wia_get_host()};
  wia_error_t error = {.struct_size = sizeof error};
  require(negotiate(&negotiation, &error), "wia_negotiate_driver");
  return negotiation.drivers[0];
}

/* The kernel that the library has too, prepared once more. */
static void prepare_direct(call_t *call, const wia_driver_t *driver, const char *op_name) {
  static const wia_scalar_t defaults[] = {{.f64 = 1}, {.f64 = 0}}; /* alpha and beta */
  const uint32_t inputs[] = {0, 1}, outputs[] = {2};
  wia_value_t values[3];
  const wia_value_t *value_pointers[3];
  for (uint32_t i = 0; i < 3; i++) {
    wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
    REQUIRE(wia_get_tensor_info(call->operands[i], &info));
    values[i] = (wia_value_t){.struct_size = sizeof values[i], .layout = info.layout, .alias = -1};
    value_pointers[i] = &values[i];
    call->kernel_operands[i] = (wia_operand_t){.address = info.address, .layout = info.layout};
  }
  const wia_attribute_t scalars[] = {
      {.name = "alpha", .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .scalar = 0},
      {.name = "beta", .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .scalar = 1}};
  const bool has_scalars = strcmp(op_name, "matmul") == 0;
  const wia_node_t node = {.struct_size = sizeof node,
                           .op_name = op_name,
                           .attributes = scalars,
                           .inputs = inputs,
                           .outputs = outputs,
                           .attribute_count = has_scalars ? 2 : 0,
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
                             .scalar_count = has_scalars ? 2 : 0};
  const wia_request_t request = {.struct_size = sizeof request, .group = &group};
  static wia_error_t error = {.struct_size = sizeof error};
  wia_driver_device_t device;
  require(driver->open_device(driver->self, 0, &device, &error), "open_device");
  require(driver->prepare(device, &request, &call->kernel, &error), "prepare");
  call->args = (wia_kernel_args_t){.struct_size = sizeof call->args,
                                   .operands = call->kernel_operands,
                                   .input_count = 2,
                                   .output_count = 1,
                                   .scalars = defaults,
                                   .scalar_count = group.scalar_count,
                                   .out_error = &error};
}

static void measure(const wia_driver_t *driver, const char *op_name, wia_op_t op, op_fn_t function,
                    const int64_t *shape, uint32_t rank) {
  static float values[64];
  for (uint32_t i = 0; i < 64; i++) values[i] = (float)i;
  call_t call = {.op = function, .kernel = {.struct_size = sizeof call.kernel}};
  int32_t device = 0;
  REQUIRE(wia_find_device("sample:0", &device));
  REQUIRE(wia_create_context(&call.context, device));
  for (uint32_t i = 0; i < 3; i++) {
    REQUIRE(wia_allocate_tensor(call.context, shape, rank, WIA_FLOAT32, &call.operands[i]));
    REQUIRE(wia_write_tensor(call.operands[i], values, (rank == 1 ? 8 : 64) * sizeof(float), NULL));
  }
  REQUIRE(wia_create_operation_plan(call.context, op, call.operands, 2, call.operands + 2, 1, NULL,
                                    0, &call.plan));
  prepare_direct(&call, driver, op_name);
  const variant_t variants[] = {{"direct", repeat_direct, &call},
                                {"table", repeat_table, &call},
                                {"plan", repeat_plan, &call},
                                {"call", repeat_op, &call}};
  printf("\"%s\": ", op_name);
  compare(variants, sizeof variants / sizeof *variants, ROUNDS, REPEATS);
  call.kernel.release(call.kernel.state);
  for (uint32_t i = 0; i < 3; i++) REQUIRE(wia_destroy_tensor(call.operands[i]));
  REQUIRE(wia_destroy_plan(call.plan));
  REQUIRE(wia_destroy_context(call.context));
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
    return 2;
  }
  const wia_driver_t *driver = load(argv[1]);
  printf("{");
  measure(driver, "add", WIA_OP_ADD, call_add, (int64_t[]){8}, 1);
  printf(", ");
  measure(driver, "matmul", WIA_OP_MATMUL, call_matmul, (int64_t[]){8, 8}, 2);
  printf("}\n");
  return 0;
}
