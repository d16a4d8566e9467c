#include "host.h"

#include <stdio.h>
#include <string.h>

#include "platform.h"

enum { OPTION_SIZE = 256, LINE_SIZE = 1024 };

/* The one call of fprintf keeps lines of several threads apart. */
static void write_line(const char *driver, int32_t level, const char *text) {
  if (level <= WIA_LOG_NONE || level > WIA_LOG_WARNING) return;
  const char *word = level == WIA_LOG_ERROR ? "error" : "warning";
  const bool named = driver != NULL && driver[0] != '\0';
  fprintf(stderr, "wia: %s: %s%s%s\n", word, named ? driver : "", named ? ": " : "", text);
}

void wia__log(const char *driver, int32_t level, const char *format, ...) {
  char text[LINE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  write_line(driver, level, text);
}

static void host_log(const wia_driver_t *driver, int32_t level, const char *text) {
  if (text != NULL) write_line(driver != NULL ? driver->name : NULL, level, text);
}

/* toupper() follows the locale; names of variables don't. */
static char upper(char letter) {
  return letter >= 'a' && letter <= 'z' ? (char)(letter - 'a' + 'A') : letter;
}

static const char *host_get_option(const wia_driver_t *driver, const char *name) {
  if (driver == NULL || driver->name == NULL || name == NULL) return NULL;
  char variable[OPTION_SIZE];
  const int length = snprintf(variable, sizeof variable, "WIA_%s_%s", driver->name, name);
  if (length < 0 || (size_t)length >= sizeof variable) return NULL;
  for (char *letter = variable; *letter != '\0'; ++letter) *letter = upper(*letter);
  return wia__get_environment(variable);
}

const wia_host_t wia__host = {
    .struct_size = sizeof(wia_host_t),
    .log = host_log,
    .get_option = host_get_option,
    .set_error_text = wia__set_error_text,
};

WIA_API const wia_host_t *wia_get_host(void) { return &wia__host; }
