/* Rules of resizing, images, signals, matrices, and of operations without an input. */
#include "infer.h"

#define NO_INPUTS NULL, 0
#define EMPTY_SHAPE ((wia_attribute_t){.name = "shape", .type = WIA_ATTRIBUTE_INT64, .count = 0})

static void test_resize(void) {
  const wia_shape_t x = S(FLOAT32, 1, 3, 10, 7);
  GIVES(RESIZE, S(FLOAT32, 1, 3, 25, 3), LIST(x), WITH(FLOATS("scales", 1, 1, 2.5, 0.5)));
  GIVES(RESIZE, S(FLOAT32, 1, 3, 5, 9), LIST(x), WITH(INTS("sizes", 9, 5), INTS("axes", -1, 2)));
  GIVES(RESIZE, S(FLOAT32, 1, 3, 13, 9), LIST(x),
        WITH(INTS("sizes", 20, 9), INTS("axes", 2, 3), INTS("keep_aspect", 1)));
  GIVES(RESIZE, S(FLOAT32, 1, 3, 20, 14), LIST(x),
        WITH(INTS("sizes", 20, 9), INTS("axes", 2, 3), INTS("keep_aspect", 2)));
  GIVES(RESIZE, R0(BOOL), LIST(R0(BOOL)), NO_ATTRIBUTES);
  GIVES(RESIZE, S(INT8, 0, 2), LIST(S(INT8, 0, 4)), WITH(FLOATS("scales", 9, 0.5)));
  REFUSES(RESIZE, "input is int8, which only the mode nearest takes", LIST(S(INT8, 2)),
          WITH(INTS("sizes", 2), INTS("mode", 1)));
  REFUSES(RESIZE, "sizes has 1 elements, scales 1 and roi 0; expected 1 of sizes or of scales",
          LIST(S(INT8, 2)), WITH(INTS("sizes", 2), FLOATS("scales", 2)));
  REFUSES(RESIZE, "sizes has 0 elements, scales 0 and roi 0; expected 4", LIST(x), NO_ATTRIBUTES);
  REFUSES(RESIZE,
          "roi 1; expected 1 of sizes or of scales, one per dimension that is resized, and 2",
          LIST(S(INT8, 2)), WITH(INTS("sizes", 2), FLOATS("roi", 0)));
  REFUSES(RESIZE, "scales[0] is 0; expected above 0", LIST(S(INT8, 2)), WITH(FLOATS("scales", 0)));
  REFUSES(RESIZE, "larger than 62 bits", LIST(S(INT8, 2)), WITH(FLOATS("scales", 1e300)));
  REFUSES(RESIZE, "expected less than 2^53", LIST(S(INT8, 2)), WITH(INTS("sizes", INT64_MAX)));
  REFUSES(RESIZE, "dimension 0 has no element, so it can't become 2", LIST(S(INT8, 0)),
          WITH(INTS("sizes", 2)));
  REFUSES(RESIZE, "dimension 3 twice", LIST(x), WITH(INTS("sizes", 9, 5), INTS("axes", -1, 3)));
}

static void test_images(void) {
  const wia_shape_t x = S(FLOAT32, 2, 3, 4, 5);
  GIVES(AFFINE_GRID, S(FLOAT32, 2, 6, 7, 2), LIST(S(FLOAT32, 2, 2, 3)),
        WITH(INTS("size", 2, 3, 6, 7)));
  REFUSES(AFFINE_GRID, "theta has the shape [2, 2, 3]; expected [2, 3, 4]",
          LIST(S(FLOAT32, 2, 2, 3)), WITH(INTS("size", 2, 3, 6, 7, 8)));
  REFUSES(AFFINE_GRID, "size has 0 elements", LIST(S(FLOAT32, 2, 2, 3)), NO_ATTRIBUTES);
  GIVES(GRID_SAMPLE, S(FLOAT32, 2, 3, 6, 7), LIST(x, S(FLOAT32, 2, 6, 7, 2)), NO_ATTRIBUTES);
  REFUSES(GRID_SAMPLE, "and 2 in the last dimension", LIST(x, S(FLOAT32, 2, 6, 7, 3)),
          NO_ATTRIBUTES);
  REFUSES(GRID_SAMPLE, "images of 1 or more pixels",
          LIST(S(FLOAT32, 2, 3, 0, 5), S(FLOAT32, 2, 6, 7, 2)), NO_ATTRIBUTES);
  const wia_attribute_t sides[] = {INTS("height", 2), INTS("width", 3)};
  GIVES(ROI_ALIGN, S(FLOAT32, 9, 3, 2, 3), LIST(x, S(FLOAT32, 9, 4), S(INT64, 9)), sides, 2);
  REFUSES(ROI_ALIGN, "batch_indices has the shape [8]; expected [9]",
          LIST(x, S(FLOAT32, 9, 4), S(INT64, 8)), sides, 2);
  GIVES(MAX_ROI_POOL, S(FLOAT32, 9, 3, 2, 3), LIST(x, S(FLOAT32, 9, 5)), sides, 2);
  REFUSES(MAX_ROI_POOL, "rois has the shape [9, 4]; expected 5 numbers", LIST(x, S(FLOAT32, 9, 4)),
          sides, 2);
  REFUSES(MAX_ROI_POOL, "images of 1 or more pixels",
          LIST(S(FLOAT32, 2, 3, 4, 0), S(FLOAT32, 9, 5)), sides, 2);
  GIVES(NON_MAX_SUPPRESSION, S(INT64, 60, 3), LIST(S(FLOAT32, 2, 10, 4), S(FLOAT32, 2, 3, 10)),
        WITH(INTS("max_output", 99)));
  REFUSES(NON_MAX_SUPPRESSION, "expected [n, m, 4] and [n, classes, m]",
          LIST(S(FLOAT32, 2, 10, 4), S(FLOAT32, 2, 3, 9)), NO_ATTRIBUTES);
}

static void test_signals(void) {
  GIVES(DFT, S(FLOAT32, 3, 8, 2), LIST(S(FLOAT32, 3, 8, 1)), NO_ATTRIBUTES);
  GIVES(DFT, S(FLOAT32, 3, 5, 2), LIST(S(FLOAT32, 3, 8, 1)), WITH(INTS("onesided", 1)));
  GIVES(DFT, S(FLOAT32, 3, 8, 1), LIST(S(FLOAT32, 3, 5, 2)),
        WITH(INTS("onesided", 1), INTS("inverse", 1)));
  GIVES(DFT, S(FLOAT32, 9, 8, 2), LIST(S(FLOAT32, 0, 8, 2)),
        WITH(INTS("axis", 0), INTS("length", 9)));
  REFUSES(DFT, "expected a last dimension of 1 for real numbers, or 2", LIST(S(FLOAT32, 3, 3)),
          NO_ATTRIBUTES);
  REFUSES(DFT, "axis names dimension 1, the last one", LIST(S(FLOAT32, 3, 2)),
          WITH(INTS("axis", 1)));
  REFUSES(DFT, "the transform would have the length 0", LIST(S(FLOAT32, 0, 2)), NO_ATTRIBUTES);
  REFUSES(DFT, "expected a last dimension of 2", LIST(S(FLOAT32, 3, 1)),
          WITH(INTS("onesided", 1), INTS("inverse", 1)));
  const wia_shape_t x = S(FLOAT32, 2, 20, 1);
  GIVES(STFT, S(FLOAT32, 2, 4, 5, 2), LIST(x, S(FLOAT32, 8)), WITH(INTS("frame_step", 4)));
  REFUSES(STFT, "frame_step is 0; it has no default", LIST(x, S(FLOAT32, 8)), NO_ATTRIBUTES);
  REFUSES(STFT, "window has the shape [8]; expected [9]", LIST(x, S(FLOAT32, 8)),
          WITH(INTS("frame_step", 4), INTS("frame_length", 9)));
  REFUSES(STFT, "the length of a frame is 0", LIST(x), WITH(INTS("frame_step", 4)));
  REFUSES(STFT, "the length of a frame is 21", LIST(x, S(FLOAT32, 21)),
          WITH(INTS("frame_step", 4)));
}

static void test_matrices(void) {
  const wia_shape_t x = S(FLOAT64, 2, 3, 3);
  GIVES(DETERMINANT, S(FLOAT64, 2), LIST(x), NO_ATTRIBUTES);
  GIVES(INVERSE, x, LIST(x), NO_ATTRIBUTES);
  GIVES(CHOLESKY, x, LIST(x), NO_ATTRIBUTES);
  GIVES(SOLVE_TRIANGULAR, S(FLOAT64, 2, 3, 7), LIST(x, S(FLOAT64, 2, 3, 7)), NO_ATTRIBUTES);
  REFUSES(INVERSE, "input has the shape [2, 3]; expected square matrices", LIST(S(FLOAT64, 2, 3)),
          NO_ATTRIBUTES);
  REFUSES(DETERMINANT, "expected rank 2 or more", LIST(S(FLOAT64, 3)), NO_ATTRIBUTES);
  REFUSES(SOLVE_TRIANGULAR, "b the shape [2, 4, 7]; expected equal", LIST(x, S(FLOAT64, 2, 4, 7)),
          NO_ATTRIBUTES);
  GIVES(TRILU, S(INT8, 2, 3), LIST(S(INT8, 2, 3)), WITH(INTS("k", -9)));
  REFUSES(TRILU, "expected rank 2 or more", LIST(S(INT8, 3)), NO_ATTRIBUTES);
  GIVES(DIAG, S(INT8, 2, 5, 5), LIST(S(INT8, 2, 3)), WITH(INTS("k", -2)));
  REFUSES(DIAG, "more rows than 63 bits", LIST(S(INT8, INT64_MAX)), WITH(INTS("k", 1)));
  GIVES(BITCAST, S(INT32, 2, 3), LIST(S(FLOAT32, 2, 3)), WITH(DTYPE(WIA_INT32)));
  REFUSES(BITCAST, "input is float32, of 32 bits, and the result int8, of 8", LIST(S(FLOAT32, 2)),
          WITH(DTYPE(WIA_INT8)));
}

static void test_makers(void) {
  GIVES(FILL, R0(BOOL), NO_INPUTS, WITH(EMPTY_SHAPE, DTYPE(WIA_BOOL)));
  GIVES(IOTA, S(INT8, 2, 3), NO_INPUTS,
        WITH(INTS("shape", 2, 3), INTS("axis", -1), DTYPE(WIA_INT8)));
  REFUSES(IOTA, "axis is 2", NO_INPUTS,
          WITH(INTS("shape", 2, 3), INTS("axis", 2), DTYPE(WIA_INT8)));
  REFUSES(IOTA, "the shape [] has rank 0; expected 1 or more", NO_INPUTS,
          WITH(EMPTY_SHAPE, DTYPE(WIA_INT8)));
  REFUSES(IOTA, "not defined for bool", NO_INPUTS, WITH(INTS("shape", 2), DTYPE(WIA_BOOL)));
  REFUSES(EYE, "has rank 1; expected 2 or more", NO_INPUTS,
          WITH(INTS("shape", 2), DTYPE(WIA_BOOL)));
  REFUSES(FILL, "no shape is given", NO_INPUTS, WITH(DTYPE(WIA_BOOL)));
  REFUSES(FILL, "no dtype is given", NO_INPUTS, WITH(INTS("shape", 2)));
  REFUSES(HANN_WINDOW, "has rank 2; expected 1", NO_INPUTS,
          WITH(INTS("shape", 2, 2), DTYPE(WIA_FLOAT32)));
  GIVES(MEL_WEIGHT_MATRIX, S(FLOAT32, 9, 8), NO_INPUTS,
        WITH(INTS("bins", 8), INTS("dft_length", 16), DTYPE(WIA_FLOAT32)));
}

int main(void) {
  test_resize();
  test_images();
  test_signals();
  test_matrices();
  test_makers();
  return CHECK_DONE();
}
