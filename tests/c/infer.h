/* infer.h: shape rules under test: queries written as lists. */
#ifndef TEST_INFER_H
#define TEST_INFER_H

#include "check.h"

#define COUNT_OF(array) ((uint32_t)(sizeof(array) / sizeof(array)[0]))

/* S(FLOAT32, 2, 3) is [2, 3]; R0(FLOAT32) is of rank 0; ABSENT is an input that is left out. */
#define S(dtype_, ...)                                                                             \
  ((wia_shape_t){.dtype = WIA_##dtype_,                                                            \
                 .rank = COUNT_OF(((int64_t[]){__VA_ARGS__})),                                     \
                 .shape = {__VA_ARGS__}})
#define R0(dtype_) ((wia_shape_t){.dtype = WIA_##dtype_})
#define ABSENT ((wia_shape_t){0})

/* One attribute: INTS("stride", 2, 1), FLOATS("scales", 0.5), or a dtype. */
#define INTS(name_, ...)                                                                           \
  ((wia_attribute_t){.name = (name_),                                                              \
                     .data = (int64_t[]){__VA_ARGS__},                                             \
                     .type = WIA_ATTRIBUTE_INT64,                                                  \
                     .count = COUNT_OF(((int64_t[]){__VA_ARGS__}))})
#define FLOATS(name_, ...)                                                                         \
  ((wia_attribute_t){.name = (name_),                                                              \
                     .data = (double[]){__VA_ARGS__},                                              \
                     .type = WIA_ATTRIBUTE_FLOAT64,                                                \
                     .count = COUNT_OF(((double[]){__VA_ARGS__}))})
#define DTYPE(value)                                                                               \
  ((wia_attribute_t){                                                                              \
      .name = "dtype", .data = (int32_t[]){value}, .type = WIA_ATTRIBUTE_DTYPE, .count = 1})

/* Lists in brackets of their own. */
#define LIST(...) (wia_shape_t[]){__VA_ARGS__}, COUNT_OF(((wia_shape_t[]){__VA_ARGS__}))
#define WITH(...) (wia_attribute_t[]){__VA_ARGS__}, COUNT_OF(((wia_attribute_t[]){__VA_ARGS__}))
#define NO_ATTRIBUTES NULL, 0

/* All outputs of an operation; the first one is looked at. */
static inline wia_status_t infer_all(wia_op_t op, wia_shape_t *out_first, const wia_shape_t *inputs,
                                     uint32_t input_count, const wia_attribute_t *attributes,
                                     uint32_t attribute_count) {
  wia_shape_t shapes[WIA_MAX_OPERANDS] = {*out_first};
  wia_op_info_t info = WIA_OP_INFO_INIT;
  wia_get_op_info(op, &info);
  const wia_status_t status = wia_infer_outputs(op, inputs, input_count, attributes,
                                                attribute_count, shapes, info.output_count);
  *out_first = shapes[0];
  return status;
}

static inline void check_infer(const char *file, int line, wia_op_t op, wia_shape_t expected,
                               const wia_shape_t *inputs, uint32_t input_count,
                               const wia_attribute_t *attributes, uint32_t attribute_count) {
  wia_shape_t got = {.rank = 99};
  if (!check_status(infer_all(op, &got, inputs, input_count, attributes, attribute_count),
                    WIA_STATUS_OK, file, line, "the rule accepts it"))
    return;
  const bool same = got.dtype == expected.dtype && got.rank == expected.rank &&
                    memcmp(got.shape, expected.shape, got.rank * sizeof got.shape[0]) == 0;
  if (check_report(same, file, line, "the shape and dtype are the expected ones")) return;
  printf("  gave %s [", wia_get_dtype_name(got.dtype));
  for (uint32_t i = 0; i < got.rank; i++) printf(" %lld", (long long)got.shape[i]);
  printf(" ]\n");
}
/* The rule of WIA_OP_<op> gives expected: GIVES(RELU, S(FLOAT32, 2), LIST(S(FLOAT32, 2)), NO_ATTRIBUTES). */
#define GIVES(op, expected, ...) check_infer(__FILE__, __LINE__, WIA_OP_##op, expected, __VA_ARGS__)

static inline void check_refusal(const char *file, int line, wia_op_t op, const char *part,
                                 const wia_shape_t *inputs, uint32_t input_count,
                                 const wia_attribute_t *attributes, uint32_t attribute_count) {
  wia_shape_t got = {.rank = 99};
  check_status(infer_all(op, &got, inputs, input_count, attributes, attribute_count),
               WIA_STATUS_INVALID_ARGUMENT, file, line, "the rule refuses it");
  check_report(got.rank == 99, file, line, "nothing is written on failure");
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  wia_get_last_error(&info);
  check_text(info.message, part, file, line);
}
/* It refuses, with a message that has this part. */
#define REFUSES(op, part, ...) check_refusal(__FILE__, __LINE__, WIA_OP_##op, part, __VA_ARGS__)

#endif
