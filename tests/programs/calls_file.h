/* calls_file.h: files of calls, and of their results.
 *
 * All numbers in both files are int64_t of this machine.
 * A call:       op, input count, output count, attribute count; operands; attributes
 * An operand:   dtype, 0 for one that is left out and has no more; rank; sizes; bytes; data
 * An attribute: bytes of the name; name; WIA_ATTRIBUTE_*; count; data, 8 bytes an element
 * A result:     status; bytes; the data of the outputs, or the message of the failure */
#ifndef TEST_CALLS_FILE_H
#define TEST_CALLS_FILE_H

#include <stdbool.h>
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
  fprintf(stderr, "%s: %s\n%s\n", what, info.message, info.cause);
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

#endif
