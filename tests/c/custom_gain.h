/* custom_gain.h: an operation of a program's own and a kernel for it. Included once a program. */
#ifndef TEST_CUSTOM_GAIN_H
#define TEST_CUSTOM_GAIN_H

#include "core_driver.h"

static const wia_operand_definition_t X = {.name = "x"}, Y = {.name = "y"};

static inline wia_op_definition_t unary(const char *name, const char *family) {
  wia_op_definition_t definition = WIA_OP_DEFINITION_INIT;
  definition.name = name;
  definition.family = family;
  definition.inputs = &X;
  definition.outputs = &Y;
  definition.input_count = definition.output_count = 1;
  return definition;
}

static inline wia_op_t make_op(const wia_op_definition_t *definition) {
  wia_op_t op = -1;
  CHECK_STATUS(wia_register_op(definition, &op), WIA_STATUS_OK);
  return op;
}

/* -- a kernel: y = gain * x, or x + gain where the attribute mode is 1 --------------------------- */

typedef struct gain_t {
  bool adds;
  int32_t scalar; /* its place; -1: there is none */
} gain_t;

static _Atomic uint32_t prepares, kernels;
static _Atomic wia_status_t launch_status, prepare_status;
static uint32_t gain_flags = WIA_KERNEL_THREAD_SAFE;
static uint64_t gain_workspace;

static inline int64_t element(const wia_tensor_layout_t *layout, uint64_t number) {
  int64_t place = 0;
  for (uint32_t i = layout->rank; i-- > 0;) {
    place += (int64_t)(number % (uint64_t)layout->shape[i]) * layout->strides[i];
    number /= (uint64_t)layout->shape[i];
  }
  return place;
}

static inline wia_status_t run_gain(void *state, const wia_kernel_args_t *args) {
  const gain_t *gain = state;
  const wia_operand_t *x = &args->operands[0], *y = &args->operands[args->input_count];
  const wia_status_t status = atomic_load(&launch_status);
  if (status) {
    snprintf(args->out_error->message, sizeof args->out_error->message, "told to fail");
    return status;
  }
  if (gain_workspace) memset((void *)(uintptr_t)args->workspace.address, 7, gain_workspace);
  const float by = gain->scalar < 0 ? 2 : (float)args->scalars[gain->scalar].f64;
  for (uint64_t i = 0; i < y->layout->element_count; i++) {
    const float value = ((const float *)(uintptr_t)x->address)[element(x->layout, i)];
    ((float *)(uintptr_t)y->address)[element(y->layout, i)] = gain->adds ? value + by : value * by;
  }
  return WIA_STATUS_OK;
}

static inline void release_gain(void *state) {
  atomic_fetch_sub(&kernels, 1);
  free(state);
}

static inline wia_status_t prepare_gain(void *context, int32_t device_id,
                                        const wia_request_t *request,
                                        wia_driver_kernel_t *out_kernel, wia_error_t *out_error) {
  (void)device_id;
  atomic_fetch_add(&prepares, 1);
  if (atomic_load(&prepare_status)) {
    snprintf(out_error->message, sizeof out_error->message, "%s declines", (const char *)context);
    return atomic_load(&prepare_status);
  }
  gain_t *gain = calloc(1, sizeof *gain);
  if (!gain) abort();
  gain->scalar = -1;
  const wia_node_t *node = request->group->nodes[0];
  for (uint32_t i = 0; i < node->attribute_count; i++) {
    const wia_attribute_t *attribute = &node->attributes[i];
    if (strcmp(attribute->name, "gain") == 0) gain->scalar = attribute->scalar;
    if (strcmp(attribute->name, "mode") == 0) gain->adds = *(const int64_t *)attribute->data == 1;
  }
  atomic_fetch_add(&kernels, 1);
  out_kernel->fn = run_gain;
  out_kernel->state = gain;
  out_kernel->release = release_gain;
  out_kernel->flags = gain_flags;
  out_kernel->workspace_size = gain_workspace;
  out_kernel->workspace_alignment = 256;
  out_kernel->name = context;
  return WIA_STATUS_OK;
}

static inline const wia_kernel_config_t *on_host(void) {
  static wia_kernel_config_t config;
  config = WIA_KERNEL_CONFIG_INIT;
  config.flags = WIA_KERNEL_ON_HOST;
  return &config;
}

static inline wia_op_t register_gain(const char *name) {
  static const double one = 1;
  static const wia_attribute_definition_t mode = {
      .name = "mode", .type = WIA_ATTRIBUTE_INT64, .maximum.i64 = 1};
  static const wia_attribute_definition_t gain = {
      .name = "gain", .type = WIA_ATTRIBUTE_FLOAT64, .defaults = &one};
  wia_op_definition_t definition = unary(name, "same");
  definition.attributes = &mode;
  definition.scalars = &gain;
  definition.attribute_count = definition.scalar_count = 1;
  definition.dtypes = UINT64_C(1) << WIA_FLOAT32;
  definition.documentation = "x times gain.";
  return make_op(&definition);
}

static inline const wia_attribute_t *gain_of(const double *value) {
  static wia_attribute_t attribute;
  attribute = (wia_attribute_t){
      .name = "gain", .data = value, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .scalar = -1};
  return &attribute;
}

#endif
