/* custom.c: operations and extensions that threads register while others execute them: with kernels that
 * decline or fail, shape functions that lie, gradients of anything.
 *
 * What is registered stays to the end of the process. So the names are few and a case meets what those before
 * it have left; none is of the catalog, whose results others rely on. */
#include "calls.h"

enum { OPS = 32, EXTENSIONS = 12, LIES = 6 };

/* What a shape function or kernel does, from its operation's number: the same each time. */
typedef struct custom_t {
  char name[16];
  uint32_t index;
  _Atomic wia_op_t op; /* 0: not registered yet, as far as anybody has said */
  _Atomic uint32_t prepares, launches;
} custom_t;
static custom_t customs[OPS];

static uint32_t below(calls_thread_t *t, uint32_t bound) { return fuzz_below(&t->random, bound); }
static bool one_in(calls_thread_t *t, uint32_t count) { return fuzz_one_in(&t->random, count); }

static bool lies(const custom_t *custom) { return custom->index % 8 == 7; }

/* -- functions ----------------------------------------------------------------------------------- */

static wia_status_t infer(void *context, const wia_infer_args_t *args, wia_shape_t *out_shapes,
                          wia_error_t *out_error) {
  const custom_t *custom = context;
  for (uint32_t i = 0; i < args->output_count; i++) out_shapes[i] = args->inputs[0];
  if (!lies(custom)) return WIA_STATUS_OK;
  wia_shape_t *shape = &out_shapes[args->output_count - 1];
  switch (custom->index / 8 % LIES) {
  case 0:
    shape->rank = 1000;
    break;
  case 1:
    shape->dtype = 77;
    break;
  case 2:
    shape->rank = 1;
    shape->shape[0] = -3;
    break;
  case 3:
    shape->dtype = WIA_DTYPE_NONE;
    break;
  default:
    snprintf(out_error->message, sizeof out_error->message, "fails on purpose");
    return WIA_STATUS_DATA_LOSS;
  }
  return WIA_STATUS_OK;
}

typedef struct kernel_t {
  custom_t *custom;
  uint64_t workspace_size;
  bool wide; /* other memory than the host's */
} kernel_t;

static wia_status_t run(void *state, const wia_kernel_args_t *args) {
  const kernel_t *kernel = state;
  for (uint32_t i = 0; i < args->input_count + args->output_count; i++) {
    const wia_operand_t *operand = &args->operands[i];
    if (!operand->layout || !operand->layout->element_count) continue;
    if (!kernel->wide) (void)*(const volatile unsigned char *)(uintptr_t)operand->address;
  }
  if (kernel->workspace_size && !kernel->wide)
    memset((void *)(uintptr_t)args->workspace.address, 1, kernel->workspace_size);
  if (atomic_fetch_add(&kernel->custom->launches, 1) % 11 != 10) return WIA_STATUS_OK;
  snprintf(args->out_error->message, sizeof args->out_error->message, "fails on purpose");
  return WIA_STATUS_DATA_LOSS;
}

static void release(void *state) {
  atomic_fetch_add(&calls_kept, 1);
  free(state);
}

static wia_status_t prepare(void *context, int32_t device_id, const wia_request_t *request,
                            wia_driver_kernel_t *out_kernel, wia_error_t *out_error) {
  custom_t *custom = context;
  const uint32_t count = atomic_fetch_add(&custom->prepares, 1);
  wia_op_t found;
  if (wia_find_op(request->group->nodes[0]->op_name, &found)) abort(); /* it may call the library */
  if (count % 5 == 4) {
    snprintf(out_error->message, sizeof out_error->message, "declines device %d", (int)device_id);
    return count % 2 ? WIA_STATUS_UNIMPLEMENTED : WIA_STATUS_RESOURCE_EXHAUSTED;
  }
  kernel_t *kernel = calloc(1, sizeof *kernel);
  if (!kernel) abort();
  kernel->custom = custom;
  kernel->workspace_size = count % 3 ? 0 : 64;
  atomic_fetch_add(&calls_promised, 1);
  out_kernel->fn = run;
  out_kernel->state = kernel;
  out_kernel->release = release;
  out_kernel->flags = count & (WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE | WIA_KERNEL_ANY_SHAPE);
  out_kernel->workspace_size = kernel->workspace_size;
  out_kernel->workspace_alignment = 64;
  return WIA_STATUS_OK;
}

/* Kernels of the device's own memory, which they don't look at. */
static wia_status_t prepare_wide(void *context, int32_t device_id, const wia_request_t *request,
                                 wia_driver_kernel_t *out_kernel, wia_error_t *out_error) {
  const wia_status_t status = prepare(context, device_id, request, out_kernel, out_error);
  if (!status) ((kernel_t *)out_kernel->state)->wide = true;
  return status;
}

/* Some nodes, of which some can't be. */
static wia_status_t differentiate(void *context, const wia_gradient_args_t *args,
                                  wia_gradient_builder_t *builder, uint32_t *out_gradients,
                                  wia_error_t *out_error) {
  static const wia_op_t ops[] = {WIA_OP_MUL, WIA_OP_ADD, WIA_OP_EXP, WIA_OP_TRANSPOSE, -3};
  custom_t *custom = context;
  (void)out_error;
  fuzz_random_t random = fuzz_random(custom->index, atomic_fetch_add(&custom->launches, 1));
  uint32_t count = args->input_count + 2 * args->output_count;
  for (uint32_t i = fuzz_below(&random, 6); i-- > 0;) {
    const uint32_t inputs[] = {fuzz_below(&random, count + 1), fuzz_below(&random, count)};
    uint32_t value;
    const wia_op_t op = fuzz_one_in(&random, 4) ? atomic_load(&customs[fuzz_below(&random, OPS)].op)
                                                : ops[fuzz_below(&random, 5)];
    count += !wia_add_gradient_node(builder, op, inputs, 1 + fuzz_below(&random, 2), NULL, 0,
                                    &value, NULL, 1);
  }
  for (uint32_t i = 0; i < args->input_count; i++)
    if (fuzz_below(&random, 4)) out_gradients[i] = fuzz_below(&random, count);
  return fuzz_one_in(&random, 8) ? WIA_STATUS_ABORTED : WIA_STATUS_OK;
}

/* -- registering --------------------------------------------------------------------------------- */

static wia_status_t register_op(calls_thread_t *t, custom_t *custom) {
  static const wia_operand_definition_t operands[] = {
      {.name = "a"}, {.name = "b"}, {.name = "y"}, {.name = "z", .flags = WIA_OPERAND_OPTIONAL}};
  static const double two = 2;
  static const wia_attribute_definition_t by = {
      .name = "by", .type = WIA_ATTRIBUTE_FLOAT64, .defaults = &two};
  const uint32_t inputs = 1 + custom->index % 2;
  wia_op_definition_t definition = WIA_OP_DEFINITION_INIT;
  wia_op_t op = 0;
  definition.name = custom->name;
  definition.inputs = operands;
  definition.outputs = operands + 2;
  definition.scalars = &by;
  definition.input_count = inputs;
  definition.output_count = lies(custom) ? 2 : 1;
  definition.scalar_count = 1;
  definition.context = custom;
  definition.gradient = custom->index % 3 ? differentiate : NULL;
  if (custom->index % 4 == 0)
    definition.family = inputs == 1 ? "same" : "elementwise";
  else
    definition.infer = infer;
  switch (one_in(t, 3) ? below(t, 8) : 8) { /* one that is refused */
  case 0:
    definition.name = one_in(t, 2) ? NULL : "Fuzz::";
    break;
  case 1:
    definition.input_count = 31;
    definition.inputs = NULL;
    break;
  case 2:
    definition.outputs = operands; /* two operands of a name */
    break;
  case 3:
    definition.output_count = 0;
    break;
  case 4:
    definition.family = "nothing";
    definition.infer = NULL;
    break;
  case 5:
    definition.flags = 0x80;
    break;
  case 6:
    definition.dtypes = 1;
    break;
  case 7:
    definition.struct_size = below(t, 112);
    break;
  default:
    break;
  }
  const wia_status_t status = wia_register_op(&definition, &op);
  if (!status && wia_find_op(custom->name, &op) == WIA_STATUS_OK) atomic_store(&custom->op, op);
  if (!status && atomic_load(&custom->op) < WIA_OP_CUSTOM_FIRST)
    calls_wrong(t, "an operation that was registered is found", status);
  return status;
}

static wia_status_t register_kernel(calls_thread_t *t, custom_t *custom) {
  static const char *const devices[] = {NULL,     "core",   "queued", "sparse", "bare",
                                        "core:0", "core:3", "core:4", "nobody", "Core:"};
  const char *device = devices[below(t, 10)];
  wia_kernel_config_t config = WIA_KERNEL_CONFIG_INIT;
  const bool wide = one_in(t, 3);
  config.flags = wide ? 0 : WIA_KERNEL_ON_HOST;
  if (one_in(t, 2)) config.dtypes = UINT64_C(1) << below(t, WIA_DTYPE_COUNT);
  if (one_in(t, 30)) config.flags = 6;
  return wia_register_kernel(atomic_load(&custom->op), device, wide ? prepare_wide : prepare,
                             custom, &config);
}

/* Tables of extensions, read by whoever asks. */
static const struct {
  uint32_t struct_size, number;
} tables[] = {{8, 41}, {8, 42}};

static wia_status_t register_extension(calls_thread_t *t, wia_context_t *context) {
  static const char *const versions[] = {"1.0", "1.3", "2.0", "2", "", "-1.0"};
  char name[24];
  wia_device_extension_t extension = WIA_DEVICE_EXTENSION_INIT;
  custom_t *custom = &customs[below(t, OPS)];
  snprintf(name, sizeof name, one_in(t, 20) ? "fuzz:e%u" : "fuzz::e%u", below(t, EXTENSIONS));
  extension.extension_id = name;
  extension.version = versions[one_in(t, 4) ? below(t, 6) : below(t, 3)];
  if (one_in(t, 3)) extension.capabilities[0] = one_in(t, 8) ? "No" : WIA_CAP_FAST_SOFTMAX;
  if (one_in(t, 2)) extension.table = &tables[below(t, 2)];
  if (one_in(t, 3)) {
    extension.operations[0].name = custom->name;
    extension.operations[0].prepare = prepare_wide;
    extension.context = custom;
  }
  return wia_register_device_extension(context, &extension);
}

static wia_status_t query_extension(calls_thread_t *t) {
  static const char *const versions[] = {"1.0", "1.9", "2.0", "3.0", "x"};
  const int32_t device = one_in(t, 20) ? -7 : core_id(below(t, CORE_ALL_COUNT));
  char name[24];
  const void *table = NULL;
  uint32_t count = 0;
  wia_extension_info_t info = WIA_EXTENSION_INFO_INIT;
  snprintf(name, sizeof name, "fuzz::e%u", below(t, EXTENSIONS + 1));
  wia_status_t status = wia_query_extension(device, name, versions[below(t, 5)], &table);
  if (!status && table && table != &tables[0] && table != &tables[1])
    calls_wrong(t, "a table is one that was registered", status);
  if (status) status = wia_get_extension_count(device, &count);
  if (!status && count) status = wia_get_extension_info(device, below(t, count), &info);
  if (!status && count && (!info.extension_id || strncmp(info.extension_id, "fuzz::e", 7) != 0))
    calls_wrong(t, "an extension has the name that it was registered by", status);
  return status;
}

/* -- using --------------------------------------------------------------------------------------- */

static wia_status_t query_gradient(calls_thread_t *t, wia_op_t op) {
  const wia_tensor_layout_t *layouts[] = {calls_layout, calls_layout, NULL};
  wia_gradient_config_t config = WIA_GRADIENT_CONFIG_INIT;
  wia_gradient_t *gradient = NULL;
  wia_gradient_info_t info = WIA_GRADIENT_INFO_INIT;
  config.op = op;
  config.inputs = layouts;
  config.input_count = below(t, 4);
  config.wanted = below(t, 5);
  wia_status_t status = wia_query_gradient(&config, &gradient);
  if (status) return status;
  status = wia_get_gradient_info(gradient, &info);
  if (!status && (!info.group->output_count || info.group->input_count > 6))
    calls_wrong(t, "a gradient has outputs, and no more operands than there are", status);
  wia_destroy_gradient(gradient);
  return status;
}

static wia_status_t plan_and_run(wia_context_t *context, wia_op_t op, const wia_tensor_t *tensors,
                                 uint32_t inputs, wia_stream_t *stream) {
  wia_plan_t *plan = NULL;
  wia_status_t status =
      wia_create_operation_plan(context, op, tensors, inputs, tensors + 2, 1, NULL, 0, &plan);
  if (status) return status;
  const wia_tensor_t operands[] = {tensors[0], inputs == 2 ? tensors[1] : tensors[2], tensors[2]};
  status = wia_execute_plan(plan, operands, inputs + 1, NULL, 0, stream);
  wia_destroy_plan(plan); /* its launch may be in flight */
  return status;
}

static wia_status_t use(calls_thread_t *t, wia_context_t *context, wia_stream_t *stream,
                        const wia_tensor_t *tensors, custom_t *custom) {
  const double three = 3;
  const wia_attribute_t by = {
      .name = "by", .data = &three, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .scalar = -1};
  const uint32_t inputs = one_in(t, 30) ? below(t, 4) : 1 + custom->index % 2;
  wia_op_t op = atomic_load(&custom->op);
  if (one_in(t, 40)) op = WIA_OP_CUSTOM_FIRST + (wia_op_t)below(t, 2 * OPS);
  switch (below(t, 6)) {
  case 0:
    return query_gradient(t, op);
  case 1:
    return plan_and_run(context, op, tensors, inputs, stream);
  default:
    return wia_execute(context, op, tensors, inputs, tensors + 2, 1, &by, one_in(t, 2), stream);
  }
}

void custom_start(void) {
  for (uint32_t i = 0; i < OPS; i++) {
    snprintf(customs[i].name, sizeof customs[i].name, "fuzz::op%u", i);
    customs[i].index = i;
  }
}

wia_op_t custom_op(calls_thread_t *t) { return atomic_load(&customs[below(t, OPS)].op); }

wia_status_t custom_call(calls_thread_t *t, wia_context_t *context, wia_stream_t *stream,
                         const wia_tensor_t *tensors) {
  custom_t *custom = &customs[below(t, OPS)];
  wia_status_t status;
  switch (below(t, 12)) {
  case 0:
  case 1:
    status = register_op(t, custom);
    break;
  case 2:
    status = register_kernel(t, custom);
    break;
  case 3:
    status = register_extension(t, context);
    break;
  case 4:
    status = query_extension(t);
    break;
  default:
    status = use(t, context, stream, tensors, custom);
  }
  /* the defects that these functions have on purpose */
  return status == WIA_STATUS_INTERNAL ? WIA_STATUS_ABORTED : status;
}
