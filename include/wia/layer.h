/* layer.h: layers: what the library does beside its work, for whoever looks for a fault or for time.
 *
 * A layer that is off costs nothing. The environment variable WIA_LAYERS has those that are on from the
 * start, as "validate,trace"; names that are none are a warning in the log.
 *
 *   validate   races between streams and other faults that a call alone can't show: validation.h
 *   trace      spans of all calls, kernels, copies and waits, written as a file: profile.h
 *
 * Whoever enables a layer disables it again: it is on as long as one of them has it. */
#ifndef WIA_LAYER_H
#define WIA_LAYER_H

#include "base.h"

WIA_BEGIN_DECLS

/* Switches a layer on. Calls that are going on already may be left out by it.
 * Errors: NOT_FOUND for a name that is none, with those there are; RESOURCE_EXHAUSTED. */
WIA_API wia_status_t wia_enable_layer(const char *name);

/* Takes back one wia_enable_layer(), or the environment's; the last one switches the layer off, which
 * for trace writes its file. Errors: NOT_FOUND; FAILED_PRECONDITION for a layer that is not on;
 * trace: as wia_save_profile_report(). */
WIA_API wia_status_t wia_disable_layer(const char *name);

typedef struct wia_layer_info_t {
  uint32_t struct_size;
  uint32_t enabled;        /* 1: it is on */
  const char *name;        /* lives as long as the process, as description does */
  const char *description; /* a line */
} wia_layer_info_t;
#define WIA_LAYER_INFO_INIT WIA_INIT(wia_layer_info_t)

/* Writes the number of layers, on or off. */
WIA_API wia_status_t wia_get_layer_count(uint32_t *out_count);

/* Errors: OUT_OF_RANGE for an index at or above the count. */
WIA_API wia_status_t wia_get_layer_info(uint32_t index, wia_layer_info_t *out_info);

WIA_END_DECLS
#endif
