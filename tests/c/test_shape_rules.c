/* Rules of all operations that are no product. */
#include "infer.h"

static void test_elementwise(void) {
  GIVES(ADD, S(FLOAT32, 2, 3), LIST(S(FLOAT32, 2, 3), S(FLOAT32, 2, 3)), NO_ATTRIBUTES);
  GIVES(SUB, S(INT8, 4, 2, 3), LIST(S(INT8, 2, 1), S(INT8, 4, 1, 3)), NO_ATTRIBUTES);
  GIVES(MUL, S(UINT64, 2, 3), LIST(R0(UINT64), S(UINT64, 2, 3)), NO_ATTRIBUTES);
  GIVES(DIV, S(FLOAT64, 0, 3), LIST(S(FLOAT64, 1, 3), S(FLOAT64, 0, 1)), NO_ATTRIBUTES);
  GIVES(RELU, R0(INT16), LIST(R0(INT16)), NO_ATTRIBUTES);
  REFUSES(ADD, "a has the shape [2, 3] and b the shape [2], which don't broadcast",
          LIST(S(FLOAT32, 2, 3), S(FLOAT32, 2)), NO_ATTRIBUTES);
  REFUSES(ADD, "don't broadcast", LIST(S(FLOAT32, 0), S(FLOAT32, 2)), NO_ATTRIBUTES);
  REFUSES(ADD, "dtypes must be equal", LIST(S(FLOAT32, 2), S(INT32, 2)), NO_ATTRIBUTES);
  REFUSES(ADD, "overflows", LIST(S(INT8, INT64_MAX / 2, 1), S(INT8, 4)), NO_ATTRIBUTES);
  REFUSES(RELU, "not defined for uint8", LIST(S(UINT8, 2)), NO_ATTRIBUTES);
  REFUSES(RELU, "relu has no attribute axis; expected one of: none", LIST(S(FLOAT32, 2)),
          WITH(INTS("axis", 1)));
}

static void test_cast(void) {
  GIVES(CAST, S(INT8, 2, 3), LIST(S(FLOAT32, 2, 3)), WITH(DTYPE(WIA_INT8)));
  GIVES(CAST, R0(BOOL), LIST(R0(BFLOAT16)), WITH(DTYPE(WIA_BOOL)));
  REFUSES(CAST, "no dtype is given", LIST(S(FLOAT32, 2)), NO_ATTRIBUTES);
  GIVES(CAST, S(INT4, 2), LIST(S(FLOAT32, 2)), WITH(DTYPE(WIA_INT4)));
  REFUSES(CAST, "dtype is 26, which is no dtype", LIST(S(FLOAT32, 2)), WITH(DTYPE(26)));
  REFUSES(CAST, "dtype is -1, which is no dtype", LIST(S(FLOAT32, 2)), WITH(DTYPE(-1)));
  REFUSES(CAST, "dtype is given with type 1 (INT64); expected WIA_ATTRIBUTE_DTYPE",
          LIST(S(FLOAT32, 2)), WITH(INTS("dtype", WIA_INT8)));
}

static void test_norms(void) {
  const wia_shape_t x = S(FLOAT32, 2, 3, 4);
  GIVES(SOFTMAX, x, LIST(x), NO_ATTRIBUTES);
  GIVES(SOFTMAX, x, LIST(x), WITH(INTS("axis", -3)));
  REFUSES(SOFTMAX, "axis is 3; input has rank 3, so expected -3 to 2", LIST(x),
          WITH(INTS("axis", 3)));
  REFUSES(SOFTMAX, "axis is -4;", LIST(x), WITH(INTS("axis", -4)));
  REFUSES(SOFTMAX, "axis is 8; expected -8 to 7", LIST(x), WITH(INTS("axis", 8)));
  REFUSES(SOFTMAX, "rank 0 and no dimension", LIST(R0(FLOAT32)), NO_ATTRIBUTES);
  REFUSES(SOFTMAX, "not defined for int32", LIST(S(INT32, 2)), NO_ATTRIBUTES);

  GIVES(LAYER_NORM, x, LIST(x), NO_ATTRIBUTES);
  GIVES(LAYER_NORM, x, LIST(x, S(FLOAT32, 3, 4), S(FLOAT32, 3, 4)), WITH(INTS("axis", 1)));
  GIVES(LAYER_NORM, x, LIST(x, ABSENT, S(FLOAT32, 4)), NO_ATTRIBUTES);
  REFUSES(LAYER_NORM, "weight has the shape [3]; expected [4]", LIST(x, S(FLOAT32, 3)),
          NO_ATTRIBUTES);
  REFUSES(LAYER_NORM, "bias has the shape [4]; expected [3, 4]", LIST(x, ABSENT, S(FLOAT32, 4)),
          WITH(INTS("axis", -2)));

  REFUSES(LAYER_NORM, "weight has the shape [3]; expected [4]",
          LIST(x, S(FLOAT32, 3), S(FLOAT32, 4)), NO_ATTRIBUTES);

  const wia_shape_t c = S(FLOAT32, 3);
  GIVES(BATCH_NORM, x, LIST(x, c, c), NO_ATTRIBUTES);
  GIVES(BATCH_NORM, x, LIST(x, c, c, ABSENT, c), NO_ATTRIBUTES);
  REFUSES(BATCH_NORM, "variance has the shape [2]; expected [3]", LIST(x, c, S(FLOAT32, 2)),
          NO_ATTRIBUTES);
  REFUSES(BATCH_NORM, "expected rank 2 or more", LIST(c, c, c), NO_ATTRIBUTES);
}

static void test_reductions(void) {
  const wia_shape_t x = S(FLOAT32, 2, 3, 4);
  GIVES(REDUCE_SUM, R0(FLOAT32), LIST(x), NO_ATTRIBUTES);
  GIVES(REDUCE_SUM, S(FLOAT32, 1, 1, 1), LIST(x), WITH(INTS("keepdims", 1)));
  GIVES(REDUCE_SUM, S(FLOAT32, 3), LIST(x), WITH(INTS("axes", -1, 0)));
  GIVES(REDUCE_MAX, S(FLOAT32, 2, 1, 4), LIST(x), WITH(INTS("axes", 1), INTS("keepdims", 1)));
  GIVES(REDUCE_SUM, S(INT8, 2), LIST(S(INT8, 2, 0)), WITH(INTS("axes", 1)));
  GIVES(REDUCE_MAX, S(FLOAT32, 0), LIST(S(FLOAT32, 0, 0)), WITH(INTS("axes", 1)));
  GIVES(REDUCE_SUM, R0(FLOAT32), LIST(R0(FLOAT32)), NO_ATTRIBUTES);
  GIVES(REDUCE_SUM, R0(INT64), LIST(S(INT64, 1, 2, 1, 2, 1, 2, 1, 2)),
        WITH(INTS("axes", 0, 1, 2, 3, 4, 5, 6, 7)));
  REFUSES(REDUCE_MAX, "no element to choose among none", LIST(S(FLOAT32, 2, 0)),
          WITH(INTS("axes", 1)));
  REFUSES(REDUCE_SUM, "names dimension 1 twice", LIST(x), WITH(INTS("axes", 1, -2)));
  REFUSES(REDUCE_SUM, "axes is 3;", LIST(x), WITH(INTS("axes", 0, 3)));
  REFUSES(REDUCE_SUM, "axes has 9 elements; expected at most 8", LIST(x),
          WITH(INTS("axes", 0, 0, 0, 0, 0, 0, 0, 0, 0)));
  REFUSES(REDUCE_SUM, "keepdims is 2; expected 0 to 1", LIST(x), WITH(INTS("keepdims", 2)));

  GIVES(ARGMAX, S(INT64, 2, 3), LIST(x), NO_ATTRIBUTES);
  GIVES(ARGMAX, S(INT64, 1, 3, 4), LIST(x), WITH(INTS("axis", 0), INTS("keepdims", 1)));
  GIVES(ARGMAX, S(INT64, 0), LIST(S(FLOAT32, 0, 0)), NO_ATTRIBUTES);
  REFUSES(ARGMAX, "no element to choose among none", LIST(S(FLOAT32, 2, 0)), NO_ATTRIBUTES);
  REFUSES(ARGMAX, "rank 0 and no dimension", LIST(R0(FLOAT32)), NO_ATTRIBUTES);
}

static void test_moves(void) {
  const wia_shape_t x = S(FLOAT8_E5M2, 2, 3);
  GIVES(BROADCAST, S(FLOAT8_E5M2, 4, 2, 3), LIST(x), WITH(INTS("shape", 4, 2, 3)));
  GIVES(BROADCAST, S(BOOL, 0), LIST(S(BOOL, 1)), WITH(INTS("shape", 0)));
  GIVES(BROADCAST, S(BOOL, 5), LIST(R0(BOOL)), WITH(INTS("shape", 5)));
  REFUSES(BROADCAST, "[2, 3] and can't be repeated to [2, 6]", LIST(x), WITH(INTS("shape", 2, 6)));
  REFUSES(BROADCAST, "can't be repeated to [4, 3]", LIST(x), WITH(INTS("shape", 4, 3)));
  REFUSES(BROADCAST, "can't be repeated to [3]", LIST(x), WITH(INTS("shape", 3)));
  REFUSES(BROADCAST, "no shape is given", LIST(x), NO_ATTRIBUTES);
  REFUSES(BROADCAST, "shape[0] is -1; expected 0 or more", LIST(x), WITH(INTS("shape", -1, 3)));
  /* The bits of a result can be counted in 63 bits. */
  GIVES(BROADCAST, S(INT8, INT64_MAX / 8), LIST(R0(INT8)), WITH(INTS("shape", INT64_MAX / 8)));
  REFUSES(BROADCAST, "overflows", LIST(R0(INT8)), WITH(INTS("shape", INT64_MAX / 8 + 1)));
  REFUSES(BROADCAST, "overflows", LIST(R0(INT64)), WITH(INTS("shape", INT64_MAX / 8, 2)));

  GIVES(TRANSPOSE, S(FLOAT8_E5M2, 3, 2), LIST(x), NO_ATTRIBUTES);
  GIVES(TRANSPOSE, S(INT32, 4, 2, 3), LIST(S(INT32, 2, 3, 4)), WITH(INTS("perm", 2, 0, 1)));
  GIVES(TRANSPOSE, R0(INT32), LIST(R0(INT32)), NO_ATTRIBUTES);
  REFUSES(TRANSPOSE, "perm has 1 elements, input rank 2", LIST(x), WITH(INTS("perm", 0)));
  REFUSES(TRANSPOSE, "perm[1] is 0; expected each of 0 to 1 exactly once", LIST(x),
          WITH(INTS("perm", 0, 0)));
  REFUSES(TRANSPOSE, "perm[0] is 2", LIST(x), WITH(INTS("perm", 2, 0)));
  REFUSES(TRANSPOSE, "perm[1] is -1; expected 0 to 7", LIST(x), WITH(INTS("perm", 0, -1)));

  GIVES(RESHAPE, S(FLOAT8_E5M2, 3, 1, 2), LIST(x), WITH(INTS("shape", 3, 1, 2)));
  GIVES(RESHAPE, S(FLOAT8_E5M2, 6), LIST(x), WITH(INTS("shape", -1)));
  GIVES(RESHAPE, S(FLOAT8_E5M2, 3, 2), LIST(x), WITH(INTS("shape", -1, 2)));
  GIVES(RESHAPE, S(INT8, 5, 0), LIST(S(INT8, 0, 3)), WITH(INTS("shape", 5, 0)));
  const wia_attribute_t none = {.name = "shape", .type = WIA_ATTRIBUTE_INT64};
  GIVES(RESHAPE, R0(INT8), LIST(S(INT8, 1, 1)), WITH(none));
  REFUSES(RESHAPE, "can't become [4]", LIST(x), WITH(INTS("shape", 4)));
  REFUSES(RESHAPE, "can't become [4, -1]", LIST(x), WITH(INTS("shape", 4, -1)));
  REFUSES(RESHAPE, "-1 more than once", LIST(x), WITH(INTS("shape", -1, -1)));
  REFUSES(RESHAPE, "can't become [0, -1]", LIST(S(INT8, 0, 3)), WITH(INTS("shape", 0, -1)));
  REFUSES(RESHAPE, "shape[0] is -2; expected -1 or more", LIST(x), WITH(INTS("shape", -2, 3)));
  REFUSES(RESHAPE, "no shape is given", LIST(x), NO_ATTRIBUTES);
  REFUSES(RESHAPE, "can't become", LIST(x), WITH(INTS("shape", INT64_MAX, INT64_MAX)));
  REFUSES(RESHAPE, "not defined for int4", LIST(S(INT4, 2)), WITH(INTS("shape", 2)));
}

static void test_max_pool2d(void) {
  const wia_shape_t x = S(FLOAT32, 2, 3, 7, 9);
  GIVES(MAX_POOL2D, S(FLOAT32, 2, 3, 3, 4), LIST(x), WITH(INTS("kernel", 2, 2)));
  GIVES(MAX_POOL2D, S(FLOAT32, 2, 3, 4, 5), LIST(x),
        WITH(INTS("kernel", 2, 2), INTS("ceil_mode", 1)));
  GIVES(MAX_POOL2D, S(FLOAT32, 2, 3, 5, 4), LIST(x),
        WITH(INTS("kernel", 3, 3), INTS("stride", 1, 2)));
  GIVES(MAX_POOL2D, S(FLOAT32, 2, 3, 3, 3), LIST(x),
        WITH(INTS("kernel", 3, 3), INTS("padding", 1, 0, 2, 1)));
  GIVES(MAX_POOL2D, S(FLOAT32, 2, 3, 1, 1), LIST(x),
        WITH(INTS("kernel", 3, 3), INTS("dilation", 3, 4), INTS("stride", 1, 1)));
  /* The second window would begin in the padding behind the input: it is left out. */
  GIVES(MAX_POOL2D, S(FLOAT32, 1, 1, 1, 1), LIST(S(FLOAT32, 1, 1, 2, 2)),
        WITH(INTS("kernel", 1, 1), INTS("stride", 2, 2), INTS("ceil_mode", 1)));
  GIVES(MAX_POOL2D, S(UINT8, 0, 3, 3, 4), LIST(S(UINT8, 0, 3, 7, 9)), WITH(INTS("kernel", 2, 2)));
  REFUSES(MAX_POOL2D, "it has no default", LIST(x), NO_ATTRIBUTES);
  REFUSES(MAX_POOL2D, "kernel[0] is 0", LIST(x), WITH(INTS("kernel", 0, 2)));
  REFUSES(MAX_POOL2D, "reaches over 10 elements of the width", LIST(x),
          WITH(INTS("kernel", 7, 10)));
  REFUSES(MAX_POOL2D, "expected less than the reach of the kernel, 2", LIST(x),
          WITH(INTS("kernel", 2, 2), INTS("padding", 0, 0, 2, 0)));
  REFUSES(MAX_POOL2D, "expected less than the reach of the kernel, 3", LIST(x),
          WITH(INTS("kernel", 2, 2), INTS("dilation", 2, 2), INTS("padding", 0, 3, 0, 0)));
  REFUSES(MAX_POOL2D, "expected rank 4", LIST(S(FLOAT32, 7, 9)), WITH(INTS("kernel", 2, 2)));
}

static void test_inputs(void) {
  wia_shape_t bad = S(FLOAT32, 2, -3);
  REFUSES(RELU, "-3", LIST(bad), NO_ATTRIBUTES);
  bad = (wia_shape_t){.dtype = WIA_FLOAT32, .rank = 9};
  REFUSES(RELU, "9", LIST(bad), NO_ATTRIBUTES);
  bad = (wia_shape_t){.dtype = 77, .rank = 1};
  REFUSES(RELU, "77", LIST(bad), NO_ATTRIBUTES);
}

int main(void) {
  test_elementwise();
  test_cast();
  test_norms();
  test_reductions();
  test_moves();
  test_max_pool2d();
  test_inputs();
  return CHECK_DONE();
}
