/* program.c: making a graph ready to run: steps, workspaces, the memory that it uses. */
#include "program.h"

#include <stdlib.h>
#include <string.h>

/* How much time branches have to save to run at once: a thread is woken for each. And what work takes
 * that nobody knows the time of: only the order of size counts. */
enum { WORTHWHILE_NS = 100000 };
static const double FLOPS_PER_NS = 8, BYTES_PER_NS = 8;

/* -- life ---------------------------------------------------------------------------------------- */

static void free_operands(wia__program_t *program) {
  for (uint32_t n = 0; program->operands && n < program->list.count; n++)
    free(program->operands[n]);
  free(program->operands);
}

static void destroy_program(wia__object_t *object) {
  wia__program_t *program = (wia__program_t *)object;
  wia__drop_driver_graph(program);
  for (uint32_t i = 0; i < program->workspace_count; i++)
    wia__free_scratch(program->workspaces[i].allocation);
  free_operands(program);
  wia__free_nodes(&program->list);
  free(program->workspaces);
  free(program->memories);
  free(program->errors);
  free(program->titles);
  free(program->signals);
  free(program->step_of);
  free(program->steps);
  free(program->name);
  free(program);
}

/* -- workspaces ---------------------------------------------------------------------------------- */

static wia__workspace_t *find_workspace(const wia__program_t *program,
                                        const wia__graph_node_t *node) {
  for (uint32_t i = 0; i < program->workspace_count; i++) {
    wia__workspace_t *workspace = &program->workspaces[i];
    if (workspace->branch == node->branch && workspace->device == node->device) return workspace;
  }
  return NULL;
}

static wia_status_t make_workspaces(wia__program_t *program) {
  for (uint32_t n = 0; n < program->list.count; n++) {
    const wia__graph_node_t *node = program->list.nodes[n];
    if (!node->plan || !node->plan->kernel.workspace_size) continue;
    wia__workspace_t *workspace = find_workspace(program, node);
    if (!workspace) {
      wia__workspace_t *grown =
          realloc(program->workspaces, (program->workspace_count + 1) * sizeof *grown);
      if (!grown) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for an executable");
      program->workspaces = grown;
      workspace = &grown[program->workspace_count++];
      *workspace = (wia__workspace_t){.branch = node->branch, .device = node->device};
    }
    const wia_driver_kernel_t *kernel = &node->plan->kernel;
    if (kernel->workspace_size > workspace->size) workspace->size = kernel->workspace_size;
    if (kernel->workspace_alignment > workspace->alignment)
      workspace->alignment = kernel->workspace_alignment;
  }
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t i = 0; i < program->workspace_count && !status; i++) {
    wia__workspace_t *workspace = &program->workspaces[i];
    const wia_memory_config_t config = {.struct_size = sizeof config,
                                        .alignment = workspace->alignment};
    status =
        wia__allocate(workspace->device, workspace->size, &config, true, &workspace->allocation);
  }
  return status;
}

/* -- steps --------------------------------------------------------------------------------------- */

void wia__refresh_node(wia__program_t *program, uint32_t n) {
  const wia__graph_node_t *node = program->list.nodes[n];
  for (uint32_t i = 0; i < wia__count_operands(node); i++)
    program->operands[n][i] = node->tensors[i].operand;
  atomic_store_explicit(&program->stale, true, memory_order_release);
}

static void make_step(wia__program_t *program, uint32_t n) {
  wia__graph_node_t *node = program->list.nodes[n];
  const wia__plan_t *plan = node->plan;
  if (plan && plan->writes_nothing) return;
  wia__program_step_t *step = &program->steps[program->step_count++];
  program->step_of[n] = step;
  step->node = node;
  step->index = n;
  if (!plan) return;
  step->args = plan->args;
  step->args.operands = program->operands[n];
  step->args.scalars = node->scalars;
  step->args.out_error = &program->errors[node->branch];
  if (plan->kernel.workspace_size)
    step->args.workspace = find_workspace(program, node)->allocation->memory;
  const bool turns = !(plan->kernel.flags & WIA_KERNEL_THREAD_SAFE);
  if (!plan->steps && (turns || plan->device->flags & WIA_DEVICE_SERIAL)) return;
  step->fn = plan->kernel.fn;
  step->state = plan->kernel.state;
}

static bool make_arrays(wia__program_t *program) {
  const uint32_t count = program->list.count;
  program->steps = calloc(count + 1, sizeof *program->steps);
  program->step_of = calloc(count + 1, sizeof *program->step_of);
  program->signals = calloc(count + 1, sizeof *program->signals);
  program->operands = calloc(count + 1, sizeof *program->operands);
  program->errors = calloc(program->branch_count, sizeof *program->errors);
  if (!program->steps || !program->step_of || !program->signals || !program->operands ||
      !program->errors)
    return false;
  for (uint32_t n = 0; n < count; n++) {
    const uint32_t operands = wia__count_operands(program->list.nodes[n]);
    program->operands[n] = calloc(operands + 1, sizeof **program->operands);
    if (!program->operands[n]) return false;
  }
  if (!program->device->table->streams) return true;
  program->titles = calloc(count + 1, sizeof *program->titles);
  for (uint32_t n = 0; n < count && program->titles; n++)
    wia__describe_node(program->titles[n], program->name, program->list.nodes[n], n);
  return program->titles != NULL;
}

/* -- branches ------------------------------------------------------------------------------------ */

static double guess_time(const wia__graph_node_t *node) {
  if (node->transfer) return (double)node->transfer->size / BYTES_PER_NS;
  wia_cost_t cost;
  if (!node->plan || wia__measure_plan(node->plan, &cost)) return 0;
  if (cost.time_ns >= 0) return cost.time_ns;
  return (cost.flops > 0 ? cost.flops / FLOPS_PER_NS : 0) +
         (cost.bytes > 0 ? cost.bytes / BYTES_PER_NS : 0);
}

/* What branches at once would save: the time of all nodes, less that of the longest way through
 * them. */
static double guess_saving(const wia__program_t *program, double *ends, double *clocks) {
  double sum = 0, longest = 0;
  for (uint32_t n = 0; n < program->list.count; n++) {
    const wia__graph_node_t *node = program->list.nodes[n];
    const double time = guess_time(node);
    double begin = clocks[node->branch];
    for (uint32_t i = 0; i < node->dependency_count; i++) {
      if (ends[node->dependencies[i]] > begin) begin = ends[node->dependencies[i]];
    }
    ends[n] = clocks[node->branch] = begin + time;
    sum += time;
    if (ends[n] > longest) longest = ends[n];
  }
  return sum - longest;
}

static wia_status_t choose_branches(wia__program_t *program, int32_t branches) {
  const bool can = program->branch_count > 1 && !program->device->table->streams &&
                   !(program->device->flags & WIA_DEVICE_SERIAL);
  for (uint32_t n = 0; n < program->list.count; n++) {
    const wia__graph_node_t *node = program->list.nodes[n];
    for (uint32_t i = 0; i < node->dependency_count; i++) {
      const uint32_t other = node->dependencies[i];
      if (program->list.nodes[other]->branch != node->branch) program->signals[other] = 1;
    }
  }
  program->parallel = can && branches == WIA_BRANCHES_PARALLEL;
  if (can && branches == WIA_BRANCHES_AUTO) {
    double *ends = calloc(program->list.count + 1, sizeof *ends);
    double *clocks = calloc(program->branch_count, sizeof *clocks);
    const bool enough = ends && clocks;
    if (enough) program->parallel = guess_saving(program, ends, clocks) >= WORTHWHILE_NS;
    free(ends);
    free(clocks);
    if (!enough) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for an executable");
  }
  program->waits = program->parallel;
  for (uint32_t n = 0; n < program->list.count; n++)
    program->waits |= program->list.nodes[n]->kind == WIA_GRAPH_FUNCTION;
  return WIA_STATUS_OK;
}

wia_status_t wia__create_program(const char *name, wia__device_t *device, wia__node_list_t *list,
                                 uint32_t branch_count, const wia_instantiate_config_t *config,
                                 wia__program_t **out_program) {
  wia__program_t *program = calloc(1, sizeof *program);
  if (!program) {
    wia__free_nodes(list);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for an executable");
  }
  wia__init_object(&program->object, WIA__INTERNAL, destroy_program);
  program->name = strdup(name);
  program->device = device;
  program->list = *list;
  program->branch_count = branch_count;
  wia_status_t status = WIA_STATUS_OK;
  if (!program->name || !make_arrays(program))
    status = wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for an executable");
  if (!status) status = make_workspaces(program);
  for (uint32_t n = 0; n < list->count && !status; n++) {
    wia__refresh_node(program, n);
    make_step(program, n);
  }
  if (!status) status = choose_branches(program, config->branches);
  if (!status) status = wia__list_memories(program);
  if (!status && !config->own) status = wia__offer_graph(program);
  if (status)
    wia__release(&program->object);
  else
    *out_program = program;
  return status;
}

/* -- memory -------------------------------------------------------------------------------------- */

static int compare_pointers(const void *a, const void *b) {
  const uintptr_t left = *(const uintptr_t *)a, right = *(const uintptr_t *)b;
  return left < right ? -1 : left > right;
}

wia_status_t wia__list_memories(wia__program_t *program) {
  uint32_t total = 0, count = 0;
  for (uint32_t n = 0; n < program->list.count; n++)
    total += wia__count_memories(program->list.nodes[n]);
  wia__allocation_t **memories = malloc((total + 1) * sizeof(void *));
  if (!memories) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a launch");
  total = 0;
  for (uint32_t n = 0; n < program->list.count; n++) {
    const wia__graph_node_t *node = program->list.nodes[n];
    for (uint32_t i = 0; i < wia__count_memories(node); i++) {
      wia__allocation_t *allocation = wia__node_memory(node, i);
      if (allocation) memories[total++] = allocation;
    }
  }
  qsort(memories, total, sizeof(void *), compare_pointers);
  for (uint32_t i = 0; i < total; i++) {
    if (!count || memories[i] != memories[count - 1]) memories[count++] = memories[i];
  }
  free(program->memories);
  program->memories = memories;
  program->memory_count = count;
  atomic_store_explicit(&program->stale, false, memory_order_release);
  return WIA_STATUS_OK;
}

static wia_status_t refuse_memory(const wia__program_t *program,
                                  const wia__allocation_t *allocation) {
  for (uint32_t n = 0; n < program->list.count; n++) {
    const wia__graph_node_t *node = program->list.nodes[n];
    for (uint32_t i = 0; i < wia__count_memories(node); i++) {
      char text[WIA__NODE_TEXT];
      if (wia__node_memory(node, i) != allocation) continue;
      return wia__fail(WIA_STATUS_INVALID_HANDLE,
                       "%s uses memory of %s at %#llx (operand %u) that was freed: give it other "
                       "memory with wia_update_graph_memory() or its kin",
                       wia__describe_node(text, program->name, node, n), allocation->device->name,
                       (unsigned long long)allocation->memory.address, i);
    }
  }
  return wia__fail(WIA_STATUS_INTERNAL, "memory of no node");
}

wia_status_t wia__check_memories(const wia__program_t *program, bool *out_pending) {
  bool pending = false;
  for (uint32_t i = 0; i < program->memory_count; i++) {
    const wia__allocation_t *allocation = program->memories[i];
    if (__builtin_expect(atomic_load_explicit(&allocation->freed, memory_order_acquire), 0) &&
        !allocation->owned)
      return refuse_memory(program, allocation);
    pending |= wia__is_pending(allocation);
  }
  *out_pending = pending;
  return WIA_STATUS_OK;
}

wia_status_t wia__use_memories(const wia__program_t *program) {
  for (uint32_t i = 0; i < program->memory_count; i++) {
    wia__allocation_t *allocation = program->memories[i];
    const bool freed =
        !allocation->owned && atomic_load_explicit(&allocation->freed, memory_order_acquire);
    if (!freed && wia__try_use(allocation)) continue;
    while (i-- > 0) wia__end_use(program->memories[i]);
    return refuse_memory(program, allocation);
  }
  return WIA_STATUS_OK;
}

void wia__end_memories(const wia__program_t *program) {
  for (uint32_t i = 0; i < program->memory_count; i++) wia__end_use(program->memories[i]);
}
