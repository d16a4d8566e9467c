/* core_graph.h: what the tests of graphs share: a device of every sort in turn, and short ways to capture.
 * Included once a program. */
#ifndef TEST_CORE_GRAPH_H
#define TEST_CORE_GRAPH_H

#include "core_device.h"

static wia_tensor_t one; /* 1, 1, 1, 1 */

static inline void begin(wia_stream_t *stream, const char *name) {
  wia_capture_config_t config = WIA_CAPTURE_CONFIG_INIT;
  config.name = name;
  CHECK_STATUS(wia_begin_capture(stream, &config), WIA_STATUS_OK);
}

static inline wia_graph_t *end(wia_stream_t *stream) {
  wia_graph_t *graph = NULL;
  CHECK_STATUS(wia_end_capture(stream, &graph), WIA_STATUS_OK);
  return graph;
}

static inline wia_executable_t *instantiate(wia_graph_t *graph, int32_t branches) {
  wia_executable_t *executable = NULL;
  wia_instantiate_config_t config = WIA_INSTANTIATE_CONFIG_INIT;
  config.branches = branches;
  CHECK_STATUS(wia_instantiate_graph(graph, &config, &executable), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_graph(graph), WIA_STATUS_OK);
  return executable;
}

static inline void *address_of(wia_tensor_t tensor) {
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(tensor, &info), WIA_STATUS_OK);
  return (void *)(uintptr_t)info.address;
}

static _Atomic uint32_t calls;
static inline wia_status_t count_call(void *argument, wia_status_t status, wia_error_t *out_error) {
  (void)out_error;
  if (status) return WIA_STATUS_OK;
  atomic_fetch_add(&calls, argument ? *(const uint32_t *)argument : 1);
  return WIA_STATUS_OK;
}

static inline int run_on_all_devices(void (*tests)(void)) {
  core_start();
  for (device = 0; device < CORE_ALL_COUNT; device++) {
    const float ones[] = {1, 1, 1, 1};
    context = core_context(device);
    one = core_tensor(context, 4, 0);
    CHECK_STATUS(wia_write_tensor(one, ones, sizeof ones, NULL), WIA_STATUS_OK);
    tests();
    core_destroy(one);
    CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  }
  core_evict(); /* kernels keep workspaces */
  CHECK_CLEAN();
  return CHECK_DONE();
}

#endif
