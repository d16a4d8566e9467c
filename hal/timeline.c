/* timeline.c: see timeline.h. */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

#include "queue.h"
#include "validate.h"

/* Numbers of actors are given anew when this many were used: until then a race with a stream that is gone is
 * still found. */
enum { FRESH_ACTORS = 64, MOST_LESSONS = 1024 };

pthread_mutex_t wia__model_mutex = PTHREAD_MUTEX_INITIALIZER;

typedef struct actor_t {
  uint64_t last; /* the latest time of it that anybody knows of */
  bool taken;
} actor_t;

static bool good;
static uint32_t generation;
static wia__clock_t host;
static wia__timeline_t *timelines;
static uint64_t held_count;
static actor_t *actors; /* 0 is the host */
static uint32_t actor_count, next_actor;

/* -- actors -------------------------------------------------------------------------------------- */

static bool add_actor(void) {
  actor_t *grown = realloc(actors, (actor_count + 1) * sizeof *grown);
  if (!grown) return false;
  actors = grown;
  actors[actor_count++] = (actor_t){.last = 0};
  return true;
}

/* The one that was given up longest ago, about; 0: no memory. */
static uint32_t take_actor(void) {
  if (!actor_count && !add_actor()) return WIA__ACTOR_HOST;
  if (actor_count > FRESH_ACTORS) {
    for (uint32_t i = 1; i < actor_count; i++) {
      const uint32_t actor = 1 + (next_actor + i) % (actor_count - 1);
      if (actors[actor].taken) continue;
      next_actor = actor;
      actors[actor].taken = true;
      return actor;
    }
  }
  if (!add_actor()) return WIA__ACTOR_HOST;
  actors[actor_count - 1].taken = true;
  return actor_count - 1;
}

/* -- life ---------------------------------------------------------------------------------------- */

static void free_step(wia__step_t *step) {
  for (uint32_t i = 0; i < step->count; i++) wia__drop_shadow(step->uses[i].shadow);
  if (step->kind == WIA__STEP_RECORD && step->moment) step->moment->recorder = NULL;
  if (step->moment) wia__drop_moment(step->moment);
  wia__free_clock(&step->host);
  free(step->uses);
  free(step);
}

static void forget_timeline(wia__timeline_t *timeline) {
  for (wia__step_t *step = timeline->first, *next; step; step = next) {
    next = step->next;
    free_step(step);
    held_count--;
  }
  timeline->first = NULL;
  timeline->last = &timeline->first;
  for (uint32_t i = 0; i < timeline->lesson_count; i++)
    wia__free_clock(&timeline->lessons[i].clock);
  timeline->lesson_count = 0;
  wia__free_clock(&timeline->clock);
}

void wia__stop_model(void) {
  for (wia__timeline_t *timeline = timelines; timeline; timeline = timeline->next)
    forget_timeline(timeline);
  wia__forget_accesses();
  wia__free_clock(&host);
  good = false;
}

bool wia__start_model(void) {
  wia__stop_model();
  generation++;
  good = wia__raise_clock(&host, WIA__ACTOR_HOST, 1);
  return good;
}

bool wia__model_is_good(void) { return good; }
void wia__give_model_up(void) { wia__stop_model(); }
wia__clock_t *wia__host_clock(void) { return &host; }
const wia__clock_t *wia__settled_clock(void) { return held_count ? NULL : &host; }

wia__timeline_t *wia__create_timeline(wia__queue_t *queue) {
  wia__timeline_t *timeline = calloc(1, sizeof *timeline);
  const uint32_t actor = timeline ? take_actor() : WIA__ACTOR_HOST;
  if (actor == WIA__ACTOR_HOST) {
    free(timeline);
    return NULL;
  }
  timeline->actor = actor;
  timeline->stream = queue->number;
  timeline->device = queue->device;
  timeline->base = actors[actor].last;
  timeline->last = &timeline->first;
  timeline->next = timelines;
  if (timelines) timelines->previous = timeline;
  timelines = timeline;
  return timeline;
}

static void advance_all(void);

void wia__destroy_timeline(wia__timeline_t *timeline) {
  actors[timeline->actor].taken = false;
  if (timeline->previous)
    timeline->previous->next = timeline->next;
  else
    timelines = timeline->next;
  if (timeline->next) timeline->next->previous = timeline->previous;
  /* its records are finished, one way or another: whoever is held back for them goes on */
  for (wia__step_t *step = timeline->first; step; step = step->next) {
    if (step->kind == WIA__STEP_RECORD) wia__finish_moment(step->moment, true);
  }
  forget_timeline(timeline);
  free(timeline->lessons);
  free(timeline);
  advance_all();
}

wia__moment_t *wia__current_moment(wia__moment_t *moment) {
  return moment && moment->generation == generation ? moment : NULL;
}

wia__moment_t *wia__find_moment(wia__moment_t **place, bool known) {
  wia__moment_t *moment = *place;
  if (wia__current_moment(moment)) return moment;
  if (moment) wia__drop_moment(moment);
  *place = moment = calloc(1, sizeof *moment);
  if (!moment) return NULL;
  moment->holders = 1;
  moment->generation = generation;
  moment->known = known;
  return moment;
}

void wia__drop_moment(wia__moment_t *moment) {
  if (--moment->holders) return;
  wia__free_clock(&moment->clock);
  free(moment);
}

/* -- steps --------------------------------------------------------------------------------------- */

static bool is_blocked(const wia__step_t *step) {
  return step->kind == WIA__STEP_WAIT       ? !step->moment->known
         : step->kind == WIA__STEP_FUNCTION ? !step->over
                                            : false;
}

/* Each second one, with what the one behind it says: whoever sees the first is taken to know a little more
 * than it does. */
static void thin_out(wia__timeline_t *timeline) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i + 1 < timeline->lesson_count; i += 2) {
    wia__free_clock(&timeline->lessons[i].clock);
    timeline->lessons[kept] = timeline->lessons[i];
    timeline->lessons[kept++].clock = timeline->lessons[i + 1].clock;
  }
  timeline->lesson_count = kept;
}

/* What came to a timeline from elsewhere: whoever sees this time of it learns that too. */
static bool add_lesson(wia__timeline_t *timeline, uint64_t time) {
  if (timeline->lesson_count == MOST_LESSONS) thin_out(timeline);
  if (timeline->lesson_count == timeline->lesson_capacity) {
    const uint32_t capacity = timeline->lesson_capacity ? 2 * timeline->lesson_capacity : 4;
    wia__lesson_t *grown = realloc(timeline->lessons, capacity * sizeof *grown);
    if (!grown) return false;
    timeline->lessons = grown;
    timeline->lesson_capacity = capacity;
  }
  wia__lesson_t *lesson = &timeline->lessons[timeline->lesson_count];
  *lesson = (wia__lesson_t){.time = time};
  if (!wia__join_clock(&lesson->clock, &timeline->clock)) return false;
  timeline->lesson_count++;
  return true;
}

static bool make_known(wia__moment_t *moment, const wia__clock_t *clock) {
  moment->recorder = NULL;
  if (moment->known) return true;
  moment->known = true;
  return wia__join_clock(&moment->clock, clock);
}

/* A step whose turn it is. known: what the host knew when it was enqueued. */
static wia_status_t run_step(wia__timeline_t *timeline, const wia__step_t *step,
                             const wia__clock_t *known, bool held) {
  const uint32_t actor = timeline->actor;
  wia_status_t status = WIA_STATUS_OK;
  bool enough = wia__join_clock(&timeline->clock, known) &&
                wia__raise_clock(&timeline->clock, actor, step->time);
  if (actors[actor].last < step->time) actors[actor].last = step->time;
  if (!enough) {
    wia__give_model_up();
    return status;
  }
  switch (step->kind) {
  case WIA__STEP_USE:
    if (!timeline->failed) status = wia__check_step(timeline, step, held);
    break;
  case WIA__STEP_WAIT:
    timeline->failed |= step->moment->failed;
    if (step->moment->known && !wia__clock_has(&timeline->clock, &step->moment->clock))
      enough = wia__join_clock(&timeline->clock, &step->moment->clock) &&
               add_lesson(timeline, step->time);
    break;
  case WIA__STEP_RECORD:
    step->moment->failed |= timeline->failed;
    enough = make_known(step->moment, &timeline->clock);
    break;
  case WIA__STEP_FUNCTION:
    enough = wia__join_clock(&timeline->clock, &host);
    break;
  }
  if (!enough) wia__give_model_up();
  return status;
}

static void take_first(wia__timeline_t *timeline) {
  wia__step_t *step = timeline->first;
  timeline->first = step->next;
  if (!timeline->first) timeline->last = &timeline->first;
  held_count--;
  run_step(timeline, step, &step->host, true);
  free_step(step);
}

/* Until nobody gets any further. */
static void advance_all(void) {
  for (bool moved = held_count != 0; moved && good;) {
    moved = false;
    for (wia__timeline_t *timeline = timelines; timeline && good; timeline = timeline->next) {
      while (timeline->first && !is_blocked(timeline->first) && good) {
        take_first(timeline);
        moved = true;
      }
    }
  }
}

static bool hold(wia__timeline_t *timeline, const wia__step_t *given) {
  wia__step_t *step = calloc(1, sizeof *step);
  if (!step) return false;
  *step = *given;
  step->next = NULL;
  step->host = (wia__clock_t){0};
  step->uses = calloc(given->count + 1, sizeof *step->uses);
  if (!step->uses || !wia__join_clock(&step->host, &host)) {
    step->count = 0;
    step->moment = NULL;
    free_step(step);
    return false;
  }
  for (uint32_t i = 0; i < given->count; i++) {
    step->uses[i] = given->uses[i];
    wia__hold_shadow(step->uses[i].shadow);
  }
  if (step->moment) step->moment->holders++;
  if (step->kind == WIA__STEP_RECORD) step->moment->recorder = timeline;
  *timeline->last = step;
  timeline->last = &step->next;
  held_count++;
  return true;
}

wia_status_t wia__take_step(wia__timeline_t *timeline, const wia__step_t *step) {
  wia_status_t status = WIA_STATUS_OK;
  if (timeline->first || is_blocked(step)) {
    if (step->kind == WIA__STEP_RECORD) status = wia__check_cycle(timeline, step);
    if (!status && !hold(timeline, step)) wia__give_model_up();
    return status;
  }
  status = run_step(timeline, step, &host, false);
  if (step->kind == WIA__STEP_RECORD) advance_all();
  return status;
}

/* -- the host ------------------------------------------------------------------------------------ */

void wia__finish_moment(wia__moment_t *moment, bool failed) {
  if (moment->known) return;
  moment->failed = failed;
  const wia__clock_t *clock = moment->recorder ? &moment->recorder->clock : &host;
  if (make_known(moment, clock) && wia__join_clock(&moment->clock, &host))
    advance_all();
  else
    wia__give_model_up();
}

void wia__host_sees_moment(const wia__moment_t *moment) {
  if (moment->known && !wia__join_clock(&host, &moment->clock)) wia__give_model_up();
}

static void learn(wia__timeline_t *timeline, uint64_t time) {
  uint32_t count = 0;
  while (count < timeline->lesson_count && timeline->lessons[count].time <= time) count++;
  if (actors[timeline->actor].last < time) /* items that are no steps have times too */
    actors[timeline->actor].last = time;
  bool enough = wia__raise_clock(&host, timeline->actor, time);
  if (count && enough) { /* the last one has all the others */
    enough = wia__join_clock(&host, &timeline->lessons[count - 1].clock);
    for (uint32_t i = 0; i < count; i++) wia__free_clock(&timeline->lessons[i].clock);
    timeline->lesson_count -= count;
    memmove(timeline->lessons, timeline->lessons + count,
            timeline->lesson_count * sizeof *timeline->lessons);
  }
  if (!enough) wia__give_model_up();
}

void wia__host_sees(wia__timeline_t *timeline, uint64_t time) {
  bool forced = false;
  while (timeline->first && timeline->first->time <= time && good) {
    timeline->failed = true;
    take_first(timeline);
    forced = true;
  }
  if (forced && good) advance_all();
  if (good) learn(timeline, time);
}

void wia__host_enters(wia__timeline_t *timeline, uint64_t time) {
  if (time > timeline->base) wia__host_sees(timeline, time - 1);
}

void wia__host_leaves(wia__timeline_t *timeline, uint64_t time) {
  for (wia__step_t *step = timeline->first; step; step = step->next) {
    if (step->time == time) step->over = true;
  }
  advance_all();
}
