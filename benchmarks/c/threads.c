/* threads DEVICE: calls from 1 to 8 threads at once, with a context for each and with one for all. */
#include <stdio.h>

#include "crew.h"
#include "work.h"

enum { MAX_CALLS = 20000, MIN_CALLS = 100, TURN_NS = 50000000 };

typedef struct subject_t {
  crew_t crew;
  uint32_t calls;            /* of each thread in a turn */
  work_t works[MAX_THREADS]; /* each on memory of its own */
  wia_context_t *contexts[MAX_THREADS];
  direct_t directs[MAX_THREADS];
} subject_t;

static void run_direct(void *context, uint32_t thread) {
  const subject_t *subject = context;
  const direct_t *direct = &subject->directs[thread];
  for (uint32_t i = 0; i < subject->calls; i++)
    check(direct->kernel.fn(direct->kernel.state, &direct->args));
}

static void run_own(void *context, uint32_t thread) {
  const subject_t *subject = context;
  for (uint32_t i = 0; i < subject->calls; i++) check(run_work(&subject->works[thread], NULL));
}

static void run_shared(void *context, uint32_t thread) {
  const subject_t *subject = context;
  work_t work = subject->works[thread];
  work.context = subject->works[0].context;
  for (uint32_t i = 0; i < subject->calls; i++) check(run_work(&work, NULL));
}

static double turn(subject_t *subject, void (*run)(void *context, uint32_t thread)) {
  return run_crew(&subject->crew, run, subject) / (subject->calls * subject->crew.count);
}

static double turn_direct(void *subject) { return turn(subject, run_direct); }
static double turn_own(void *subject) { return turn(subject, run_own); }
static double turn_shared(void *subject) { return turn(subject, run_shared); }

/* Threads that take turns at an interpreter are slow: a turn is as long on every device. */
static void choose_calls(subject_t *subject) {
  subject->calls = MIN_CALLS;
  turn_own(subject); /* the first calls prepare the kernel */
  const double calls = TURN_NS / (turn_own(subject) * subject->crew.count);
  subject->calls = calls > MAX_CALLS ? MAX_CALLS : calls < MIN_CALLS ? MIN_CALLS : (uint32_t)calls;
}

int main(int argc, char **argv) {
  static subject_t subject;
  require_true(argc == 2, "usage: threads DEVICE");
  for (uint32_t i = 0; i < MAX_THREADS; i++) {
    make_work(&subject.works[i], argv[1], WORK_ADD);
    prepare_direct(&subject.directs[i], &subject.works[i], argv[1]);
  }
  const variant_t variants[] = {{"direct", &subject, NULL, turn_direct},
                                {"own", &subject, NULL, turn_own},
                                {"shared", &subject, NULL, turn_shared}};
  for (uint32_t count = 1; count <= MAX_THREADS; count *= 2) {
    char group[32];
    snprintf(group, sizeof group, "threads %u", (unsigned)count);
    gather_crew(&subject.crew, count);
    choose_calls(&subject);
    measure(group, kernel_name(&subject.works[0]), variants, 3);
    dismiss_crew(&subject.crew);
  }
  for (uint32_t i = 0; i < MAX_THREADS; i++) {
    end_direct(&subject.directs[i]);
    end_work(&subject.works[i]);
  }
  return 0;
}
