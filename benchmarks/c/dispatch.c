/* dispatch DEVICE: what a call costs beside its kernel, which is also called directly, on the same
 * memory; and what tracing adds to it. */
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

/* The nanoseconds of a call, which is two events where it is traced. The ring is warm. */
enum { TRACED_CALLS = 1000 };

static double turn_plain(void *context) {
  const int64_t begin_ns = now_ns();
  repeat_plan(context, TRACED_CALLS);
  return (double)(now_ns() - begin_ns) / TRACED_CALLS;
}

static double turn_traced(void *context) {
  wia_profiling_config_t config = WIA_PROFILING_CONFIG_INIT;
  config.event_capacity = 1024;
  wia_profiling_session_t *session = NULL;
  REQUIRE(wia_start_profiling(NULL, &config, &session));
  repeat_plan(context, TRACED_CALLS);
  const double time_ns = turn_plain(context);
  REQUIRE(wia_destroy_profiling_session(session));
  return time_ns;
}

static void measure_tracing(const char *device) {
  static call_t call;
  make_work(&call.work, device, WORK_ADD);
  call.plan = make_plan(&call.work);
  const variant_t variants[] = {{"off", &call, NULL, turn_plain}, {"on", &call, NULL, turn_traced}};
  measure("trace", kernel_name(&call.work), variants, sizeof variants / sizeof *variants);
  REQUIRE(wia_destroy_plan(call.plan));
  end_work(&call.work);
}

int main(int argc, char **argv) {
  require_true(argc == 2, "usage: dispatch DEVICE");
  measure_calls("add", argv[1], WORK_ADD);
  measure_calls("matmul", argv[1], WORK_MATMUL);
  measure_tracing(argv[1]);
  return 0;
}
