#include "timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int order(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double median(double *values, uint32_t count) {
  qsort(values, count, sizeof *values, order);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Keeps the rounds that took at most limit in all; gives their number. */
static uint32_t keep(const double *totals, double limit, double *values, uint32_t rounds) {
  uint32_t kept = 0;
  for (uint32_t round = 0; round < rounds; round++)
    if (totals[round] <= limit) values[kept++] = values[round];
  return kept;
}

void compare(const variant_t *variants, uint32_t variant_count, uint32_t rounds, uint32_t repeats) {
  static double times[MAX_VARIANTS][MAX_ROUNDS], over[MAX_VARIANTS][MAX_ROUNDS];
  static double totals[MAX_ROUNDS], sorted[MAX_ROUNDS];
  for (uint32_t v = 0; v < variant_count; v++) variants[v].repeat(variants[v].context, repeats);
  for (uint32_t round = 0; round < rounds; round++) {
    totals[round] = 0;
    for (uint32_t i = 0; i < variant_count; i++) {
      const uint32_t v = (i + round) % variant_count; /* nobody always comes behind the same one */
      const int64_t start = now_ns();
      variants[v].repeat(variants[v].context, repeats);
      times[v][round] = (double)(now_ns() - start) / repeats;
      totals[round] += times[v][round];
    }
    sorted[round] = totals[round];
    for (uint32_t v = 0; v < variant_count; v++) over[v][round] = times[v][round] - times[0][round];
  }
  qsort(sorted, rounds, sizeof *sorted, order);
  const double limit = sorted[rounds / 4];
  printf("{");
  for (uint32_t v = 0; v < variant_count; v++) {
    const uint32_t kept = keep(totals, limit, times[v], rounds);
    keep(totals, limit, over[v], rounds);
    printf("%s\"%s\": {\"ns\": %.3f, \"over_ns\": %.3f}", v == 0 ? "" : ", ", variants[v].name,
           median(times[v], kept), median(over[v], kept));
  }
  printf("}");
}

void require(wia_status_t status, const char *what) {
  if (status == WIA_STATUS_OK) return;
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  wia_get_last_error(&info);
  fprintf(stderr, "%s: %s: %s\n", what, wia_get_status_name(status), info.message);
  exit(1);
}
