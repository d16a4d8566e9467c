/* graph DEVICE: what a node of a graph costs beside its kernel, and beside the same call enqueued. */
#include "work.h"

enum { NODES = 64, LAUNCHES = 50 };

typedef struct subject_t {
  work_t work;
  direct_t direct;
  wia_stream_t *stream;
  wia_executable_t *executable;
} subject_t;

static void wait_for(wia_stream_t *stream) {
  REQUIRE(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE));
}

static double per_node(int64_t start_ns) {
  return (double)(now_ns() - start_ns) / (NODES * LAUNCHES);
}

static double turn_direct(void *context) {
  subject_t *subject = context;
  const wia_kernel_fn_t fn = subject->direct.kernel.fn;
  void *state = subject->direct.kernel.state;
  const int64_t start_ns = now_ns();
  for (uint32_t i = 0; i < NODES * LAUNCHES; i++) check(fn(state, &subject->direct.args));
  return per_node(start_ns);
}

static double turn_launch(void *context) {
  subject_t *subject = context;
  const int64_t start_ns = now_ns();
  for (uint32_t i = 0; i < LAUNCHES; i++) check(wia_launch_graph(subject->executable, NULL));
  return per_node(start_ns);
}

static double turn_stream(void *context) {
  subject_t *subject = context;
  const int64_t start_ns = now_ns();
  for (uint32_t i = 0; i < LAUNCHES; i++)
    check(wia_launch_graph(subject->executable, subject->stream));
  wait_for(subject->stream);
  return per_node(start_ns);
}

static double turn_enqueue(void *context) {
  subject_t *subject = context;
  const int64_t start_ns = now_ns();
  for (uint32_t i = 0; i < NODES * LAUNCHES; i++) check(run_work(&subject->work, subject->stream));
  wait_for(subject->stream);
  return per_node(start_ns);
}

static void capture(subject_t *subject) {
  wia_graph_t *graph = NULL;
  REQUIRE(wia_begin_capture(subject->stream, NULL));
  for (uint32_t i = 0; i < NODES; i++) REQUIRE(run_work(&subject->work, subject->stream));
  REQUIRE(wia_end_capture(subject->stream, &graph));
  REQUIRE(wia_instantiate_graph(graph, NULL, &subject->executable));
  REQUIRE(wia_destroy_graph(graph));
}

static void measure_graph(const char *group, const char *device, work_op_t op) {
  static subject_t subject;
  make_work(&subject.work, device, op);
  prepare_direct(&subject.direct, &subject.work, device);
  REQUIRE(wia_create_stream(&subject.stream, subject.work.context));
  capture(&subject);
  const variant_t variants[] = {{"direct", &subject, NULL, turn_direct},
                                {"launch", &subject, NULL, turn_launch},
                                {"stream", &subject, NULL, turn_stream},
                                {"enqueue", &subject, NULL, turn_enqueue}};
  measure(group, kernel_name(&subject.work), variants, sizeof variants / sizeof *variants);
  REQUIRE(wia_destroy_executable(subject.executable));
  REQUIRE(wia_destroy_stream(subject.stream));
  end_direct(&subject.direct);
  end_work(&subject.work);
}

int main(int argc, char **argv) {
  require_true(argc == 2, "usage: graph DEVICE");
  measure_graph("add", argv[1], WORK_ADD);
  measure_graph("matmul", argv[1], WORK_MATMUL);
  return 0;
}
