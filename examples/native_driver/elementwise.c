/* elementwise.c: add, sub, mul, div and relu.
 *
 * Each comes twice: as a plain loop over contiguous operands of one shape, which is what most calls
 * are and what prepare chooses then, and as rows of a walk for all else (broadcasting, strides). */
#include <string.h>

#include "sample.h"

typedef struct plain_t {
  uint64_t count;
} plain_t;

/* Integers wrap: signed overflow is undefined in C, that of unsigned numbers isn't. */
#define WRAP(operator) (int32_t)((uint32_t)x operator(uint32_t) y)

/* X(name, dtype, C type, expression) */
#define BINARY_MAP(X)                                                                              \
  X(add, FLOAT32, float, x + y)                                                                    \
  X(sub, FLOAT32, float, x - y)                                                                    \
  X(mul, FLOAT32, float, x *y)                                                                     \
  X(div, FLOAT32, float, x / y)                                                                    \
  X(add, INT32, int32_t, WRAP(+))                                                                  \
  X(sub, INT32, int32_t, WRAP(-))                                                                  \
  X(mul, INT32, int32_t, WRAP(*))

/* The operands are not restrict: in place, c is a or b. */
#define DEFINE(name, dtype, T, expression)                                                         \
  static inline T name##_##dtype(T x, T y) { return expression; }                                  \
                                                                                                   \
  static wia_status_t plain_##name##_##dtype(void *state, const wia_kernel_args_t *args) {         \
    const T *a = (const T *)sample_pointer(args, 0), *b = (const T *)sample_pointer(args, 1);      \
    T *c = (T *)sample_pointer(args, 2);                                                           \
    const uint64_t count = ((const plain_t *)state)->count;                                        \
    for (uint64_t i = 0; i < count; i++) c[i] = name##_##dtype(a[i], b[i]);                        \
    return WIA_STATUS_OK;                                                                          \
  }                                                                                                \
                                                                                                   \
  static void row_##name##_##dtype(const void *context, char *const *p, const int64_t *s,          \
                                   int64_t count) {                                                \
    (void)context;                                                                                 \
    for (int64_t i = 0; i < count; i++)                                                            \
      *(T *)(p[2] + i * s[2]) =                                                                    \
          name##_##dtype(*(const T *)(p[0] + i * s[0]), *(const T *)(p[1] + i * s[1]));            \
  }
BINARY_MAP(DEFINE)
#undef DEFINE

static const struct {
  const char *name;
  wia_dtype_t dtype;
  wia_kernel_fn_t plain;
  sample_row_fn_t row;
} binaries[] = {
#define ROW(name, dtype, T, expression)                                                            \
  {#name, WIA_##dtype, plain_##name##_##dtype, row_##name##_##dtype},
    BINARY_MAP(ROW)
#undef ROW
};

enum {
  BINARY_COUNT = sizeof binaries / sizeof *binaries,
  FLAGS = SAMPLE_PROMPT | WIA_KERNEL_IN_PLACE
};

/* Contiguous and as many elements as the output: then the shapes differ in ones at most. */
static bool is_plain(const sample_node_t *node, const wia_tensor_layout_t *input) {
  return input->contiguous && node->output->contiguous &&
         input->element_count == node->output->element_count;
}

wia_status_t sample_prepare_binary(sample_node_t *node, wia_driver_kernel_t *out_kernel) {
  const wia_dtype_t dtype = node->output->dtype;
  uint32_t i = 0;
  while (i < BINARY_COUNT - 1 &&
         (binaries[i].dtype != dtype || strcmp(binaries[i].name, node->op_name) != 0))
    i++;
  if (is_plain(node, node->inputs[0]) && is_plain(node, node->inputs[1])) {
    const plain_t plain = {.count = node->output->element_count};
    return sample_finish(node, binaries[i].plain, FLAGS, &plain, sizeof plain, out_kernel);
  }
  const sample_rows_t rows = sample_make_rows(node, binaries[i].row);
  return sample_finish(node, sample_run_rows, FLAGS, &rows, sizeof rows, out_kernel);
}

/* NaN stays NaN, since every comparison with it is false; -0 becomes 0. */
static inline float relu(float x) { return x <= 0 ? 0 : x; }

static wia_status_t plain_relu(void *state, const wia_kernel_args_t *args) {
  const float *a = (const float *)sample_pointer(args, 0);
  float *c = (float *)sample_pointer(args, 1);
  const uint64_t count = ((const plain_t *)state)->count;
  for (uint64_t i = 0; i < count; i++) c[i] = relu(a[i]);
  return WIA_STATUS_OK;
}

static void row_relu(const void *context, char *const *p, const int64_t *s, int64_t count) {
  (void)context;
  for (int64_t i = 0; i < count; i++)
    *(float *)(p[1] + i * s[1]) = relu(*(const float *)(p[0] + i * s[0]));
}

wia_status_t sample_prepare_relu(sample_node_t *node, wia_driver_kernel_t *out_kernel) {
  if (is_plain(node, node->inputs[0])) {
    const plain_t plain = {.count = node->output->element_count};
    return sample_finish(node, plain_relu, FLAGS, &plain, sizeof plain, out_kernel);
  }
  const sample_rows_t rows = sample_make_rows(node, row_relu);
  return sample_finish(node, sample_run_rows, FLAGS, &rows, sizeof rows, out_kernel);
}
