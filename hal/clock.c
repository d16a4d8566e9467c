#include "clock.h"

#include <stdlib.h>

static bool widen(wia__clock_t *clock, uint32_t count) {
  if (count <= clock->count) return true;
  uint64_t *grown = realloc(clock->times, count * sizeof *grown);
  if (!grown) return false;
  for (uint32_t i = clock->count; i < count; i++) grown[i] = 0;
  clock->times = grown;
  clock->count = count;
  return true;
}

bool wia__raise_clock(wia__clock_t *clock, uint32_t actor, uint64_t time) {
  if (!widen(clock, actor + 1)) return false;
  if (clock->times[actor] < time) clock->times[actor] = time;
  return true;
}

bool wia__join_clock(wia__clock_t *clock, const wia__clock_t *other) {
  if (!widen(clock, other->count)) return false;
  for (uint32_t i = 0; i < other->count; i++) {
    if (clock->times[i] < other->times[i]) clock->times[i] = other->times[i];
  }
  return true;
}

bool wia__clock_has(const wia__clock_t *clock, const wia__clock_t *other) {
  for (uint32_t i = 0; i < other->count; i++) {
    if (wia__time_of(clock, i) < other->times[i]) return false;
  }
  return true;
}

void wia__free_clock(wia__clock_t *clock) {
  free(clock->times);
  *clock = (wia__clock_t){0};
}
