/* graph_move.c: changing the memory of an executable's nodes, wherever it is used. */
#include <string.h>

#include "edit.h"

/* What lies in [from, from + size) goes to the same offset from `to`. */
typedef struct move_t {
  uint64_t from, to, size;
  const wia_tensor_layout_t
      *only;        /* only tensors of this layout at `from` exactly; NULL: all inside */
  uint64_t address; /* of element 0 of those */
  bool apply;       /* else only check */
  uint32_t count;
} move_t;

static bool is_inside(const move_t *move, uint64_t begin, uint64_t end) {
  return begin >= move->from && end - move->from <= move->size;
}

static bool is_apart(const move_t *move, uint64_t begin, uint64_t end) {
  return end <= move->from || move->from + move->size <= begin;
}

static wia_status_t fail_node(const wia__program_t *program, uint32_t n, const char *what) {
  char text[WIA__NODE_TEXT];
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s %s",
                   wia__describe_node(text, program->name, program->list.nodes[n], n), what);
}

static wia_status_t find_memory(const wia__program_t *program, uint32_t n, uint64_t begin,
                                uint64_t end, const wia__device_t *device,
                                wia__allocation_t **out_allocation) {
  wia_status_t status = wia__find_range(begin, end - begin, "new memory", out_allocation);
  if (status) return wia__name_failure(program, n, status);
  return (*out_allocation)->device == device
             ? WIA_STATUS_OK
             : fail_node(program, n, "would get memory of another device");
}

/* -- operands of kernels ------------------------------------------------------------------------- */

/* Whether an operand goes along; *out_status: that it can't. */
static bool goes_along(const wia__program_t *program, uint32_t n, const wia__tensor_t *tensor,
                       const move_t *move, wia_status_t *out_status) {
  if (tensor->begin == tensor->end) return false;
  if (move->only)
    return tensor->operand.layout == move->only && tensor->operand.address == move->address;
  if (is_inside(move, tensor->begin, tensor->end)) return true;
  if (!is_apart(move, tensor->begin, tensor->end))
    *out_status = fail_node(program, n, "has an operand that lies only partly in the old memory");
  return false;
}

static wia_status_t move_tensor(const wia__program_t *program, uint32_t n, const move_t *move,
                                wia__tensor_t *tensor) {
  const wia_tensor_layout_t *layout = tensor->operand.layout;
  const uint64_t delta = move->to - move->from;
  uint64_t size = (wia_get_dtype_bits(layout->dtype) + 7) / 8;
  if (layout->dtype == WIA_COMPLEX64 || layout->dtype == WIA_COMPLEX128) size /= 2;
  if ((tensor->operand.address + delta) % size)
    return fail_node(program, n, "would get an operand that is not aligned to its elements");
  wia__allocation_t *allocation = NULL;
  const wia_status_t status = find_memory(program, n, tensor->begin + delta, tensor->end + delta,
                                          tensor->device, &allocation);
  if (status) return status;
  tensor->allocation = allocation;
  wia__set_operand(tensor, layout, allocation, tensor->operand.address + delta);
  return WIA_STATUS_OK;
}

static wia_status_t move_kernel(wia__program_t *program, uint32_t n, move_t *move) {
  const wia__graph_node_t *node = program->list.nodes[n];
  const uint32_t count = wia__count_operands(node);
  wia__tensor_t tensors[WIA_MAX_OPERANDS];
  uint32_t moved = 0;
  wia_status_t status = WIA_STATUS_OK;
  memcpy(tensors, node->tensors, count * sizeof *tensors);
  for (uint32_t i = 0; i < count && !status; i++) {
    if (!goes_along(program, n, &tensors[i], move, &status)) continue;
    status = move_tensor(program, n, move, &tensors[i]);
    moved++;
  }
  if (status || !moved) return status;
  move->count += moved;
  return move->apply ? wia__put_tensors(program, n, tensors)
                     : wia__check_operands(program, n, tensors);
}

/* -- copies and fills ---------------------------------------------------------------------------- */

typedef struct side_t {
  wia_operand_t *operand;
  const wia__device_t *device; /* NULL: the host */
  uint32_t memory;             /* which of the transfer's allocations */
  uint64_t begin, end;
} side_t;

static side_t side_of(wia__transfer_t *t, bool destination) {
  side_t side = {.operand = destination ? &t->destination : &t->source,
                 .device = destination ? t->destination_device : t->source_device,
                 .memory = !destination && t->destination_device};
  side.begin = side.operand->address;
  side.end = side.begin + t->size;
  if (side.device && t->layout) {
    side.end = side.begin + (uint64_t)t->layout->public_layout.span_end;
    side.begin += (uint64_t)t->layout->public_layout.span_begin;
  }
  return side;
}

static wia_status_t check_host(const wia__program_t *program, uint32_t n, uint64_t address) {
  const wia__allocation_t *allocation = wia__find_allocation(address);
  if (!allocation || allocation->device->flags & WIA_DEVICE_HOST_ADDRESSABLE ||
      (!(allocation->device->flags & WIA_DEVICE_OPAQUE_MEMORY) &&
       allocation->kind != WIA_MEMORY_DEVICE))
    return WIA_STATUS_OK;
  return fail_node(program, n, "would get memory that the host can't reach for its host side");
}

/* *out_allocation: what the side then lies in; NULL: the host's. */
static wia_status_t move_side(const wia__program_t *program, uint32_t n, const move_t *move,
                              side_t *side, bool written, wia__allocation_t **out_allocation) {
  const uint64_t delta = move->to - move->from, address = side->operand->address + delta;
  *out_allocation = NULL;
  if (!side->device) {
    side->operand->address = address;
    return check_host(program, n, address);
  }
  wia_status_t status =
      find_memory(program, n, side->begin + delta, side->end + delta, side->device, out_allocation);
  if (!status && written) status = wia__check_writable(*out_allocation, "new memory");
  if (!status) *side->operand = wia__operand_at(*out_allocation, address);
  return status;
}

static bool side_goes_along(const wia__program_t *program, uint32_t n, const side_t *side,
                            const wia__transfer_t *t, const move_t *move,
                            wia_status_t *out_status) {
  if (!side->operand->address || side->begin == side->end) return false;
  if (move->only)
    return side->operand->address == move->address && t->layout &&
           &t->layout->public_layout == move->only && side->device;
  if (is_inside(move, side->begin, side->end)) return true;
  if (!is_apart(move, side->begin, side->end))
    *out_status = fail_node(program, n, "has a side that lies only partly in the old memory");
  return false;
}

static wia_status_t move_transfer(wia__program_t *program, uint32_t n, move_t *move) {
  wia__transfer_t *own = program->list.nodes[n]->transfer, changed = *own;
  wia__allocation_t *held[2] = {NULL, NULL};
  uint32_t moved = 0;
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t s = 0; s < 2 && !status; s++) {
    side_t side = side_of(&changed, s == 0);
    wia__allocation_t *allocation = NULL;
    if (!side_goes_along(program, n, &side, own, move, &status)) continue;
    status = move_side(program, n, move, &side, s == 0, &allocation);
    if (allocation) held[side.memory] = changed.allocations[side.memory] = allocation;
    moved++;
  }
  if (status || !moved) return status;
  move->count += moved;
  const side_t to = side_of(&changed, true), from = side_of(&changed, false);
  if (changed.action != WIA__FILL && to.begin < from.end && from.begin < to.end)
    return fail_node(program, n, "would get a source and a destination that overlap");
  return move->apply ? wia__put_transfer(program, n, &changed, held) : WIA_STATUS_OK;
}

/* -- everywhere ---------------------------------------------------------------------------------- */

static wia_status_t move_nodes(wia__program_t *program, move_t *move) {
  wia_status_t status = WIA_STATUS_OK;
  move->count = 0;
  for (uint32_t n = 0; n < program->list.count && !status; n++) {
    const wia__graph_node_t *node = program->list.nodes[n];
    if (node->plan) status = move_kernel(program, n, move);
    if (node->transfer) status = move_transfer(program, n, move);
  }
  return status;
}

/* All is checked before anything is changed. */
static wia_status_t move_memory(wia_executable_t *executable, move_t *move, uint32_t *out_count) {
  wia__edit_t edit;
  wia_status_t status = wia__begin_edit(executable, &edit);
  if (status) return status;
  status = move_nodes(edit.program, move);
  if (!status && !move->count)
    status = wia__fail(WIA_STATUS_NOT_FOUND, "no node of graph \"%s\" uses the old memory",
                       edit.program->name);
  move->apply = true;
  if (!status) status = move_nodes(edit.program, move);
  if (!status && out_count) *out_count = move->count;
  return wia__end_edit(&edit, status);
}

static wia_status_t update_graph_memory(wia_executable_t *executable, const void *old_address,
                                        const void *new_address, uint64_t size,
                                        uint32_t *out_count) {
  if (!old_address) return wia__null("old_address");
  if (!new_address) return wia__null("new_address");
  move_t move = {.from = (uint64_t)(uintptr_t)old_address,
                 .to = (uint64_t)(uintptr_t)new_address,
                 .size = size};
  if (size > INT64_MAX || move.from > UINT64_MAX - size || move.to > UINT64_MAX - size)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "size is %llu, which leaves the address space",
                     (unsigned long long)size);
  return move_memory(executable, &move, out_count);
}

WIA_API wia_status_t wia_update_graph_memory(wia_executable_t *executable, const void *old_address,
                                             const void *new_address, uint64_t size,
                                             uint32_t *out_count) {
  WIA__CALL(update_graph_memory(executable, old_address, new_address, size, out_count));
}

static wia_status_t update_graph_tensor(wia_executable_t *executable, wia_tensor_t old_handle,
                                        wia_tensor_t new_handle, uint32_t *out_count) {
  wia__tensor_t *old = NULL, *new = NULL;
  wia_status_t status = wia__resolve(old_handle, WIA__TENSOR, "old_tensor", &old);
  if (!status) status = wia__resolve_tensor(new_handle, "new_tensor", &new);
  if (status) return status;
  const wia_tensor_layout_t *was = old->operand.layout, *is = new->operand.layout;
  char was_text[WIA__SHAPE_TEXT], is_text[WIA__SHAPE_TEXT];
  if (was != is)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "new_tensor is %s %s; expected %s %s, with the strides of old_tensor",
                     wia_get_dtype_name(is->dtype), wia__format_shape(is_text, is->shape, is->rank),
                     wia_get_dtype_name(was->dtype),
                     wia__format_shape(was_text, was->shape, was->rank));
  move_t move = {.from = old->begin,
                 .to = new->begin,
                 .size = old->end - old->begin,
                 .only = was->contiguous ? NULL : was,
                 .address = old->operand.address};
  return move_memory(executable, &move, out_count);
}

WIA_API wia_status_t wia_update_graph_tensor(wia_executable_t *executable, wia_tensor_t old_tensor,
                                             wia_tensor_t new_tensor, uint32_t *out_count) {
  WIA__CALL(update_graph_tensor(executable, old_tensor, new_tensor, out_count));
}
