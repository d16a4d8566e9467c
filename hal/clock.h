/* clock.h: vector clocks: of each actor, the last of its steps that comes before. */
#ifndef WIA__CLOCK_H
#define WIA__CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Zero is the clock before everything. Actors beyond the count are at 0. */
typedef struct wia__clock_t {
  uint64_t *times;
  uint32_t count;
} wia__clock_t;

static inline uint64_t wia__time_of(const wia__clock_t *clock, uint32_t actor) {
  return actor < clock->count ? clock->times[actor] : 0;
}

/* All give false, and leave the clock as it was, without memory. */
/* Has the actor at this time at least. */
bool wia__raise_clock(wia__clock_t *clock, uint32_t actor, uint64_t time);
/* What comes before the other comes before this one too. */
bool wia__join_clock(wia__clock_t *clock, const wia__clock_t *other);

/* Whether all that is before the other is before this one. */
bool wia__clock_has(const wia__clock_t *clock, const wia__clock_t *other);

/* Back to zero. */
void wia__free_clock(wia__clock_t *clock);

#endif
