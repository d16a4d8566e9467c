/* Layers: the list, switching them on and off at run time and by the environment. Beside each check: the
 * guard without which it fails. */
#include "core_driver.h"
#include <limits.h>

static uint32_t is_enabled(const char *name) {
  uint32_t count = 0, enabled = 77;
  CHECK_STATUS(wia_get_layer_count(&count), WIA_STATUS_OK);
  for (uint32_t i = 0; i < count; i++) {
    wia_layer_info_t info = WIA_LAYER_INFO_INIT;
    CHECK_STATUS(wia_get_layer_info(i, &info), WIA_STATUS_OK);
    CHECK(info.description[0] != '\0');
    if (strcmp(info.name, name) == 0) enabled = info.enabled;
  }
  return enabled;
}

static void test_list(void) {
  uint32_t count = 0;
  wia_layer_info_t info = WIA_LAYER_INFO_INIT, unsized = {0};
  CHECK_STATUS(wia_get_layer_count(NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_get_layer_count(&count), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_layer_info(count, &info), WIA_STATUS_OUT_OF_RANGE);
  CHECK_STATUS(wia_get_layer_info(0, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_get_layer_info(0, &unsized), WIA_STATUS_INVALID_ARGUMENT);
}

/* As often off as on. */
static void test_counts(void) {
  CHECK_STATUS(wia_enable_layer(NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_enable_layer("trac"), WIA_STATUS_NOT_FOUND);
  CHECK_MESSAGE("there are validate, trace");
  CHECK_STATUS(wia_disable_layer("traces"), WIA_STATUS_NOT_FOUND);
  CHECK_STATUS(wia_disable_layer("trace"), WIA_STATUS_FAILED_PRECONDITION);
  CHECK(!is_enabled("trace"));
  CHECK_STATUS(wia_enable_layer("trace"), WIA_STATUS_OK);
  CHECK_STATUS(wia_enable_layer("trace"), WIA_STATUS_OK);
  CHECK_STATUS(wia_disable_layer("trace"), WIA_STATUS_OK);
  CHECK(is_enabled("trace") == 1);
  CHECK(access("trace.json", F_OK) != 0);
  CHECK_STATUS(wia_disable_layer("trace"), WIA_STATUS_OK);
  CHECK(!is_enabled("trace"));
  CHECK(access("trace.json", R_OK) == 0 && unlink("trace.json") == 0);
  CHECK_STATUS(wia_disable_layer("trace"), WIA_STATUS_FAILED_PRECONDITION);
}

/* The file is the parent's. */
static void test_fork(void) {
  CHECK_STATUS(wia_enable_layer("trace"), WIA_STATUS_OK);
  const pid_t child = fork();
  if (child == 0) {
    CHECK(!is_enabled("trace"));
    CHECK_STATUS(wia_disable_layer("trace"), WIA_STATUS_FAILED_PRECONDITION);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  CHECK(access("trace.json", F_OK) != 0);
  CHECK_STATUS(wia_disable_layer("trace"), WIA_STATUS_OK);
  CHECK(unlink("trace.json") == 0);
}

/* The program again, with this in its environment; what it writes to stderr. */
static void run_with(const char *layers, char *text, size_t size) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("WIA_LAYERS", layers, 1);
    if (!freopen("stderr.txt", "w", stderr)) _exit(4);
    execl("/proc/self/exe", "test_core_layer", "list", (char *)NULL);
    _exit(5);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  FILE *file = fopen("stderr.txt", "r");
  const size_t length = file ? fread(text, 1, size - 1, file) : 0;
  text[length] = '\0';
  if (file) fclose(file);
  unlink("stderr.txt");
}

/* Says what is on. */
static int list(void) {
  uint32_t count = 0;
  wia_get_layer_count(&count);
  for (uint32_t i = 0; i < count; i++) {
    wia_layer_info_t info = WIA_LAYER_INFO_INIT;
    wia_get_layer_info(i, &info);
    fprintf(stderr, "%s=%u\n", info.name, info.enabled);
  }
  return 0;
}

static void test_environment(void) {
  char text[4096];
  run_with("", text, sizeof text);
  CHECK_TEXT(text, "trace=0");
  CHECK(!strstr(text, "warning"));
  run_with(" trace,", text, sizeof text);
  CHECK_TEXT(text, "trace=1");
  CHECK(!strstr(text, "warning"));
  CHECK(unlink("trace.json") == 0);
  run_with("tracer, trace", text, sizeof text);
  CHECK_TEXT(text, "\"tracer\", which is no layer; there are validate, trace");
  CHECK_TEXT(text, "trace=1");
  CHECK(unlink("trace.json") == 0);
}

int main(int count, char **arguments) {
  if (count > 1) return list();
  if (getenv("WIA_LAYERS")) { /* they are on by now: start anew */
    unsetenv("WIA_LAYERS");
    execv("/proc/self/exe", arguments);
  }
  char folder[PATH_MAX];
  if (!mkdtemp(temporary_pattern("layer", folder, sizeof folder)) || chdir(folder) != 0) return 1;
  setenv("WIA_TRACE_FILE", "trace.json", 1);
  core_start();
  test_list();
  test_counts();
  test_fork();
  test_environment();
  CHECK_CLEAN();
  rmdir(folder);
  return CHECK_DONE();
}
