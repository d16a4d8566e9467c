/* Groups under the library on the sample driver: it takes one operation, and a chain is split. */
#include "check.h"
#include "sample.h"

static wia_context_t *context;

static wia_tensor_t make(const float *values) {
  wia_tensor_t tensor = NULL;
  CHECK_STATUS(wia_allocate_tensor(context, (const int64_t[]){4}, 1, WIA_FLOAT32, &tensor),
               WIA_STATUS_OK);
  CHECK_STATUS(wia_write_tensor(tensor, values, 4 * sizeof *values, NULL), WIA_STATUS_OK);
  return tensor;
}

static void test_groups(void) {
  wia_tensor_t a = make((const float[]){1, -2, 3, -4}), b = make((const float[]){0, 0, 0, 0});
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(a, &info), WIA_STATUS_OK);
  wia_value_t value = WIA_VALUE_INIT;
  value.layout = info.layout;
  const wia_value_t *const values[] = {&value, &value, &value, &value};
  const uint32_t places[] = {0, 1, 2, 3};
  wia_node_t add = WIA_NODE_INIT, relu = WIA_NODE_INIT;
  add.op = WIA_OP_ADD;
  add.inputs = places;
  add.outputs = &places[2];
  add.input_count = 2;
  relu.op = WIA_OP_RELU;
  relu.inputs = &places[2];
  relu.outputs = &places[3];
  relu.input_count = 1;
  add.output_count = relu.output_count = 1;
  const wia_node_t *const nodes[] = {&add, &relu};
  wia_group_t group = WIA_GROUP_INIT;
  group.nodes = nodes;
  group.node_count = 1;
  group.values = values;
  group.value_count = 4;
  group.inputs = places;
  group.outputs = &places[2];
  group.input_count = 2;
  group.output_count = 1;

  wia_plan_t *plan = NULL;
  if (CHECK_STATUS(wia_create_plan(context, &group, &plan), WIA_STATUS_OK)) {
    const wia_tensor_t operands[] = {a, a, b};
    float host[4] = {0};
    CHECK_STATUS(wia_execute_plan(plan, operands, 3, NULL, 0, NULL), WIA_STATUS_OK);
    CHECK_STATUS(wia_read_tensor(b, host, sizeof host, NULL), WIA_STATUS_OK);
    CHECK(host[0] == 2 && host[1] == -4 && host[2] == 6 && host[3] == -8);
    CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
  }
  plan = NULL;
  group.node_count = 2;
  group.outputs = &places[3];
  if (CHECK_STATUS(wia_create_plan(context, &group, &plan), WIA_STATUS_OK)) {
    const wia_tensor_t operands[] = {a, a, b};
    wia_plan_info_t plan_info = WIA_PLAN_INFO_INIT;
    float host[4] = {0};
    CHECK_STATUS(wia_get_plan_info(plan, &plan_info), WIA_STATUS_OK);
    CHECK(plan_info.kernel_count == 2);
    CHECK_STATUS(wia_execute_plan(plan, operands, 3, NULL, 0, NULL), WIA_STATUS_OK);
    CHECK_STATUS(wia_read_tensor(b, host, sizeof host, NULL), WIA_STATUS_OK);
    CHECK(host[0] == 2 && host[1] == 0 && host[2] == 6 && host[3] == 0);
    CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
  }
  CHECK_STATUS(wia_destroy_tensor(a), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_tensor(b), WIA_STATUS_OK);
}

int main(void) {
  int32_t device_id = -1;
  CHECK_STATUS(wia_register_driver(load_sample(), WIA_DRIVER_ABI_MAJOR, WIA_DRIVER_ABI_MINOR),
               WIA_STATUS_OK);
  CHECK_STATUS(wia_find_device(load_sample()->name, &device_id), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_context(&context, device_id), WIA_STATUS_OK);
  test_groups();
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  return CHECK_DONE();
}
