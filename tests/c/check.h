/* check.h: checks for the C tests. A test program calls CHECK and its kin, and ends with
 * `return CHECK_DONE();`, which prints the totals and gives the exit code.
 *
 * RUN_ALONE(test) runs a function in a process of its own, for what a process does once (looking
 * for drivers, reading its environment). Call it before this process calls the library. */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wia.h"

typedef struct check_counts_t {
  _Atomic uint32_t passed, failed;
} check_counts_t;

/* Shared with child processes, whose checks count too. One per program: include this in each of its
 * files, and call CHECK_DONE in one. */
check_counts_t *check_counts(void) __attribute__((weak));
check_counts_t *check_counts(void) {
  static _Atomic(check_counts_t *) counts;
  check_counts_t *known = atomic_load(&counts);
  if (known != NULL) return known;
  check_counts_t *fresh =
      mmap(NULL, sizeof *fresh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) abort();
  if (atomic_compare_exchange_strong(&counts, &known, fresh)) return fresh;
  munmap(fresh, sizeof *fresh);
  return known;
}

static inline bool check_report(bool passed, const char *file, int line, const char *text) {
  atomic_fetch_add(passed ? &check_counts()->passed : &check_counts()->failed, 1);
  if (!passed) {
    printf("%s:%d: failed: %s\n", file, line, text);
    fflush(stdout);
  }
  return passed;
}

/* All give true if the check passed. */
#define CHECK(condition) check_report((condition) ? true : false, __FILE__, __LINE__, #condition)

static inline bool check_status(wia_status_t given, wia_status_t expected, const char *file,
                                int line, const char *text) {
  const bool passed = check_report(given == expected, file, line, text);
  if (!passed) {
    wia_error_info_t info = WIA_ERROR_INFO_INIT;
    wia_get_last_error(&info);
    printf("  gave %s, expected %s; last error: %s: %s\n", wia_get_status_name(given),
           wia_get_status_name(expected), info.function, info.message);
    fflush(stdout);
  }
  return passed;
}
#define CHECK_STATUS(expression, expected)                                                         \
  check_status((expression), (expected), __FILE__, __LINE__, #expression)

static inline bool check_text(const char *text, const char *part, const char *file, int line) {
  const bool passed =
      check_report(text != NULL && strstr(text, part) != NULL, file, line, "text has part");
  if (!passed) {
    printf("  text: %s\n  part: %s\n", text != NULL ? text : "(NULL)", part);
    fflush(stdout);
  }
  return passed;
}
/* text contains part. */
#define CHECK_TEXT(text, part) check_text((text), (part), __FILE__, __LINE__)

/* The message of this thread's last error contains part. */
#define CHECK_MESSAGE(part)                                                                        \
  do {                                                                                             \
    wia_error_info_t check_info = WIA_ERROR_INFO_INIT;                                             \
    wia_get_last_error(&check_info);                                                               \
    CHECK_TEXT(check_info.message, part);                                                          \
  } while (0)

#ifdef __SANITIZE_THREAD__
/* Each process of a test would sleep for a second at its end. */
const char *__tsan_default_options(void) __attribute__((weak, visibility("default")));
const char *__tsan_default_options(void) { return "atexit_sleep_ms=20"; }
#endif

static inline void check_alone(void (*test)(void), const char *file, int line, const char *name) {
  check_counts();
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    alarm(120); /* a hang is a failure too */
    test();
    fflush(NULL);
    exit(0);
  }
  int status = -1;
  if (child > 0) waitpid(child, &status, 0);
  if (!check_report(child > 0 && status == 0, file, line, name)) {
    if (WIFSIGNALED(status))
      printf("  ended by signal %d\n", WTERMSIG(status));
    else
      printf("  exit code %d\n", WEXITSTATUS(status));
  }
}
#define RUN_ALONE(test) check_alone((test), __FILE__, __LINE__, #test)

static inline int check_done(void) {
  const uint32_t passed = check_counts()->passed, failed = check_counts()->failed;
  printf("%u passed, %u failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
#define CHECK_DONE() check_done()

/* A pattern for mkdtemp() and mkstemp(), where this machine has its temporary files. */
static inline char *temporary_pattern(const char *name, char *out_path, size_t size) {
  const char *base = getenv("TMPDIR");
  snprintf(out_path, size, "%s/wia-%s-XXXXXX", base ? base : P_tmpdir, name);
  return out_path;
}

#endif
