/* core_threads.h: what the tests with many threads share. Included once a program. */
#ifndef TEST_CORE_THREADS_H
#define TEST_CORE_THREADS_H

#include "core_driver.h"

enum { THREADS = 6, ROUNDS = 150, SHARED = 4 };

static uint32_t device; /* that all is on */
static wia_context_t *context;
static _Atomic uint32_t wrong;

/* Statuses that a call may give when another thread destroys what it uses. */
static inline bool is_expected(wia_status_t status) {
  return status == WIA_STATUS_OK || status == WIA_STATUS_INVALID_HANDLE;
}

static inline void note(bool fine, const char *what, wia_status_t status) {
  if (fine) return;
  if (atomic_fetch_add(&wrong, 1) == 0) {
    wia_error_info_t info = WIA_ERROR_INFO_INIT;
    wia_get_last_error(&info);
    printf("%s: %s: %s\n", what, wia_get_status_name(status), info.message);
  }
}

static inline void expect(wia_status_t status, const char *what) {
  note(is_expected(status), what, status);
}

static inline void expect_ok(wia_status_t status, const char *what) {
  note(status == WIA_STATUS_OK, what, status);
}

static inline uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 16;
}

static inline void run_threads(void *(*body)(void *)) {
  pthread_t threads[THREADS];
  uint32_t seeds[THREADS];
  for (uint32_t i = 0; i < THREADS; i++) {
    seeds[i] = i + 1;
    CHECK(pthread_create(&threads[i], NULL, body, &seeds[i]) == 0);
  }
  for (uint32_t i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(atomic_load(&wrong) == 0);
}

static const int64_t size8[] = {8};

static inline wia_tensor_t new_tensor(void) {
  wia_tensor_t tensor = NULL;
  const float zeros[8] = {0};
  expect_ok(wia_allocate_tensor(context, size8, 1, WIA_FLOAT32, &tensor), "allocate");
  expect_ok(wia_write_tensor(tensor, zeros, sizeof zeros, NULL), "write");
  return tensor;
}

static inline wia_stream_t *new_stream(void) {
  wia_stream_t *stream = NULL;
  expect_ok(wia_create_stream(&stream, context), "create_stream");
  return stream;
}

static inline wia_event_t *new_event(void) {
  wia_event_t *event = NULL;
  expect_ok(wia_create_event(&event, context), "create_event");
  return event;
}

static inline void *new_memory(void) {
  void *memory = NULL;
  expect_ok(wia_malloc(&memory, 32, core_id(device)), "malloc");
  return memory;
}

#endif
