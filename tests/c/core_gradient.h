/* core_gradient.h: an operation of a test's own whose gradient a function of the test gives, and queries. */
#ifndef TEST_CORE_GRADIENT_H
#define TEST_CORE_GRADIENT_H

#include "core_driver.h"

enum { COUNT = 4 }; /* elements of each operand */

/* -- an operation: y = by * a * b, and z, which is not looked at --------------------------------- */

static inline wia_status_t run_product(void *state, const wia_kernel_args_t *args) {
  (void)state;
  const float *a = (const float *)(uintptr_t)args->operands[0].address;
  const float *b = (const float *)(uintptr_t)args->operands[1].address;
  float *y = (float *)(uintptr_t)args->operands[args->input_count].address;
  for (uint64_t i = 0; i < args->operands[0].layout->element_count; i++)
    y[i] = (float)args->scalars[0].f64 * a[i] * b[i];
  return WIA_STATUS_OK;
}

static inline wia_status_t prepare_product(void *context, int32_t device_id,
                                           const wia_request_t *request,
                                           wia_driver_kernel_t *out_kernel,
                                           wia_error_t *out_error) {
  (void)context, (void)device_id, (void)request, (void)out_error;
  out_kernel->fn = run_product;
  out_kernel->flags = WIA_KERNEL_THREAD_SAFE;
  return WIA_STATUS_OK;
}

static inline wia_status_t infer_product(void *context, const wia_infer_args_t *args,
                                         wia_shape_t *out_shapes, wia_error_t *out_error) {
  (void)context, (void)out_error;
  for (uint32_t i = 0; i < args->output_count; i++) out_shapes[i] = args->inputs[0];
  return WIA_STATUS_OK;
}

/* What a function is told to do, as the context of its operation. */
typedef struct plan_t {
  wia_gradient_fn_t function;
  wia_gradient_builder_t *builder; /* of the last call */
  _Atomic uint32_t calls;
} plan_t;

static inline wia_status_t differentiate(void *context, const wia_gradient_args_t *args,
                                         wia_gradient_builder_t *builder, uint32_t *out_gradients,
                                         wia_error_t *out_error) {
  plan_t *plan = context;
  if (!atomic_fetch_add(&plan->calls, 1)) plan->builder = builder;
  return plan->function(context, args, builder, out_gradients, out_error);
}

static inline wia_op_t register_product(const char *name, plan_t *plan) {
  static const double one = 1;
  static const wia_operand_definition_t inputs[] = {
      {.name = "a"}, {.name = "b"}, {.name = "c", .flags = WIA_OPERAND_OPTIONAL}};
  static const wia_operand_definition_t outputs[] = {{.name = "y"},
                                                     {.name = "z", .flags = WIA_OPERAND_OPTIONAL}};
  static const wia_attribute_definition_t by = {
      .name = "by", .type = WIA_ATTRIBUTE_FLOAT64, .defaults = &one};
  static const wia_attribute_definition_t mode = {.name = "mode", .type = WIA_ATTRIBUTE_INT64};
  wia_op_definition_t definition = WIA_OP_DEFINITION_INIT;
  definition.name = name;
  definition.inputs = inputs;
  definition.outputs = outputs;
  definition.attributes = &mode;
  definition.scalars = &by;
  definition.input_count = 3;
  definition.output_count = 2;
  definition.attribute_count = definition.scalar_count = 1;
  definition.infer = infer_product;
  definition.gradient = plan ? differentiate : NULL;
  definition.context = plan;
  wia_op_t op = 0;
  CHECK_STATUS(wia_register_op(&definition, &op), WIA_STATUS_OK);
  return op;
}

/* -- queries ------------------------------------------------------------------------------------- */

static const int64_t four[] = {COUNT};
static const wia_tensor_layout_t vector = {
    .struct_size = sizeof vector, .dtype = WIA_FLOAT32, .rank = 1, .shape = four};
static const wia_tensor_layout_t *const vectors[] = {&vector, &vector, &vector};

static inline wia_gradient_config_t ask(wia_op_t op, uint32_t inputs, uint32_t wanted) {
  wia_gradient_config_t config = WIA_GRADIENT_CONFIG_INIT;
  config.op = op;
  config.inputs = vectors;
  config.input_count = inputs;
  config.wanted = wanted;
  return config;
}

static inline wia_gradient_info_t query(const wia_gradient_config_t *config, wia_gradient_t **out) {
  wia_gradient_info_t info = WIA_GRADIENT_INFO_INIT;
  CHECK_STATUS(wia_query_gradient(config, out), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_gradient_info(*out, &info), WIA_STATUS_OK);
  return info;
}

#endif
