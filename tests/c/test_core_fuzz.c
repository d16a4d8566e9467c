/* Random sequences of calls with good, stale and wild arguments: nothing crashes, no driver is given
 * anything against its contract, and in the end everything was given back.
 *
 *     test_core_fuzz [SEED [CALLS]]
 *
 * A case that it finds becomes a test of its own elsewhere. */
#include "core_driver.h"

enum { PLACES = 6, DEFAULT_CALLS = 20000, MEMORY_LIMIT = 1 << 20 };

static uint64_t state;

static uint64_t random_bits(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * UINT64_C(0x2545f4914f6cdd1d);
}

static uint32_t below(uint32_t bound) { return (uint32_t)(random_bits() >> 33) % bound; }
static bool one_in(uint32_t count) { return below(count) == 0; }

/* -- what calls are made of ---------------------------------------------------------------------- */

static const uint32_t devices[] = {CORE_PLAIN, CORE_OTHER, CORE_OPAQUE, CORE_SERIAL, CORE_BARE};
enum { DEVICES = sizeof devices / sizeof devices[0] };

static wia_context_t *contexts[DEVICES];
static wia_tensor_t tensors[PLACES * 2];
static wia_stream_t *streams[PLACES];
static wia_event_t *events[PLACES];
static wia_plan_t *plans[PLACES];
static void *memories[PLACES];
static unsigned char host[4096];

/* Mostly one of the list, which may be destroyed by now; else anything. */
static void *pick(void *const *list, uint32_t count) {
  if (one_in(60)) return (void *)(uintptr_t)random_bits();
  if (one_in(60)) return NULL;
  return list[below(count)];
}
#define PICK(list) pick((void *const *)(list), sizeof(list) / sizeof((list)[0]))

static wia_stream_t *pick_stream(void) { return one_in(2) ? NULL : PICK(streams); }

static int64_t pick_number(void) {
  static const int64_t wild[] = {INT64_MIN,        INT64_MAX,     -1, 0, INT64_C(1) << 32,
                                 INT64_C(1) << 62, INT64_MAX / 4, -64};
  return one_in(40) ? wild[below(8)] : (int64_t)below(5);
}

static uint32_t pick_shape(int64_t *shape, int64_t *strides) {
  const uint32_t rank = one_in(60) ? below(12) : below(4);
  for (uint32_t i = 0; i < rank && i < 12; i++) {
    shape[i] = pick_number();
    strides[i] = one_in(4) ? -(int64_t)below(3) : pick_number();
  }
  return rank;
}

static wia_dtype_t pick_dtype(void) {
  if (one_in(60)) return (wia_dtype_t)random_bits();
  return one_in(5) ? (wia_dtype_t)below(WIA_DTYPE_COUNT + 2) : WIA_FLOAT32;
}

static uint64_t pick_size(void) {
  if (one_in(40)) return random_bits() >> below(64);
  return one_in(3) ? below(300) : 4 * (uint64_t)below(64);
}

/* Near the start of an allocation, or anywhere. */
static void *pick_address(void) {
  if (one_in(80)) return (void *)(uintptr_t)random_bits();
  const uint64_t base = (uint64_t)(uintptr_t)memories[below(PLACES)];
  return (void *)(uintptr_t)(base + (one_in(3) ? (uint64_t)below(300) - 20 : 0));
}

/* Host memory is not checked, so this is always good for sizes that are. */
static uint64_t pick_host_size(void) {
  const uint64_t size = pick_size();
  return size > sizeof host ? sizeof host : size;
}

static void replace(void **place, void *made) {
  if (made) *place = made; /* what was there is left to be destroyed, or is stale */
}

/* -- calls --------------------------------------------------------------------------------------- */

static wia_status_t make_something(void) {
  int64_t shape[12], strides[12];
  const uint32_t rank = pick_shape(shape, strides);
  wia_context_t *context = PICK(contexts);
  const uint32_t place = below(PLACES), tensor = below(2 * PLACES);
  wia_status_t status = WIA_STATUS_OK;
  void *made = NULL;
  wia_memory_config_t config = WIA_MEMORY_CONFIG_INIT;
  switch (below(7)) {
  case 0:
    wia_destroy_tensor(tensors[tensor]);
    status = wia_allocate_tensor(context, shape, rank, pick_dtype(), (wia_tensor_t *)&made);
    replace((void **)&tensors[tensor], made);
    return status;
  case 1:
    wia_destroy_tensor(tensors[tensor]);
    status = wia_wrap_tensor(context, pick_address(), shape, one_in(2) ? strides : NULL, rank,
                             pick_dtype(), (wia_tensor_t *)&made);
    replace((void **)&tensors[tensor], made);
    return status;
  case 2: {
    wia_tensor_t base = PICK(tensors);
    if (base != tensors[tensor]) wia_destroy_tensor(tensors[tensor]);
    const wia_tensor_t before = tensors[tensor];
    status = wia_view_tensor(base, pick_number(), shape, one_in(2) ? strides : NULL, rank,
                             (wia_tensor_t *)&made);
    if (made && base == before) wia_destroy_tensor(before);
    replace((void **)&tensors[tensor], made);
    return status;
  }
  case 3:
    if (!one_in(8)) return WIA_STATUS_OK;
    wia_destroy_stream(streams[place]);
    status = wia_create_stream((wia_stream_t **)&made, context);
    replace((void **)&streams[place], made);
    return status;
  case 4:
    wia_destroy_event(events[place]);
    status = wia_create_event((wia_event_t **)&made, context);
    replace((void **)&events[place], made);
    return status;
  case 5:
    wia_free(memories[place]);
    config.alignment = one_in(10) ? random_bits() : UINT64_C(1) << below(14);
    config.kind = one_in(20) ? (int32_t)random_bits() : (int32_t)below(3);
    status = wia_allocate_memory(&made, pick_size(), core_id(devices[below(DEVICES)]), &config);
    replace(&memories[place], made);
    return status;
  default:
    return wia_free(pick_address());
  }
}

static wia_status_t run_something(void) {
  static const wia_op_t ops[] = {WIA_OP_ADD, WIA_OP_SUB,  WIA_OP_MUL,     WIA_OP_DIV,
                                 WIA_OP_ADD, WIA_OP_RELU, WIA_OP_SOFTMAX, WIA_OP_MATMUL};
  const wia_op_t op = one_in(10) ? (wia_op_t)below(25) : ops[below(8)];
  wia_tensor_t operands[4] = {PICK(tensors), PICK(tensors), PICK(tensors), PICK(tensors)};
  if (one_in(2)) operands[1] = operands[0];
  if (one_in(8)) operands[2] = operands[0];
  const uint32_t inputs = op == WIA_OP_RELU || op == WIA_OP_SOFTMAX ? 1 : one_in(30) ? below(4) : 2;
  wia_context_t *context = PICK(contexts);
  const uint32_t place = below(PLACES);
  wia_plan_t *made = NULL;
  wia_status_t status;
  switch (below(4)) {
  case 0:
    status =
        wia_create_operation_plan(context, op, operands, inputs, operands + 2, 1, NULL, 0, &made);
    if (made) wia_destroy_plan(plans[place]);
    replace((void **)&plans[place], made);
    return status;
  case 1:
    return wia_execute_plan(PICK(plans), operands, one_in(20) ? below(5) : 3, NULL, 0,
                            pick_stream());
  default:
    return wia_execute(context, op, operands, inputs, operands + 2, one_in(40) ? below(3) : 1, NULL,
                       0, pick_stream());
  }
}

static wia_status_t run_views(void) {
  int64_t shapes[3][12], strides[3][12];
  wia_view_t views[3];
  for (uint32_t i = 0; i < 3; i++) {
    const uint32_t rank = pick_shape(shapes[i], strides[i]);
    views[i] = (wia_view_t){(uint64_t)(uintptr_t)pick_address(), shapes[one_in(3) ? i : 0],
                            one_in(3) ? strides[i] : NULL, pick_dtype(), rank};
    if (!one_in(3)) views[i].rank = views[0].rank;
    if (views[i].shape == shapes[0]) views[i].rank = views[0].rank;
  }
  return wia_execute_views(PICK(contexts), WIA_OP_ADD, views, 2, views + 2, 1, NULL, 0,
                           pick_stream());
}

static wia_status_t move_something(void) {
  wia_tensor_t tensor = PICK(tensors);
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  uint64_t size = pick_host_size();
  wia_stream_t *stream = pick_stream();
  if (!wia_get_tensor_info(tensor, &info) && !one_in(10) && info.size <= sizeof host)
    size = info.size;
  switch (below(6)) {
  case 0:
    return wia_copy_host_to_device(pick_address(), host, pick_host_size(), stream);
  case 1:
    return wia_copy_device_to_host(host, pick_address(), pick_host_size(), NULL);
  case 2:
    return wia_copy_device_to_device(pick_address(), pick_address(), pick_size(), stream);
  case 3:
    return wia_fill_memory(pick_address(), host, 1u << below(6), pick_size(), stream);
  case 4:
    return wia_read_tensor(tensor, host, size, NULL);
  default:
    return wia_write_tensor(tensor, host, size, stream);
  }
}

static wia_status_t order_something(void) {
  wia_stream_t *stream = PICK(streams);
  wia_event_t *event = PICK(events);
  int32_t event_state = 0;
  uint32_t done = 0;
  int64_t elapsed = 0;
  switch (below(8)) {
  case 0:
    return wia_record_event(event, stream);
  case 1: /* an event that nobody records would hold the stream, and then this thread, for ever */
    if (wia_query_event(event, &event_state) || event_state == WIA_EVENT_NONE) return WIA_STATUS_OK;
    return wia_enqueue_wait(stream, event);
  case 2:
    return wia_wait_event(event, below(100000));
  case 3:
    return wia_get_elapsed_time(event, PICK(events), &elapsed);
  case 4:
    return wia_query_stream(stream, &done);
  case 5:
    return one_in(10) ? wia_reset_event(event) : WIA_STATUS_OK;
  case 6:
    return one_in(10) ? wia_reset_stream(stream) : wia_synchronize_stream(stream, below(1000000));
  default:
    return one_in(10) ? wia_cancel_stream(stream) : WIA_STATUS_OK;
  }
}

static wia_status_t call_something(void) {
  switch (below(8)) {
  case 0:
    return make_something();
  case 1:
  case 2:
    return run_something();
  case 3:
    return run_views();
  case 4:
    return move_something();
  case 5:
    return order_something();
  case 6: /* now and then things fail */
    core.fail_status = one_in(3) ? WIA_STATUS_DATA_LOSS : WIA_STATUS_OK;
    core.copy_status = one_in(30) ? WIA_STATUS_UNAVAILABLE : WIA_STATUS_OK;
    core.memory_limit = one_in(10) ? below(2000) : MEMORY_LIMIT;
    core.kernel_flags = below(4);
    return WIA_STATUS_OK;
  default:
    return make_something();
  }
}

static void destroy_all(void) {
  core.memory_limit = UINT64_MAX;
  for (uint32_t i = 0; i < 2 * PLACES; i++) wia_destroy_tensor(tensors[i]);
  for (uint32_t i = 0; i < PLACES; i++) {
    wia_destroy_stream(streams[i]);
    wia_destroy_event(events[i]);
    wia_destroy_plan(plans[i]);
    wia_free(memories[i]);
  }
  for (uint32_t i = 0; i < DEVICES; i++) wia_destroy_context(contexts[i]);
}

int main(int count, char **arguments) {
  const uint64_t seed = count > 1 ? strtoull(arguments[1], NULL, 0) : 20261202;
  const uint64_t calls = count > 2 ? strtoull(arguments[2], NULL, 0) : DEFAULT_CALLS;
  printf("seed %llu, %llu calls\n", (unsigned long long)seed, (unsigned long long)calls);
  fflush(stdout);
  state = seed * 2 + 1;
  setenv("WIA_PLAN_CACHE_SIZE", "20", 1);
  core_start();
  core.workspace_size = 40;
  core.memory_limit = MEMORY_LIMIT;
#ifdef __SANITIZE_THREAD__
  core.only_touch = true; /* nobody orders the streams, and that race is not the library's */
#endif
  for (uint32_t i = 0; i < DEVICES; i++) contexts[i] = core_context(devices[i]);
  uint32_t statuses[64] = {0};
  for (uint64_t i = 0; i < calls; i++) {
    const wia_status_t status = call_something();
    const bool known =
        status >= 0 && status < 64 && strcmp(wia_get_status_name(status), "UNKNOWN_STATUS") != 0;
    if (!known || status == WIA_STATUS_INTERNAL || core.faults) {
      wia_error_info_t info = WIA_ERROR_INFO_INIT;
      wia_get_last_error(&info);
      CHECK(!"a call that gives a good status, and a driver that is called by its contract");
      printf("  call %llu: %d, %s: %s\n", (unsigned long long)i, status, info.function,
             info.message);
      break;
    }
    statuses[status]++;
  }
  for (int32_t i = 0; i < 64; i++) {
    if (statuses[i]) printf("%s: %u\n", wia_get_status_name(i), statuses[i]);
  }
  CHECK(calls < DEFAULT_CALLS || statuses[WIA_STATUS_OK] > calls / 20); /* it does get somewhere */
  destroy_all();
  core_evict();
  CHECK_CLEAN();
  return CHECK_DONE();
}
