/* Elementwise operations, cast, softmax and argmax of the sample driver. */
#include <math.h>

#include "check.h"
#include "sample.h"

static array_t a, b, c;

/* -- elementwise ------------------------------------------------------------------------------- */

static double compute(const char *op_name, double x, double y) {
  switch (op_name[0]) {
  case 'a':
    return x + y;
  case 's':
    return x - y;
  case 'm':
    return x * y;
  default:
    return x / y;
  }
}

static launch_t binary(const char *op_name, array_t *output) {
  return (launch_t){.op_name = op_name, .inputs = {&a, &b}, .input_count = 2, .output = output};
}

static const char *const binary_names[] = {"add", "sub", "mul", "div"};

static void test_binary(void) {
  for (int op = 0; op < 4; op++)
    for (int mode = 0; mode < MODE_COUNT * MODE_COUNT; mode++) {
      MAKE(&a, WIA_FLOAT32, mode % MODE_COUNT, 3, 1, 9);
      MAKE(&b, WIA_FLOAT32, mode / MODE_COUNT, 5, 1);
      MAKE(&c, WIA_FLOAT32, (mode + op) % MODE_COUNT, 3, 5, 9);
      fill_random(&a);
      fill_random(&b);
      AT(float, &a, 1, 0, 2) = NAN;
      AT(float, &b, 3, 0) = INFINITY;
      launch_t call = binary(binary_names[op], &c);
      CHECK_STATUS(launch(&call), WIA_STATUS_OK);
      for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 5; j++)
          for (int64_t k = 0; k < 9; k++) {
            const double x = AT(float, &a, i, 0, k), y = AT(float, &b, j, 0);
            CHECK(is_near(AT(float, &c, i, j, k), compute(call.op_name, x, y), 0, 0));
          }
      CHECK(has_margins(&c));
    }
}

/* An empty dimension behind one that isn't: rows of nothing, and none at all. */
static void test_empty(void) {
  MAKE(&a, WIA_FLOAT32, PLAIN, 3, 0);
  MAKE(&b, WIA_FLOAT32, GAPPED, 1);
  MAKE(&c, WIA_FLOAT32, GAPPED, 3, 0);
  launch_t call = binary("add", &c);
  CHECK_STATUS(launch(&call), WIA_STATUS_OK);
  MAKE(&a, WIA_FLOAT32, GAPPED, 2, 0, 3);
  MAKE(&c, WIA_FLOAT32, SWAPPED, 2, 0, 3);
  CHECK_STATUS(launch(&call), WIA_STATUS_OK);
  MAKE(&a, WIA_FLOAT32, GAPPED, 0, 2, 3);
  MAKE(&c, WIA_FLOAT32, GAPPED, 0, 2, 3);
  CHECK_STATUS(launch(&call), WIA_STATUS_OK);
  CHECK(has_margins(&c));
}

/* The plain loops: sizes around those of vectors, and the output exactly an input. */
static void test_plain(void) {
  static const int64_t sizes[] = {0, 1, 7, 8, 9, 31, 32, 33};
  for (int op = 0; op < 4; op++)
    for (int i = 0; i < 8; i++) {
      MAKE(&a, WIA_FLOAT32, PLAIN, sizes[i]);
      MAKE(&b, WIA_FLOAT32, PLAIN, sizes[i]);
      MAKE(&c, WIA_FLOAT32, PLAIN, sizes[i]);
      fill_random(&a);
      fill_random(&b);
      launch_t call = binary(binary_names[op], &c);
      CHECK_STATUS(launch(&call), WIA_STATUS_OK);
      for (int64_t k = 0; k < sizes[i]; k++)
        CHECK(is_near(AT(float, &c, k), compute(call.op_name, AT(float, &a, k), AT(float, &b, k)),
                      0, 0));
      call.output = op % 2 == 0 ? &a : &b;
      CHECK_STATUS(launch(&call), WIA_STATUS_OK);
      CHECK(call.flags == (WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE | WIA_KERNEL_PROMPT));
      for (int64_t k = 0; k < sizes[i]; k++)
        CHECK(AT(float, call.output, k) == AT(float, &c, k) || isnan(AT(float, &c, k)));
      CHECK(has_margins(&c) && has_margins(&a) && has_margins(&b));
    }
}

static void test_integers(void) {
  for (int op = 0; op < 3; op++)
    for (int mode = 0; mode < MODE_COUNT; mode++) {
      MAKE(&a, WIA_INT32, mode, 3, 3);
      MAKE(&b, WIA_INT32, PLAIN, 3, 3);
      MAKE(&c, WIA_INT32, mode, 3, 3);
      fill_random(&a);
      fill_random(&b);
      AT(int32_t, &a, 0, 0) = INT32_MAX;
      AT(int32_t, &b, 0, 0) = op == 1 ? -2 : 2;
      launch_t call = binary(binary_names[op], &c);
      CHECK_STATUS(launch(&call), WIA_STATUS_OK);
      CHECK(AT(int32_t, &c, 0, 0) == (op == 2 ? -2 : INT32_MIN + 1));
      for (int64_t i = 1; i < 9; i++)
        CHECK(*(int32_t *)element(&c, (uint64_t)i) ==
              compute(call.op_name, *(int32_t *)element(&a, (uint64_t)i),
                      *(int32_t *)element(&b, (uint64_t)i)));
    }
}

static void test_relu(void) {
  static const float given[] = {-1.5F, 0, -0.0F, 2, NAN, INFINITY, -INFINITY, 1e-45F, -1e-45F};
  static const float expected[] = {0, 0, 0, 2, NAN, INFINITY, 0, 1e-45F, 0};
  for (int mode = 0; mode < MODE_COUNT; mode++) {
    MAKE(&a, WIA_FLOAT32, mode, 3, 3);
    for (uint64_t i = 0; i < 9; i++) *(float *)element(&a, i) = given[i];
    MAKE(&c, WIA_FLOAT32, (mode + 1) / 2, 3, 3);
    launch_t call = {.op_name = "relu", .inputs = {&a}, .input_count = 1, .output = &c};
    for (int in_place = 0; in_place < 2; in_place++) {
      CHECK_STATUS(launch(&call), WIA_STATUS_OK);
      for (uint64_t i = 0; i < 9; i++) {
        const float result = *(float *)element(call.output, i);
        CHECK(isnan(expected[i]) ? isnan(result) : result == expected[i] && !signbit(result));
      }
      CHECK(has_margins(call.output));
      call.output = &a;
    }
  }
}

/* -- cast -------------------------------------------------------------------------------------- */

static double get(array_t *array, uint64_t place) {
  const void *address = element(array, place);
  switch (array->layout.dtype) {
  case WIA_FLOAT32:
    return *(const float *)address;
  case WIA_INT32:
    return *(const int32_t *)address;
  case WIA_INT64:
    return (double)*(const int64_t *)address;
  default:
    return *(const uint8_t *)address;
  }
}

static void test_cast_pairs(void) {
  static const wia_dtype_t dtypes[] = {WIA_FLOAT32, WIA_INT32, WIA_INT64, WIA_UINT8};
  for (int pair = 0; pair < 16; pair++)
    for (int mode = 0; mode < MODE_COUNT; mode++) {
      const wia_dtype_t from = dtypes[pair / 4], to = dtypes[pair % 4];
      const int32_t dtype = to;
      const wia_attribute_t attribute = {
          .name = "dtype", .data = &dtype, .type = WIA_ATTRIBUTE_DTYPE, .count = 1};
      MAKE(&a, from, mode, 5, 7);
      MAKE(&c, to, (mode + pair) % MODE_COUNT, 5, 7);
      fill_random(&a);
      launch_t call = {.op_name = "cast",
                       .inputs = {&a},
                       .input_count = 1,
                       .output = &c,
                       .attributes = &attribute,
                       .attribute_count = (uint32_t)mode % 2};
      CHECK_STATUS(launch(&call), WIA_STATUS_OK);
      for (uint64_t i = 0; i < 35; i++) {
        double expected = get(&a, i);
        if (to != WIA_FLOAT32) expected = trunc(expected);
        if (to == WIA_UINT8 && from == WIA_FLOAT32)
          expected = fmin(fmax(expected, 0), 255);
        else if (to == WIA_UINT8)
          expected = (uint8_t)(int32_t)expected;
        CHECK(get(&c, i) == expected);
      }
      CHECK(has_margins(&c));
    }
}

static void test_cast_ends(void) {
  static const struct {
    float given;
    int32_t to_int32;
    int64_t to_int64;
    uint8_t to_uint8;
  } ends[] = {
      {NAN, 0, 0, 0},
      {INFINITY, INT32_MAX, INT64_MAX, 255},
      {-INFINITY, INT32_MIN, INT64_MIN, 0},
      {0x1p31F, INT32_MAX, INT64_C(2147483648), 255},
      {-0x1p31F, INT32_MIN, -INT64_C(2147483648), 0},
      {0x1p63F, INT32_MAX, INT64_MAX, 255},
      {-1e30F, INT32_MIN, INT64_MIN, 0},
      {255.9F, 255, 255, 255},
      {300, 300, 300, 255},
      {-0.9F, 0, 0, 0},
  };
  enum { COUNT = sizeof ends / sizeof *ends };
  static const wia_dtype_t dtypes[] = {WIA_INT32, WIA_INT64, WIA_UINT8};
  MAKE(&a, WIA_FLOAT32, PLAIN, COUNT);
  for (int64_t i = 0; i < COUNT; i++) AT(float, &a, i) = ends[i].given;
  for (int d = 0; d < 3; d++) {
    MAKE(&c, dtypes[d], PLAIN, COUNT);
    launch_t call = {.op_name = "cast", .inputs = {&a}, .input_count = 1, .output = &c};
    CHECK_STATUS(launch(&call), WIA_STATUS_OK);
    for (int64_t i = 0; i < COUNT; i++)
      CHECK(d == 0   ? AT(int32_t, &c, i) == ends[i].to_int32
            : d == 1 ? AT(int64_t, &c, i) == ends[i].to_int64
                     : AT(uint8_t, &c, i) == ends[i].to_uint8);
  }
}

/* -- along an axis ----------------------------------------------------------------------------- */

static const int64_t axis_shape[] = {3, 4, 5};

static void test_softmax(void) {
  for (int mode = 0; mode < MODE_COUNT; mode++)
    for (int64_t axis = -3; axis < 3; axis++) {
      const int64_t d = axis < 0 ? axis + 3 : axis, length = axis_shape[d];
      const wia_attribute_t attribute = {
          .name = "axis", .data = &axis, .type = WIA_ATTRIBUTE_INT64, .count = 1};
      make_array(&a, WIA_FLOAT32, mode, 3, axis_shape);
      make_array(&c, WIA_FLOAT32, (mode + 1) % MODE_COUNT, 3, axis_shape);
      fill_random(&a);
      AT(float, &a, 1, 1, 1) = 3e38F;
      AT(float, &a, 2, 2, 2) = NAN;
      launch_t call = {.op_name = "softmax",
                       .inputs = {&a},
                       .input_count = 1,
                       .output = &c,
                       .attributes = &attribute,
                       .attribute_count = axis == -1 ? 0 : 1};
      CHECK_STATUS(launch(&call), WIA_STATUS_OK);
      for (uint64_t i = 0; i < 60; i++) {
        int64_t index[] = {(int64_t)i / 20, (int64_t)i / 5 % 4, (int64_t)i % 5};
        const double value = *(float *)element(&a, i);
        double largest = -INFINITY, sum = 0;
        for (index[d] = 0; index[d] < length; index[d]++)
          largest = fmax(largest, *(float *)element_at(&a, index));
        for (index[d] = 0; index[d] < length; index[d]++)
          sum += exp(*(float *)element_at(&a, index) - largest);
        const double expected = exp(value - largest) / sum;
        CHECK(is_near(*(float *)element(&c, i), expected, 20, expected));
      }
      CHECK(has_margins(&c));
      call.output = &a;
      CHECK_STATUS(launch(&call), WIA_STATUS_OK);
      for (uint64_t i = 0; i < 60; i++)
        CHECK(is_near(*(float *)element(&a, i), *(float *)element(&c, i), 0, 0));
    }
}

static void test_argmax(void) {
  for (int mode = 0; mode < MODE_COUNT; mode++)
    for (int64_t axis = 0; axis < 3; axis++)
      for (int64_t keep = 0; keep < 2; keep++) {
        const int64_t negative = axis - 3;
        const wia_attribute_t attributes[] = {
            {.name = "axis",
             .data = keep ? &negative : &axis,
             .type = WIA_ATTRIBUTE_INT64,
             .count = 1},
            {.name = "keepdims", .data = &keep, .type = WIA_ATTRIBUTE_INT64, .count = 1}};
        int64_t shape[3];
        uint32_t rank = 0;
        for (int64_t i = 0; i < 3; i++)
          if (i != axis || keep) shape[rank++] = i == axis ? 1 : axis_shape[i];
        make_array(&a, WIA_FLOAT32, mode, 3, axis_shape);
        make_array(&c, WIA_INT64, (mode + 1) % MODE_COUNT, rank, shape);
        fill_random(&a);
        AT(float, &a, 1, 1, 1) = AT(float, &a, 1, 1, 3) = AT(float, &a, 1, 3, 1) = 100;
        AT(float, &a, 2, 2, 2) = AT(float, &a, 2, 2, 4) = AT(float, &a, 2, 3, 2) = NAN;
        launch_t call = {.op_name = "argmax",
                         .inputs = {&a},
                         .input_count = 1,
                         .output = &c,
                         .attributes = attributes,
                         .attribute_count = 2};
        CHECK_STATUS(launch(&call), WIA_STATUS_OK);
        for (uint64_t i = 0; i < c.layout.element_count; i++) {
          const uint64_t inner = axis == 0 ? 20 : axis == 1 ? 5 : 1;
          const uint64_t first = i / inner * inner * (uint64_t)axis_shape[axis] + i % inner;
          int64_t best = 0;
          for (int64_t k = 1; k < axis_shape[axis]; k++) {
            const float value = *(float *)element(&a, first + (uint64_t)k * inner);
            const float largest = *(float *)element(&a, first + (uint64_t)best * inner);
            if (!isnan(largest) && (isnan(value) || value > largest)) best = k;
          }
          CHECK(*(int64_t *)element(&c, i) == best);
        }
        CHECK(has_margins(&c));
      }
}

int main(void) {
  test_binary();
  test_empty();
  test_plain();
  test_integers();
  test_relu();
  test_cast_pairs();
  test_cast_ends();
  test_softmax();
  test_argmax();
  return CHECK_DONE();
}
