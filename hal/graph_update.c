/* graph_update.c: changing what an executable's nodes work on. */
#include <stdio.h>
#include <string.h>

#include "alias.h"
#include "edit.h"

/* -- edits --------------------------------------------------------------------------------------- */

wia_status_t wia__begin_edit(wia_executable_t *handle, wia__edit_t *edit) {
  wia__executable_t *executable = NULL;
  wia_status_t status = wia__resolve(handle, WIA__EXECUTABLE, "executable", &executable);
  if (status) return status;
  wia__retain(&executable->object); /* a copy may leave the epoch */
  pthread_mutex_lock(&executable->mutex);
  wia__program_t *program = atomic_load(&executable->program);
  *edit = (wia__edit_t){.executable = executable, .program = program};
  if (atomic_load_explicit(&program->object.references, memory_order_acquire) == 1 &&
      pthread_mutex_trylock(&executable->turn) == 0) {
    edit->in_place = true;
    return WIA_STATUS_OK;
  }
  wia__node_list_t list;
  if (wia__copy_nodes(&program->list, &list))
    status = wia__create_program(program->name, program->device, &list, program->branch_count,
                                 &executable->config, &edit->program);
  else
    status = wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for an update");
  if (!status) return status;
  pthread_mutex_unlock(&executable->mutex);
  wia__release(&executable->object);
  return status;
}

/* Puts another program in the executable's place. */
static void swap(wia__executable_t *executable, wia__program_t *program) {
  wia__release(&atomic_exchange(&executable->program, program)->object);
}

wia_status_t wia__end_edit(wia__edit_t *edit, wia_status_t status) {
  wia__executable_t *executable = edit->executable;
  if (edit->in_place)
    pthread_mutex_unlock(&executable->turn);
  else if (status)
    wia__release(&edit->program->object);
  else
    swap(executable, edit->program);
  pthread_mutex_unlock(&executable->mutex);
  wia__release(&executable->object);
  return status;
}

static wia_status_t find_node(const wia__program_t *program, uint32_t n, int32_t kind,
                              const char *expected, wia__graph_node_t **out_node) {
  if (n >= program->list.count)
    return wia__fail(WIA_STATUS_OUT_OF_RANGE, "node is %u; expected one below the %u of \"%s\"", n,
                     program->list.count, program->name);
  char text[WIA__NODE_TEXT];
  *out_node = program->list.nodes[n];
  if ((*out_node)->kind == kind) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s is no %s",
                   wia__describe_node(text, program->name, *out_node, n), expected);
}

static void changed(wia__program_t *program, uint32_t n) {
  wia__refresh_node(program, n);
  wia__refresh_driver_graph(program, n);
}

/* -- operands ------------------------------------------------------------------------------------ */

/* That a kernel can have these operands. */
wia_status_t wia__check_operands(const wia__program_t *program, uint32_t n,
                                 const wia__tensor_t *tensors) {
  const wia__plan_t *plan = program->list.nodes[n]->plan;
  const wia__tensor_t *operands[WIA_MAX_OPERANDS];
  for (uint32_t i = 0; i < plan->input_count + plan->output_count; i++)
    operands[i] = plan->layouts[i] ? &tensors[i] : NULL;
  uint64_t aliases = 0;
  wia_status_t status =
      wia__check_aliases(plan->name, operands, plan->input_count, plan->output_count, &aliases);
  if (!status && aliases != plan->aliases)
    status = wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: the kernel was prepared for outputs that are%s inputs; capture it anew",
                       plan->name, plan->aliases ? " other" : " not");
  return status ? wia__name_failure(program, n, status) : status;
}

/* The node's place of a memory gets another, which is held already. */
static void set_memory(wia__allocation_t **place, wia__allocation_t *held) {
  if (*place) wia__drop_memory(*place);
  *place = held;
}

static wia_status_t freed(const wia__program_t *program, uint32_t n) {
  return wia__name_failure(
      program, n,
      wia__fail(WIA_STATUS_INVALID_HANDLE, "the new memory was freed by another thread"));
}

wia_status_t wia__put_tensors(wia__program_t *program, uint32_t n, const wia__tensor_t *tensors) {
  wia__graph_node_t *node = program->list.nodes[n];
  const uint32_t count = wia__count_operands(node);
  for (uint32_t i = 0; i < count; i++) {
    if (!tensors[i].allocation || wia__hold_memory(tensors[i].allocation)) continue;
    while (i-- > 0)
      if (tensors[i].allocation) wia__drop_memory(tensors[i].allocation);
    return freed(program, n);
  }
  for (uint32_t i = 0; i < count; i++) {
    wia__tensor_t *place = &node->tensors[i];
    set_memory(&place->allocation, tensors[i].allocation);
    place->operand = tensors[i].operand;
    place->begin = tensors[i].begin;
    place->end = tensors[i].end;
  }
  changed(program, n);
  return WIA_STATUS_OK;
}

wia_status_t wia__put_transfer(wia__program_t *program, uint32_t n, const wia__transfer_t *transfer,
                               wia__allocation_t *const *fresh) {
  wia__transfer_t *own = program->list.nodes[n]->transfer;
  for (uint32_t i = 0; i < own->allocation_count; i++) {
    if (!fresh[i] || wia__hold_memory(fresh[i])) continue;
    while (i-- > 0)
      if (fresh[i]) wia__drop_memory(fresh[i]);
    return freed(program, n);
  }
  for (uint32_t i = 0; i < own->allocation_count; i++)
    if (fresh[i]) set_memory(&own->allocations[i], fresh[i]);
  own->destination = transfer->destination;
  own->source = transfer->source;
  changed(program, n);
  return WIA_STATUS_OK;
}

static wia_status_t refuse_tensor(const wia__program_t *program, uint32_t n, uint32_t i,
                                  const wia__tensor_t *tensor) {
  const wia__plan_t *plan = program->list.nodes[n]->plan;
  char text[WIA__NODE_TEXT], was[WIA__SHAPE_TEXT], wanted[WIA__SHAPE_TEXT];
  wia__describe_node(text, program->name, program->list.nodes[n], n);
  if (!plan->layouts[i])
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: operand %u was left out in the capture",
                     text, i);
  if (tensor->device != plan->device)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: operand %u is on %s; expected %s", text, i,
                     tensor->device->name, plan->device->name);
  const wia_tensor_layout_t *given = tensor->operand.layout, *layout = plan->layouts[i];
  return wia__fail(
      WIA_STATUS_INVALID_ARGUMENT,
      "%s: operand %u is %s %s; expected %s %s, with the strides that it had", text, i,
      wia_get_dtype_name(given->dtype), wia__format_shape(was, given->shape, given->rank),
      wia_get_dtype_name(layout->dtype), wia__format_shape(wanted, layout->shape, layout->rank));
}

static wia_status_t put_operand(wia__program_t *program, uint32_t n, uint32_t i,
                                wia_tensor_t handle) {
  wia__graph_node_t *node = NULL;
  wia__tensor_t *tensor = NULL, tensors[WIA_MAX_OPERANDS];
  wia_status_t status = find_node(program, n, WIA_GRAPH_KERNEL, "kernel", &node);
  if (status) return status;
  const uint32_t count = wia__count_operands(node);
  if (i >= count)
    return wia__fail(WIA_STATUS_OUT_OF_RANGE, "operand is %u; expected one below the %u of %s", i,
                     count, node->plan->name);
  status = wia__resolve_tensor(handle, "tensor", &tensor);
  if (status) return status;
  if (tensor->device != node->device || tensor->operand.layout != node->plan->layouts[i])
    return refuse_tensor(program, n, i, tensor);
  memcpy(tensors, node->tensors, count * sizeof *tensors);
  tensors[i] = *tensor;
  status = wia__check_operands(program, n, tensors);
  return status ? status : wia__put_tensors(program, n, tensors);
}

static wia_status_t update_graph_operand(wia_executable_t *executable, uint32_t node,
                                         uint32_t operand, wia_tensor_t tensor) {
  wia__edit_t edit;
  const wia_status_t status = wia__begin_edit(executable, &edit);
  return status ? status : wia__end_edit(&edit, put_operand(edit.program, node, operand, tensor));
}

WIA_API wia_status_t wia_update_graph_operand(wia_executable_t *executable, uint32_t node,
                                              uint32_t operand, wia_tensor_t tensor) {
  WIA__CALL(update_graph_operand(executable, node, operand, tensor));
}

/* -- scalars and functions ----------------------------------------------------------------------- */

/* The operation that a plan was prepared for; NULL: a group. */
static const wia__op_t *op_of(const wia__plan_t *plan) {
  return plan->key.count ? wia__get_op((wia_op_t)plan->key.words[0]) : NULL;
}

static void name_scalar(const wia__plan_t *plan, uint32_t index, char *name, size_t size) {
  const wia__op_t *op = op_of(plan);
  if (op)
    snprintf(name, size, "%s", op->scalars[index].name);
  else
    snprintf(name, size, "%u", index);
}

static wia_status_t find_scalar(const wia__program_t *program, uint32_t n, const char *name,
                                uint32_t *out_index) {
  const wia__plan_t *plan = program->list.nodes[n]->plan;
  char known[256] = "", one[64], text[WIA__NODE_TEXT];
  size_t used = 0;
  for (uint32_t i = 0; i < plan->scalar_count; i++) {
    name_scalar(plan, i, one, sizeof one);
    *out_index = i;
    if (strcmp(one, name) == 0) return WIA_STATUS_OK;
    if (used < sizeof known)
      used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", one);
  }
  return wia__fail(WIA_STATUS_NOT_FOUND, "%s has no scalar \"%.64s\"; it has %s",
                   wia__describe_node(text, program->name, program->list.nodes[n], n), name,
                   used ? known : "none");
}

static wia_status_t put_scalar(wia__program_t *program, uint32_t n, const char *name,
                               const wia_scalar_t *value) {
  wia__graph_node_t *node = NULL;
  uint32_t index = 0;
  wia_status_t status = find_node(program, n, WIA_GRAPH_KERNEL, "kernel", &node);
  if (!status) status = find_scalar(program, n, name, &index);
  if (status) return status;
  node->scalars[index] = *value;
  changed(program, n);
  return WIA_STATUS_OK;
}

static wia_status_t update_graph_scalar(wia_executable_t *executable, uint32_t node,
                                        const char *name, const wia_scalar_t *value) {
  wia__edit_t edit;
  if (!name) return wia__null("name");
  if (!value) return wia__null("value");
  const wia_status_t status = wia__begin_edit(executable, &edit);
  return status ? status : wia__end_edit(&edit, put_scalar(edit.program, node, name, value));
}

WIA_API wia_status_t wia_update_graph_scalar(wia_executable_t *executable, uint32_t node,
                                             const char *name, const wia_scalar_t *value) {
  WIA__CALL(update_graph_scalar(executable, node, name, value));
}

static wia_status_t update_graph_function(wia_executable_t *executable, uint32_t n,
                                          wia_host_fn_t function, void *context) {
  wia__edit_t edit;
  wia__graph_node_t *node = NULL;
  if (!function) return wia__null("function");
  wia_status_t status = wia__begin_edit(executable, &edit);
  if (status) return status;
  status = find_node(edit.program, n, WIA_GRAPH_FUNCTION, "host function", &node);
  if (!status) {
    node->function = function;
    node->context = context;
  }
  return wia__end_edit(&edit, status);
}

WIA_API wia_status_t wia_update_graph_function(wia_executable_t *executable, uint32_t node,
                                               wia_host_fn_t function, void *context) {
  WIA__CALL(update_graph_function(executable, node, function, context));
}

/* -- all of it ----------------------------------------------------------------------------------- */

static wia_status_t differ(const wia__program_t *program, const wia__graph_t *graph, uint32_t n,
                           const char *what) {
  char text[WIA__NODE_TEXT], other[WIA__NODE_TEXT];
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s has %s than %s: instantiate the graph instead",
                   wia__describe_node(text, graph->name, graph->list.nodes[n], n), what,
                   wia__describe_node(other, program->name, program->list.nodes[n], n));
}

static wia_status_t compare(const wia__program_t *program, const wia__graph_t *graph) {
  if (graph->device != program->device || graph->list.count != program->list.count ||
      graph->branch_count != program->branch_count)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "graph \"%s\" has %u nodes in %u branches on %s, the executable %u in %u on "
                     "%s: instantiate the graph instead",
                     graph->name, graph->list.count, graph->branch_count, graph->device->name,
                     program->list.count, program->branch_count, program->device->name);
  for (uint32_t n = 0; n < graph->list.count; n++) {
    const wia__graph_node_t *a = graph->list.nodes[n], *b = program->list.nodes[n];
    if (a->kind != b->kind) return differ(program, graph, n, "another kind");
    if (a->device != b->device) return differ(program, graph, n, "another device");
    if (a->branch != b->branch || a->dependency_count != b->dependency_count ||
        (a->dependency_count &&
         memcmp(a->dependencies, b->dependencies, a->dependency_count * sizeof(uint32_t)) != 0))
      return differ(program, graph, n, "other dependencies");
  }
  return WIA_STATUS_OK;
}

static wia_status_t replace(wia__executable_t *executable, const wia__graph_t *graph) {
  const wia__program_t *current = atomic_load(&executable->program);
  wia__program_t *program = NULL;
  wia__node_list_t list;
  wia_status_t status = compare(current, graph);
  if (status) return status;
  if (!wia__copy_nodes(&graph->list, &list))
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for an update");
  status = wia__create_program(executable->name, graph->device, &list, graph->branch_count,
                               &executable->config, &program);
  if (status) return status;
  status = wia__make_lanes(executable, program);
  if (status)
    wia__release(&program->object);
  else
    swap(executable, program);
  return status;
}

static wia_status_t update_graph(wia_executable_t *handle, wia_graph_t *graph_handle) {
  wia__executable_t *executable = NULL;
  wia__graph_t *graph = NULL;
  wia_status_t status = wia__resolve(handle, WIA__EXECUTABLE, "executable", &executable);
  if (!status) status = wia__resolve(graph_handle, WIA__GRAPH, "graph", &graph);
  if (status) return status;
  wia__retain(&executable->object);
  wia__retain(&graph->object);
  pthread_mutex_lock(&executable->mutex);
  status = replace(executable, graph);
  pthread_mutex_unlock(&executable->mutex);
  wia__release(&graph->object);
  wia__release(&executable->object);
  return status;
}

WIA_API wia_status_t wia_update_graph(wia_executable_t *executable, wia_graph_t *graph) {
  WIA__CALL(update_graph(executable, graph));
}
