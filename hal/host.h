/* host.h: the host table that drivers get. */
#ifndef WIA__HOST_H
#define WIA__HOST_H

#include "status.h"

extern const wia_host_t wia__host;

/* Exported for the bridge only. Ends the use of an error that a driver was given: on failure it becomes
 * this thread's last error, behind what was being done. Returns status. */
WIA_API wia_status_t wia__tell_error(wia_error_t *error, wia_status_t status, const char *doing);

#endif
