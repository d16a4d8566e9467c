/* status.h: making an error: status, and a text that says what was given and what was expected. */
#ifndef WIA__STATUS_H
#define WIA__STATUS_H

#include <stdarg.h>
#include <stdbool.h>

#include "wia_driver.h"

/* Sets this thread's last error and returns status, so that callers can `return wia__fail(...)`. */
wia_status_t wia__fail(wia_status_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same with a driver's name and a cause; either may be NULL. */
wia_status_t wia__fail_with(wia_status_t status, const char *driver, const char *cause,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Errors that a driver or a kernel fills. wia__init_error before the call; afterwards exactly one of
 * wia__take_error, which makes it this thread's last error with a text before the driver's own, and
 * wia__drop_error. */
static inline void wia__init_error(wia_error_t *error) {
  error->struct_size = sizeof *error;
  error->status = WIA_STATUS_OK;
  error->detail[0] = error->detail[1] = 0;
  error->message[0] = '\0';
}
wia_status_t wia__take_error(wia_error_t *error, wia_status_t status, const char *driver,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));
void wia__drop_error(wia_error_t *error);
/* Puts this thread's last error into one, for code that reports in the driver's way. */
wia_status_t wia__save_error(wia_error_t *error, wia_status_t status);
/* The full message and cause of a filled error; never NULL, valid until it is taken or dropped. */
const char *wia__error_message(const wia_error_t *error);
const char *wia__error_cause(const wia_error_t *error);
/* wia_host_t.set_error_text */
void wia__set_error_text(wia_error_t *error, const char *message, const char *cause);

/* A failure that outlives the thread that met it: of a stream, an event, a cached refusal. Immutable
 * after wia__save_failure, which copies this thread's last error. */
typedef struct wia__failure_t {
  wia_status_t status;
  char *function, *driver, *message, *cause;
} wia__failure_t;
void wia__save_failure(wia__failure_t *out_failure);
void wia__copy_failure(wia__failure_t *out_failure, const wia__failure_t *from);
wia_status_t wia__restore_failure(const wia__failure_t *failure); /* as this thread's last error */
void wia__free_failure(wia__failure_t *failure);

/* Whether a number is in the map of status codes. */
bool wia__is_status(wia_status_t status);

/* Checks of a caller's struct at the border. On success the caller's bytes stand in copy (ours_size
 * bytes, which hold the defaults before the call), whatever its size. NULL is accepted: defaults.
 * init_macro is named in the message. */
wia_status_t wia__read_struct(const void *given, void *copy, uint32_t ours_size,
                              uint32_t first_size, const char *init_macro);
/* Of an out-struct: checks before the work, then writes min(sizes) bytes and sets struct_size. */
wia_status_t wia__check_out(const void *out, uint32_t first_size, const char *init_macro);
void wia__write_struct(void *out, const void *ours, uint32_t ours_size);

/* NULL check of an argument: if (!p) return wia__null("out_count"). */
wia_status_t wia__null(const char *argument);

#endif
