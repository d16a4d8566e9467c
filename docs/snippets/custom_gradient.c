/* An operation of the program's own with a gradient, from C: d_x = grad * scale. */
#include <stdio.h>
#include <wia.h>

// [gradient]
static wia_status_t differentiate(void *context, const wia_gradient_args_t *args,
                                  wia_gradient_builder_t *builder, uint32_t *out_gradients,
                                  wia_error_t *out_error) {
  (void)context, (void)out_error;
  const uint32_t grad = args->input_count + args->output_count; /* of the first output */
  const wia_attribute_t factor = {
      .name = "factor", .data = &args->scalars[0], .type = WIA_ATTRIBUTE_FLOAT64, .count = 1};
  return wia_add_gradient_node(builder, WIA_OP_SCALE, &grad, 1, &factor, 1, &out_gradients[0], NULL,
                               1);
}

static wia_status_t register_gain(wia_op_t *out_op) {
  static const double one = 1;
  const wia_operand_definition_t x = {.name = "x"}, out = {.name = "out"};
  const wia_attribute_definition_t by = {
      .name = "by", .type = WIA_ATTRIBUTE_FLOAT64, .defaults = &one};
  wia_op_definition_t definition = WIA_OP_DEFINITION_INIT;
  definition.name = "acme::gain";
  definition.inputs = &x;
  definition.outputs = &out;
  definition.scalars = &by;
  definition.input_count = definition.output_count = definition.scalar_count = 1;
  definition.dtypes = UINT64_C(1) << WIA_FLOAT32;
  definition.family = "same";
  definition.gradient = differentiate;
  return wia_register_op(&definition, out_op);
}

// [use]
int main(void) {
  wia_op_t gain = 0;
  const int64_t shape[] = {3};
  const double three = 3;
  const wia_tensor_layout_t x = {
      .struct_size = sizeof x, .dtype = WIA_FLOAT32, .rank = 1, .shape = shape};
  const wia_tensor_layout_t *inputs[] = {&x};
  const wia_attribute_t by = {
      .name = "by", .data = &three, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1};
  wia_gradient_config_t config = WIA_GRADIENT_CONFIG_INIT;
  config.inputs = inputs;
  config.input_count = 1;
  config.attributes = &by;
  config.attribute_count = 1;
  wia_gradient_t *gradient = NULL;
  wia_gradient_info_t info = WIA_GRADIENT_INFO_INIT;
  wia_status_t status = register_gain(&gain);
  config.op = gain;
  if (!status) status = wia_query_gradient(&config, &gradient);
  if (!status) status = wia_get_gradient_info(gradient, &info);
  if (status) return 1;
  const wia_node_t *node = info.group->nodes[0];
  printf("%s by %g\n", node->op_name, *(const double *)node->attributes[0].data);
  return wia_destroy_gradient(gradient) == WIA_STATUS_OK ? 0 : 1;
}
