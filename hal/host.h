/* host.h: the host table that drivers get, and the library's log. */
#ifndef WIA__HOST_H
#define WIA__HOST_H

#include "status.h"

extern const wia_host_t wia__host;

/* Writes a line to stderr if level is WIA_LOG_WARNING or more severe. driver may be NULL. */
void wia__log(const char *driver, int32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
