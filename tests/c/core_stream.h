/* core_stream.h: streams and events of a device, for tests that do the same on those of the library and of
 * the drivers. */
#ifndef TEST_CORE_STREAM_H
#define TEST_CORE_STREAM_H

#include "core_device.h"

static wia_tensor_t input; /* 1, 2, 3, 4 */

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
