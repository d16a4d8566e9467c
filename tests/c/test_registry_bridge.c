/* Drivers that come over the bridge, as Python's do: entry points that can't be used, duplicates,
 * names that native drivers have, errors with a traceback, many threads (scenarios 6, 7 and 8). The
 * bridge here is in C, so that every answer can be had. Beside each check: the guard without which
 * it fails. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "drivers/tiny.h"
#include "folder.h"
#include "registry.h"

enum { THREADS = 8 };

static const char *folder;
static _Atomic int discover_count, load_count;
static wia_driver_t table, misnamed, faulty;

static wia_status_t discover(void (*add)(void *context, const char *name, const char *source,
                                         const char *version, const char *problem),
                             void *context, wia_error_t *out_error) {
  (void)out_error;
  atomic_fetch_add(&discover_count, 1);
  const struct timespec delay = {.tv_nsec = 20000000};
  nanosleep(&delay, NULL);
  add(context, "snake", "snake = snakes:Driver", "0.9", NULL);
  add(context, "snake", "snake = snakes:Driver", "0.9", NULL);
  add(context, "snake", "snake = others:Driver", "0.1", NULL);
  add(context, "good", "good = snakes:Good", "0.9", NULL);
  add(context, "Odd Name", "Odd Name = snakes:Odd", NULL, NULL);
  add(context, "", "? = ?", NULL, "it has no colon");
  add(context, "raising", "raising = snakes:Raising", "0.9", NULL);
  add(context, "misnamed", "misnamed = snakes:Misnamed", "0.9", NULL);
  add(context, "faulty", "faulty = snakes:Faulty", "0.9", NULL);
  return WIA_STATUS_OK;
}

static wia_status_t load(const char *name, const char *source, int64_t timeout_ns,
                         const wia_driver_t **out_table, wia_error_t *out_error) {
  (void)source;
  CHECK(timeout_ns == INT64_C(30000000000));
  atomic_fetch_add(&load_count, 1);
  const struct timespec delay = {.tv_nsec = 50000000};
  nanosleep(&delay, NULL);
  if (strcmp(name, "raising") == 0) {
    tiny_host->set_error_text(out_error, "ValueError: bad scale", "Traceback: line 1\nline 2");
    return WIA_STATUS_INVALID_ARGUMENT;
  }
  if (strcmp(name, "misnamed") == 0) *out_table = &misnamed;
  if (strcmp(name, "faulty") == 0) *out_table = &faulty;
  if (strcmp(name, "snake") == 0) *out_table = &table;
  return WIA_STATUS_OK;
}

static void start(void) {
  folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "default = no\n");
  tiny_host = wia_get_host();
  tiny_make(&table, "snake");
  tiny_make(&misnamed, "somebody_else");
  tiny_make(&faulty, "faulty");
  faulty.copy = NULL;
  wia__bridge_t bridge = {.struct_size = sizeof bridge, .discover = discover};
  /* python.c, wia__set_bridge: what a bridge must have. */
  CHECK_STATUS(wia__set_bridge(NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia__set_bridge(&bridge), WIA_STATUS_INVALID_ARGUMENT);
  bridge.load = load;
  bridge.struct_size = 8;
  CHECK_STATUS(wia__set_bridge(&bridge), WIA_STATUS_INVALID_ARGUMENT);
  bridge.struct_size = sizeof bridge;
  CHECK_STATUS(wia__set_bridge(&bridge), WIA_STATUS_OK);
  bridge.load = NULL; /* the library has a copy */
}

static void test_entry_points(void) {
  start();
  int32_t id = -1;
  /* A native driver is found without looking at entry points. */
  CHECK_STATUS(wia_find_device("good", &id), WIA_STATUS_OK);
  CHECK(atomic_load(&discover_count) == 0);
  /* Listing loads none. */
  wia_load_record_t record = find_record("snake = snakes:Driver", "snake");
  CHECK(atomic_load(&discover_count) == 1 && atomic_load(&load_count) == 0);
  CHECK(record.kind == WIA_DRIVER_KIND_PYTHON);
  CHECK(record.state == WIA_DRIVER_STATE_FOUND);
  CHECK(strcmp(record.version, "0.9") == 0);
  /* records.c, judge */
  record = find_record("snake = others:Driver", NULL);
  CHECK(record.status == WIA_STATUS_ALREADY_EXISTS);
  CHECK_TEXT(record.message, "snake = snakes:Driver");
  record = find_record("good = snakes:Good", NULL);
  CHECK(record.status == WIA_STATUS_ALREADY_EXISTS);
  CHECK_TEXT(record.message, "/good.manifest");
  /* discovery.c, add_entry_point */
  record = find_record("Odd Name = snakes:Odd", NULL);
  CHECK(record.state == WIA_DRIVER_STATE_REFUSED);
  CHECK_TEXT(record.message, "the entry point is named \"Odd Name\"; expected");
  record = find_record("? = ?", NULL);
  CHECK(record.state == WIA_DRIVER_STATE_REFUSED);
  CHECK_TEXT(record.message, "it has no colon");
  uint32_t count = 0, duplicates = 0;
  CHECK_STATUS(wia_get_load_record_count(&count), WIA_STATUS_OK);
  for (uint32_t i = 0; i < count; ++i) {
    record = WIA_LOAD_RECORD_INIT;
    CHECK_STATUS(wia_get_load_record(i, &record), WIA_STATUS_OK);
    duplicates += record.state == WIA_DRIVER_STATE_DUPLICATE;
  }
  CHECK(duplicates == 1);
  remove_folder(folder);
}

static void check_refused(const char *name, wia_status_t status, const char *part,
                          const char *cause_part) {
  int32_t id = -7;
  CHECK_STATUS(wia_find_device(name, &id), status);
  CHECK(id == -7);
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  CHECK_STATUS(wia_get_last_error(&info), WIA_STATUS_OK);
  CHECK_TEXT(info.message, part);
  CHECK_TEXT(info.cause, cause_part);
}

static void test_loading(void) {
  start();
  check_refused("raising", WIA_STATUS_INVALID_ARGUMENT, "ValueError: bad scale",
                "Traceback: line 1\nline 2");
  /* loader.c, check_loaded */
  check_refused("misnamed", WIA_STATUS_INVALID_ARGUMENT,
                "its driver has the name \"somebody_else\"; expected the same", "");
  check_refused("faulty", WIA_STATUS_INVALID_ARGUMENT, "has NULL for copy, which is required", "");
  const int before = atomic_load(&load_count);
  check_refused("raising", WIA_STATUS_INVALID_ARGUMENT, "ValueError", "Traceback"); /* kept */
  CHECK(atomic_load(&load_count) == before);
  check_refused("snakes", WIA_STATUS_NOT_FOUND, "did you mean \"snake\"?", "");
  check_refused(NULL, WIA_STATUS_NOT_FOUND, "the default driver is \"reference\"", "");
  int32_t ids[4];
  uint32_t count = 0;
  CHECK_STATUS(wia_get_devices(ids, 4, &count), WIA_STATUS_OK);
  CHECK(count == 2); /* good and snake */
  int32_t id = -1;
  CHECK_STATUS(wia_find_device("snake", &id), WIA_STATUS_OK);
  CHECK(id == ids[0] || id == ids[1]);
  CHECK(strcmp(find_record("snake = snakes:Driver", NULL).version, "1.2.3") == 0);
  CHECK(atomic_load(&discover_count) == 1);
  remove_folder(folder);
}

/* A name in memory against one over the bridge: the bridge runs, so it is asked first. */
static void test_register(void) {
  start();
  static wia_driver_t taken;
  tiny_make(&taken, "snake");
  CHECK_STATUS(wia_register_driver(&taken, 1, 0), WIA_STATUS_ALREADY_EXISTS);
  CHECK_MESSAGE("snake = snakes:Driver");
  remove_folder(folder);
}

static pthread_barrier_t barrier;

static void *find_snake(void *unused) {
  (void)unused;
  pthread_barrier_wait(&barrier);
  int32_t id;
  CHECK_STATUS(wia_find_device("snake", &id), WIA_STATUS_OK);
  return NULL;
}

/* One looks and one loads, the others wait: discovery.c, SEARCH_RUNNING; loader.c, record->loading. */
static void test_threads(void) {
  start();
  pthread_t threads[THREADS];
  pthread_barrier_init(&barrier, NULL, THREADS);
  for (int i = 0; i < THREADS; ++i)
    if (pthread_create(&threads[i], NULL, find_snake, NULL) != 0) abort();
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&barrier);
  CHECK(atomic_load(&discover_count) == 1);
  CHECK(atomic_load(&load_count) == 1);
  remove_folder(folder);
}

int main(void) {
  RUN_ALONE(test_entry_points);
  RUN_ALONE(test_loading);
  RUN_ALONE(test_register);
  RUN_ALONE(test_threads);
  return CHECK_DONE();
}
