/* cast.c: converts elements. Float to integer goes towards zero, what is out of range becomes the
 * nearest end of it and NaN becomes 0; integer to integer keeps the low bits. */
#include "sample.h"

/* Converting a float that doesn't fit is undefined in C, so it is decided here. The value above the
 * range is a power of two and hence exact as a float, which that at its end isn't. */
#define DEFINE_SATURATE(T, minimum, maximum, above)                                                \
  static inline T saturate_##T(float x) {                                                          \
    if (x != x) return 0;                                                                          \
    return x < (float)(minimum) ? (minimum) : x >= (above) ? (maximum) : (T)x;                     \
  }
DEFINE_SATURATE(int32_t, INT32_MIN, INT32_MAX, 0x1p31F)
DEFINE_SATURATE(int64_t, INT64_MIN, INT64_MAX, 0x1p63F)
DEFINE_SATURATE(uint8_t, 0, UINT8_MAX, 0x1p8F)

/* X(from dtype, C type, to dtype, C type, conversion) */
#define CAST_MAP(X)                                                                                \
  X(FLOAT32, float, FLOAT32, float, )                                                              \
  X(FLOAT32, float, INT32, int32_t, saturate_int32_t)                                              \
  X(FLOAT32, float, INT64, int64_t, saturate_int64_t)                                              \
  X(FLOAT32, float, UINT8, uint8_t, saturate_uint8_t)                                              \
  X(INT32, int32_t, FLOAT32, float, (float))                                                       \
  X(INT32, int32_t, INT32, int32_t, )                                                              \
  X(INT32, int32_t, INT64, int64_t, )                                                              \
  X(INT32, int32_t, UINT8, uint8_t, (uint8_t))                                                     \
  X(INT64, int64_t, FLOAT32, float, (float))                                                       \
  X(INT64, int64_t, INT32, int32_t, (int32_t)(uint32_t))                                           \
  X(INT64, int64_t, INT64, int64_t, )                                                              \
  X(INT64, int64_t, UINT8, uint8_t, (uint8_t))                                                     \
  X(UINT8, uint8_t, FLOAT32, float, (float))                                                       \
  X(UINT8, uint8_t, INT32, int32_t, )                                                              \
  X(UINT8, uint8_t, INT64, int64_t, )                                                              \
  X(UINT8, uint8_t, UINT8, uint8_t, )

#define DEFINE_ROW(from, From, to, To, convert)                                                    \
  static void cast_##from##_##to(const void *context, char *const *p, const int64_t *s,            \
                                 int64_t count) {                                                  \
    (void)context;                                                                                 \
    for (int64_t i = 0; i < count; i++)                                                            \
      *(To *)(p[1] + i * s[1]) = convert(*(const From *)(p[0] + i * s[0]));                        \
  }
CAST_MAP(DEFINE_ROW)

static const struct {
  wia_dtype_t from, to;
  sample_row_fn_t row;
} casts[] = {
#define ROW(from, From, to, To, convert) {WIA_##from, WIA_##to, cast_##from##_##to},
    CAST_MAP(ROW)
#undef ROW
};

wia_status_t sample_prepare_cast(sample_node_t *node, wia_driver_kernel_t *out_kernel) {
  const wia_dtype_t from = node->inputs[0]->dtype, to = node->output->dtype;
  sample_skip_attribute(node, "dtype");
  for (uint32_t i = 0; i < sizeof casts / sizeof *casts; i++) {
    if (casts[i].from != from || casts[i].to != to) continue;
    const sample_rows_t rows = sample_make_rows(node, casts[i].row);
    return sample_finish(node, sample_run_rows, SAMPLE_PROMPT | WIA_KERNEL_IN_PLACE, &rows,
                         sizeof rows, out_kernel);
  }
  return sample_fail(node->error, WIA_STATUS_UNIMPLEMENTED, "cast has no kernel from %s to %s",
                     sample_dtype_name(from), sample_dtype_name(to));
}
