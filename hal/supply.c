/* supply.c: see supply.h. */
#include "supply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fork.h"
#include "names.h"

/* Changed under the mutex; who follows the links needs none. Nothing is ever taken out. */
static _Atomic(wia__supply_t *) supplies;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void wia__fork_supplies(wia__fork_t stage) { wia__fork_mutex(stage, &mutex); }

static wia__supply_t *first_supply(void) {
  return atomic_load_explicit(&supplies, memory_order_acquire);
}

/* -- registering --------------------------------------------------------------------------------- */

static bool is_twice(const wia__supply_t *a, const wia__supply_t *b) {
  return a->op == b->op && a->reach == b->reach && a->dtypes & b->dtypes &&
         a->ordinal == b->ordinal && strcmp(a->driver, b->driver) == 0;
}

static wia_status_t refuse_twice(const wia__supply_t *supply) {
  const char *const whom[] = {"that device of driver", "the driver", "all devices"};
  return wia__fail(WIA_STATUS_ALREADY_EXISTS,
                   "kernels of %s are registered already for %s%s%s, in one of the same dtypes",
                   supply->op->name, whom[supply->reach], *supply->driver ? " " : "",
                   supply->driver);
}

/* New ones go in front: a reader sees the old list or the new one. */
wia_status_t wia__add_supplies(wia__supply_t *first) {
  wia_status_t status = WIA_STATUS_OK;
  if (!first) return status;
  wia__supply_t *last = first;
  pthread_mutex_lock(&mutex);
  for (wia__supply_t *supply = first; supply && !status; supply = supply->next) {
    for (const wia__supply_t *old = first_supply(); old && !status; old = old->next)
      if (is_twice(supply, old)) status = refuse_twice(supply);
    for (const wia__supply_t *other = supply->next; other && !status; other = other->next)
      if (is_twice(supply, other)) status = refuse_twice(supply);
    last = supply;
  }
  if (!status) {
    last->next = first_supply();
    atomic_store_explicit(&supplies, first, memory_order_release);
  }
  pthread_mutex_unlock(&mutex);
  return status;
}

static wia_status_t read_target(const char *device, wia__supply_t *supply) {
  supply->reach = WIA__FOR_ALL;
  if (!device || !*device) return WIA_STATUS_OK;
  if (!wia__parse_device_name(device, supply->driver, &supply->ordinal))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "kernels were to be registered for \"%.80s\"; expected a driver (\"npu\"), a "
                     "device (\"npu:1\"), or NULL for all",
                     device);
  supply->reach = strchr(device, ':') ? WIA__FOR_DEVICE : WIA__FOR_DRIVER;
  return WIA_STATUS_OK;
}

static wia_status_t register_kernel(wia_op_t number, const char *device, wia_prepare_fn_t prepare,
                                    void *context, const wia_kernel_config_t *given) {
  const wia__op_t *op = NULL;
  wia_kernel_config_t config = WIA_KERNEL_CONFIG_INIT;
  wia_status_t status = wia__resolve_op(number, &op);
  if (!status && !prepare) status = wia__null("prepare");
  if (!status)
    status =
        wia__read_struct(given, &config, sizeof config, sizeof config, "WIA_KERNEL_CONFIG_INIT");
  if (status) return status;
  if (config.flags & ~(uint32_t)WIA_KERNEL_ON_HOST || config.dtypes & ~WIA__ALL_DTYPES)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "the config of kernels of %s has flags 0x%x and dtypes 0x%llx; expected "
                     "WIA_KERNEL_ON_HOST at most, and bits of dtypes",
                     op->name, config.flags, (unsigned long long)config.dtypes);
  wia__supply_t *supply = calloc(1, sizeof *supply);
  if (!supply) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a registration");
  supply->op = op;
  supply->prepare = prepare;
  supply->context = context;
  supply->dtypes = config.dtypes ? config.dtypes : WIA__ALL_DTYPES;
  supply->flags = config.flags;
  status = read_target(device, supply);
  if (!status) status = wia__add_supplies(supply);
  if (status)
    free(supply);
  else
    wia__forget_op(number);
  return status;
}

WIA_API wia_status_t wia_register_kernel(wia_op_t op, const char *device, wia_prepare_fn_t prepare,
                                         void *context, const wia_kernel_config_t *config) {
  WIA__CALL(register_kernel(op, device, prepare, context, config));
}

/* -- asking -------------------------------------------------------------------------------------- */

static bool is_for(const wia__supply_t *supply, const wia__device_t *device) {
  if (supply->reach == WIA__FOR_ALL) return true;
  return strcmp(supply->driver, device->driver->name) == 0 &&
         (supply->reach == WIA__FOR_DRIVER ||
          supply->ordinal == (uint32_t)device->id % WIA__MAX_DEVICES);
}

uint64_t wia__supplied_dtypes(const wia__device_t *device, const wia__op_t *op) {
  uint64_t dtypes = 0;
  for (const wia__supply_t *supply = first_supply(); supply; supply = supply->next)
    if (supply->op == op && is_for(supply, device)) dtypes |= supply->dtypes;
  return dtypes & op->dtypes;
}

/* The dtype that an operation's dtypes are about, of its only node. */
static wia_dtype_t leading_dtype(const wia__op_t *op, const wia_request_t *request) {
  const wia_group_t *group = request->group;
  const wia_node_t *node = group->nodes[0];
  const uint32_t value =
      op->dtype_input == WIA__NO_INPUT ? node->outputs[0] : node->inputs[op->dtype_input];
  return value == UINT32_MAX ? WIA_DTYPE_NONE : group->values[value]->layout->dtype;
}

static void note_refusal(char *refusals, wia_error_t *error, const wia__supply_t *supply) {
  static const char *const whom[] = {"the device", "the driver", "all devices"};
  const char *message = wia__error_message(error);
  const size_t used = strlen(refusals);
  if (used < WIA__TEXT_SIZE)
    snprintf(refusals + used, WIA__TEXT_SIZE - used, "%sthe kernels registered for %s: %s",
             used ? "; " : "", whom[supply->reach], *message ? message : "UNIMPLEMENTED");
  wia__drop_error(error);
  wia__init_error(error);
}

/* What would be told as a defect of the driver is one of who registered. */
static wia_status_t check_made(const wia__supply_t *supply, wia_driver_kernel_t *kernel,
                               wia_error_t *error) {
  const uint64_t alignment = kernel->workspace_alignment;
  const char *what = !kernel->fn                   ? "gave no function"
                     : alignment & (alignment - 1) ? "has an alignment that is no power of two"
                     : supply->flags & WIA_KERNEL_ON_HOST && kernel->flags & WIA_KERNEL_ASYNC
                         ? "is asynchronous, and on the host"
                         : NULL;
  if (!what) return WIA_STATUS_OK;
  if (kernel->release) kernel->release(kernel->state);
  snprintf(error->message, sizeof error->message,
           "the kernel that is registered for it %s: a defect of what was registered", what);
  return WIA_STATUS_INTERNAL;
}

wia_status_t wia__ask_supplies(wia__device_t *device, const wia_request_t *request,
                               wia__reach_t reach, wia_driver_kernel_t *out_kernel,
                               wia_error_t *out_error, char *refusals) {
  if (request->group->node_count != 1) return WIA_STATUS_UNIMPLEMENTED;
  const wia_driver_kernel_t blank = *out_kernel;
  const wia__op_t *op = wia__get_op(request->group->nodes[0]->op);
  const uint64_t dtype = UINT64_C(1) << leading_dtype(op, request);
  for (const wia__supply_t *supply = first_supply(); supply; supply = supply->next) {
    if (supply->op != op || supply->reach != reach || !is_for(supply, device) ||
        !(supply->dtypes & dtype))
      continue;
    wia_status_t status =
        supply->prepare(supply->context, device->id, request, out_kernel, out_error);
    if (!status) {
      wia__drop_error(out_error);
      wia__init_error(out_error);
      status = check_made(supply, out_kernel, out_error);
      if (!status && supply->flags & WIA_KERNEL_ON_HOST &&
          !(device->flags & WIA_DEVICE_HOST_ADDRESSABLE))
        status = wia__stage_kernel(device, out_kernel, out_error);
      return status;
    }
    *out_kernel = blank; /* what a failed prepare left is not used */
    if (status != WIA_STATUS_UNIMPLEMENTED) return status;
    note_refusal(refusals, out_error, supply);
  }
  return WIA_STATUS_UNIMPLEMENTED;
}
