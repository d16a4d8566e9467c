/* Functions that give the gradients of registered operations and do it wrongly. Beside each check: the guard
 * without which it fails. */
#include "core_gradient.h"

static const uint32_t LEFT_OUT = UINT32_MAX;

static void refuse(wia_op_t op, uint32_t wanted, wia_status_t status, const char *message) {
  const wia_gradient_config_t config = ask(op, 2, wanted);
  wia_gradient_t *gradient = NULL;
  CHECK_STATUS(wia_query_gradient(&config, &gradient), status);
  CHECK_MESSAGE(message);
  CHECK(gradient == NULL);
}

static wia_status_t give_nothing(void *context, const wia_gradient_args_t *args,
                                 wia_gradient_builder_t *builder, uint32_t *out_gradients,
                                 wia_error_t *out_error) {
  (void)context, (void)args, (void)builder, (void)out_gradients, (void)out_error;
  return WIA_STATUS_OK;
}

static wia_status_t give_anything(void *context, const wia_gradient_args_t *args,
                                  wia_gradient_builder_t *builder, uint32_t *out_gradients,
                                  wia_error_t *out_error) {
  (void)context, (void)args, (void)builder, (void)out_error;
  out_gradients[0] = 7;
  return WIA_STATUS_OK;
}

static wia_status_t give_a_sum(void *context, const wia_gradient_args_t *args,
                               wia_gradient_builder_t *builder, uint32_t *out_gradients,
                               wia_error_t *out_error) {
  (void)context, (void)args, (void)out_error;
  const uint32_t x = 0;
  return wia_add_gradient_node(builder, WIA_OP_REDUCE_SUM, &x, 1, NULL, 0, out_gradients, NULL, 1);
}

static wia_status_t fail(void *context, const wia_gradient_args_t *args,
                         wia_gradient_builder_t *builder, uint32_t *out_gradients,
                         wia_error_t *out_error) {
  (void)context, (void)args, (void)builder, (void)out_gradients;
  snprintf(out_error->message, sizeof out_error->message, "not above rank 0");
  return WIA_STATUS_UNIMPLEMENTED;
}

static wia_status_t add(wia_gradient_builder_t *builder, wia_op_t op, uint32_t left, uint32_t right,
                        uint32_t outputs) {
  uint32_t values[WIA_MAX_OPERANDS];
  return wia_add_gradient_node(builder, op, (uint32_t[]){left, right, right}, 2, NULL, 0, values,
                               NULL, outputs);
}

static wia_status_t add_wrongly(void *context, const wia_gradient_args_t *args,
                                wia_gradient_builder_t *builder, uint32_t *out_gradients,
                                wia_error_t *out_error) {
  (void)context, (void)out_error;
  const wia_status_t bad = WIA_STATUS_INVALID_ARGUMENT;
  const uint32_t inputs[] = {0, 1, 0};
  uint32_t value = 99;
  CHECK_STATUS(add(builder, WIA_OP_ADD, 0, 7, 1), bad);
  CHECK_MESSAGE("inputs[1] of add is the value 7; there are 7 so far");
  CHECK_STATUS(add(builder, WIA_OP_ADD, 2, 0, 1), bad);
  CHECK_MESSAGE("an operand that the call left out");
  CHECK_STATUS(add(builder, WIA_OP_ADD, LEFT_OUT, 0, 1), bad);
  CHECK_STATUS(add(builder, WIA_OP_ADD, 0, 1, 0), bad);
  CHECK_STATUS(add(builder, WIA_OP_ADD, 0, 1, 2), bad);
  CHECK_MESSAGE("add is given 2 inputs and 2 outputs; it has at most 2 and 1");
  CHECK_STATUS(wia_add_gradient_node(builder, WIA_OP_ADD, inputs, 3, NULL, 0, &value, NULL, 1),
               bad);
  CHECK_STATUS(add(builder, -5, 0, 1, 1), bad);
  const wia_attribute_t none = {.name = "axis", .type = WIA_ATTRIBUTE_INT64, .count = 1};
  CHECK_STATUS(wia_add_gradient_node(builder, WIA_OP_ADD, inputs, 2, &none, 1, &value, NULL, 1),
               bad);
  CHECK_STATUS(wia_add_gradient_node(builder, WIA_OP_ADD, NULL, 2, NULL, 0, &value, NULL, 1), bad);
  CHECK_STATUS(wia_add_gradient_node(builder, WIA_OP_ADD, inputs, 2, NULL, 0, NULL, NULL, 1), bad);
  CHECK_STATUS(wia_add_gradient_node(NULL, WIA_OP_ADD, inputs, 2, NULL, 0, &value, NULL, 1),
               WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_destroy_gradient((wia_gradient_t *)builder), WIA_STATUS_INVALID_HANDLE);
  CHECK_MESSAGE("is a gradient builder; expected a gradient");
  CHECK(value == 99);
  /* what failed has added nothing, and a query inside of a query is one more call */
  wia_gradient_config_t config = ask(WIA_OP_MUL, 2, 0);
  wia_gradient_t *inner = NULL;
  CHECK(query(&config, &inner).group->node_count == 2);
  CHECK_STATUS(wia_destroy_gradient(inner), WIA_STATUS_OK);
  CHECK_STATUS(
      wia_add_gradient_node(builder, WIA_OP_ADD, inputs, 2, NULL, 0, out_gradients, NULL, 1),
      WIA_STATUS_OK);
  CHECK(out_gradients[0] == args->input_count + 2 * args->output_count);
  return WIA_STATUS_OK;
}

static void test_refusals(void) {
  static plan_t nothing = {.function = give_nothing}, anything = {.function = give_anything},
                sum = {.function = give_a_sum}, failing = {.function = fail},
                wrong = {.function = add_wrongly};
  refuse(register_product("test::none", NULL), 0, WIA_STATUS_UNIMPLEMENTED,
         "test::none has no gradient: it was registered without a function that gives it");
  const wia_op_t op = register_product("test::nothing", &nothing);
  refuse(op, 0, WIA_STATUS_UNIMPLEMENTED, "test::nothing has no gradient for a call like this");
  refuse(op, 2, WIA_STATUS_UNIMPLEMENTED, "test::nothing has no gradient of its input b");
  refuse(op, 4, WIA_STATUS_INVALID_ARGUMENT, "the gradient of input 2 is wanted");
  refuse(register_product("test::anything", &anything), 0, WIA_STATUS_INTERNAL,
         "gave the value 7 for the input a, which is none of the 7 that there are");
  refuse(register_product("test::sum", &sum), 0, WIA_STATUS_INTERNAL,
         "has another shape or dtype than the input");
  refuse(register_product("test::failing", &failing), 0, WIA_STATUS_UNIMPLEMENTED,
         "test::failing: not above rank 0");
  const wia_gradient_config_t config = ask(register_product("test::wrong", &wrong), 2, 0);
  wia_gradient_t *gradient = NULL;
  const wia_gradient_info_t info = query(&config, &gradient);
  CHECK(info.group->node_count == 1 && info.group->output_count == 1);
  CHECK_STATUS(wia_destroy_gradient(gradient), WIA_STATUS_OK);
  CHECK_STATUS(add(wrong.builder, WIA_OP_ADD, 0, 1, 1), WIA_STATUS_INVALID_HANDLE);
}

int main(void) {
  core_start();
  test_refusals();
  return CHECK_DONE();
}
