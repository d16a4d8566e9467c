/* The table of the sample driver: its memory, and what it refuses. */
#include <string.h>

#include "check.h"
#include "sample.h"

static const wia_driver_t *driver;
static wia_driver_device_t device;
static wia_error_t error;
static array_t a, c;

static void test_device(void) {
  uint32_t count = 0;
  CHECK_STATUS(driver->count_devices(driver->self, &count, &error), WIA_STATUS_OK);
  CHECK(count == 1);
  wia_driver_device_info_t info = {.struct_size = sizeof info};
  CHECK_STATUS(driver->get_info(device, &info, &error), WIA_STATUS_OK);
  CHECK(info.flags == WIA_DEVICE_HOST_ADDRESSABLE && info.memory_kind_count == 1);
  wia_memory_kind_info_t kind = {.struct_size = sizeof kind};
  CHECK_STATUS(driver->get_memory_kind(device, 0, &kind, &error), WIA_STATUS_OK);
  CHECK(kind.kind == WIA_MEMORY_DEVICE);
  CHECK_STATUS(driver->get_memory_kind(device, 1, &kind, &error), WIA_STATUS_OUT_OF_RANGE);
}

static wia_status_t allocate(uint64_t size, uint64_t alignment, wia_operand_t *out_memory) {
  *out_memory = (wia_operand_t){0};
  return driver->allocate(device, WIA_MEMORY_DEVICE, size, alignment, out_memory, &error);
}

static void test_memory(void) {
  static const uint64_t alignments[] = {64, 256, 4096};
  for (int i = 0; i < 3; i++) {
    wia_operand_t memory;
    CHECK_STATUS(allocate(100, alignments[i], &memory), WIA_STATUS_OK);
    CHECK(memory.address % alignments[i] == 0 && memory.offset == 0);
    uint8_t back[100] = {0}, pattern[] = {1, 2, 3, 4};
    CHECK_STATUS(driver->fill(device, &memory, 100, pattern, 4, &error), WIA_STATUS_OK);
    const wia_copy_t copy = {
        .source = memory, .destination = {.address = (uintptr_t)back}, .size = 100};
    CHECK_STATUS(driver->copy(device, &copy, 1, &error), WIA_STATUS_OK);
    for (int k = 0; k < 100; k++) CHECK(back[k] == k % 4 + 1);
    driver->free(device, &memory);
  }
}

static void test_memory_refusals(void) {
  static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 64, UINT64_MAX / 2};
  wia_operand_t memory;
  for (int i = 0; i < 3; i++) {
    error.message[0] = '\0';
    CHECK_STATUS(allocate(sizes[i], 64, &memory), WIA_STATUS_RESOURCE_EXHAUSTED);
    CHECK(memory.address == 0 && strstr(error.message, "bytes") != NULL);
  }
  CHECK_STATUS(driver->allocate(device, WIA_MEMORY_HOST_PINNED, 64, 64, &memory, &error),
               WIA_STATUS_UNIMPLEMENTED);
}

static uint64_t support(const char *op_name) {
  uint64_t dtypes = 1;
  CHECK_STATUS(driver->get_support(device, op_name, &dtypes, &error), WIA_STATUS_OK);
  return dtypes;
}

static void test_support(void) {
  CHECK(support("matmul") == UINT64_C(1) << WIA_FLOAT32);
  CHECK(support("add") == (UINT64_C(1) << WIA_FLOAT32 | UINT64_C(1) << WIA_INT32));
  CHECK((support("reshape") >> WIA_COMPLEX128 & 1) == 1 &&
        (support("reshape") >> WIA_INT4 & 1) == 0);
  CHECK((support("reshape") & 1) == 0 && support("reshape") >> WIA_DTYPE_COUNT == 0);
  CHECK(support("matmu") == 0 && support("layer_norm") == 0);
}

/* Each message names what is missing. */
static void check_refused(launch_t call, const char *named) {
  CHECK_STATUS(launch(&call), WIA_STATUS_UNIMPLEMENTED);
  CHECK(strstr(call.error.message, named) != NULL);
}

static void test_refusals(void) {
  const int64_t value = 1;
  const double number = 1;
  wia_attribute_t attribute = {
      .name = "slope", .data = &value, .type = WIA_ATTRIBUTE_INT64, .count = 1};
  launch_t call = {.op_name = "relu", .inputs = {&a}, .input_count = 1, .output = &c};
  MAKE(&a, WIA_FLOAT32, PLAIN, 4);
  MAKE(&c, WIA_FLOAT32, PLAIN, 4);
  CHECK_STATUS(launch(&call), WIA_STATUS_OK);
  call.attributes = &attribute;
  call.attribute_count = 1;
  check_refused(call, "slope");
  call.op_name = "softmax"; /* it knows the attribute, but not as a float */
  attribute.name = "axis";
  attribute.type = WIA_ATTRIBUTE_FLOAT64;
  attribute.data = &number;
  check_refused(call, "axis");
  attribute.type = WIA_ATTRIBUTE_INT64;
  attribute.count = 2;
  check_refused(call, "axis");
  call.attribute_count = 0;
  call.candidate = "winograd";
  check_refused(call, "winograd");
  call.candidate = NULL;
  call.op_name = "layer_norm";
  check_refused(call, "layer_norm");
  call.op_name = "relu";
  MAKE(&a, WIA_FLOAT64, PLAIN, 4);
  check_refused(call, "float64");
  call.op_name = "cast";
  MAKE(&a, WIA_FLOAT32, PLAIN, 4);
  MAKE(&c, WIA_FLOAT16, PLAIN, 4);
  check_refused(call, "float16");
}

int main(void) {
  driver = load_sample();
  error.struct_size = sizeof error;
  CHECK_STATUS(driver->open_device(driver->self, 0, &device, &error), WIA_STATUS_OK);
  test_device();
  test_memory();
  test_memory_refusals();
  test_support();
  test_refusals();
  driver->close_device(device);
  return CHECK_DONE();
}
