/* shape_quantized.c: rules of matrix products with zero points. */
#include "shape_quantized.h"

#include <inttypes.h>

static bool has_one(const wia_shape_t *input) {
  return input->rank == 0 || (input->rank == 1 && input->shape[0] == 1);
}

wia_status_t wia__expect_one(const wia__infer_t *call, uint32_t index) {
  char text[WIA__SHAPE_TEXT];
  const wia_shape_t *input = &call->inputs[index];
  if (!wia__has_input(call, index) || has_one(input)) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: %s has the shape %s; expected one element, [] or [1]", call->op->name,
                   call->op->operand_names[index],
                   wia__format_shape(text, input->shape, input->rank));
}

wia_status_t wia__expect_one_or_each(const wia__infer_t *call, uint32_t index, int64_t count) {
  char text[WIA__SHAPE_TEXT];
  const wia_shape_t *input = &call->inputs[index];
  if (!wia__has_input(call, index) || has_one(input) ||
      (input->rank == 1 && input->shape[0] == count))
    return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: %s has the shape %s; expected one element, [] or [1], or [%" PRId64 "]",
                   call->op->name, call->op->operand_names[index],
                   wia__format_shape(text, input->shape, input->rank), count);
}

wia_status_t wia__expect_zero_dtype(const wia__infer_t *call, uint32_t zero, uint32_t owner) {
  const wia_dtype_t expected = call->inputs[owner].dtype;
  if (!wia__has_input(call, zero) || call->inputs[zero].dtype == expected) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: %s has dtype %s; expected %s, that of %s",
                   call->op->name, call->op->operand_names[zero],
                   wia_get_dtype_name(call->inputs[zero].dtype), wia_get_dtype_name(expected),
                   call->op->operand_names[owner]);
}

wia_status_t wia__infer_matmul_integer(const wia__infer_t *call) {
  const wia_shape_t *a = &call->inputs[0], *b = &call->inputs[1];
  wia_status_t status = wia__set_product(call, 0, 1, WIA_INT32);
  if (!status) status = wia__expect_one_or_each(call, 2, a->rank > 1 ? a->shape[a->rank - 2] : 1);
  if (!status) status = wia__expect_one_or_each(call, 3, b->rank > 1 ? b->shape[b->rank - 1] : 1);
  return status ? status : wia__expect_zero_dtype(call, 3, 1);
}

wia_status_t wia__infer_qlinear_matmul(const wia__infer_t *call) {
  const wia_shape_t *a = &call->inputs[0], *b = &call->inputs[3];
  const int64_t rows = a->rank > 1 ? a->shape[a->rank - 2] : 1;
  const int64_t columns = b->rank > 1 ? b->shape[b->rank - 1] : 1;
  wia_status_t status = wia__set_product(call, 0, 3, call->inputs[7].dtype);
  for (uint32_t i = 1; !status && i < 3; i++) status = wia__expect_one_or_each(call, i, rows);
  for (uint32_t i = 4; !status && i < 6; i++) status = wia__expect_one_or_each(call, i, columns);
  for (uint32_t i = 6; !status && i < 8; i++) status = wia__expect_one(call, i);
  return status ? status : wia__expect_zero_dtype(call, 5, 3);
}
