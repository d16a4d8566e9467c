/* The gradient of relu(x) by x, from a plan of the group that the library gives. */
#include <stdio.h>
#include <wia.h>

int main(void) {
  const int64_t shape[] = {4};
  const float x[] = {-1, 2, -3, 4}, ones[] = {1, 1, 1, 1};
  float slope[4];
  int32_t device;
  wia_context_t *context;
  wia_tensor_t input, output, grad, result;
  if (wia_find_device("reference", &device) || wia_create_context(&context, device) ||
      wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &input) ||
      wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &output) ||
      wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &grad) ||
      wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &result) ||
      wia_write_tensor(input, x, sizeof x, NULL) ||
      wia_write_tensor(grad, ones, sizeof ones, NULL) || wia_relu(context, input, output, NULL))
    return 1;

  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  if (wia_get_tensor_info(input, &info)) return 1;
  wia_gradient_config_t config = WIA_GRADIENT_CONFIG_INIT;
  config.op = WIA_OP_RELU;
  config.inputs = &info.layout;
  config.input_count = 1;
  wia_gradient_t *gradient;
  wia_gradient_info_t made = WIA_GRADIENT_INFO_INIT;
  wia_plan_t *plan;
  if (wia_query_gradient(&config, &gradient) || wia_get_gradient_info(gradient, &made) ||
      wia_create_plan(context, made.group, &plan))
    return 1;

  const wia_tensor_t by_role[] = {
      [WIA_ROLE_INPUT] = input, [WIA_ROLE_OUTPUT] = output, [WIA_ROLE_GRADIENT] = grad};
  wia_tensor_t operands[3];
  uint32_t count = 0;
  for (; count < made.group->input_count; count++) {
    operands[count] = by_role[made.inputs[count].role];
    printf("%s ", made.group->values[made.group->inputs[count]]->name);
  }
  operands[count++] = result;
  if (wia_execute_plan(plan, operands, count, NULL, 0, NULL) ||
      wia_read_tensor(result, slope, sizeof slope, NULL))
    return 1;
  printf("%g %g %g %g\n", slope[0], slope[1], slope[2], slope[3]);
  return 0;
}
