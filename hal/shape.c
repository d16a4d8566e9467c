/* shape.c: what the shape and dtype rules are made of. */
#include "shape.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const wia__attribute_spec_t *find_spec(const wia__op_t *op, const char *name) {
  for (uint32_t i = 0; i < op->attribute_count; i++)
    if (strcmp(op->attributes[i].name, name) == 0) return &op->attributes[i];
  assert(!"a rule reads an attribute that its operation doesn't have");
  return NULL;
}

int64_t wia__attribute(const wia__infer_t *call, const char *name) {
  return call->words[find_spec(call->op, name)->word].i64;
}

double wia__attribute_f64(const wia__infer_t *call, const char *name) {
  return call->words[find_spec(call->op, name)->word].f64;
}

const wia_scalar_t *wia__attribute_list(const wia__infer_t *call, const char *name,
                                        uint32_t *out_count) {
  const wia__attribute_spec_t *spec = find_spec(call->op, name);
  const wia_scalar_t *words = call->words + spec->word;
  if (!spec->variable) {
    *out_count = spec->count;
    return words;
  }
  *out_count = words[0].i64 < 0 ? 0 : (uint32_t)words[0].i64;
  return words[0].i64 < 0 ? NULL : words + 1;
}

const char *wia__format_shape(char *text, const int64_t *shape, uint32_t rank) {
  size_t length = (size_t)snprintf(text, WIA__SHAPE_TEXT, "[");
  for (uint32_t i = 0; i < rank; i++)
    length += (size_t)snprintf(text + length, WIA__SHAPE_TEXT - length, "%s%" PRId64, i ? ", " : "",
                               shape[i]);
  snprintf(text + length, WIA__SHAPE_TEXT - length, "]");
  return text;
}

wia_status_t wia__set_output(const wia__infer_t *call, wia_dtype_t dtype, const int64_t *shape,
                             uint32_t rank) {
  return wia__set_output_at(call, 0, dtype, shape, rank);
}

wia_status_t wia__set_output_like(const wia__infer_t *call, uint32_t input) {
  call->outputs[0] = call->inputs[input];
  return WIA_STATUS_OK;
}

wia_status_t wia__set_output_at(const wia__infer_t *call, uint32_t index, wia_dtype_t dtype,
                                const int64_t *shape, uint32_t rank) {
  char text[WIA__SHAPE_TEXT];
  assert(rank <= WIA_MAX_RANK); /* no rule makes more dimensions than an operand has */
  uint64_t count = 1;
  bool overflow = false, empty = false;
  for (uint32_t i = 0; i < rank; i++) {
    empty |= shape[i] == 0;
    if (shape[i]) overflow |= __builtin_mul_overflow(count, (uint64_t)shape[i], &count);
  }
  const uint64_t bits = wia_get_dtype_bits(dtype);
  if (!empty && (overflow || count > (uint64_t)INT64_MAX / bits))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: the result would have the shape %s, whose size in bytes overflows",
                     call->op->name, wia__format_shape(text, shape, rank));
  wia_shape_t output = {.dtype = dtype, .rank = rank};
  if (rank) memcpy(output.shape, shape, rank * sizeof *shape);
  call->outputs[index] = output;
  return WIA_STATUS_OK;
}

wia_status_t wia__expect_rank(const wia__infer_t *call, uint32_t index, uint32_t minimum,
                              uint32_t maximum) {
  char text[WIA__SHAPE_TEXT], expected[40];
  const wia_shape_t *input = &call->inputs[index];
  if (input->rank >= minimum && input->rank <= maximum) return WIA_STATUS_OK;
  if (minimum == maximum)
    snprintf(expected, sizeof expected, "rank %u", minimum);
  else if (maximum == WIA_MAX_RANK)
    snprintf(expected, sizeof expected, "rank %u or more", minimum);
  else
    snprintf(expected, sizeof expected, "rank %u to %u", minimum, maximum);
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: %s has the shape %s, of rank %u; expected %s",
                   call->op->name, call->op->operand_names[index],
                   wia__format_shape(text, input->shape, input->rank), input->rank, expected);
}

wia_status_t wia__expect_shape(const wia__infer_t *call, uint32_t index, const int64_t *shape,
                               uint32_t rank) {
  char given[WIA__SHAPE_TEXT], expected[WIA__SHAPE_TEXT];
  const wia_shape_t *input = &call->inputs[index];
  if (input->rank == rank && memcmp(input->shape, shape, rank * sizeof *shape) == 0)
    return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: %s has the shape %s; expected %s",
                   call->op->name, call->op->operand_names[index],
                   wia__format_shape(given, input->shape, input->rank),
                   wia__format_shape(expected, shape, rank));
}

wia_status_t wia__expect_dtype(const wia__infer_t *call, uint32_t index, wia_dtype_t expected) {
  const wia_shape_t *input = &call->inputs[index];
  if (input->dtype == expected) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: %s has dtype %s; expected %s, because %s is %s (see wia_cast)",
                   call->op->name, call->op->operand_names[index], wia_get_dtype_name(input->dtype),
                   wia_get_dtype_name(expected), call->op->operand_names[0],
                   wia_get_dtype_name(call->inputs[0].dtype));
}

wia_status_t wia__expect_axis(const wia__infer_t *call, const char *name, int64_t axis,
                              uint32_t rank, uint32_t *out_axis) {
  const int64_t limit = (int64_t)rank;
  if (axis >= -limit && axis < limit) {
    *out_axis = (uint32_t)(axis < 0 ? axis + limit : axis);
    return WIA_STATUS_OK;
  }
  if (rank == 0)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: %s is %" PRId64 ", but %s has rank 0 and no dimension to name",
                     call->op->name, name, axis, call->op->operand_names[0]);
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: %s is %" PRId64 "; %s has rank %u, so expected %" PRId64 " to %" PRId64,
                   call->op->name, name, axis, call->op->operand_names[0], rank, -limit, limit - 1);
}

wia_status_t wia__read_axis(const wia__infer_t *call, uint32_t rank, uint32_t *out_axis) {
  return wia__expect_axis(call, "axis", wia__attribute(call, "axis"), rank, out_axis);
}

wia_status_t wia__new_axis(const wia__infer_t *call, uint32_t rank, uint32_t *out_axis) {
  const int64_t axis = wia__attribute(call, "axis"), limit = (int64_t)rank + 1;
  if (axis < -limit || axis >= limit)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: axis is %" PRId64 "; the output has rank %" PRId64
                     ", so expected %" PRId64 " to %" PRId64,
                     call->op->name, axis, limit, -limit, limit - 1);
  *out_axis = (uint32_t)(axis < 0 ? axis + limit : axis);
  return WIA_STATUS_OK;
}

wia_status_t wia__wanted_shape(const wia__infer_t *call, wia_shape_t *out_target) {
  uint32_t count;
  const wia_scalar_t *sizes = wia__attribute_list(call, "shape", &count);
  if (!sizes && !call->given)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: no shape is given; set the attribute shape, or give an output",
                     call->op->name);
  if (!sizes) {
    *out_target = call->given[0];
    return WIA_STATUS_OK;
  }
  *out_target = (wia_shape_t){.rank = count};
  for (uint32_t i = 0; i < count; i++) out_target->shape[i] = sizes[i].i64;
  return WIA_STATUS_OK;
}

wia_status_t wia__wanted_dtype(const wia__infer_t *call, wia_dtype_t *out_dtype) {
  *out_dtype = (wia_dtype_t)wia__attribute(call, "dtype");
  if (*out_dtype == WIA_DTYPE_NONE && call->given) *out_dtype = call->given[0].dtype;
  if (*out_dtype != WIA_DTYPE_NONE) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: no dtype is given; set the attribute dtype, or give an output",
                   call->op->name);
}

wia_status_t wia__count_elements(const wia__infer_t *call, const wia_shape_t *shape,
                                 int64_t *out_count) {
  int64_t count = 1;
  bool overflow = false, empty = false;
  for (uint32_t i = 0; i < shape->rank; i++) {
    empty |= shape->shape[i] == 0;
    if (shape->shape[i]) overflow |= __builtin_mul_overflow(count, shape->shape[i], &count);
  }
  *out_count = empty ? 0 : count;
  if (empty || !overflow) return WIA_STATUS_OK;
  char text[WIA__SHAPE_TEXT];
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: the shape %s has more elements than 63 bits can count", call->op->name,
                   wia__format_shape(text, shape->shape, shape->rank));
}

bool wia__broadcast_shape(wia_shape_t *a, const int64_t *shape, uint32_t rank) {
  wia_shape_t result = {.dtype = a->dtype, .rank = rank > a->rank ? rank : a->rank};
  for (uint32_t i = 1; i <= result.rank; i++) {
    const int64_t left = i <= a->rank ? a->shape[a->rank - i] : 1;
    const int64_t right = i <= rank ? shape[rank - i] : 1;
    if (left != right && left != 1 && right != 1) return false;
    result.shape[result.rank - i] = left == 1 ? right : left;
  }
  *a = result;
  return true;
}

wia_dtype_t wia__product_dtype(wia_dtype_t dtype) {
  return dtype == WIA_INT8 || dtype == WIA_UINT8 ? WIA_INT32 : dtype;
}
