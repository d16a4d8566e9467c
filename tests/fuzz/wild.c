/* wild.c: threads that share handles and addresses, and use them without asking anybody. */
#include "calls.h"
#include "groups.h"

enum { PLACES = 6, RANKS = 12, HOST_SIZE = 4096, MEMORY_LIMIT = 1 << 20 };

/* What is in a place may be destroyed, by any thread and at any time. */
typedef _Atomic(void *) place_t;
typedef struct places_t {
  place_t contexts[CORE_ALL_COUNT], tensors[PLACES * 2], streams[PLACES], events[PLACES],
      plans[PLACES], memories[PLACES];
} places_t;
static places_t places;
enum { ALL_PLACES = sizeof places / sizeof(place_t) };

/* Work in flight reads the one and writes the other; nobody looks at either. */
static const unsigned char source[HOST_SIZE];
static unsigned char sink[HOST_SIZE];

/* A wait for an event that nobody ever records holds its stream, and who waits for that, for ever: so
 * no event is reset between the question whether it was recorded and the wait. */
static pthread_rwlock_t resets = PTHREAD_RWLOCK_INITIALIZER;

/* -- what calls are made of ---------------------------------------------------------------------- */

static uint32_t below(calls_thread_t *t, uint32_t bound) { return fuzz_below(&t->random, bound); }
static bool one_in(calls_thread_t *t, uint32_t count) { return fuzz_one_in(&t->random, count); }
static uint64_t bits(calls_thread_t *t) { return fuzz_bits(&t->random); }

/* Mostly one of the list; else what belongs elsewhere, NULL, or anything. */
static void *pick(calls_thread_t *t, place_t *list, uint32_t count) {
  if (one_in(t, 80)) return atomic_load(&((place_t *)&places)[below(t, ALL_PLACES)]);
  if (one_in(t, 80)) return (void *)(uintptr_t)bits(t);
  if (one_in(t, 80)) return NULL;
  return atomic_load(&list[below(t, count)]);
}
#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))
#define PICK(list) pick(t, places.list, COUNT_OF(places.list))
#define PLACE(list) (&places.list[below(t, COUNT_OF(places.list))])

static wia_stream_t *pick_stream(calls_thread_t *t) { return one_in(t, 2) ? NULL : PICK(streams); }

static int64_t pick_number(calls_thread_t *t) {
  static const int64_t odd[] = {INT64_MIN,        INT64_MAX,     -1, 0, INT64_C(1) << 32,
                                INT64_C(1) << 62, INT64_MAX / 4, -64};
  return one_in(t, 40) ? odd[below(t, 8)] : (int64_t)below(t, 5);
}

static uint32_t pick_shape(calls_thread_t *t, int64_t *shape, int64_t *strides) {
  const uint32_t rank = one_in(t, 60) ? below(t, RANKS) : below(t, 4);
  for (uint32_t i = 0; i < rank; i++) {
    shape[i] = pick_number(t);
    strides[i] = one_in(t, 4) ? -(int64_t)below(t, 3) : pick_number(t);
  }
  if (one_in(t, 3)) shape[0] = 8; /* what plans and groups of the case are for */
  return rank;
}

static wia_dtype_t pick_dtype(calls_thread_t *t) {
  if (one_in(t, 60)) return (wia_dtype_t)bits(t);
  return one_in(t, 5) ? (wia_dtype_t)below(t, WIA_DTYPE_COUNT + 2) : WIA_FLOAT32;
}

static uint64_t pick_size(calls_thread_t *t) {
  if (one_in(t, 40)) return bits(t) >> below(t, 64);
  return one_in(t, 3) ? below(t, 300) : 4 * (uint64_t)below(t, 64);
}

/* Near the start of an allocation, or anywhere. */
static void *pick_address(calls_thread_t *t) {
  if (one_in(t, 80)) return (void *)(uintptr_t)bits(t);
  const uint64_t base = (uint64_t)(uintptr_t)atomic_load(PLACE(memories));
  return (void *)(uintptr_t)(base + (one_in(t, 3) ? (uint64_t)below(t, 300) - 20 : 0));
}

/* Host memory is not checked, so this is always good for sizes that are. */
static uint64_t pick_host_size(calls_thread_t *t) {
  const uint64_t size = pick_size(t);
  return size > HOST_SIZE ? HOST_SIZE : size;
}

/* -- making and destroying ----------------------------------------------------------------------- */

/* Functions that create leave their result alone when they fail. */
static char nothing;
#define NOTHING ((void *)&nothing)

/* Puts what a call made into a place. Returns what was there, for the caller to destroy; NULL: none. */
static void *keep(calls_thread_t *t, place_t *place, void *made, wia_status_t status) {
  if ((status != WIA_STATUS_OK) != (made == NOTHING))
    calls_wrong(t, "a result is written when the call succeeds, and only then", status);
  return status ? NULL : atomic_exchange(place, made);
}

static wia_status_t make_tensor(calls_thread_t *t) {
  int64_t shape[RANKS] = {0}, strides[RANKS] = {0};
  const uint32_t rank = pick_shape(t, shape, strides);
  wia_context_t *context = PICK(contexts);
  wia_tensor_t made = NOTHING;
  wia_status_t status;
  const int64_t *given = one_in(t, 2) ? strides : NULL;
  switch (below(t, 3)) {
  case 0:
    status = wia_allocate_tensor(context, shape, rank, pick_dtype(t), &made);
    break;
  case 1:
    status = wia_wrap_tensor(context, pick_address(t), shape, given, rank, pick_dtype(t), &made);
    break;
  default:
    status = wia_view_tensor(PICK(tensors), pick_number(t), shape, given, rank, &made);
  }
  wia_destroy_tensor(keep(t, PLACE(tensors), made, status));
  return status;
}

typedef struct block_t {
  uint64_t bytes[32];
} block_t;

static void release_block(void *block) {
  atomic_fetch_add(&calls_kept, 1);
  free(block); /* who still reads it shows under the address sanitizer */
}

static wia_status_t make_memory(calls_thread_t *t) {
  void *made = NOTHING;
  const int32_t device = core_id(below(t, CORE_ALL_COUNT));
  wia_status_t status;
  if (one_in(t, 4)) {
    block_t *block = calloc(1, sizeof *block);
    if (!block) abort();
    wia_import_config_t config = WIA_IMPORT_CONFIG_INIT;
    config.release = release_block;
    config.context = block;
    config.flags = one_in(t, 4) ? WIA_IMPORT_READ_ONLY : 0;
    atomic_fetch_add(&calls_promised, 1); /* before another thread can free it */
    status = wia_import_memory(block, sizeof *block, device, &config);
    if (status) {
      atomic_fetch_sub(&calls_promised, 1);
      free(block);
    } else {
      made = block;
    }
  } else {
    wia_memory_config_t config = WIA_MEMORY_CONFIG_INIT;
    config.alignment = one_in(t, 10) ? bits(t) : UINT64_C(1) << below(t, 14);
    config.kind = one_in(t, 20) ? (int32_t)bits(t) : (int32_t)below(t, 3);
    status = wia_allocate_memory(&made, pick_size(t), device, &config);
  }
  wia_free(keep(t, PLACE(memories), made, status));
  return status;
}

static wia_status_t make_plan(calls_thread_t *t) {
  static const groups_node_t nodes[] = {{WIA_OP_ADD, {0, 1, NONE}, 2},
                                        {WIA_OP_DIV, {2, 0, NONE}, 3},
                                        {WIA_OP_MUL, {3, 1, NONE}, 4},
                                        {0}};
  wia_plan_t *made = NOTHING;
  wia_status_t status;
  if (one_in(t, 3)) {
    groups_t *groups = malloc(sizeof *groups);
    if (!groups) abort();
    groups_build(groups, calls_layout, 2, nodes);
    if (one_in(t, 4)) groups->operands[below(t, 3)][below(t, 4)] = below(t, GROUP_VALUES + 1);
    status = wia_create_plan(PICK(contexts), &groups->group, &made);
    free(groups);
  } else {
    wia_tensor_t operands[3] = {PICK(tensors), PICK(tensors), PICK(tensors)};
    status = wia_create_operation_plan(PICK(contexts), WIA_OP_ADD, operands, 2, operands + 2, 1,
                                       NULL, 0, &made);
  }
  wia_destroy_plan(keep(t, PLACE(plans), made, status));
  return status;
}

static wia_status_t make_something(calls_thread_t *t) {
  void *made = NOTHING;
  wia_status_t status;
  switch (below(t, 12)) {
  case 0:
    status = wia_create_stream((wia_stream_t **)&made, PICK(contexts));
    wia_destroy_stream(keep(t, PLACE(streams), made, status));
    return status;
  case 1:
  case 2:
    status = wia_create_event((wia_event_t **)&made, PICK(contexts));
    wia_destroy_event(keep(t, PLACE(events), made, status));
    return status;
  case 3:
    if (!one_in(t, 4)) return WIA_STATUS_OK;
    status = wia_create_context((wia_context_t **)&made, core_id(below(t, CORE_ALL_COUNT)));
    wia_destroy_context(keep(t, PLACE(contexts), made, status));
    return status;
  case 4:
  case 5:
  case 6:
    return make_memory(t);
  case 7:
  case 8:
    return make_plan(t);
  default:
    return make_tensor(t);
  }
}

/* The place keeps what is now stale. */
static wia_status_t destroy_something(calls_thread_t *t) {
  switch (below(t, 6)) {
  case 0:
    return wia_free(pick_address(t));
  case 1:
    return wia_destroy_stream(one_in(t, 4) ? PICK(streams) : NULL);
  case 2:
    return wia_destroy_event(PICK(events));
  case 3:
    return wia_destroy_plan(PICK(plans));
  case 4:
    return wia_destroy_context(one_in(t, 20) ? PICK(contexts) : NULL);
  default:
    return wia_destroy_tensor(PICK(tensors));
  }
}

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

/* -- order --------------------------------------------------------------------------------------- */

typedef struct function_t {
  wia_stream_t *stream;
  wia_event_t *event;
  wia_tensor_t tensor;
  uint32_t what;
} function_t;

/* Calls that don't wait, from a thread of the library: its own stream may be destroyed by them. */
static wia_status_t run_function(void *context, wia_status_t status, wia_error_t *out_error) {
  function_t *function = context;
  uint32_t done;
  (void)status;
  (void)out_error;
  if (function->what == 0) wia_destroy_stream(function->stream);
  if (function->what == 1) wia_query_stream(function->stream, &done);
  if (function->what == 2) wia_record_event(function->event, function->stream);
  if (function->what == 3) wia_destroy_tensor(function->tensor);
  const wia_status_t result = function->what == 4 ? WIA_STATUS_ABORTED : WIA_STATUS_OK;
  free(function);
  atomic_fetch_add(&calls_kept, 1);
  return result;
}

static wia_status_t enqueue_function(calls_thread_t *t) {
  function_t *function = malloc(sizeof *function);
  if (!function) abort();
  *function = (function_t){PICK(streams), PICK(events), PICK(tensors), below(t, 12)};
  wia_stream_t *stream = function->stream;
  if (one_in(t, 2)) function->stream = PICK(streams);
  atomic_fetch_add(&calls_promised, 1);
  const wia_status_t status = wia_enqueue_host_function(stream, run_function, function);
  if (status) {
    free(function);
    atomic_fetch_sub(&calls_promised, 1);
  }
  return status;
}

static void see_event(void *context, wia_status_t status) {
  (void)context;
  (void)status;
  atomic_fetch_add(&calls_kept, 1);
}

/* A wait in a stream, or a function, for a point that will come. */
static wia_status_t follow_event(calls_thread_t *t, wia_event_t *event) {
  int32_t state = WIA_EVENT_NONE;
  pthread_rwlock_rdlock(&resets);
  wia_status_t status = wia_query_event(event, &state);
  if (!status && state != WIA_EVENT_NONE && one_in(t, 3)) {
    atomic_fetch_add(&calls_promised, 1);
    status = wia_call_on_event(event, see_event, NULL);
    if (status) atomic_fetch_sub(&calls_promised, 1);
  } else if (!status && state != WIA_EVENT_NONE) {
    status = wia_enqueue_wait(PICK(streams), event);
  }
  pthread_rwlock_unlock(&resets);
  return status;
}

static wia_status_t reset_event(wia_event_t *event) {
  pthread_rwlock_wrlock(&resets);
  const wia_status_t status = wia_reset_event(event);
  pthread_rwlock_unlock(&resets);
  return status;
}

/* Of a signal; INTERNAL would come back, and is what no call gives by itself. */
static wia_status_t pick_failure(calls_thread_t *t) {
  const wia_status_t status = (wia_status_t)below(t, 20);
  return status == WIA_STATUS_INTERNAL ? WIA_STATUS_OK : status;
}

static wia_status_t order_something(calls_thread_t *t) {
  wia_stream_t *stream = PICK(streams);
  wia_event_t *event = PICK(events);
  uint32_t done = 0;
  int64_t elapsed = 0;
  switch (below(t, 12)) {
  case 0:
  case 1:
    return wia_record_event(event, stream);
  case 2:
  case 3:
    return follow_event(t, event);
  case 4:
    return wia_wait_event(event, below(t, 100000));
  case 5:
    return wia_get_elapsed_time(event, PICK(events), &elapsed);
  case 6:
    return wia_query_stream(stream, &done);
  case 7:
    return one_in(t, 10) ? reset_event(event) : wia_record_stream(pick_address(t), stream);
  case 8:
    return one_in(t, 3) ? wia_reset_stream(stream)
                        : wia_synchronize_stream(stream, below(t, 1000000));
  case 9:
    return one_in(t, 10) ? wia_cancel_stream(stream) : WIA_STATUS_OK;
  case 10:
    return one_in(t, 10) ? wia_signal_event(event, pick_failure(t), "a test's reason")
                         : WIA_STATUS_OK;
  default:
    return enqueue_function(t);
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
  switch (below(t, 11)) {
  case 10:
    return use_custom(t);
  case 0:
  case 1:
  case 2:
    return make_something(t);
  case 3:
    return destroy_something(t);
  case 4:
  case 5:
    return run_something(t);
  case 6:
    return run_views(t);
  case 7:
    return move_something(t);
  case 8:
    return one_in(t, 4) ? graph_something(t) : order_something(t);
  default:
    return one_in(t, 3) ? let_fail(t) : order_something(t);
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
#undef DESTROY
}
