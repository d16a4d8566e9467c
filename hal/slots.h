/* slots.h: the numbers of drivers, and the default driver, which has number 0. */
#ifndef WIA__SLOTS_H
#define WIA__SLOTS_H

#include "records.h"

enum { WIA__MAX_SLOTS = 4096 };

/* A thread that opens a device; each waits for one other at most. Guarded by wia__records_mutex. */
typedef struct wia__opener_t {
  const struct wia__opener_t *waits_for;
} wia__opener_t;

typedef struct wia__slot_t {
  int32_t number;
  _Atomic(wia__record_t *) record; /* NULL in slot 0 as long as no default driver was found */
  _Atomic(wia__device_t *) devices[WIA__MAX_DEVICES];
  const wia__opener_t *openers[WIA__MAX_DEVICES]; /* guarded by wia__records_mutex; NULL: nobody */
} wia__slot_t;

/* NULL: nobody was given that number. Slot 0 always is. Takes no lock. */
wia__slot_t *wia__get_slot(int32_t number);

/* -- with wia__records_mutex held -------------------------------------------------------------- */

/* The slot of a record that owns its name, given now if it has none. NULL: none left, or no memory.
 */
wia__slot_t *wia__give_slot(wia__record_t *record);
/* Decides which driver is the default, when all manifests were read. */
void wia__choose_default(void);
/* Gives slot 0 to a record that has the name of the default driver. */
void wia__offer_default(wia__record_t *record);
/* The name of the default driver and why it is, as "..., which WIA_DEFAULT_DEVICE names"; name "":
 * WIA_DEFAULT_DEVICE is malformed. */
const char *wia__default_name(const char **out_reason);

#endif
