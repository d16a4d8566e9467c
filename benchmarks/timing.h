/* timing.h: interleaved measuring: what is compared runs in turns, in rounds too short for the
 * machine to change its speed in between, so that the differences within a round tell. */
#ifndef BENCHMARKS_TIMING_H
#define BENCHMARKS_TIMING_H

#include <stdint.h>

#include "wia.h"

enum { MAX_ROUNDS = 4096, MAX_VARIANTS = 8 };

typedef struct variant_t {
  const char *name;
  void (*repeat)(void *context, uint32_t count); /* does the work count times */
  void *context;
} variant_t;

int64_t now_ns(void);

/* Prints {"name": {"ns": median, "over_ns": median of the differences to the first one}, ...} over the
 * quarter of the rounds that took the least time in all: those that nothing else disturbed. */
void compare(const variant_t *variants, uint32_t variant_count, uint32_t rounds, uint32_t repeats);

/* Sorts the values. */
double median(double *values, uint32_t count);

/* Ends the program when something failed, with the text of wia_get_last_error(). */
void require(wia_status_t status, const char *what);
#define REQUIRE(call) require((call), #call)

#endif
