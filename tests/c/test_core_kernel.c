/* How kernels are run: turns, workspaces, serial devices, and drivers that call the library. */
#include "core_driver.h"

enum { THREADS = 8, ROUNDS = 15 }; /* more than a kernel keeps workspaces */

static wia_context_t *context;
static uint32_t device;

/* -- many threads run one kernel ----------------------------------------------------------------- */

typedef struct runner_t {
  wia_op_t op;
  wia_tensor_t input, output;
  wia_stream_t *stream; /* may be NULL */
  wia_status_t status;
} runner_t;

static void *run_in_thread(void *argument) {
  runner_t *runner = argument;
  const wia_tensor_t inputs[] = {runner->input, runner->input};
  for (uint32_t i = 0; i < ROUNDS && !runner->status; i++)
    runner->status =
        wia_execute(context, runner->op, inputs, 2, &runner->output, 1, NULL, 0, runner->stream);
  return NULL;
}

/* From as many threads, every other one through a stream; gives how many ran at once. */
static uint32_t run_from_threads(wia_op_t op, int64_t size) {
  runner_t runners[THREADS];
  pthread_t threads[THREADS];
  core.most_running = 0;
  core.launch_delay_us = 300;
  for (uint32_t i = 0; i < THREADS; i++) {
    runners[i] = (runner_t){
        .op = op, .input = core_tensor(context, size, 1), .output = core_tensor(context, size, 0)};
    if (i % 2) CHECK_STATUS(wia_create_stream(&runners[i].stream, context), WIA_STATUS_OK);
    CHECK(pthread_create(&threads[i], NULL, run_in_thread, &runners[i]) == 0);
  }
  for (uint32_t i = 0; i < THREADS; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_STATUS(runners[i].status, WIA_STATUS_OK);
    if (op == WIA_OP_ADD)
      CHECK(core_has(runners[i].output, 2, 2));
    else
      CHECK(core_has(runners[i].output, 1, 0));
    core_destroy(runners[i].input);
    core_destroy(runners[i].output);
    if (runners[i].stream) CHECK_STATUS(wia_destroy_stream(runners[i].stream), WIA_STATUS_OK);
  }
  core.launch_delay_us = 0;
  return core.most_running;
}

static void test_thread_safe(void) {
  core_start();
  device = CORE_PLAIN;
  context = core_context(device);
  CHECK(run_from_threads(WIA_OP_ADD, 4) > 1); /* no lock is around a kernel that needs none */
}

/* The driver's own check of "two at once" counts as a fault. */
static void test_turns(void) {
  core_start();
  device = CORE_PLAIN;
  context = core_context(device);
  core.kernel_flags = WIA_KERNEL_IN_PLACE;
  CHECK(run_from_threads(WIA_OP_ADD, 5) == 1);
  CHECK(core.faults == 0);
}

static void test_serial(void) {
  core_start();
  device = CORE_SERIAL;
  context = core_context(device);
  CHECK(run_from_threads(WIA_OP_ADD, 6) == 1);
  CHECK(core.faults == 0);
}

/* -- workspaces ---------------------------------------------------------------------------------- */

static void test_workspace(void) {
  setenv("WIA_PLAN_CACHE_SIZE", "1", 1);
  core_start();
  device = CORE_PLAIN;
  context = core_context(device);
  core.workspace_size = 1000;
  core.workspace_alignment = 512;
  CHECK(run_from_threads(WIA_OP_DIV, 7) > 1); /* each launch has its own */
  CHECK(core.faults == 0);
  const wia_memory_info_t info = core_memory(device);
  CHECK(info.live_size % 1000 == 0 && info.live_size >= 1000); /* kept for the next */
  const uint64_t total = info.total_count;
  wia_tensor_t a = core_tensor(context, 7, 1), b = core_tensor(context, 7, 0);
  for (uint32_t i = 0; i < 10; i++) CHECK_STATUS(wia_div(context, a, a, b, NULL), WIA_STATUS_OK);
  CHECK(core_memory(device).total_count == total + 2);          /* the tensors only */
  CHECK_STATUS(wia_add(context, a, a, b, NULL), WIA_STATUS_OK); /* takes the place in the cache */
  core_destroy(a);
  core_destroy(b);
  CHECK_CLEAN(); /* the workspaces went with the kernel */
}

static void test_workspace_exhausted(void) {
  core_start();
  device = CORE_PLAIN;
  context = core_context(device);
  core.workspace_size = 100000;
  core.memory_limit = 50000;
  wia_tensor_t a = core_tensor(context, 8, 1), b = core_tensor(context, 8, 0);
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  for (uint32_t i = 0; i < 3; i++) {
    CHECK_STATUS(wia_div(context, a, a, b, NULL), WIA_STATUS_RESOURCE_EXHAUSTED);
    CHECK_MESSAGE("100000 bytes");
    CHECK_MESSAGE("div on core:0");
  }
  CHECK_STATUS(wia_div(context, a, a, b, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_RESOURCE_EXHAUSTED);
  CHECK_MESSAGE("100000 bytes");
  CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_OK);
  core.memory_limit = UINT64_MAX;
  CHECK_STATUS(wia_div(context, a, a, b, stream), WIA_STATUS_OK);
  CHECK(core_has(b, 1, 0));
}

/* -- drivers that call the library --------------------------------------------------------------- */

/* All that prepare may want: memory of its device, another kernel, a failing call. */
static wia_status_t call_from_prepare(void) {
  core.in_prepare = NULL;
  void *memory = NULL;
  CHECK_STATUS(wia_malloc(&memory, 64, core_id(device)), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
  wia_tensor_t a = core_tensor(context, 9, 1), b = core_tensor(context, 9, 0);
  CHECK_STATUS(wia_sub(context, a, a, b, NULL), WIA_STATUS_OK);
  CHECK(core_has(b, 0, 0));
  core_destroy(a);
  core_destroy(b);
  CHECK_STATUS(wia_free(&memory), WIA_STATUS_INVALID_ARGUMENT);
  return WIA_STATUS_OK;
}

static void test_nested(void) {
  core_start();
  const uint32_t devices[] = {CORE_PLAIN, CORE_SERIAL};
  for (uint32_t i = 0; i < 2; i++) {
    device = devices[i];
    context = core_context(device);
    wia_tensor_t a = core_tensor(context, 4, 1), b = core_tensor(context, 4, 0);
    core.in_prepare = call_from_prepare;
    CHECK_STATUS(wia_add(context, a, a, b, NULL), WIA_STATUS_OK);
    CHECK(core_has(b, 2, 2));
    CHECK_STATUS(wia_add(context, a, a, NULL, NULL), WIA_STATUS_INVALID_HANDLE);
    wia_error_info_t info = WIA_ERROR_INFO_INIT;
    CHECK_STATUS(wia_get_last_error(&info), WIA_STATUS_OK);
    CHECK(strcmp(info.function, "wia_add") == 0);
    core_destroy(a);
    core_destroy(b);
    CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  }
  CHECK_CLEAN();
}

/* The operands go while the kernel is being prepared for them. */
static wia_tensor_t victim;
static wia_status_t destroy_in_prepare(void) {
  core_destroy(victim);
  return WIA_STATUS_OK;
}

static void test_destroyed_meanwhile(void) {
  core_start();
  device = CORE_PLAIN;
  context = core_context(device);
  wia_tensor_t a = core_tensor(context, 4, 1);
  core.in_prepare = destroy_in_prepare;
  victim = core_tensor(context, 4, 0);
  CHECK_STATUS(wia_add(context, a, a, victim, NULL), WIA_STATUS_INVALID_HANDLE);
  victim = core_tensor(context, 4, 0);
  CHECK_STATUS(wia_sub(context, a, victim, a, NULL), WIA_STATUS_INVALID_HANDLE);
  core.in_prepare = NULL;
  CHECK(core_has(a, 1, 1));
  core_destroy(a);
  CHECK_CLEAN();
}

/* A learning-rate schedule and a random seed run 1,000 steps with one prepare each: scalars of the
 * launch are in no key. On a stream they are those of the call, not of the moment when it runs. */
static void test_schedule_and_seed(uint32_t device, bool on_stream) {
  enum { STEPS = 1000 };
  wia_context_t *context = core_context(device);
  wia_stream_t *stream = NULL;
  if (on_stream) CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  wia_tensor_t gradient = core_tensor(context, 4, 1), noisy = core_tensor(context, 4, 0);
  wia_tensor_t step = core_tensor(context, 4, 0), weights = core_tensor(context, 4, 0);
  const float zeros[4] = {0};
  CHECK_STATUS(wia_write_tensor(weights, zeros, sizeof zeros, NULL), WIA_STATUS_OK);
  const uint32_t prepares = core.prepares;
  double sum = 0;
  for (uint32_t i = 0; i < STEPS; i++) {
    wia_scale_config_t rate = WIA_SCALE_CONFIG_INIT;
    wia_dropout_config_t noise = WIA_DROPOUT_CONFIG_INIT;
    rate.factor = 1.0 / (1 << (i / 125)); /* halved every 125 steps */
    noise.seed = i % 64;
    CHECK_STATUS(wia_dropout(context, gradient, noisy, NULL, &noise, stream), WIA_STATUS_OK);
    CHECK_STATUS(wia_scale(context, noisy, step, &rate, stream), WIA_STATUS_OK);
    CHECK_STATUS(wia_add(context, weights, step, weights, stream), WIA_STATUS_OK);
    sum += rate.factor * (1 + noise.seed);
  }
  if (stream) CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  float host[4];
  CHECK_STATUS(wia_read_tensor(weights, host, sizeof host, NULL), WIA_STATUS_OK);
  CHECK(host[0] == (float)sum); /* exact: sums of powers of two */
  CHECK(core.prepares - prepares == 3);
  const wia_tensor_t all[] = {gradient, noisy, step, weights};
  for (uint32_t i = 0; i < 4; i++) core_destroy(all[i]);
  if (stream) CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

static void test_scalars(void) {
  core_start();
  test_schedule_and_seed(CORE_PLAIN, false);
  test_schedule_and_seed(CORE_OTHER, true);
  test_schedule_and_seed(CORE_QUEUED, true);
}

int main(void) {
  RUN_ALONE(test_scalars);
  RUN_ALONE(test_thread_safe);
  RUN_ALONE(test_turns);
  RUN_ALONE(test_serial);
  RUN_ALONE(test_workspace);
  RUN_ALONE(test_workspace_exhausted);
  RUN_ALONE(test_nested);
  RUN_ALONE(test_destroyed_meanwhile);
  return CHECK_DONE();
}
