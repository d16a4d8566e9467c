/* discovery.h: the load report: every driver that was found, and what became of it. */
#ifndef WIA_DISCOVERY_H
#define WIA_DISCOVERY_H

#include "base.h"

WIA_BEGIN_DECLS

enum {
  WIA_DRIVER_KIND_NONE = 0,
  WIA_DRIVER_KIND_NATIVE = 1, /* a shared library, announced by a manifest */
  WIA_DRIVER_KIND_PYTHON = 2, /* a Python class, announced by an entry point */
  WIA_DRIVER_KIND_MEMORY = 3  /* registered by this process */
};

enum {
  WIA_DRIVER_STATE_NONE = 0,
  WIA_DRIVER_STATE_FOUND = 1,    /* announced, not loaded yet: nobody asked for it */
  WIA_DRIVER_STATE_LOADED = 2,   /* usable */
  WIA_DRIVER_STATE_REFUSED = 3,  /* present and broken: see status, message and cause */
  WIA_DRIVER_STATE_DISABLED = 4, /* switched off by WIA_DRIVERS */
  WIA_DRIVER_STATE_DUPLICATE = 5 /* the same driver was announced before */
};

/* One candidate of the load report. The strings are never NULL and live as long as the process. */
typedef struct wia_load_record_t {
  uint32_t struct_size;
  int32_t kind;  /* WIA_DRIVER_KIND_* */
  int32_t state; /* WIA_DRIVER_STATE_* */
  wia_status_t status;
  int32_t priority;
  int32_t slot;        /* device ids are slot * 256 + ordinal; -1 while it has none */
  const char *name;    /* the driver's name; "" when its manifest could not be read */
  const char *source;  /* path of the manifest or library, or the entry point */
  const char *version; /* as the driver tells it; "" before it is loaded */
  const char *message; /* "" when all is well */
  const char *cause;   /* the loader's text or the Python traceback, "" for none */
} wia_load_record_t;
#define WIA_LOAD_RECORD_INIT WIA_INIT(wia_load_record_t)

/* Looks for drivers where that was not done yet (manifests and entry points, for which Python is
 * started), loads none of them, and writes the number of records. The number only grows. */
WIA_API wia_status_t wia_get_load_record_count(uint32_t *out_count);

/* Writes the record at index. A record's state can change as drivers are asked for.
 * Errors: OUT_OF_RANGE for an index at or above the count. */
WIA_API wia_status_t wia_get_load_record(uint32_t index, wia_load_record_t *out_record);

WIA_END_DECLS
#endif
