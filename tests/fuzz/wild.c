/* wild.c: threads that share handles and addresses, and use them without asking anybody. */
#include "wild.h"

places_t places;

/* Work in flight reads the one and writes the other; nobody looks at either. */
static const unsigned char source[HOST_SIZE];
static unsigned char sink[HOST_SIZE];

/* -- work ---------------------------------------------------------------------------------------- */

static wia_status_t run_views(calls_thread_t *t) {
  int64_t shapes[3][RANKS] = {{0}}, strides[3][RANKS] = {{0}};
  wia_view_t views[3];
  for (uint32_t i = 0; i < 3; i++) {
    const uint32_t rank = pick_shape(t, shapes[i], strides[i]);
    views[i] = (wia_view_t){(uint64_t)(uintptr_t)pick_address(t), shapes[one_in(t, 3) ? i : 0],
                            one_in(t, 3) ? strides[i] : NULL, pick_dtype(t), rank};
    if (!one_in(t, 3) || views[i].shape == shapes[0]) views[i].rank = views[0].rank;
  }
  return wia_execute_views(PICK(contexts), WIA_OP_ADD, views, 2, views + 2, 1, NULL, 0,
                           pick_stream(t));
}

static wia_status_t run_something(calls_thread_t *t) {
  static const wia_op_t ops[] = {WIA_OP_ADD, WIA_OP_SUB,  WIA_OP_MUL,     WIA_OP_DIV,
                                 WIA_OP_ADD, WIA_OP_RELU, WIA_OP_SOFTMAX, WIA_OP_MATMUL};
  const wia_op_t op = one_in(t, 10) ? (wia_op_t)below(t, 430) : ops[below(t, 8)];
  wia_tensor_t operands[4] = {PICK(tensors), PICK(tensors), PICK(tensors), PICK(tensors)};
  if (one_in(t, 2)) operands[1] = operands[0];
  if (one_in(t, 8)) operands[2] = operands[0];
  const uint32_t inputs = op == WIA_OP_RELU || op == WIA_OP_SOFTMAX ? 1
                          : one_in(t, 30)                           ? below(t, 4)
                                                                    : 2;
  if (one_in(t, 3)) {
    return wia_execute_plan(PICK(plans), operands, one_in(t, 20) ? below(t, 5) : 3, NULL, 0,
                            pick_stream(t));
  }
  return wia_execute(PICK(contexts), op, operands, inputs, operands + 2,
                     one_in(t, 40) ? below(t, 3) : 1, NULL, 0, pick_stream(t));
}

static wia_status_t move_something(calls_thread_t *t) {
  unsigned char own[HOST_SIZE];
  wia_tensor_t tensor = PICK(tensors);
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT, before = info;
  uint64_t size = pick_host_size(t);
  wia_stream_t *stream = pick_stream(t);
  const wia_status_t status = wia_get_tensor_info(tensor, &info);
  if (status && memcmp(&info, &before, sizeof info) != 0)
    calls_wrong(t, "a call that fails leaves the struct alone", status);
  if (!status && !one_in(t, 10) && info.size <= HOST_SIZE) size = info.size;
  switch (below(t, 7)) {
  case 0:
    return wia_copy_host_to_device(pick_address(t), source, pick_host_size(t), stream);
  case 1:
    return wia_copy_device_to_host(own, pick_address(t), pick_host_size(t), NULL);
  case 2:
    return wia_copy_device_to_device(pick_address(t), pick_address(t), pick_size(t), stream);
  case 3:
    return wia_fill_memory(pick_address(t), source, 1u << below(t, 6), pick_size(t), stream);
  case 4:
    return wia_read_tensor(tensor, own, size, NULL);
  case 5:
    return stream ? wia_read_tensor(tensor, sink, size, stream) : WIA_STATUS_OK;
  default:
    return wia_write_tensor(tensor, source, size, stream);
  }
}

/* -- a thread ------------------------------------------------------------------------------------ */

/* Now and then things fail, for all threads. */
static wia_status_t let_fail(calls_thread_t *t) {
  core.fail_status = one_in(t, 3) ? WIA_STATUS_DATA_LOSS : WIA_STATUS_OK;
  core.copy_status = one_in(t, 30) ? WIA_STATUS_UNAVAILABLE : WIA_STATUS_OK;
  core.submit_status = one_in(t, 30) ? WIA_STATUS_UNAVAILABLE : WIA_STATUS_OK;
  core.stream_status = one_in(t, 30) ? WIA_STATUS_RESOURCE_EXHAUSTED : WIA_STATUS_OK;
  core.memory_limit = one_in(t, 10) ? below(t, 2000) : MEMORY_LIMIT;
  return WIA_STATUS_OK;
}

static wia_status_t use_custom(calls_thread_t *t) {
  wia_tensor_t tensors[3];
  for (uint32_t i = 0; i < 3; i++) tensors[i] = PICK(tensors);
  return custom_call(t, PICK(contexts), pick_stream(t), tensors);
}

static wia_status_t graph_something(calls_thread_t *t) {
  wia_tensor_t tensors[4];
  for (uint32_t i = 0; i < 4; i++) tensors[i] = PICK(tensors);
  return wild_graph(t, PICK(contexts), PICK(streams), tensors, pick_address(t));
}

static wia_status_t call_something(calls_thread_t *t) {
  switch (below(t, 12)) {
  case 11:
    return one_in(t, 3) ? pools_device_call(t) : pools_call(t, PICK(contexts), 0);
  case 10:
    return use_custom(t);
  case 0:
  case 1:
  case 2:
    return wild_make(t);
  case 3:
    return wild_destroy(t);
  case 4:
  case 5:
    return run_something(t);
  case 6:
    return run_views(t);
  case 7:
    return move_something(t);
  case 8:
    return one_in(t, 4) ? graph_something(t) : wild_order(t);
  default:
    return one_in(t, 3) ? let_fail(t) : wild_order(t);
  }
}

void wild_call(calls_thread_t *t) {
  const wia_status_t status = call_something(t);
  const bool known =
      status >= 0 && status < 64 && strcmp(wia_get_status_name(status), "UNKNOWN_STATUS") != 0;
  if (!known || status == WIA_STATUS_INTERNAL)
    calls_wrong(t, "a call gives a status of the map, and not INTERNAL", status);
  else if (core.faults)
    calls_wrong(t, "a driver is called by its contract", status);
  else
    t->statuses[status]++;
}

void wild_start(void) {
  for (uint32_t i = 0; i < CORE_ALL_COUNT; i++) atomic_store(&places.contexts[i], core_context(i));
}

/* In the order in which they are, so that streams with work in flight lose everything. */
void wild_end(void) {
#define DESTROY(list, function)                                                                    \
  for (uint32_t i = 0; i < COUNT_OF(places.list); i++)                                             \
  function(atomic_exchange(&places.list[i], NULL))
  DESTROY(tensors, wia_destroy_tensor);
  DESTROY(memories, wia_free);
  DESTROY(plans, wia_destroy_plan);
  DESTROY(streams, wia_destroy_stream);
  DESTROY(events, wia_destroy_event);
  DESTROY(contexts, wia_destroy_context);
  pools_end();
#undef DESTROY
}
