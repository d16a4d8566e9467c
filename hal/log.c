#include "log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "env.h"
#include "fork.h"
#include "object.h"

enum { LINE_SIZE = 1024, WORD_SIZE = 32 };

#define NAME(constant, name, about) name,
static const char *const subsystems[WIA__SUBSYSTEM_COUNT] = {WIA_LOG_MAP(NAME)};
#undef NAME
static const char *const levels[] = {"none", "error", "warning", "info", "debug"};

static _Atomic int32_t thresholds[WIA__SUBSYSTEM_COUNT];
static pthread_once_t started = PTHREAD_ONCE_INIT;

/* Held for reading while the function runs, by a thread once; who replaces it goes before those that
 * write lines, which may never stop. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static wia_log_fn_t function;
static void *function_context;
static _Thread_local bool inside;

/* -- thresholds -------------------------------------------------------------------------------- */

static int find(const char *word, const char *const *words, int count) {
  for (int i = 0; i < count; i++)
    if (strcmp(word, words[i]) == 0) return i;
  return -1;
}

/* Cuts the next word off a list, up to the separator. False: it is too long for any. */
static bool next_word(const char **list, char separator, char word[WORD_SIZE]) {
  const char *end = strchr(*list, separator);
  const size_t length = end ? (size_t)(end - *list) : strlen(*list);
  if (length >= WORD_SIZE) return false;
  memcpy(word, *list, length);
  word[length] = '\0';
  *list += length + (end != NULL);
  return true;
}

/* False: the text has another form; out_levels is then in no state to be used. */
static bool parse(const char *text, int32_t out_levels[WIA__SUBSYSTEM_COUNT]) {
  const int level_count = (int)(sizeof levels / sizeof *levels);
  do {
    char entry[2 * WORD_SIZE], name[WORD_SIZE];
    const char *end = strchr(text, ',');
    const size_t length = end ? (size_t)(end - text) : strlen(text);
    if (length >= sizeof entry) return false;
    memcpy(entry, text, length);
    entry[length] = '\0';
    text += length + (end != NULL);
    const char *rest = entry;
    int subsystem = -1;
    if (strchr(entry, '=')) {
      if (!next_word(&rest, '=', name)) return false;
      subsystem = find(name, subsystems, WIA__SUBSYSTEM_COUNT);
      if (subsystem < 0) return false;
    }
    const int level = find(rest, levels, level_count);
    if (level < 0) return false;
    for (int i = 0; i < WIA__SUBSYSTEM_COUNT; i++)
      if (subsystem < 0 || subsystem == i) out_levels[i] = level;
    if (!end) return true;
  } while (true);
}

static void set_thresholds(const int32_t given[WIA__SUBSYSTEM_COUNT]) {
  for (int i = 0; i < WIA__SUBSYSTEM_COUNT; i++) atomic_store(&thresholds[i], given[i]);
}

static void write_line(int32_t level, const char *subsystem, const char *driver, const char *text);

static void start(void) {
  int32_t parsed[WIA__SUBSYSTEM_COUNT];
  const char *text = wia__env_text(WIA__ENV_LOG);
  const bool good = parse(text, parsed);
  if (!good) parse(wia__env_default(WIA__ENV_LOG), parsed);
  set_thresholds(parsed);
  if (good) return;
  char line[LINE_SIZE];
  snprintf(line, sizeof line,
           "WIA_LOG is \"%.200s\"; expected level[,subsystem=level]..., as info or "
           "warning,plan=debug; %s is used",
           text, wia__env_default(WIA__ENV_LOG));
  write_line(WIA_LOG_WARNING, subsystems[WIA__LOG_ENVIRONMENT], "", line);
}

bool wia__logs(wia__subsystem_t subsystem, int32_t level) {
  pthread_once(&started, start);
  return level > WIA_LOG_NONE && level <= WIA_LOG_DEBUG &&
         level <= atomic_load_explicit(&thresholds[subsystem], memory_order_relaxed);
}

static wia_status_t set_level(const char *text) {
  if (!text) return wia__null("levels");
  pthread_once(&started, start);
  int32_t parsed[WIA__SUBSYSTEM_COUNT];
  for (int i = 0; i < WIA__SUBSYSTEM_COUNT; i++) parsed[i] = atomic_load(&thresholds[i]);
  if (parse(text, parsed)) {
    set_thresholds(parsed);
    return WIA_STATUS_OK;
  }
  char names[LINE_SIZE / 2] = "";
  for (int i = 0; i < WIA__SUBSYSTEM_COUNT; i++) {
    const size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", subsystems[i]);
  }
  return wia__fail(
      WIA_STATUS_INVALID_ARGUMENT,
      "levels is \"%.200s\"; expected level[,subsystem=level]... with the levels none, "
      "error, warning, info, debug and the subsystems %s",
      text, names);
}

WIA_API wia_status_t wia_set_log_level(const char *text) { WIA__CALL(set_level(text)); }

/* -- lines ------------------------------------------------------------------------------------- */

/* The one call of fprintf keeps lines of several threads apart. A driver's own lines are under its
 * name alone. */
static void write_line(int32_t level, const char *subsystem, const char *driver, const char *text) {
  const bool own = strcmp(subsystem, subsystems[WIA__LOG_DRIVER]) == 0 && driver[0] != '\0';
  const char *first = own ? driver : subsystem;
  const char *second = own ? "" : driver;
  fprintf(stderr, "wia: %s: %s: %s%s%s\n", levels[level], first, second,
          second[0] != '\0' ? ": " : "", text);
}

void wia__log_text(wia__subsystem_t subsystem, int32_t level, const char *driver,
                   const char *text) {
  if (!wia__logs(subsystem, level)) return;
  if (driver == NULL) driver = "";
  if (inside) {
    write_line(level, subsystems[subsystem], driver, text);
    return;
  }
  pthread_rwlock_rdlock(&lock);
  if (function) {
    inside = true;
    function(function_context, level, subsystems[subsystem], driver, text);
    inside = false;
  } else {
    write_line(level, subsystems[subsystem], driver, text);
  }
  pthread_rwlock_unlock(&lock);
}

void wia__log(wia__subsystem_t subsystem, int32_t level, const char *driver, const char *format,
              ...) {
  if (!wia__logs(subsystem, level)) return;
  char text[LINE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  wia__log_text(subsystem, level, driver, text);
}

static wia_status_t set_callback(wia_log_fn_t given, void *context) {
  if (inside)
    return wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                     "the function that takes the log's lines can't replace itself: it would wait "
                     "for its own end");
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  pthread_rwlock_wrlock(&lock);
  function = given;
  function_context = context;
  pthread_rwlock_unlock(&lock);
  wia__rejoin(self);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_set_log_callback(wia_log_fn_t given, void *context) {
  WIA__CALL(set_callback(given, context));
}

/* The lock is held while the function runs, which may be what is forking or wait for it; so the fork
 * doesn't wait for the lock. */
void wia__fork_log(wia__fork_t stage) {
  static const pthread_rwlock_t fresh = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  if (stage != WIA__FORK_CHILD) return;
  lock = fresh;
  if (inside) pthread_rwlock_rdlock(&lock);
}
