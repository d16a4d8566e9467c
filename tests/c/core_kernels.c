/* The kernels of the test's driver. */
#include <math.h>
#include <time.h>

#include "core_driver.h"

enum { MAX_NODES = 4, MAX_VALUES = 16, GATE_SECONDS = 10, STAMPS = 200 };

typedef enum op_t { ADD, SUB, MUL, DIV, RELU, SOFTMAX, SCALE, DROPOUT, MATMUL, OP_COUNT } op_t;
static const char *const op_names[OP_COUNT] = {"add",     "sub",   "mul",     "div",   "relu",
                                               "softmax", "scale", "dropout", "matmul"};

typedef struct step_t {
  op_t op;
  uint32_t inputs[2], output; /* values */
} step_t;

/* Freed by release: a launch after that shows under the address sanitizer. */
typedef struct kernel_t {
  uint32_t step_count, value_count, operand_count;
  step_t steps[MAX_NODES];
  uint32_t operand_values[MAX_VALUES]; /* the value that is operand i */
  uint64_t counts[MAX_VALUES];         /* elements of each value */
  bool transpose_a, transpose_b;
  int32_t alpha, beta; /* places among the scalars */
  _Atomic uint32_t running;
  bool alone; /* not thread safe */
  char name[32];
} kernel_t;

/* -- the gate ------------------------------------------------------------------------------------ */

static pthread_mutex_t gate_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_changed = PTHREAD_COND_INITIALIZER;
static bool gate_open = true;
static uint32_t gate_count;

static void set_gate(bool open) {
  pthread_mutex_lock(&gate_mutex);
  gate_open = open;
  pthread_cond_broadcast(&gate_changed);
  pthread_mutex_unlock(&gate_mutex);
}

void core_close_gate(void) { set_gate(false); }
void core_open_gate(void) { set_gate(true); }

static struct timespec gate_deadline(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += GATE_SECONDS;
  return time;
}

bool core_await_gate(uint32_t count) {
  const struct timespec deadline = gate_deadline();
  pthread_mutex_lock(&gate_mutex);
  int error = 0;
  while (gate_count < count && error == 0)
    error = pthread_cond_timedwait(&gate_changed, &gate_mutex, &deadline);
  pthread_mutex_unlock(&gate_mutex);
  return error == 0;
}

static void pass_gate(void) {
  pthread_mutex_lock(&gate_mutex);
  gate_count++;
  pthread_cond_broadcast(&gate_changed);
  while (!gate_open) pthread_cond_wait(&gate_changed, &gate_mutex);
  gate_count--;
  pthread_mutex_unlock(&gate_mutex);
}

/* -- elements ------------------------------------------------------------------------------------ */

/* A value as packed elements: read from an operand of any strides, or written to one. */
static void move_elements(const wia_operand_t *operand, float *packed, bool write) {
  const wia_tensor_layout_t *layout = operand->layout;
  unsigned char *bytes = layout->element_count ? core_operand_bytes(operand) : NULL;
  int64_t index[WIA_MAX_RANK] = {0};
  for (uint64_t n = 0; n < layout->element_count; n++) {
    int64_t offset = 0;
    for (uint32_t i = 0; i < layout->rank; i++) offset += index[i] * layout->strides[i];
    unsigned char *element = bytes + offset * (int64_t)sizeof(float);
    if (write)
      memcpy(element, &packed[n], sizeof(float));
    else
      memcpy(&packed[n], element, sizeof(float));
    for (uint32_t i = layout->rank; i-- > 0 && ++index[i] == layout->shape[i];) index[i] = 0;
  }
}

static float combine(op_t op, float a, float b) {
  switch (op) {
  case ADD:
    return a + b;
  case SUB:
    return a - b;
  case MUL:
    return a * b;
  case DIV:
    return a / b;
  case RELU:
    return fmaxf(a, 0);
  default:
    return a;
  }
}

/* [batch, m, k] by [batch, k, n], packed. c holds what was there before. */
static void multiply(const kernel_t *kernel, const wia_kernel_args_t *args, const float *a,
                     const float *b, float *c) {
  const wia_tensor_layout_t *la = args->operands[0].layout, *lc = args->operands[2].layout;
  const uint32_t r = lc->rank;
  const int64_t m = lc->shape[r - 2], n = lc->shape[r - 1], batch = r == 3 ? lc->shape[0] : 1;
  const int64_t k = la->shape[kernel->transpose_a ? r - 2 : r - 1];
  const double alpha = args->scalars[kernel->alpha].f64, beta = args->scalars[kernel->beta].f64;
  for (int64_t g = 0; g < batch; g++, a += m * k, b += k * n, c += m * n) {
    for (int64_t i = 0; i < m; i++) {
      for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t l = 0; l < k; l++)
          sum += (double)a[kernel->transpose_a ? l * m + i : i * k + l] *
                 (double)b[kernel->transpose_b ? j * k + l : l * n + j];
        const double before = beta == 0 ? 0 : beta * (double)c[i * n + j];
        c[i * n + j] = (float)(alpha * sum + before);
      }
    }
  }
}

static void compute(const kernel_t *kernel, const wia_kernel_args_t *args) {
  float *values[MAX_VALUES] = {NULL};
  uint64_t counts[MAX_VALUES];
  memcpy(counts, kernel->counts, sizeof counts);
  for (uint32_t i = 0; i < kernel->operand_count; i++) { /* the kernel may be for any shape */
    if (args->operands[i].layout)
      counts[kernel->operand_values[i]] = args->operands[i].layout->element_count;
  }
  for (uint32_t i = 0; i < kernel->value_count; i++) {
    values[i] = calloc(counts[i] + 1, sizeof(float));
    if (!values[i]) abort();
  }
  for (uint32_t i = 0; i < args->input_count; i++)
    move_elements(&args->operands[i], values[kernel->operand_values[i]], false);
  for (uint32_t s = 0; s < kernel->step_count; s++) {
    const step_t *step = &kernel->steps[s];
    float *a = values[step->inputs[0]], *b = values[step->inputs[1]], *c = values[step->output];
    if (step->op == MATMUL) {
      move_elements(&args->operands[2], c, false);
      multiply(kernel, args, a, b, c);
    } else if (step->op == SCALE || step->op == DROPOUT) {
      const float given = (float)args->scalars[kernel->alpha].f64;
      for (uint64_t i = 0; i < counts[step->output]; i++)
        c[i] = step->op == SCALE ? a[i] * given : a[i] + given;
    } else {
      for (uint64_t i = 0; i < counts[step->output]; i++) c[i] = combine(step->op, a[i], b[i]);
    }
  }
  for (uint32_t i = args->input_count; i < kernel->operand_count; i++) {
    if (args->operands[i].layout)
      move_elements(&args->operands[i], values[kernel->operand_values[i]], true);
  }
  for (uint32_t i = 0; i < kernel->value_count; i++) free(values[i]);
}

/* -- a launch ------------------------------------------------------------------------------------ */

static void sleep_us(uint32_t time_us) {
  nanosleep(&(struct timespec){time_us / 1000000, time_us % 1000000 * 1000L}, NULL);
}

/* Another launch in the same workspace would change the stamps. */
static void use_workspace(const wia_kernel_args_t *args) {
  static _Atomic uint32_t counter;
  const uint32_t stamp = atomic_fetch_add(&counter, 1);
  if (!args->workspace.address || args->workspace.layout ||
      (core.workspace_alignment && args->workspace.address % core.workspace_alignment)) {
    core_fault("a workspace that is none");
    return;
  }
  unsigned char *bytes = core_operand_bytes(&args->workspace);
  for (uint32_t i = 0; i < STAMPS; i++) {
    for (uint64_t at = 0; at + sizeof stamp <= args->workspace_size; at += sizeof stamp) {
      uint32_t was = stamp;
      if (i) memcpy(&was, bytes + at, sizeof was);
      if (was != stamp) core_fault("a workspace that two launches use");
      memcpy(bytes + at, &stamp, sizeof stamp);
    }
    if (i % 16 == 0) sleep_us(1);
  }
}

static void check_args(const kernel_t *kernel, const wia_kernel_args_t *args) {
  if (args->struct_size < sizeof *args || args->flags || !args->out_error ||
      args->input_count + args->output_count != kernel->operand_count)
    core_fault("arguments that don't fit the kernel");
}

static wia_status_t run(void *state, const wia_kernel_args_t *args) {
  kernel_t *kernel = state;
  if (args->stream) return core_launch_on(args->stream, run, state, args);
  const uint32_t running = atomic_fetch_add(&core.running, 1) + 1;
  uint32_t most = atomic_load(&core.most_running);
  while (running > most && !atomic_compare_exchange_weak(&core.most_running, &most, running)) {
  }
  if (atomic_fetch_add(&kernel->running, 1) && kernel->alone)
    core_fault("two launches at once of a kernel that is not thread safe");
  atomic_fetch_add(&core.launches, 1);
  atomic_store(&core.last_thread, (uint64_t)pthread_self());
  check_args(kernel, args);
  wia_driver_memory_t written = args->operands[args->input_count].memory;
  core_enter(written);
  const op_t op = kernel->steps[0].op;
  wia_status_t status = WIA_STATUS_OK;
  if (core.launch_delay_us) sleep_us(core.launch_delay_us);
  if (op == RELU) pass_gate();
  if (op == DIV) use_workspace(args);
  if (op == SOFTMAX) status = core.fail_status;
  if (!status && core.chatter)
    wia_get_host()->set_error_text(args->out_error, core.chatter, core.chatter);
  if (status && core.fail_message)
    wia_get_host()->set_error_text(args->out_error, core.fail_message, core.fail_cause);
  else if (!status && core.only_touch)
    for (uint32_t i = 0; i < kernel->operand_count; i++) core_touch(&args->operands[i]);
  else if (!status)
    compute(kernel, args);
  core_leave(written);
  atomic_fetch_sub(&kernel->running, 1);
  atomic_fetch_sub(&core.running, 1);
  return status;
}

static void release(void *state) {
  kernel_t *kernel = state;
  core_check_not_telling();
  if (kernel->running) core_fault("a kernel released while it runs");
  atomic_fetch_add(&core.releases, 1);
  free(kernel);
}

/* -- prepare ------------------------------------------------------------------------------------- */

static bool take_attributes(kernel_t *kernel, const wia_node_t *node) {
  for (uint32_t i = 0; i < node->attribute_count; i++) {
    const wia_attribute_t *attribute = &node->attributes[i];
    const bool is_alpha = strcmp(attribute->name, "alpha") == 0 ||
                          strcmp(attribute->name, "factor") == 0 ||
                          strcmp(attribute->name, "seed") == 0;
    if (is_alpha && !attribute->data)
      kernel->alpha = attribute->scalar;
    else if (strcmp(attribute->name, "beta") == 0 && !attribute->data)
      kernel->beta = attribute->scalar;
    else if (strcmp(attribute->name, "transpose_a") == 0)
      kernel->transpose_a = *(const int64_t *)attribute->data != 0;
    else if (strcmp(attribute->name, "transpose_b") == 0)
      kernel->transpose_b = *(const int64_t *)attribute->data != 0;
    else if (strcmp(attribute->name, "axis") != 0 && strcmp(attribute->name, "ratio") != 0 &&
             strcmp(attribute->name, "offset") != 0)
      return false;
  }
  return true;
}

static bool take_node(kernel_t *kernel, const wia_node_t *node, const wia_group_t *group) {
  step_t *step = &kernel->steps[kernel->step_count++];
  while (step->op < OP_COUNT && strcmp(op_names[step->op], node->op_name) != 0) step->op++;
  if (step->op == OP_COUNT || (group->node_count > 1 && step->op > DIV)) return false;
  step->inputs[0] = node->inputs[0];
  step->inputs[1] = node->inputs[node->input_count - 1];
  step->output = node->outputs[0];
  const uint32_t values[] = {step->inputs[0], step->inputs[1], step->output};
  for (uint32_t i = 0; i < 3; i++) {
    const wia_tensor_layout_t *layout = group->values[values[i]]->layout;
    if (layout->dtype != WIA_FLOAT32) return false;
    kernel->counts[values[i]] = layout->element_count;
    /* broadcasting is beyond these kernels */
    if (step->op != MATMUL &&
        layout->element_count != group->values[step->output]->layout->element_count)
      return false;
    if (step->op == MATMUL && (layout->rank < 2 || layout->rank > 3 ||
                               layout->rank != group->values[step->output]->layout->rank))
      return false;
  }
  return take_attributes(kernel, node);
}

static bool take_group(kernel_t *kernel, const wia_group_t *group) {
  if (group->node_count > MAX_NODES || group->value_count > MAX_VALUES) return false;
  kernel->value_count = group->value_count;
  kernel->operand_count = group->input_count + group->output_count;
  if (kernel->operand_count > MAX_VALUES) return false;
  for (uint32_t i = 0; i < kernel->operand_count; i++)
    kernel->operand_values[i] =
        i < group->input_count ? group->inputs[i] : group->outputs[i - group->input_count];
  for (uint32_t i = 0; i < group->node_count; i++) {
    if (!take_node(kernel, group->nodes[i], group)) return false;
  }
  return true;
}

wia_status_t core_prepare(const wia_request_t *request, wia_driver_kernel_t *out_kernel,
                          wia_error_t *error) {
  atomic_fetch_add(&core.prepares, 1);
  if (core.prepare_delay_ms) sleep_us(core.prepare_delay_ms * 1000);
  if (core.in_prepare) {
    const wia_status_t status = core.in_prepare();
    if (status) return status;
  }
  if (core.prepare_status) {
    snprintf(error->message, sizeof error->message, "the test wants a refusal");
    return core.prepare_status;
  }
  kernel_t *kernel = calloc(1, sizeof *kernel);
  if (!kernel) abort();
  if (!take_group(kernel, request->group)) {
    free(kernel);
    snprintf(error->message, sizeof error->message, "the test has no such kernel");
    return WIA_STATUS_UNIMPLEMENTED;
  }
  snprintf(kernel->name, sizeof kernel->name, "core %s", request->group->nodes[0]->op_name);
  kernel->alone = !(core.kernel_flags & WIA_KERNEL_THREAD_SAFE);
  out_kernel->flags = core.kernel_flags;
  out_kernel->state = kernel;
  out_kernel->release = release;
  out_kernel->name = kernel->name;
  out_kernel->cost.flops = 12;
  if (!core.prepare_nothing) out_kernel->fn = run;
  if (kernel->steps[0].op == DIV) {
    out_kernel->workspace_size = core.workspace_size ? core.workspace_size : 64;
    out_kernel->workspace_alignment = core.workspace_alignment;
  }
  atomic_fetch_add(&core.kernels, 1);
  return WIA_STATUS_OK;
}
