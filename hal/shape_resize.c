/* shape_resize.c: the rule of resizing. */
#include <inttypes.h>
#include <math.h>

#include "shape.h"

enum { MODE_NEAREST = 0, ASPECT_STRETCH = 0, ASPECT_NOT_LARGER = 1 };

/* The dimensions that are resized, and what they are resized by: sizes or scales. */
typedef struct lines_t {
  uint32_t count, axes[WIA_MAX_RANK];

  int64_t sizes[WIA_MAX_RANK];
} lines_t;

static wia_status_t read_axes(const wia__infer_t *call, lines_t *lines) {
  const uint32_t rank = call->inputs[0].rank;
  uint32_t count, seen = 0;
  const wia_scalar_t *axes = wia__attribute_list(call, "axes", &count);
  lines->count = count ? count : rank;
  for (uint32_t i = 0; i < lines->count; i++) {
    const wia_status_t status =
        wia__expect_axis(call, "axes", count ? axes[i].i64 : (int64_t)i, rank, &lines->axes[i]);
    if (status) return status;
    if (seen >> lines->axes[i] & 1)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "resize: axes names dimension %u twice; expected each one once",
                       lines->axes[i]);
    seen |= 1u << lines->axes[i];
  }
  return WIA_STATUS_OK;
}

static wia_status_t read_counts(const wia__infer_t *call, const lines_t *lines) {
  uint32_t sizes, scales, roi;
  wia__attribute_list(call, "sizes", &sizes);
  wia__attribute_list(call, "scales", &scales);
  wia__attribute_list(call, "roi", &roi);
  if ((sizes == 0 || scales == 0) && sizes + scales == lines->count &&
      (roi == 0 || roi == 2 * lines->count))
    return WIA_STATUS_OK;
  return wia__fail(
      WIA_STATUS_INVALID_ARGUMENT,
      "resize: sizes has %u elements, scales %u and roi %u; expected %u of sizes or of "
      "scales, one per dimension that is resized, and %u or none of roi",
      sizes, scales, roi, lines->count, 2 * lines->count);
}

static wia_status_t read_scales(const wia__infer_t *call, lines_t *lines) {
  uint32_t count;
  const wia_scalar_t *scales = wia__attribute_list(call, "scales", &count);
  for (uint32_t i = 0; i < lines->count; i++) {
    const double size = (double)call->inputs[0].shape[lines->axes[i]];
    if (!(scales[i].f64 > 0.0))
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "resize: scales[%u] is %g; expected above 0", i,
                       scales[i].f64);
    if (!(scales[i].f64 * size < 0x1p62))
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "resize: scales[%u] is %g, which makes dimension %u larger than 62 bits", i,
                       scales[i].f64, lines->axes[i]);
    lines->sizes[i] = (int64_t)floor(scales[i].f64 * size);
  }
  return WIA_STATUS_OK;
}

/* Sizes by one scale for all dimensions, the least or the largest that they ask for. */
static void keep_aspect(const wia__infer_t *call, lines_t *lines, bool least) {
  const int64_t *shape = call->inputs[0].shape;
  double scale = 0.0;
  for (uint32_t i = 0; i < lines->count; i++) {
    const int64_t size = shape[lines->axes[i]];
    const double wanted = size ? (double)lines->sizes[i] / (double)size : 1.0;
    if (i == 0 || (least ? wanted < scale : wanted > scale)) scale = wanted;
  }
  for (uint32_t i = 0; i < lines->count; i++)
    lines->sizes[i] = (int64_t)fmin(floor(scale * (double)shape[lines->axes[i]] + 0.5), 0x1p62);
}

static wia_status_t read_sizes(const wia__infer_t *call, lines_t *lines) {
  uint32_t count;
  const wia_scalar_t *sizes = wia__attribute_list(call, "sizes", &count);
  if (count == 0) return read_scales(call, lines);
  const int64_t aspect = wia__attribute(call, "keep_aspect");
  for (uint32_t i = 0; i < lines->count; i++) {
    lines->sizes[i] = sizes[i].i64;
    if (sizes[i].i64 >> 53)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "resize: sizes[%u] is %" PRId64 "; expected less than 2^53", i,
                       sizes[i].i64);
  }
  if (aspect != ASPECT_STRETCH) keep_aspect(call, lines, aspect == ASPECT_NOT_LARGER);
  return WIA_STATUS_OK;
}

static wia_status_t check_dtype(const wia__infer_t *call) {
  const wia_dtype_t dtype = call->inputs[0].dtype;
  if (wia__attribute(call, "mode") == MODE_NEAREST || dtype == WIA_FLOAT64 ||
      dtype == WIA_FLOAT32 || dtype == WIA_FLOAT16 || dtype == WIA_BFLOAT16)
    return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "resize: input is %s, which only the mode nearest takes; expected one of "
                   "float64, float32, float16, bfloat16 (see wia_cast)",
                   wia_get_dtype_name(dtype));
}

wia_status_t wia__infer_resize(const wia__infer_t *call) {
  wia_shape_t result = call->inputs[0];
  lines_t lines = {0};
  wia_status_t status = check_dtype(call);
  if (!status) status = read_axes(call, &lines);
  if (!status) status = read_counts(call, &lines);
  if (!status) status = read_sizes(call, &lines);
  if (status) return status;
  for (uint32_t i = 0; i < lines.count; i++) {
    const uint32_t axis = lines.axes[i];
    if (result.shape[axis] == 0 && lines.sizes[i])
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "resize: dimension %u has no element, so it can't become %" PRId64, axis,
                       lines.sizes[i]);
    result.shape[axis] = lines.sizes[i];
  }
  return wia__set_output(call, result.dtype, result.shape, result.rank);
}
