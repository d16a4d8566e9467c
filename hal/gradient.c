/* gradient.c: the gradient of a call: what is asked, and the handle of the answer. */
#include "gradient.h"

#include <stdlib.h>
#include <string.h>

#include "custom.h"
#include "layout.h"

static bool is_float(wia_dtype_t dtype) {
  return dtype == WIA_FLOAT64 || dtype == WIA_FLOAT32 || dtype == WIA_FLOAT16 ||
         dtype == WIA_BFLOAT16;
}

static wia_status_t read_layout(const wia_tensor_layout_t *given, wia_shape_t *out_shape) {
  wia_tensor_layout_t layout = {0};
  wia_status_t status =
      wia__read_struct(given, &layout, sizeof layout, sizeof layout, "wia_get_tensor_info()");
  if (!status && layout.rank && !layout.shape) return wia__null("shape of a layout");
  if (!status) status = wia__check_shape(layout.dtype, layout.shape, layout.rank);
  if (!status) *out_shape = wia__shape_of(&layout);
  return status;
}

static wia_status_t read_call(wia__gradient_build_t *build) {
  const wia_gradient_config_t *config = build->config;
  const wia__op_t *op = build->op;
  wia_shape_t given[WIA_MAX_OPERANDS] = {0};
  if (config->input_count > op->max_input_count || config->output_count > op->output_count)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s is given %u inputs and %u outputs; it has at most %u and %u", op->name,
                     config->input_count, config->output_count, op->max_input_count,
                     op->output_count);
  if (config->input_count && !config->inputs) return wia__null("config->inputs");
  wia_status_t status = wia__words_of_attributes(op, config->attributes, config->attribute_count,
                                                 build->words, build->scalars);
  for (uint32_t i = 0; !status && i < config->input_count; i++)
    if (config->inputs[i]) status = read_layout(config->inputs[i], &build->inputs[i]);
  for (uint32_t i = 0; !status && config->outputs && i < config->output_count; i++)
    if (config->outputs[i]) status = read_layout(config->outputs[i], &given[i]);
  if (status) return status;
  return wia__infer(op, build->inputs, config->input_count, build->words, given,
                    config->outputs ? op->output_count : 0, build->outputs);
}

static wia_status_t refuse(const wia__gradient_build_t *build, uint32_t input, const char *why) {
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: the gradient of input %u is wanted, %s",
                   build->op->name, input, why);
}

/* Which gradients are to be made. */
static wia_status_t read_wanted(const wia__gradient_build_t *build, uint32_t *out_wanted) {
  const wia_gradient_config_t *config = build->config;
  const wia__gradient_program_t *program = build->program;
  uint32_t all = 0;
  for (uint32_t i = 0; i < 32; i++) {
    const bool asked = config->wanted >> i & 1;
    if (i >= config->input_count || build->inputs[i].dtype == WIA_DTYPE_NONE) {
      if (asked) return refuse(build, i, "which is not given");
      continue;
    }
    if (!is_float(build->inputs[i].dtype)) {
      if (asked) return refuse(build, i, "which is no float");
      continue;
    }
    const bool has = !program || program->targets[program->list ? 0 : i] >= 0;
    if (asked && !has)
      return wia__fail(WIA_STATUS_UNIMPLEMENTED, "%s has no gradient of its input %s",
                       build->op->name, build->op->operand_names[i]);
    all |= (uint32_t)has << i;
  }
  *out_wanted = config->wanted ? config->wanted : all;
  if (*out_wanted) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_UNIMPLEMENTED, "%s has no gradient: none of its inputs is a float",
                   build->op->name);
}

static void read_known(wia__gradient_build_t *build) {
  const wia_gradient_config_t *config = build->config;
  for (uint32_t i = 0; i < build->op->output_count; i++) {
    const bool here = config->outputs ? i < config->output_count && config->outputs[i]
                                      : i < build->op->min_output_count;
    if (here && is_float(build->outputs[i].dtype) && (!config->known || config->known >> i & 1))
      build->known |= 1u << i;
  }
}

static wia_status_t fill(wia__gradient_build_t *build) {
  const wia__op_t *op = build->op;
  if (build->program && !build->program->step_count)
    return wia__fail(WIA_STATUS_UNIMPLEMENTED, "%s has no gradient: %s", op->name,
                     build->program->reason);
  uint32_t wanted = 0;
  wia_status_t status = read_call(build);
  if (!status) status = read_wanted(build, &wanted);
  if (!status && op->read_scalar >= 0 && build->scalars[op->read_scalar].f64 != 0)
    status = wia__fail(WIA_STATUS_UNIMPLEMENTED,
                       "%s has no gradient: its output was read first, since %s is not 0", op->name,
                       op->scalars[op->read_scalar].name);
  if (status) return status;
  build->of.op = op;
  build->of.words = build->words;
  build->of.scalars = build->scalars;
  build->of.inputs = build->inputs;
  memset(build->operands, 0xff, sizeof build->operands);
  read_known(build);
  if (!build->program) return wia__call_gradient(build, wanted, !build->config->wanted);
  for (uint32_t i = 0; !status && i < 32; i++)
    if (wanted >> i & 1) status = wia__add_gradient(build, i);
  return status;
}

static wia_status_t query_gradient(const wia_gradient_config_t *given,
                                   wia_gradient_t **out_gradient) {
  if (!given) return wia__null("config");
  if (!out_gradient) return wia__null("out_gradient");
  wia_gradient_config_t config = {0};
  wia_status_t status =
      wia__read_struct(given, &config, sizeof config, sizeof config, "WIA_GRADIENT_CONFIG_INIT");
  const wia__op_t *op = NULL;
  if (!status) status = wia__resolve_op(config.op, &op);
  if (status) return status;
  const wia__custom_t *custom = wia__custom_of(op);
  if (custom && !custom->gradient)
    return wia__fail(WIA_STATUS_UNIMPLEMENTED,
                     "%s has no gradient: it was registered without a function that gives it",
                     op->name);
  wia__gradient_t *made = wia__create_gradient();
  wia__gradient_build_t *build = calloc(1, sizeof *build);
  if (!made || !build) {
    if (made) wia__release(&made->object);
    free(build);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a gradient");
  }
  build->made = made;
  build->op = op;
  build->program = custom ? NULL : &wia__gradient_programs[op - wia__ops];
  build->config = &config;
  status = fill(build);
  free(build);
  if (status) {
    wia__release(&made->object);
    return status;
  }
  wia__finish_gradient(made, op->op);
  void *handle = NULL;
  status = wia__make_handle(&made->object, &handle);
  if (!status) *out_gradient = handle;
  return status;
}

WIA_API wia_status_t wia_query_gradient(const wia_gradient_config_t *config,
                                        wia_gradient_t **out_gradient) {
  WIA__CALL(query_gradient(config, out_gradient));
}

static wia_status_t get_gradient_info(wia_gradient_t *handle, wia_gradient_info_t *out_info) {
  wia_status_t status = wia__check_out(out_info, sizeof *out_info, "WIA_GRADIENT_INFO_INIT");
  wia__gradient_t *made = NULL;
  if (!status) status = wia__resolve(handle, WIA__GRADIENT, "gradient", &made);
  if (!status) wia__write_struct(out_info, &made->info, sizeof made->info);
  return status;
}

WIA_API wia_status_t wia_get_gradient_info(wia_gradient_t *gradient,
                                           wia_gradient_info_t *out_info) {
  WIA__CALL(get_gradient_info(gradient, out_info));
}

WIA_API wia_status_t wia_destroy_gradient(wia_gradient_t *gradient) {
  WIA__CALL(wia__close_handle(gradient, WIA__GRADIENT));
}
