/* negotiate.h: what a driver library offers, and whether its tables can be used. */
#ifndef WIA__NEGOTIATE_H
#define WIA__NEGOTIATE_H

#include <stdbool.h>

#include "device.h"
#include "names.h"

enum { WIA__MAX_OFFERED = 64 }; /* drivers in one library */

/* A refusal when status isn't OK. Its texts live as long as the process. */
typedef struct wia__offer_t {
  wia_status_t status;
  bool transient; /* refused for want of memory or threads: worth another try */
  const char *message, *cause;
  uint32_t major, minor, count;
  const wia_driver_t *tables[WIA__MAX_OFFERED];
} wia__offer_t;

/* Loads a library and asks it for its drivers, on a thread of its own and within
 * WIA_DRIVER_TIMEOUT. */
void wia__negotiate(const char *library, wia__offer_t *out_offer);

/* WIA_DRIVER_TIMEOUT. */
int64_t wia__driver_timeout_ns(void);

/* Checks the driver ABI version that a driver was built for: OK, or INCOMPATIBLE and why. */
wia_status_t wia__check_version(uint32_t major, uint32_t minor, char out_message[WIA__TEXT_SIZE]);

/* Checks a table: OK, or INCOMPATIBLE or INVALID_ARGUMENT and why. */
wia_status_t wia__check_table(const wia_driver_t *table, uint32_t minor,
                              char out_message[WIA__TEXT_SIZE]);

/* Whether it is a table of sufficient size with a well-formed name. */
bool wia__has_name(const wia_driver_t *table);

/* A copy of a checked table, of full size. NULL: no memory. */
wia__driver_t *wia__adopt_table(const wia_driver_t *table);

#endif
