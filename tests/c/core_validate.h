/* core_validate.h: what the tests of the layer validate share: streams, tensors and a device of every sort in
 * turn. Included once a program. */
#ifndef TEST_CORE_VALIDATE_H
#define TEST_CORE_VALIDATE_H

#include "findings.h"

enum { COUNT = 16 };

static uint32_t device;
static wia_context_t *context;
static wia_stream_t *one, *two, *three;
static wia_event_t *event, *other;
static wia_tensor_t a, b, c, d;
static _Atomic uint32_t lines;

static inline void set_up(void) {
  context = core_context(device);
  CHECK_STATUS(wia_create_stream(&one, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_stream(&two, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_stream(&three, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_event(&event, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_event(&other, context), WIA_STATUS_OK);
  a = core_tensor(context, COUNT, 0);
  b = core_tensor(context, COUNT, 0);
  c = core_tensor(context, COUNT, 0);
  d = core_tensor(context, COUNT, 0);
}

static inline void tear_down(void) {
  finish(one);
  finish(two);
  finish(three);
  wia_destroy_stream(one);
  wia_destroy_stream(two);
  wia_destroy_stream(three);
  wia_destroy_event(event);
  wia_destroy_event(other);
  core_destroy(a);
  core_destroy(b);
  core_destroy(c);
  core_destroy(d);
  wia_destroy_context(context);
}

static inline void add(wia_tensor_t from, wia_tensor_t to, wia_stream_t *stream) {
  CHECK_STATUS(wia_add(context, from, from, to, stream), WIA_STATUS_OK);
}
static inline void record(wia_event_t *at, wia_stream_t *stream) {
  CHECK_STATUS(wia_record_event(at, stream), WIA_STATUS_OK);
}
static inline void enqueue_wait(wia_stream_t *stream, wia_event_t *at) {
  CHECK_STATUS(wia_enqueue_wait(stream, at), WIA_STATUS_OK);
}
static inline void finish_all(void) {
  finish(one);
  finish(two);
  finish(three);
}

static inline void report_findings(void) {
  wia_validation_config_t config = WIA_VALIDATION_CONFIG_INIT;
  config.mode = WIA_VALIDATION_REPORT;
  CHECK_STATUS(wia_configure_validation(&config), WIA_STATUS_OK);
}

static inline int run_on_all_sorts(void (*tests)(void)) {
  static const uint32_t devices[] = {CORE_PLAIN, CORE_OPAQUE, CORE_QUEUED, CORE_SPARSE};
  core_start();
  core.only_touch = true;
  core.kernel_flags = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE;
  CHECK_STATUS(wia_set_log_callback(swallow, &lines), WIA_STATUS_OK);
  report_findings();
  CHECK_STATUS(wia_enable_layer("validate"), WIA_STATUS_OK);
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    device = devices[i];
    tests();
  }
  CHECK(lines > 0); /* finding.c, tell */
  CHECK_STATUS(wia_disable_layer("validate"), WIA_STATUS_OK);
  core_evict();
  CHECK_CLEAN();
  return CHECK_DONE();
}

#endif
