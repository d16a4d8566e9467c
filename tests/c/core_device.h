/* core_device.h: the device that a test is on, its streams and events. Included once a program. */
#ifndef TEST_CORE_DEVICE_H
#define TEST_CORE_DEVICE_H

#include "core_driver.h"

static const int64_t LONG_NS = INT64_C(20000000000);

static uint32_t device;
static wia_context_t *context;

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

#endif
