/* extension.h: what a device has beyond these headers: extensions, with tables of their own.
 *
 * An extension is the device's driver's, or was registered with wia_register_device_extension() of
 * wia_driver.h. It has a version "major.minor" and may have a table, a struct that its vendor's header
 * declares and that starts with uint32_t struct_size. Within a major version a table only grows at its
 * end: a newer one works for an older program, and in an older one a program asks before it uses what
 * was added:
 *
 *     const acme_counters_t *counters;
 *     status = wia_query_extension(device_id, "acme::counters", "1.2", (const void **)&counters);
 *     if (!status && WIA_HAS_ENTRY(counters, reset)) counters->reset(device_id);
 *
 * Drivers are never unloaded: a table is good to the end of the process, on any thread. What its
 * functions allow beyond that, its vendor says. */
#ifndef WIA_EXTENSION_H
#define WIA_EXTENSION_H

#include <stddef.h>

#include "base.h"

WIA_BEGIN_DECLS

/* Whether a table is long enough for a member, and the member isn't NULL. */
#define WIA_HAS_ENTRY(table, member)                                                               \
  ((table)->struct_size >= (const char *)(&(table)->member + 1) - (const char *)(table) &&         \
   (table)->member != NULL)

/* The strings and lists live as long as the process. */
typedef struct wia_extension_info_t {
  uint32_t struct_size;
  uint32_t has_table;              /* 1: wia_query_extension() gives one */
  const char *extension_id;        /* "acme::counters" */
  const char *version;             /* "1.2" */
  const char *const *capabilities; /* capability_count of them */
  const char *const *operations;   /* names of operations that come with it */
  uint32_t capability_count, operation_count;
} wia_extension_info_t;
#define WIA_EXTENSION_INFO_INIT WIA_INIT(wia_extension_info_t)

/* The number of extensions of a device: the driver's, then those that were registered, in their order;
 * it only grows. Errors: NOT_FOUND for an id that no device has; what the driver says. */
WIA_API wia_status_t wia_get_extension_count(int32_t device_id, uint32_t *out_count);

/* Describes one. Errors: as wia_get_extension_count(); OUT_OF_RANGE for an index beyond the last. */
WIA_API wia_status_t wia_get_extension_info(int32_t device_id, uint32_t index,
                                            wia_extension_info_t *out_info);

/* Gives the table of an extension, of the major version that is asked for and any minor one: its
 * struct_size tells what is there. *out_table is NULL for an extension without a table.
 * Errors: INVALID_ARGUMENT for a version that isn't "major.minor"; UNIMPLEMENTED for an extension that
 * the device hasn't, naming those it has; INCOMPATIBLE when it has it in other major versions only,
 * naming them; NOT_FOUND for an id that no device has. */
WIA_API wia_status_t wia_query_extension(int32_t device_id, const char *name, const char *version,
                                         const void **out_table);

WIA_END_DECLS
#endif
