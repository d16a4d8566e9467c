/* counts DEVICE CASE: does one thing COUNTED times in counted(), which counts.py has callgrind look
 * at alone: additions of 8 elements, or calls of an empty kernel. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

enum { WARM = 2000, COUNTED = 1280, NODES = 64 };

typedef struct subject_t {
  work_t work;
  direct_t direct;
  wia_plan_t *plan;
  wia_executable_t *executable;
  wia_op_t op; /* of repeat_execute */
} subject_t;

typedef void (*repeat_t)(const subject_t *subject, uint32_t count);

static void repeat_direct(const subject_t *subject, uint32_t count) {
  const wia_kernel_fn_t fn = subject->direct.kernel.fn;
  for (uint32_t i = 0; i < count; i++)
    check(fn(subject->direct.kernel.state, &subject->direct.args));
}

static void repeat_plan(const subject_t *subject, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    check(wia_execute_plan(subject->plan, subject->work.operands, 3, NULL, 0, NULL));
}

static void repeat_call(const subject_t *subject, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) check(run_work(&subject->work, NULL));
}

static void repeat_execute(const subject_t *subject, uint32_t count) {
  const wia_tensor_t *operands = subject->work.operands;
  for (uint32_t i = 0; i < count; i++)
    check(wia_execute(subject->work.context, subject->op, operands, 2, operands + 2, 1, NULL, 0,
                      NULL));
}

static void repeat_launch(const subject_t *subject, uint32_t count) {
  for (uint32_t i = 0; i < count / NODES; i++) check(wia_launch_graph(subject->executable, NULL));
}

static void repeat_malloc(const subject_t *subject, uint32_t count) {
  (void)subject;
  for (uint32_t i = 0; i < count; i++) {
    void *volatile memory = malloc(1 << 20);
    free(memory);
  }
}

static void repeat_allocate(const subject_t *subject, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    void *memory;
    check(wia_malloc(&memory, 1 << 20, subject->work.device));
    check(wia_free(memory));
  }
}

static void repeat_tensor(const subject_t *subject, uint32_t count) {
  const int64_t shape[] = {8};
  for (uint32_t i = 0; i < count; i++) {
    wia_tensor_t tensor;
    check(wia_allocate_tensor(subject->work.context, shape, 1, WIA_FLOAT32, &tensor));
    check(wia_destroy_tensor(tensor));
  }
}

/* -- set-ups -------------------------------------------------------------------------------------- */

static wia_status_t run_nothing(void *state, const wia_kernel_args_t *args) {
  (void)state, (void)args;
  return WIA_STATUS_OK;
}

static wia_status_t prepare_nothing(void *context, int32_t device_id, const wia_request_t *request,
                                    wia_driver_kernel_t *out_kernel, wia_error_t *out_error) {
  (void)context, (void)device_id, (void)request, (void)out_error;
  out_kernel->fn = run_nothing;
  out_kernel->flags = WIA_KERNEL_THREAD_SAFE;
  return WIA_STATUS_OK;
}

static wia_op_t register_custom(void) {
  static const wia_operand_definition_t inputs[] = {{.name = "x"}, {.name = "y"}};
  static const wia_operand_definition_t output = {.name = "out"};
  wia_op_definition_t definition = WIA_OP_DEFINITION_INIT;
  definition.name = "benchmarks::join";
  definition.family = "elementwise";
  definition.inputs = inputs;
  definition.input_count = 2;
  definition.outputs = &output;
  definition.output_count = 1;
  wia_op_t op;
  REQUIRE(wia_register_op(&definition, &op));
  return op;
}

static void set_empty(subject_t *subject, wia_op_t op, const char *device) {
  const wia_tensor_t *operands = subject->work.operands;
  REQUIRE(wia_register_kernel(op, device, prepare_nothing, NULL, NULL));
  REQUIRE(wia_destroy_plan(subject->plan));
  REQUIRE(wia_create_operation_plan(subject->work.context, op, operands, 2, operands + 2, 1, NULL,
                                    0, &subject->plan));
  subject->op = op;
}

static void set_catalog(subject_t *subject, const char *device) {
  set_empty(subject, WIA_OP_ADD, device);
}
static void set_custom(subject_t *subject, const char *device) {
  set_empty(subject, register_custom(), device);
}

static void set_layer(subject_t *subject, const char *device, const char *layer, bool off) {
  (void)device;
  REQUIRE(wia_enable_layer(layer));
  repeat_plan(subject, WARM);
  if (off) REQUIRE(wia_disable_layer(layer));
}
static void set_validate(subject_t *subject, const char *device) {
  set_layer(subject, device, "validate", false);
}
static void set_validate_off(subject_t *subject, const char *device) {
  set_layer(subject, device, "validate", true);
}

static void set_trace(subject_t *subject, const char *device) {
  (void)device;
  wia_profiling_config_t config = WIA_PROFILING_CONFIG_INIT;
  config.event_capacity = 1024;
  wia_profiling_session_t *session;
  REQUIRE(wia_start_profiling(NULL, &config, &session));
  repeat_plan(subject, WARM);
}
static void set_trace_off(subject_t *subject, const char *device) {
  (void)device;
  wia_profiling_session_t *session;
  REQUIRE(wia_start_profiling(NULL, NULL, &session));
  repeat_plan(subject, WARM);
  REQUIRE(wia_destroy_profiling_session(session));
}

static void set_graph(subject_t *subject, const char *device) {
  (void)device;
  wia_stream_t *stream;
  wia_graph_t *graph;
  REQUIRE(wia_create_stream(&stream, subject->work.context));
  REQUIRE(wia_begin_capture(stream, NULL));
  for (uint32_t i = 0; i < NODES; i++) REQUIRE(run_work(&subject->work, stream));
  REQUIRE(wia_end_capture(stream, &graph));
  REQUIRE(wia_instantiate_graph(graph, NULL, &subject->executable));
}

/* -- cases ---------------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  repeat_t repeat;
  void (*set)(subject_t *subject, const char *device); /* NULL: nothing */
} cases[] = {{"direct", repeat_direct, NULL},
             {"plan", repeat_plan, NULL},
             {"call", repeat_call, NULL},
             {"execute", repeat_execute, NULL},
             {"node", repeat_launch, set_graph},
             {"trace off", repeat_plan, set_trace_off},
             {"trace", repeat_plan, set_trace},
             {"validate off", repeat_plan, set_validate_off},
             {"validate", repeat_plan, set_validate},
             {"catalog", repeat_execute, set_catalog},
             {"custom", repeat_execute, set_custom},
             {"catalog plan", repeat_plan, set_catalog},
             {"custom plan", repeat_plan, set_custom},
             {"malloc", repeat_malloc, NULL},
             {"allocate", repeat_allocate, NULL},
             {"tensor", repeat_tensor, NULL}};

/* What callgrind is told to count; prints how often for the reader of its sum. */
__attribute__((noinline)) void counted(repeat_t repeat, const subject_t *subject);
void counted(repeat_t repeat, const subject_t *subject) {
  repeat(subject, COUNTED);
  __asm__ volatile(""); /* a call, no jump */
}

int main(int argc, char **argv) {
  static subject_t subject = {.op = WIA_OP_ADD};
  require_true(argc == 3, "usage: counts DEVICE CASE");
  size_t at = 0;
  while (at < sizeof cases / sizeof *cases && strcmp(cases[at].name, argv[2]) != 0) at++;
  require_true(at < sizeof cases / sizeof *cases, "no such case");
  make_work(&subject.work, argv[1], WORK_ADD);
  subject.plan = make_plan(&subject.work);
  prepare_direct(&subject.direct, &subject.work, argv[1]);
  if (cases[at].set) cases[at].set(&subject, argv[1]);
  cases[at].repeat(&subject, WARM);
  counted(cases[at].repeat, &subject);
  printf("%d\n", COUNTED);
  return 0;
}
