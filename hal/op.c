/* op.c: the shape and dtype rule of an operation, with the checks that all rules share. */
#include "op.h"

#include <stdio.h>
#include <string.h>

#include "layout.h"
#include "object.h"

static bool is_absent(const wia_shape_t *shape) { return shape->dtype == WIA_DTYPE_NONE; }

static wia_status_t refuse_dtype(const wia__op_t *op, uint64_t dtypes, wia_dtype_t given,
                                 const char *operand) {
  char list[512] = "";
  for (wia_dtype_t dtype = 1; dtype < WIA_DTYPE_COUNT; dtype++) {
    if (!(dtypes >> dtype & 1)) continue;
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", wia_get_dtype_name(dtype));
  }
  if (operand)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: %s has dtype %s; expected one of %s",
                     op->name, operand, wia_get_dtype_name(given), list);
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s is not defined for %s; expected one of %s",
                   op->name, wia_get_dtype_name(given), list);
}

/* An input against its own dtypes, or against the one that leads. */
static wia_status_t check_dtype(const wia__op_t *op, const wia_shape_t *inputs, uint32_t i) {
  const wia_dtype_t dtype = inputs[i].dtype;
  const uint64_t own = op->operand_dtypes ? op->operand_dtypes[i] : 0;
  if (own)
    return own >> dtype & 1 ? WIA_STATUS_OK : refuse_dtype(op, own, dtype, op->operand_names[i]);
  const wia_dtype_t expected = inputs[op->dtype_input].dtype;
  if (!op->same_dtype || dtype == expected) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: %s is %s and %s is %s; dtypes must be equal, so cast one of them", op->name,
                   op->operand_names[op->dtype_input], wia_get_dtype_name(expected),
                   op->operand_names[i], wia_get_dtype_name(dtype));
}

static wia_status_t check_inputs(const wia__op_t *op, const wia_shape_t *inputs,
                                 uint32_t input_count) {
  if (input_count < op->min_input_count || input_count > op->max_input_count)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s has %u inputs; expected %u to %u", op->name,
                     input_count, op->min_input_count, op->max_input_count);
  for (uint32_t i = 0; i < input_count; i++) {
    if (is_absent(&inputs[i])) {
      if (i >= op->min_input_count) continue;
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: the input %s can't be left out", op->name,
                       op->operand_names[i]);
    }
    const wia_status_t status = wia__check_shape(inputs[i].dtype, inputs[i].shape, inputs[i].rank);
    if (status) return status;
  }
  for (uint32_t i = 0; i < input_count; i++) {
    const wia_status_t status = is_absent(&inputs[i]) ? WIA_STATUS_OK : check_dtype(op, inputs, i);
    if (status) return status;
  }
  if (op->dtype_input == WIA__NO_INPUT) return WIA_STATUS_OK; /* the first output leads */
  const wia_dtype_t dtype = inputs[op->dtype_input].dtype;
  return op->dtypes >> dtype & 1 ? WIA_STATUS_OK : refuse_dtype(op, op->dtypes, dtype, NULL);
}

/* How many outputs the rule has made: the first ones. */
static uint32_t count_made(const wia__op_t *op, const wia_shape_t *outputs) {
  uint32_t count = 0;
  while (count < op->output_count && !is_absent(&outputs[count])) count++;
  return count;
}

static wia_status_t check_given(const wia__op_t *op, const wia_shape_t *given,
                                const wia_shape_t *expected) {
  for (uint32_t i = 0; i < op->output_count; i++) {
    const char *name = op->operand_names[op->max_input_count + i];
    if (is_absent(&given[i])) {
      if (i >= op->min_output_count) continue;
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: the output %s can't be left out", op->name,
                       name);
    }
    if (is_absent(&expected[i]))
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: the output %s is given; expected %u outputs for these attributes",
                       op->name, name, count_made(op, expected));
    if (given[i].dtype != expected[i].dtype)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: the output %s is %s; expected %s",
                       op->name, name, wia_get_dtype_name(given[i].dtype),
                       wia_get_dtype_name(expected[i].dtype));
    if (given[i].rank == expected[i].rank &&
        memcmp(given[i].shape, expected[i].shape, given[i].rank * sizeof given[i].shape[0]) == 0)
      continue;
    char was[WIA__SHAPE_TEXT], wanted[WIA__SHAPE_TEXT];
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: the output %s has shape %s; expected %s",
                     op->name, name, wia__format_shape(was, given[i].shape, given[i].rank),
                     wia__format_shape(wanted, expected[i].shape, expected[i].rank));
  }
  return WIA_STATUS_OK;
}

wia_status_t wia__infer(const wia__op_t *op, const wia_shape_t *inputs, uint32_t input_count,
                        const wia_scalar_t *words, const wia_shape_t *given, uint32_t given_count,
                        wia_shape_t *out_shapes) {
  wia_status_t status = check_inputs(op, inputs, input_count);
  if (status) return status;
  const wia_shape_t *outputs = given_count ? given : NULL;
  for (uint32_t i = 0; i < given_count; i++) {
    if (is_absent(&given[i])) continue;
    status = wia__check_shape(given[i].dtype, given[i].shape, given[i].rank);
    if (status) return status;
  }
  memset(out_shapes, 0, op->output_count * sizeof *out_shapes);
  /* Rules may look at every input that the operation has: the caller's array ends where it says. */
  wia_shape_t all[WIA_MAX_OPERANDS] = {0};
  if (input_count) memcpy(all, inputs, input_count * sizeof *inputs);
  const wia__infer_t call = {.op = op,
                             .inputs = all,
                             .input_count = input_count,
                             .given_count = given_count,
                             .words = words,
                             .given = outputs,
                             .outputs = out_shapes};
  status = op->infer(&call);
  if (!status && op->dtype_input == WIA__NO_INPUT && !(op->dtypes >> out_shapes[0].dtype & 1))
    status = refuse_dtype(op, op->dtypes, out_shapes[0].dtype, NULL);
  if (!status && outputs) status = check_given(op, outputs, out_shapes);
  return status;
}

static wia_status_t infer_outputs(wia_op_t number, const wia_shape_t *inputs, uint32_t input_count,
                                  const wia_attribute_t *attributes, uint32_t attribute_count,
                                  wia_shape_t *out_shapes, uint32_t output_count) {
  const wia__op_t *op = NULL;
  wia_status_t status = wia__resolve_op(number, &op);
  if (status) return status;
  if (!inputs && input_count) return wia__null("inputs");
  if (!out_shapes) return wia__null("out_shapes");
  if (output_count < op->min_output_count || output_count > op->output_count)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s has %u outputs; output_count is %u", op->name,
                     op->output_count, output_count);
  wia_scalar_t words[WIA__MAX_WORDS], scalars[WIA__MAX_SCALARS];
  status = wia__words_of_attributes(op, attributes, attribute_count, words, scalars);
  if (status) return status;
  wia_shape_t shapes[WIA_MAX_OPERANDS];
  status = wia__infer(op, inputs, input_count, words, NULL, 0, shapes);
  if (!status) memcpy(out_shapes, shapes, output_count * sizeof *shapes);
  return status;
}

WIA_API wia_status_t wia_infer_outputs(wia_op_t op, const wia_shape_t *inputs, uint32_t input_count,
                                       const wia_attribute_t *attributes, uint32_t attribute_count,
                                       wia_shape_t *out_shapes, uint32_t output_count) {
  WIA__CALL(infer_outputs(op, inputs, input_count, attributes, attribute_count, out_shapes,
                          output_count));
}

wia_status_t wia__resolve_op(wia_op_t number, const wia__op_t **out_op) {
  *out_op = wia__get_op(number);
  if (*out_op) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "op is %d; expected a constant WIA_OP_* of this library, which knows %u "
                   "operations, or a number "
                   "that wia_register_op() gave",
                   (int)number, wia__op_count);
}
