/* drivers.h: drivers by name, for the functions that find and list devices. */
#ifndef WIA__DRIVERS_H
#define WIA__DRIVERS_H

#include "loader.h"
#include "slots.h"

/* Both load if need be, take long (outside the epoch) and leave this thread's last error alone.
 * False: *out_refusal says why. */
bool wia__load_driver(const char *name, wia__slot_t **out_slot, wia__refusal_t *out_refusal);
bool wia__load_default(wia__slot_t **out_slot, wia__refusal_t *out_refusal);

/* Asks a driver how many devices it has now, at most WIA__MAX_DEVICES. */
wia_status_t wia__count_devices(wia__driver_t *driver, uint32_t *out_count);

/* Makes a refusal this thread's last error. driver may be NULL. */
wia_status_t wia__fail_refusal(const wia__refusal_t *refusal, const char *driver);

#endif
