/* Brief calls: those of kernels that are prompt, for a caller who holds a lock that others need. What is
 * refused must not have happened at all. */
#include "core_device.h"
#include "groups.h"

/* What the bridge of Python calls; its call.h says the same. */
WIA_API bool wia__run_brief(const char *function, wia_context_t *context, wia_op_t op,
                            const wia_tensor_t *operands, wia_status_t *out_status);
WIA_API bool wia__execute_brief(wia_plan_t *plan, const wia_tensor_t *operands,
                                uint32_t operand_count, const wia_scalar_t *scalars,
                                uint32_t scalar_count, wia_status_t *out_status);

enum { PROMPT = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE | WIA_KERNEL_PROMPT };

typedef struct operands_t {
  wia_tensor_t list[3];
} operands_t;

static operands_t make_operands(int64_t size) {
  return (operands_t){{core_tensor(context, size, 1), core_tensor(context, size, 2),
                       core_tensor(context, size, 0)}};
}

static void destroy_operands(const operands_t *operands) {
  for (uint32_t i = 0; i < 3; i++) core_destroy(operands->list[i]);
}

static wia_status_t execute(wia_op_t op, const operands_t *operands) {
  return wia_execute(context, op, operands->list, 2, &operands->list[2], 1, NULL, 0, NULL);
}

static bool is_brief(const operands_t *operands) {
  wia_status_t status = WIA_STATUS_OK;
  const bool brief = wia__run_brief("test", context, WIA_OP_ADD, operands->list, &status);
  CHECK_STATUS(status, WIA_STATUS_OK);
  return brief;
}

/* Not brief, and no kernel ran. */
static bool is_refused(const operands_t *operands) {
  const uint32_t launches = core.launches, prepares = core.prepares;
  return !is_brief(operands) && core.launches == launches && core.prepares == prepares;
}

static void start(uint32_t flags) {
  core.kernel_flags = flags;
  context = core_context(device);
}

static void end(void) {
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  core_evict();
  core.kernel_flags = PROMPT;
}

/* -- which calls are brief ----------------------------------------------------------------------- */

static void test_known(void) {
  start(PROMPT);
  const operands_t operands = make_operands(8);
  CHECK(is_refused(&operands)); /* its kernel has to be prepared */
  CHECK_STATUS(execute(WIA_OP_ADD, &operands), WIA_STATUS_OK);
  const wia_plan_cache_stats_t before = core_cache(device);
  const uint32_t launches = core.launches;
  CHECK(is_brief(&operands));
  CHECK(core.launches == launches + 1 && core_has(operands.list[2], 3, 2));
  CHECK(core_cache(device).hit_count == before.hit_count + 1);
  const operands_t in_place = {{operands.list[0], operands.list[1], operands.list[0]}};
  CHECK(is_refused(&in_place)); /* another plan */
  CHECK_STATUS(execute(WIA_OP_ADD, &in_place), WIA_STATUS_OK);
  CHECK(is_brief(&in_place) && core_has(in_place.list[0], 5, 3));
  destroy_operands(&operands);
  end();
}

static void check_size(int64_t size, bool brief) {
  const operands_t operands = make_operands(size);
  CHECK_STATUS(execute(WIA_OP_ADD, &operands), WIA_STATUS_OK);
  CHECK(brief ? is_brief(&operands) : is_refused(&operands));
  destroy_operands(&operands);
}

static void test_sizes(void) {
  start(PROMPT);
  check_size(WIA_PROMPT_ELEMENTS / 3, true);
  check_size(WIA_PROMPT_ELEMENTS / 3 + 1, false); /* all of them together */
  check_size(WIA_PROMPT_ELEMENTS + 1, false);
  check_size(0, true);
  end();
}

static void test_kernels(void) {
  start(PROMPT & ~WIA_KERNEL_PROMPT);
  check_size(9, false);
  end();
  start(PROMPT & ~WIA_KERNEL_THREAD_SAFE); /* has to wait for its turn */
  check_size(10, false);
  end();
  device = CORE_SERIAL;
  start(PROMPT);
  check_size(11, false);
  end();
  device = CORE_PLAIN;
  start(PROMPT);
  core.workspace_size = 64; /* which may have to be allocated */
  const operands_t operands = make_operands(12);
  CHECK_STATUS(execute(WIA_OP_DIV, &operands), WIA_STATUS_OK);
  wia_status_t status = WIA_STATUS_OK;
  CHECK(!wia__run_brief("test", context, WIA_OP_DIV, operands.list, &status));
  core.workspace_size = 0;
  destroy_operands(&operands);
  end();
}

static wia_status_t do_nothing(void *state, const wia_kernel_args_t *args) {
  (void)state, (void)args;
  return WIA_STATUS_OK;
}

static wia_status_t prepare_pow(void *state, int32_t device_id, const wia_request_t *request,
                                wia_driver_kernel_t *out_kernel, wia_error_t *out_error) {
  (void)state, (void)device_id, (void)request, (void)out_error;
  out_kernel->fn = do_nothing;
  out_kernel->flags = PROMPT;
  return WIA_STATUS_OK;
}

/* On a device whose memory the host can't address the library copies around it, through the driver. */
static void test_copies_around(void) {
  wia_kernel_config_t on_host = WIA_KERNEL_CONFIG_INIT;
  on_host.flags = WIA_KERNEL_ON_HOST;
  CHECK_STATUS(wia_register_kernel(WIA_OP_POW, "core", prepare_pow, NULL, &on_host), WIA_STATUS_OK);
  for (device = CORE_PLAIN; device <= CORE_OPAQUE; device += CORE_OPAQUE) {
    start(PROMPT);
    const operands_t operands = make_operands(8);
    CHECK_STATUS(execute(WIA_OP_POW, &operands), WIA_STATUS_OK);
    wia_status_t status = WIA_STATUS_OK;
    CHECK(wia__run_brief("test", context, WIA_OP_POW, operands.list, &status) ==
          (device == CORE_PLAIN));
    destroy_operands(&operands);
    end();
  }
  device = CORE_PLAIN;
}

/* -- when they are ------------------------------------------------------------------------------- */

static void test_pending(void) {
  start(PROMPT);
  const operands_t operands = make_operands(8);
  CHECK_STATUS(execute(WIA_OP_ADD, &operands), WIA_STATUS_OK);
  wia_stream_t *stream = make_stream();
  core_close_gate();
  CHECK_STATUS(
      wia_execute(context, WIA_OP_RELU, operands.list, 1, &operands.list[2], 1, NULL, 0, stream),
      WIA_STATUS_OK);
  CHECK(core_await_gate(1));
  CHECK(is_refused(&operands)); /* it would wait for the stream */
  core_open_gate();
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK_STATUS(execute(WIA_OP_ADD, &operands), WIA_STATUS_OK); /* finds that it has ended */
  CHECK(is_brief(&operands) && core_has(operands.list[2], 3, 2));
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  destroy_operands(&operands);
  end();
}

static void *stand_at_gate(void *argument) {
  const operands_t *operands = argument;
  CHECK_STATUS(
      wia_execute(context, WIA_OP_RELU, operands->list, 1, &operands->list[1], 1, NULL, 0, NULL),
      WIA_STATUS_OK);
  return NULL;
}

/* What a call leaves behind to destroy is not destroyed in a brief one: that calls the driver. */
static void test_retired(void) {
  start(PROMPT);
  operands_t operands = make_operands(8), theirs = make_operands(8);
  CHECK_STATUS(execute(WIA_OP_ADD, &operands), WIA_STATUS_OK);
  CHECK(is_brief(&operands));
  core_close_gate();
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, stand_at_gate, &theirs) == 0);
  CHECK(core_await_gate(1));
  wia_tensor_t third = core_tensor(context, 8, 0);
  core_destroy(third); /* a call that is running may be using it */
  const uint32_t frees = core.frees;
  CHECK(is_refused(&operands) && core.frees == frees);
  core_open_gate();
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_STATUS(execute(WIA_OP_ADD, &operands), WIA_STATUS_OK); /* collects */
  CHECK(is_brief(&operands));
  destroy_operands(&operands);
  destroy_operands(&theirs);
  end();
}

static void test_layers(void) {
  start(PROMPT);
  const operands_t operands = make_operands(8);
  CHECK_STATUS(execute(WIA_OP_ADD, &operands), WIA_STATUS_OK);
  CHECK_STATUS(wia_enable_layer("validate"), WIA_STATUS_OK);
  CHECK(is_refused(&operands));
  CHECK_STATUS(wia_disable_layer("validate"), WIA_STATUS_OK);
  CHECK(is_brief(&operands));
  destroy_operands(&operands);
  end();
}

/* -- what goes wrong ----------------------------------------------------------------------------- */

static void test_errors(void) {
  start(PROMPT);
  operands_t operands = make_operands(8);
  CHECK_STATUS(execute(WIA_OP_ADD, &operands), WIA_STATUS_OK);
  wia_status_t status = WIA_STATUS_OK;
  const operands_t bad = {{operands.list[0], NULL, operands.list[2]}};
  CHECK(wia__run_brief("test", context, WIA_OP_ADD, bad.list, &status));
  if (CHECK_STATUS(status, WIA_STATUS_INVALID_HANDLE)) CHECK_MESSAGE("b is NULL");
  CHECK(wia__run_brief("test", NULL, WIA_OP_ADD, operands.list, &status));
  if (CHECK_STATUS(status, WIA_STATUS_INVALID_HANDLE)) CHECK_MESSAGE("context is NULL");
  CHECK(is_brief(&operands));
  destroy_operands(&operands);
  end();
}

/* -- plans --------------------------------------------------------------------------------------- */

static bool is_plan_brief(wia_plan_t *plan, const operands_t *operands) {
  wia_status_t status = WIA_STATUS_OK;
  const uint32_t launches = core.launches;
  const bool brief = wia__execute_brief(plan, operands->list, 3, NULL, 0, &status);
  CHECK_STATUS(status, WIA_STATUS_OK);
  CHECK(core.launches == launches + (brief ? 1 : 0));
  return brief;
}

static void check_plan(int64_t size, bool brief) {
  const operands_t operands = make_operands(size);
  groups_t group;
  groups_build(&group, groups_layout(operands.list[0]), 2,
               (groups_node_t[]){{WIA_OP_MUL, {0, 1, NONE}, 2}, {0, {0, 0, 0}, 0}});
  wia_plan_t *plan = NULL;
  CHECK_STATUS(wia_create_plan(context, &group.group, &plan), WIA_STATUS_OK);
  CHECK(is_plan_brief(plan, &operands) == brief);
  wia_stream_t *stream = make_stream();
  core_close_gate();
  CHECK_STATUS(
      wia_execute(context, WIA_OP_RELU, operands.list, 1, &operands.list[2], 1, NULL, 0, stream),
      WIA_STATUS_OK);
  CHECK(core_await_gate(1)); /* launched, so the count stays */
  CHECK(!is_plan_brief(plan, &operands));
  core_open_gate();
  CHECK_STATUS(finish(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_enable_layer("validate"), WIA_STATUS_OK);
  CHECK(!is_plan_brief(plan, &operands));
  CHECK_STATUS(wia_disable_layer("validate"), WIA_STATUS_OK);
  CHECK_STATUS(wia_execute_plan(plan, operands.list, 3, NULL, 0, NULL), WIA_STATUS_OK);
  CHECK(is_plan_brief(plan, &operands) == brief);
  wia_status_t status = WIA_STATUS_OK;
  CHECK(wia__execute_brief(plan, operands.list, 2, NULL, 0, &status));
  if (CHECK_STATUS(status, WIA_STATUS_INVALID_ARGUMENT)) CHECK_MESSAGE("expected 2 inputs");
  CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  destroy_operands(&operands);
}

static void test_plans(void) {
  start(PROMPT);
  check_plan(8, true);
  check_plan(WIA_PROMPT_ELEMENTS, false);
  end();
}

int main(void) {
  core_start();
  /* of WIA_LAYERS: with them no call is brief, see test_layers */
  (void)wia_disable_layer("trace"), (void)wia_disable_layer("validate");
  test_known();
  test_sizes();
  test_kernels();
  test_copies_around();
  test_pending();
  test_retired();
  test_layers();
  test_errors();
  test_plans();
  CHECK_CLEAN();
  return CHECK_DONE();
}
