/* stream DEVICE: putting work on a stream, waking its worker, and events. */
#include <stdio.h>
#include <time.h>

#include "answer.h"
#include "work.h"

enum { BURST = 1000, IDLE_NS = 200000, SLEEP_NS = 100000000 };

typedef struct subject_t {
  work_t work;
  direct_t direct;
  wia_stream_t *streams[2];
  wia_event_t *events[2];
  answer_t answers[2];
} subject_t;

static void fall_asleep(int64_t ns) {
  nanosleep(&(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}, NULL);
}

static void wait_for(wia_stream_t *stream) {
  REQUIRE(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE));
}

/* -- a burst: the calls alone, with the worker running beside them ------------------------------- */

static double turn_enqueue(void *context) {
  subject_t *subject = context;
  const int64_t start = now_ns();
  for (uint32_t i = 0; i < BURST; i++) check(run_work(&subject->work, subject->streams[0]));
  const double time = (double)(now_ns() - start) / BURST;
  wait_for(subject->streams[0]);
  return time;
}

static double turn_burst(void *context) {
  subject_t *subject = context;
  const int64_t start = now_ns();
  for (uint32_t i = 0; i < BURST; i++) check(run_work(&subject->work, subject->streams[0]));
  wait_for(subject->streams[0]);
  return (double)(now_ns() - start) / BURST;
}

static double turn_direct(void *context) {
  subject_t *subject = context;
  const wia_driver_kernel_t *kernel = &subject->direct.kernel;
  const int64_t start = now_ns();
  for (uint32_t i = 0; i < BURST; i++) check(kernel->fn(kernel->state, &subject->direct.args));
  return (double)(now_ns() - start) / BURST;
}

/* -- a worker that sleeps ------------------------------------------------------------------------ */

static double turn_wake(void *context) {
  subject_t *subject = context;
  fall_asleep(IDLE_NS);
  const int64_t start = now_ns();
  check(run_work(&subject->work, subject->streams[0]));
  const double time = (double)(now_ns() - start);
  wait_for(subject->streams[0]);
  return time;
}

static double turn_signal(void *context) {
  subject_t *subject = context;
  fall_asleep(IDLE_NS);
  const int64_t start = now_ns();
  ask(&subject->answers[0]);
  const double time = (double)(now_ns() - start);
  await_answer(&subject->answers[0]);
  return time;
}

static double turn_round_trip(void *context) {
  subject_t *subject = context;
  fall_asleep(IDLE_NS);
  const int64_t start = now_ns();
  check(run_work(&subject->work, subject->streams[0]));
  wait_for(subject->streams[0]);
  return (double)(now_ns() - start);
}

static double turn_answer(void *context) {
  subject_t *subject = context;
  fall_asleep(IDLE_NS);
  const int64_t start = now_ns();
  ask(&subject->answers[0]);
  await_answer(&subject->answers[0]);
  return (double)(now_ns() - start);
}

/* -- events -------------------------------------------------------------------------------------- */

static double turn_event(void *context) {
  subject_t *subject = context;
  fall_asleep(IDLE_NS);
  const int64_t start = now_ns();
  check(run_work(&subject->work, subject->streams[0]));
  check(wia_record_event(subject->events[0], subject->streams[0]));
  check(wia_wait_event(subject->events[0], WIA_TIMEOUT_INFINITE));
  return (double)(now_ns() - start);
}

/* One stream's work, then that of another one, ordered by an event. */
static double turn_chain(void *context) {
  subject_t *subject = context;
  fall_asleep(IDLE_NS);
  const int64_t start = now_ns();
  check(run_work(&subject->work, subject->streams[0]));
  check(wia_record_event(subject->events[0], subject->streams[0]));
  check(wia_enqueue_wait(subject->streams[1], subject->events[0]));
  check(run_work(&subject->work, subject->streams[1]));
  check(wia_record_event(subject->events[1], subject->streams[1]));
  check(wia_wait_event(subject->events[1], WIA_TIMEOUT_INFINITE));
  return (double)(now_ns() - start);
}

static double turn_two_answers(void *context) {
  subject_t *subject = context;
  fall_asleep(IDLE_NS);
  const int64_t start = now_ns();
  for (uint32_t i = 0; i < 2; i++) {
    ask(&subject->answers[i]);
    await_answer(&subject->answers[i]);
  }
  return (double)(now_ns() - start);
}

static void repeat_record(void *context, uint32_t count) {
  subject_t *subject = context;
  for (uint32_t i = 0; i < count; i++)
    check(wia_record_event(subject->events[0], subject->streams[0]));
}

static void repeat_query(void *context, uint32_t count) {
  subject_t *subject = context;
  int32_t state;
  for (uint32_t i = 0; i < count; i++) check(wia_query_event(subject->events[0], &state));
}

static void repeat_lock(void *context, uint32_t count) {
  subject_t *subject = context;
  for (uint32_t i = 0; i < count; i++) {
    pthread_mutex_lock(&subject->answers[0].mutex);
    pthread_mutex_unlock(&subject->answers[0].mutex);
  }
}

/* -- nothing to do ------------------------------------------------------------------------------- */

/* Processor time of the whole process while two workers have nothing to do. */
static double turn_idle(void *context) {
  (void)context;
  struct timespec before, after;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  fall_asleep(SLEEP_NS);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  return (double)(after.tv_sec - before.tv_sec) * 1e9 + (double)(after.tv_nsec - before.tv_nsec);
}

static double turn_sleep(void *context) {
  (void)context;
  const int64_t start = now_ns();
  fall_asleep(SLEEP_NS);
  return (double)(now_ns() - start);
}

#define MEASURE(group, kernel, ...)                                                                \
  measure(group, kernel, (const variant_t[]){__VA_ARGS__},                                         \
          sizeof((const variant_t[]){__VA_ARGS__}) / sizeof(variant_t))

int main(int argc, char **argv) {
  static subject_t subject;
  require_true(argc == 2, "usage: stream DEVICE");
  make_work(&subject.work, argv[1], WORK_ADD);
  prepare_direct(&subject.direct, &subject.work, argv[1]);
  for (uint32_t i = 0; i < 2; i++) {
    REQUIRE(wia_create_stream(&subject.streams[i], subject.work.context));
    REQUIRE(wia_create_event(&subject.events[i], subject.work.context));
    start_answer(&subject.answers[i]);
  }
  const char *kernel = kernel_name(&subject.work);
  MEASURE("burst", kernel, {"enqueue", &subject, NULL, turn_enqueue},
          {"done", &subject, NULL, turn_burst}, {"direct", &subject, NULL, turn_direct});
  MEASURE("wake", kernel, {"enqueue", &subject, NULL, turn_wake},
          {"signal", &subject, NULL, turn_signal});
  MEASURE("done", kernel, {"stream", &subject, NULL, turn_round_trip},
          {"answer", &subject, NULL, turn_answer});
  MEASURE("event", kernel, {"event", &subject, NULL, turn_event},
          {"answer", &subject, NULL, turn_answer});
  MEASURE("chain", kernel, {"events", &subject, NULL, turn_chain},
          {"answers", &subject, NULL, turn_two_answers});
  MEASURE("record", "", {"record", &subject, repeat_record, NULL},
          {"query", &subject, repeat_query, NULL}, {"lock", &subject, repeat_lock, NULL});
  wait_for(subject.streams[0]);
  MEASURE("idle", "", {"idle", NULL, NULL, turn_idle}, {"sleep", NULL, NULL, turn_sleep});
  for (uint32_t i = 0; i < 2; i++) {
    stop_answer(&subject.answers[i]);
    REQUIRE(wia_destroy_event(subject.events[i]));
    REQUIRE(wia_destroy_stream(subject.streams[i]));
  }
  end_direct(&subject.direct);
  end_work(&subject.work);
  return 0;
}
