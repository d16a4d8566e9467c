/* run_calls.c: runs the calls of a file on a device, and writes what came out into another file.
 *
 *     run_calls DEVICE CALLS RESULTS
 *
 * All numbers in both files are int64_t of this machine.
 * A call:       op, input count, output count, attribute count; operands; attributes
 * An operand:   dtype, 0 for one that is left out and has no more; rank; sizes; bytes; data
 * An attribute: bytes of the name; name; WIA_ATTRIBUTE_*; count; data, 8 bytes an element
 * A result:     status; bytes; the data of the outputs, or the message of the failure */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wia.h>

enum { MAX_ATTRIBUTES = 16, MAX_ELEMENTS = 64, MAX_NAME = 64 };

typedef struct operand_t {
  wia_tensor_t tensor;
  uint64_t size;
} operand_t;

static FILE *calls, *results;

static void give_up(const char *what) {
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  wia_get_last_error(&info);
  fprintf(stderr, "run_calls: %s: %s\n%s\n", what, info.message, info.cause);
  exit(1);
}

static void read_bytes(void *data, uint64_t size) {
  if (size && fread(data, size, 1, calls) != 1) give_up("the file of calls ends early");
}

static int64_t read_number(void) {
  int64_t number;
  read_bytes(&number, sizeof number);
  return number;
}

static uint32_t read_count(uint32_t limit) {
  const int64_t count = read_number();
  if (count < 0 || count > limit) give_up("a count is out of range");
  return (uint32_t)count;
}

static void write_bytes(const void *data, uint64_t size) {
  if (size && fwrite(data, size, 1, results) != 1) give_up("the results can't be written");
}

static void write_number(int64_t number) { write_bytes(&number, sizeof number); }

static void *allocate(uint64_t size) {
  void *memory = malloc(size ? size : 1);
  if (!memory) give_up("no memory");
  return memory;
}

static operand_t read_operand(wia_context_t *context) {
  operand_t operand = {0};
  const wia_dtype_t dtype = (wia_dtype_t)read_number();
  if (dtype == WIA_DTYPE_NONE) return operand;
  int64_t shape[WIA_MAX_RANK];
  const uint32_t rank = read_count(WIA_MAX_RANK);
  for (uint32_t i = 0; i < rank; i++) shape[i] = read_number();
  operand.size = (uint64_t)read_number();
  void *data = allocate(operand.size);
  read_bytes(data, operand.size);
  if (wia_allocate_tensor(context, shape, rank, dtype, &operand.tensor) ||
      wia_write_tensor(operand.tensor, data, operand.size, NULL))
    give_up("an operand");
  free(data);
  return operand;
}

typedef struct value_t {
  char name[MAX_NAME];
  int64_t words[MAX_ELEMENTS];
  int32_t dtype;
} value_t;

static wia_attribute_t read_attribute(value_t *value) {
  const uint32_t length = read_count(MAX_NAME - 1);
  read_bytes(value->name, length);
  value->name[length] = 0;
  wia_attribute_t attribute = {.name = value->name, .data = value->words};
  attribute.type = (int32_t)read_number();
  attribute.count = read_count(MAX_ELEMENTS);
  read_bytes(value->words, attribute.count * sizeof value->words[0]);
  if (attribute.type == WIA_ATTRIBUTE_DTYPE) {
    value->dtype = (int32_t)value->words[0];
    attribute.data = &value->dtype;
  }
  return attribute;
}

static void write_outputs(const operand_t *outputs, uint32_t count) {
  uint64_t total = 0;
  for (uint32_t i = 0; i < count; i++) total += outputs[i].size;
  write_number((int64_t)total);
  for (uint32_t i = 0; i < count; i++) {
    if (!outputs[i].tensor) continue;
    void *data = allocate(outputs[i].size);
    if (wia_read_tensor(outputs[i].tensor, data, outputs[i].size, NULL)) give_up("an output");
    write_bytes(data, outputs[i].size);
    free(data);
  }
}

static void run_call(wia_context_t *context, wia_op_t op) {
  operand_t operands[WIA_MAX_OPERANDS];
  wia_tensor_t tensors[WIA_MAX_OPERANDS];
  wia_attribute_t attributes[MAX_ATTRIBUTES];
  value_t values[MAX_ATTRIBUTES];
  const uint32_t inputs = read_count(WIA_MAX_OPERANDS);
  const uint32_t outputs = read_count(WIA_MAX_OPERANDS - inputs);
  const uint32_t attribute_count = read_count(MAX_ATTRIBUTES);
  for (uint32_t i = 0; i < inputs + outputs; i++) {
    operands[i] = read_operand(context);
    tensors[i] = operands[i].tensor;
  }
  for (uint32_t i = 0; i < attribute_count; i++) attributes[i] = read_attribute(&values[i]);
  const wia_status_t status = wia_execute(context, op, tensors, inputs, tensors + inputs, outputs,
                                          attributes, attribute_count, NULL);
  write_number(status);
  if (status == WIA_STATUS_OK) {
    write_outputs(operands + inputs, outputs);
  } else {
    wia_error_info_t info = WIA_ERROR_INFO_INIT;
    wia_get_last_error(&info);
    write_number((int64_t)strlen(info.message));
    write_bytes(info.message, strlen(info.message));
  }
  for (uint32_t i = 0; i < inputs + outputs; i++)
    if (tensors[i] && wia_destroy_tensor(tensors[i])) give_up("an operand");
}

int main(int argc, char **argv) {
  int32_t device;
  wia_context_t *context;
  int64_t op;
  if (argc != 4) return 2;
  calls = fopen(argv[2], "rb");
  results = fopen(argv[3], "wb");
  if (!calls || !results) give_up("a file can't be opened");
  if (wia_find_device(argv[1], &device) || wia_create_context(&context, device)) give_up(argv[1]);
  while (fread(&op, sizeof op, 1, calls) == 1) run_call(context, (wia_op_t)op);
  return fclose(results) != 0;
}
