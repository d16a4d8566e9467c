/* shadow.c: see shadow.h. */
#include "shadow.h"

#include <stdlib.h>
#include <string.h>

/* Of one allocation; beyond that the oldest is forgotten, and a race with it not found. */
enum { MOST_ACCESSES = 256 };

static wia__shadow_t *shadows;

wia__shadow_t *wia__create_shadow(uint64_t address, uint64_t size) {
  wia__shadow_t *shadow = calloc(1, sizeof *shadow);
  if (!shadow) return NULL;
  shadow->holders = 1;
  shadow->address = address;
  shadow->size = size;
  shadow->next = shadows;
  if (shadows) shadows->previous = shadow;
  shadows = shadow;
  return shadow;
}

void wia__hold_shadow(wia__shadow_t *shadow) { shadow->holders++; }

void wia__drop_shadow(wia__shadow_t *shadow) {
  if (--shadow->holders) return;
  if (shadow->previous)
    shadow->previous->next = shadow->next;
  else
    shadows = shadow->next;
  if (shadow->next) shadow->next->previous = shadow->previous;
  free(shadow->accesses);
  free(shadow);
}

void wia__forget_accesses(void) {
  for (wia__shadow_t *shadow = shadows; shadow; shadow = shadow->next) shadow->count = 0;
}

/* -- order --------------------------------------------------------------------------------------- */

static bool is_before(const wia__access_t *access, const wia__clock_t *clock) {
  return !access->thread && wia__time_of(clock, access->actor) >= access->time;
}

const wia__access_t *wia__find_conflict(const wia__shadow_t *shadow, const wia__access_t *access,
                                        const wia__clock_t *clock, uint32_t thread) {
  for (uint32_t i = 0; i < shadow->count; i++) {
    const wia__access_t *other = &shadow->accesses[i];
    if (!(other->write | access->write) || other->thread == thread) continue;
    if (access->turns && other->turns == access->turns) continue;
    if (is_before(other, clock) || !wia__regions_meet(&other->region, &access->region)) continue;
    return other;
  }
  return NULL;
}

/* -- notes --------------------------------------------------------------------------------------- */

/* Whether whatever is to come and is behind `access` needs not look at `old` any more, and whatever isn't
 * meets `access` for it. */
static bool stands_for(const wia__access_t *access, const wia__clock_t *clock,
                       const wia__access_t *old) {
  return !access->thread && !old->thread && access->write >= old->write &&
         (old->actor == access->actor || is_before(old, clock)) &&
         wia__covers_region(&access->region, &old->region);
}

static void drop_access(wia__shadow_t *shadow, uint32_t at) {
  shadow->count--;
  memmove(&shadow->accesses[at], &shadow->accesses[at + 1],
          (shadow->count - at) * sizeof *shadow->accesses);
}

bool wia__note_access(wia__shadow_t *shadow, const wia__access_t *access, const wia__clock_t *clock,
                      const wia__clock_t *host) {
  for (uint32_t i = shadow->count; i-- > 0;) {
    const wia__access_t *old = &shadow->accesses[i];
    if (stands_for(access, clock, old) || (host && is_before(old, host))) drop_access(shadow, i);
  }
  if (host && is_before(access, host)) return true;
  if (shadow->count == MOST_ACCESSES) drop_access(shadow, 0);
  if (shadow->count == shadow->capacity) {
    const uint32_t capacity = shadow->capacity ? 2 * shadow->capacity : 4;
    wia__access_t *grown = realloc(shadow->accesses, capacity * sizeof *grown);
    if (!grown) return false;
    shadow->accesses = grown;
    shadow->capacity = capacity;
  }
  shadow->accesses[shadow->count++] = *access;
  return true;
}

void wia__end_accesses(wia__shadow_t *shadow, uint32_t thread) {
  for (uint32_t i = shadow->count; i-- > 0;) {
    if (shadow->accesses[i].thread != thread) continue;
    shadow->accesses[i].thread = 0;
  }
}
