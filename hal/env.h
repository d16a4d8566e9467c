/* env.h: the environment variables that the library reads: one table, which the docs page is made
 * from too. Ignored when the process is privileged. */
#ifndef WIA__ENV_H
#define WIA__ENV_H

#include <stdint.h>

/* X(constant, name, default text, help). */
#define WIA__ENV_MAP(X)                                                                            \
  X(DEFAULT_DEVICE, "WIA_DEFAULT_DEVICE", "",                                                      \
    "Name of the driver whose devices are the default ones, for example npu.")                     \
  X(DRIVERS, "WIA_DRIVERS", "*",                                                                   \
    "Comma-separated patterns of the drivers to use; one that starts with - disables. Later "      \
    "patterns win: \"*,-npu\" is all but npu, \"reference\" is that one only.")                    \
  X(DRIVER_PATH, "WIA_DRIVER_PATH", "",                                                            \
    "Colon-separated folders with driver manifests, looked through before the usual ones.")        \
  X(DRIVER_TIMEOUT, "WIA_DRIVER_TIMEOUT", "30",                                                    \
    "Seconds that a driver may take to register before it is given up.")                           \
  X(LIBPYTHON, "WIA_LIBPYTHON", "",                                                                \
    "Path of the Python library that a C program loads for Python drivers.")                       \
  X(PLAN_CACHE_SIZE, "WIA_PLAN_CACHE_SIZE", "1024", "Prepared kernels that are kept per device.")

#define WIA__ENV_ENUM(constant, name, text, help) WIA__ENV_##constant,
typedef enum wia__env_t { WIA__ENV_MAP(WIA__ENV_ENUM) WIA__ENV_COUNT } wia__env_t;
#undef WIA__ENV_ENUM

/* The text of a variable, or its default. */
const char *wia__env_text(wia__env_t variable);
/* Its value as a number in [minimum, maximum]; text that is no such number gives the default, and a
 * warning on the log once. */
int64_t wia__env_number(wia__env_t variable, int64_t minimum, int64_t maximum);

#endif
