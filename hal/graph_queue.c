/* graph_queue.c: launches on devices with streams of their own: one piece of work for each node, or
 * one that is the driver's graph. */
#include <stdlib.h>

#include "executable.h"
#include "queue.h"

/* Work of a node, in front of whose failures it puts the node. The program is good while the last item
 * of the launch is. */
typedef struct node_item_t {
  wia__graph_item_t part;
  wia__item_t *inner;
} node_item_t;

static wia_status_t name_failure(const node_item_t *self, wia_status_t status) {
  return status ? wia__name_failure(self->part.program, self->part.node, status) : status;
}

static wia_status_t run_node(wia__item_t *item) {
  node_item_t *self = (node_item_t *)item;
  self->inner->sequence = item->sequence;
  return name_failure(self, self->inner->run(self->inner));
}

static wia_status_t submit_node(wia__item_t *item, wia_driver_stream_t stream) {
  node_item_t *self = (node_item_t *)item;
  return name_failure(self, self->inner->submit(self->inner, stream));
}

static void end_node(wia__item_t *item, wia_status_t status, const wia__failure_t *failure) {
  node_item_t *self = (node_item_t *)item;
  self->inner->sequence = item->sequence;
  self->inner->end(self->inner, status, failure);
  free(self);
}

static wia_status_t mark_node(wia__item_t *item, wia__queue_t *queue, uint64_t sequence) {
  wia__item_t *inner = ((node_item_t *)item)->inner;
  return inner->mark(inner, queue, sequence);
}

static wia_status_t make_inner(const wia__graph_node_t *node, wia__item_t **out_item) {
  const wia__tensor_t *tensors[WIA_MAX_OPERANDS];
  if (node->transfer) return wia__make_transfer(node->transfer, node->device, out_item);
  if (node->function)
    return wia__make_function(node->function, node->context, node->device, out_item);
  for (uint32_t i = 0; i < wia__count_operands(node); i++)
    tensors[i] = node->plan->layouts[i] ? &node->tensors[i] : NULL;
  return wia__make_launch(node->plan, tensors, node->scalars, out_item);
}

static wia_status_t make_item(wia__executable_t *executable, wia__program_t *program, uint32_t n,
                              wia__queue_t *queue, wia__item_t **out_item) {
  const wia__graph_node_t *node = program->list.nodes[n];
  node_item_t *self = calloc(1, sizeof *self);
  if (!self) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for queued work");
  const wia_status_t status = make_inner(node, &self->inner);
  if (status) {
    free(self);
    return status;
  }
  /* what another device's stream would take is the host's to do here */
  const bool foreign = node->device != queue->device;
  self->part.item = (wia__item_t){.run = self->inner->run ? run_node : NULL,
                                  .submit = self->inner->submit && !foreign ? submit_node : NULL,
                                  .end = end_node,
                                  .mark = self->inner->mark ? mark_node : NULL,
                                  .inner = self->inner,
                                  .name = self->inner->what,
                                  .what = program->titles[n],
                                  .kind = self->inner->kind};
  self->part.executable = executable;
  self->part.program = program;
  self->part.node = n;
  *out_item = &self->part.item;
  return WIA_STATUS_OK;
}

/* -- before and behind the nodes ----------------------------------------------------------------- */

typedef struct last_item_t {
  wia__graph_item_t launch; /* the program with a reference */
  wia__point_t *point;      /* finished at the end, with a reference */
} last_item_t;

static void end_wait(wia__item_t *item, wia_status_t status, const wia__failure_t *failure) {
  (void)status;
  (void)failure;
  wia__release_point(item->wait_for);
  free(item);
}

/* Whoever waits for it does so for its turn only, so a failure is none of its business. */
static void end_last(wia__item_t *item, wia_status_t status, const wia__failure_t *failure) {
  last_item_t *self = (last_item_t *)item;
  wia__program_t *program = self->launch.program;
  (void)status;
  (void)failure;
  wia__finish_point(self->point, NULL);
  wia__release_point(self->point);
  if (program->driver_graph) wia__end_memories(program);
  wia__release(&program->object);
  free(self);
}

static wia_status_t submit_graph(wia__item_t *item, wia_driver_stream_t stream) {
  return wia__launch_driver_graph(((wia__graph_item_t *)item)->program, stream);
}

static wia_status_t mark_graph(wia__item_t *item, wia__queue_t *queue, uint64_t sequence) {
  const wia__program_t *program = ((wia__graph_item_t *)item)->program;
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t i = 0; i < program->memory_count && !status; i++)
    status = wia__mark(program->memories[i], queue, sequence);
  return status;
}

static wia_status_t make_last(wia__executable_t *executable, wia__program_t *program,
                              wia__item_t **out_item, wia__point_t **out_point) {
  last_item_t *last = calloc(1, sizeof *last);
  wia__point_t *point = wia__create_point();
  if (!last || !point) {
    wia__release_point(point);
    free(last);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for queued work");
  }
  *last = (last_item_t){
      .launch = {.item = {.end = end_last}, .executable = executable, .program = program},
      .point = point};
  if (program->driver_graph) {
    const wia_status_t status = wia__use_memories(program);
    if (status) {
      wia__release_point(point);
      free(last);
      return status;
    }
    last->launch.item.submit = submit_graph;
    last->launch.item.mark = mark_graph;
    last->launch.item.what = program->name;
    last->launch.item.kind = WIA_PROFILE_GRAPH;
  }
  wia__retain(&program->object);
  wia__retain_point(point);
  *out_item = &last->launch.item;
  *out_point = point;
  return WIA_STATUS_OK;
}

/* The launch before, if that was on another stream and goes on: its turn comes first. */
static wia_status_t make_wait(wia__executable_t *executable, const wia__queue_t *queue,
                              wia__item_t **out_item) {
  wia__point_t *last = executable->last;
  if (!last || executable->last_queue == queue || wia__point_state(last) != WIA_EVENT_PENDING)
    return WIA_STATUS_OK;
  wia__item_t *item = calloc(1, sizeof *item);
  if (!item) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for queued work");
  wia__retain_point(last);
  *item = (wia__item_t){.wait_for = last, .end = end_wait, .kind = WIA__ITEM_WAIT};
  *out_item = item;
  return WIA_STATUS_OK;
}

static void drop(wia__item_t *first, wia_status_t status) {
  for (wia__item_t *item = first, *next; item; item = next) {
    next = item->next;
    item->end(item, status, NULL);
  }
}

static wia_status_t submit(wia__executable_t *executable, wia__program_t *program,
                           wia__queue_t *queue) {
  wia__item_t *first = NULL, **end = &first, *item = NULL;
  wia__point_t *point = NULL;
  wia_status_t status = make_wait(executable, queue, &item);
  if (item) wia__append(&end, item);
  for (uint32_t n = 0; n < program->list.count && !status && !program->driver_graph; n++) {
    if (!program->step_of[n]) continue;
    status = make_item(executable, program, n, queue, &item);
    if (!status) wia__append(&end, item);
  }
  if (!status) status = make_last(executable, program, &item, &point);
  if (status) {
    drop(first, status);
    return status;
  }
  wia__append(&end, item);
  status = wia__enqueue_all(queue, first);
  if (status) {
    wia__release_point(point);
    return status;
  }
  wia__release_point(executable->last);
  executable->last = point;
  executable->last_queue = queue;
  return WIA_STATUS_OK;
}

wia_status_t wia__submit_program(wia__executable_t *executable, wia__program_t *program,
                                 wia__queue_t *queue) {
  bool pending;
  wia_status_t status = wia__check_memories(program, &pending);
  if (status) return status;
  pthread_mutex_lock(&executable->mutex);
  status = submit(executable, program, queue);
  pthread_mutex_unlock(&executable->mutex);
  return status;
}
