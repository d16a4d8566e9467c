/* The log: thresholds, the function that takes its lines, what the library itself has to say. Beside
 * each check: the guard without which it fails. */
#include <sched.h>

#include "core_driver.h"
#include "folder.h"

static char lines[8192];
static _Atomic uint32_t line_count;
static void *seen_context;

static void take(void *context, int32_t level, const char *subsystem, const char *driver,
                 const char *message) {
  const size_t used = strlen(lines);
  snprintf(lines + used, sizeof lines - used, "%d %s %s %s\n", (int)level, subsystem, driver,
           message);
  seen_context = context;
  line_count++;
}

static void clear(void) { lines[0] = '\0'; }

static const wia_driver_t speaker = {.struct_size = sizeof speaker, .name = "npu_x"};

static void speak(int32_t level) { wia_get_host()->log(&speaker, level, "a word"); }

static void test_levels(void) {
  int context;
  CHECK_STATUS(wia_set_log_callback(take, &context), WIA_STATUS_OK);
  speak(WIA_LOG_WARNING);
  speak(WIA_LOG_INFO); /* log.c, wia__logs: quiet by default */
  CHECK(strcmp(lines, "2 driver npu_x a word\n") == 0);
  CHECK(seen_context == &context);
  clear();
  CHECK_STATUS(wia_set_log_level("none"), WIA_STATUS_OK);
  speak(WIA_LOG_ERROR);
  CHECK_STATUS(wia_set_log_level("driver=info"), WIA_STATUS_OK); /* the others stay at none */
  speak(WIA_LOG_INFO);
  speak(WIA_LOG_DEBUG);
  CHECK(strcmp(lines, "3 driver npu_x a word\n") == 0);
  clear();
  CHECK_STATUS(wia_set_log_level("debug,driver=error,plan=none"), WIA_STATUS_OK);
  speak(WIA_LOG_WARNING);
  CHECK(lines[0] == '\0');
  static const char *const malformed[] = {
      "",      "loud",   "warning,",    "plan=",      "plan=loud",
      "=info", "x=info", "plan=a=info", "info,,none", "warningwarningwarningwarningwarningwarning"};
  for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
    CHECK_STATUS(wia_set_log_level(malformed[i]), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_set_log_level(NULL), WIA_STATUS_INVALID_ARGUMENT);
  wia_error_info_t error = WIA_ERROR_INFO_INIT;
  CHECK_STATUS(wia_set_log_level("info,plum=debug"), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_get_last_error(&error), WIA_STATUS_OK);
  CHECK(strstr(error.message, "info,plum=debug") && strstr(error.message, "plan"));
  speak(WIA_LOG_WARNING); /* log.c, set_level: a malformed text changes nothing */
  CHECK(lines[0] == '\0');
  speak(WIA_LOG_ERROR);
  CHECK(lines[0] != '\0');
  clear();
}

/* What the library says on the way of a call, each under its subsystem. */
static void test_lines_of_the_library(void) {
  setenv("WIA_PLAN_CACHE_SIZE", "1", 1);
  core_start();
  CHECK_STATUS(wia_set_log_callback(take, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_set_log_level("debug"), WIA_STATUS_OK);
  wia_context_t *context = core_context(CORE_PLAIN);
  wia_tensor_t tensor = core_tensor(context, 4, 1);
  CHECK_STATUS(wia_add(context, tensor, tensor, tensor, NULL), WIA_STATUS_OK);
  CHECK(strstr(lines, "3 device core core:0 is open\n") != NULL);
  CHECK(strstr(lines, "4 memory core 16 bytes on core:0: allocated\n") != NULL);
  CHECK(strstr(lines, "4 plan core add on core:0: prepared after ") != NULL);
  clear();
  CHECK_STATUS(wia_neg(context, tensor, tensor, NULL), WIA_STATUS_UNIMPLEMENTED);
  CHECK(strstr(lines, "4 plan core neg on core:0: UNIMPLEMENTED after ") != NULL);
  CHECK(strstr(lines, "4 plan core add on core:0: evicted; the cache holds 1\n") != NULL);
  clear();
  core_destroy(tensor);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_STATUS(wia_set_log_level("warning"), WIA_STATUS_OK);
}

/* A manifest that can't be read is present and broken; a folder that isn't there is absent. */
static void test_broken_manifest(void) {
  const char *folder = make_folder();
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "/there/is/none:%s", folder);
  setenv("WIA_DRIVER_PATH", path, 1);
  write_text(folder, "broken.manifest", "no manifest at all");
  announce(folder, "refusing", LIBRARY("refusing"), "");
  CHECK_STATUS(wia_set_log_callback(take, NULL), WIA_STATUS_OK);
  int32_t id;
  CHECK_STATUS(wia_find_device("refusing", &id), WIA_STATUS_FAILED_PRECONDITION);
  CHECK(strstr(lines, "2 discovery ") == lines && strstr(lines, "broken.manifest") != NULL);
  CHECK(strstr(lines, "none") == NULL);
  CHECK(line_count == 1); /* registry.c, load_slot: the caller knows about the other */
  uint32_t count = 0;
  CHECK_STATUS(wia_get_devices(NULL, 0, &count), WIA_STATUS_OK);
  CHECK(strstr(lines, "refusing") == NULL); /* records.c, take_failure: once */
  remove_folder(folder);
}

/* Nobody asked for the driver by its name, so nobody else is told. */
static void test_left_out(void) {
  const char *folder = make_folder();
  announce(folder, "refusing", LIBRARY("refusing"), "");
  CHECK_STATUS(wia_set_log_callback(take, NULL), WIA_STATUS_OK);
  uint32_t count = 0;
  CHECK_STATUS(wia_get_devices(NULL, 0, &count), WIA_STATUS_OK);
  CHECK(strstr(lines, "2 discovery refusing ") != NULL); /* devices.c, list_devices */
  const uint32_t before = line_count;
  CHECK_STATUS(wia_get_devices(NULL, 0, &count), WIA_STATUS_OK);
  CHECK(line_count == before);
  remove_folder(folder);
}

/* log.c, start: the variable, and what is said of one that can't be read. */
static void test_variable(void) {
  setenv("WIA_LOG", "none,driver=debug", 1);
  CHECK_STATUS(wia_set_log_callback(take, NULL), WIA_STATUS_OK);
  speak(WIA_LOG_DEBUG);
  CHECK(strcmp(lines, "4 driver npu_x a word\n") == 0);
}

static void test_malformed_variable(void) {
  setenv("WIA_LOG", "loudly", 1);
  CHECK_STATUS(wia_set_log_callback(take, NULL), WIA_STATUS_OK);
  speak(WIA_LOG_WARNING);
  speak(WIA_LOG_INFO);
  CHECK(strcmp(lines, "2 driver npu_x a word\n") == 0);
}

static void take_and_call(void *context, int32_t level, const char *subsystem, const char *driver,
                          const char *message) {
  take(context, level, subsystem, driver, message);
  /* log.c, set_callback: would wait for itself */
  CHECK_STATUS(wia_set_log_callback(NULL, NULL), WIA_STATUS_FAILED_PRECONDITION);
  speak(WIA_LOG_DEBUG);
}

static void test_reentry(void) {
  CHECK_STATUS(wia_set_log_callback(take_and_call, NULL), WIA_STATUS_OK);
  const uint32_t before = line_count;
  speak(WIA_LOG_ERROR);
  CHECK(line_count == before + 1);
  clear();
}

static _Atomic uint32_t in_first;
static _Atomic bool stop;

static void count_first(void *context, int32_t level, const char *subsystem, const char *driver,
                        const char *message) {
  (void)level, (void)subsystem, (void)driver, (void)message;
  _Atomic uint32_t *inside = context;
  (*inside)++;
  sched_yield();
  (*inside)--;
}

static void *chatter(void *argument) {
  (void)argument;
  while (!stop) speak(WIA_LOG_ERROR);
  return NULL;
}

/* On return of a replacement no thread is in the function before it. */
static void test_replacement_waits(void) {
  pthread_t threads[2];
  CHECK_STATUS(wia_set_log_callback(count_first, &in_first), WIA_STATUS_OK);
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, chatter, NULL);
  _Atomic uint32_t other = 0;
  bool left = true;
  for (int i = 0; i < 20; i++) {
    wia_set_log_callback(count_first, &other);
    left = left && in_first == 0; /* log.c, set_callback: the lock */
    wia_set_log_callback(count_first, &in_first);
    left = left && other == 0;
  }
  stop = true;
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  CHECK(left);
  CHECK_STATUS(wia_set_log_callback(NULL, NULL), WIA_STATUS_OK);
}

int main(void) {
  RUN_ALONE(test_levels);
  RUN_ALONE(test_lines_of_the_library);
  RUN_ALONE(test_broken_manifest);
  RUN_ALONE(test_left_out);
  RUN_ALONE(test_variable);
  RUN_ALONE(test_malformed_variable);
  RUN_ALONE(test_reentry);
  RUN_ALONE(test_replacement_waits);
  return CHECK_DONE();
}
