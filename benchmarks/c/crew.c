#include "crew.h"

#include <stdlib.h>

#include "timing.h"

typedef struct member_t {
  crew_t *crew;
  uint32_t number;
} member_t;

static void *serve(void *argument) {
  const member_t member = *(member_t *)argument;
  free(argument);
  for (;;) {
    pthread_barrier_wait(&member.crew->start);
    if (!member.crew->run) return NULL;
    member.crew->run(member.crew->context, member.number);
    pthread_barrier_wait(&member.crew->end);
  }
}

void gather_crew(crew_t *crew, uint32_t count) {
  crew->count = count;
  pthread_barrier_init(&crew->start, NULL, count + 1);
  pthread_barrier_init(&crew->end, NULL, count + 1);
  for (uint32_t i = 0; i < count; i++) {
    member_t *member = malloc(sizeof *member);
    require_true(member != NULL, "malloc");
    *member = (member_t){.crew = crew, .number = i};
    require_true(pthread_create(&crew->threads[i], NULL, serve, member) == 0, "pthread_create");
  }
}

void dismiss_crew(crew_t *crew) {
  crew->run = NULL;
  pthread_barrier_wait(&crew->start);
  for (uint32_t i = 0; i < crew->count; i++) pthread_join(crew->threads[i], NULL);
  pthread_barrier_destroy(&crew->start);
  pthread_barrier_destroy(&crew->end);
}

double run_crew(crew_t *crew, void (*run)(void *context, uint32_t thread), void *context) {
  crew->run = run;
  crew->context = context;
  const int64_t start = now_ns();
  pthread_barrier_wait(&crew->start);
  pthread_barrier_wait(&crew->end);
  return (double)(now_ns() - start);
}
