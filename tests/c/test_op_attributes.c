/* Attributes and config structs on their way in, and look-up of operations. Config structs are read
 * before a tensor is looked up only where a tensor is good, so they run on the sample driver. */
#include "infer.h"
#include "sample.h"

static wia_context_t *context;

static wia_tensor_t make(uint32_t rank, const int64_t *shape) {
  wia_tensor_t tensor = NULL;
  CHECK_STATUS(wia_allocate_tensor(context, shape, rank, WIA_FLOAT32, &tensor), WIA_STATUS_OK);
  return tensor;
}
#define MAKE_TENSOR(...) make(COUNT_OF(((int64_t[]){__VA_ARGS__})), (int64_t[]){__VA_ARGS__})

static void set_elements(wia_tensor_t tensor, const float *values, uint64_t count) {
  CHECK_STATUS(wia_write_tensor(tensor, values, count * sizeof *values, NULL), WIA_STATUS_OK);
}

static float element_of(wia_tensor_t tensor, uint32_t index) {
  float values[64] = {0};
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(tensor, &info), WIA_STATUS_OK);
  CHECK_STATUS(wia_read_tensor(tensor, values, info.size, NULL), WIA_STATUS_OK);
  return values[index];
}
static float first(wia_tensor_t tensor) { return element_of(tensor, 0); }

/* Scenario 1. Each part fails without its line in wia__read_struct or wia__words_of_config. */
static void test_config_sizes(void) {
  const wia_tensor_t a = MAKE_TENSOR(1, 1), c = MAKE_TENSOR(1, 1);
  set_elements(a, (float[]){3}, 1);
  struct {
    wia_matmul_config_t config;
    uint64_t more[2];
  } longer = {.config = WIA_MATMUL_CONFIG_INIT};
  longer.config.alpha = 2;

  CHECK_STATUS(wia_matmul(context, a, a, c, NULL, NULL), WIA_STATUS_OK);
  CHECK(first(c) == 9);
  CHECK_STATUS(wia_matmul(context, a, a, c, &longer.config, NULL), WIA_STATUS_OK);
  CHECK(first(c) == 18);
  longer.config.struct_size = sizeof longer;
  longer.config.alpha = 3;
  CHECK_STATUS(wia_matmul(context, a, a, c, &longer.config, NULL), WIA_STATUS_OK);
  CHECK(first(c) == 27);
  longer.more[1] = 1;
  CHECK_STATUS(wia_matmul(context, a, a, c, &longer.config, NULL), WIA_STATUS_INCOMPATIBLE);
  longer.more[1] = 0;
  for (uint32_t size = 0; size < sizeof longer.config; size += 4) {
    longer.config.struct_size = size;
    CHECK_STATUS(wia_matmul(context, a, a, c, &longer.config, NULL), WIA_STATUS_INVALID_ARGUMENT);
    CHECK_MESSAGE("WIA_MATMUL_CONFIG_INIT");
  }
  CHECK(first(c) == 27);
}

static void test_config_values(void) {
  const wia_tensor_t a = MAKE_TENSOR(1, 1), c = MAKE_TENSOR(1, 1);
  wia_matmul_config_t config = WIA_MATMUL_CONFIG_INIT;
  config.reserved = 1;
  CHECK_STATUS(wia_matmul(context, a, a, c, &config, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("the reserved field at byte 12 of the config is 1");
  config = WIA_MATMUL_CONFIG_INIT;
  config.transpose_b = 2;
  CHECK_STATUS(wia_matmul(context, a, a, c, &config, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("transpose_b is 2; expected 0 to 1");

  config.transpose_b = UINT32_MAX;
  CHECK_STATUS(wia_matmul(context, a, a, c, &config, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("transpose_b is 4294967295");
  const wia_softmax_config_t last = WIA_SOFTMAX_CONFIG_INIT; /* axis -1 */
  CHECK_STATUS(wia_softmax(context, a, c, &last, NULL), WIA_STATUS_OK);
  CHECK(first(c) == 1);

  /* Zero is zero where it means something. */
  set_elements(a, (float[]){3}, 1);
  config = WIA_MATMUL_CONFIG_INIT;
  config.alpha = 0;
  CHECK_STATUS(wia_matmul(context, a, a, c, &config, NULL), WIA_STATUS_OK);
  CHECK(first(c) == 0);
}

/* Fails without the lines of zero_is_default, of the length of a list, or of its elements behind it. */
static void test_config_lists(void) {
  const wia_tensor_t x = MAKE_TENSOR(1, 2, 3), y = MAKE_TENSOR(1, 3, 2), z = MAKE_TENSOR(3, 2, 1);
  set_elements(x, (float[]){1, 2, 3, 4, 5, 6}, 6);
  wia_transpose_config_t config = WIA_TRANSPOSE_CONFIG_INIT;
  CHECK_STATUS(wia_transpose(context, x, z, &config, NULL), WIA_STATUS_OK);
  CHECK(element_of(z, 1) == 4);
  config.perm_count = 3;
  config.perm[1] = 2;
  config.perm[2] = 1;
  CHECK_STATUS(wia_transpose(context, x, y, &config, NULL), WIA_STATUS_OK);
  CHECK(element_of(y, 1) == 4);
  config.perm[7] = 99; /* behind the count: not read, and not reserved either */
  CHECK_STATUS(wia_transpose(context, x, y, &config, NULL), WIA_STATUS_OK);
  config.perm[2] = 99;
  CHECK_STATUS(wia_transpose(context, x, y, &config, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("perm[2] is 99; expected 0 to 7");
  config.perm_count = 9;
  CHECK_STATUS(wia_transpose(context, x, y, &config, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("perm has 9 elements; expected at most 8");
}

static void test_conv_config(void) {
  const wia_tensor_t x = MAKE_TENSOR(1, 1, 2, 2), w = MAKE_TENSOR(1, 1, 1, 1);
  const wia_tensor_t y = MAKE_TENSOR(1, 1, 2, 2), small = MAKE_TENSOR(1, 1, 1, 1);
  set_elements(x, (float[]){1, 2, 3, 4}, 4);
  set_elements(w, (float[]){-5}, 1);
  wia_conv_config_t config = WIA_CONV_CONFIG_INIT; /* zeros: stride, dilation and groups are 1 */
  CHECK_STATUS(wia_conv2d(context, x, w, NULL, y, &config, NULL), WIA_STATUS_OK);
  CHECK(first(y) == -5);
  config.fusion = WIA_FUSION_RELU;
  CHECK_STATUS(wia_conv2d(context, x, w, NULL, y, &config, NULL), WIA_STATUS_OK);
  CHECK(first(y) == 0);
  config.fusion = 2;
  CHECK_STATUS(wia_conv2d(context, x, w, NULL, y, &config, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("fusion is 2; expected 0 to 1");
  config = WIA_CONV_CONFIG_INIT;
  config.stride[0] = config.stride[1] = 2;
  CHECK_STATUS(wia_conv2d(context, x, w, NULL, small, &config, NULL), WIA_STATUS_OK);
  CHECK(first(small) == -5);
  config.stride[1] = -1;
  CHECK_STATUS(wia_conv2d(context, x, w, NULL, small, &config, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("stride[1] is -1; expected 1 to");
  config = WIA_CONV_CONFIG_INIT;
  config.workspace_size = UINT64_MAX;
  CHECK_STATUS(wia_conv2d(context, x, w, NULL, y, &config, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("workspace_size");
}

static void test_attribute_lists(void) {
  const wia_shape_t x = S(FLOAT32, 2, 3);
  REFUSES(SOFTMAX, "softmax has no attribute axes; expected one of: axis", LIST(x),
          WITH(INTS("axes", 1)));
  REFUSES(SOFTMAX, "axis is given twice", LIST(x), WITH(INTS("axis", 1), INTS("axis", 1)));
  wia_attribute_t attribute = INTS("axis", 1);
  attribute.name = NULL;
  REFUSES(SOFTMAX, "attributes[0] has no name", LIST(x), WITH(attribute));
  attribute = INTS("axis", 1);
  attribute.data = NULL;
  REFUSES(SOFTMAX, "axis has no data", LIST(x), WITH(attribute));
  attribute = INTS("axis", 1);
  attribute.type = WIA_ATTRIBUTE_FLOAT64;
  REFUSES(SOFTMAX, "axis is given with type 2 (FLOAT64); expected WIA_ATTRIBUTE_INT64", LIST(x),
          WITH(attribute));
  attribute.type = WIA_ATTRIBUTE_DTYPE;
  REFUSES(SOFTMAX, "type 4 (DTYPE)", LIST(x), WITH(attribute));
  attribute.type = -1;
  REFUSES(SOFTMAX, "type -1 (unknown)", LIST(x), WITH(attribute));
  attribute.type = 9;
  REFUSES(SOFTMAX, "type 9 (unknown)", LIST(x), WITH(attribute));
  REFUSES(SOFTMAX, "axis has 2 elements; expected 1", LIST(x), WITH(INTS("axis", 1, 1)));
  REFUSES(SOFTMAX, "attributes", LIST(x), NULL, 1);
  GIVES(MATMUL, S(FLOAT32, 2, 2), LIST(x, S(FLOAT32, 3, 2)), WITH(INTS("alpha", 2)));
  const double half = 0.5;
  const wia_attribute_t alpha = {
      .name = "alpha", .data = &half, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1};
  GIVES(MATMUL, S(FLOAT32, 2, 2), LIST(x, S(FLOAT32, 3, 2)), WITH(alpha));
  REFUSES(MATMUL, "alpha has 2 elements; expected 1", LIST(x, S(FLOAT32, 3, 2)),
          WITH(INTS("alpha", 1, 2)));
}

/* A list names the scalars too, as double or as integer. */
static void test_scalars_of_lists(void) {
  const wia_tensor_t a = MAKE_TENSOR(1, 1), c = MAKE_TENSOR(1, 1);
  const wia_tensor_t inputs[] = {a, a};
  set_elements(a, (float[]){3}, 1);
  const double half = 0.5;
  const wia_attribute_t fraction = {
      .name = "alpha", .data = &half, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1};
  CHECK_STATUS(wia_execute(context, WIA_OP_MATMUL, inputs, 2, &c, 1, WITH(fraction), NULL),
               WIA_STATUS_OK);
  CHECK(first(c) == 4.5f);
  CHECK_STATUS(wia_execute(context, WIA_OP_MATMUL, inputs, 2, &c, 1, WITH(INTS("alpha", -2)), NULL),
               WIA_STATUS_OK);
  CHECK(first(c) == -18);
}

static void test_lookup(void) {
  wia_op_info_t info = WIA_OP_INFO_INIT;
  CHECK_STATUS(wia_get_op_info(WIA_OP_CONV2D, &info), WIA_STATUS_OK);
  CHECK(strcmp(info.name, "conv2d") == 0 && strcmp(info.family, "conv2d") == 0);
  CHECK(info.min_input_count == 2 && info.max_input_count == 3 && info.output_count == 1);
  CHECK(info.dtypes >> WIA_FLOAT32 & 1 && !(info.dtypes >> WIA_BOOL & 1));
  const wia_op_t none[] = {WIA_OP_NONE, -1, 9999, INT32_MAX, INT32_MIN};
  for (uint32_t i = 0; i < COUNT_OF(none); i++)
    CHECK_STATUS(wia_get_op_info(none[i], &info), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_get_op_info(WIA_OP_ADD, NULL), WIA_STATUS_INVALID_ARGUMENT);

  wia_op_t op = 0;
  for (wia_op_t number = 1; wia_get_op_info(number, &info) == WIA_STATUS_OK; number++) {
    CHECK_STATUS(wia_find_op(info.name, &op), WIA_STATUS_OK);
    CHECK(op == number);
  }
  CHECK_STATUS(wia_find_op("matmull", &op), WIA_STATUS_NOT_FOUND);
  CHECK_MESSAGE("did you mean \"matmul\"");
  CHECK_STATUS(wia_find_op("quicksort", &op), WIA_STATUS_NOT_FOUND);
  CHECK_STATUS(wia_find_op("", &op), WIA_STATUS_NOT_FOUND);
  CHECK_STATUS(wia_find_op(NULL, &op), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_find_op("add", NULL), WIA_STATUS_INVALID_ARGUMENT);
}

int main(void) {
  int32_t device_id = -1;
  CHECK_STATUS(wia_register_driver(load_sample(), WIA_DRIVER_ABI_MAJOR, WIA_DRIVER_ABI_MINOR),
               WIA_STATUS_OK);
  CHECK_STATUS(wia_find_device(load_sample()->name, &device_id), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_context(&context, device_id), WIA_STATUS_OK);
  test_config_sizes();
  test_config_values();
  test_config_lists();
  test_conv_config();
  test_attribute_lists();
  test_scalars_of_lists();
  test_lookup();
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  return CHECK_DONE();
}
