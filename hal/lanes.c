/* lanes.c: branches of a graph that run at once, each on a thread of its own. */
#include <stdlib.h>
#include <string.h>

#include "executable.h"
#include "platform.h"

typedef struct lane_t {
  wia__item_t item;
  wia__executable_t *executable; /* whose run waits for the end of this */
  wia__program_t *program;
  uint32_t branch;
} lane_t;

/* Notes the failure that this thread has met. Under the race's mutex. */
static void fail_at(wia__race_t *race, uint32_t node, const wia__failure_t *failure) {
  if (!race->failed || node < race->failed_node) {
    wia__free_failure(&race->failure);
    if (failure)
      wia__copy_failure(&race->failure, failure);
    else
      wia__save_failure(&race->failure);
    race->failed_node = node;
  }
  race->failed = true;
  pthread_cond_broadcast(&race->changed);
}

/* Waits for what other branches have to do before a node. False: one of them failed. */
static bool await(wia__race_t *race, const wia__program_t *program, uint32_t n) {
  const wia__graph_node_t *node = program->list.nodes[n];
  for (uint32_t i = 0; i < node->dependency_count && !race->failed; i++) {
    const uint32_t other = node->dependencies[i];
    if (program->list.nodes[other]->branch == node->branch) continue;
    while (!race->done[other] && !race->failed)
      wia__wait_condition(&race->changed, &race->mutex, -1);
  }
  return !race->failed;
}

static void run_branch(wia__race_t *race, wia__program_t *program, uint32_t branch) {
  pthread_mutex_lock(&race->mutex);
  for (uint32_t n = 0; n < program->list.count; n++) {
    if (program->list.nodes[n]->branch != branch) continue;
    if (!await(race, program, n)) break;
    if (program->step_of[n]) {
      pthread_mutex_unlock(&race->mutex);
      const wia_status_t status = wia__run_step(program, program->step_of[n]);
      pthread_mutex_lock(&race->mutex);
      if (status) {
        fail_at(race, n, NULL);
        break;
      }
    }
    race->done[n] = 1;
    if (program->signals[n]) pthread_cond_broadcast(&race->changed);
  }
  pthread_mutex_unlock(&race->mutex);
}

static wia_status_t run_lane(wia__item_t *item) {
  lane_t *lane = (lane_t *)item;
  wia__thread_t *self = wia__thread();
  self->runs = lane->executable;
  run_branch(&lane->executable->race, lane->program, lane->branch);
  self->runs = NULL;
  return WIA_STATUS_OK; /* the launch fails, and not the lane */
}

static void end_lane(wia__item_t *item, wia_status_t status, const wia__failure_t *failure) {
  lane_t *lane = (lane_t *)item;
  wia__race_t *race = &lane->executable->race;
  pthread_mutex_lock(&race->mutex);
  if (status) fail_at(race, UINT32_MAX, failure);
  race->left--;
  pthread_cond_broadcast(&race->changed);
  pthread_mutex_unlock(&race->mutex);
  free(lane);
}

static wia_status_t start_lane(wia__executable_t *executable, wia__program_t *program,
                               uint32_t branch) {
  lane_t *lane = calloc(1, sizeof *lane);
  if (!lane) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a launch");
  *lane = (lane_t){.item = {.run = run_lane, .end = end_lane},
                   .executable = executable,
                   .program = program,
                   .branch = branch};
  pthread_mutex_lock(&executable->race.mutex);
  executable->race.left++;
  pthread_mutex_unlock(&executable->race.mutex);
  return wia__enqueue(executable->lanes[branch - 1], &lane->item, NULL);
}

wia_status_t wia__run_branches(wia__executable_t *executable, wia__program_t *program) {
  wia__race_t *race = &executable->race;
  unsigned char *done = realloc(race->done, program->list.count + 1);
  if (!done) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a launch");
  race->done = done;
  memset(done, 0, program->list.count + 1);
  race->failed = false;
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t branch = 1; branch < program->branch_count && !status; branch++)
    status = start_lane(executable, program, branch);
  if (!status) run_branch(race, program, 0);
  pthread_mutex_lock(&race->mutex);
  if (status) fail_at(race, UINT32_MAX, NULL);
  while (race->left) wia__wait_condition(&race->changed, &race->mutex, -1);
  if (race->failed) status = wia__restore_failure(&race->failure);
  wia__free_failure(&race->failure);
  pthread_mutex_unlock(&race->mutex);
  return status;
}

wia_status_t wia__make_lanes(wia__executable_t *executable, const wia__program_t *program) {
  const uint32_t count = program->parallel ? program->branch_count - 1 : 0;
  if (count <= executable->lane_count) return WIA_STATUS_OK;
  wia__queue_t **lanes = realloc(executable->lanes, count * sizeof(void *));
  if (!lanes) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for an executable");
  executable->lanes = lanes;
  wia_status_t status = WIA_STATUS_OK;
  while (executable->lane_count < count && !status) {
    status = wia__create_queue(executable->device, 0, &lanes[executable->lane_count]);
    if (!status) executable->lane_count++;
  }
  return status;
}
