/* The host table that drivers get, the log, and the environment. Beside each check: the guard
 * without which it fails. */
#include <fcntl.h>
#include <sys/auxv.h>

#include "folder.h"
#include "wia_driver.h"

static char log_text[8192];

/* What a function writes to stderr, in log_text. */
static void catch_log(void (*write_log)(void)) {
  FILE *file = tmpfile();
  fflush(stderr);
  const int before = dup(STDERR_FILENO);
  if (file == NULL || before < 0 || dup2(fileno(file), STDERR_FILENO) < 0) abort();
  write_log();
  fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  rewind(file);
  log_text[fread(log_text, 1, sizeof log_text - 1, file)] = '\0';
  fclose(file);
}

static const wia_driver_t driver = {.struct_size = sizeof driver, .name = "npu_x"};

static void write_lines(void) {
  const wia_host_t *host = wia_get_host();
  host->log(&driver, WIA_LOG_ERROR, "on fire");
  host->log(&driver, WIA_LOG_WARNING, "warm");
  host->log(NULL, WIA_LOG_WARNING, "nobody's");
  host->log(&driver, WIA_LOG_INFO, "chatter");
  host->log(&driver, WIA_LOG_DEBUG, "chatter");
  host->log(&driver, WIA_LOG_NONE, "chatter");
  host->log(&driver, -1, "chatter");
  host->log(&driver, 99, "chatter");
  host->log(&driver, WIA_LOG_ERROR, NULL);
}

static void test_log(void) {
  catch_log(write_lines);
  /* log.c, wia__logs: the levels; host.c, host_log: NULL */
  CHECK(strcmp(log_text, "wia: error: npu_x: on fire\nwia: warning: npu_x: warm\n"
                         "wia: warning: driver: nobody's\n") == 0);
}

static void test_options(void) {
  const wia_host_t *host = wia_get_host();
  CHECK(host->struct_size == sizeof *host);
  CHECK(host == wia_get_host());
  setenv("WIA_NPU_X_TILE_SIZE", "16", 1);
  const char *value = host->get_option(&driver, "tile_size");
  CHECK(value != NULL && strcmp(value, "16") == 0);
  value = host->get_option(&driver, "TILE_SIZE");
  CHECK(value != NULL && strcmp(value, "16") == 0);
  CHECK(host->get_option(&driver, "unset") == NULL);
  CHECK(host->get_option(&driver, NULL) == NULL);
  CHECK(host->get_option(NULL, "tile_size") == NULL);
  static char longest[1000];
  memset(longest, 'x', sizeof longest - 1);
  CHECK(host->get_option(&driver, longest) == NULL);
  /* host_get_option: a name that is too long is not cut down to another's. */
  char cut[256];
  memset(cut, 'X', sizeof cut - 1);
  memcpy(cut, "WIA_NPU_X_", 10);
  cut[sizeof cut - 1] = '\0';
  setenv(cut, "16", 1);
  CHECK(host->get_option(&driver, longest) == NULL);
}

/* A number that is none gives the default and one warning: env.c, parse_number and warned. */
static void find_twice(void) {
  int32_t id;
  CHECK_STATUS(wia_find_device("good", &id), WIA_STATUS_OK);
  CHECK_STATUS(wia_find_device("good2", &id), WIA_STATUS_OK);
}

static void check_timeout_warning(const char *value) {
  const char *folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "");
  announce(folder, "good2", LIBRARY("good2"), "");
  setenv("WIA_DRIVER_TIMEOUT", value, 1);
  catch_log(find_twice);
  char expected[256];
  snprintf(expected, sizeof expected,
           "wia: warning: environment: WIA_DRIVER_TIMEOUT is \"%s\"; expected a whole number from "
           "1 to 86400; "
           "30 is used\n",
           value);
  CHECK(strcmp(log_text, expected) == 0);
  remove_folder(folder);
}

static void test_timeout_text(void) { check_timeout_warning("soon"); }
static void test_timeout_trailing(void) { check_timeout_warning("3s"); }
static void test_timeout_zero(void) { check_timeout_warning("0"); }
static void test_timeout_huge(void) { check_timeout_warning("99999999999999999999"); }

/* An empty variable is as good as none. */
static void test_empty(void) {
  const char *folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "");
  setenv("WIA_DRIVERS", "", 1);
  setenv("WIA_DEFAULT_DEVICE", "", 1);
  int32_t id = -1;
  CHECK_STATUS(wia_find_device(NULL, &id), WIA_STATUS_OK);
  CHECK(id == 0);
  remove_folder(folder);
}

/* -- a privileged process ------------------------------------------------------------------------ */

enum { NOT_PRIVILEGED = 77 };

/* In a set-group-id copy of this program: no variable counts. platform.c, secure_getenv(). */
static int run_privileged(void) {
  if (getauxval(AT_SECURE) == 0) return NOT_PRIVILEGED;
  int32_t id;
  const bool found = wia_find_device("good", &id) == WIA_STATUS_OK;
  return found || wia_get_host()->get_option(&driver, "tile_size") != NULL;
}

static void copy_program(const char *path) {
  static unsigned char bytes[1 << 24];
  FILE *program = fopen("/proc/self/exe", "rb"), *copy = fopen(path, "wb");
  if (program == NULL || copy == NULL) abort();
  const size_t size = fread(bytes, 1, sizeof bytes, program);
  if (size == sizeof bytes || fwrite(bytes, 1, size, copy) != size || fclose(copy) != 0) abort();
  fclose(program);
}

/* The exit code of the copy, with group nobody or, to see that it is the privilege that counts,
 * without. */
static int run_copy(const char *path, bool privileged) {
  if (chown(path, 0, privileged ? 65534 : 0) != 0 || chmod(path, privileged ? 02755 : 0755) != 0)
    abort();
  const pid_t child = fork();
  if (child == 0) {
    execl(path, path, "privileged", (char *)NULL);
    _exit(1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_privileged(void) {
  if (geteuid() != 0) {
    printf("not run: that a privileged process ignores its environment; needs root\n");
    return;
  }
  const char *folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "");
  setenv("WIA_NPU_X_TILE_SIZE", "16", 1);
  int32_t id;
  CHECK_STATUS(wia_find_device("good", &id), WIA_STATUS_OK);
  char path[PATH_MAX + 256];
  snprintf(path, sizeof path, "%s/copy", folder);
  copy_program(path);
  CHECK(run_copy(path, false) == NOT_PRIVILEGED);
  const int code = run_copy(path, true);
  if (code == NOT_PRIVILEGED)
    printf("not run: that a privileged process ignores its environment; %s is on a file system "
           "without set-id programs\n",
           folder);
  else
    CHECK(code == 0);
  remove_folder(folder);
}

int main(int count, char **arguments) {
  if (count == 2 && strcmp(arguments[1], "privileged") == 0) _exit(run_privileged());
  RUN_ALONE(test_log);
  RUN_ALONE(test_options);
  RUN_ALONE(test_timeout_text);
  RUN_ALONE(test_timeout_trailing);
  RUN_ALONE(test_timeout_zero);
  RUN_ALONE(test_timeout_huge);
  RUN_ALONE(test_empty);
  RUN_ALONE(test_privileged);
  return CHECK_DONE();
}
