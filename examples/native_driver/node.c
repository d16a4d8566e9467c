/* node.c: reads a request: its one operation and the attributes of that. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

wia_status_t sample_fail(wia_error_t *error, wia_status_t status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  error->status = status;
  return status;
}

wia_status_t sample_read_part(const wia_request_t *request, uint32_t index, sample_node_t *out_node,
                              wia_error_t *out_error) {
  const wia_group_t *group = request->group;
  const wia_node_t *node = group->nodes[index];
  if (node->input_count > SAMPLE_MAX_INPUTS || node->output_count != 1)
    return sample_fail(out_error, WIA_STATUS_UNIMPLEMENTED,
                       "there is no kernel for %s with %u inputs and %u outputs", node->op_name,
                       node->input_count, node->output_count);
  *out_node = (sample_node_t){.op_name = node->op_name,
                              .input_count = node->input_count,
                              .output = group->values[node->outputs[0]]->layout,
                              .attribute_count = node->attribute_count,
                              .attributes = node->attributes,
                              .candidate = request->candidate,
                              .error = out_error};
  for (uint32_t i = 0; i < node->input_count; i++)
    if (node->inputs[i] != UINT32_MAX) out_node->inputs[i] = group->values[node->inputs[i]]->layout;
  return WIA_STATUS_OK;
}

/* The operands of a launch are those of the operation, in its order. */
wia_status_t sample_read_node(const wia_request_t *request, sample_node_t *out_node,
                              wia_error_t *out_error) {
  return sample_read_part(request, 0, out_node, out_error);
}

/* Marks an attribute as read only when it has the form that the caller can use: one of another type
 * or length then fails in sample_finish(), as an unknown one does. */
static const wia_attribute_t *find(sample_node_t *node, const char *name, int32_t type,
                                   uint32_t capacity) {
  for (uint32_t i = 0; i < node->attribute_count; i++) {
    const wia_attribute_t *attribute = &node->attributes[i];
    if (strcmp(attribute->name, name) != 0) continue;
    if (attribute->type != type || attribute->count > capacity) return NULL;
    node->read_attributes |= UINT64_C(1) << i;
    return attribute;
  }
  return NULL;
}

int64_t sample_get_int(sample_node_t *node, const char *name, int64_t default_value) {
  sample_get_list(node, name, 1, &default_value);
  return default_value;
}

uint32_t sample_get_list(sample_node_t *node, const char *name, uint32_t capacity,
                         int64_t *values) {
  const wia_attribute_t *attribute = find(node, name, WIA_ATTRIBUTE_INT64, capacity);
  if (attribute == NULL) return 0;
  memcpy(values, attribute->data, attribute->count * sizeof *values);
  return attribute->count;
}

sample_scalar_t sample_get_scalar(sample_node_t *node, const char *name, double default_value) {
  sample_scalar_t scalar = {.value = default_value, .index = -1};
  const wia_attribute_t *attribute = find(node, name, WIA_ATTRIBUTE_FLOAT64, 1);
  if (attribute == NULL) return scalar;
  if (attribute->data == NULL)
    scalar.index = attribute->scalar;
  else
    scalar.value = *(const double *)attribute->data;
  return scalar;
}

void sample_skip_attribute(sample_node_t *node, const char *name) {
  for (uint32_t i = 0; i < node->attribute_count; i++)
    if (strcmp(node->attributes[i].name, name) == 0) node->read_attributes |= UINT64_C(1) << i;
}

void sample_accept_algorithm(sample_node_t *node, const char *name) {
  if (node->candidate != NULL && strcmp(node->candidate, name) == 0) node->candidate = NULL;
}

wia_status_t sample_finish(sample_node_t *node, wia_kernel_fn_t fn, uint32_t flags,
                           const void *state, size_t state_size, wia_driver_kernel_t *out_kernel) {
  /* An attribute that is passed over would give a wrong result in silence. */
  for (uint32_t i = 0; i < node->attribute_count; i++)
    if (i >= 64 || (node->read_attributes >> i & 1) == 0)
      return sample_fail(node->error, WIA_STATUS_UNIMPLEMENTED,
                         "attribute %s of %s, as it was given, is not implemented",
                         node->attributes[i].name, node->op_name);
  if (node->candidate != NULL)
    return sample_fail(node->error, WIA_STATUS_UNIMPLEMENTED, "%s has no algorithm %s",
                       node->op_name, node->candidate);
  void *copy = malloc(state_size);
  if (copy == NULL)
    return sample_fail(node->error, WIA_STATUS_RESOURCE_EXHAUSTED,
                       "no memory for the state of a %s kernel, %zu bytes", node->op_name,
                       state_size);
  memcpy(copy, state, state_size);
  out_kernel->fn = fn;
  out_kernel->flags = flags;
  out_kernel->state = copy;
  out_kernel->release = free;
  return WIA_STATUS_OK;
}

/* wia_get_dtype_name() and wia_get_dtype_bits() would do, but then the driver had to link libwia.
 * The map is in the header for this. */
static const struct {
  const char *name;
  uint32_t size;
} dtypes[WIA_DTYPE_COUNT] = {
#define DTYPE(constant, value, name, bits) [value] = {name, (bits) / 8},
    WIA_DTYPE_MAP(DTYPE)
#undef DTYPE
};

const char *sample_dtype_name(wia_dtype_t dtype) { return dtypes[dtype].name; }

uint32_t sample_item_size(wia_dtype_t dtype) { return dtypes[dtype].size; }

int64_t sample_stride(const wia_tensor_layout_t *layout, uint32_t dimension) {
  return layout->strides[dimension] * (int64_t)sample_item_size(layout->dtype);
}
