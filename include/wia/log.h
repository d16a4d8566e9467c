/* log.h: what the library and its drivers have to say beside the status of a call.
 *
 * Quiet by default: warnings and errors only, one line each on stderr, "wia: warning: discovery: ...".
 * What is merely absent is no warning; what is present and broken is. The environment variable WIA_LOG
 * has the levels at start. */
#ifndef WIA_LOG_H
#define WIA_LOG_H

#include "base.h"

WIA_BEGIN_DECLS

enum {
  WIA_LOG_NONE = 0, /* no line has it; as a threshold: nothing is written */
  WIA_LOG_ERROR = 1,
  WIA_LOG_WARNING = 2,
  WIA_LOG_INFO = 3,
  WIA_LOG_DEBUG = 4
};

/* The one list of subsystems: X(constant, name, what its lines are about). */
#define WIA_LOG_MAP(X)                                                                             \
  X(DISCOVERY, "discovery", "drivers: found, loaded, refused")                                     \
  X(DRIVER, "driver", "what drivers say, each under its own name")                                 \
  X(DEVICE, "device", "devices: opened, lost")                                                     \
  X(MEMORY, "memory", "allocations and imports")                                                   \
  X(PLAN, "plan", "kernels: prepared, evicted")                                                    \
  X(STREAM, "stream", "streams: created, failed, ended")                                           \
  X(ENVIRONMENT, "environment", "environment variables")                                           \
  X(VALIDATE, "validate", "what the layer of that name finds: these have several lines")

/* Takes one line. subsystem is a name of the map, driver the name of the driver that is concerned, ""
 * for none. The strings are valid during the call. It may be called by any thread, by several at once,
 * and may call the library; lines that this causes on the same thread go to stderr. */
typedef void (*wia_log_fn_t)(void *context, int32_t level, const char *subsystem,
                             const char *driver, const char *message);

/* Sends lines to a function instead of stderr; NULL: to stderr again. On return no thread is in the
 * function that was there before. Waits for those that are.
 * Errors: FAILED_PRECONDITION inside of such a function. */
WIA_API wia_status_t wia_set_log_callback(wia_log_fn_t function, void *context);

/* Sets thresholds: a level for all subsystems, then exceptions, separated by commas, in the syntax of
 * WIA_LOG: "warning", "info,plan=debug", "none". Subsystems that are not named keep theirs when no level
 * for all is given. Errors: INVALID_ARGUMENT, and then nothing changes. */
WIA_API wia_status_t wia_set_log_level(const char *levels);

WIA_END_DECLS
#endif
