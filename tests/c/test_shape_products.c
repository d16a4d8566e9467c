/* Rules of matmul, addmm, linear and conv2d. */
#include "infer.h"

static void test_matmul(void) {
  GIVES(MATMUL, S(FLOAT32, 2, 4), LIST(S(FLOAT32, 2, 3), S(FLOAT32, 3, 4)), NO_ATTRIBUTES);
  GIVES(MATMUL, S(FLOAT32, 3, 4), LIST(S(FLOAT32, 2, 3), S(FLOAT32, 2, 4)),
        WITH(INTS("transpose_a", 1)));
  GIVES(MATMUL, S(FLOAT32, 2, 4), LIST(S(FLOAT32, 2, 3), S(FLOAT32, 4, 3)),
        WITH(INTS("transpose_b", 1)));
  GIVES(MATMUL, R0(FLOAT64), LIST(S(FLOAT64, 3), S(FLOAT64, 3)), NO_ATTRIBUTES);
  GIVES(MATMUL, S(FLOAT16, 2, 4), LIST(S(FLOAT16, 3), S(FLOAT16, 2, 3, 4)), NO_ATTRIBUTES);
  GIVES(MATMUL, S(FLOAT16, 2, 4), LIST(S(FLOAT16, 2, 4, 3), S(FLOAT16, 3)), NO_ATTRIBUTES);
  GIVES(MATMUL, S(BFLOAT16, 5, 7, 4, 2), LIST(S(BFLOAT16, 7, 4, 3), S(BFLOAT16, 5, 1, 3, 2)),
        NO_ATTRIBUTES);
  GIVES(MATMUL, S(FLOAT32, 0, 2), LIST(S(FLOAT32, 0, 3), S(FLOAT32, 3, 2)), NO_ATTRIBUTES);
  GIVES(MATMUL, S(FLOAT32, 3, 2), LIST(S(FLOAT32, 3, 0), S(FLOAT32, 0, 2)), NO_ATTRIBUTES);
  GIVES(MATMUL, S(INT32, 2, 2), LIST(S(INT8, 2, 3), S(INT8, 3, 2)), NO_ATTRIBUTES);
  GIVES(MATMUL, S(INT32, 2, 2), LIST(S(UINT8, 2, 3), S(UINT8, 3, 2)), NO_ATTRIBUTES);
  GIVES(MATMUL, S(INT64, 2, 2), LIST(S(INT64, 2, 3), S(INT64, 3, 2)), NO_ATTRIBUTES);

  REFUSES(MATMUL, "a has the shape [2, 3] and b the shape [4, 5]",
          LIST(S(FLOAT32, 2, 3), S(FLOAT32, 4, 5)), NO_ATTRIBUTES);
  REFUSES(MATMUL, "don't broadcast", LIST(S(FLOAT32, 2, 4, 3), S(FLOAT32, 5, 3, 2)), NO_ATTRIBUTES);
  REFUSES(MATMUL, "of rank 0", LIST(R0(FLOAT32), S(FLOAT32, 3)), NO_ATTRIBUTES);
  REFUSES(MATMUL, "b has the shape [], of rank 0", LIST(S(FLOAT32, 3), R0(FLOAT32)), NO_ATTRIBUTES);
  REFUSES(MATMUL, "transpose_a is set, but a has rank 1", LIST(S(FLOAT32, 3), S(FLOAT32, 3)),
          WITH(INTS("transpose_a", 1)));
  REFUSES(MATMUL, "transpose_b is set, but b has rank 1", LIST(S(FLOAT32, 2, 3), S(FLOAT32, 3)),
          WITH(INTS("transpose_b", 1)));
  REFUSES(MATMUL, "float64", LIST(S(FLOAT32, 2, 3), S(FLOAT64, 3, 4)), NO_ATTRIBUTES);
  REFUSES(MATMUL, "not defined for bool", LIST(S(BOOL, 2, 3), S(BOOL, 3, 4)), NO_ATTRIBUTES);
  REFUSES(MATMUL, "1 inputs", LIST(S(FLOAT32, 2, 3)), NO_ATTRIBUTES);
  REFUSES(MATMUL, "b can't be left out", LIST(S(FLOAT32, 2, 3), ABSENT), NO_ATTRIBUTES);
}

static void test_addmm(void) {
  GIVES(ADDMM, S(FLOAT32, 2, 4), LIST(S(FLOAT32, 2, 4), S(FLOAT32, 2, 3), S(FLOAT32, 3, 4)),
        NO_ATTRIBUTES);
  GIVES(ADDMM, S(FLOAT32, 2, 4), LIST(S(FLOAT32, 4), S(FLOAT32, 2, 3), S(FLOAT32, 3, 4)),
        NO_ATTRIBUTES);
  GIVES(ADDMM, S(FLOAT32, 2, 4), LIST(S(FLOAT32, 2, 1), S(FLOAT32, 2, 3), S(FLOAT32, 3, 4)),
        NO_ATTRIBUTES);
  GIVES(ADDMM, S(FLOAT32, 2, 4), LIST(R0(FLOAT32), S(FLOAT32, 2, 3), S(FLOAT32, 3, 4)),
        NO_ATTRIBUTES);
  REFUSES(ADDMM, "broadcasts to [2, 4]", LIST(S(FLOAT32, 3), S(FLOAT32, 2, 3), S(FLOAT32, 3, 4)),
          NO_ATTRIBUTES);
  REFUSES(ADDMM, "broadcasts to [2, 4]",
          LIST(S(FLOAT32, 1, 2, 4), S(FLOAT32, 2, 3), S(FLOAT32, 3, 4)), NO_ATTRIBUTES);
  REFUSES(ADDMM, "have sizes 3 and 2", LIST(S(FLOAT32, 4), S(FLOAT32, 2, 3), S(FLOAT32, 2, 4)),
          NO_ATTRIBUTES);
  REFUSES(ADDMM, "mat1 has the shape [3], of rank 1; expected rank 2",
          LIST(S(FLOAT32, 4), S(FLOAT32, 3), S(FLOAT32, 3, 4)), NO_ATTRIBUTES);
}

static void test_linear(void) {
  GIVES(LINEAR, S(FLOAT32, 5, 2, 4), LIST(S(FLOAT32, 5, 2, 3), S(FLOAT32, 4, 3)), NO_ATTRIBUTES);
  GIVES(LINEAR, S(FLOAT32, 4), LIST(S(FLOAT32, 3), S(FLOAT32, 4, 3), S(FLOAT32, 4)), NO_ATTRIBUTES);
  GIVES(LINEAR, S(FLOAT32, 4), LIST(S(FLOAT32, 3), S(FLOAT32, 4, 3), ABSENT), NO_ATTRIBUTES);
  GIVES(LINEAR, S(INT32, 2, 4), LIST(S(INT8, 2, 3), S(INT8, 4, 3), S(INT32, 4)), NO_ATTRIBUTES);
  REFUSES(LINEAR, "bias has dtype int8; expected int32",
          LIST(S(INT8, 2, 3), S(INT8, 4, 3), S(INT8, 4)), NO_ATTRIBUTES);
  REFUSES(LINEAR, "weight has dtype int8; expected float32", LIST(S(FLOAT32, 3), S(INT8, 4, 3)),
          NO_ATTRIBUTES);
  REFUSES(LINEAR, "input has the shape [], of rank 0", LIST(R0(FLOAT32), S(FLOAT32, 4, 3)),
          NO_ATTRIBUTES);
  REFUSES(LINEAR, "weight has the shape [3], of rank 1", LIST(S(FLOAT32, 3), S(FLOAT32, 3)),
          NO_ATTRIBUTES);
  REFUSES(LINEAR, "(weight is [out, in])", LIST(S(FLOAT32, 3), S(FLOAT32, 3, 4)), NO_ATTRIBUTES);
  REFUSES(LINEAR, "bias has the shape [3]; expected [4]",
          LIST(S(FLOAT32, 3), S(FLOAT32, 4, 3), S(FLOAT32, 3)), NO_ATTRIBUTES);
}

static void test_conv2d(void) {
  const wia_shape_t image = S(FLOAT32, 2, 4, 9, 7), weight = S(FLOAT32, 6, 4, 3, 3);
  GIVES(CONV2D, S(FLOAT32, 2, 6, 7, 5), LIST(image, weight), NO_ATTRIBUTES);
  GIVES(CONV2D, S(FLOAT32, 2, 6, 7, 5), LIST(image, weight, S(FLOAT32, 6)), NO_ATTRIBUTES);
  GIVES(CONV2D, S(FLOAT32, 2, 6, 4, 2), LIST(image, weight), WITH(INTS("stride", 2, 3)));
  GIVES(CONV2D, S(FLOAT32, 2, 6, 11, 11), LIST(image, weight), WITH(INTS("padding", 1, 2, 3, 4)));
  GIVES(CONV2D, S(FLOAT32, 2, 6, 5, 1), LIST(image, weight), WITH(INTS("dilation", 2, 3)));
  GIVES(CONV2D, S(FLOAT32, 2, 6, 7, 5), LIST(image, S(FLOAT32, 6, 2, 3, 3)),
        WITH(INTS("groups", 2)));
  GIVES(CONV2D, S(FLOAT32, 0, 6, 7, 5), LIST(S(FLOAT32, 0, 4, 9, 7), weight), NO_ATTRIBUTES);
  GIVES(CONV2D, S(INT32, 2, 6, 7, 5), LIST(S(INT8, 2, 4, 9, 7), S(INT8, 6, 4, 3, 3), S(INT32, 6)),
        NO_ATTRIBUTES);
  GIVES(CONV2D, S(FLOAT32, 2, 6, 7, 5), LIST(image, weight), WITH(INTS("algorithm", 2)));

  REFUSES(CONV2D, "only 2 with padding 0 and 0", LIST(S(FLOAT32, 1, 4, 2, 7), weight),
          NO_ATTRIBUTES);
  REFUSES(CONV2D, "groups is 3", LIST(image, weight, S(FLOAT32, 6)), WITH(INTS("groups", 3)));
  REFUSES(CONV2D, "groups is 3", LIST(image, weight), WITH(INTS("groups", 3)));
  REFUSES(CONV2D, "weight takes 4 channels (its dimension 1); expected 2", LIST(image, weight),
          WITH(INTS("groups", 2)));
  REFUSES(CONV2D, "expected rank 4", LIST(S(FLOAT32, 4, 9, 7), weight), NO_ATTRIBUTES);
  REFUSES(CONV2D, "the height of the kernel is 0; expected 1 or more",
          LIST(image, S(FLOAT32, 6, 4, 0, 3)), NO_ATTRIBUTES);
  REFUSES(CONV2D, "bias has the shape [4]; expected [6]", LIST(image, weight, S(FLOAT32, 4)),
          NO_ATTRIBUTES);
  REFUSES(CONV2D, "stride[1] is 0; expected 1 to", LIST(image, weight), WITH(INTS("stride", 1, 0)));
  REFUSES(CONV2D, "padding[2] is -1", LIST(image, weight), WITH(INTS("padding", 0, 0, -1, 0)));
  REFUSES(CONV2D, "stride has 1 elements; expected 2", LIST(image, weight),
          WITH(INTS("stride", 2)));
  REFUSES(CONV2D, "algorithm is 4; expected 0 to 3", LIST(image, weight),
          WITH(INTS("algorithm", 4)));
  REFUSES(CONV2D, "too large", LIST(S(FLOAT32, 1, 4, INT64_MAX, 7), weight), NO_ATTRIBUTES);
  REFUSES(CONV2D, "conv2d has no attribute fusion", LIST(image, weight), WITH(INTS("fusion", 1)));
}

static void test_overflow(void) {
  REFUSES(MATMUL, "overflows", LIST(S(FLOAT32, INT64_MAX / 4, 1), S(FLOAT32, 1, 8)), NO_ATTRIBUTES);
  REFUSES(MATMUL, "overflows", LIST(S(INT8, INT64_MAX / 3, 1), S(INT8, 1, 1)), NO_ATTRIBUTES);
  GIVES(MATMUL, S(FLOAT32, INT64_MAX / 16, 0),
        LIST(S(FLOAT32, INT64_MAX / 16, 1), S(FLOAT32, 1, 0)), NO_ATTRIBUTES);
}

int main(void) {
  test_matmul();
  test_addmm();
  test_linear();
  test_conv2d();
  test_overflow();
  return CHECK_DONE();
}
