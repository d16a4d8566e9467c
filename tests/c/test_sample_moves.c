/* reshape, transpose and broadcast of the sample driver, over all sizes of elements. */
#include <string.h>

#include "check.h"
#include "sample.h"

static array_t a, c;
static const int64_t full[] = {3, 4, 5};

static const wia_dtype_t moved[] = {WIA_INT8, WIA_FLOAT16, WIA_FLOAT32, WIA_FLOAT64,
                                    WIA_COMPLEX128};

static bool is_same(array_t *x, uint64_t i, array_t *y, uint64_t j) {
  static const size_t sizes[] = {[WIA_INT8] = 1,
                                 [WIA_FLOAT16] = 2,
                                 [WIA_FLOAT32] = 4,
                                 [WIA_FLOAT64] = 8,
                                 [WIA_COMPLEX128] = 16};
  return memcmp(element(x, i), element(y, j), sizes[x->layout.dtype]) == 0;
}

static void check_reshape(wia_dtype_t dtype, int mode, uint32_t rank, const int64_t *shape) {
  MAKE(&a, dtype, mode % MODE_COUNT, 6, 4, 5);
  make_array(&c, dtype, mode / MODE_COUNT, rank, shape);
  fill_random(&a);
  const wia_attribute_t attribute = {
      .name = "shape", .data = shape, .type = WIA_ATTRIBUTE_INT64, .count = rank};
  launch_t call = {.op_name = "reshape",
                   .inputs = {&a},
                   .input_count = 1,
                   .output = &c,
                   .attributes = &attribute,
                   .attribute_count = 1};
  CHECK_STATUS(launch(&call), WIA_STATUS_OK);
  for (uint64_t i = 0; i < 120; i++) CHECK(is_same(&a, i, &c, i));
  CHECK(has_margins(&c));
}

static void test_reshape(void) {
  for (uint32_t dtype = 0; dtype < 5; dtype++)
    for (int mode = 0; mode < MODE_COUNT * MODE_COUNT; mode++) {
      check_reshape(moved[dtype], mode, 1, (int64_t[]){120});
      check_reshape(moved[dtype], mode, 2, (int64_t[]){8, 15});
      check_reshape(moved[dtype], mode, 5, (int64_t[]){2, 1, 3, 10, 2});
    }
  make_array(&a, WIA_FLOAT32, PLAIN, 0, NULL);
  MAKE(&c, WIA_FLOAT32, REVERSED, 1, 1);
  fill_random(&a);
  launch_t call = {.op_name = "reshape", .inputs = {&a}, .input_count = 1, .output = &c};
  CHECK_STATUS(launch(&call), WIA_STATUS_OK);
  CHECK(is_same(&a, 0, &c, 0));
  MAKE(&a, WIA_FLOAT32, PLAIN, 0, 3);
  MAKE(&c, WIA_FLOAT32, PLAIN, 5, 0);
  CHECK_STATUS(launch(&call), WIA_STATUS_OK);
  CHECK(has_margins(&c));
}

static void test_transpose(void) {
  static const int64_t order[] = {1, 2, 0};
  const wia_attribute_t attribute = {
      .name = "perm", .data = order, .type = WIA_ATTRIBUTE_INT64, .count = 3};
  for (uint32_t dtype = 0; dtype < 5; dtype++)
    for (int mode = 0; mode < MODE_COUNT * MODE_COUNT; mode++) {
      make_array(&a, moved[dtype], mode % MODE_COUNT, 3, full);
      fill_random(&a);
      launch_t call = {.op_name = "transpose", .inputs = {&a}, .input_count = 1, .output = &c};
      MAKE(&c, moved[dtype], mode / MODE_COUNT, 5, 4, 3);
      CHECK_STATUS(launch(&call), WIA_STATUS_OK);
      for (uint64_t i = 0; i < 60; i++)
        CHECK(is_same(&a, i, &c, i % 5 * 12 + i / 5 % 4 * 3 + i / 20));
      CHECK(has_margins(&c));
      MAKE(&c, moved[dtype], mode / MODE_COUNT, 4, 5, 3);
      call.attributes = &attribute;
      call.attribute_count = 1;
      CHECK_STATUS(launch(&call), WIA_STATUS_OK);
      for (uint64_t i = 0; i < 60; i++)
        CHECK(is_same(&a, i, &c, i / 5 % 4 * 15 + i % 5 * 3 + i / 20));
    }
}

static void test_broadcast(void) {
  for (uint32_t dtype = 0; dtype < 5; dtype++)
    for (int mode = 0; mode < MODE_COUNT * MODE_COUNT; mode++) {
      MAKE(&a, moved[dtype], mode % MODE_COUNT, 4, 1);
      MAKE(&c, moved[dtype], mode / MODE_COUNT, 3, 4, 5);
      fill_random(&a);
      launch_t call = {.op_name = "broadcast", .inputs = {&a}, .input_count = 1, .output = &c};
      CHECK_STATUS(launch(&call), WIA_STATUS_OK);
      for (uint64_t i = 0; i < 60; i++) CHECK(is_same(&a, i / 5 % 4, &c, i));
      CHECK(has_margins(&c));
    }
}

int main(void) {
  test_reshape();
  test_transpose();
  test_broadcast();
  return CHECK_DONE();
}
