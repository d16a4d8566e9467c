#include "sample.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARK = 0xA5, MARGIN = 64 };

const wia_driver_t *load_sample(void) {
  void *library = dlopen(SAMPLE_DRIVER_FILE, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  wia_negotiate_driver_fn_t negotiate;
  void *symbol = dlsym(library, "wia_negotiate_driver");
  memcpy(&negotiate, &symbol, sizeof negotiate);
  wia_negotiation_t negotiation = {.struct_size = sizeof negotiation,
                                   .core_major = WIA_DRIVER_ABI_MAJOR,
                                   .core_minor = WIA_DRIVER_ABI_MINOR};
  wia_error_t error = {.struct_size = sizeof error};
  if (negotiate(&negotiation, &error) != WIA_STATUS_OK || negotiation.driver_count != 1) exit(1);
  return negotiation.drivers[0];
}

static int64_t item_size(wia_dtype_t dtype) {
  switch (dtype) {
#define CASE(constant, value, name, bits)                                                          \
  case value:                                                                                      \
    return (bits) / 8;
    WIA_DTYPE_MAP(CASE)
#undef CASE
  default:
    abort();
  }
}

static void set_strides(array_t *array, int mode) {
  const uint32_t rank = array->layout.rank;
  int64_t step = mode == GAPPED ? 2 : 1;
  for (uint32_t i = 0; i < rank; i++) {
    const uint32_t d = mode == SWAPPED ? i : rank - 1 - i;
    array->strides[d] = mode == REVERSED ? -step : step;
    step *= array->shape[d] + (mode == GAPPED);
  }
}

void make_array(array_t *array, wia_dtype_t dtype, int mode, uint32_t rank, const int64_t *shape) {
  wia_tensor_layout_t *layout = &array->layout;
  *layout = (wia_tensor_layout_t){.struct_size = sizeof *layout,
                                  .dtype = dtype,
                                  .rank = rank,
                                  .format = WIA_FORMAT_STRIDED,
                                  .element_count = 1,
                                  .shape = array->shape,
                                  .strides = array->strides};
  for (uint32_t i = 0; i < rank; i++) {
    array->shape[i] = shape[i];
    layout->element_count *= (uint64_t)shape[i];
  }
  set_strides(array, mode);
  const int64_t size = item_size(dtype);
  int64_t begin = 0, packed = 1;
  layout->contiguous = 1;
  for (uint32_t i = rank; i-- > 0; packed *= shape[i]) {
    if (shape[i] > 1 && array->strides[i] < 0) begin += (shape[i] - 1) * -array->strides[i];
    if (shape[i] != 1 && array->strides[i] != packed) layout->contiguous = 0;
  }
  memset(array->bytes, MARK, sizeof array->bytes);
  memset(array->used, 0, sizeof array->used);
  array->address = (uintptr_t)array->bytes + MARGIN + (uint64_t)(begin * size);
  for (uint64_t i = 0; i < layout->element_count; i++) {
    const uint64_t offset = (uintptr_t)element(array, i) - (uintptr_t)array->bytes;
    if (offset + MARGIN > MAX_BYTES) abort();
    memset(array->used + offset, 1, (size_t)size);
  }
}

void *element(array_t *array, uint64_t place) {
  int64_t index[WIA_MAX_RANK];
  for (uint32_t i = array->layout.rank; i-- > 0;) {
    index[i] = (int64_t)(place % (uint64_t)array->shape[i]);
    place /= (uint64_t)array->shape[i];
  }
  return element_at(array, index);
}

void *element_at(array_t *array, const int64_t *index) {
  int64_t offset = 0;
  for (uint32_t i = 0; i < array->layout.rank; i++) offset += index[i] * array->strides[i];
  return (char *)(uintptr_t)array->address + offset * item_size(array->layout.dtype);
}

void fill_random(array_t *array) {
  static uint32_t state = 1;
  for (uint64_t i = 0; i < array->layout.element_count; i++) {
    state = state * 1664525u + 1013904223u;
    const int32_t whole = (int32_t)(state >> 16) % 1000 - 500;
    switch (array->layout.dtype) {
    case WIA_FLOAT32:
      *(float *)element(array, i) = (float)whole / 128;
      break;
    case WIA_INT32:
      *(int32_t *)element(array, i) = whole;
      break;
    case WIA_INT64:
      *(int64_t *)element(array, i) = whole;
      break;
    default:
      memset(element(array, i), (int)(state >> 24), (size_t)item_size(array->layout.dtype));
    }
  }
}

bool has_margins(const array_t *array) {
  for (uint32_t i = 0; i < MAX_BYTES; i++)
    if (!array->used[i] && array->bytes[i] != MARK) return false;
  return true;
}

wia_status_t launch(launch_t *launch) {
  static const wia_driver_t *driver;
  if (driver == NULL) driver = load_sample();
  wia_value_t values[4];
  const wia_value_t *value_pointers[4];
  uint32_t inputs[3], outputs[1], count = 0;
  wia_operand_t operands[4];
  memset(operands, 0, sizeof operands);
  for (uint32_t i = 0; i <= launch->input_count; i++) {
    array_t *array = i < launch->input_count ? launch->inputs[i] : launch->output;
    if (i < launch->input_count) inputs[i] = array == NULL ? UINT32_MAX : count;
    if (array == NULL) continue;
    values[count] = WIA_VALUE_INIT;
    values[count].layout = &array->layout;
    value_pointers[count] = &values[count];
    operands[i] = (wia_operand_t){.address = array->address, .layout = &array->layout};
    count++;
  }
  outputs[0] = count - 1;
  wia_node_t node = WIA_NODE_INIT;
  node.op_name = launch->op_name;
  node.attributes = launch->attributes;
  node.attribute_count = launch->attribute_count;
  node.inputs = inputs;
  node.input_count = launch->input_count;
  node.outputs = outputs;
  node.output_count = 1;
  const wia_node_t *nodes[] = {&node};
  wia_group_t group = WIA_GROUP_INIT;
  group.node_count = 1;
  group.nodes = nodes;
  group.values = value_pointers;
  group.value_count = count;
  group.inputs = inputs;
  group.input_count = launch->input_count;
  group.outputs = outputs;
  group.output_count = 1;

  const wia_request_t request = {
      .struct_size = sizeof request, .group = &group, .candidate = launch->candidate};
  wia_driver_kernel_t kernel = {.struct_size = sizeof kernel};
  launch->error = (wia_error_t){.struct_size = sizeof launch->error};
  wia_driver_device_t device;
  wia_status_t status = driver->open_device(driver->self, 0, &device, &launch->error);
  if (status == WIA_STATUS_OK) status = driver->prepare(device, &request, &kernel, &launch->error);
  if (status != WIA_STATUS_OK) return status;
  launch->flags = kernel.flags;
  const wia_kernel_args_t args = {.struct_size = sizeof args,
                                  .operands = operands,
                                  .input_count = launch->input_count,
                                  .output_count = 1,
                                  .scalars = launch->scalars,
                                  .scalar_count = launch->scalars == NULL ? 0 : 2,
                                  .out_error = &launch->error};
  status = kernel.fn(kernel.state, &args);
  kernel.release(kernel.state);
  return status;
}

bool is_near(double result, double expected, double count, double magnitude) {
  if (isnan(expected) || isinf(expected))
    return isnan(expected) ? isnan(result) : result == expected;
  return fabs(result - expected) <= ldexp(count * magnitude + 2 * fabs(expected), -24);
}
