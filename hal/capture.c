/* capture.c: noting what is enqueued on streams that capture. */
#include "capture.h"

#include <stdlib.h>
#include <string.h>

struct wia__captured_t {
  wia__object_t object;
  wia__capture_t *capture; /* with a reference */
  wia__frontier_t frontier;
};

static _Atomic uint64_t capture_count;

static wia_status_t no_memory(void) {
  return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a capture");
}

static bool add_to_frontier(wia__frontier_t *frontier, const wia__frontier_t *more) {
  uint32_t *grown =
      realloc(frontier->nodes, (frontier->count + more->count + 1) * sizeof *frontier->nodes);
  if (!grown) return false;
  frontier->nodes = grown;
  for (uint32_t i = 0; i < more->count; i++) {
    bool known = false;
    for (uint32_t j = 0; j < frontier->count && !known; j++) known = grown[j] == more->nodes[i];
    if (!known) grown[frontier->count++] = more->nodes[i];
  }
  return true;
}

/* -- life ---------------------------------------------------------------------------------------- */

static void destroy_capture(wia__object_t *object) {
  wia__capture_t *capture = (wia__capture_t *)object;
  for (uint32_t i = 0; i < capture->branch_count; i++) {
    free(capture->branches[i].frontier.nodes);
    wia__release_queue(capture->branches[i].queue);
  }
  free(capture->branches);
  wia__free_nodes(&capture->list);
  free(capture->name);
  pthread_mutex_destroy(&capture->mutex);
  free(capture);
}

wia__capture_t *wia__create_capture(const char *name) {
  wia__capture_t *capture = calloc(1, sizeof *capture);
  if (!capture) return NULL;
  wia__init_object(&capture->object, WIA__INTERNAL, destroy_capture);
  pthread_mutex_init(&capture->mutex, NULL);
  capture->live = true;
  capture->id = atomic_fetch_add(&capture_count, 1) + 1;
  capture->name = strdup(name ? name : "graph");
  if (capture->name) return capture;
  wia__release(&capture->object);
  return NULL;
}

static void destroy_captured(wia__object_t *object) {
  wia__captured_t *captured = (wia__captured_t *)object;
  wia__release(&captured->capture->object);
  free(captured->frontier.nodes);
  free(captured);
}

void wia__retain_captured(wia__captured_t *captured) { wia__retain(&captured->object); }
void wia__release_captured(wia__captured_t *captured) {
  if (captured) wia__release(&captured->object);
}

/* -- queues and their capture, under the queue's mutex ------------------------------------------- */

void wia__leave_capture(wia__queue_t *queue) {
  wia__capture_t *capture = queue->capture;
  queue->capture = NULL;
  atomic_store(&queue->capturing, 0);
  wia__release(&capture->object);
}

wia__capture_t *wia__current_capture(wia__queue_t *queue) {
  if (queue->capture && !atomic_load(&queue->capture->live)) wia__leave_capture(queue);
  return queue->capture;
}

wia_status_t wia__join_capture(wia__queue_t *queue, wia__capture_t *capture) {
  wia__branch_t *grown =
      realloc(capture->branches, (capture->branch_count + 1) * sizeof *capture->branches);
  if (!grown) return no_memory();
  capture->branches = grown;
  grown[capture->branch_count] = (wia__branch_t){.queue = queue};
  wia__retain_queue(queue);
  queue->branch = capture->branch_count++;
  queue->capture = capture;
  wia__retain(&capture->object);
  atomic_store(&queue->capturing, capture->id);
  return WIA_STATUS_OK;
}

/* The same with the capture's mutex, or NULL and without. */
static wia__capture_t *lock_capture(wia__queue_t *queue) {
  wia__capture_t *capture = wia__current_capture(queue);
  if (!capture) return NULL;
  pthread_mutex_lock(&capture->mutex);
  if (atomic_load(&capture->live)) return capture;
  pthread_mutex_unlock(&capture->mutex); /* another thread has just ended it */
  wia__leave_capture(queue);
  return NULL;
}

/* Takes over the node. */
static wia_status_t add_node(wia__queue_t *queue, wia__graph_node_t *node) {
  wia__capture_t *capture = queue->capture;
  if (!node) return no_memory();
  wia__frontier_t *frontier = &capture->branches[queue->branch].frontier;
  node->branch = queue->branch;
  bool enough = add_to_frontier(frontier, &(wia__frontier_t){0});
  for (uint32_t i = 0; i < frontier->count && enough; i++)
    enough = wia__add_dependency(node, frontier->nodes[i]);
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t i = 0; i < wia__count_memories(node) && !status; i++) {
    wia__allocation_t *allocation = wia__node_memory(node, i);
    if (allocation) status = wia__mark(allocation, queue, WIA__CAPTURED | capture->id);
  }
  if (status || !enough) {
    wia__free_node(node);
    return status ? status : no_memory();
  }
  if (!wia__append_node(&capture->list, node)) return no_memory();
  frontier->nodes[0] = capture->list.count - 1;
  frontier->count = 1;
  return WIA_STATUS_OK;
}

/* A copy between devices may be on the stream of either one. */
static wia__graph_node_t *note(const wia__item_t *item, wia__device_t *device) {
  wia__graph_node_t *node = item->note(item);
  if (node) node->device = device;
  return node;
}

wia_status_t wia__capture_items(wia__queue_t *queue, wia__item_t *first, bool *out_captured) {
  wia__capture_t *capture = lock_capture(queue);
  *out_captured = capture != NULL;
  if (!capture) return WIA_STATUS_OK;
  wia_status_t status = WIA_STATUS_OK;
  for (wia__item_t *item = first; item && !status; item = item->next) {
    if (item->note)
      status = add_node(queue, note(item, queue->device));
    else
      status = wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                         "this can't be captured, and the stream captures \"%s\": end that with "
                         "wia_end_capture() first, or use another stream",
                         capture->name);
  }
  pthread_mutex_unlock(&capture->mutex);
  return status;
}

/* Roots of the list lie behind the branch's frontier, and its frontier then is what nothing of the
 * list depends on. */
static wia_status_t add_nodes(wia__queue_t *queue, const wia__node_list_t *list) {
  wia__capture_t *capture = queue->capture;
  const uint32_t first = capture->list.count;
  wia__frontier_t before = {0}, after = {0};
  bool *needed = calloc(list->count + 1, sizeof *needed);
  bool enough = needed && add_to_frontier(&before, &capture->branches[queue->branch].frontier);
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t n = 0; n < list->count && enough && !status; n++) {
    wia__graph_node_t *node = wia__copy_node(list->nodes[n]);
    wia__frontier_t *frontier = &capture->branches[queue->branch].frontier;
    frontier->count = 0;
    const wia__graph_node_t *from = list->nodes[n];
    enough =
        node && add_to_frontier(frontier, from->dependency_count ? &(wia__frontier_t){0} : &before);
    if (node) node->dependency_count = 0;
    for (uint32_t i = 0; i < from->dependency_count && enough; i++) {
      needed[from->dependencies[i]] = true;
      const uint32_t at = first + from->dependencies[i];
      enough = add_to_frontier(frontier, &(wia__frontier_t){(uint32_t *)&at, 1});
    }
    if (enough)
      status = add_node(queue, node);
    else
      wia__free_node(node);
  }
  for (uint32_t n = 0; n < list->count && enough && !status; n++) {
    const uint32_t at = first + n;
    if (!needed[n]) enough = add_to_frontier(&after, &(wia__frontier_t){(uint32_t *)&at, 1});
  }
  wia__frontier_t *frontier = &capture->branches[queue->branch].frontier;
  wia__frontier_t *last = enough && !status && list->count ? &after : &before;
  while (last == &before && capture->list.count > first)
    wia__free_node(capture->list.nodes[--capture->list.count]);
  if (needed && last->nodes) {
    free(frontier->nodes);
    *frontier = *last;
    *last = (wia__frontier_t){0};
  }
  free(before.nodes);
  free(after.nodes);
  free(needed);
  return enough || status ? status : no_memory();
}

wia_status_t wia__capture_nodes(wia__queue_t *queue, const wia__node_list_t *list,
                                bool *out_captured) {
  pthread_mutex_lock(&queue->mutex);
  wia__capture_t *capture = lock_capture(queue);
  *out_captured = capture != NULL;
  wia_status_t status = WIA_STATUS_OK;
  if (capture) {
    status = add_nodes(queue, list);
    pthread_mutex_unlock(&capture->mutex);
  }
  pthread_mutex_unlock(&queue->mutex);
  return status;
}

wia_status_t wia__capture_use(wia__queue_t *queue, wia__allocation_t *allocation,
                              bool *out_captured) {
  pthread_mutex_lock(&queue->mutex);
  wia__capture_t *capture = lock_capture(queue);
  *out_captured = capture != NULL;
  wia_status_t status = WIA_STATUS_OK;
  if (capture) {
    const wia__frontier_t *frontier = &capture->branches[queue->branch].frontier;
    for (uint32_t i = 0; i < frontier->count && !status; i++) {
      if (!wia__add_node_use(capture->list.nodes[frontier->nodes[i]], allocation))
        status = no_memory();
    }
    if (frontier->count && !status)
      status = wia__mark(allocation, queue, WIA__CAPTURED | capture->id);
    pthread_mutex_unlock(&capture->mutex);
  }
  pthread_mutex_unlock(&queue->mutex);
  return status;
}

wia_status_t wia__refuse_capturing(const wia__queue_t *queue) {
  if (!atomic_load(&queue->capturing)) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                   "the stream captures, so its work isn't done before the graph is launched: end "
                   "the capture with wia_end_capture() or wia_cancel_capture() first");
}

/* -- events -------------------------------------------------------------------------------------- */

wia_status_t wia__capture_record(wia__queue_t *queue, wia__captured_t **out_captured) {
  *out_captured = NULL;
  pthread_mutex_lock(&queue->mutex);
  wia__capture_t *capture = lock_capture(queue);
  wia_status_t status = WIA_STATUS_OK;
  if (capture) {
    wia__captured_t *captured = calloc(1, sizeof *captured);
    if (captured &&
        add_to_frontier(&captured->frontier, &capture->branches[queue->branch].frontier)) {
      wia__init_object(&captured->object, WIA__INTERNAL, destroy_captured);
      wia__retain(&capture->object);
      captured->capture = capture;
      *out_captured = captured;
    } else {
      free(captured);
      status = no_memory();
    }
    pthread_mutex_unlock(&capture->mutex);
  }
  pthread_mutex_unlock(&queue->mutex);
  return status;
}

/* Under the queue's mutex and that of the event's capture. */
static wia_status_t wait_in(wia__queue_t *queue, const wia__captured_t *captured) {
  wia__capture_t *capture = captured->capture;
  if (!atomic_load(&capture->live))
    return wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                     "the event was recorded in the capture of \"%s\", which has ended: record it "
                     "anew",
                     capture->name);
  if (queue->capture && queue->capture != capture)
    return wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                     "the event was recorded in the capture of \"%s\", and the stream is in that "
                     "of \"%s\": captures can't wait for each other",
                     capture->name, queue->capture->name);
  const wia_status_t status = queue->capture ? WIA_STATUS_OK : wia__join_capture(queue, capture);
  if (status) return status;
  return add_to_frontier(&capture->branches[queue->branch].frontier, &captured->frontier)
             ? WIA_STATUS_OK
             : no_memory();
}

wia_status_t wia__capture_wait(wia__queue_t *queue, wia__captured_t *captured, bool *out_captured) {
  wia_status_t status = WIA_STATUS_OK;
  *out_captured = captured != NULL;
  pthread_mutex_lock(&queue->mutex);
  const wia__capture_t *capture = wia__current_capture(queue);
  if (captured && queue->closed) {
    status = wia__fail(WIA_STATUS_INVALID_HANDLE, "the stream was destroyed by another thread");
  } else if (captured) {
    pthread_mutex_lock(&captured->capture->mutex);
    status = wait_in(queue, captured);
    pthread_mutex_unlock(&captured->capture->mutex);
  } else if (capture) {
    status = wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                       "the event was not recorded in the capture of \"%s\", so a launch of the "
                       "graph could not wait for it: have the stream wait before the capture, or "
                       "before the launch",
                       capture->name);
  }
  pthread_mutex_unlock(&queue->mutex);
  return status;
}
