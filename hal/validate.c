/* validate.c: what the layer validate is told, taken into its model. */
#include "validate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "env.h"
#include "executable.h"
#include "fork.h"
#include "hazard.h"
#include "kernel.h"
#include "log.h"
#include "queue.h"
#include "transfer.h"

static wia__shadow_t *host_shadow; /* of memory that is no allocation */

static uint32_t this_thread(void) { return wia__thread()->number + 1; }

/* -- uses of memory ------------------------------------------------------------------------------ */

void wia__add_use(wia__uses_t *uses, wia__allocation_t *allocation, wia__region_t region,
                  bool write, const char *name, int32_t number) {
  const uint32_t i = uses->count++;
  wia__access_t *access = &uses->list[i].access;
  uses->list[i].allocation = allocation;
  *access = (wia__access_t){
      .region = region, .write = write, .device = uses->device, .turns = uses->turns};
  if (number < 0)
    snprintf(access->use, sizeof access->use, "%s", name);
  else
    snprintf(access->use, sizeof access->use, "%s %d", name, (int)number);
  snprintf(access->operation, sizeof access->operation, "%s", uses->operation);
}

/* Under the model's mutex. False: no memory, and the model is given up. */
static bool find_shadows(wia__uses_t *uses) {
  for (uint32_t i = 0; i < uses->count; i++) {
    wia__allocation_t *allocation = uses->list[i].allocation;
    wia__shadow_t **place = allocation ? &allocation->shadow : &host_shadow;
    if (!*place)
      *place = allocation ? wia__create_shadow(allocation->memory.address, allocation->size)
                          : wia__create_shadow(0, 0);
    if (!*place) {
      wia__give_model_up();
      return false;
    }
    uses->list[i].shadow = *place;
  }
  return true;
}

bool wia__works_for_host(void) {
  const wia__thread_t *self = wia__thread();
  return !self->trace.stream && !self->validating;
}

/* Under the model's mutex. */
static wia_status_t begin_use(wia__uses_t *uses, wia__site_t site) {
  wia__clock_t *clock = wia__host_clock();
  const uint64_t now = wia__time_of(clock, WIA__ACTOR_HOST) + 1;
  if (!find_shadows(uses) || !wia__raise_clock(clock, WIA__ACTOR_HOST, now)) return WIA_STATUS_OK;
  for (uint32_t i = 0; i < uses->count; i++) {
    wia__shadow_t *shadow = uses->list[i].shadow;
    wia__access_t *access = &uses->list[i].access;
    access->actor = WIA__ACTOR_HOST;
    access->time = now;
    access->site = site;
    const wia__access_t *other = wia__find_conflict(shadow, access, clock, this_thread());
    const wia_status_t status = other ? wia__find_race(shadow, access, other, true) : WIA_STATUS_OK;
    if (status) return status;
  }
  const wia__clock_t *settled = wia__settled_clock();
  for (uint32_t i = 0; i < uses->count; i++) {
    wia__use_t *use = &uses->list[i];
    use->access.thread = this_thread();
    if (!wia__note_access(use->shadow, &use->access, clock, settled)) {
      wia__give_model_up();
      return WIA_STATUS_OK;
    }
  }
  return WIA_STATUS_OK;
}

wia_status_t wia__begin_use(wia__uses_t *uses) {
  const wia__site_t site = wia__capture_site();
  wia_status_t status = wia__find_twins(uses, site);
  if (status) return status;
  pthread_mutex_lock(&wia__model_mutex);
  if (wia__model_is_good()) {
    status = begin_use(uses, site);
    if (status || !wia__model_is_good()) uses->count = 0;
    for (uint32_t i = 0; i < uses->count; i++) wia__hold_shadow(uses->list[i].shadow);
  } else {
    uses->count = 0;
  }
  pthread_mutex_unlock(&wia__model_mutex);
  wia__thread()->validating += !status;
  wia__tell_findings();
  return status;
}

void wia__end_use_of(wia__uses_t *uses) {
  wia__thread()->validating--;
  pthread_mutex_lock(&wia__model_mutex);
  for (uint32_t i = 0; i < uses->count; i++) {
    wia__end_accesses(uses->list[i].shadow, this_thread());
    wia__drop_shadow(uses->list[i].shadow);
  }
  pthread_mutex_unlock(&wia__model_mutex);
}

/* -- queues -------------------------------------------------------------------------------------- */

wia_status_t wia__check_step(wia__timeline_t *timeline, const wia__step_t *step, bool held) {
  for (uint32_t i = 0; i < step->count; i++) {
    const wia__use_t *use = &step->uses[i];
    const wia__access_t *other =
        wia__find_conflict(use->shadow, &use->access, &timeline->clock, this_thread());
    const wia_status_t status =
        other ? wia__find_race(use->shadow, &use->access, other, !held) : WIA_STATUS_OK;
    if (status) return status;
  }
  const wia__clock_t *settled = wia__settled_clock();
  for (uint32_t i = 0; i < step->count; i++) {
    const wia__use_t *use = &step->uses[i];
    if (wia__note_access(use->shadow, &use->access, &timeline->clock, settled)) continue;
    wia__give_model_up();
    break;
  }
  return WIA_STATUS_OK;
}

/* What an item uses. */
static void list_uses(const wia__item_t *item, wia__uses_t *uses) {
  switch (item->kind) {
  case WIA_PROFILE_KERNEL:
    wia__list_launch(item, uses);
    break;
  case WIA_PROFILE_COPY:
  case WIA_PROFILE_FILL:
    wia__list_transfer((const wia__transfer_t *)item, uses);
    break;
  default:
    break;
  }
}

/* Under the model's mutex. */
static wia__timeline_t *timeline_of(wia__queue_t *queue) {
  if (!wia__model_is_good()) return NULL;
  if (!queue->timeline) queue->timeline = wia__create_timeline(queue);
  if (!queue->timeline) wia__give_model_up();
  return queue->timeline;
}

static wia_status_t take_use(wia__timeline_t *timeline, wia__step_t *step, wia__uses_t *uses) {
  if (!find_shadows(uses)) return WIA_STATUS_OK;
  for (uint32_t i = 0; i < uses->count; i++) {
    wia__access_t *access = &uses->list[i].access;
    access->actor = timeline->actor;
    access->time = step->time;
    access->stream = timeline->stream;
    access->device = timeline->device;
    access->site = step->site;
  }
  step->kind = WIA__STEP_USE;
  step->count = uses->count;
  step->uses = uses->list;
  return wia__take_step(timeline, step);
}

static wia_status_t take_launch(wia__timeline_t *timeline, wia__step_t *step,
                                const wia__item_t *item) {
  const wia__graph_item_t *launch = (const wia__graph_item_t *)item;
  wia__uses_t uses;
  wia_status_t status = wia__list_program(launch->executable, launch->program, step->site, &uses);
  if (status) return status;
  if (uses.count) status = take_use(timeline, step, &uses);
  free(uses.list);
  return status;
}

static wia_status_t take_point(wia__timeline_t *timeline, wia__step_t *step, wia__step_kind_t kind,
                               wia__point_t *point, bool known) {
  step->kind = kind;
  step->moment = wia__find_moment(wia__point_moment(point), known);
  if (step->moment) return wia__take_step(timeline, step);
  wia__give_model_up();
  return WIA_STATUS_OK;
}

static wia_status_t take_item(wia__queue_t *queue, const wia__item_t *item, uint64_t sequence,
                              wia__site_t site) {
  wia__timeline_t *timeline = timeline_of(queue);
  if (!timeline) return WIA_STATUS_OK;
  const wia__graph_item_t *part = item->inner ? (const wia__graph_item_t *)item : NULL;
  if (part) item = item->inner;
  wia__step_t step = {.time = timeline->base + sequence, .site = site};
  switch (item->kind) {
  case WIA__ITEM_RECORD:
    return take_point(timeline, &step, WIA__STEP_RECORD, ((const wia__recording_t *)item)->point,
                      false);
  case WIA__ITEM_WAIT:
    return take_point(timeline, &step, WIA__STEP_WAIT, item->wait_for, true);
  case WIA__ITEM_WAIT_OPEN:
    return take_point(timeline, &step, WIA__STEP_WAIT, item->wait_for, false);
  case WIA_PROFILE_FUNCTION:
    step.kind = WIA__STEP_FUNCTION;
    return wia__take_step(timeline, &step);
  default:
    break;
  }
  if (item->kind == WIA_PROFILE_GRAPH) return take_launch(timeline, &step, item);
  wia__use_t room[WIA_MAX_OPERANDS];
  wia__uses_t uses = {.operation = item->what, .device = queue->device, .list = room};
  if (part) uses.turns = part->executable;
  list_uses(item, &uses);
  if (part) wia__name_uses(part->program, part->node, &uses);
  const wia_status_t status = wia__find_twins(&uses, site);
  return status || !uses.count ? status : take_use(timeline, &step, &uses);
}

wia_status_t wia__validate_item(wia__queue_t *queue, const wia__item_t *item, uint64_t sequence,
                                wia__site_t site) {
  pthread_mutex_lock(&wia__model_mutex);
  const wia_status_t status = take_item(queue, item, sequence, site);
  pthread_mutex_unlock(&wia__model_mutex);
  return status;
}

void wia__validate_done(wia__queue_t *queue, uint64_t sequence) {
  pthread_mutex_lock(&wia__model_mutex);
  if (wia__model_is_good() && queue->timeline)
    wia__host_sees(queue->timeline, queue->timeline->base + sequence);
  pthread_mutex_unlock(&wia__model_mutex);
}

void wia__validate_reset(wia__queue_t *queue, uint64_t sequence) {
  wia__validate_done(queue, sequence);
  pthread_mutex_lock(&wia__model_mutex);
  if (queue->timeline) queue->timeline->failed = false;
  pthread_mutex_unlock(&wia__model_mutex);
}

void wia__validate_function(wia__queue_t *queue, uint64_t sequence, bool over) {
  pthread_mutex_lock(&wia__model_mutex);
  wia__timeline_t *timeline = wia__model_is_good() ? queue->timeline : NULL;
  if (timeline && over)
    wia__host_leaves(timeline, timeline->base + sequence);
  else if (timeline)
    wia__host_enters(timeline, timeline->base + sequence);
  pthread_mutex_unlock(&wia__model_mutex);
  wia__tell_findings();
}

/* -- points -------------------------------------------------------------------------------------- */

void wia__validate_finish(wia__point_t *point, bool failed) {
  pthread_mutex_lock(&wia__model_mutex);
  wia__moment_t *moment = wia__current_moment(*wia__point_moment(point));
  if (wia__model_is_good() && moment) wia__finish_moment(moment, failed);
  pthread_mutex_unlock(&wia__model_mutex);
  wia__tell_findings();
}

void wia__validate_seen(wia__point_t *point) {
  pthread_mutex_lock(&wia__model_mutex);
  const wia__moment_t *moment = wia__current_moment(*wia__point_moment(point));
  if (wia__model_is_good() && moment) wia__host_sees_moment(moment);
  pthread_mutex_unlock(&wia__model_mutex);
}

/* -- ends ---------------------------------------------------------------------------------------- */

void wia__end_timeline(wia__timeline_t *timeline) {
  if (!timeline) return;
  pthread_mutex_lock(&wia__model_mutex);
  wia__destroy_timeline(timeline);
  pthread_mutex_unlock(&wia__model_mutex);
}

void wia__end_moment(wia__moment_t *moment) {
  if (!moment) return;
  pthread_mutex_lock(&wia__model_mutex);
  wia__drop_moment(moment);
  pthread_mutex_unlock(&wia__model_mutex);
}

void wia__end_shadow(wia__shadow_t *shadow) {
  if (!shadow) return;
  pthread_mutex_lock(&wia__model_mutex);
  wia__drop_shadow(shadow);
  pthread_mutex_unlock(&wia__model_mutex);
}

/* -- the layer ----------------------------------------------------------------------------------- */

static void check_setting(void) {
  const char *text = wia__env_text(WIA__ENV_VALIDATE);
  if (strcmp(text, "report") != 0 && strcmp(text, "error") != 0)
    wia__log(WIA__LOG_ENVIRONMENT, WIA_LOG_WARNING, NULL,
             "WIA_VALIDATE is \"%.80s\"; expected report or error; report is used", text);
}

static void end_at_exit(void) {
  if (wia__is_validating()) wia__log_leaks();
}

static void start_once(void) {
  check_setting();
  atexit(end_at_exit);
}

wia_status_t wia__start_validate(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start_once);
  pthread_mutex_lock(&wia__model_mutex);
  const bool started = wia__start_model();
  pthread_mutex_unlock(&wia__model_mutex);
  if (!started) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for the layer validate");
  wia__set_layer(WIA__LAYER_VALIDATE, true);
  return WIA_STATUS_OK;
}

wia_status_t wia__stop_validate(void) {
  wia__set_layer(WIA__LAYER_VALIDATE, false);
  pthread_mutex_lock(&wia__model_mutex);
  wia__stop_model();
  pthread_mutex_unlock(&wia__model_mutex);
  wia__forget_births();
  return WIA_STATUS_OK;
}

/* The child has none of the parent's streams, and what it had in memory is lost to it. */
void wia__fork_validate(wia__fork_t stage) {
  if (stage == WIA__FORK_CHILD && wia__model_is_good()) wia__start_model();
  wia__fork_mutex(stage, &wia__model_mutex);
}
