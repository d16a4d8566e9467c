/* custom_infer.c: shape and dtype rules of registered operations. */
#include <stdio.h>
#include <string.h>

#include "custom.h"
#include "layout.h"
#include "object.h"
#include "shape.h"

/* -- a function of the operation's own ----------------------------------------------------------- */

/* What a shape function says of one output has to be a shape, whose bytes can be counted. */
static wia_status_t check_said(const wia__infer_t *call, uint32_t i, const wia_shape_t *said) {
  const wia__op_t *op = call->op;
  const char *output = op->operand_names[op->max_input_count + i];
  wia_status_t status = WIA_STATUS_INVALID_ARGUMENT;
  const char *why = "no dtype of this library";
  if (said->dtype > WIA_DTYPE_NONE && said->dtype < WIA_DTYPE_COUNT) {
    status = wia__check_shape(said->dtype, said->shape, said->rank);
    if (!status) return wia__set_output_at(call, i, said->dtype, said->shape, said->rank);
    why = said->rank > WIA_MAX_RANK ? "a rank above 8" : "a size below 0";
  }
  return wia__fail(
      WIA_STATUS_INTERNAL,
      "%s: its shape function gave the output %s dtype %d and rank %u, which has %s: a "
      "defect of the function",
      op->name, output, (int)said->dtype, said->rank, why);
}

uint32_t wia__give_attributes(const wia__op_t *op, const wia_scalar_t *words,
                              wia_attribute_t out[WIA__MAX_WORDS], int32_t dtypes[WIA__MAX_WORDS]) {
  for (uint32_t i = 0; i < op->attribute_count; i++) {
    const wia__attribute_spec_t *spec = &op->attributes[i];
    const wia_scalar_t *word = words + spec->word;
    out[i] = (wia_attribute_t){.name = spec->name,
                               .type = spec->type,
                               .count = spec->count,
                               .scalar = -1,
                               .data = word + spec->variable};
    if (spec->variable) {
      out[i].count = word->i64 < 0 ? 0 : (uint32_t)word->i64;
      if (word->i64 < 0) out[i].data = NULL;
    } else if (spec->type == WIA_ATTRIBUTE_DTYPE) {
      dtypes[i] = (int32_t)word->i64;
      out[i].data = &dtypes[i];
    }
  }
  return op->attribute_count;
}

wia_status_t wia__infer_custom(const wia__infer_t *call) {
  const wia__op_t *op = call->op;
  const wia__custom_t *custom = wia__custom_of(op);
  wia_shape_t inputs[WIA_MAX_OPERANDS] = {{0}}, said[WIA_MAX_OPERANDS] = {{0}};
  wia_attribute_t attributes[WIA__MAX_WORDS];
  int32_t dtypes[WIA__MAX_WORDS];
  if (call->input_count) memcpy(inputs, call->inputs, call->input_count * sizeof *inputs);
  const wia_infer_args_t args = {.struct_size = sizeof args,
                                 .input_count = op->max_input_count,
                                 .inputs = inputs,
                                 .outputs = call->given,
                                 .attributes = attributes,
                                 .output_count = op->output_count,
                                 .attribute_count =
                                     wia__give_attributes(op, call->words, attributes, dtypes)};
  wia_error_t error;
  wia__init_error(&error);
  wia__thread_t *self = wia__thread();
  const char *function = self->function;
  wia__leave(self);
  wia_status_t status = custom->infer(custom->context, &args, said, &error);
  wia__rejoin(self);
  self->function = function;
  if (status) return wia__take_error(&error, status, NULL, "%s", op->name);
  wia__drop_error(&error);
  for (uint32_t i = 0; i < op->output_count && !status; i++) status = check_said(call, i, &said[i]);
  return status;
}

/* -- a rule of the catalog ----------------------------------------------------------------------- */

static wia__attribute_spec_t *find_spec(const wia__op_t *op, wia__attribute_spec_t *specs,
                                        const char *name) {
  for (uint32_t i = 0; i < op->attribute_count; i++)
    if (strcmp(specs[i].name, name) == 0) return &specs[i];
  return NULL;
}

static bool is_within(const wia__attribute_spec_t *inner, const wia__attribute_spec_t *outer) {
  if (outer->type == WIA_ATTRIBUTE_FLOAT64)
    return inner->minimum.f64 >= outer->minimum.f64 && inner->maximum.f64 <= outer->maximum.f64;
  return inner->minimum.i64 >= outer->minimum.i64 && inner->maximum.i64 <= outer->maximum.i64;
}

/* Why an operation can't have the rule of another one; "" when it can. */
static void compare(const wia__op_t *op, const wia__op_t *model, wia__attribute_spec_t *specs,
                    const bool *bounded, char out_reason[WIA__SHAPE_TEXT]) {
  *out_reason = '\0';
  if (op->min_input_count < model->min_input_count ||
      op->max_input_count > model->max_input_count || op->output_count != model->output_count)
    snprintf(out_reason, WIA__SHAPE_TEXT, "%u to %u inputs and %u outputs", model->min_input_count,
             model->max_input_count, model->output_count);
  else if ((op->dtype_input == WIA__NO_INPUT) != (model->dtype_input == WIA__NO_INPUT))
    snprintf(out_reason, WIA__SHAPE_TEXT, "%s",
             model->dtype_input == WIA__NO_INPUT ? "no input without dtypes of its own"
                                                 : "an input without dtypes of its own");
  for (uint32_t i = 0; i < model->attribute_count && !*out_reason; i++) {
    const wia__attribute_spec_t *wanted = &model->attributes[i];
    if (wanted->option) continue; /* no rule reads it */
    const wia__attribute_spec_t *spec = find_spec(op, specs, wanted->name);
    if (!spec || spec->type != wanted->type || spec->variable != wanted->variable ||
        (wanted->variable ? spec->count > wanted->count : spec->count != wanted->count) ||
        (bounded[spec - specs] && !is_within(spec, wanted)))
      snprintf(out_reason, WIA__SHAPE_TEXT,
               "the attribute %s, %s of %u, inside the bounds that it has there", wanted->name,
               wanted->variable ? "a list" : "a value", wanted->count);
  }
}

static void take_bounds(const wia__op_t *op, const wia__op_t *model, wia__attribute_spec_t *specs,
                        const bool *bounded) {
  for (uint32_t i = 0; i < model->attribute_count; i++) {
    wia__attribute_spec_t *spec = find_spec(op, specs, model->attributes[i].name);
    if (!spec || bounded[spec - specs]) continue;
    spec->minimum = model->attributes[i].minimum;
    spec->maximum = model->attributes[i].maximum;
  }
}

wia_status_t wia__adopt_family(wia__op_t *op, const char *family, wia__attribute_spec_t *specs,
                               const bool *bounded) {
  char first[WIA__SHAPE_TEXT] = "", reason[WIA__SHAPE_TEXT];
  const wia__op_t *model = NULL;
  for (uint32_t i = 0; i < wia__op_count; i++) {
    if (strcmp(wia__ops[i].family, family) != 0) continue;
    compare(op, &wia__ops[i], specs, bounded, reason);
    if (!*reason) {
      take_bounds(op, &wia__ops[i], specs, bounded);
      op->family = wia__ops[i].family;
      op->infer = wia__ops[i].infer;
      return WIA_STATUS_OK;
    }
    if (!model) {
      model = &wia__ops[i];
      memcpy(first, reason, sizeof first);
    }
  }
  if (!model)
    return wia__fail(WIA_STATUS_NOT_FOUND,
                     "%s: there is no family \"%.80s\" of shape rules; wia_op_info_t.family of an "
                     "operation names its own",
                     op->name, family);
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: the shape rule \"%s\" needs what its operations have; expected, as of %s, "
                   "%s",
                   op->name, family, model->name, first);
}
