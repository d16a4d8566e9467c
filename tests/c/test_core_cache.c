/* The cache of prepared kernels: its counts, its bound, one preparation a signature, refusals. Each
 * test in a process of its own, since the counts are those of a process. */
#include "core_driver.h"

static const char *const default_size = ""; /* empty is unset */

static wia_context_t *context;

static void start(const char *cache_size) {
  setenv("WIA_PLAN_CACHE_SIZE", cache_size, 1);
  core_start();
  context = core_context(CORE_PLAIN);
}

static void check_counts_are(uint64_t hits, uint64_t misses, uint64_t entries, uint64_t evictions) {
  const wia_plan_cache_stats_t stats = core_cache(CORE_PLAIN);
  if (!CHECK(stats.hit_count == hits && stats.miss_count == misses &&
             stats.entry_count == entries && stats.eviction_count == evictions))
    printf("  hits %llu, misses %llu, entries %llu, evictions %llu\n",
           (unsigned long long)stats.hit_count, (unsigned long long)stats.miss_count,
           (unsigned long long)stats.entry_count, (unsigned long long)stats.eviction_count);
}

static void add_times(int64_t size, uint32_t times) {
  wia_tensor_t a = core_tensor(context, size, 1), b = core_tensor(context, size, 0);
  for (uint32_t i = 0; i < times; i++) CHECK_STATUS(wia_add(context, a, a, b, NULL), WIA_STATUS_OK);
  CHECK(core_has(b, 2, 2));
  core_destroy(a);
  core_destroy(b);
}

/* -- counts -------------------------------------------------------------------------------------- */

static void test_counts(void) {
  start(default_size);
  check_counts_are(0, 0, 0, 0);
  CHECK(core_cache(CORE_PLAIN).capacity == 1024);
  add_times(4, 1);
  check_counts_are(0, 1, 1, 0);
  add_times(4, 100);
  check_counts_are(100, 1, 1, 0);
  add_times(5, 10);
  check_counts_are(109, 2, 2, 0);
  wia_tensor_t a = core_tensor(context, 4, 0), b = core_tensor(context, 4, 0);
  const wia_tensor_t operands[] = {a, b, a};
  CHECK_STATUS(wia_add(context, a, b, a, NULL), WIA_STATUS_OK); /* in place: another signature */
  check_counts_are(109, 3, 3, 0);
  CHECK_STATUS(wia_sub(context, a, b, a, NULL), WIA_STATUS_OK);
  check_counts_are(109, 4, 4, 0);
  /* by whatever way it comes, a signature is the same */
  CHECK_STATUS(wia_execute(context, WIA_OP_ADD, operands, 2, operands + 2, 1, NULL, 0, NULL),
               WIA_STATUS_OK);
  check_counts_are(110, 4, 4, 0);
  wia_tensor_info_t ia = WIA_TENSOR_INFO_INIT, ib = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(a, &ia), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_tensor_info(b, &ib), WIA_STATUS_OK);
  const int64_t shape[] = {4};
  const wia_view_t views[] = {{ia.address, shape, NULL, WIA_FLOAT32, 1},
                              {ib.address, shape, NULL, WIA_FLOAT32, 1}};
  CHECK_STATUS(wia_execute_views(context, WIA_OP_ADD, views, 2, views, 1, NULL, 0, NULL),
               WIA_STATUS_OK);
  check_counts_are(111, 4, 4, 0);
  wia_plan_t *plan = NULL;
  CHECK_STATUS(
      wia_create_operation_plan(context, WIA_OP_ADD, operands, 2, operands + 2, 1, NULL, 0, &plan),
      WIA_STATUS_OK);
  check_counts_are(112, 4, 4, 0);
  for (uint32_t i = 0; i < 10; i++)
    CHECK_STATUS(wia_execute_plan(plan, operands, 3, NULL, 0, NULL), WIA_STATUS_OK);
  check_counts_are(112, 4, 4, 0); /* a plan is not looked up */
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, a, b, a, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  check_counts_are(113, 4, 4, 0);
  CHECK_STATUS(wia_add(context, a, b, NULL, NULL), WIA_STATUS_INVALID_HANDLE);
  wia_tensor_t c = core_tensor(context, 3, 0);
  CHECK_STATUS(wia_add(context, a, c, a, NULL), WIA_STATUS_INVALID_ARGUMENT);
  check_counts_are(113, 4, 4, 0); /* refused before a kernel was looked for */
  CHECK(core.prepares == 4);
}

/* Scalars are the launch's, attributes the signature's. */
static void test_signatures(void) {
  start(default_size);
  const int64_t shape[] = {3, 3};
  wia_tensor_t a = core_empty(context, 2, shape), c = core_empty(context, 2, shape);
  const float ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  CHECK_STATUS(wia_write_tensor(a, ones, sizeof ones, NULL), WIA_STATUS_OK);
  wia_matmul_config_t config = WIA_MATMUL_CONFIG_INIT;
  for (uint32_t i = 0; i < 20; i++) {
    config.alpha = i;
    CHECK_STATUS(wia_matmul(context, a, a, c, &config, NULL), WIA_STATUS_OK);
    CHECK(core_has(c, 3.0f * (float)i, 0));
  }
  config.beta = 0.5;
  CHECK_STATUS(wia_matmul(context, a, a, c, &config, NULL), WIA_STATUS_OK);
  CHECK(core_has(c, 57 + 28.5f, 0));
  check_counts_are(20, 1, 1, 0);
  CHECK(core.prepares == 1);
  config.transpose_a = 1;
  CHECK_STATUS(wia_matmul(context, a, a, c, &config, NULL), WIA_STATUS_OK);
  check_counts_are(20, 2, 2, 0);
  CHECK_STATUS(wia_matmul(context, a, a, c, NULL, NULL), WIA_STATUS_OK); /* the defaults */
  check_counts_are(21, 2, 2, 0);
}

/* -- the bound ----------------------------------------------------------------------------------- */

static void test_bound(void) {
  enum { CAPACITY = 4, COUNT = 40 };
  start("4");
  CHECK(core_cache(CORE_PLAIN).capacity == CAPACITY);
  for (uint32_t i = 0; i < COUNT; i++) add_times(1 + (int64_t)i, 2);
  check_counts_are(COUNT, COUNT, CAPACITY, COUNT - CAPACITY);
  CHECK_CLEAN(); /* what went was released */
  CHECK(core.kernels - core.releases == CAPACITY);
  add_times(COUNT, 1); /* the last one is still there */
  check_counts_are(COUNT + 1, COUNT, CAPACITY, COUNT - CAPACITY);
  add_times(1, 1); /* the first isn't */
  check_counts_are(COUNT + 1, COUNT + 1, CAPACITY, COUNT + 1 - CAPACITY);
}

/* What is used all the time stays, whatever else passes by. */
static void test_used_stays(void) {
  start("4");
  add_times(1000, 1);
  for (int64_t i = 0; i < 40; i++) {
    add_times(1000, 1);
    add_times(1 + i, 1);
  }
  const wia_plan_cache_stats_t stats = core_cache(CORE_PLAIN);
  CHECK(stats.hit_count == 40 && stats.miss_count == 41);
}

/* What was used once upon a time makes room for what is used now. */
static void test_phases(void) {
  start("8");
  for (int64_t i = 0; i < 8; i++) add_times(100 + i, 10);
  for (uint32_t round = 0; round < 20; round++) {
    for (int64_t i = 0; i < 5; i++) add_times(1 + i, 1);
  }
  const wia_plan_cache_stats_t stats = core_cache(CORE_PLAIN);
  if (!CHECK(stats.miss_count <= 8 + 2 * 5))
    printf("  %llu misses\n", (unsigned long long)stats.miss_count);
}

static void test_bad_size(void) {
  start("many");
  CHECK(core_cache(CORE_PLAIN).capacity == 1024);
}

/* A kernel that is running, or is held by a plan, survives its eviction. */
static void test_evict_in_use(void) {
  start("1");
  wia_stream_t *stream = NULL;
  wia_plan_t *plan = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  wia_tensor_t a = core_tensor(context, 4, 1), b = core_tensor(context, 4, 0);
  const wia_tensor_t operands[] = {a, a, b};
  CHECK_STATUS(
      wia_create_operation_plan(context, WIA_OP_MUL, operands, 2, operands + 2, 1, NULL, 0, &plan),
      WIA_STATUS_OK);
  core_close_gate();
  CHECK_STATUS(wia_relu(context, a, b, stream), WIA_STATUS_OK);
  CHECK(core_await_gate(1));
  for (int64_t i = 5; i < 10; i++) add_times(i, 1);
  CHECK(core_cache(CORE_PLAIN).entry_count == 1);
  CHECK(core.kernels - core.releases == 3); /* the plan's, the running one's, the cache's */
  core_open_gate();
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK(core_has(b, 1, 1));
  CHECK_STATUS(wia_execute_plan(plan, operands, 3, NULL, 0, NULL), WIA_STATUS_OK);
  float host[4];
  CHECK_STATUS(wia_read_tensor(b, host, sizeof host, NULL), WIA_STATUS_OK);
  CHECK(host[1] == 4 && host[3] == 16);
  CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  core_destroy(a);
  core_destroy(b);
  CHECK_CLEAN();
  CHECK(core.kernels - core.releases == 1);
}

/* -- one preparation ----------------------------------------------------------------------------- */

enum { THREADS = 8 };
static pthread_barrier_t barrier;
static wia_tensor_t shared[THREADS + 1];
static wia_status_t expected_status;

static void *add_in_thread(void *argument) {
  const wia_tensor_t output = *(wia_tensor_t *)argument;
  pthread_barrier_wait(&barrier);
  for (uint32_t i = 0; i < 10; i++)
    CHECK_STATUS(wia_add(context, shared[THREADS], shared[THREADS], output, NULL), expected_status);
  return NULL;
}

static void add_from_threads(int64_t size, wia_status_t expected) {
  pthread_t threads[THREADS];
  expected_status = expected;
  pthread_barrier_init(&barrier, NULL, THREADS);
  for (uint32_t i = 0; i <= THREADS; i++) shared[i] = core_tensor(context, size, 1);
  for (uint32_t i = 0; i < THREADS; i++)
    CHECK(pthread_create(&threads[i], NULL, add_in_thread, &shared[i]) == 0);
  for (uint32_t i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  for (uint32_t i = 0; i <= THREADS; i++) {
    if (!expected && i < THREADS) CHECK(core_has(shared[i], 2, 2));
    core_destroy(shared[i]);
  }
}

static void test_prepare_once(void) {
  start(default_size);
  core.prepare_delay_ms = 50;
  add_from_threads(100, WIA_STATUS_OK);
  CHECK(core.prepares == 1 && core.launches == 10 * THREADS);
  const wia_plan_cache_stats_t stats = core_cache(CORE_PLAIN);
  CHECK(stats.hit_count + stats.miss_count == 10 * THREADS);
  CHECK(stats.miss_count >= 1 && stats.miss_count <= THREADS);
  /* another signature is not held up by one that takes long: see test_prepare_apart */
}

static void *slow_add(void *unused) {
  (void)unused;
  add_times(50, 1);
  return NULL;
}

static void test_prepare_apart(void) {
  start(default_size);
  pthread_t thread;
  add_times(49, 1);
  core.prepare_delay_ms = 300;
  CHECK(pthread_create(&thread, NULL, slow_add, NULL) == 0);
  while (core.prepares < 2) usleep(1000);
  add_times(49, 100); /* while the other is being prepared */
  const uint32_t launches = core.launches;
  CHECK(launches == 101);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(core.launches == 102);
}

/* -- refusals ------------------------------------------------------------------------------------ */

static void test_refusals(void) {
  start(default_size);
  wia_tensor_t a = core_tensor(context, 4, 1), s = core_empty(context, 0, NULL);
  for (uint32_t i = 0; i < 5; i++) {
    CHECK_STATUS(wia_reduce_sum(context, a, s, NULL, NULL), WIA_STATUS_UNIMPLEMENTED);
    CHECK_MESSAGE("reduce_sum on core:0 (float32)");
    CHECK_MESSAGE("the test has no such kernel");
    wia_error_info_t info = WIA_ERROR_INFO_INIT;
    CHECK_STATUS(wia_get_last_error(&info), WIA_STATUS_OK);
    CHECK(strcmp(info.driver, "core") == 0 && strcmp(info.function, "wia_reduce_sum") == 0);
  }
  CHECK(core.prepares == 1); /* asked once */
  CHECK(core_cache(CORE_PLAIN).entry_count == 1);
  core.prepare_status = WIA_STATUS_UNIMPLEMENTED;
  core.prepare_delay_ms = 50;
  add_from_threads(31, WIA_STATUS_UNIMPLEMENTED);
  CHECK(core.prepares == 2);
  /* what may pass is asked again */
  const wia_status_t passing[] = {WIA_STATUS_RESOURCE_EXHAUSTED, WIA_STATUS_UNAVAILABLE,
                                  WIA_STATUS_DEVICE_LOST, WIA_STATUS_INTERNAL};
  core.prepare_delay_ms = 0;
  wia_tensor_t b = core_tensor(context, 4, 0);
  for (uint32_t i = 0; i < 4; i++) {
    core.prepare_status = passing[i];
    CHECK_STATUS(wia_add(context, a, a, b, NULL), passing[i]);
    CHECK_MESSAGE("the test wants a refusal");
    CHECK(core.prepares == 3 + i);
  }
  core.prepare_status = WIA_STATUS_OK;
  CHECK_STATUS(wia_add(context, a, a, b, NULL), WIA_STATUS_OK);
  CHECK(core_has(b, 2, 2));
  CHECK(core_cache(CORE_PLAIN).entry_count == 3);
}

static void test_no_function(void) {
  start(default_size);
  core.prepare_nothing = true;
  wia_tensor_t a = core_tensor(context, 4, 1), b = core_tensor(context, 4, 0);
  CHECK_STATUS(wia_add(context, a, a, b, NULL), WIA_STATUS_INTERNAL);
  CHECK_MESSAGE("defect of the driver");
  core.prepare_nothing = false;
  CHECK_STATUS(wia_add(context, a, a, b, NULL), WIA_STATUS_OK);
  core.workspace_alignment = 48;
  CHECK_STATUS(wia_div(context, a, a, b, NULL), WIA_STATUS_INTERNAL);
  core.workspace_alignment = 0;
  CHECK_STATUS(wia_div(context, a, a, b, NULL), WIA_STATUS_OK);
  core_destroy(a);
  core_destroy(b);
}

int main(void) {
  RUN_ALONE(test_counts);
  RUN_ALONE(test_signatures);
  RUN_ALONE(test_bound);
  RUN_ALONE(test_used_stays);
  RUN_ALONE(test_phases);
  RUN_ALONE(test_bad_size);
  RUN_ALONE(test_evict_in_use);
  RUN_ALONE(test_prepare_once);
  RUN_ALONE(test_prepare_apart);
  RUN_ALONE(test_refusals);
  RUN_ALONE(test_no_function);
  return CHECK_DONE();
}
