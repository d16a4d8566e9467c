/* Scenario 1: the sizes that callers' structs may have, of those that calls read. */
#include "core_structs.h"

static wia_context_t *context;
static wia_tensor_t a, b, c, matrix, image, weight, out_image, pooled, row;
static const wia_tensor_layout_t *layout;

static wia_status_t try_memory_config(room_t *room) {
  void *memory = NULL;
  const wia_status_t status =
      wia_allocate_memory(&memory, 64, core_id(CORE_PLAIN), (const wia_memory_config_t *)room);
  wia_free(memory);
  return status;
}

static wia_status_t try_import_config(room_t *room) {
  static float value;
  const wia_status_t status =
      wia_import_memory(&value, sizeof value, core_id(CORE_PLAIN), (wia_import_config_t *)room);
  if (!status) wia_free(&value);
  return status;
}

static wia_status_t try_matmul(room_t *room) {
  return wia_matmul(context, matrix, matrix, c, (const wia_matmul_config_t *)room, NULL);
}

static wia_status_t try_softmax(room_t *room) {
  return wia_softmax(context, a, b, (const wia_softmax_config_t *)room, NULL);
}

static wia_status_t try_conv(room_t *room) {
  return wia_conv2d(context, image, weight, NULL, out_image, (const wia_conv_config_t *)room, NULL);
}

static wia_status_t try_addmm(room_t *room) {
  return wia_addmm(context, matrix, matrix, matrix, c, (const wia_addmm_config_t *)room, NULL);
}

static wia_status_t try_layer_norm(room_t *room) {
  return wia_layer_norm(context, a, NULL, NULL, b, (const wia_layer_norm_config_t *)room, NULL);
}

static wia_status_t try_batch_norm(room_t *room) {
  return wia_batch_norm(context, matrix, row, row, NULL, NULL, c,
                        (const wia_batch_norm_config_t *)room, NULL);
}

static wia_status_t try_reduce(room_t *room) {
  wia_tensor_t scalar = core_empty(context, 0, NULL);
  const wia_status_t status =
      wia_reduce_sum(context, a, scalar, (const wia_reduce_config_t *)room, NULL);
  wia_destroy_tensor(scalar);
  return status;
}

static wia_status_t try_transpose(room_t *room) {
  return wia_transpose(context, matrix, c, (const wia_transpose_config_t *)room, NULL);
}

static wia_status_t try_argmax(room_t *room) {
  wia_tensor_t index = NULL;
  wia_allocate_tensor(context, NULL, 0, WIA_INT64, &index);
  const wia_status_t status =
      wia_argmax(context, a, index, (const wia_argmax_config_t *)room, NULL);
  wia_destroy_tensor(index);
  return status;
}

static wia_status_t try_max_pool(room_t *room) {
  return wia_max_pool2d(context, image, pooled, (const wia_max_pool2d_config_t *)room, NULL);
}

static wia_status_t try_dims(room_t *room) {
  wia_tensor_info_t x = WIA_TENSOR_INFO_INIT, y = WIA_TENSOR_INFO_INIT;
  wia_get_tensor_info(matrix, &x);
  wia_get_tensor_info(c, &y);
  const void *in = (const void *)(uintptr_t)x.address;
  return wia_matmul_strided(context, in, in, (void *)(uintptr_t)y.address,
                            (const wia_matmul_dims_t *)room, NULL);
}

static wia_value_t values[3];
static const wia_value_t *value_pointers[3] = {&values[0], &values[1], &values[2]};
static const uint32_t inputs[] = {0, 1}, outputs[] = {2};
static wia_node_t node;
static const wia_node_t *node_pointers[1] = {&node};
static wia_group_t group;

static void make_group(void) {
  for (uint32_t i = 0; i < 3; i++) {
    values[i] = WIA_VALUE_INIT;
    values[i].layout = layout;
    value_pointers[i] = &values[i];
  }
  node = WIA_NODE_INIT;
  node.op = WIA_OP_ADD;
  node.inputs = inputs;
  node.outputs = outputs;
  node.input_count = 2;
  node.output_count = 1;
  node_pointers[0] = &node;
  group = WIA_GROUP_INIT;
  group.nodes = node_pointers;
  group.node_count = 1;
  group.values = value_pointers;
  group.value_count = 3;
  group.inputs = inputs;
  group.input_count = 2;
  group.outputs = outputs;
  group.output_count = 1;
}

static wia_status_t create_plan(const wia_group_t *given) {
  wia_plan_t *made = NULL;
  const wia_status_t status = wia_create_plan(context, given, &made);
  if (!status) wia_destroy_plan(made);
  return status;
}

static wia_status_t try_group(room_t *room) { return create_plan((const wia_group_t *)room); }

static wia_status_t try_value(room_t *room) {
  value_pointers[1] = (const wia_value_t *)room;
  const wia_status_t status = create_plan(&group);
  value_pointers[1] = &values[1];
  return status;
}

static wia_status_t try_node(room_t *room) {
  node_pointers[0] = (const wia_node_t *)room;
  const wia_status_t status = create_plan(&group);
  node_pointers[0] = &node;
  return status;
}

static wia_status_t try_layout(room_t *room) {
  values[1].layout = (const wia_tensor_layout_t *)room;
  const wia_status_t status = create_plan(&group);
  values[1].layout = layout;
  return status;
}

/* first: the size of its first release. expected: what the call gives for a struct of the right size; the
 * driver has few kernels, and those operations end as UNIMPLEMENTED, after the struct was read. */
static void check_read(const char *macro, const void *init, uint32_t size, uint32_t first,
                       try_t call, wia_status_t expected) {
  room_t room;
  memset(&room, 0, sizeof room);
  memcpy(&room, init, size);
  printf("%s\n", macro);
  CHECK_STATUS(call(&room), expected);
  room.size = first; /* of an older program */
  CHECK_STATUS(call(&room), expected);
  const uint32_t small[] = {0, 1, 3, sizeof(uint32_t), first - 1};
  for (uint32_t i = 0; i < 5; i++) {
    room.size = small[i];
    if (CHECK_STATUS(call(&room), WIA_STATUS_INVALID_ARGUMENT)) CHECK_MESSAGE(macro);
  }
  for (uint32_t longer = size + 1; longer <= sizeof room; longer += 29) { /* zero behind */
    room.size = longer;
    CHECK_STATUS(call(&room), expected);
  }
  room.bytes[size + 8] = 1; /* data behind */
  room.size = size + 9;
  if (CHECK_STATUS(call(&room), WIA_STATUS_INCOMPATIBLE)) CHECK_MESSAGE("newer");
  room.size = size + 8; /* the byte is not the struct's */
  CHECK_STATUS(call(&room), expected);
  room.bytes[size + 8] = 0;
  const uint32_t garbage[] = {UINT32_MAX, 0x80000000u, 0xdeadbeefu};
  for (uint32_t i = 0; i < 3; i++) { /* not set at all: read no gigabytes */
    room.size = garbage[i];
    if (CHECK_STATUS(call(&room), WIA_STATUS_INVALID_ARGUMENT)) CHECK_MESSAGE(macro);
  }
}

#define CHECK_READ(macro, value, call, expected)                                                   \
  check_read(macro, &(value), sizeof(value), sizeof(value), call, expected)
/* The same of one that the call takes as its macro makes it. */
#define CHECK_INIT(type, init, call, expected)                                                     \
  do {                                                                                             \
    const type value = init;                                                                       \
    CHECK_READ(#init, value, call, expected);                                                      \
  } while (0)
/* The same of one that has grown: last is the last field of its first release. */
#define CHECK_GROWN(macro, value, last, call, expected)                                            \
  check_read(macro, &(value), sizeof(value),                                                       \
             (uint32_t)((const char *)(&(value).last + 1) - (const char *)&(value)), call,         \
             expected)

static void test_read(void) {
  CHECK_INIT(wia_memory_config_t, WIA_MEMORY_CONFIG_INIT, try_memory_config, WIA_STATUS_OK);
  CHECK_INIT(wia_import_config_t, WIA_IMPORT_CONFIG_INIT, try_import_config, WIA_STATUS_OK);
  CHECK_INIT(wia_matmul_config_t, WIA_MATMUL_CONFIG_INIT, try_matmul, WIA_STATUS_OK);
  CHECK_INIT(wia_softmax_config_t, WIA_SOFTMAX_CONFIG_INIT, try_softmax, WIA_STATUS_OK);
  CHECK_INIT(wia_conv_config_t, WIA_CONV_CONFIG_INIT, try_conv, WIA_STATUS_UNIMPLEMENTED);
  CHECK_INIT(wia_addmm_config_t, WIA_ADDMM_CONFIG_INIT, try_addmm, WIA_STATUS_UNIMPLEMENTED);
  CHECK_INIT(wia_layer_norm_config_t, WIA_LAYER_NORM_CONFIG_INIT, try_layer_norm,
             WIA_STATUS_UNIMPLEMENTED);
  CHECK_INIT(wia_batch_norm_config_t, WIA_BATCH_NORM_CONFIG_INIT, try_batch_norm,
             WIA_STATUS_UNIMPLEMENTED);
  CHECK_INIT(wia_reduce_config_t, WIA_REDUCE_CONFIG_INIT, try_reduce, WIA_STATUS_UNIMPLEMENTED);
  CHECK_INIT(wia_transpose_config_t, WIA_TRANSPOSE_CONFIG_INIT, try_transpose,
             WIA_STATUS_UNIMPLEMENTED);
  CHECK_INIT(wia_argmax_config_t, WIA_ARGMAX_CONFIG_INIT, try_argmax, WIA_STATUS_UNIMPLEMENTED);
  wia_max_pool2d_config_t pool = WIA_MAX_POOL2D_CONFIG_INIT;
  pool.kernel[0] = pool.kernel[1] = 2;
  CHECK_READ("WIA_MAX_POOL2D_CONFIG_INIT", pool, try_max_pool, WIA_STATUS_UNIMPLEMENTED);
  wia_matmul_dims_t dims = WIA_MATMUL_DIMS_INIT;
  dims.dtype = WIA_FLOAT32;
  dims.m = dims.n = dims.k = 2;
  CHECK_READ("WIA_MATMUL_DIMS_INIT", dims, try_dims, WIA_STATUS_OK);
  CHECK_READ("WIA_GROUP_INIT", group, try_group, WIA_STATUS_OK);
  CHECK_READ("WIA_VALUE_INIT", values[1], try_value, WIA_STATUS_OK);
  CHECK_READ("WIA_NODE_INIT", node, try_node, WIA_STATUS_OK);
  CHECK_READ("wia_get_tensor_info", *layout, try_layout, WIA_STATUS_OK);
}

/* Each registration takes another name, so that what is checked is the struct. */
static const char *new_name(void) {
  static char name[32];
  static uint32_t count;
  snprintf(name, sizeof name, "test::a%u", count++);
  return name;
}

static wia_status_t prepare_none(void *self, int32_t device_id, const wia_request_t *request,
                                 wia_driver_kernel_t *out_kernel, wia_error_t *out_error) {
  (void)self, (void)device_id, (void)request, (void)out_kernel, (void)out_error;
  return WIA_STATUS_UNIMPLEMENTED;
}

static const wia_operand_definition_t operand = {.name = "x"}, result = {.name = "y"};

static wia_op_definition_t new_definition(void) {
  wia_op_definition_t definition = WIA_OP_DEFINITION_INIT;
  definition.name = new_name();
  definition.family = "same";
  definition.inputs = &operand;
  definition.outputs = &result;
  definition.input_count = definition.output_count = 1;
  return definition;
}

static wia_status_t try_definition(room_t *room) {
  wia_op_t op;
  wia_op_definition_t *definition = (wia_op_definition_t *)room;
  if (definition->name) definition->name = new_name();
  return wia_register_op(definition, &op);
}

static wia_status_t try_kernel_config(room_t *room) {
  wia_op_definition_t definition = new_definition();
  wia_op_t op;
  CHECK_STATUS(wia_register_op(&definition, &op), WIA_STATUS_OK);
  return wia_register_kernel(op, "core", prepare_none, NULL, (const wia_kernel_config_t *)room);
}

static wia_status_t try_extension(room_t *room) {
  wia_device_extension_t *extension = (wia_device_extension_t *)room;
  if (extension->extension_id) extension->extension_id = new_name();
  return wia_register_device_extension(context, extension);
}

static void test_registrations(void) {
  wia_op_definition_t definition = new_definition();
  CHECK_GROWN("WIA_OP_DEFINITION_INIT", definition, context, try_definition, WIA_STATUS_OK);
  CHECK_INIT(wia_kernel_config_t, WIA_KERNEL_CONFIG_INIT, try_kernel_config, WIA_STATUS_OK);
  wia_device_extension_t extension = WIA_DEVICE_EXTENSION_INIT;
  extension.extension_id = new_name();
  extension.version = "1.0";
  CHECK_READ("WIA_DEVICE_EXTENSION_INIT", extension, try_extension, WIA_STATUS_OK);
}

int main(void) {
  core_start();
  context = core_context(CORE_PLAIN);
  a = core_tensor(context, 4, 1);
  b = core_tensor(context, 4, 1);
  row = core_tensor(context, 2, 1);
  matrix = core_empty(context, 2, (const int64_t[]){2, 2});
  c = core_empty(context, 2, (const int64_t[]){2, 2});
  image = core_empty(context, 4, (const int64_t[]){1, 1, 4, 4});
  weight = core_empty(context, 4, (const int64_t[]){1, 1, 3, 3});
  out_image = core_empty(context, 4, (const int64_t[]){1, 1, 2, 2});
  pooled = core_empty(context, 4, (const int64_t[]){1, 1, 2, 2});
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(a, &info), WIA_STATUS_OK);
  layout = info.layout;
  make_group();
  test_read();
  test_registrations();
  const wia_tensor_t all[] = {a, b, row, matrix, c, image, weight, out_image, pooled};
  for (uint32_t i = 0; i < sizeof all / sizeof all[0]; i++) core_destroy(all[i]);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_CLEAN();
  return CHECK_DONE();
}
