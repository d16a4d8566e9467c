#include "timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TURN_NS = 20000, MAX_REPEATS = 1000, MIN_ROUNDS = 5 };

int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static double take_turn(const variant_t *variant, uint32_t repeats) {
  if (variant->turn) return variant->turn(variant->context);
  const int64_t start = now_ns();
  variant->repeat(variant->context, repeats);
  return (double)(now_ns() - start) / repeats;
}

/* As often as the slowest variant can in a turn; the first turns of all prepare kernels. */
static uint32_t choose_repeats(const variant_t *variants, uint32_t variant_count) {
  double slowest = 0;
  for (uint32_t v = 0; v < variant_count; v++) {
    take_turn(&variants[v], 1);
    const double time = take_turn(&variants[v], 3);
    if (time > slowest) slowest = time;
  }
  const double repeats = TURN_NS / (slowest > 1 ? slowest : 1);
  return repeats < 1 ? 1 : repeats > MAX_REPEATS ? MAX_REPEATS : (uint32_t)repeats;
}

static int64_t limit_ns(void) {
  const char *seconds = getenv("BENCHMARK_SECONDS");
  return (int64_t)((seconds ? strtod(seconds, NULL) : 1) * 1e9);
}

void measure(const char *group, const char *kernel, const variant_t *variants,
             uint32_t variant_count) {
  static double times[MAX_VARIANTS][MAX_ROUNDS];
  const uint32_t repeats = choose_repeats(variants, variant_count);
  for (uint32_t v = 0; v < variant_count; v++) take_turn(&variants[v], repeats);
  const int64_t end = now_ns() + limit_ns();
  uint32_t rounds = 0;
  while (rounds < MAX_ROUNDS && (rounds < MIN_ROUNDS || now_ns() < end)) {
    for (uint32_t i = 0; i < variant_count; i++) {
      const uint32_t v = (i + rounds) % variant_count; /* nobody always comes behind the same one */
      times[v][rounds] = take_turn(&variants[v], repeats);
    }
    rounds++;
  }
  printf("{\"group\": \"%s\", \"kernel\": \"%s\", \"times\": {", group, kernel);
  for (uint32_t v = 0; v < variant_count; v++) {
    printf("%s\"%s\": [", v ? ", " : "", variants[v].name);
    for (uint32_t round = 0; round < rounds; round++)
      printf("%s%.3f", round ? ", " : "", times[v][round]);
    printf("]");
  }
  printf("}}\n");
  fflush(stdout);
}

void require(wia_status_t status, const char *what) {
  if (status == WIA_STATUS_OK) return;
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  wia_get_last_error(&info);
  fprintf(stderr, "%s: %s: %s\n", what, wia_get_status_name(status), info.message);
  exit(1);
}

void require_true(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "%s failed\n", what);
  exit(1);
}
