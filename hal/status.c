/* status.c: status codes, the last error of a thread, errors of drivers, checks of structs. */
#include "status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fork.h"
#include "object.h"

/* What a driver said beyond wia_error_t.message, kept beside the error it belongs to. */
typedef struct text_t {
  const wia_error_t *error;
  char *message, *cause;
  struct text_t *next;
} text_t;

enum { STRUCT_SIZE_MAX = 4096 };

static pthread_mutex_t texts_mutex = PTHREAD_MUTEX_INITIALIZER;
static text_t *texts;
_Atomic uint32_t wia__text_count;

/* -- the map ------------------------------------------------------------------------------------- */

WIA_API const char *wia_get_status_name(wia_status_t status) {
  switch (status) {
#define NAME(name, value, text)                                                                    \
  case value:                                                                                      \
    return #name;
    WIA_STATUS_MAP(NAME)
#undef NAME
  default:
    return "UNKNOWN_STATUS";
  }
}

WIA_API const char *wia_get_status_text(wia_status_t status) {
  switch (status) {
#define TEXT(name, value, text)                                                                    \
  case value:                                                                                      \
    return text;
    WIA_STATUS_MAP(TEXT)
#undef TEXT
  default:
    return "a status code that is not in the map";
  }
}

bool wia__is_status(wia_status_t status) {
  switch (status) {
#define CASE(name, value, text) case value:
    WIA_STATUS_MAP(CASE)
#undef CASE
    return true;
  default:
    return false;
  }
}

/* -- the last error ------------------------------------------------------------------------------ */

static char *copy_text(const char *text) {
  if (!text || !*text) return NULL;
  return strdup(text); /* NULL when memory is short: the text is lost, the status is not */
}

static const char *or_empty(const char *text) { return text ? text : ""; }

void wia__free_failure(wia__failure_t *failure) {
  free(failure->function);
  free(failure->driver);
  free(failure->message);
  free(failure->cause);
  *failure = (wia__failure_t){0};
}

void wia__copy_failure(wia__failure_t *out, const wia__failure_t *from) {
  *out = (wia__failure_t){.status = from->status,
                          .function = copy_text(from->function),
                          .driver = copy_text(from->driver),
                          .message = copy_text(from->message),
                          .cause = copy_text(from->cause)};
}

/* Takes over message. */
static wia_status_t set_last(wia_status_t status, const char *driver, char *message,
                             const char *cause) {
  wia__thread_t *self = wia__thread();
  const wia__failure_t fresh = {.status = status,
                                .function = copy_text(self->function),
                                .driver = copy_text(driver),
                                .message = message,
                                .cause = copy_text(cause)};
  wia__free_failure(&self->last);
  self->last = fresh;
  return status;
}

static char *format_text(const char *format, va_list arguments) {
  char *text = NULL;
  return vasprintf(&text, format, arguments) < 0 ? NULL : text;
}

wia_status_t wia__fail(wia_status_t status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *message = format_text(format, arguments);
  va_end(arguments);
  return set_last(status, NULL, message, NULL);
}

wia_status_t wia__fail_with(wia_status_t status, const char *driver, const char *cause,
                            const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *message = format_text(format, arguments);
  va_end(arguments);
  return set_last(status, driver, message, cause);
}

void wia__save_failure(wia__failure_t *out_failure) {
  wia__copy_failure(out_failure, &wia__thread()->last);
}

wia_status_t wia__restore_failure(const wia__failure_t *failure) {
  wia__thread_t *self = wia__thread();
  wia__failure_t fresh;
  wia__copy_failure(&fresh, failure);
  wia__free_failure(&self->last);
  self->last = fresh;
  return failure->status;
}

static wia_status_t get_last_error(wia_error_info_t *out_info) {
  if (!out_info || out_info->struct_size < sizeof(wia_error_info_t))
    return WIA_STATUS_INVALID_ARGUMENT; /* and the last error stays what it was */
  const wia__failure_t *last = &wia__thread()->last;
  const wia_error_info_t info = {.struct_size = sizeof info,
                                 .status = last->status,
                                 .function = or_empty(last->function),
                                 .driver = or_empty(last->driver),
                                 .message = last->message ? last->message
                                                          : wia_get_status_text(last->status),
                                 .cause = or_empty(last->cause)};
  wia__write_struct(out_info, &info, sizeof info);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_last_error(wia_error_info_t *out_info) {
  WIA__CALL(get_last_error(out_info));
}

/* -- errors of drivers --------------------------------------------------------------------------- */

/* Under texts_mutex. */
static text_t **find_text(const wia_error_t *error) {
  text_t **link = &texts;
  while (*link && (*link)->error != error) link = &(*link)->next;
  return link;
}

void wia__set_error_text(wia_error_t *error, const char *message, const char *cause) {
  if (!error) return;
  snprintf(error->message, sizeof error->message, "%s", or_empty(message));
  char *full_message = copy_text(message), *full_cause = copy_text(cause);
  pthread_mutex_lock(&texts_mutex);
  text_t *text = *find_text(error);
  if (!text && (text = calloc(1, sizeof *text))) {
    text->error = error;
    text->next = texts;
    texts = text;
    atomic_fetch_add(&wia__text_count, 1);
  }
  if (text) {
    free(text->message);
    free(text->cause);
    text->message = full_message;
    text->cause = full_cause;
    full_message = full_cause = NULL;
  }
  pthread_mutex_unlock(&texts_mutex);
  free(full_message);
  free(full_cause);
}

static const text_t *get_text(const wia_error_t *error) {
  if (!atomic_load(&wia__text_count)) return NULL;
  pthread_mutex_lock(&texts_mutex);
  const text_t *text = *find_text(error);
  pthread_mutex_unlock(&texts_mutex);
  return text;
}

const char *wia__error_message(const wia_error_t *error) {
  const text_t *text = get_text(error);
  return text && text->message ? text->message : error->message;
}

const char *wia__error_cause(const wia_error_t *error) {
  const text_t *text = get_text(error);
  return text ? or_empty(text->cause) : "";
}

void wia__drop_error(wia_error_t *error) {
  if (!atomic_load(&wia__text_count)) return;
  pthread_mutex_lock(&texts_mutex);
  text_t **link = find_text(error), *text = *link;
  if (text) {
    *link = text->next;
    atomic_fetch_sub(&wia__text_count, 1);
  }
  pthread_mutex_unlock(&texts_mutex);
  if (!text) return;
  free(text->message);
  free(text->cause);
  free(text);
}

wia_status_t wia__save_error(wia_error_t *error, wia_status_t status) {
  const wia__failure_t *last = &wia__thread()->last;
  wia__set_error_text(error, last->message, last->cause);
  return status;
}

wia_status_t wia__take_error(wia_error_t *error, wia_status_t status, const char *driver,
                             const char *format, ...) {
  error->message[sizeof error->message - 1] = '\0'; /* a driver may have filled it to the brim */
  va_list arguments;
  va_start(arguments, format);
  char *what = format_text(format, arguments);
  va_end(arguments);
  char numbers[96] = "";
  const char *said = wia__error_message(error);
  if (!wia__is_status(status)) {
    snprintf(numbers, sizeof numbers, "the driver returned %d, which is no status code",
             (int)status);
    status = WIA_STATUS_INTERNAL;
  } else if (!*said && (error->detail[0] || error->detail[1])) {
    snprintf(numbers, sizeof numbers, "%s (%lld, %lld)", wia_get_status_text(status),
             (long long)error->detail[0], (long long)error->detail[1]);
  } else if (!*said) {
    said = wia_get_status_text(status);
  }
  char *message = NULL;
  if (asprintf(&message, "%s: %s%s%s", or_empty(what), said, *said && *numbers ? "; " : "",
               numbers) < 0)
    message = NULL;
  free(what);
  set_last(status, driver, message, wia__error_cause(error));
  wia__drop_error(error);
  return status;
}

/* -- checks of structs --------------------------------------------------------------------------- */

wia_status_t wia__null(const char *argument) {
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s is NULL", argument);
}

static wia_status_t check_size(uint32_t size, uint32_t first_size, const char *init_macro) {
  if (size >= first_size) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "struct_size is %u, expected at least %u: initialise the struct with %s", size,
                   first_size, init_macro);
}

wia_status_t wia__read_struct(const void *given, void *copy, uint32_t ours_size,
                              uint32_t first_size, const char *init_macro) {
  if (!given) return WIA_STATUS_OK;
  uint32_t size;
  memcpy(&size, given, sizeof size);
  const wia_status_t status = check_size(size, first_size, init_macro);
  if (status) return status;
  if (size > STRUCT_SIZE_MAX) /* nobody's struct, so what is there is not read */
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "struct_size is %u, expected at most %d: initialise the struct with %s", size,
                     STRUCT_SIZE_MAX, init_macro);
  const unsigned char *bytes = given;
  for (uint32_t i = ours_size; i < size; i++) {
    if (bytes[i])
      return wia__fail(WIA_STATUS_INCOMPATIBLE,
                       "struct_size is %u, this library knows %u bytes, and byte %u beyond is set: "
                       "a newer program needs a newer library",
                       size, ours_size, i);
  }
  memcpy(copy, given, size < ours_size ? size : ours_size);
  memcpy(copy, &ours_size, sizeof ours_size);
  return WIA_STATUS_OK;
}

wia_status_t wia__check_out(const void *out, uint32_t first_size, const char *init_macro) {
  if (!out) return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "the output struct is NULL");
  uint32_t size;
  memcpy(&size, out, sizeof size);
  return check_size(size, first_size, init_macro);
}

void wia__write_struct(void *out, const void *ours, uint32_t ours_size) {
  uint32_t size;
  memcpy(&size, out, sizeof size);
  if (size > ours_size) size = ours_size;
  memcpy(out, ours, size);
  memcpy(out, &size, sizeof size);
}

void wia__fork_texts(wia__fork_t stage) { wia__fork_mutex(stage, &texts_mutex); }
