/* shape_image.c: rules of operations on images: grids and regions. */
#include <inttypes.h>
#include <stddef.h>

#include "shape.h"

wia_status_t wia__infer_affine_grid(const wia__infer_t *call) {
  const wia_shape_t *theta = &call->inputs[0];
  uint32_t count;
  const wia_scalar_t *size = wia__attribute_list(call, "size", &count);
  if (count != 4 && count != 5)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "affine_grid: size has %u elements; expected 4 for images or 5 for volumes",
                     count);
  const uint32_t sides = count - 2;
  const int64_t expected[3] = {size[0].i64, sides, sides + 1};
  const wia_status_t status = wia__expect_shape(call, 0, expected, 3);
  if (status) return status;
  int64_t shape[5] = {size[0].i64};
  for (uint32_t i = 0; i < sides; i++) shape[1 + i] = size[2 + i].i64;
  shape[1 + sides] = sides;
  return wia__set_output(call, theta->dtype, shape, sides + 2);
}

wia_status_t wia__infer_grid_sample(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0], *grid = &call->inputs[1];
  wia_status_t status = wia__expect_rank(call, 0, 4, 5);
  if (!status) status = wia__expect_rank(call, 1, input->rank, input->rank);
  if (status) return status;
  const uint32_t sides = input->rank - 2;
  bool empty = false;
  for (uint32_t i = 0; i < sides; i++) empty |= input->shape[2 + i] == 0;
  if (empty || grid->shape[0] != input->shape[0] || grid->shape[input->rank - 1] != sides) {
    char a[WIA__SHAPE_TEXT], b[WIA__SHAPE_TEXT];
    return wia__fail(
        WIA_STATUS_INVALID_ARGUMENT,
        "grid_sample: input has the shape %s and grid the shape %s; expected images of "
        "1 or more pixels, as many of them as grids, and %u in the last dimension",
        wia__format_shape(a, input->shape, input->rank),
        wia__format_shape(b, grid->shape, grid->rank), sides);
  }
  int64_t shape[5] = {input->shape[0], input->shape[1]};
  for (uint32_t i = 0; i < sides; i++) shape[2 + i] = grid->shape[1 + i];
  return wia__set_output(call, input->dtype, shape, input->rank);
}

/* Results of regions of images, which have that many numbers each. */
static wia_status_t set_pooled(const wia__infer_t *call, int64_t numbers) {
  const wia_shape_t *input = &call->inputs[0], *rois = &call->inputs[1];
  char text[WIA__SHAPE_TEXT];
  wia_status_t status = wia__expect_rank(call, 0, 4, 4);
  if (!status) status = wia__expect_rank(call, 1, 2, 2);
  if (status) return status;
  if (rois->shape[1] != numbers)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: rois has the shape %s; expected %" PRId64 " numbers of each region",
                     call->op->name, wia__format_shape(text, rois->shape, rois->rank), numbers);
  if (input->shape[2] == 0 || input->shape[3] == 0)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: input has the shape %s; expected images of 1 or more pixels",
                     call->op->name, wia__format_shape(text, input->shape, input->rank));
  const int64_t shape[4] = {rois->shape[0], input->shape[1], wia__attribute(call, "height"),
                            wia__attribute(call, "width")};
  return wia__set_output(call, input->dtype, shape, 4);
}

wia_status_t wia__infer_roi_align(const wia__infer_t *call) {
  const wia_status_t status = wia__expect_rank(call, 1, 2, 2);
  if (status) return status;
  const wia_status_t fits = wia__expect_shape(call, 2, call->inputs[1].shape, 1);
  return fits ? fits : set_pooled(call, 4);
}

wia_status_t wia__infer_max_roi_pool(const wia__infer_t *call) { return set_pooled(call, 5); }

wia_status_t wia__infer_non_max_suppression(const wia__infer_t *call) {
  const wia_shape_t *boxes = &call->inputs[0], *scores = &call->inputs[1];
  wia_status_t status = wia__expect_rank(call, 0, 3, 3);
  if (!status) status = wia__expect_rank(call, 1, 3, 3);
  if (status) return status;
  if (boxes->shape[2] != 4 || boxes->shape[0] != scores->shape[0] ||
      boxes->shape[1] != scores->shape[2]) {
    char a[WIA__SHAPE_TEXT], b[WIA__SHAPE_TEXT];
    return wia__fail(
        WIA_STATUS_INVALID_ARGUMENT,
        "non_max_suppression: boxes has the shape %s and scores the shape %s; expected "
        "[n, m, 4] and [n, classes, m]",
        wia__format_shape(a, boxes->shape, 3), wia__format_shape(b, scores->shape, 3));
  }
  const int64_t most = wia__attribute(call, "max_output");
  const int64_t kept = most < boxes->shape[1] ? most : boxes->shape[1];
  wia_shape_t rows = {.rank = 3, .shape = {scores->shape[0], scores->shape[1], kept}};
  int64_t shape[2] = {0, 3};
  status = wia__count_elements(call, &rows, &shape[0]);
  if (!status) status = wia__set_output(call, WIA_INT64, shape, 2);
  return status ? status : wia__set_output_at(call, 1, WIA_INT64, NULL, 0);
}
