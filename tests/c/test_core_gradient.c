/* Gradients of registered operations: by functions that add nodes, on devices of every sort. Beside each
 * check: the guard without which it fails. */
#include <stddef.h>

#include "core_gradient.h"

enum { THREADS = 4 };

/* -- values, by finite differences --------------------------------------------------------------- */

static uint32_t scaled(wia_gradient_builder_t *builder, const wia_gradient_args_t *args,
                       uint32_t factor) {
  const uint32_t grad = args->input_count + args->output_count;
  const wia_attribute_t by = {
      .name = "factor", .data = &args->scalars[0], .type = WIA_ATTRIBUTE_FLOAT64, .count = 1};
  uint32_t product = 0, value = 0;
  wia_shape_t shape;
  CHECK_STATUS(wia_add_gradient_node(builder, WIA_OP_MUL, (uint32_t[]){grad, factor}, 2, NULL, 0,
                                     &product, &shape, 1),
               WIA_STATUS_OK);
  CHECK(shape.dtype == WIA_FLOAT32 && shape.rank == 1 && shape.shape[0] == COUNT);
  CHECK_STATUS(wia_add_gradient_node(builder, WIA_OP_SCALE, &product, 1, &by, 1, &value, NULL, 1),
               WIA_STATUS_OK);
  return value;
}

/* All that there is, wanted or not. */
static wia_status_t differentiate_product(void *context, const wia_gradient_args_t *args,
                                          wia_gradient_builder_t *builder, uint32_t *out_gradients,
                                          wia_error_t *out_error) {
  (void)context, (void)out_error;
  CHECK(args->input_count == 3 && args->output_count == 2 && args->scalar_count == 1);
  CHECK(args->inputs[2].dtype == WIA_DTYPE_NONE && args->known == 1);
  CHECK(args->attribute_count == 1 && *(const int64_t *)args->attributes[0].data == 7);
  out_gradients[0] = scaled(builder, args, 1);
  out_gradients[1] = scaled(builder, args, 0);
  return WIA_STATUS_OK;
}

/* The sum of seed * y. */
static float weigh(wia_context_t *context, wia_op_t op, const float *a, const float *b,
                   const float *seed) {
  static const double by = 3;
  static const wia_attribute_t attribute = {
      .name = "by", .data = &by, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1};
  const size_t size = COUNT * sizeof(float);
  wia_tensor_t inputs[] = {core_tensor(context, COUNT, 0), core_tensor(context, COUNT, 0)};
  wia_tensor_t y = core_tensor(context, COUNT, 0);
  float values[COUNT], sum = 0;
  CHECK_STATUS(wia_write_tensor(inputs[0], a, size, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_write_tensor(inputs[1], b, size, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_execute(context, op, inputs, 2, &y, 1, &attribute, 1, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_read_tensor(y, values, size, NULL), WIA_STATUS_OK);
  for (uint32_t i = 0; i < COUNT; i++) sum += seed[i] * values[i];
  core_destroy(inputs[0]);
  core_destroy(inputs[1]);
  core_destroy(y);
  return sum;
}

static void check_on(uint32_t device, wia_op_t op, const wia_gradient_info_t *info) {
  static const float seed[COUNT] = {1, -2, 3, 5};
  float at[2][COUNT] = {{1, 2, -3, 4}, {5, -6, 7, 8}};
  const size_t size = COUNT * sizeof(float);
  wia_context_t *context = core_context(device);
  wia_plan_t *plan = NULL;
  wia_tensor_t operands[5];
  CHECK_STATUS(wia_create_plan(context, info->group, &plan), WIA_STATUS_OK);
  for (uint32_t i = 0; i < info->group->input_count + info->group->output_count; i++) {
    operands[i] = core_tensor(context, COUNT, 0);
    if (i >= info->group->input_count) continue;
    const wia_role_t is = info->inputs[i];
    CHECK_STATUS(
        wia_write_tensor(operands[i], is.role == WIA_ROLE_INPUT ? at[is.index] : seed, size, NULL),
        WIA_STATUS_OK);
  }
  CHECK_STATUS(wia_execute_plan(plan, operands, 5, NULL, 0, NULL), WIA_STATUS_OK);
  for (uint32_t input = 0; input < 2; input++) {
    float found[COUNT];
    CHECK(info->outputs[input].index == input);
    CHECK_STATUS(wia_read_tensor(operands[3 + input], found, size, NULL), WIA_STATUS_OK);
    for (uint32_t i = 0; i < COUNT; i++) { /* linear in each element, so the step may be 1 */
      at[input][i] += 1;
      const float above = weigh(context, op, at[0], at[1], seed);
      at[input][i] -= 2;
      const float below = weigh(context, op, at[0], at[1], seed);
      at[input][i] += 1;
      CHECK(found[i] == (above - below) / 2);
    }
  }
  for (uint32_t i = 0; i < 5; i++) core_destroy(operands[i]);
  CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

static void test_values(void) {
  core_start();
  static plan_t plan = {.function = differentiate_product};
  const wia_op_t op = register_product("test::product", &plan);
  wia_kernel_config_t on_host = WIA_KERNEL_CONFIG_INIT;
  on_host.flags = WIA_KERNEL_ON_HOST;
  CHECK_STATUS(wia_register_kernel(op, NULL, prepare_product, NULL, &on_host), WIA_STATUS_OK);
  static const double by = 3;
  static const int64_t seven = 7;
  const wia_attribute_t attributes[] = {
      {.name = "by", .data = &by, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1},
      {.name = "mode", .data = &seven, .type = WIA_ATTRIBUTE_INT64, .count = 1}};
  wia_gradient_config_t config = ask(op, 2, 0);
  config.attributes = attributes;
  config.attribute_count = 2;
  wia_gradient_t *gradient = NULL;
  wia_gradient_info_t info = query(&config, &gradient);
  CHECK(info.op == op && info.group->node_count == 4);
  CHECK(info.group->input_count == 3 && info.group->output_count == 2);
  CHECK_TEXT(info.group->nodes[0]->source, "test::product");
  for (uint32_t device = 0; device < CORE_ALL_COUNT; device++)
    if (device != CORE_BARE) check_on(device, op, &info); /* it has no scale */
  CHECK_STATUS(wia_destroy_gradient(gradient), WIA_STATUS_OK);
  config.wanted = 2;
  info = query(&config, &gradient);
  CHECK(info.group->node_count == 2 && info.group->output_count == 1); /* mark_needed */
  CHECK(info.group->input_count == 2 && info.inputs[1].role == WIA_ROLE_INPUT);
  CHECK(info.inputs[1].index == 0 && info.outputs[0].index == 1);
  CHECK_TEXT(info.group->values[info.group->inputs[0]]->name, "grad_y");
  CHECK_STATUS(wia_destroy_gradient(gradient), WIA_STATUS_OK);
  core_evict();
  CHECK_CLEAN();
}

/* -- what is no node ----------------------------------------------------------------------------- */

/* The gradients are those of outputs as they are: of y for a, of z, which there is none of, for b; and of y
 * again for c. */
static wia_status_t pass_on(void *context, const wia_gradient_args_t *args,
                            wia_gradient_builder_t *builder, uint32_t *out_gradients,
                            wia_error_t *out_error) {
  (void)context, (void)out_error, (void)builder;
  const uint32_t grad = args->input_count + args->output_count;
  out_gradients[0] = grad;
  out_gradients[1] = grad + 1;
  out_gradients[2] = grad;
  return WIA_STATUS_OK;
}

static void test_gradients_as_they_are(void) {
  static plan_t plan = {.function = pass_on};
  const wia_op_t op = register_product("test::pass_on", &plan);
  wia_gradient_config_t config = ask(op, 3, 0);
  wia_gradient_t *gradient = NULL;
  const wia_gradient_info_t info = query(&config, &gradient);
  const wia_group_t *group = info.group;
  CHECK(group->node_count == 3 && group->input_count == 1 && group->output_count == 3);
  CHECK_TEXT(group->nodes[0]->op_name, "copy"); /* emit_gradient: no operand is an output */
  CHECK_TEXT(group->nodes[1]->op_name, "fill");
  CHECK_TEXT(group->nodes[2]->op_name, "copy"); /* and no value is two */
  CHECK(group->outputs[0] != group->outputs[2]);
  CHECK_STATUS(wia_destroy_gradient(gradient), WIA_STATUS_OK);
}

/* -- older programs ------------------------------------------------------------------------------ */

/* A program that was built before there were gradients has a shorter struct. */
static void test_older_programs(void) {
  const wia_operand_definition_t x = {.name = "x"}, y = {.name = "y"};
  wia_op_definition_t definition = WIA_OP_DEFINITION_INIT;
  definition.struct_size = offsetof(wia_op_definition_t, gradient);
  definition.name = "test::older";
  definition.inputs = &x;
  definition.outputs = &y;
  definition.input_count = definition.output_count = 1;
  definition.family = "same";
  definition.gradient = differentiate; /* not there for it */
  wia_op_t op = 0;
  CHECK_STATUS(wia_register_op(&definition, &op), WIA_STATUS_OK);
  const wia_gradient_config_t config = ask(op, 1, 0);
  wia_gradient_t *gradient = NULL;
  CHECK_STATUS(wia_query_gradient(&config, &gradient), WIA_STATUS_UNIMPLEMENTED);
}

/* -- threads ------------------------------------------------------------------------------------- */

static void *query_often(void *config) {
  for (uint32_t i = 0; i < 50; i++) {
    wia_gradient_t *gradient = NULL;
    CHECK(query(config, &gradient).group->node_count == 3);
    CHECK_STATUS(wia_destroy_gradient(gradient), WIA_STATUS_OK);
  }
  return NULL;
}

static void test_threads(void) {
  static plan_t plan = {.function = pass_on};
  wia_gradient_config_t config = ask(register_product("test::threads", &plan), 3, 0);
  pthread_t threads[THREADS];
  for (uint32_t i = 0; i < THREADS; i++)
    CHECK(pthread_create(&threads[i], NULL, query_often, &config) == 0);
  for (uint32_t i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(plan.calls == 50 * THREADS);
}

int main(void) {
  test_values();
  test_gradients_as_they_are();
  test_older_programs();
  test_threads();
  return CHECK_DONE();
}
