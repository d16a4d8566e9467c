/* executable.h: executables: programs that take turns, and what runs them. */
#ifndef WIA__EXECUTABLE_H
#define WIA__EXECUTABLE_H

#include "program.h"

/* Branches that run at once: what they wait for and how they end. Under the mutex. */
typedef struct wia__race_t {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  unsigned char *done; /* by node */
  uint32_t left;       /* branches on other threads */
  bool failed;
  uint32_t failed_node; /* the first in the order of numbers that did */
  wia__failure_t failure;
} wia__race_t;

typedef struct wia__executable_t {
  wia__object_t object;
  char *name;
  wia__device_t *device;
  wia_instantiate_config_t config;
  pthread_mutex_t mutex; /* guards program against changes, lanes, the last launch */
  _Atomic(wia__program_t *) program;
  /* A run has its turn; taken before the mutex. Who holds it may read the program without that. */
  pthread_mutex_t turn;
  wia__race_t race;
  wia__queue_t **lanes; /* for all branches but the first, once they run at once */
  uint32_t lane_count;
  /* On a device with streams of its own: the end of the last launch, and where it was. */
  wia__point_t *last;
  wia__queue_t *last_queue;
} wia__executable_t;

/* The first member of items that are a launch, or a node's part of one. */
typedef struct wia__graph_item_t {
  wia__item_t item;
  wia__executable_t *executable;
  wia__program_t *program;
  uint32_t node; /* of a part */
} wia__graph_item_t;

/* What a launch uses, for the layer validate (graph_uses.c): each place in memory once, and of a program
 * with host functions what stands before the first, since those may order what is behind them. The list
 * is to be freed; without memory there is none. Fails as wia__find_twins() for a node. */
struct wia__uses_t;
wia_status_t wia__list_program(const wia__executable_t *executable, const wia__program_t *program,
                               uint32_t site, struct wia__uses_t *uses);
/* Says of all uses which node's they are. */
void wia__name_uses(const wia__program_t *program, uint32_t node, struct wia__uses_t *uses);

/* Runs the program, in its turn, outside the epoch if it waits. */
wia_status_t wia__run_program(wia__executable_t *executable, wia__program_t *program);

/* Has as many lanes as the program needs. Under the mutex. */
wia_status_t wia__make_lanes(wia__executable_t *executable, const wia__program_t *program);
/* Each branch on a thread of its own. */
wia_status_t wia__run_branches(wia__executable_t *executable, wia__program_t *program);

/* Puts a launch on a device's own stream: the driver's graph, or a piece of work for each node
 * (graph_queue.c). */
wia_status_t wia__submit_program(wia__executable_t *executable, wia__program_t *program,
                                 wia__queue_t *queue);

#endif
