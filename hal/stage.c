/* stage.c: kernels on host memory for devices whose memory the host can't reach: each launch copies the
 * operands to the host and the outputs back. */
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "supply.h"

enum { ALIGNMENT = 64, COPIES = 32 };

typedef struct staged_t {
  wia_driver_kernel_t kernel;
  wia__device_t *device;
} staged_t;

static void release(void *state) {
  staged_t *staged = state;
  if (staged->kernel.release) staged->kernel.release(staged->kernel.state);
  free(staged);
}

static wia_status_t measure(void *state, const wia_tensor_layout_t *const *layouts, uint32_t count,
                            wia_cost_t *out_cost, wia_error_t *out_error) {
  const staged_t *staged = state;
  return staged->kernel.measure(staged->kernel.state, layouts, count, out_cost, out_error);
}

/* -- copies -------------------------------------------------------------------------------------- */

/* The piece of an operand that begins so many bytes behind element 0. */
static wia_operand_t piece_of(const wia_operand_t *operand, int64_t begin) {
  return (wia_operand_t){.address = operand->address + (uint64_t)begin,
                         .memory = operand->memory,
                         .offset = operand->offset + (uint64_t)begin};
}

static wia_status_t copy_in(const staged_t *staged, const wia_operand_t *from,
                            const wia_operand_t *to, wia_error_t *error) {
  const wia_tensor_layout_t *layout = from->layout;
  const wia_copy_t copy = {.source = piece_of(from, layout->span_begin),
                           .destination = piece_of(to, layout->span_begin),
                           .size = (uint64_t)(layout->span_end - layout->span_begin)};
  return staged->device->table->copy(staged->device->handle, &copy, 1, error);
}

/* Between the elements of an output may lie those of another tensor, which somebody else writes
 * meanwhile: only what is the output's is written, run by run. */
static wia_status_t copy_out(const staged_t *staged, const wia_operand_t *from,
                             const wia_operand_t *to, wia_error_t *error) {
  const wia_tensor_layout_t *layout = to->layout;
  if (layout->contiguous)
    return copy_in(staged, &(wia_operand_t){from->address, NULL, 0, layout}, to, error);
  const int64_t width = wia_get_dtype_bits(layout->dtype) / 8; /* packed ones are contiguous */
  const uint32_t last = layout->rank - 1;
  const bool rows = layout->strides[last] == 1;
  const int64_t run = rows ? layout->shape[last] : 1;
  int64_t index[WIA_MAX_RANK] = {0};
  const uint64_t runs = layout->element_count / (uint64_t)run;
  wia_copy_t copies[COPIES];
  uint32_t pending = 0;
  wia_status_t status = WIA_STATUS_OK;
  for (uint64_t n = 0; n < runs && !status; n++) {
    int64_t begin = 0;
    for (uint32_t i = 0; i < layout->rank; i++) begin += index[i] * layout->strides[i] * width;
    copies[pending++] =
        (wia_copy_t){piece_of(from, begin), piece_of(to, begin), (uint64_t)(run * width)};
    for (uint32_t i = layout->rank - (rows ? 1 : 0); i-- > 0;) {
      if (++index[i] < layout->shape[i]) break;
      index[i] = 0;
    }
    if (pending < COPIES && n + 1 < runs) continue;
    status = staged->device->table->copy(staged->device->handle, copies, pending, error);
    pending = 0;
  }
  return status;
}

/* -- a launch ------------------------------------------------------------------------------------ */

static uint64_t round_up(uint64_t size) { return (size + ALIGNMENT - 1) & -(uint64_t)ALIGNMENT; }

/* Gives each operand that has elements a place behind base; the bytes of all. */
static uint64_t place_operands(const wia_kernel_args_t *args, uint64_t base,
                               wia_operand_t *out_operands) {
  uint64_t used = 0;
  for (uint32_t i = 0; i < args->input_count + args->output_count; i++) {
    const wia_tensor_layout_t *layout = args->operands[i].layout;
    out_operands[i] = (wia_operand_t){.layout = layout};
    if (!layout || !layout->element_count) continue;
    out_operands[i].address = base + used - (uint64_t)layout->span_begin;
    used += round_up((uint64_t)(layout->span_end - layout->span_begin));
  }
  return used;
}

static wia_status_t run_on_host(const staged_t *staged, const wia_kernel_args_t *args,
                                uint64_t base, uint64_t workspace) {
  wia_operand_t operands[WIA_MAX_OPERANDS];
  const uint32_t count = args->input_count + args->output_count;
  place_operands(args, base, operands);
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t i = 0; i < count && !status; i++)
    if (operands[i].address)
      status = copy_in(staged, &args->operands[i], &operands[i], args->out_error);
  if (status) return status;
  wia_kernel_args_t inner = *args;
  inner.operands = operands;
  inner.workspace = (wia_operand_t){.address = workspace};
  inner.workspace_size = staged->kernel.workspace_size;
  status = staged->kernel.fn(staged->kernel.state, &inner);
  for (uint32_t i = args->input_count; i < count && !status; i++)
    if (operands[i].address)
      status = copy_out(staged, &operands[i], &args->operands[i], args->out_error);
  return status;
}

static wia_status_t run(void *state, const wia_kernel_args_t *args) {
  const staged_t *staged = state;
  const wia_driver_kernel_t *kernel = &staged->kernel;
  wia_operand_t operands[WIA_MAX_OPERANDS];
  const uint64_t size = place_operands(args, 0, operands);
  uint64_t alignment = kernel->workspace_alignment;
  if (alignment < ALIGNMENT) alignment = ALIGNMENT;
  void *block = NULL;
  uint64_t total;
  if (__builtin_add_overflow(size + alignment, kernel->workspace_size, &total) ||
      posix_memalign(&block, ALIGNMENT, total)) {
    wia__set_error_text(args->out_error, "no host memory to compute an operation there", NULL);
    return WIA_STATUS_RESOURCE_EXHAUSTED;
  }
  const uint64_t base = (uint64_t)(uintptr_t)block;
  const uint64_t workspace = (base + size + alignment - 1) & -alignment;
  const wia_status_t status =
      run_on_host(staged, args, base, kernel->workspace_size ? workspace : 0);
  free(block);
  return status;
}

wia_status_t wia__stage_kernel(wia__device_t *device, wia_driver_kernel_t *kernel,
                               wia_error_t *out_error) {
  staged_t *staged = calloc(1, sizeof *staged);
  if (!staged) {
    if (kernel->release) kernel->release(kernel->state);
    wia__set_error_text(out_error, "no memory for a kernel", NULL);
    return WIA_STATUS_RESOURCE_EXHAUSTED;
  }
  staged->kernel = *kernel;
  staged->device = device;
  kernel->fn = run;
  kernel->state = staged;
  kernel->release = release;
  kernel->measure = kernel->measure ? measure : NULL;
  if (kernel->workspace_size) kernel->flags &= ~(uint32_t)WIA_KERNEL_ANY_SHAPE;
  kernel->flags &= ~(uint32_t)WIA_KERNEL_PROMPT; /* the copies call the driver */
  kernel->flags |= WIA_KERNEL_IN_PLACE;          /* an output has a place of its own here */
  kernel->workspace_size = kernel->workspace_alignment = 0;
  return WIA_STATUS_OK;
}
