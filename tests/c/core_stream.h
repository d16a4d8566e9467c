/* core_stream.h: streams and events of a device, for tests that do the same on those of the library and of
 * the drivers. */
#ifndef TEST_CORE_STREAM_H
#define TEST_CORE_STREAM_H

#include "core_driver.h"

static const int64_t LONG_NS = INT64_C(20000000000);

static uint32_t device;
static wia_context_t *context;
static wia_tensor_t input; /* 1, 2, 3, 4 */

static inline wia_stream_t *make_stream(void) {
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  return stream;
}

static inline wia_event_t *make_event(void) {
  wia_event_t *event = NULL;
  CHECK_STATUS(wia_create_event(&event, context), WIA_STATUS_OK);
  return event;
}

static inline wia_status_t finish(wia_stream_t *stream) {
  return wia_synchronize_stream(stream, LONG_NS);
}

/* Enqueues a launch that stands at the gate until that is opened. */
static inline void block(wia_stream_t *stream, wia_tensor_t output) {
  core_close_gate();
  CHECK_STATUS(wia_relu(context, input, output, stream), WIA_STATUS_OK);
  CHECK(core_await_gate(1));
}

static inline void run_on(uint32_t which, void (*run_tests)(void)) {
  device = which;
  context = core_context(device);
  input = core_tensor(context, 4, 1);
  run_tests();
  core_destroy(input);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_CLEAN();
}

/* On streams of the library's and of the driver's. */
static inline void run_on_all(void (*run_tests)(void)) {
  core_start();
  run_on(CORE_PLAIN, run_tests);
  run_on(CORE_QUEUED, run_tests);
  run_on(CORE_SPARSE, run_tests);
}

#endif
