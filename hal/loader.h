/* loader.h: making a candidate usable: its library or Python class is loaded once. */
#ifndef WIA__LOADER_H
#define WIA__LOADER_H

#include "records.h"

/* Why a driver can't be had. cause lives as long as the process. */
typedef struct wia__refusal_t {
  wia_status_t status;
  char message[WIA__TEXT_SIZE];
  const char *cause;
} wia__refusal_t;

/* Fills it without a cause and returns false. */
bool wia__refuse(wia__refusal_t *out_refusal, wia_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Fills it from a record that is refused. With wia__records_mutex held. */
bool wia__refuse_as(wia__refusal_t *out_refusal, const wia__record_t *record);

/* Loads the driver of a record that owns its name; other threads that ask meanwhile wait for this
 * one. A refusal is kept in the record, unless it comes from want of memory or threads. It leaves
 * this thread's last error alone. Takes long: outside the epoch. */
bool wia__load_record(wia__record_t *record, wia__refusal_t *out_refusal);

/* Makes what was adopted from a checked table (negotiate.h) the driver of a record, and gives it a slot.
 * NULL, or no slot: RESOURCE_EXHAUSTED, and the driver is freed. With wia__records_mutex held. */
wia_status_t wia__install_driver(wia__record_t *record, wia__driver_t *driver);

#endif
