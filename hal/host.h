/* host.h: the host table that drivers get, and the library's log. */
#ifndef WIA__HOST_H
#define WIA__HOST_H

#include "status.h"

extern const wia_host_t wia__host;

/* Exported for the bridge only. Ends the use of an error that a driver was given: on failure it becomes
 * this thread's last error, behind what was being done. Returns status. */
WIA_API wia_status_t wia__tell_error(wia_error_t *error, wia_status_t status, const char *doing);

/* Writes a line to stderr if level is WIA_LOG_WARNING or more severe. driver may be NULL. */
void wia__log(const char *driver, int32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
