/* timeline.h: the model that the layer validate has of queues, events and the host: what comes before
 * what, as a vector clock for each.
 *
 * Work is taken into the model when it is enqueued, in the order of its queue. A step behind a wait for an
 * event that nobody has recorded yet, or behind a host function, is held back until that is over, since
 * only then is known what comes before it. */
#ifndef WIA__TIMELINE_H
#define WIA__TIMELINE_H

#include <pthread.h>

#include "finding.h"
#include "shadow.h"
#include "stream.h"

/* A point's. Generation: of the model, which forgets all when it starts anew. */
typedef struct wia__moment_t {
  wia__clock_t clock; /* what is before it, once it is known */
  bool known, failed;
  uint32_t holders, generation;
  struct wia__timeline_t *recorder; /* that holds its record back; or NULL */
} wia__moment_t;

typedef enum wia__step_kind_t {
  WIA__STEP_USE,
  WIA__STEP_WAIT,
  WIA__STEP_RECORD,
  WIA__STEP_FUNCTION
} wia__step_kind_t;

typedef struct wia__step_t {
  struct wia__step_t *next;
  wia__step_kind_t kind;
  uint64_t time; /* on its timeline */
  bool over;     /* FUNCTION: it has returned */
  wia__site_t site;
  wia__moment_t *moment; /* of WAIT and RECORD */
  wia__clock_t host;     /* of one that is held back: what the host knew when it was enqueued */
  uint32_t count;        /* of USE */
  struct wia__use_t *uses;
} wia__step_t;

/* What the host knows of a queue when it has seen a time of it. */
typedef struct wia__lesson_t {
  uint64_t time;
  wia__clock_t clock;
} wia__lesson_t;

/* A queue's. Lives as long as that. */
typedef struct wia__timeline_t {
  uint32_t actor, stream;
  const wia__device_t *device;
  uint64_t base; /* a step's time is this and its sequence */
  wia__clock_t clock;
  bool failed;                /* what is left is dropped, until a reset */
  wia__step_t *first, **last; /* held back */
  wia__lesson_t *lessons;
  uint32_t lesson_count, lesson_capacity;
  struct wia__timeline_t *previous, *next;
} wia__timeline_t;

/* Guards all of it, and is taken behind the mutex of a queue. */
extern pthread_mutex_t wia__model_mutex;

/* All that follows is under it. */
bool wia__start_model(void); /* forgets what was; false: no memory */
void wia__stop_model(void);
/* False: the model is off, or had no memory and knows nothing any more. */
bool wia__model_is_good(void);
void wia__give_model_up(void); /* no memory */
wia__clock_t *wia__host_clock(void);
/* The same where it is before all that is still to come; NULL: some is held back. */
const wia__clock_t *wia__settled_clock(void);

wia__timeline_t *wia__create_timeline(wia__queue_t *queue); /* NULL: no memory */
void wia__destroy_timeline(wia__timeline_t *timeline);
/* The same of a point, in *place; NULL: no memory. known: its record was before the model was. */
wia__moment_t *wia__find_moment(wia__moment_t **place, bool known);
/* NULL: of a model that was forgotten, or NULL. */
wia__moment_t *wia__current_moment(wia__moment_t *moment);
void wia__drop_moment(wia__moment_t *moment);

/* Takes a step, whose arrays stay the caller's; its host clock is left out. Fails if a check below does,
 * and then nothing was taken. */
wia_status_t wia__take_step(wia__timeline_t *timeline, const wia__step_t *step);

/* The point of a moment is finished, and the host may do something about it. */
void wia__finish_moment(wia__moment_t *moment, bool failed);
/* The host has seen a moment, or that all of a timeline up to a time is over: what is held back of that was
 * dropped. */
void wia__host_sees_moment(const wia__moment_t *moment);
void wia__host_sees(wia__timeline_t *timeline, uint64_t time);
/* The function of that time begins, or has returned. */
void wia__host_enters(wia__timeline_t *timeline, uint64_t time);
void wia__host_leaves(wia__timeline_t *timeline, uint64_t time);

/* Of validate.c: a use whose turn it is, now or later. Only a use that was not held back can be refused. */
wia_status_t wia__check_step(wia__timeline_t *timeline, const wia__step_t *step, bool held);
/* A record that closes a cycle of waits, from the timeline that it is on through those whose first held
 * step waits for the next. */
wia_status_t wia__check_cycle(wia__timeline_t *timeline, const wia__step_t *record);

#endif
