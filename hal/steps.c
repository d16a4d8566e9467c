/* steps.c: see steps.h. */
#include "steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

enum { NAME_SIZE = 96, STEP_NAME_SIZE = 64, NEVER = -1, LEFT_OUT = -1, BETWEEN = -2 };

/* An operand of a step. */
typedef struct source_t {
  int32_t operand; /* of the launch; LEFT_OUT; BETWEEN: in the workspace, at place */
  uint32_t reserved;
  uint64_t place; /* of element 0 */
} source_t;

typedef struct step_t {
  wia__plan_t *plan; /* with a reference */
  source_t *sources; /* its operands */
  int32_t *places;   /* of its scalars among those of the launch; -1: the one in fixed */
  wia_scalar_t *fixed;
  char name[STEP_NAME_SIZE];
} step_t;

/* An output that is an input of the group. */
typedef struct alias_t {
  uint32_t input, output; /* operands */
  int32_t writer;         /* the step that writes it */
  uint32_t in_place;      /* 1: that step reads the input, too */
} alias_t;

struct wia__steps_t {
  wia__device_t *device;
  uint32_t count, input_count, alias_count;
  alias_t aliases[8];
  int32_t readers[WIA_MAX_OPERANDS]; /* of each input: the last step that reads it, or NEVER */
  char name[NAME_SIZE];
  step_t steps[];
};

static void free_steps(void *state) {
  wia__steps_t *steps = state;
  for (uint32_t i = 0; i < steps->count; i++) {
    if (steps->steps[i].plan) wia__release(&steps->steps[i].plan->object);
    free(steps->steps[i].sources);
    free(steps->steps[i].places);
    free(steps->steps[i].fixed);
  }
  free(steps);
}

/* -- a launch ------------------------------------------------------------------------------------ */

/* The plan was made for an output that is one input. If another input is the same tensor, it must not
 * be needed once the output is written, and the kernel that writes it must know. */
static wia_status_t check_twins(const wia__steps_t *steps, const wia_kernel_args_t *args) {
  for (uint32_t a = 0; a < steps->alias_count; a++) {
    const alias_t *alias = &steps->aliases[a];
    const wia_operand_t *output = &args->operands[alias->output];
    for (uint32_t i = 0; i < steps->input_count; i++) {
      const int32_t reader = steps->readers[i];
      if (i == alias->input || args->operands[i].layout != output->layout ||
          args->operands[i].address != output->address || !output->layout->element_count ||
          reader < alias->writer || (reader == alias->writer && alias->in_place))
        continue;
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: input %u is the same tensor as output %u, and is read when that is "
                       "written already; give another output",
                       steps->name, i, alias->output - steps->input_count);
    }
  }
  return WIA_STATUS_OK;
}

static wia_operand_t operand_at(const wia_kernel_args_t *args, const source_t *source,
                                const wia_tensor_layout_t *layout) {
  if (source->operand >= 0) return args->operands[source->operand];
  if (source->operand == LEFT_OUT) return (wia_operand_t){0};
  if (!layout->element_count) return (wia_operand_t){.layout = layout};
  return (wia_operand_t){.address = args->workspace.address + source->place,
                         .memory = args->workspace.memory,
                         .offset = args->workspace.offset + source->place,
                         .layout = layout};
}

static wia_status_t run_steps(void *state, const wia_kernel_args_t *args) {
  const wia__steps_t *steps = state;
  wia_status_t status = check_twins(steps, args);
  for (uint32_t i = 0; i < steps->count && !status; i++) {
    const step_t *step = &steps->steps[i];
    wia__plan_t *plan = step->plan;
    wia_operand_t operands[WIA_MAX_OPERANDS];
    wia_scalar_t scalars[WIA__MAX_SCALARS];
    for (uint32_t o = 0; o < plan->input_count + plan->output_count; o++)
      operands[o] = operand_at(args, &step->sources[o], plan->layouts[o]);
    for (uint32_t s = 0; s < plan->scalar_count; s++)
      scalars[s] = step->places[s] < 0 ? step->fixed[s] : args->scalars[step->places[s]];
    status = wia__launch_step(plan, step->name, operands, scalars);
  }
  return status;
}

/* -- making them: who reads and writes a value --------------------------------------------------- */

/* What is known of a value of a group while its steps are made. */
typedef struct life_t {
  int32_t operand;        /* of the launch, or NEVER */
  int32_t writer, reader; /* the step that writes it, the last one that reads it; NEVER */
  uint64_t begin, end;    /* in the workspace */
  struct life_t *next;    /* by begin */
} life_t;

static void find_lives(const wia__group_t *group, life_t *lives) {
  const wia_group_t *given = &group->group;
  for (uint32_t v = 0; v < given->value_count; v++)
    lives[v] = (life_t){.operand = NEVER, .writer = NEVER, .reader = NEVER};
  for (uint32_t i = 0; i < given->input_count; i++) lives[given->inputs[i]].operand = (int32_t)i;
  for (uint32_t o = 0; o < given->output_count; o++)
    lives[given->outputs[o]].operand = (int32_t)(given->input_count + o);
  for (uint32_t n = 0; n < given->node_count; n++) {
    const wia_node_t *node = &group->nodes[n].node;
    for (uint32_t i = 0; i < node->input_count; i++) {
      if (node->inputs[i] != UINT32_MAX) lives[node->inputs[i]].reader = (int32_t)n;
    }
    for (uint32_t o = 0; o < node->output_count; o++) {
      if (node->outputs[o] != UINT32_MAX) lives[node->outputs[o]].writer = (int32_t)n;
    }
  }
}

/* Values that live at the same time lie apart: each goes to the lowest place that is free from its
 * writer to its last reader. *out_size: of the workspace. */
static wia_status_t place_values(const wia__group_t *group, uint64_t alignment, life_t *lives,
                                 uint64_t *out_size) {
  life_t *first = NULL;
  *out_size = 0;
  for (uint32_t n = 0; n < group->group.node_count; n++) {
    const wia_node_t *node = &group->nodes[n].node;
    for (uint32_t o = 0; o < node->output_count; o++) {
      if (node->outputs[o] == UINT32_MAX) continue;
      life_t *life = &lives[node->outputs[o]];
      const wia_tensor_layout_t *layout = group->values[node->outputs[o]].layout;
      if (life->operand != NEVER || !layout->element_count) continue;
      life_t **link = &first, **spot = &first;
      for (; *link; link = &(*link)->next) { /* those placed before are written before */
        const life_t *other = *link;
        const int32_t last = other->reader > other->writer ? other->reader : other->writer;
        if (last < (int32_t)n) continue;
        if (other->begin >= life->begin &&
            other->begin - life->begin >= (uint64_t)(layout->span_end - layout->span_begin))
          break;
        if (other->end > life->begin) life->begin = (other->end + alignment - 1) & -alignment;
      }
      if (__builtin_add_overflow(life->begin, (uint64_t)(layout->span_end - layout->span_begin),
                                 &life->end) ||
          life->end > INT64_MAX - alignment)
        return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED,
                         "a group whose values between operations take more than 63 bits of bytes");
      while (*spot && (*spot)->begin < life->begin) spot = &(*spot)->next;
      life->next = *spot;
      *spot = life;
      if (life->end > *out_size) *out_size = life->end;
    }
  }
  return WIA_STATUS_OK;
}

/* -- making them: steps -------------------------------------------------------------------------- */

/* Which outputs of a node are inputs of it, because the group's are. */
static uint64_t find_aliases(const wia__group_t *group, const wia_node_t *node) {
  uint64_t aliases = 0;
  for (uint32_t o = 0; o < node->output_count; o++) {
    for (uint32_t g = 0; g < group->group.output_count; g++) {
      const int32_t alias = (int32_t)(group->aliases >> (8 * g) & 0xff) - 1;
      if (group->group.outputs[g] != node->outputs[o] || alias < 0) continue;
      for (uint32_t i = 0; i < node->input_count && !(aliases >> (8 * o) & 0xff); i++) {
        if (node->inputs[i] == group->group.inputs[alias]) aliases |= (uint64_t)(i + 1) << (8 * o);
      }
    }
  }
  return aliases;
}

static wia_status_t note_aliases(const wia__group_t *group, const life_t *lives,
                                 wia__steps_t *steps) {
  const wia_group_t *given = &group->group;
  for (uint32_t i = 0; i < given->input_count; i++)
    steps->readers[i] = lives[given->inputs[i]].reader;
  for (uint32_t o = 0; o < given->output_count; o++) {
    const int32_t input = (int32_t)(group->aliases >> (8 * o) & 0xff) - 1;
    if (input < 0) continue;
    const int32_t writer = lives[given->outputs[o]].writer, reader = steps->readers[input];
    if (reader > writer)
      return wia__fail(
          WIA_STATUS_UNIMPLEMENTED,
          "output %u of a group is its input %d, which node %d (%s) reads after node "
          "%d (%s) has written it, and %s has no kernel for the group as a whole; give "
          "another output",
          o, (int)input, (int)reader, group->nodes[reader].node.op_name, (int)writer,
          group->nodes[writer].node.op_name, steps->device->name);
    steps->aliases[steps->alias_count++] = (alias_t){.input = (uint32_t)input,
                                                     .output = given->input_count + o,
                                                     .writer = writer,
                                                     .in_place = reader == writer};
  }
  return WIA_STATUS_OK;
}

static wia_status_t name_refusal(wia_status_t status, const wia__group_t *group, uint32_t n) {
  if (group->group.node_count == 1) return status;
  wia__failure_t refusal;
  wia__save_failure(&refusal);
  const char *source = group->nodes[n].node.source;
  wia__fail_with(status, refusal.driver, refusal.cause, "node %u of a group%s%s: %s", n,
                 source ? ", " : "", source ? source : "", refusal.message);
  wia__free_failure(&refusal);
  return status;
}

static wia_status_t make_step(const wia__group_t *group, const life_t *lives, uint32_t n,
                              wia__steps_t *steps) {
  step_t *step = &steps->steps[n];
  const wia__node_t *node = &group->nodes[n];
  const uint32_t input_count = node->node.input_count;
  const uint32_t count = input_count + node->node.output_count, scalars = node->op->scalar_count;
  step->sources = calloc(count, sizeof *step->sources);
  step->places = calloc(scalars + 1, sizeof *step->places);
  step->fixed = calloc(scalars + 1, sizeof *step->fixed);
  if (!step->sources || !step->places || !step->fixed)
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a group");
  for (uint32_t s = 0; s < scalars; s++) {
    const bool passed = node->places[s] >= 0 && (uint32_t)node->places[s] < group->given_scalars;
    step->places[s] = passed ? node->places[s] : -1;
    step->fixed[s] = node->scalars[s];
  }
  const wia_tensor_layout_t *layouts[WIA_MAX_OPERANDS];
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t value = i < input_count ? node->inputs[i] : node->node.outputs[i - input_count];
    layouts[i] = value == UINT32_MAX ? NULL : group->values[value].layout;
    step->sources[i].operand = LEFT_OUT;
    if (!layouts[i]) continue;
    step->sources[i].operand = lives[value].operand == NEVER ? BETWEEN : lives[value].operand;
    step->sources[i].place = lives[value].begin - (uint64_t)layouts[i]->span_begin;
  }
  if (group->group.node_count == 1)
    snprintf(step->name, sizeof step->name, "%s", node->op->name);
  else
    snprintf(step->name, sizeof step->name, "node %u of a group, %s", n, node->op->name);
  const wia_status_t status = wia__plan_layouts(steps->device, node->op, layouts, node->words,
                                                find_aliases(group, &node->node), &step->plan);
  return status ? name_refusal(status, group, n) : WIA_STATUS_OK;
}

static void name_steps(const wia__group_t *group, wia__steps_t *steps) {
  size_t used = 0;
  for (uint32_t n = 0; n < group->group.node_count && used < NAME_SIZE; n++)
    used += (size_t)snprintf(steps->name + used, NAME_SIZE - used, "%s%s", n ? ", " : "",
                             group->nodes[n].node.op_name);
  if (used >= NAME_SIZE) memcpy(steps->name + NAME_SIZE - 4, "...", 4);
}

/* Whether a launch of the group is one of its only step, operand for operand. */
static bool is_operation(const wia__group_t *group, const wia__steps_t *steps) {
  const step_t *step = &steps->steps[0];
  const wia__plan_t *plan = step->plan;
  if (steps->count != 1 || plan->input_count != group->group.input_count ||
      plan->scalar_count != group->group.scalar_count)
    return false;
  for (uint32_t i = 0; i < plan->input_count + plan->output_count; i++) {
    if (step->sources[i].operand != (int32_t)i) return false;
  }
  for (uint32_t s = 0; s < plan->scalar_count; s++) {
    if (group->nodes[0].places[s] != (int32_t)s) return false;
  }
  return true;
}

static wia_status_t make_plan(const wia__group_t *group, wia__steps_t *steps,
                              uint64_t workspace_size, wia__plan_t **out_plan) {
  wia__plan_t *plan = wia__create_group_plan(
      group, steps->device, group->group.node_count == 1 ? group->nodes[0].op->name : "a group",
      group->given_scalars);
  if (!plan) {
    free_steps(steps);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a plan");
  }
  const wia_driver_kernel_t kernel = {.struct_size = sizeof kernel,
                                      .flags = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE,
                                      .fn = run_steps,
                                      .state = steps,
                                      .release = free_steps,
                                      .workspace_size = workspace_size,
                                      .name = steps->name};
  plan->steps = steps;
  const wia_status_t status = wia__set_kernel(plan, &kernel);
  if (status)
    wia__release(&plan->object);
  else
    *out_plan = plan;
  return status;
}

wia_status_t wia__split_group(const wia__group_t *group, wia__device_t *device,
                              wia__plan_t **out_plan) {
  const uint32_t count = group->group.node_count;
  uint64_t workspace_size = 0;
  life_t *lives = calloc(group->group.value_count, sizeof *lives);
  wia__steps_t *steps = calloc(1, sizeof *steps + count * sizeof *steps->steps);
  wia_status_t status = WIA_STATUS_OK;
  if (!lives || !steps) {
    status = wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a group");
  } else {
    steps->device = device;
    steps->count = count;
    steps->input_count = group->group.input_count;
    name_steps(group, steps);
    find_lives(group, lives);
    status = place_values(group, device->alignment, lives, &workspace_size);
  }
  if (!status) status = note_aliases(group, lives, steps);
  for (uint32_t n = 0; n < count && !status; n++) status = make_step(group, lives, n, steps);
  free(lives);
  if (!status && !is_operation(group, steps))
    return make_plan(group, steps, workspace_size, out_plan);
  if (!status) {
    *out_plan = steps->steps[0].plan;
    wia__retain(&(*out_plan)->object);
  }
  if (steps) free_steps(steps);
  return status;
}

/* -- what is told of them ------------------------------------------------------------------------ */

uint32_t wia__count_steps(const wia__steps_t *steps) { return steps->count; }

uint32_t wia__step_flags(const wia__steps_t *steps) {
  uint32_t flags = UINT32_MAX;
  for (uint32_t i = 0; i < steps->count; i++) flags &= steps->steps[i].plan->kernel.flags;
  return flags;
}

uint64_t wia__step_workspace(const wia__steps_t *steps) {
  uint64_t size = 0;
  for (uint32_t i = 0; i < steps->count; i++) {
    const uint64_t own = steps->steps[i].plan->kernel.workspace_size;
    if (own > size) size = own;
  }
  return size;
}

static double add_known(double sum, double cost) { return sum < 0 || cost < 0 ? -1 : sum + cost; }

wia_status_t wia__measure_steps(const wia__steps_t *steps, wia_cost_t *out_cost) {
  *out_cost = (wia_cost_t){0, 0, 0, 0};
  for (uint32_t i = 0; i < steps->count; i++) {
    wia_cost_t cost;
    const wia_status_t status = wia__measure_plan(steps->steps[i].plan, &cost);
    if (status) return status;
    out_cost->flops = add_known(out_cost->flops, cost.flops);
    out_cost->bytes = add_known(out_cost->bytes, cost.bytes);
    out_cost->time_ns = add_known(out_cost->time_ns, cost.time_ns);
    out_cost->energy_pj = add_known(out_cost->energy_pj, cost.energy_pj);
  }
  return WIA_STATUS_OK;
}
