/* capture_calls.c: beginning and ending captures. */
#include <stdlib.h>
#include <string.h>

#include "capture.h"

static wia_status_t no_memory(void) {
  return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a capture");
}

static wia_status_t begin_capture(wia_stream_t *stream, const wia_capture_config_t *given) {
  wia_capture_config_t config = {0};
  wia__queue_t *queue = NULL;
  wia_status_t status =
      wia__read_struct(given, &config, sizeof config, sizeof config, "WIA_CAPTURE_CONFIG_INIT");
  if (!status) status = wia__resolve_stream(stream, &queue);
  if (!status) status = wia__queue_status(queue);
  if (status) return status;
  wia__capture_t *capture = wia__create_capture(config.name);
  if (!capture) return no_memory();
  pthread_mutex_lock(&queue->mutex);
  const wia__capture_t *current = wia__current_capture(queue);
  if (current)
    status = wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                       "the stream captures \"%s\" already: end that with wia_end_capture() first",
                       current->name);
  else if (queue->closed)
    status = wia__fail(WIA_STATUS_INVALID_HANDLE, "the stream was destroyed by another thread");
  else
    status = wia__join_capture(queue, capture);
  pthread_mutex_unlock(&queue->mutex);
  wia__release(&capture->object);
  return status;
}

WIA_API wia_status_t wia_begin_capture(wia_stream_t *stream, const wia_capture_config_t *config) {
  WIA__CALL(begin_capture(stream, config));
}

/* The capture that was begun on a stream, with a reference. */
static wia_status_t find_capture(wia_stream_t *stream, wia__capture_t **out_capture) {
  wia__queue_t *queue = NULL;
  wia_status_t status = wia__resolve_stream(stream, &queue);
  if (status) return status;
  pthread_mutex_lock(&queue->mutex);
  wia__capture_t *capture = wia__current_capture(queue);
  if (!capture)
    status = wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                       "the stream doesn't capture; begin with wia_begin_capture()");
  else if (queue->branch != 0)
    status = wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                       "the stream only joined the capture of \"%s\", as branch %u: that is ended "
                       "on the stream it was begun on",
                       capture->name, queue->branch);
  else
    wia__retain(&capture->object);
  *out_capture = capture;
  pthread_mutex_unlock(&queue->mutex);
  return status;
}

/* Fails naming a node that the first branch doesn't wait for. Under the capture's mutex. */
static wia_status_t check_joined(const wia__capture_t *capture) {
  const uint32_t count = capture->list.count;
  bool *joined = calloc(count + 1, sizeof *joined);
  if (!joined) return no_memory();
  const wia__frontier_t *frontier = &capture->branches[0].frontier;
  for (uint32_t i = 0; i < frontier->count; i++) joined[frontier->nodes[i]] = true;
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t n = count; n-- > 0 && !status;) {
    const wia__graph_node_t *node = capture->list.nodes[n];
    char text[WIA__NODE_TEXT];
    if (!joined[n])
      status = wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                         "the stream doesn't wait for %s, which branch %u has captured: record an "
                         "event there, and have the stream that began the capture wait for it",
                         wia__describe_node(text, capture->name, node, n), node->branch);
    for (uint32_t i = 0; i < node->dependency_count; i++) joined[node->dependencies[i]] = true;
  }
  free(joined);
  return status;
}

/* Has all queues leave it. */
static void let_go(wia__capture_t *capture) {
  for (uint32_t i = 0; i < capture->branch_count; i++) {
    wia__queue_t *queue = capture->branches[i].queue;
    pthread_mutex_lock(&queue->mutex);
    if (queue->capture == capture) wia__leave_capture(queue);
    pthread_mutex_unlock(&queue->mutex);
  }
}

static wia_status_t end_capture(wia_stream_t *stream, wia_graph_t **out_graph) {
  if (!out_graph) return wia__null("out_graph");
  wia__capture_t *capture = NULL;
  wia_status_t status = find_capture(stream, &capture);
  if (status) return status;
  wia__node_list_t list = {0};
  char *name = NULL;
  pthread_mutex_lock(&capture->mutex);
  if (!atomic_load(&capture->live))
    status = wia__fail(WIA_STATUS_FAILED_PRECONDITION, "another thread has ended the capture");
  else
    status = check_joined(capture);
  if (!status) {
    atomic_store(&capture->live, false);
    list = capture->list;
    capture->list = (wia__node_list_t){0};
    name = strdup(capture->name);
  }
  pthread_mutex_unlock(&capture->mutex);
  if (!status) {
    let_go(capture);
    status = wia__create_graph(name, capture->branches[0].queue->device, capture->branch_count,
                               &list, out_graph);
  }
  wia__release(&capture->object);
  return status;
}

WIA_API wia_status_t wia_end_capture(wia_stream_t *stream, wia_graph_t **out_graph) {
  WIA__CALL(end_capture(stream, out_graph));
}

static void cancel(wia__capture_t *capture) {
  wia__node_list_t list = {0};
  pthread_mutex_lock(&capture->mutex);
  const bool live = atomic_exchange(&capture->live, false);
  if (live) {
    list = capture->list;
    capture->list = (wia__node_list_t){0};
  }
  pthread_mutex_unlock(&capture->mutex);
  wia__free_nodes(&list);
  if (live) let_go(capture);
}

static wia_status_t cancel_capture(wia_stream_t *stream) {
  wia__capture_t *capture = NULL;
  const wia_status_t status = find_capture(stream, &capture);
  if (status) return status;
  cancel(capture);
  wia__release(&capture->object);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_cancel_capture(wia_stream_t *stream) { WIA__CALL(cancel_capture(stream)); }

void wia__abandon_capture(wia__queue_t *queue) {
  pthread_mutex_lock(&queue->mutex);
  wia__capture_t *capture = wia__current_capture(queue);
  const bool begun = capture && queue->branch == 0;
  if (begun) wia__retain(&capture->object);
  if (capture && !begun) wia__leave_capture(queue);
  pthread_mutex_unlock(&queue->mutex);
  if (!begun) return;
  cancel(capture);
  wia__release(&capture->object);
}

static wia_status_t query_capture(wia_stream_t *stream, uint32_t *out_capturing) {
  if (!out_capturing) return wia__null("out_capturing");
  wia__queue_t *queue = NULL;
  const wia_status_t status = wia__resolve_stream(stream, &queue);
  if (!status) *out_capturing = atomic_load(&queue->capturing) != 0;
  return status;
}

WIA_API wia_status_t wia_query_capture(wia_stream_t *stream, uint32_t *out_capturing) {
  WIA__CALL(query_capture(stream, out_capturing));
}
