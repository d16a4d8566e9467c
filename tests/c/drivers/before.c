/* A driver that was built for driver ABI 1.0, the minor version before ours. So that it stays one, it
 * includes no header of ours: what it needs of wia_driver.h stands here as it was then. It has relu of
 * float32 vectors. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t status_t;
enum { OK = 0, RESOURCE_EXHAUSTED = 8, UNIMPLEMENTED = 12, MAJOR = 1, MINOR = 0 };
enum { HOST_ADDRESSABLE = 4, MEMORY_DEVICE = 1, FLOAT32 = 2, THREAD_SAFE = 1, IN_PLACE = 2 };

typedef struct layout_t {
  uint32_t struct_size;
  int32_t dtype;
  uint32_t rank, format;
  uint64_t id, element_count;
  const int64_t *shape, *strides;
  int64_t span_begin, span_end;
  uint32_t contiguous, reserved;
} layout_t;

typedef struct operand_t {
  uint64_t address;
  void *memory;
  uint64_t offset;
  const layout_t *layout;
} operand_t;

typedef struct kernel_args_t {
  uint32_t struct_size, flags;
  const operand_t *operands;
  uint32_t input_count, output_count;
  const void *scalars;
  uint64_t scalar_count;
  operand_t workspace;
  uint64_t workspace_size;
  void *stream, *out_error;
} kernel_args_t;

typedef struct kernel_t {
  uint32_t struct_size, flags;
  status_t (*fn)(void *state, const kernel_args_t *args);
  void *state;
  void (*release)(void *state);
  uint64_t workspace_size, workspace_alignment;
  double flops, bytes, time_ns, energy_pj;
  const char *name;
  void (*measure)(void);
} kernel_t;

typedef struct value_t {
  uint32_t struct_size, flags;
  const layout_t *layout;
  int32_t alias;
  uint32_t reserved;
  const char *name;
} value_t;

typedef struct node_t {
  uint32_t struct_size;
  int32_t op;
  const char *op_name;
  const void *attributes;
  const uint32_t *inputs, *outputs;
  uint32_t attribute_count, input_count, output_count, reserved;
  const char *source;
} node_t;

typedef struct group_t {
  uint32_t struct_size, node_count;
  const node_t *const *nodes;
  const value_t *const *values;
  const uint32_t *inputs, *outputs;
  uint32_t value_count, input_count, output_count, scalar_count;
} group_t;

typedef struct request_t {
  uint32_t struct_size, flags;
  const group_t *group;
  const char *candidate;
  uint64_t workspace_limit;
} request_t;

typedef struct device_info_t {
  uint32_t struct_size, flags;
  const char *description, *vendor, *architecture;
  uint32_t memory_kind_count, reserved;
  uint64_t address_alignment;
} device_info_t;

typedef struct memory_kind_info_t {
  uint32_t struct_size;
  int32_t kind;
  uint64_t total_size, free_size;
} memory_kind_info_t;

typedef struct copy_t {
  operand_t source, destination;
  uint64_t size;
} copy_t;

/* The table of 1.0, up to its last entry, copy_to_peer. */
typedef struct driver_t {
  uint32_t struct_size, flags;
  const char *name, *version, *vendor;
  void *self;
  status_t (*count_devices)(void *self, uint32_t *out_count, void *error);
  status_t (*open_device)(void *self, uint32_t index, void **out_device, void *error);
  void (*close_device)(void *device);
  status_t (*get_info)(void *device, device_info_t *out_info, void *error);
  status_t (*get_memory_kind)(void *device, uint32_t index, memory_kind_info_t *out, void *error);
  status_t (*allocate)(void *device, int32_t kind, uint64_t size, uint64_t alignment,
                       operand_t *out_memory, void *error);
  void (*free)(void *device, const operand_t *memory);
  status_t (*copy)(void *device, const copy_t *copies, uint32_t count, void *error);
  status_t (*prepare)(void *device, const request_t *request, kernel_t *out_kernel, void *error);
  void (*get_support)(void);
  void (*fill)(void);
  void (*get_link)(void);
  const void *streams;
  void (*copy_to_peer)(void);
} driver_t;

typedef struct negotiation_t {
  uint32_t struct_size, core_major, core_minor, driver_major, driver_minor, driver_count;
  const void *host;
  const driver_t *const *drivers;
} negotiation_t;

static status_t count_devices(void *self, uint32_t *out_count, void *error) {
  (void)self, (void)error;
  *out_count = 1;
  return OK;
}

static status_t open_device(void *self, uint32_t index, void **out_device, void *error) {
  (void)self, (void)index, (void)error;
  *out_device = NULL;
  return OK;
}

static void close_device(void *device) { (void)device; }

static status_t get_info(void *device, device_info_t *out_info, void *error) {
  (void)device, (void)error;
  out_info->flags = HOST_ADDRESSABLE;
  out_info->memory_kind_count = 1;
  return OK;
}

static status_t get_memory_kind(void *device, uint32_t index, memory_kind_info_t *out,
                                void *error) {
  (void)device, (void)index, (void)error;
  out->kind = MEMORY_DEVICE;
  return OK;
}

static status_t allocate(void *device, int32_t kind, uint64_t size, uint64_t alignment,
                         operand_t *out_memory, void *error) {
  (void)device, (void)kind, (void)error;
  out_memory->memory = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  out_memory->address = (uint64_t)(uintptr_t)out_memory->memory;
  return out_memory->memory ? OK : RESOURCE_EXHAUSTED;
}

static void free_memory(void *device, const operand_t *memory) {
  (void)device;
  free(memory->memory);
}

static status_t copy(void *device, const copy_t *copies, uint32_t count, void *error) {
  (void)device, (void)error;
  for (uint32_t i = 0; i < count; i++)
    memcpy((void *)(uintptr_t)copies[i].destination.address,
           (const void *)(uintptr_t)copies[i].source.address, copies[i].size);
  return OK;
}

static status_t run_relu(void *state, const kernel_args_t *args) {
  (void)state;
  const float *x = (const float *)(uintptr_t)args->operands[0].address;
  float *y = (float *)(uintptr_t)args->operands[1].address;
  for (uint64_t i = 0; i < args->operands[1].layout->element_count; i++) y[i] = x[i] > 0 ? x[i] : 0;
  return OK;
}

static status_t prepare(void *device, const request_t *request, kernel_t *out_kernel, void *error) {
  (void)device, (void)error;
  const group_t *group = request->group;
  if (group->node_count != 1 || strcmp(group->nodes[0]->op_name, "relu") != 0 ||
      group->values[0]->layout->dtype != FLOAT32 || !group->values[0]->layout->contiguous)
    return UNIMPLEMENTED;
  out_kernel->fn = run_relu;
  out_kernel->flags = THREAD_SAFE | IN_PLACE;
  return OK;
}

static const driver_t table = {.struct_size = sizeof table,
                               .name = "before",
                               .version = "1.0.0",
                               .count_devices = count_devices,
                               .open_device = open_device,
                               .close_device = close_device,
                               .get_info = get_info,
                               .get_memory_kind = get_memory_kind,
                               .allocate = allocate,
                               .free = free_memory,
                               .copy = copy,
                               .prepare = prepare};
static const driver_t *const tables[] = {&table};

__attribute__((visibility("default"))) status_t wia_negotiate_driver(negotiation_t *negotiation,
                                                                     void *error);

status_t wia_negotiate_driver(negotiation_t *negotiation, void *error) {
  (void)error;
  negotiation->driver_major = MAJOR;
  negotiation->driver_minor = MINOR;
  negotiation->driver_count = 1;
  negotiation->drivers = tables;
  return OK;
}
