/* version.h: the version of the library that a program was compiled against, and runs with. */
#ifndef WIA_VERSION_H
#define WIA_VERSION_H

#include "base.h"

WIA_BEGIN_DECLS

/* The version of these headers. */
enum { WIA_VERSION_MAJOR = 0, WIA_VERSION_MINOR = 1, WIA_VERSION_PATCH = 0 };

/* Writes the version of the loaded library. Any pointer may be NULL. Never fails. */
WIA_API wia_status_t wia_get_version(int32_t *out_major, int32_t *out_minor, int32_t *out_patch);

WIA_END_DECLS
#endif
