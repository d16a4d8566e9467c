/* extension.h: an extension, and what is well formed in one. */
#ifndef WIA__EXTENSION_H
#define WIA__EXTENSION_H

#include <stdbool.h>

#include "names.h"
#include "wia_driver.h"

/* Never freed once it is in a list. */
typedef struct wia__extension_t {
  wia_device_extension_t given; /* a copy; of a driver, its strings */
  uint32_t major, minor;
  uint32_t capability_count, operation_count;
  const char *operations[WIA_MAX_EXTENSION_OPERATIONS];
  int32_t device_id;
  struct wia__extension_t *next;
} wia__extension_t;

/* "major.minor"; NULL is none. */
bool wia__read_extension_version(const char *text, uint32_t *out_major, uint32_t *out_minor);

/* Fills the rest from what was given. Else false, and why. */
bool wia__examine_extension(wia__extension_t *extension, char out_why[WIA__TEXT_SIZE]);

#endif
