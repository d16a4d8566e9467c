/* shape_window.h: windows that slide over images, [n, c, ...] with one to three dimensions. */
#ifndef WIA__SHAPE_WINDOW_H
#define WIA__SHAPE_WINDOW_H

#include "shape.h"

enum { WIA__MAX_SPATIAL = 3 };

/* One direction of a window. All but size are below 2^31, and so is size after
 * wia__read_windows(): nothing that is computed of them overflows 63 bits. */
typedef struct wia__window_t {
  const char *direction; /* "height" */
  int64_t size, kernel, before, after, stride, dilation;
} wia__window_t;

/* That the first input is an image; its spatial dimensions. */
wia_status_t wia__expect_image(const wia__infer_t *call, uint32_t *out_count);

/* An attribute as a value for each of count dimensions: the list has none, one or all of them. */
wia_status_t wia__read_along(const wia__infer_t *call, const char *name, uint32_t count,
                             int64_t fallback, int64_t *out_values);

/* The windows over images of these sizes, from the attributes stride, padding and, if the operation
 * has it, dilation; fallback is the stride when none is given. */
wia_status_t wia__read_windows(const wia__infer_t *call, const int64_t *sizes,
                               const int64_t *kernel, uint32_t count, int64_t fallback,
                               wia__window_t *out_windows);

/* Elements that a kernel spans, itself included. */
int64_t wia__reach(const wia__window_t *window);

/* That the kernel fits into the padded image; how often it does then. */
wia_status_t wia__count_places(const wia__infer_t *call, const wia__window_t *window,
                               int64_t *out_count);

#endif
