/* log.h: lines of the log, from inside the library. */
#ifndef WIA__LOG_H
#define WIA__LOG_H

#include <stdbool.h>

#include "status.h"
#include "wia/log.h"

#define WIA__LOG_ENUM(constant, name, about) WIA__LOG_##constant,
typedef enum wia__subsystem_t { WIA_LOG_MAP(WIA__LOG_ENUM) WIA__SUBSYSTEM_COUNT } wia__subsystem_t;
#undef WIA__LOG_ENUM

/* Whether a line of that level is written: for callers whose text takes work. */
bool wia__logs(wia__subsystem_t subsystem, int32_t level);

/* Writes a line. driver may be NULL. Foreign code may run: not under a mutex. */
void wia__log(wia__subsystem_t subsystem, int32_t level, const char *driver, const char *format,
              ...) __attribute__((format(printf, 4, 5)));

/* The same for a text of any length. */
void wia__log_text(wia__subsystem_t subsystem, int32_t level, const char *driver, const char *text);

#endif
