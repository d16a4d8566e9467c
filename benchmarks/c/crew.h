/* crew.h: threads that do the same at the same time, again and again. */
#ifndef BENCHMARKS_CREW_H
#define BENCHMARKS_CREW_H

#include <pthread.h>
#include <stdint.h>

enum { MAX_THREADS = 8 };

typedef struct crew_t {
  pthread_t threads[MAX_THREADS];
  uint32_t count;
  pthread_barrier_t start, end;
  void (*run)(void *context, uint32_t thread); /* NULL: go home */
  void *context;
} crew_t;

void gather_crew(crew_t *crew, uint32_t count);
void dismiss_crew(crew_t *crew);

/* Lets each thread run once; gives the nanoseconds until all are done. */
double run_crew(crew_t *crew, void (*run)(void *context, uint32_t thread), void *context);

#endif
