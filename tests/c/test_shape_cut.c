/* Rules of operations that join, cut, pick, pad, compare, choose or go by element; calls with a list. */
#include "infer.h"
#include "sample.h"

static void test_choices(void) {
  GIVES(LESS, S(BOOL, 2, 3), LIST(S(FLOAT32, 2, 1), S(FLOAT32, 3)), NO_ATTRIBUTES);
  GIVES(EQUAL, R0(BOOL), LIST(R0(BOOL), R0(BOOL)), NO_ATTRIBUTES);
  REFUSES(LESS, "not defined for bool", LIST(R0(BOOL), R0(BOOL)), NO_ATTRIBUTES);
  REFUSES(GREATER, "dtypes must be equal", LIST(S(INT8, 2), S(INT16, 2)), NO_ATTRIBUTES);
  REFUSES(NOT_EQUAL, "a has the shape [2] and b the shape [3], which don't broadcast",
          LIST(S(INT8, 2), S(INT8, 3)), NO_ATTRIBUTES);

  const wia_shape_t condition = S(BOOL, 4, 1), a = S(COMPLEX64, 3), b = S(COMPLEX64, 2, 1, 1);
  GIVES(WHERE, S(COMPLEX64, 2, 4, 3), LIST(condition, a, b), NO_ATTRIBUTES);
  REFUSES(WHERE, "condition has dtype complex64; expected one of bool", LIST(a, a, a),
          NO_ATTRIBUTES);
  REFUSES(WHERE, "where: a is complex64 and b is float32; dtypes must be equal",
          LIST(condition, a, S(FLOAT32, 3)), NO_ATTRIBUTES);
  REFUSES(WHERE, "not defined for int4", LIST(condition, S(INT4, 3), S(INT4, 3)), NO_ATTRIBUTES);
  REFUSES(WHERE, "what is before it has the shape [4, 3] and b the shape [2]",
          LIST(condition, a, S(COMPLEX64, 2)), NO_ATTRIBUTES);
  REFUSES(WHERE, "b can't be left out", LIST(condition, a, ABSENT), NO_ATTRIBUTES);

  wia_op_info_t info = WIA_OP_INFO_INIT;
  CHECK_STATUS(wia_get_op_info(WIA_OP_WHERE, &info), WIA_STATUS_OK);
  CHECK(info.dtype_input == 1 && info.dtypes >> WIA_FLOAT32 & 1 && info.max_input_count == 3);
  CHECK_STATUS(wia_get_op_info(WIA_OP_GATHER, &info), WIA_STATUS_OK);
  CHECK(info.dtype_input == 0 && info.dtypes >> WIA_FLOAT8_E8M0FNU & 1);
}

static void test_copies(void) {
  GIVES(COPY, S(INT2, 2, 3), LIST(S(INT2, 2, 3)), NO_ATTRIBUTES);
  GIVES(COPY, R0(COMPLEX128), LIST(R0(COMPLEX128)), NO_ATTRIBUTES);
  GIVES(NEG, S(INT8, 5), LIST(S(INT8, 5)), NO_ATTRIBUTES);
  REFUSES(NEG, "not defined for uint8", LIST(S(UINT8, 5)), NO_ATTRIBUTES);
  GIVES(GELU, S(FLOAT16, 5), LIST(S(FLOAT16, 5)), WITH(INTS("approximate", 1)));
  REFUSES(GELU, "approximate is 2; expected 0 to 1", LIST(S(FLOAT16, 5)),
          WITH(INTS("approximate", 2)));
  GIVES(CLIP, S(UINT64, 5), LIST(S(UINT64, 5)), WITH(INTS("min", 1), INTS("max", 2)));
}

static void test_concat(void) {
  const wia_shape_t a = S(INT8, 2, 3), b = S(INT8, 2, 4);
  GIVES(CONCAT, S(INT8, 2, 7), LIST(a, b), WITH(INTS("axis", 1)));
  GIVES(CONCAT, S(INT8, 2, 10), LIST(a, b, a), WITH(INTS("axis", -1)));
  GIVES(CONCAT, S(INT8, 2, 3), LIST(a), NO_ATTRIBUTES);
  GIVES(CONCAT, S(INT8, 2, 3), LIST(a, ABSENT, ABSENT), NO_ATTRIBUTES);
  GIVES(CONCAT, S(INT8, 2, 3), LIST(a, S(INT8, 0, 3)), NO_ATTRIBUTES);
  REFUSES(CONCAT, "inputs[1] is left out", LIST(a, ABSENT, a), NO_ATTRIBUTES);
  REFUSES(CONCAT, "inputs[1] the shape [2, 4]; expected equal sizes in all dimensions but 0",
          LIST(a, b), NO_ATTRIBUTES);
  REFUSES(CONCAT, "expected equal sizes", LIST(a, S(INT8, 2)), NO_ATTRIBUTES);
  REFUSES(CONCAT, "inputs[0] is int8 and inputs[1] is uint8", LIST(a, S(UINT8, 2, 3)),
          NO_ATTRIBUTES);
  REFUSES(CONCAT, "axis is 2; inputs[0] has rank 2", LIST(a, a), WITH(INTS("axis", 2)));
  REFUSES(CONCAT, "rank 0 and no dimension", LIST(R0(INT8)), NO_ATTRIBUTES);
  REFUSES(CONCAT, "0 inputs; expected 1 to 31", (wia_shape_t[]){a}, 0, NO_ATTRIBUTES);
  const wia_shape_t large = S(INT8, INT64_MAX / 2 + 1, 0);
  REFUSES(CONCAT, "more than 63 bits", LIST(large, large), NO_ATTRIBUTES);
  REFUSES(CONCAT, "overflows", LIST(S(INT8, INT64_MAX / 8), S(INT8, 1)), NO_ATTRIBUTES);
}

static void test_glu(void) {
  const wia_shape_t x = S(FLOAT32, 4, 6);
  GIVES(GLU, S(FLOAT32, 4, 3), LIST(x), NO_ATTRIBUTES);
  GIVES(GLU, S(FLOAT32, 2, 6), LIST(x), WITH(INTS("axis", -2), INTS("activation", 4)));
  GIVES(GLU, S(FLOAT16, 0), LIST(S(FLOAT16, 0)), NO_ATTRIBUTES);
  REFUSES(GLU, "dimension 1 has the size 3; expected an even one", LIST(S(FLOAT32, 2, 3)),
          NO_ATTRIBUTES);
  REFUSES(GLU, "axis is 2; input has rank 2", LIST(x), WITH(INTS("axis", 2)));
  REFUSES(GLU, "rank 0 and no dimension", LIST(R0(FLOAT32)), NO_ATTRIBUTES);
  REFUSES(GLU, "activation is 5; expected 0 to 4", LIST(x), WITH(INTS("activation", 5)));
  REFUSES(GLU, "not defined for int32", LIST(S(INT32, 2)), NO_ATTRIBUTES);
}

static void test_elements(void) {
  GIVES(LDEXP, S(FLOAT16, 3, 2), LIST(S(FLOAT16, 3, 1), S(INT32, 2)), NO_ATTRIBUTES);
  REFUSES(LDEXP, "exponent has dtype int64; expected one of int32",
          LIST(S(FLOAT32, 2), S(INT64, 2)), NO_ATTRIBUTES);
  GIVES(CLAMP, S(INT8, 2, 3), LIST(S(INT8, 2, 1), ABSENT, S(INT8, 3)), NO_ATTRIBUTES);
  REFUSES(CLAMP, "what is before it has the shape [2] and max the shape [3]",
          LIST(S(INT8, 2), ABSENT, S(INT8, 3)), NO_ATTRIBUTES);
  GIVES(IS_NAN, S(BOOL, 5), LIST(S(BFLOAT16, 5)), NO_ATTRIBUTES);
  REFUSES(IS_NAN, "not defined for int8", LIST(S(INT8, 5)), NO_ATTRIBUTES);
  GIVES(LOGICAL_NOT, S(BOOL, 5), LIST(S(BOOL, 5)), NO_ATTRIBUTES);
  GIVES(BITWISE_NOT, S(UINT16, 5), LIST(S(UINT16, 5)), NO_ATTRIBUTES);
  REFUSES(SHIFT_LEFT, "a is int8 and b is uint8; dtypes must be equal",
          LIST(S(INT8, 5), S(UINT8, 5)), NO_ATTRIBUTES);
  GIVES(FMA, S(FLOAT64, 2, 3), LIST(S(FLOAT64, 2, 1), S(FLOAT64, 3), R0(FLOAT64)), NO_ATTRIBUTES);
}

#define CUT(start, end, step) WITH(INTS("starts", start), INTS("ends", end), INTS("steps", step))

static void test_slice(void) {
  const wia_shape_t x = S(FLOAT32, 10), y = S(FLOAT32, 4, 5);
  const int64_t far = INT64_MAX;
  GIVES(SLICE, S(FLOAT32, 4), LIST(x), CUT(2, 6, 1));
  GIVES(SLICE, S(FLOAT32, 8), LIST(x), CUT(2, far, 1));
  GIVES(SLICE, S(FLOAT32, 10), LIST(x), CUT(-far, far, 1));
  GIVES(SLICE, S(FLOAT32, 2), LIST(x), CUT(-3, -1, 1));
  GIVES(SLICE, S(FLOAT32, 0), LIST(x), CUT(6, 2, 1));
  GIVES(SLICE, S(FLOAT32, 4), LIST(x), CUT(0, 10, 3));
  GIVES(SLICE, S(FLOAT32, 1), LIST(x), CUT(0, 10, far));
  GIVES(SLICE, S(FLOAT32, 10), LIST(x), CUT(far, -far, -1));
  GIVES(SLICE, S(FLOAT32, 9), LIST(x), CUT(-1, 0, -1));
  GIVES(SLICE, S(FLOAT32, 0), LIST(x), CUT(-1, -1, -1));
  GIVES(SLICE, S(FLOAT32, 4), LIST(x), CUT(9, -far, -3));
  GIVES(SLICE, S(FLOAT32, 1), LIST(x), CUT(9, -far, -far));
  GIVES(SLICE, S(FLOAT32, 0), LIST(S(FLOAT32, 0)), CUT(far, -far, -1));
  GIVES(SLICE, y, LIST(y), NO_ATTRIBUTES);
  GIVES(SLICE, S(FLOAT32, 1, 5), LIST(y), WITH(INTS("starts", 3), INTS("ends", 4)));
  GIVES(SLICE, S(FLOAT32, 2, 1), LIST(y),
        WITH(INTS("starts", 4, 1), INTS("ends", 5, 3), INTS("axes", -1, 0)));
  REFUSES(SLICE, "starts has 2 elements, ends 1, axes 0 and steps 0", LIST(y),
          WITH(INTS("starts", 0, 0), INTS("ends", 1)));
  REFUSES(SLICE, "axes 2 and steps 0", LIST(y),
          WITH(INTS("starts", 0), INTS("ends", 1), INTS("axes", 0, 1)));
  REFUSES(SLICE, "steps 2; expected", LIST(y),
          WITH(INTS("starts", 0), INTS("ends", 1), INTS("steps", 1, 1)));
  REFUSES(SLICE, "dimension 1 twice", LIST(y),
          WITH(INTS("starts", 0, 0), INTS("ends", 1, 1), INTS("axes", 1, -1)));
  REFUSES(SLICE, "axes is 2;", LIST(y), WITH(INTS("starts", 0), INTS("ends", 1), INTS("axes", 2)));
  REFUSES(SLICE, "axes is 1;", LIST(x), WITH(INTS("starts", 0, 0), INTS("ends", 1, 1)));
  REFUSES(SLICE, "steps[0] is 0", LIST(x), CUT(0, 1, 0));
  REFUSES(SLICE, "expected -9223372036854775807", LIST(x), CUT(INT64_MIN, 1, 1));
}

static void test_gather(void) {
  const wia_shape_t x = S(BFLOAT16, 2, 3, 4);
  GIVES(GATHER, S(BFLOAT16, 5, 3, 4), LIST(x, S(INT64, 5)), NO_ATTRIBUTES);
  GIVES(GATHER, S(BFLOAT16, 2, 4), LIST(x, R0(INT32)), WITH(INTS("axis", 1)));
  GIVES(GATHER, S(BFLOAT16, 2, 3, 6, 7), LIST(x, S(INT32, 6, 7)), WITH(INTS("axis", -1)));
  GIVES(GATHER, S(BFLOAT16, 2, 3, 0), LIST(x, S(INT32, 0)), WITH(INTS("axis", 2)));
  REFUSES(GATHER, "indices has dtype uint8; expected one of int64, int32", LIST(x, S(UINT8, 5)),
          NO_ATTRIBUTES);
  REFUSES(GATHER, "so the result has 9 dimensions; expected at most 8",
          LIST(x, S(INT64, 1, 1, 1, 1, 1, 1, 1)), NO_ATTRIBUTES);
  REFUSES(GATHER, "axis is 3;", LIST(x, S(INT64, 5)), WITH(INTS("axis", 3)));
  REFUSES(GATHER, "rank 0 and no dimension", LIST(R0(INT8), S(INT64, 5)), NO_ATTRIBUTES);
}

static void test_pad(void) {
  const wia_shape_t x = S(BOOL, 2, 3);
  GIVES(PAD, S(BOOL, 4, 10), LIST(x), WITH(INTS("pads", 0, 3, 2, 4)));
  GIVES(PAD, S(BOOL, 4, 7), LIST(x), WITH(INTS("pads", 1, 2, 1, 2), INTS("mode", 1)));
  GIVES(PAD, S(BOOL, 11, 3), LIST(x), WITH(INTS("pads", 9, 0, 0, 0), INTS("mode", 2)));
  GIVES(PAD, S(BOOL, 0, 5), LIST(S(BOOL, 0, 3)), WITH(INTS("pads", 0, 1, 0, 1), INTS("mode", 2)));
  GIVES(PAD, R0(BOOL), LIST(R0(BOOL)), NO_ATTRIBUTES);
  REFUSES(PAD, "pads has 0 elements and input rank 2; expected 4", LIST(x), NO_ATTRIBUTES);
  GIVES(PAD, S(BOOL, 1, 3), LIST(x), WITH(INTS("pads", -2, 1, 1, -1)));
  GIVES(PAD, S(BOOL, 2, 16), LIST(x), WITH(INTS("pads", 0, 9, 0, 4), INTS("mode", 1)));
  GIVES(PAD, S(BOOL, 0, 16), LIST(x), WITH(INTS("pads", 0, 9, -2, 4), INTS("mode", 3)));
  REFUSES(PAD, "-1 before and -2 behind dimension 0, which has 2; expected that at most", LIST(x),
          WITH(INTS("pads", -1, 0, -2, 0)));
  REFUSES(PAD, "dimension 0 has no element to repeat", LIST(S(BOOL, 0)),
          WITH(INTS("pads", 1, 0), INTS("mode", 2)));
  REFUSES(PAD, "mode is 4; expected 0 to 3", LIST(x),
          WITH(INTS("pads", 0, 0, 0, 0), INTS("mode", 4)));
  REFUSES(PAD, "larger than 63 bits", LIST(S(BOOL, INT64_MAX - 1, 0)),
          WITH(INTS("pads", 1, 0, 1, 0)));
}

static void test_pools(void) {
  const wia_shape_t x = S(FLOAT32, 2, 3, 7, 9);
  GIVES(AVG_POOL2D, S(FLOAT32, 2, 3, 4, 5), LIST(x),
        WITH(INTS("kernel", 2, 2), INTS("ceil_mode", 1)));
  REFUSES(AVG_POOL2D, "avg_pool2d: kernel is 0 in dimension 0; it has no default", LIST(x),
          NO_ATTRIBUTES);
  REFUSES(AVG_POOL2D, "avg_pool2d: the padding of the height", LIST(x),
          WITH(INTS("kernel", 2, 2), INTS("padding", 2, 0, 0, 0)));
  GIVES(GLOBAL_MAX_POOL2D, S(INT8, 2, 3, 1, 1), LIST(S(INT8, 2, 3, 7, 9)), NO_ATTRIBUTES);
  GIVES(GLOBAL_MAX_POOL2D, S(INT8, 0, 3, 1, 1), LIST(S(INT8, 0, 3, 0, 9)), NO_ATTRIBUTES);
  GIVES(GLOBAL_AVG_POOL2D, S(FLOAT32, 2, 3, 1, 1), LIST(S(FLOAT32, 2, 3, 0, 9)), NO_ATTRIBUTES);
  REFUSES(GLOBAL_MAX_POOL2D, "no largest element among none", LIST(S(INT8, 2, 3, 0, 9)),
          NO_ATTRIBUTES);
  REFUSES(GLOBAL_AVG_POOL2D, "expected rank 4", LIST(S(FLOAT32, 7, 9)), NO_ATTRIBUTES);
  REFUSES(ARGMIN, "no element to choose among none", LIST(S(FLOAT32, 2, 0)), NO_ATTRIBUTES);
  GIVES(REDUCE_MEAN, S(FLOAT32, 2), LIST(S(FLOAT32, 2, 0)), WITH(INTS("axes", 1)));
}

static void test_split(void) {
  const wia_shape_t a = S(INT8, 2, 5);
  const wia_attribute_t cut[] = {INTS("axis", -1), INTS("sizes", 3, 0, 2)};
  wia_shape_t parts[8];
  memset(parts, 0x55, sizeof parts);
  CHECK_STATUS(wia_infer_outputs(WIA_OP_SPLIT, &a, 1, cut, 2, parts, 8), WIA_STATUS_OK);
  const int64_t sizes[] = {3, 0, 2};
  for (uint32_t k = 0; k < 3; k++) {
    CHECK(parts[k].dtype == WIA_INT8 && parts[k].rank == 2);
    CHECK(parts[k].shape[0] == 2 && parts[k].shape[1] == sizes[k]);
  }
  for (uint32_t k = 3; k < 8; k++) CHECK(parts[k].dtype == WIA_DTYPE_NONE && parts[k].rank == 0);
  GIVES(SPLIT, S(INT8, 2, 5), LIST(a), WITH(INTS("sizes", 2)));
  GIVES(SPLIT, S(INT8, 0, 3), LIST(S(INT8, 0, 3)), WITH(INTS("sizes", 0, 0)));
  REFUSES(SPLIT, "sizes is []; expected 1 to 8 sizes that add up to 2, the size of dimension 0",
          LIST(a), NO_ATTRIBUTES);
  REFUSES(SPLIT, "sizes is [1, 2]; expected 1 to 8 sizes that add up to 2", LIST(a),
          WITH(INTS("sizes", 1, 2)));
  REFUSES(SPLIT, "sizes is [1]; expected", LIST(a), WITH(INTS("sizes", 1)));
  REFUSES(SPLIT, "add up to 2", LIST(a), WITH(INTS("sizes", INT64_MAX, INT64_MAX, 4)));
  REFUSES(SPLIT, "sizes", LIST(a), WITH(INTS("sizes", 3, -1)));
  REFUSES(SPLIT, "sizes", LIST(S(INT8, 9)), WITH(INTS("sizes", 1, 1, 1, 1, 1, 1, 1, 1, 1)));
  REFUSES(SPLIT, "axis is 2; input has rank 2", LIST(a), WITH(INTS("axis", 2)));
  REFUSES(SPLIT, "rank 0 and no dimension", LIST(R0(INT8)), WITH(INTS("sizes", 1)));
}

/* A part that there isn't, and one that is left out. */
static void test_parts(wia_context_t *context, wia_tensor_t a, wia_tensor_t two) {
  wia_tensor_t other = NULL;
  CHECK_STATUS(wia_allocate_tensor(context, (int64_t[]){2}, 1, WIA_FLOAT32, &other), WIA_STATUS_OK);
  wia_split_config_t config = WIA_SPLIT_CONFIG_INIT;
  config.size_count = 2;
  config.sizes[0] = 2;
  config.sizes[1] = 0;
#define SPLIT(first, third)                                                                        \
  wia_split(context, a, first, NULL, third, NULL, NULL, NULL, NULL, NULL, &config, NULL)
  CHECK_STATUS(SPLIT(two, NULL), WIA_STATUS_UNIMPLEMENTED); /* the rule accepts it */
  CHECK_STATUS(SPLIT(two, other), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("the output part_2 is given; expected 2 outputs for these attributes");
  CHECK_STATUS(SPLIT(NULL, NULL), WIA_STATUS_INVALID_HANDLE);
  CHECK_MESSAGE("part_0 is NULL; expected a tensor");
#undef SPLIT
  CHECK_STATUS(wia_destroy_tensor(other), WIA_STATUS_OK);
}

/* A list of tensors: its counts are checked, and then it goes the way of every call. */
static void test_call_with_a_list(void) {
  wia_context_t *context = NULL;
  int32_t device_id = -1;
  CHECK_STATUS(wia_register_driver(load_sample(), WIA_DRIVER_ABI_MAJOR, WIA_DRIVER_ABI_MINOR),
               WIA_STATUS_OK);
  CHECK_STATUS(wia_find_device(load_sample()->name, &device_id), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_context(&context, device_id), WIA_STATUS_OK);
  wia_tensor_t a = NULL, c = NULL, list[32];
  CHECK_STATUS(wia_allocate_tensor(context, (int64_t[]){2}, 1, WIA_FLOAT32, &a), WIA_STATUS_OK);
  CHECK_STATUS(wia_allocate_tensor(context, (int64_t[]){62}, 1, WIA_FLOAT32, &c), WIA_STATUS_OK);
  for (uint32_t i = 0; i < COUNT_OF(list); i++) list[i] = a;
  CHECK_STATUS(wia_concat(context, list, 31, c, NULL, NULL), WIA_STATUS_UNIMPLEMENTED);
  CHECK_STATUS(wia_concat(context, list, 32, c, NULL, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("concat was given 32 inputs; expected 1 to 31");
  CHECK_STATUS(wia_concat(context, list, 0, c, NULL, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_concat(context, NULL, 1, c, NULL, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("inputs");
  CHECK_STATUS(wia_concat(context, list, 30, c, NULL, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("the output output has shape [62]; expected [60]");
  list[1] = NULL;
  CHECK_STATUS(wia_concat(context, list, 31, c, NULL, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("inputs[1] is left out");
  wia_concat_config_t config = WIA_CONCAT_CONFIG_INIT;
  config.axis = 1;
  CHECK_STATUS(wia_concat(context, list, 1, a, &config, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("axis is 1;");
  wia_tensor_t two = NULL;
  CHECK_STATUS(wia_allocate_tensor(context, (int64_t[]){2}, 1, WIA_FLOAT32, &two), WIA_STATUS_OK);
  test_parts(context, a, two);
  CHECK_STATUS(wia_destroy_tensor(two), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_tensor(a), WIA_STATUS_OK);
  CHECK_STATUS(wia_concat(context, list, 1, c, NULL, NULL), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_destroy_tensor(c), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

int main(void) {
  test_choices();
  test_copies();
  test_concat();
  test_split();
  test_glu();
  test_elements();
  test_slice();
  test_gather();
  test_pad();
  test_pools();
  test_call_with_a_list();
  return CHECK_DONE();
}
