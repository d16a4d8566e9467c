/* Scenario 11: every pointer NULL, enums out of range, short buffers; nothing is written on failure. */
#include "core_driver.h"

static const wia_status_t bad = WIA_STATUS_INVALID_ARGUMENT, good = WIA_STATUS_OK;

static wia_context_t *context;
static wia_stream_t *stream;
static wia_event_t *event;
static wia_plan_t *plan;
static wia_tensor_t tensor, output;
static void *memory;
static float host[4];

/* -- NULL for each pointer that has to be there -------------------------------------------------- */

static void test_null_outputs(void) {
  const int32_t id = core_id(CORE_PLAIN);
  const wia_tensor_t inputs[] = {tensor, tensor};
  const wia_shape_t shapes[] = {{WIA_FLOAT32, 0, {0}}, {WIA_FLOAT32, 0, {0}}};
  const wia_group_t group = WIA_GROUP_INIT;
  CHECK_STATUS(wia_create_context(NULL, id), bad);
  CHECK_STATUS(wia_create_stream(NULL, context), bad);
  CHECK_STATUS(wia_create_event(NULL, context), bad);
  CHECK_STATUS(wia_create_plan(context, &group, NULL), bad);
  CHECK_STATUS(wia_create_operation_plan(context, WIA_OP_ADD, inputs, 2, &output, 1, NULL, 0, NULL),
               bad);
  CHECK_STATUS(wia_allocate_tensor(context, NULL, 0, WIA_FLOAT32, NULL), bad);
  CHECK_STATUS(wia_wrap_tensor(context, memory, NULL, NULL, 0, WIA_FLOAT32, NULL), bad);
  CHECK_STATUS(wia_view_tensor(tensor, 0, NULL, NULL, 0, NULL), bad);
  CHECK_STATUS(wia_malloc(NULL, 8, id), bad);
  CHECK_STATUS(wia_malloc(NULL, 0, id), bad);
  CHECK_STATUS(wia_allocate_memory(NULL, 8, id, NULL), bad);
  CHECK_STATUS(wia_get_context_info(context, NULL), bad);
  CHECK_STATUS(wia_get_device_info(id, NULL), bad);
  CHECK_STATUS(wia_get_memory_info(id, WIA_MEMORY_DEVICE, NULL), bad);
  CHECK_STATUS(wia_get_plan_cache_stats(id, NULL), bad);
  CHECK_STATUS(wia_get_device_support(id, WIA_OP_ADD, NULL), bad);
  CHECK_STATUS(wia_get_plan_info(plan, NULL), bad);
  CHECK_STATUS(wia_get_tensor_info(tensor, NULL), bad);
  CHECK_STATUS(wia_get_op_info(WIA_OP_ADD, NULL), bad);
  CHECK_STATUS(wia_get_load_record_count(NULL), bad);
  CHECK_STATUS(wia_get_load_record(0, NULL), bad);
  CHECK_STATUS(wia_query_address(memory, NULL), bad);
  CHECK_STATUS(wia_query_stream(stream, NULL), bad);
  CHECK_STATUS(wia_query_event(event, NULL), bad);
  CHECK_STATUS(wia_get_elapsed_time(event, event, NULL), bad);
  CHECK_STATUS(wia_find_device("core", NULL), bad);
  CHECK_STATUS(wia_find_op("add", NULL), bad);
  CHECK_STATUS(wia_find_dtype("float32", NULL), bad);
  CHECK_STATUS(wia_get_devices(NULL, 0, NULL), bad);
  CHECK_STATUS(wia_infer_outputs(WIA_OP_ADD, shapes, 2, NULL, 0, NULL, 1), bad);
  CHECK_STATUS(wia_get_version(NULL, NULL, NULL), good); /* any of them may be */
  CHECK_STATUS(wia_register_driver(NULL, WIA_DRIVER_ABI_MAJOR, WIA_DRIVER_ABI_MINOR), bad);
}

static void test_null_inputs(void) {
  const wia_tensor_t inputs[] = {tensor, tensor};
  wia_op_t op = 77;
  wia_dtype_t dtype = 77;
  wia_shape_t shape = {.rank = 77};
  wia_tensor_t made = NULL;
  wia_plan_t *made_plan = NULL;
  CHECK_STATUS(wia_find_op(NULL, &op), bad);
  CHECK_STATUS(wia_find_dtype(NULL, &dtype), bad);
  CHECK_STATUS(wia_infer_outputs(WIA_OP_ADD, NULL, 2, NULL, 0, &shape, 1), bad);
  CHECK_STATUS(wia_infer_outputs(WIA_OP_ADD, &shape, 1, NULL, 3, &shape, 1), bad);
  CHECK(op == 77 && dtype == 77 && shape.rank == 77);
  CHECK_STATUS(wia_allocate_tensor(context, NULL, 2, WIA_FLOAT32, &made), bad);
  CHECK_STATUS(wia_wrap_tensor(context, memory, NULL, NULL, 2, WIA_FLOAT32, &made), bad);
  CHECK_STATUS(wia_wrap_tensor(context, NULL, NULL, NULL, 0, WIA_FLOAT32, &made), bad);
  CHECK_STATUS(wia_view_tensor(tensor, 0, NULL, NULL, 1, &made), bad);
  CHECK_STATUS(wia_create_plan(context, NULL, &made_plan), bad);
  CHECK_STATUS(
      wia_create_operation_plan(context, WIA_OP_ADD, NULL, 2, &output, 1, NULL, 0, &made_plan),
      bad);
  CHECK_STATUS(
      wia_create_operation_plan(context, WIA_OP_ADD, inputs, 2, NULL, 1, NULL, 0, &made_plan), bad);
  CHECK_STATUS(
      wia_create_operation_plan(context, WIA_OP_ADD, inputs, 2, &output, 1, NULL, 4, &made_plan),
      bad);
  CHECK(made == NULL && made_plan == NULL);
  wia_stream_t *const streams[] = {NULL, stream};
  for (uint32_t i = 0; i < 2; i++) {
    CHECK_STATUS(wia_copy_host_to_device(NULL, host, 8, streams[i]), bad);
    CHECK_STATUS(wia_copy_host_to_device(memory, NULL, 8, streams[i]), bad);
    CHECK_STATUS(wia_copy_device_to_host(NULL, memory, 8, streams[i]), bad);
    CHECK_STATUS(wia_copy_device_to_host(host, NULL, 8, streams[i]), bad);
    CHECK_STATUS(wia_copy_device_to_device(NULL, memory, 8, streams[i]), bad);
    CHECK_STATUS(wia_copy_device_to_device(memory, NULL, 8, streams[i]), bad);
    CHECK_STATUS(wia_fill_memory(NULL, host, 4, 8, streams[i]), bad);
    CHECK_STATUS(wia_fill_memory(memory, NULL, 4, 8, streams[i]), bad);
    CHECK_STATUS(wia_read_tensor(tensor, NULL, 16, streams[i]), bad);
    CHECK_STATUS(wia_write_tensor(tensor, NULL, 16, streams[i]), bad);
  }
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), good);
}

/* -- buffers, names, numbers --------------------------------------------------------------------- */

static void test_short_buffers(void) {
  uint32_t count = 0;
  CHECK_STATUS(wia_get_devices(NULL, 0, &count), good);
  CHECK(count == CORE_ALL_COUNT);
  int32_t ids[64];
  for (uint32_t capacity = 1; capacity < count; capacity++) {
    memset(ids, 0x5a, sizeof ids);
    uint32_t told = 0;
    CHECK_STATUS(wia_get_devices(ids, capacity, &told), WIA_STATUS_OUT_OF_RANGE);
    CHECK(told == count && ids[0] == 0x5a5a5a5a);
  }
  CHECK_STATUS(wia_get_devices(NULL, count, &count), bad);
  CHECK_STATUS(wia_get_devices(ids, count, &count), good);
  uint32_t records = 0;
  wia_load_record_t record = WIA_LOAD_RECORD_INIT;
  CHECK_STATUS(wia_get_load_record_count(&records), good);
  CHECK_STATUS(wia_get_load_record(records, &record), WIA_STATUS_OUT_OF_RANGE);
  CHECK_STATUS(wia_get_load_record(UINT32_MAX, &record), WIA_STATUS_OUT_OF_RANGE);
  CHECK(record.name == NULL);
  /* one byte too few or too many of a tensor's elements */
  unsigned char bytes[17];
  memset(bytes, 0x5a, sizeof bytes);
  const uint64_t sizes[] = {0, 1, 15, 17, UINT64_MAX};
  for (uint32_t i = 0; i < 5; i++) {
    CHECK_STATUS(wia_read_tensor(tensor, bytes, sizes[i], NULL), bad);
    CHECK_STATUS(wia_write_tensor(tensor, bytes, sizes[i], NULL), bad);
    CHECK_MESSAGE("[4]");
    CHECK(bytes[0] == 0x5a && bytes[16] == 0x5a);
  }
  CHECK(core_has(tensor, 0, 1));
  wia_shape_t shapes[3] = {{WIA_FLOAT32, 1, {4}}, {WIA_FLOAT32, 1, {4}}, {.rank = 77}};
  const uint32_t counts[] = {0, 2, UINT32_MAX};
  for (uint32_t i = 0; i < 3; i++)
    CHECK_STATUS(wia_infer_outputs(WIA_OP_ADD, shapes, 2, NULL, 0, &shapes[2], counts[i]), bad);
  CHECK(shapes[2].rank == 77);
  CHECK_STATUS(wia_infer_outputs(WIA_OP_ADD, shapes, 2, NULL, 0, &shapes[2], 1), good);
  CHECK(shapes[2].rank == 1 && shapes[2].shape[0] == 4 && shapes[2].dtype == WIA_FLOAT32);
}

static void test_names(void) {
  for (int32_t status = -100; status < 200; status++) {
    CHECK(wia_get_status_name(status) != NULL && wia_get_status_text(status) != NULL);
    CHECK((strcmp(wia_get_status_name(status), "UNKNOWN_STATUS") == 0) ==
          (status < 0 || (status > 16 && status < 32) || status > 35));
  }
  for (wia_dtype_t dtype = -3; dtype < WIA_DTYPE_COUNT + 3; dtype++) {
    const bool known = dtype > 0 && dtype < WIA_DTYPE_COUNT;
    CHECK((strcmp(wia_get_dtype_name(dtype), "none") != 0) == known);
    CHECK((wia_get_dtype_bits(dtype) != 0) == known);
    wia_dtype_t found = 77;
    CHECK_STATUS(wia_find_dtype(wia_get_dtype_name(dtype), &found),
                 known ? good : WIA_STATUS_NOT_FOUND);
    CHECK(found == (known ? dtype : 77));
  }
  wia_dtype_t dtype = 77;
  CHECK_STATUS(wia_find_dtype("Float32", &dtype), WIA_STATUS_NOT_FOUND);
  CHECK_STATUS(wia_find_dtype("", &dtype), WIA_STATUS_NOT_FOUND);
  CHECK_MESSAGE("bfloat16");
  CHECK(wia_get_dtype_bits(INT32_MAX) == 0 && wia_get_dtype_bits(INT32_MIN) == 0);
}

/* The last error belongs to its thread, names the function, and outlives successes. */
static void *look_in_thread(void *argument) {
  (void)argument;
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  CHECK_STATUS(wia_get_last_error(&info), good);
  CHECK(info.status == good && info.function[0] == '\0' && info.driver[0] == '\0' &&
        info.cause[0] == '\0');
  CHECK_STATUS(wia_free(&info), bad);
  CHECK_STATUS(wia_get_last_error(&info), good);
  CHECK(strcmp(info.function, "wia_free") == 0);
  return NULL;
}

static void test_last_error(void) {
  wia_error_info_t first = WIA_ERROR_INFO_INIT, second = WIA_ERROR_INFO_INIT;
  pthread_t thread;
  CHECK_STATUS(wia_find_op("ad", &(wia_op_t){0}), WIA_STATUS_NOT_FOUND);
  CHECK_STATUS(wia_get_last_error(&first), good);
  CHECK(strcmp(first.function, "wia_find_op") == 0 && first.status == WIA_STATUS_NOT_FOUND);
  CHECK_TEXT(first.message, "\"add\"");
  CHECK(pthread_create(&thread, NULL, look_in_thread, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_STATUS(wia_add(context, tensor, tensor, output, NULL), good);
  CHECK_STATUS(wia_synchronize_stream(stream, 0), good);
  CHECK_STATUS(wia_get_last_error(NULL), bad);
  CHECK_STATUS(wia_get_last_error(&second), good);
  CHECK(second.message == first.message && second.function == first.function); /* still valid */
  CHECK(second.status == WIA_STATUS_NOT_FOUND);
}

/* The entries that a driver may leave out. */
static void test_bare_driver(void) {
  uint64_t dtypes = 77;
  CHECK_STATUS(wia_get_device_support(core_id(CORE_BARE), WIA_OP_ADD, &dtypes),
               WIA_STATUS_UNIMPLEMENTED);
  CHECK_MESSAGE("get_support");
  CHECK(dtypes == 77);
  CHECK_STATUS(wia_get_device_support(core_id(CORE_PLAIN), WIA_OP_ADD, &dtypes), good);
  CHECK(dtypes == UINT64_C(1) << WIA_FLOAT32);
  CHECK_STATUS(wia_get_device_support(core_id(CORE_PLAIN), WIA_OP_RELU, &dtypes), good);
  CHECK(dtypes == 0);
}

int main(void) {
  core_start();
  context = core_context(CORE_PLAIN);
  tensor = core_tensor(context, 4, 0);
  output = core_tensor(context, 4, 0);
  CHECK_STATUS(wia_create_stream(&stream, context), good);
  CHECK_STATUS(wia_create_event(&event, context), good);
  CHECK_STATUS(wia_malloc(&memory, 64, core_id(CORE_PLAIN)), good);
  const wia_tensor_t inputs[] = {tensor, tensor};
  CHECK_STATUS(
      wia_create_operation_plan(context, WIA_OP_ADD, inputs, 2, &output, 1, NULL, 0, &plan), good);
  test_null_outputs();
  test_null_inputs();
  test_short_buffers();
  test_names();
  test_last_error();
  test_bare_driver();
  CHECK_STATUS(wia_destroy_plan(plan), good);
  CHECK_STATUS(wia_destroy_stream(stream), good);
  CHECK_STATUS(wia_destroy_event(event), good);
  CHECK_STATUS(wia_free(memory), good);
  core_destroy(tensor);
  core_destroy(output);
  CHECK_STATUS(wia_destroy_context(context), good);
  CHECK_CLEAN();
  return CHECK_DONE();
}
