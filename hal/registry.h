/* registry.h: drivers: where they come from, in which slot they are, and why one was refused. */
#ifndef WIA__REGISTRY_H
#define WIA__REGISTRY_H

#include "device.h"

/* The bridge to Python (hal/bridge): it registers itself when it is imported. All functions may be
 * called from any thread and take the GIL themselves. */
typedef struct wia__bridge_t {
  uint32_t struct_size;
  uint32_t reserved;
  /* Calls add once per entry point of the group wia.drivers, without importing any of them.
   * problem is NULL, or why the entry point can't be used. */
  wia_status_t (*discover)(void (*add)(void *context, const char *name, const char *source,
                                       const char *version, const char *problem),
                           void *context, wia_error_t *out_error);
  /* Imports the entry point of that name and source, makes the driver and its table, which lives as
   * long as the process. DEADLINE_EXCEEDED after timeout_ns. */
  wia_status_t (*load)(const char *name, const char *source, int64_t timeout_ns,
                       const wia_driver_t **out_table, wia_error_t *out_error);
  /* Runs the handlers of signals that came. CANCELLED when one raised an exception, which rises where
   * the call returns to Python. NULL in a C process, whose signals are not Python's. */
  wia_status_t (*check_signals)(wia_error_t *out_error);
} wia__bridge_t;

/* Exported for the bridge only; not in a public header. Later calls replace nothing and are OK. */
WIA_API wia_status_t wia__set_bridge(const wia__bridge_t *bridge);

/* The bridge, starting Python if this is a C process without one. Fails with UNAVAILABLE and the
 * reason, the same each time. */
wia_status_t wia__get_bridge(const wia__bridge_t **out_bridge);

/* The driver of a slot, loaded if need be. NOT_FOUND for a slot that nobody was given. */
wia_status_t wia__get_driver(int32_t slot, wia__driver_t **out_driver);

#endif
