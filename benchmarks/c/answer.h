/* answer.h: a thread that waits on a condition variable and answers: what a program without a library
 * would write, and so the peer of streams and events. */
#ifndef BENCHMARKS_ANSWER_H
#define BENCHMARKS_ANSWER_H

#include <pthread.h>
#include <stdint.h>

typedef struct answer_t {
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t asked, answered;
  uint32_t ask, answer, stop;
} answer_t;

void start_answer(answer_t *answer);
void stop_answer(answer_t *answer);

/* Wakes the thread and doesn't wait. */
void ask(answer_t *answer);
void await_answer(answer_t *answer);

#endif
