/* An operation of the program's own, from C, and an extension that a program asks for. */
#include <stdio.h>

#include "wia_driver.h"

// [kernel]
static wia_status_t run_halve(void *state, const wia_kernel_args_t *args) {
  (void)state;
  const float *x = (const float *)(uintptr_t)args->operands[0].address;
  float *out = (float *)(uintptr_t)args->operands[1].address;
  const uint64_t count = args->operands[1].layout->element_count;
  for (uint64_t i = 0; i < count; i++) out[i] = x[i] / 2;
  return WIA_STATUS_OK;
}

static wia_status_t prepare_halve(void *context, int32_t device_id, const wia_request_t *request,
                                  wia_driver_kernel_t *out_kernel, wia_error_t *out_error) {
  (void)context, (void)device_id, (void)out_error;
  const wia_value_t *const *values = request->group->values;
  if (!values[0]->layout->contiguous || !values[1]->layout->contiguous)
    return WIA_STATUS_UNIMPLEMENTED;
  out_kernel->fn = run_halve;
  out_kernel->flags = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE | WIA_KERNEL_ANY_SHAPE;
  return WIA_STATUS_OK;
}

// [define]
static wia_status_t register_halve(wia_op_t *out_op) {
  const wia_operand_definition_t x = {.name = "x"}, out = {.name = "out"};
  wia_op_definition_t definition = WIA_OP_DEFINITION_INIT;
  definition.name = "acme::halve";
  definition.documentation = "Half of x.";
  definition.inputs = &x;
  definition.outputs = &out;
  definition.input_count = definition.output_count = 1;
  definition.dtypes = UINT64_C(1) << WIA_FLOAT32;
  definition.family = "same";
  wia_status_t status = wia_register_op(&definition, out_op);
  wia_kernel_config_t config = WIA_KERNEL_CONFIG_INIT;
  config.flags = WIA_KERNEL_ON_HOST;
  if (!status) status = wia_register_kernel(*out_op, NULL, prepare_halve, NULL, &config);
  return status;
}

// [extension]
/* In acme_counters.h, which the vendor ships. */
typedef struct acme_counters_t {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t (*get_halved)(void);
  void (*reset)(void); /* since 1.1 */
} acme_counters_t;

static uint64_t get_halved(void) { return 3; }
static const acme_counters_t counters = {.struct_size = sizeof counters, .get_halved = get_halved};

static wia_status_t register_counters(wia_context_t *context) {
  wia_device_extension_t extension = WIA_DEVICE_EXTENSION_INIT;
  extension.extension_id = "acme::counters";
  extension.version = "1.1";
  extension.capabilities[0] = WIA_CAP_FAST_SOFTMAX;
  extension.table = &counters;
  return wia_register_device_extension(context, &extension);
}

// [query]
static void show_counters(int32_t device_id) {
  const void *table = NULL;
  if (wia_query_extension(device_id, "acme::counters", "1.0", &table)) return;
  const acme_counters_t *found = table;
  printf("%d halved\n", (int)found->get_halved());
  if (WIA_HAS_ENTRY(found, reset)) found->reset(); /* newer than what we asked for */
}

// [use]
int main(void) {
  wia_context_t *context = NULL;
  int32_t device_id = 0;
  wia_op_t halve = 0;
  wia_tensor_t tensor = NULL;
  const int64_t shape[] = {3};
  float values[] = {2, 4, 6};
  wia_status_t status = register_halve(&halve);
  if (!status) status = wia_find_device("reference", &device_id);
  if (!status) status = wia_create_context(&context, device_id);
  if (!status) status = wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &tensor);
  if (!status) status = wia_write_tensor(tensor, values, sizeof values, NULL);
  if (!status) status = wia_execute(context, halve, &tensor, 1, &tensor, 1, NULL, 0, NULL);
  if (!status) status = wia_read_tensor(tensor, values, sizeof values, NULL);
  if (!status) status = register_counters(context);
  if (status) return 1;
  printf("%g %g %g\n", values[0], values[1], values[2]);
  show_counters(device_id);
  wia_destroy_tensor(tensor);
  wia_destroy_context(context);
  return 0;
}
