/* timing.h: interleaved measuring: what is compared runs in turns, in rounds too short for the
 * machine to change its speed in between, so that the relations within a round tell. */
#ifndef BENCHMARKS_TIMING_H
#define BENCHMARKS_TIMING_H

#include <stdint.h>

#include "wia.h"

enum { MAX_VARIANTS = 8, MAX_ROUNDS = 2000 };

/* One of the things compared: exactly one of the two functions. */
typedef struct variant_t {
  const char *name;
  void *context;
  void (*repeat)(void *context, uint32_t count); /* does the work count times */
  double (*turn)(void *context); /* does it once; gives the nanoseconds that count */
} variant_t;

/* Runs the variants in turns, for BENCHMARK_SECONDS (an environment variable; 1), and prints one line:
 * {"group": name, "kernel": kernel, "times": {variant: [nanoseconds of one work, a number per round]}}.
 * kernel says which one ran; "" for work without any. */
void measure(const char *group, const char *kernel, const variant_t *variants,
             uint32_t variant_count);

int64_t now_ns(void);

/* Ends the program when something failed, with the text of wia_get_last_error(). */
void require(wia_status_t status, const char *what);
#define REQUIRE(call) require((call), #call)

/* The same for what has no status. */
void require_true(int condition, const char *what);

#endif
