/* Rules of quantization: scales and zero points of a tensor, of each channel, of each block. */
#include "infer.h"

static const wia_shape_t one = {.dtype = WIA_FLOAT32};

static void test_quantize(void) {
  const wia_shape_t x = S(FLOAT32, 3, 33);
  GIVES(QUANTIZE, S(INT8, 3, 33), LIST(x, one), WITH(DTYPE(WIA_INT8)));
  GIVES(QUANTIZE, S(UINT8, 3, 33), LIST(x, one, R0(UINT8)), NO_ATTRIBUTES);
  GIVES(QUANTIZE, S(INT4, 3, 33), LIST(x, S(FLOAT32, 1), S(INT4, 1)), NO_ATTRIBUTES);
  GIVES(QUANTIZE, S(UINT16, 3, 33), LIST(x, S(FLOAT32, 33), S(UINT16, 33)), NO_ATTRIBUTES);
  GIVES(QUANTIZE, S(INT8, 3, 33), LIST(x, S(FLOAT32, 3), S(INT8, 3)), WITH(INTS("axis", -2)));
  GIVES(QUANTIZE, S(FLOAT4_E2M1FN, 2), LIST(S(FLOAT32, 2), one), WITH(DTYPE(WIA_FLOAT4_E2M1FN)));
  GIVES(QUANTIZE, R0(INT8), LIST(R0(FLOAT32), one, R0(INT8)), NO_ATTRIBUTES);
  GIVES(QUANTIZE, S(INT8, 2, 0), LIST(S(FLOAT32, 2, 0), one), WITH(DTYPE(WIA_INT8)));
  REFUSES(QUANTIZE, "scale has the shape [3]; expected one element, [] or [1], or [33]",
          LIST(x, S(FLOAT32, 3)), WITH(DTYPE(WIA_INT8)));
  REFUSES(QUANTIZE, "scale has the shape [3, 33]; expected one element", LIST(x, x),
          WITH(DTYPE(WIA_INT8)));
  REFUSES(QUANTIZE, "zero_point has the shape [1]; expected [33]",
          LIST(x, S(FLOAT32, 33), S(INT8, 1)), NO_ATTRIBUTES);
  REFUSES(QUANTIZE, "axis is 2; input has rank 2", LIST(x, S(FLOAT32, 33)),
          WITH(INTS("axis", 2), DTYPE(WIA_INT8)));
  REFUSES(QUANTIZE, "axis is 1, but input has rank 0", LIST(R0(FLOAT32), S(FLOAT32, 2)),
          WITH(DTYPE(WIA_INT8)));
  REFUSES(QUANTIZE, "no dtype is given; set the attribute dtype, or give an output", LIST(x, one),
          NO_ATTRIBUTES);
  REFUSES(QUANTIZE, "the result would be int32; expected an integer of 16 bits or fewer",
          LIST(x, one), WITH(DTYPE(WIA_INT32)));
  REFUSES(QUANTIZE, "the result would be float16", LIST(x, one), WITH(DTYPE(WIA_FLOAT16)));
}

static void test_blocks(void) {
  const wia_shape_t x = S(FLOAT32, 2, 9, 3), scale = S(FLOAT32, 2, 3, 3);
  const wia_attribute_t block = INTS("block_size", 4);
  GIVES(QUANTIZE, S(INT16, 2, 9, 3), LIST(x, scale), WITH(block, DTYPE(WIA_INT16)));
  GIVES(QUANTIZE, S(INT8, 2, 9, 3), LIST(x, scale, S(INT8, 2, 3, 3)), &block, 1);
  GIVES(QUANTIZE, S(INT8, 2, 8, 3), LIST(S(FLOAT32, 2, 8, 3), S(FLOAT32, 2, 2, 3)),
        WITH(block, DTYPE(WIA_INT8)));
  GIVES(QUANTIZE, S(INT8, 2, 0, 3), LIST(S(FLOAT32, 2, 0, 3), S(FLOAT32, 2, 0, 3)),
        WITH(block, DTYPE(WIA_INT8)));
  GIVES(DEQUANTIZE, x, LIST(S(INT8, 2, 9, 3), scale), &block, 1);
  REFUSES(QUANTIZE, "scale has the shape [2, 9, 3]; expected [2, 3, 3]", LIST(x, x),
          WITH(block, DTYPE(WIA_INT8)));
  REFUSES(QUANTIZE, "scale has the shape []; expected [2, 3, 3]", LIST(x, one),
          WITH(block, DTYPE(WIA_INT8)));
  REFUSES(QUANTIZE, "zero_point has the shape [3]; expected [2, 3, 3]", LIST(x, scale, S(INT8, 3)),
          &block, 1);
  REFUSES(QUANTIZE, "axis is 3; input has rank 3", LIST(x, scale),
          WITH(block, INTS("axis", 3), DTYPE(WIA_INT8)));
  REFUSES(QUANTIZE, "axis is 1, but input has rank 0", LIST(one, one),
          WITH(block, DTYPE(WIA_INT8)));
}

static void test_dequantize(void) {
  const wia_shape_t x = S(INT8, 3, 33);
  GIVES(DEQUANTIZE, S(FLOAT16, 3, 33), LIST(x, R0(FLOAT16)), NO_ATTRIBUTES);
  GIVES(DEQUANTIZE, S(FLOAT32, 3, 33), LIST(x, S(FLOAT32, 33), S(INT8, 33)), NO_ATTRIBUTES);
  GIVES(DEQUANTIZE, S(FLOAT64, 3, 33), LIST(S(INT32, 3, 33), R0(FLOAT64), R0(INT32)),
        NO_ATTRIBUTES);
  REFUSES(DEQUANTIZE, "zero_point has dtype uint8; expected int8, that of input",
          LIST(x, one, R0(UINT8)), NO_ATTRIBUTES);
  REFUSES(DEQUANTIZE, "scale has the shape [3]; expected one element", LIST(x, S(FLOAT32, 3)),
          NO_ATTRIBUTES);
  REFUSES(DEQUANTIZE, "whose size in bytes overflows", LIST(S(INT8, INT64_MAX), one),
          NO_ATTRIBUTES);
}

static void test_dynamic_quantize(void) {
  const wia_shape_t x = S(FLOAT32, 3, 33);
  wia_shape_t shapes[3] = {{.rank = 99}};
  CHECK_STATUS(wia_infer_outputs(WIA_OP_DYNAMIC_QUANTIZE, &x, 1, NULL, 0, shapes, 3),
               WIA_STATUS_OK);
  CHECK(shapes[0].dtype == WIA_UINT8 && shapes[0].rank == 2);
  CHECK(shapes[0].shape[0] == 3 && shapes[0].shape[1] == 33);
  CHECK(shapes[1].dtype == WIA_FLOAT32 && shapes[1].rank == 0);
  CHECK(shapes[2].dtype == WIA_UINT8 && shapes[2].rank == 0);
  GIVES(DYNAMIC_QUANTIZE, R0(UINT8), LIST(one), NO_ATTRIBUTES);
  REFUSES(DYNAMIC_QUANTIZE, "float64", LIST(R0(FLOAT64)), NO_ATTRIBUTES);
}

static void test_fake_quantize(void) {
  const wia_shape_t x = S(FLOAT32, 3, 33);
  GIVES(FAKE_QUANTIZE, x, LIST(x, one), NO_ATTRIBUTES);
  GIVES(FAKE_QUANTIZE, x, LIST(x, S(FLOAT32, 33), S(INT32, 33)),
        WITH(INTS("quant_min", 7), INTS("quant_max", 7)));
  REFUSES(FAKE_QUANTIZE, "quant_min is 8 and quant_max 7; expected the least first", LIST(x, one),
          WITH(INTS("quant_min", 8), INTS("quant_max", 7)));
  REFUSES(FAKE_QUANTIZE, "scale has the shape [3]; expected one element, [] or [1], or [33]",
          LIST(x, S(FLOAT32, 3)), NO_ATTRIBUTES);
  REFUSES(FAKE_QUANTIZE, "zero_point has the shape []; expected [33]",
          LIST(x, S(FLOAT32, 33), R0(INT32)), NO_ATTRIBUTES);
}

int main(void) {
  test_quantize();
  test_blocks();
  test_dequantize();
  test_dynamic_quantize();
  test_fake_quantize();
  return CHECK_DONE();
}
