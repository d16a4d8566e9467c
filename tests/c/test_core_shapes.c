/* Kernels for any shape: prepared once, whatever the lengths, and never mistaken for others. */
#include "core_driver.h"

enum { LENGTHS = 1000 };

static wia_context_t *context;

static void start(uint32_t flags) {
  core_start();
  context = core_context(CORE_PLAIN);
  core.kernel_flags = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE | flags;
}

static void end(void) {
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK(core.faults == 0);
}

/* a + b of a length, on a stream or without one. */
static void add(int64_t length, wia_stream_t *stream) {
  wia_tensor_t a = core_tensor(context, length, 1), b = core_tensor(context, length, 2);
  wia_tensor_t c = core_tensor(context, length, 0);
  CHECK_STATUS(wia_add(context, a, b, c, stream), WIA_STATUS_OK);
  CHECK(core_has(c, 3, 2));
  core_destroy(a);
  core_destroy(b);
  core_destroy(c);
}

static void test_many_lengths(void) {
  start(WIA_KERNEL_ANY_SHAPE);
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  for (int64_t length = 1; length <= LENGTHS; length++) add(length, length % 2 ? stream : NULL);
  CHECK(core.prepares == 1);
  CHECK(core_cache(CORE_PLAIN).miss_count == LENGTHS);
  for (int64_t length = 1; length <= LENGTHS; length++) add(length, NULL);
  CHECK(core.prepares == 1);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  end();
}

/* A kernel that doesn't say so is prepared for each, and a small cache stays small with either. */
static void test_bounded(void) {
  enum { CAPACITY = 8 };
  setenv("WIA_PLAN_CACHE_SIZE", "8", 1);
  start(0);
  for (int64_t length = 1; length <= 100; length++) add(length, NULL);
  CHECK(core.prepares == 100);
  CHECK(core_cache(CORE_PLAIN).entry_count == CAPACITY);
  core.kernel_flags |= WIA_KERNEL_ANY_SHAPE;
  for (int64_t length = 101; length <= 200; length++) add(length, NULL);
  CHECK(core.prepares == 101); /* the kernel outlives the plans that are evicted */
  CHECK(core_cache(CORE_PLAIN).entry_count == CAPACITY);
  end();
}

/* What a kernel was not prepared for takes another: rank, aliasing, strides, attributes; and shapes
 * are checked for each length. */
static void test_other_classes(void) {
  start(WIA_KERNEL_ANY_SHAPE);
  add(8, NULL);
  const int64_t square[] = {4, 4};
  wia_tensor_t a = core_tensor(context, 16, 1), b = core_tensor(context, 16, 2);
  wia_tensor_t m = core_empty(context, 2, square), n = core_empty(context, 2, square);
  const float ones[16] = {0};
  CHECK_STATUS(wia_write_tensor(m, ones, sizeof ones, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, m, m, n, NULL), WIA_STATUS_OK);
  CHECK(core.prepares == 2);
  CHECK_STATUS(wia_add(context, a, b, a, NULL), WIA_STATUS_OK); /* in place */
  CHECK(core.prepares == 3);
  CHECK(core_has(a, 3, 2));
  wia_tensor_t view = NULL, half = core_tensor(context, 8, 0);
  const int64_t length[] = {8}, stride[] = {2};
  CHECK_STATUS(wia_view_tensor(a, 0, length, stride, 1, &view), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, view, view, half, NULL), WIA_STATUS_OK);
  CHECK(core.prepares == 4);
  CHECK(core_has(half, 6, 8));
  CHECK_STATUS(wia_mul(context, half, half, half, NULL), WIA_STATUS_OK); /* another operation */
  CHECK(core.prepares == 5);
  CHECK_STATUS(wia_add(context, a, half, b, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_add(context, half, half, a, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK(core.prepares == 5);
  const wia_tensor_t all[] = {a, b, m, n, view, half};
  for (uint32_t i = 0; i < 6; i++) core_destroy(all[i]);
  end();
}

/* A workspace is of the size for one shape, so such a kernel serves that one only. */
static void test_with_a_workspace(void) {
  start(WIA_KERNEL_ANY_SHAPE);
  core.workspace_size = 256;
  for (int64_t length = 1; length <= 3; length++) {
    wia_tensor_t a = core_tensor(context, length, 1), c = core_tensor(context, length, 0);
    CHECK_STATUS(wia_div(context, a, a, c, NULL), WIA_STATUS_OK);
    CHECK(core_has(c, 1, 0));
    core_destroy(a);
    core_destroy(c);
  }
  CHECK(core.prepares == 3);
  end();
}

static void *add_in_thread(void *argument) {
  const int64_t first = *(const int64_t *)argument;
  for (int64_t i = 0; i < 100; i++) add(first + i, NULL);
  return NULL;
}

/* Kernels come and go while other threads look for them. */
static void test_threads(void) {
  enum { THREADS = 4 };
  setenv("WIA_PLAN_CACHE_SIZE", "2", 1);
  start(WIA_KERNEL_ANY_SHAPE);
  pthread_t threads[THREADS];
  int64_t first[THREADS];
  for (int64_t i = 0; i < THREADS; i++) {
    first[i] = 1 + 100 * i;
    CHECK(pthread_create(&threads[i], NULL, add_in_thread, &first[i]) == 0);
  }
  for (uint32_t i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(core.prepares >= 1 && core.prepares < 400);
  end();
}

int main(void) {
  RUN_ALONE(test_many_lengths);
  RUN_ALONE(test_bounded);
  RUN_ALONE(test_other_classes);
  RUN_ALONE(test_with_a_workspace);
  RUN_ALONE(test_threads);
  return CHECK_DONE();
}
