/* env.h: the environment variables that the library reads: one table, which the docs page is made
 * from too. Ignored when the process is privileged. */
#ifndef WIA__ENV_H
#define WIA__ENV_H

#include <stdint.h>

#include "wia/status.h"

/* X(constant, name, default text, minimum, maximum, help). A variable with a maximum is a whole number
 * in that range; the others, with 0 and 0, are texts. */
#define WIA__ENV_MAP(X)                                                                            \
  X(DEFAULT_DEVICE, "WIA_DEFAULT_DEVICE", "", 0, 0,                                                \
    "Name of the driver whose devices are the default ones, for example npu.")                     \
  X(DRIVERS, "WIA_DRIVERS", "*", 0, 0,                                                             \
    "Comma-separated patterns of the drivers to use; one that starts with - disables. Later "      \
    "patterns win: \"*,-npu\" is all but npu, \"reference\" is that one only.")                    \
  X(DRIVER_PATH, "WIA_DRIVER_PATH", "", 0, 0,                                                      \
    "Colon-separated folders with driver manifests, looked through before the usual ones.")        \
  X(DRIVER_TIMEOUT, "WIA_DRIVER_TIMEOUT", "30", 1, 86400,                                          \
    "Seconds that a driver may take to register before it is given up.")                           \
  X(LAYERS, "WIA_LAYERS", "", 0, 0,                                                                \
    "Comma-separated layers that are on from the start: validate, which looks for faults, and "    \
    "trace, which writes WIA_TRACE_FILE at exit.")                                                 \
  X(LIBPYTHON, "WIA_LIBPYTHON", "", 0, 0,                                                          \
    "Path of the Python library that a C program loads for Python drivers.")                       \
  X(LOG, "WIA_LOG", "warning", 0, 0,                                                               \
    "What is written to the log: level[,subsystem=level]... with the levels none, error, "         \
    "warning, "                                                                                    \
    "info and debug, for example warning,plan=debug.")                                             \
  X(MEMORY_POOL, "WIA_MEMORY_POOL", "on", 0, 0,                                                    \
    "Memory that contexts keep to give out again: on, off, or a comma-separated list of "          \
    "limit=SIZE, "                                                                                 \
    "the most that a context may have, and keep=SIZE, the most of it that may lie free (256M "     \
    "unless "                                                                                      \
    "set); sizes in bytes or with K, M or G.")                                                     \
  X(PLAN_CACHE_SIZE, "WIA_PLAN_CACHE_SIZE", "1024", 1, 1048576,                                    \
    "Prepared kernels that are kept per device.")                                                  \
  X(TRACE_FILE, "WIA_TRACE_FILE", "wia-trace-%p.json", 0, 0,                                       \
    "Where WIA_LAYERS=trace writes to; %p stands for the process's number.")                       \
  X(VALIDATE, "WIA_VALIDATE", "report", 0, 0,                                                      \
    "What comes of findings of the layer validate: report, or error, and then a call whose "       \
    "finding it is fails.")

#define WIA__ENV_ENUM(constant, name, text, minimum, maximum, help) WIA__ENV_##constant,
typedef enum wia__env_t { WIA__ENV_MAP(WIA__ENV_ENUM) WIA__ENV_COUNT } wia__env_t;
#undef WIA__ENV_ENUM

/* The text of a variable, or its default. */
const char *wia__env_text(wia__env_t variable);
const char *wia__env_default(wia__env_t variable);
/* The value of a variable that is a number; text that is no number of its range gives the default,
 * and a warning on the log once. */
int64_t wia__env_number(wia__env_t variable);

/* A variable of the table as the command line shows it. */
typedef struct wia__variable_t {
  const char *name, *default_text, *help;
  int64_t minimum, maximum; /* both 0: a text */
  const char *value;        /* as it is set now; NULL: not set, or the process is privileged */
  uint32_t malformed;       /* 1: value is no number of the range, the default is used */
} wia__variable_t;

/* Exported for the bridge only. Indices count from 0; NOT_FOUND behind the last one. */
WIA_API wia_status_t wia__get_variable(uint32_t index, wia__variable_t *out_variable);

#endif
