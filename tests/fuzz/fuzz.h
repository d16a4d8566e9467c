/* fuzz.h: what the fuzzers share: options, random numbers, and the loop over cases.
 *
 *     fuzz_NAME [--seed N] [--cases N | --seconds N] [--threads N]
 *
 * A case is made from its seed alone, and the next one has the next seed: the last "case N" that a
 * failing run printed is the one that `--seed N --cases 1` plays again. With one thread it is the same
 * to the last call; with more, the calls of each thread are the same and their order is not. */
#ifndef FUZZ_H
#define FUZZ_H

#include <time.h>

#include "check.h"

typedef struct fuzz_options_t {
  uint64_t seed, cases; /* cases 0: as many as the seconds allow */
  uint32_t seconds, threads;
} fuzz_options_t;

/* Each thread has its own. */
typedef struct fuzz_random_t {
  uint64_t state;
} fuzz_random_t;

/* Neighbouring seeds give unlike numbers: the seed goes through the mixer of splitmix64. */
static inline fuzz_random_t fuzz_random(uint64_t seed, uint64_t thread) {
  uint64_t bits = seed * UINT64_C(0x9e3779b97f4a7c15) + thread * UINT64_C(0xd1342543de82ef95) + 1;
  bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (fuzz_random_t){(bits ^ (bits >> 31)) | 1};
}

static inline uint64_t fuzz_bits(fuzz_random_t *random) {
  random->state ^= random->state << 13;
  random->state ^= random->state >> 7;
  random->state ^= random->state << 17;
  return random->state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline uint32_t fuzz_below(fuzz_random_t *random, uint32_t bound) {
  return (uint32_t)(fuzz_bits(random) >> 33) % bound;
}

static inline bool fuzz_one_in(fuzz_random_t *random, uint32_t count) {
  return fuzz_below(random, count) == 0;
}

/* Exits with 2 for options that it doesn't know. */
static inline fuzz_options_t fuzz_options(int count, char **arguments, fuzz_options_t options) {
  for (int i = 1; i < count; i += 2) {
    char *end = NULL;
    const unsigned long long value = i + 1 < count ? strtoull(arguments[i + 1], &end, 0) : 0;
    const bool is_number = end && end != arguments[i + 1] && !*end;
    if (is_number && !strcmp(arguments[i], "--seed")) {
      options.seed = value;
    } else if (is_number && !strcmp(arguments[i], "--cases")) {
      options.cases = value;
    } else if (is_number && !strcmp(arguments[i], "--seconds")) {
      options.seconds = (uint32_t)value;
      options.cases = 0;
    } else if (is_number && value >= 1 && value <= 64 && !strcmp(arguments[i], "--threads")) {
      options.threads = (uint32_t)value;
    } else {
      fprintf(stderr, "usage: %s [--seed N] [--cases N | --seconds N] [--threads N up to 64]\n",
              arguments[0]);
      exit(2);
    }
  }
  return options;
}

/* Runs cases until one fails. A case that hangs for two minutes ends the process. */
static inline void fuzz_run(const fuzz_options_t *options,
                            bool (*run_case)(const fuzz_options_t *options, uint64_t seed)) {
  const time_t start = time(NULL);
  uint64_t done = 0;
  bool fine = true;
  for (; fine; done++) {
    if (options->cases ? done == options->cases : time(NULL) - start >= (time_t)options->seconds)
      break;
    printf("case %llu\n", (unsigned long long)(options->seed + done));
    fflush(stdout);
    alarm(120);
    fine = run_case(options, options->seed + done);
  }
  alarm(0);
  printf("%llu cases from seed %llu in %lld s\n", (unsigned long long)done,
         (unsigned long long)options->seed, (long long)(time(NULL) - start));
  CHECK(fine);
}

#endif
