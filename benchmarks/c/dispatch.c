/* dispatch DEVICE: what a call costs beside its kernel, which is also called directly, on the same
 * memory. */
#include <stdio.h>

#include "work.h"

typedef struct call_t {
  work_t work;
  wia_plan_t *plan;
  direct_t direct;
} call_t;

static void repeat_direct(void *context, uint32_t count) {
  call_t *call = context;
  const wia_kernel_fn_t fn = call->direct.kernel.fn;
  void *state = call->direct.kernel.state;
  for (uint32_t i = 0; i < count; i++) check(fn(state, &call->direct.args));
}

/* As the library does it: function and state come from memory each time. */
static void repeat_table(void *context, uint32_t count) {
  call_t *call = context;
  const volatile wia_driver_kernel_t *kernel = &call->direct.kernel;
  for (uint32_t i = 0; i < count; i++) check(kernel->fn(kernel->state, &call->direct.args));
}

static void repeat_plan(void *context, uint32_t count) {
  call_t *call = context;
  for (uint32_t i = 0; i < count; i++)
    check(wia_execute_plan(call->plan, call->work.operands, 3, NULL, 0, NULL));
}

static void repeat_call(void *context, uint32_t count) {
  call_t *call = context;
  for (uint32_t i = 0; i < count; i++) check(run_work(&call->work, NULL));
}

static void measure_calls(const char *group, const char *device, work_op_t op) {
  static call_t call;
  make_work(&call.work, device, op);
  call.plan = make_plan(&call.work);
  prepare_direct(&call.direct, &call.work, device);
  const variant_t variants[] = {{"direct", &call, repeat_direct, NULL},
                                {"table", &call, repeat_table, NULL},
                                {"plan", &call, repeat_plan, NULL},
                                {"call", &call, repeat_call, NULL}};
  measure(group, kernel_name(&call.work), variants, sizeof variants / sizeof *variants);
  end_direct(&call.direct);
  REQUIRE(wia_destroy_plan(call.plan));
  end_work(&call.work);
}

int main(int argc, char **argv) {
  require_true(argc == 2, "usage: dispatch DEVICE");
  measure_calls("add", argv[1], WORK_ADD);
  measure_calls("matmul", argv[1], WORK_MATMUL);
  return 0;
}
