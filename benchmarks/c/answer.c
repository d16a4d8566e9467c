#include "answer.h"

#include "timing.h"

static void *run(void *argument) {
  answer_t *answer = argument;
  pthread_mutex_lock(&answer->mutex);
  while (!answer->stop) {
    while (answer->answer == answer->ask && !answer->stop)
      pthread_cond_wait(&answer->asked, &answer->mutex);
    answer->answer = answer->ask;
    pthread_cond_signal(&answer->answered);
  }
  pthread_mutex_unlock(&answer->mutex);
  return NULL;
}

void start_answer(answer_t *answer) {
  pthread_mutex_init(&answer->mutex, NULL);
  pthread_cond_init(&answer->asked, NULL);
  pthread_cond_init(&answer->answered, NULL);
  answer->ask = answer->answer = answer->stop = 0;
  require_true(pthread_create(&answer->thread, NULL, run, answer) == 0, "pthread_create");
}

void stop_answer(answer_t *answer) {
  pthread_mutex_lock(&answer->mutex);
  answer->stop = 1;
  pthread_cond_signal(&answer->asked);
  pthread_mutex_unlock(&answer->mutex);
  pthread_join(answer->thread, NULL);
}

void ask(answer_t *answer) {
  pthread_mutex_lock(&answer->mutex);
  answer->ask++;
  pthread_mutex_unlock(&answer->mutex);
  pthread_cond_signal(&answer->asked);
}

void await_answer(answer_t *answer) {
  pthread_mutex_lock(&answer->mutex);
  while (answer->answer != answer->ask) pthread_cond_wait(&answer->answered, &answer->mutex);
  pthread_mutex_unlock(&answer->mutex);
}
