/* run_gradients.c: the gradients of the calls of a file, by all inputs that have one, as plans of
 * groups. The gradient of the first output is 1, of others there is none. The outputs of the file are
 * those of the calls.
 *
 *     run_gradients DEVICE CALLS RESULTS */
#include "calls_file.h"

static const wia_tensor_layout_t *layout_of(wia_tensor_t tensor) {
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  if (!tensor) return NULL;
  if (wia_get_tensor_info(tensor, &info)) give_up("a layout");
  return info.layout;
}

static operand_t make(wia_context_t *context, const wia_tensor_layout_t *layout, bool ones) {
  operand_t made = {.size = layout->element_count * (wia_get_dtype_bits(layout->dtype) / 8)};
  if (wia_allocate_tensor(context, layout->shape, layout->rank, layout->dtype, &made.tensor))
    give_up("an operand of a gradient");
  float *data = allocate(made.size);
  for (uint64_t i = 0; ones && i < layout->element_count; i++) data[i] = 1;
  if (ones && wia_write_tensor(made.tensor, data, made.size, NULL)) give_up("a gradient of ones");
  free(data);
  return made;
}

static void write_failure(wia_status_t status) {
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  wia_get_last_error(&info);
  write_number(status);
  write_number((int64_t)strlen(info.message));
  write_bytes(info.message, strlen(info.message));
}

/* Runs the group on the operands of the call. */
static void run_group(wia_context_t *context, const wia_gradient_info_t *info,
                      const wia_tensor_t *inputs, const wia_tensor_t *outputs, wia_tensor_t grad) {
  const wia_group_t *group = info->group;
  wia_plan_t *plan = NULL;
  wia_tensor_t operands[WIA_MAX_OPERANDS];
  operand_t made[WIA_MAX_OPERANDS];
  wia_status_t status = wia_create_plan(context, group, &plan);
  for (uint32_t i = 0; i < group->input_count; i++) {
    const wia_role_t role = info->inputs[i];
    operands[i] = role.role == WIA_ROLE_INPUT    ? inputs[role.index]
                  : role.role == WIA_ROLE_OUTPUT ? outputs[role.index]
                                                 : grad;
  }
  for (uint32_t i = 0; i < group->output_count; i++) {
    made[i] = make(context, group->values[group->outputs[i]]->layout, false);
    operands[group->input_count + i] = made[i].tensor;
  }
  if (!status)
    status =
        wia_execute_plan(plan, operands, group->input_count + group->output_count, NULL, 0, NULL);
  if (status) {
    write_failure(status);
  } else {
    write_number(status);
    write_outputs(made, group->output_count);
    if (wia_destroy_plan(plan)) give_up("a plan");
  }
  for (uint32_t i = 0; i < group->output_count; i++)
    if (wia_destroy_tensor(made[i].tensor)) give_up("a gradient");
}

static void run_call(wia_context_t *context, wia_op_t op) {
  operand_t operands[WIA_MAX_OPERANDS];
  wia_tensor_t tensors[WIA_MAX_OPERANDS];
  wia_attribute_t attributes[MAX_ATTRIBUTES];
  value_t values[MAX_ATTRIBUTES];
  const uint32_t inputs = read_count(WIA_MAX_OPERANDS);
  const uint32_t outputs = read_count(WIA_MAX_OPERANDS - inputs);
  const uint32_t attribute_count = read_count(MAX_ATTRIBUTES);
  for (uint32_t i = 0; i < inputs + outputs; i++) {
    operands[i] = read_operand(context);
    tensors[i] = operands[i].tensor;
  }
  for (uint32_t i = 0; i < attribute_count; i++) attributes[i] = read_attribute(&values[i]);
  const wia_tensor_layout_t *layouts[WIA_MAX_OPERANDS];
  for (uint32_t i = 0; i < inputs + outputs; i++) layouts[i] = layout_of(tensors[i]);
  wia_gradient_config_t config = WIA_GRADIENT_CONFIG_INIT;
  config.op = op;
  config.inputs = layouts;
  config.outputs = layouts + inputs;
  config.attributes = attributes;
  config.input_count = inputs;
  config.output_count = outputs;
  config.attribute_count = attribute_count;
  config.known = 1;
  wia_gradient_t *gradient = NULL;
  wia_gradient_info_t info = WIA_GRADIENT_INFO_INIT;
  const wia_status_t status = wia_query_gradient(&config, &gradient);
  if (status) {
    write_failure(status);
  } else {
    operand_t grad = make(context, layouts[inputs], true);
    if (wia_get_gradient_info(gradient, &info)) give_up("a gradient");
    run_group(context, &info, tensors, tensors + inputs, grad.tensor);
    if (wia_destroy_gradient(gradient) || wia_destroy_tensor(grad.tensor)) give_up("a gradient");
  }
  for (uint32_t i = 0; i < inputs + outputs; i++)
    if (tensors[i] && wia_destroy_tensor(tensors[i])) give_up("an operand");
}

int main(int argc, char **argv) {
  int32_t device;
  wia_context_t *context;
  int64_t op;
  if (argc != 4) return 2;
  calls = fopen(argv[2], "rb");
  results = fopen(argv[3], "wb");
  if (!calls || !results) give_up("a file can't be opened");
  if (wia_find_device(argv[1], &device) || wia_create_context(&context, device)) give_up(argv[1]);
  while (fread(&op, sizeof op, 1, calls) == 1) run_call(context, (wia_op_t)op);
  return fclose(results) != 0;
}
