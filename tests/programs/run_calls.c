/* run_calls.c: runs the calls of a file on a device, and writes what came out into another file.
 *
 *     run_calls DEVICE CALLS RESULTS */
#include "calls_file.h"

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
