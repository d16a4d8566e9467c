/* The layer validate: what is one place in memory, on one thread and on many. Beside each check: the guard without which it
 * fails. */
#include "core_validate.h"

/* -- places in memory ---------------------------------------------------------------------------- */

static wia_tensor_t view(wia_tensor_t of, int64_t offset, int64_t count, int64_t stride) {
  wia_tensor_t made = NULL;
  CHECK_STATUS(wia_view_tensor(of, offset, &count, &stride, 1, &made), WIA_STATUS_OK);
  return made;
}

/* region.c: regions_meet. */
static void test_views(void) {
  set_up();
  const struct {
    int64_t offset, count, stride;
    int64_t offset_2, count_2, stride_2;
    uint32_t races;
  } cases[] = {
      {0, 8, 2, 1, 8, 2, 0},   {0, 8, 1, 8, 8, 1, 0},    {0, 8, 1, 7, 8, 1, 1},
      {0, 8, 2, 2, 2, 6, 1},   {0, 4, 4, 1, 5, 3, 1},    {0, 4, 4, 2, 4, 4, 0},
      {15, 8, -2, 0, 8, 2, 0}, {15, 8, -2, 1, 2, 14, 1}, {0, 5, 3, 1, 3, 6, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    wia_tensor_t left = view(a, cases[i].offset, cases[i].count, cases[i].stride);
    wia_tensor_t right = view(a, cases[i].offset_2, cases[i].count_2, cases[i].stride_2);
    add(left, left, one);
    add(right, right, two);
    const uint64_t found = count_findings();
    if (!CHECK((found != 0) == cases[i].races)) printf("  case %d\n", (int)i);
    finish_all();
    core_destroy(left);
    core_destroy(right);
  }
  tear_down();
}

/* Columns of one matrix, and rows of another order. */
static void test_matrices(void) {
  set_up();
  wia_tensor_t columns[2], block = NULL;
  const int64_t shape[] = {4, 2}, strides[] = {4, 1}, square[] = {2, 2};
  for (int64_t i = 0; i < 2; i++)
    CHECK_STATUS(wia_view_tensor(a, 2 * i, shape, strides, 2, &columns[i]), WIA_STATUS_OK);
  CHECK_STATUS(wia_view_tensor(a, 5, square, strides, 2, &block), WIA_STATUS_OK);
  add(columns[0], columns[0], one);
  add(columns[1], columns[1], two);
  CHECK_NONE();
  add(block, block, three);
  CHECK(count_findings() != 0);
  core_destroy(columns[0]);
  core_destroy(columns[1]);
  core_destroy(block);
  tear_down();
}

static void test_host_memory(void) {
  set_up();
  float values[COUNT], more[COUNT];
  CHECK_STATUS(wia_read_tensor(a, values, sizeof values, one), WIA_STATUS_OK);
  CHECK_STATUS(wia_write_tensor(b, values, sizeof values, two), WIA_STATUS_OK);
  CHECK_RACE(READ_AFTER_WRITE, "of the host from");
  finish_all();
  CHECK_STATUS(wia_read_tensor(a, values, sizeof values, one), WIA_STATUS_OK);
  CHECK_STATUS(wia_read_tensor(a, more, sizeof more, two), WIA_STATUS_OK);
  CHECK_NONE();
  CHECK_STATUS(wia_write_tensor(b, values, sizeof values, NULL), WIA_STATUS_OK); /* too early */
  CHECK_RACE(READ_AFTER_WRITE, "write without a stream reads its source");
  finish_all();
  tear_down();
}

/* Memory that was freed is another's when it is given out again. */
static void test_reuse(void) {
  set_up();
  for (int i = 0; i < 20; i++) {
    wia_tensor_t fresh = core_tensor(context, COUNT, 0);
    add(fresh, fresh, i % 2 ? one : two);
    core_destroy(fresh);
  }
  CHECK_NONE();
  tear_down();
}

/* -- threads ------------------------------------------------------------------------------------- */

static void *stand_in(void *unused) {
  CHECK_STATUS(wia_relu(context, a, b, NULL), WIA_STATUS_OK);
  return unused;
}

/* Threads that are in the same memory at the same time; not those that aren't. */
static void test_threads(void) {
  set_up();
  pthread_t thread;
  add(a, b, NULL);
  core_close_gate();
  CHECK(pthread_create(&thread, NULL, stand_in, NULL) == 0);
  CHECK(core_await_gate(1));
  add(a, c, NULL); /* both read */
  CHECK_NONE();
  add(c, b, NULL); /* shadow.c, is_before: in it */
  CHECK_RACE(WRITE_AFTER_WRITE, "two threads are in it at the same time");
  add(c, b, one);
  CHECK_RACE(WRITE_AFTER_WRITE, "two threads are in it at the same time");
  core_open_gate();
  pthread_join(thread, NULL);
  finish_all();
  add(a, b, NULL);
  add(c, b, one);
  CHECK_NONE();
  tear_down();
}

/* More streams than are told apart at once, and more accesses than are kept. */
static void test_many(void) {
  set_up();
  CHECK_STATUS(wia_signal_event(event, WIA_STATUS_OK, NULL), WIA_STATUS_OK);
  for (int i = 0; i < 300; i++) {
    wia_stream_t *stream = NULL;
    CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
    enqueue_wait(stream, event);
    add(a, b, stream);
    record(event, stream);
    wia_destroy_stream(stream);
  }
  enqueue_wait(one, event);
  for (int64_t i = 0; i < 600; i++) {
    wia_tensor_t part = view(b, i % COUNT, 1, 1);
    add(part, part, one);
    core_destroy(part);
  }
  CHECK_NONE();
  finish(one);
  tear_down();
}

static void run_tests(void) {
  test_views();
  test_matrices();
  test_host_memory();
  test_reuse();
  test_threads();
  test_many();
}

int main(void) { return run_on_all_sorts(run_tests); }
