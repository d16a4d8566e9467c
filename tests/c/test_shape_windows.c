/* Rules of windows over images of one to three dimensions, of unfolding and of normalisation. */
#include "infer.h"

#define LINE S(FLOAT32, 2, 4, 9)
#define IMAGE S(FLOAT32, 2, 4, 9, 7)
#define VOLUME S(FLOAT32, 2, 4, 5, 9, 7)

static void test_conv(void) {
  GIVES(CONV, S(FLOAT32, 2, 6, 7), LIST(LINE, S(FLOAT32, 6, 4, 3)), NO_ATTRIBUTES);
  GIVES(CONV, S(FLOAT32, 2, 6, 5, 4), LIST(IMAGE, S(FLOAT32, 6, 4, 3, 3), S(FLOAT32, 6)),
        WITH(INTS("stride", 2), INTS("padding", 1)));
  GIVES(CONV, S(FLOAT32, 2, 6, 4, 5, 2), LIST(VOLUME, S(FLOAT32, 6, 2, 2, 3, 2)),
        WITH(INTS("groups", 2), INTS("stride", 1, 1, 3), INTS("dilation", 1, 2, 2)));
  GIVES(CONV, S(FLOAT32, 2, 6, 10), LIST(LINE, S(FLOAT32, 6, 4, 3)), WITH(INTS("padding", 1, 2)));
  REFUSES(CONV, "stride has 2 elements; expected 3, or one for all",
          LIST(VOLUME, S(FLOAT32, 6, 4, 1, 1, 1)), WITH(INTS("stride", 1, 2)));
  REFUSES(CONV, "padding has 2 elements; expected 4", LIST(IMAGE, S(FLOAT32, 6, 4, 1, 1)),
          WITH(INTS("padding", 1, 2)));
  REFUSES(CONV, "expected rank 3 to 5", LIST(S(FLOAT32, 2, 4), S(FLOAT32, 6, 4)), NO_ATTRIBUTES);
  REFUSES(CONV, "weight has the shape [6, 4, 3], of rank 3", LIST(IMAGE, S(FLOAT32, 6, 4, 3)),
          NO_ATTRIBUTES);
  REFUSES(CONV, "the length of the kernel is 0", LIST(LINE, S(FLOAT32, 6, 4, 0)), NO_ATTRIBUTES);
  REFUSES(CONV, "reaches over 6 elements of the depth", LIST(VOLUME, S(FLOAT32, 6, 4, 6, 1, 1)),
          NO_ATTRIBUTES);
  REFUSES(CONV, "dilation[0] is 0", LIST(LINE, S(FLOAT32, 6, 4, 1)), WITH(INTS("dilation", 0)));
}

static void test_transposed(void) {
  GIVES(CONV_TRANSPOSE, S(FLOAT32, 2, 6, 20), LIST(LINE, S(FLOAT32, 4, 6, 4)),
        WITH(INTS("stride", 2)));
  GIVES(CONV_TRANSPOSE, S(FLOAT32, 2, 6, 19), LIST(LINE, S(FLOAT32, 4, 3, 4), S(FLOAT32, 6)),
        WITH(INTS("stride", 2), INTS("groups", 2), INTS("padding", 1), INTS("output_padding", 1)));
  REFUSES(CONV_TRANSPOSE, "weight takes 3 (its dimension 0)", LIST(LINE, S(FLOAT32, 3, 6, 4)),
          NO_ATTRIBUTES);
  REFUSES(CONV_TRANSPOSE, "groups is 3", LIST(LINE, S(FLOAT32, 4, 6, 4)), WITH(INTS("groups", 3)));
  REFUSES(CONV_TRANSPOSE, "from which -1 would be left", LIST(LINE, S(FLOAT32, 4, 6, 1)),
          WITH(INTS("padding", 5)));
  REFUSES(CONV_TRANSPOSE, "expected 1 or more of both",
          LIST(S(FLOAT32, 2, 4, 0), S(FLOAT32, 4, 6, 9)), NO_ATTRIBUTES);
  REFUSES(CONV_TRANSPOSE, "larger than 63 bits",
          LIST(S(FLOAT32, 1, 4, INT64_C(1) << 60), S(FLOAT32, 4, 6, 1)), WITH(INTS("stride", 99)));
  REFUSES(CONV_TRANSPOSE, "bias has the shape [6]; expected [12]",
          LIST(LINE, S(FLOAT32, 4, 6, 1), S(FLOAT32, 6)), WITH(INTS("groups", 2)));
}

static void test_integers(void) {
  const wia_shape_t x = S(UINT8, 2, 4, 9), w = S(INT8, 6, 4, 3), one = S(FLOAT32, 1);
  GIVES(CONV_INTEGER, S(INT32, 2, 6, 7), LIST(x, w), NO_ATTRIBUTES);
  GIVES(CONV_INTEGER, S(INT32, 2, 6, 7), LIST(x, w, R0(UINT8), S(INT8, 6)), NO_ATTRIBUTES);
  REFUSES(CONV_INTEGER, "input_zero has the shape [6]; expected one element",
          LIST(x, w, S(UINT8, 6)), NO_ATTRIBUTES);
  REFUSES(CONV_INTEGER, "expected one element, [] or [1], or [6]", LIST(x, w, ABSENT, S(INT8, 4)),
          NO_ATTRIBUTES);
  REFUSES(CONV_INTEGER, "weight_zero has dtype uint8; expected int8, that of weight",
          LIST(x, w, ABSENT, R0(UINT8)), NO_ATTRIBUTES);
  GIVES(QLINEAR_CONV, S(INT8, 2, 6, 7),
        LIST(x, one, R0(UINT8), w, S(FLOAT32, 6), S(INT8, 6), one, S(INT8, 1), S(INT32, 6)),
        NO_ATTRIBUTES);
  REFUSES(QLINEAR_CONV, "output_scale has the shape [6]",
          LIST(x, one, R0(UINT8), w, one, S(INT8, 6), S(FLOAT32, 6), S(INT8, 1)), NO_ATTRIBUTES);
  GIVES(MATMUL_INTEGER, S(INT32, 2, 3, 5),
        LIST(S(INT8, 2, 3, 4), S(UINT8, 4, 5), S(INT8, 3), S(UINT8, 5)), NO_ATTRIBUTES);
  REFUSES(MATMUL_INTEGER, "or [3]", LIST(S(INT8, 3, 4), S(INT8, 4, 5), S(INT8, 5)), NO_ATTRIBUTES);
  REFUSES(MATMUL_INTEGER, "sizes 4 and 3", LIST(S(INT8, 3, 4), S(INT8, 3, 5)), NO_ATTRIBUTES);
  GIVES(QLINEAR_MATMUL, S(UINT8, 3, 5),
        LIST(S(INT8, 3, 4), R0(FLOAT16), R0(INT8), S(INT8, 4, 5), S(FLOAT32, 5), S(INT8, 5),
             S(FLOAT32, 1), S(UINT8, 1)),
        NO_ATTRIBUTES);
}

static void test_gemm(void) {
  const wia_shape_t a = S(FLOAT32, 2, 3), b = S(FLOAT32, 3, 4);
  GIVES(GEMM, S(FLOAT32, 2, 4), LIST(a, b), NO_ATTRIBUTES);
  GIVES(GEMM, S(FLOAT32, 3, 5), LIST(a, S(FLOAT32, 5, 2), S(FLOAT32, 3, 1)),
        WITH(INTS("transpose_a", 1), INTS("transpose_b", 1)));
  REFUSES(GEMM, "c has the shape [2]; expected one that broadcasts to [2, 4]",
          LIST(a, b, S(FLOAT32, 2)), NO_ATTRIBUTES);
  REFUSES(GEMM, "sizes 2 and 3", LIST(a, b), WITH(INTS("transpose_a", 1)));
  REFUSES(GEMM, "expected rank 2", LIST(S(FLOAT32, 3), b), NO_ATTRIBUTES);
}

/* A text as the list of its codes. */
static wia_attribute_t codes(const char *text, int64_t *place) {
  uint32_t count = 0;
  for (; text[count]; count++) place[count] = text[count];
  return (wia_attribute_t){
      .name = "equation", .data = place, .type = WIA_ATTRIBUTE_INT64, .count = count};
}
#define EQUATION(text) WITH(codes(text, (int64_t[39]){0}))

static void test_einsum(void) {
  const wia_shape_t a = S(FLOAT32, 2, 3), b = S(FLOAT32, 3, 4);
  GIVES(EINSUM, S(FLOAT32, 4, 2), LIST(a, b), EQUATION("ij, jk -> ki"));
  GIVES(EINSUM, S(FLOAT32, 2, 4), LIST(a, b), EQUATION("zj,ja->z a"));
  GIVES(EINSUM, R0(FLOAT32), LIST(S(FLOAT32, 3, 3)), EQUATION("ii"));
  GIVES(EINSUM, S(FLOAT32, 5, 2, 4), LIST(S(FLOAT32, 5, 1, 2, 3), b), EQUATION("...hij,jk->...ik"));
  REFUSES(EINSUM, "its term of \"\" 0 labels", LIST(a, b), NO_ATTRIBUTES);
  REFUSES(EINSUM, "fewer terms than there are inputs", LIST(a, b), EQUATION("ij"));
  REFUSES(EINSUM, "more terms than there are inputs", LIST(a), EQUATION("ij,jk"));
  REFUSES(EINSUM, "a character that means nothing there", LIST(a), EQUATION("i1"));
  REFUSES(EINSUM, "a character that means nothing there", LIST(a), EQUATION("i......"));
  REFUSES(EINSUM, "the label j has the size 4 in inputs[1] and 3 before", LIST(a, S(FLOAT32, 4)),
          EQUATION("ij,j"));
  REFUSES(EINSUM, "its term of \"i\" 1 labels", LIST(a), EQUATION("i"));
  REFUSES(EINSUM, "has a label in its result only", LIST(a), EQUATION("ij->k"));
  REFUSES(EINSUM, "has a label twice in its result", LIST(a), EQUATION("ij->ii"));
  REFUSES(EINSUM, "goes on behind its result", LIST(a), EQUATION("ij->i,j"));
  REFUSES(EINSUM, "has no ... in its result", LIST(a), EQUATION("...j->j"));
  REFUSES(EINSUM, "equation[0] is 128; expected 0 to 127", LIST(a), WITH(INTS("equation", 128)));
}

static void test_deformable(void) {
  const wia_shape_t weight = S(FLOAT32, 6, 4, 3, 3);
  GIVES(DEFORM_CONV, S(FLOAT32, 2, 6, 7, 5), LIST(IMAGE, weight, S(FLOAT32, 2, 18, 7, 5)),
        NO_ATTRIBUTES);
  GIVES(DEFORM_CONV, S(FLOAT32, 2, 6, 7, 5),
        LIST(IMAGE, weight, S(FLOAT32, 2, 36, 7, 5), S(FLOAT32, 6), S(FLOAT32, 2, 18, 7, 5)),
        WITH(INTS("offset_groups", 2)));
  REFUSES(DEFORM_CONV, "offset has the shape [2, 9, 7, 5]; expected [2, 18, 7, 5]",
          LIST(IMAGE, weight, S(FLOAT32, 2, 9, 7, 5)), NO_ATTRIBUTES);
  REFUSES(DEFORM_CONV, "offset_groups is 3", LIST(IMAGE, weight, S(FLOAT32, 2, 54, 7, 5)),
          WITH(INTS("offset_groups", 3)));
}

static void test_pools(void) {
  GIVES(MAX_POOL, S(FLOAT32, 2, 4, 4), LIST(LINE), WITH(INTS("kernel", 2)));
  GIVES(MAX_POOL, S(FLOAT32, 2, 4, 2, 3, 3), LIST(VOLUME),
        WITH(INTS("kernel", 2, 3, 3), INTS("stride", 2, 3, 2)));
  GIVES(AVG_POOL, S(FLOAT32, 2, 4, 5, 4), LIST(IMAGE),
        WITH(INTS("kernel", 2), INTS("ceil_mode", 1)));
  REFUSES(LP_POOL, "kernel is 0 in dimension 0; it has no default", LIST(LINE), NO_ATTRIBUTES);
  REFUSES(MAX_POOL, "kernel has 2 elements; expected 1", LIST(LINE), WITH(INTS("kernel", 2, 2)));
  REFUSES(MAX_POOL, "less than the reach of the kernel, 2", LIST(LINE),
          WITH(INTS("kernel", 2), INTS("padding", 2)));
  GIVES(GLOBAL_AVG_POOL, S(FLOAT32, 2, 4, 1, 1, 1), LIST(VOLUME), NO_ATTRIBUTES);
  REFUSES(GLOBAL_MAX_POOL, "no largest element among none", LIST(S(FLOAT32, 2, 4, 0)),
          NO_ATTRIBUTES);
  GIVES(GLOBAL_MAX_POOL, S(FLOAT32, 0, 4, 1), LIST(S(FLOAT32, 0, 4, 0)), NO_ATTRIBUTES);
  GIVES(ADAPTIVE_AVG_POOL, S(FLOAT32, 2, 4, 3, 3), LIST(IMAGE), WITH(INTS("size", 3)));
  REFUSES(ADAPTIVE_MAX_POOL, "size is not given", LIST(IMAGE), NO_ATTRIBUTES);
  REFUSES(ADAPTIVE_MAX_POOL, "size has 3 elements; expected 2", LIST(IMAGE),
          WITH(INTS("size", 1, 2, 3)));
  REFUSES(ADAPTIVE_AVG_POOL, "whose parts are empty", LIST(S(FLOAT32, 1, 1, 0)),
          WITH(INTS("size", 1)));
  const wia_shape_t indices = S(INT64, 2, 4, 9);
  GIVES(MAX_UNPOOL, S(FLOAT32, 2, 4, 18), LIST(LINE, indices), WITH(INTS("kernel", 2)));
  GIVES(MAX_UNPOOL, S(FLOAT32, 2, 4, 20), LIST(LINE, indices),
        WITH(INTS("kernel", 2), INTS("size", 20)));
  REFUSES(MAX_UNPOOL, "is to be 17; expected 18 or more", LIST(LINE, indices),
          WITH(INTS("kernel", 2), INTS("size", 17)));
  REFUSES(MAX_UNPOOL, "no size of 1 or more", LIST(S(FLOAT32, 1, 1, 1), S(INT64, 1, 1, 1)),
          WITH(INTS("kernel", 2), INTS("padding", 1)));
  REFUSES(MAX_UNPOOL, "indices has the shape [2, 4, 8]; expected [2, 4, 9]",
          LIST(LINE, S(INT64, 2, 4, 8)), WITH(INTS("kernel", 2)));
}

static void test_unfold(void) {
  GIVES(IM2COL, S(FLOAT32, 2, 24, 40), LIST(IMAGE), WITH(INTS("kernel", 2, 3)));
  GIVES(COL2IM, S(FLOAT32, 2, 4, 9, 7), LIST(S(FLOAT32, 2, 24, 40)),
        WITH(INTS("kernel", 2, 3), INTS("image", 9, 7)));
  REFUSES(COL2IM, "image is not given", LIST(S(FLOAT32, 2, 24, 40)), WITH(INTS("kernel", 2)));
  REFUSES(COL2IM, "as it has places, 40", LIST(S(FLOAT32, 2, 24, 41)),
          WITH(INTS("kernel", 2, 3), INTS("image", 9, 7)));
  REFUSES(COL2IM, "a multiple of the 6 elements", LIST(S(FLOAT32, 2, 23, 40)),
          WITH(INTS("kernel", 2, 3), INTS("image", 9, 7)));
  REFUSES(IM2COL, "more than 63 bits", LIST(S(INT8, 1, INT64_MAX, 5)), WITH(INTS("kernel", 2)));
}

static void test_norms(void) {
  const wia_shape_t each = S(FLOAT32, 4);
  GIVES(GROUP_NORM, IMAGE, LIST(IMAGE, each, each), WITH(INTS("groups", 2)));
  REFUSES(GROUP_NORM, "groups is 3 and input has 4 channels", LIST(IMAGE), WITH(INTS("groups", 3)));
  REFUSES(INSTANCE_NORM, "weight has the shape [7]; expected [4]", LIST(IMAGE, S(FLOAT32, 7)),
          NO_ATTRIBUTES);
  GIVES(BATCH_NORM_TRAINING, IMAGE, LIST(IMAGE, each, each), NO_ATTRIBUTES);
  REFUSES(BATCH_NORM_TRAINING, "no mean of no elements", LIST(S(FLOAT32, 0, 4), each, each),
          NO_ATTRIBUTES);
  REFUSES(LAYER_NORM_WITH_STATS, "no mean of no elements", LIST(S(FLOAT32, 3, 0)), NO_ATTRIBUTES);
  GIVES(LAYER_NORM_WITH_STATS, S(FLOAT32, 0, 0), LIST(S(FLOAT32, 0, 0)), NO_ATTRIBUTES);
  REFUSES(MEAN_VARIANCE_NORM, "axes is 3", LIST(LINE), NO_ATTRIBUTES);
  REFUSES(MEAN_VARIANCE_NORM, "names dimension 2 twice", LIST(LINE), WITH(INTS("axes", 2, -1)));
  REFUSES(LRN, "expected rank 2 or more", LIST(each), NO_ATTRIBUTES);
  REFUSES(MASKED_FILL, "mask has the shape [9]; expected one that broadcasts to [4]",
          LIST(each, S(BOOL, 9)), NO_ATTRIBUTES);
  REFUSES(MASKED_SOFTMAX, "axis is 1", LIST(each, R0(BOOL)), WITH(INTS("axis", 1)));
}

int main(void) {
  test_conv();
  test_transposed();
  test_integers();
  test_gemm();
  test_einsum();
  test_deformable();
  test_pools();
  test_unfold();
  test_norms();
  return CHECK_DONE();
}
