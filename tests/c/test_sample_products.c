/* matmul, addmm, linear, conv2d and max_pool2d of the sample driver against plain loops in double.
 */
#include <math.h>

#include "check.h"
#include "sample.h"

static array_t a, b, c, d;

static wia_attribute_t flag(const char *name, const int64_t *value) {
  return (wia_attribute_t){.name = name, .data = value, .type = WIA_ATTRIBUTE_INT64, .count = 1};
}
static wia_attribute_t list(const char *name, const int64_t *values, uint32_t count) {
  return (wia_attribute_t){
      .name = name, .data = values, .type = WIA_ATTRIBUTE_INT64, .count = count};
}
static wia_attribute_t scalar(const char *name, int32_t index) {
  return (wia_attribute_t){
      .name = name, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .scalar = index};
}

/* -- matrix products --------------------------------------------------------------------------- */

typedef struct matrices_t {
  int64_t m, n, k, swap_a, swap_b;
  int mode_a, mode_b, mode_c;
  double alpha, beta;
} matrices_t;

/* c = alpha * a b + beta * c in two batches; the first operand is the same in both. */
static void check_matmul(const matrices_t *x) {
  if (x->swap_a)
    MAKE(&a, WIA_FLOAT32, x->mode_a, x->k, x->m);
  else
    MAKE(&a, WIA_FLOAT32, x->mode_a, x->m, x->k);
  if (x->swap_b)
    MAKE(&b, WIA_FLOAT32, x->mode_b, 2, x->n, x->k);
  else
    MAKE(&b, WIA_FLOAT32, x->mode_b, 2, x->k, x->n);
  MAKE(&c, WIA_FLOAT32, x->mode_c, 2, x->m, x->n);
  MAKE(&d, WIA_FLOAT32, PLAIN, 2, x->m, x->n);
  fill_random(&a);
  fill_random(&b);
  fill_random(&d);
  for (uint64_t i = 0; i < d.layout.element_count; i++)
    *(float *)element(&c, i) = x->beta == 0 ? NAN : *(float *)element(&d, i);
  const wia_attribute_t attributes[] = {flag("transpose_a", &x->swap_a),
                                        flag("transpose_b", &x->swap_b), scalar("alpha", 0),
                                        scalar("beta", 1)};
  const wia_scalar_t scalars[] = {{.f64 = x->alpha}, {.f64 = x->beta}};
  launch_t call = {.op_name = "matmul",
                   .inputs = {&a, &b},
                   .input_count = 2,
                   .output = &c,
                   .attributes = attributes,
                   .attribute_count = 4,
                   .scalars = scalars};
  CHECK_STATUS(launch(&call), WIA_STATUS_OK);
  uint32_t wrong = 0;
  for (int64_t t = 0; t < 2; t++)
    for (int64_t i = 0; i < x->m; i++)
      for (int64_t j = 0; j < x->n; j++) {
        double sum = 0, size = 0;
        for (int64_t p = 0; p < x->k; p++) {
          const double product = (double)(x->swap_a ? AT(float, &a, p, i) : AT(float, &a, i, p)) *
                                 (x->swap_b ? AT(float, &b, t, j, p) : AT(float, &b, t, p, j));
          sum += product;
          size += fabs(product);
        }
        const double expected = x->alpha * sum + x->beta * AT(float, &d, t, i, j);
        size = fabs(x->alpha) * size + fabs(x->beta * AT(float, &d, t, i, j));
        wrong += !is_near(AT(float, &c, t, i, j), expected, (double)x->k + 4, size);
      }
  CHECK(wrong == 0);
  CHECK(has_margins(&c));
}

static void test_matmul(void) {
  static const int64_t sizes[][3] = {{8, 8, 8},  {4, 8, 1}, {5, 9, 7},  {1, 1, 3},
                                     {3, 16, 0}, {0, 4, 2}, {12, 17, 5}};
  for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int mode = 0; mode < MODE_COUNT * MODE_COUNT; mode++)
      for (int swap = 0; swap < 4; swap++)
        check_matmul(&(matrices_t){.m = sizes[i][0],
                                   .n = sizes[i][1],
                                   .k = sizes[i][2],
                                   .swap_a = swap & 1,
                                   .swap_b = swap >> 1,
                                   .mode_a = mode % MODE_COUNT,
                                   .mode_b = mode / MODE_COUNT,
                                   .mode_c = (mode + swap) % MODE_COUNT,
                                   .alpha = swap == 3 ? -0.5 : 1,
                                   .beta = swap == 2 ? 2 : 0});
}

/* One product without a batch, where whole tiles take a path of their own. */
static void check_single(int64_t m, int64_t n, int mode_c, double alpha) {
  const wia_attribute_t attributes[] = {scalar("alpha", 0), scalar("beta", 1)};
  const wia_scalar_t scalars[] = {{.f64 = alpha}, {.f64 = 0}};
  MAKE(&a, WIA_FLOAT32, PLAIN, m, 5);
  MAKE(&b, WIA_FLOAT32, PLAIN, 5, n);
  MAKE(&c, WIA_FLOAT32, mode_c, m, n);
  fill_random(&a);
  fill_random(&b);
  launch_t call = {.op_name = "matmul",
                   .inputs = {&a, &b},
                   .input_count = 2,
                   .output = &c,
                   .attributes = attributes,
                   .attribute_count = 2,
                   .scalars = scalars};
  CHECK_STATUS(launch(&call), WIA_STATUS_OK);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = 0;
      for (int64_t p = 0; p < 5; p++) sum += (double)AT(float, &a, i, p) * AT(float, &b, p, j);
      CHECK(is_near(AT(float, &c, i, j), alpha * sum, 9, 200));
    }
  CHECK(has_margins(&c));
}

static void test_matmul_tiles(void) {
  for (int mode = 0; mode < MODE_COUNT; mode++)
    for (int alpha = 1; alpha < 3; alpha++) {
      check_single(8, 16, mode, alpha);
      check_single(6, 8, mode, alpha);
      check_single(4, 12, mode, alpha);
    }
}

/* Operands of rank 1. */
static double dot(array_t *x, array_t *y, int64_t row, int64_t column) {
  double sum = 0;
  for (int64_t p = 0; p < 8; p++)
    sum += (double)(row < 0 ? AT(float, x, p) : AT(float, x, row, p)) *
           (column < 0 ? AT(float, y, p) : AT(float, y, p, column));
  return sum;
}

static void test_matmul_ranks(void) {
  for (int mode = 0; mode < MODE_COUNT; mode++) {
    MAKE(&a, WIA_FLOAT32, mode, 8);
    MAKE(&b, WIA_FLOAT32, mode, 8, 8);
    MAKE(&c, WIA_FLOAT32, mode, 8);
    fill_random(&a);
    fill_random(&b);
    launch_t call = {.op_name = "matmul", .inputs = {&a, &b}, .input_count = 2, .output = &c};
    CHECK_STATUS(launch(&call), WIA_STATUS_OK);
    for (int64_t j = 0; j < 8; j++) CHECK(is_near(AT(float, &c, j), dot(&a, &b, -1, j), 8, 200));
    call.inputs[0] = &b;
    call.inputs[1] = &a;
    CHECK_STATUS(launch(&call), WIA_STATUS_OK);
    for (int64_t i = 0; i < 8; i++) CHECK(is_near(AT(float, &c, i), dot(&b, &a, i, -1), 8, 200));
    call.inputs[0] = &a;
    make_array(&c, WIA_FLOAT32, PLAIN, 0, NULL);
    CHECK_STATUS(launch(&call), WIA_STATUS_OK);
    CHECK(is_near(*(float *)element(&c, 0), dot(&a, &a, -1, -1), 8, 200));
  }
}

static void test_addmm(void) {
  static const wia_attribute_t *const none = NULL;
  const wia_attribute_t attributes[] = {scalar("alpha", 0), scalar("beta", 1)};
  for (int shape = 0; shape < 4; shape++)
    for (int beta = 0; beta < 2; beta++) {
      const int64_t full[] = {shape == 2 ? 1 : 5, shape == 3 ? 1 : 9};
      make_array(&d, WIA_FLOAT32, shape % MODE_COUNT,
                 shape == 0   ? 0
                 : shape == 1 ? 1
                              : 2,
                 shape == 1 ? full + 1 : full);
      MAKE(&a, WIA_FLOAT32, GAPPED, 5, 3);
      MAKE(&b, WIA_FLOAT32, SWAPPED, 3, 9);
      MAKE(&c, WIA_FLOAT32, PLAIN, 5, 9);
      fill_random(&a);
      fill_random(&b);
      fill_random(&d);
      const wia_scalar_t scalars[] = {{.f64 = 2}, {.f64 = beta * 3}};
      launch_t call = {.op_name = "addmm",
                       .inputs = {&d, &a, &b},
                       .input_count = 3,
                       .output = &c,
                       .attributes = beta ? attributes : none,
                       .attribute_count = beta ? 2 : 0,
                       .scalars = scalars};
      CHECK_STATUS(launch(&call), WIA_STATUS_OK);
      for (int64_t i = 0; i < 5; i++)
        for (int64_t j = 0; j < 9; j++) {
          const int64_t place[] = {shape == 2 ? 0 : i, shape == 3 ? 0 : j};
          const double added = *(float *)element_at(&d, shape == 1 ? place + 1 : place);
          double sum = 0;
          for (int64_t p = 0; p < 3; p++) sum += (double)AT(float, &a, i, p) * AT(float, &b, p, j);
          CHECK(is_near(AT(float, &c, i, j), beta ? 2 * sum + 3 * added : sum + added, 7, 200));
        }
    }
}

static void test_linear(void) {
  for (int mode = 0; mode < MODE_COUNT; mode++)
    for (int bias = 0; bias < 2; bias++) {
      MAKE(&a, WIA_FLOAT32, mode, 2, 5, 7);
      MAKE(&b, WIA_FLOAT32, (mode + 1) % MODE_COUNT, 9, 7);
      MAKE(&d, WIA_FLOAT32, mode, 9);
      MAKE(&c, WIA_FLOAT32, (mode + 2) % MODE_COUNT, 2, 5, 9);
      fill_random(&a);
      fill_random(&b);
      fill_random(&d);
      launch_t call = {.op_name = "linear",
                       .inputs = {&a, &b, bias ? &d : NULL},
                       .input_count = 3,
                       .output = &c};
      CHECK_STATUS(launch(&call), WIA_STATUS_OK);
      for (int64_t t = 0; t < 2; t++)
        for (int64_t i = 0; i < 5; i++)
          for (int64_t o = 0; o < 9; o++) {
            double sum = bias ? AT(float, &d, o) : 0;
            for (int64_t p = 0; p < 7; p++)
              sum += (double)AT(float, &a, t, i, p) * AT(float, &b, o, p);
            CHECK(is_near(AT(float, &c, t, i, o), sum, 9, 200));
          }
      CHECK(has_margins(&c));
    }
  MAKE(&a, WIA_FLOAT32, PLAIN, 7);
  MAKE(&c, WIA_FLOAT32, PLAIN, 9);
  fill_random(&a);
  launch_t call = {.op_name = "linear", .inputs = {&a, &b, NULL}, .input_count = 3, .output = &c};
  CHECK_STATUS(launch(&call), WIA_STATUS_OK);
  double sum = 0;
  for (int64_t p = 0; p < 7; p++) sum += (double)AT(float, &a, p) * AT(float, &b, 8, p);
  CHECK(is_near(AT(float, &c, 8), sum, 9, 200));
}

/* -- images ------------------------------------------------------------------------------------ */

typedef struct window_t {
  int64_t kernel[2], stride[2], padding[4], dilation[2], groups;
} window_t;

static const window_t windows[] = {
    {{3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1}, {{2, 3}, {2, 3}, {0, 0, 0, 0}, {1, 1}, 2},
    {{3, 2}, {1, 2}, {0, 1, 2, 1}, {2, 3}, 4}, {{1, 1}, {3, 1}, {0, 0, 0, 0}, {1, 1}, 1},
    {{7, 5}, {1, 1}, {6, 4, 6, 4}, {1, 1}, 1},
};
enum { WINDOW_COUNT = sizeof windows / sizeof *windows, HEIGHT = 7, WIDTH = 9, CHANNELS = 4 };

static int64_t reach(const window_t *w, int i) {
  const int64_t size = i == 0 ? HEIGHT : WIDTH;
  return (size + w->padding[i] + w->padding[i + 2] - (w->kernel[i] - 1) * w->dilation[i] - 1) /
             w->stride[i] +
         1;
}

/* The position under a tap of the window; false: in the padding. */
static bool find(const window_t *w, int64_t oy, int64_t ox, int64_t ky, int64_t kx, int64_t *y,
                 int64_t *x) {
  *y = oy * w->stride[0] + ky * w->dilation[0] - w->padding[0];
  *x = ox * w->stride[1] + kx * w->dilation[1] - w->padding[1];
  return *y >= 0 && *y < HEIGHT && *x >= 0 && *x < WIDTH;
}

static void check_conv(const window_t *w, int mode, bool bias) {
  const int64_t in = CHANNELS / w->groups, out = 8, height = reach(w, 0), width = reach(w, 1);
  MAKE(&a, WIA_FLOAT32, mode, 2, CHANNELS, HEIGHT, WIDTH);
  MAKE(&b, WIA_FLOAT32, (mode + 1) % MODE_COUNT, out, in, w->kernel[0], w->kernel[1]);
  MAKE(&d, WIA_FLOAT32, mode, out);
  MAKE(&c, WIA_FLOAT32, (mode + 2) % MODE_COUNT, 2, out, height, width);
  fill_random(&a);
  fill_random(&b);
  fill_random(&d);
  const wia_attribute_t attributes[] = {
      list("stride", w->stride, 2), list("padding", w->padding, 4),
      list("dilation", w->dilation, 2), flag("groups", &w->groups)};
  launch_t call = {.op_name = "conv2d",
                   .inputs = {&a, &b, bias ? &d : NULL},
                   .input_count = 3,
                   .output = &c,
                   .attributes = attributes,
                   .attribute_count = 4,
                   .candidate = bias ? "direct" : NULL};
  CHECK_STATUS(launch(&call), WIA_STATUS_OK);
  uint32_t wrong = 0;
  for (int64_t place = 0; place < 2 * out * height * width; place++) {
    const int64_t n = place / (out * height * width), o = place / (height * width) % out;
    const int64_t oy = place / width % height, ox = place % width;
    double sum = bias ? AT(float, &d, o) : 0;
    for (int64_t i = 0; i < in; i++)
      for (int64_t tap = 0; tap < w->kernel[0] * w->kernel[1]; tap++) {
        const int64_t ky = tap / w->kernel[1], kx = tap % w->kernel[1];
        int64_t y, x;
        if (find(w, oy, ox, ky, kx, &y, &x))
          sum += (double)AT(float, &a, n, o / (out / w->groups) * in + i, y, x) *
                 AT(float, &b, o, i, ky, kx);
      }
    wrong += !is_near(AT(float, &c, n, o, oy, ox), sum, 40, 2000);
  }
  CHECK(wrong == 0);
  CHECK(has_margins(&c));
}

static void check_pool(const window_t *w, int mode) {
  const bool steps = w->stride[0] != w->kernel[0] || w->stride[1] != w->kernel[1];
  const int64_t height = reach(w, 0), width = reach(w, 1), ceil = 1;
  MAKE(&a, WIA_FLOAT32, mode, 2, CHANNELS, HEIGHT, WIDTH);
  MAKE(&c, WIA_FLOAT32, (mode + 1) % MODE_COUNT, 2, CHANNELS, height, width);
  fill_random(&a);
  AT(float, &a, 1, 2, 3, 4) = NAN;
  const wia_attribute_t attributes[] = {
      list("kernel", w->kernel, 2), list("padding", w->padding, 4),
      list("dilation", w->dilation, 2), flag("ceil_mode", &ceil), list("stride", w->stride, 2)};
  launch_t call = {.op_name = "max_pool2d",
                   .inputs = {&a},
                   .input_count = 1,
                   .output = &c,
                   .attributes = attributes,
                   .attribute_count = steps ? 5 : 4}; /* its default is the kernel */
  CHECK_STATUS(launch(&call), WIA_STATUS_OK);
  uint32_t wrong = 0;
  for (int64_t place = 0; place < 2 * CHANNELS * height * width; place++) {
    const int64_t n = place / (CHANNELS * height * width), o = place / (height * width) % CHANNELS;
    const int64_t oy = place / width % height, ox = place % width;
    double largest = -INFINITY;
    for (int64_t tap = 0; tap < w->kernel[0] * w->kernel[1]; tap++) {
      int64_t y, x;
      if (!find(w, oy, ox, tap / w->kernel[1], tap % w->kernel[1], &y, &x)) continue;
      const double value = AT(float, &a, n, o, y, x);
      if (isnan(value) || value > largest) largest = value;
    }
    wrong += !is_near(AT(float, &c, n, o, oy, ox), largest, 0, 0);
  }
  CHECK(wrong == 0);
  CHECK(has_margins(&c));
}

static void test_images(void) {
  for (uint32_t i = 0; i < WINDOW_COUNT; i++)
    for (int mode = 0; mode < MODE_COUNT; mode++) {
      check_conv(&windows[i], mode, false);
      check_conv(&windows[i], mode, true);
      check_pool(&windows[i], mode);
    }
}

int main(void) {
  test_matmul();
  test_matmul_tiles();
  test_matmul_ranks();
  test_addmm();
  test_linear();
  test_images();
  return CHECK_DONE();
}
