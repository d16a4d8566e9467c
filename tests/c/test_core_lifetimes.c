/* Scenarios 12 and 13: parents that go before their children, and things that go while work in flight
 * uses them. */
#include "core_driver.h"

static uint32_t device; /* of the tests that are not given one */

static const int64_t shape4[] = {4};

static wia_status_t relu_on(wia_context_t *context, wia_tensor_t from, wia_tensor_t to,
                            wia_stream_t *stream) {
  return wia_relu(context, from, to, stream);
}

static wia_stream_t *make_stream(wia_context_t *context) {
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  return stream;
}

/* -- parents before children --------------------------------------------------------------------- */

static void test_context_first(void) {
  wia_context_t *context = core_context(device);
  wia_tensor_t a = core_tensor(context, 4, 1), b = core_tensor(context, 4, 0), view = NULL;
  wia_stream_t *stream = make_stream(context);
  wia_event_t *event = NULL;
  CHECK_STATUS(wia_create_event(&event, context), WIA_STATUS_OK);
  wia_plan_t *plan = NULL;
  const wia_tensor_t operands[] = {a, a, b};
  CHECK_STATUS(
      wia_create_operation_plan(context, WIA_OP_ADD, operands, 2, operands + 2, 1, NULL, 0, &plan),
      WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_add(context, a, a, b, NULL), WIA_STATUS_INVALID_HANDLE);

  CHECK_STATUS(wia_execute_plan(plan, operands, 3, NULL, 0, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(event, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_wait_event(event, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK(core_has(b, 2, 2));
  CHECK_STATUS(wia_view_tensor(b, 1, (const int64_t[]){3}, NULL, 1, &view), WIA_STATUS_OK);
  CHECK(core_has(view, 4, 2));

  CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  core_destroy(a);
  core_destroy(b);
  core_destroy(view);
  CHECK_CLEAN();
}

static void test_base_before_view(void) {
  wia_context_t *context = core_context(device);
  wia_tensor_t base = core_tensor(context, 8, 0), view = NULL, second = NULL;
  CHECK_STATUS(wia_view_tensor(base, 2, (const int64_t[]){3}, (const int64_t[]){2}, 1, &view),
               WIA_STATUS_OK);
  core_destroy(base);
  CHECK(core_has(view, 2, 2));
  const wia_memory_info_t before = core_memory(device);
  CHECK(before.live_count == 1 && before.live_size == 32 && before.deferred_count == 0);
  CHECK_STATUS(wia_view_tensor(view, 2, (const int64_t[]){3}, (const int64_t[]){-1}, 1, &second),
               WIA_STATUS_OK);
  core_destroy(view);
  CHECK(core_has(second, 4, -1));
  CHECK_STATUS(wia_view_tensor(base, 0, shape4, NULL, 1, &view), WIA_STATUS_INVALID_HANDLE);
  core_destroy(second);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_CLEAN();
  CHECK(core_memory(device).live_count == 0);
}

/* A plan needs none of the tensors that it was made with, but has their layouts. */
static void test_tensors_before_plan(void) {
  wia_context_t *context = core_context(device);
  const int64_t shape[] = {3, 5};
  wia_tensor_t a = core_empty(context, 2, shape), b = core_empty(context, 2, shape);
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(a, &info), WIA_STATUS_OK);
  const uint64_t id = info.layout->id;
  wia_plan_t *plan = NULL;
  const wia_tensor_t first[] = {a, a, b};
  CHECK_STATUS(
      wia_create_operation_plan(context, WIA_OP_MUL, first, 2, first + 2, 1, NULL, 0, &plan),
      WIA_STATUS_OK);
  core_destroy(a);
  core_destroy(b);
  a = core_empty(context, 2, shape);
  b = core_empty(context, 2, shape);
  const float twos[15] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
  CHECK_STATUS(wia_write_tensor(a, twos, sizeof twos, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_tensor_info(a, &info), WIA_STATUS_OK);
  CHECK(info.layout->id == id);
  const wia_tensor_t second[] = {a, a, b};
  CHECK_STATUS(wia_execute_plan(plan, second, 3, NULL, 0, NULL), WIA_STATUS_OK);
  CHECK(core_has(b, 4, 0));
  CHECK_STATUS(wia_execute_plan(plan, first, 3, NULL, 0, NULL), WIA_STATUS_INVALID_HANDLE);
  core_destroy(a);
  core_destroy(b);
  CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

/* -- while work is in flight --------------------------------------------------------------------- */

/* Everything that queued work uses goes before it runs; only a host buffer tells what it did. */
static void test_destroy_in_flight(uint32_t on) {
  wia_context_t *context = core_context(on);
  wia_tensor_t a = core_tensor(context, 4, 1), b = core_tensor(context, 4, 0);
  wia_tensor_t c = core_tensor(context, 4, 0);
  wia_stream_t *stream = make_stream(context);
  wia_plan_t *plan = NULL;
  const wia_tensor_t operands[] = {b, b, c};
  CHECK_STATUS(
      wia_create_operation_plan(context, WIA_OP_MUL, operands, 2, operands + 2, 1, NULL, 0, &plan),
      WIA_STATUS_OK);
  wia_event_t *event = NULL;
  CHECK_STATUS(wia_create_event(&event, context), WIA_STATUS_OK);
  float host[4] = {0};
  core_close_gate();
  CHECK_STATUS(relu_on(context, a, b, stream), WIA_STATUS_OK);
  CHECK(core_await_gate(1));
  CHECK_STATUS(wia_execute_plan(plan, operands, 3, NULL, 0, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_read_tensor(c, host, sizeof host, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(event, stream), WIA_STATUS_OK);
  core_destroy(a);
  core_destroy(b);
  core_destroy(c);
  CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(stream, 0), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_read_tensor(c, host, sizeof host, NULL), WIA_STATUS_INVALID_HANDLE);
  /* owned memory counts as live while work in flight has it */
  CHECK(core.allocations - core.frees == 3);
  core_open_gate();
  CHECK_STATUS(wia_wait_event(event, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK(host[0] == 1 && host[1] == 4 && host[2] == 9 && host[3] == 16);
  CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
  CHECK_CLEAN();
}

/* wia_free: at once invalid, deferred until the work is done, and not given to anybody else. */
static void test_free_in_flight(uint32_t on) {
  wia_context_t *context = core_context(on);
  const int32_t id = core_id(on);
  wia_stream_t *stream = make_stream(context);
  void *from = NULL, *to = NULL;
  const float values[] = {1, -2, 3, -4};
  float host[4] = {0};
  CHECK_STATUS(wia_malloc(&from, sizeof values, id), WIA_STATUS_OK);
  CHECK_STATUS(wia_malloc(&to, sizeof values, id), WIA_STATUS_OK);
  CHECK_STATUS(wia_copy_host_to_device(from, values, sizeof values, NULL), WIA_STATUS_OK);
  wia_tensor_t a = NULL, b = NULL;
  CHECK_STATUS(wia_wrap_tensor(context, from, shape4, NULL, 1, WIA_FLOAT32, &a), WIA_STATUS_OK);
  CHECK_STATUS(wia_wrap_tensor(context, to, shape4, NULL, 1, WIA_FLOAT32, &b), WIA_STATUS_OK);
  core_close_gate();
  CHECK_STATUS(relu_on(context, a, b, stream), WIA_STATUS_OK);
  CHECK(core_await_gate(1));
  CHECK_STATUS(wia_copy_device_to_host(host, to, sizeof host, stream), WIA_STATUS_OK);
  wia_address_info_t address = WIA_ADDRESS_INFO_INIT;
  CHECK_STATUS(wia_query_address(to, &address), WIA_STATUS_OK);
  CHECK(address.pending == 1);

  const uint32_t frees = core.frees;
  CHECK_STATUS(wia_free(from), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(to), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(to), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_query_address(to, &address), WIA_STATUS_NOT_FOUND);
  CHECK_STATUS(wia_copy_device_to_host(host, to, 4, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_copy_device_to_host(host, to, 4, stream), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_read_tensor(b, host, sizeof host, NULL), WIA_STATUS_INVALID_HANDLE);
  CHECK_MESSAGE("wia_free");
  CHECK_STATUS(relu_on(context, a, b, stream), WIA_STATUS_INVALID_HANDLE);
  CHECK(core.frees == frees);
  wia_memory_info_t info = core_memory(on);
  CHECK(info.live_count == 0 && info.live_size == 0 && info.deferred_count == 2);
  void *fresh = NULL;
  CHECK_STATUS(wia_malloc(&fresh, sizeof values, id), WIA_STATUS_OK);
  CHECK(fresh != from && fresh != to);
  CHECK_STATUS(wia_fill_memory(fresh, values, 4, sizeof values, NULL), WIA_STATUS_OK);

  core_open_gate();
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK(host[0] == 1 && host[1] == 0 && host[2] == 3 && host[3] == 0);
  core_destroy(a);
  core_destroy(b);
  CHECK_STATUS(wia_free(fresh), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_CLEAN();
  info = core_memory(on);
  CHECK(info.deferred_count == 0 && info.live_count == 0);
}

typedef struct reader_t {
  wia_tensor_t tensor;
  float values[4];
  wia_status_t status;
} reader_t;

static void *read_in_thread(void *argument) {
  reader_t *reader = argument;
  reader->status = wia_read_tensor(reader->tensor, reader->values, sizeof reader->values, NULL);
  return NULL;
}

/* A host read waits for the work on its memory; the tensor goes while it waits. */
static void test_destroy_while_waiting(void) {
  wia_context_t *context = core_context(device);
  wia_stream_t *stream = make_stream(context);
  reader_t reader = {.tensor = core_tensor(context, 4, 0)};
  wia_tensor_t a = core_tensor(context, 4, 5);
  pthread_t thread;
  core_close_gate();
  CHECK_STATUS(relu_on(context, a, reader.tensor, stream), WIA_STATUS_OK);
  CHECK(core_await_gate(1));
  CHECK(pthread_create(&thread, NULL, read_in_thread, &reader) == 0);
  usleep(20000); /* most likely it waits by now */
  core_destroy(reader.tensor);
  core_open_gate();
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(reader.status == WIA_STATUS_INVALID_HANDLE ||
        (reader.status == WIA_STATUS_OK && reader.values[3] == 8));
  core_destroy(a);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_CLEAN();
}

typedef struct caller_t {
  wia_context_t *context;
  wia_tensor_t from, to;
  wia_status_t status;
} caller_t;

static void *call_in_thread(void *argument) {
  caller_t *caller = argument;
  caller->status = wia_relu(caller->context, caller->from, caller->to, NULL);
  return NULL;
}

/* A call without a stream holds no reference: what it looked up stays until it is over. */
static void test_destroy_under_call(void) {
  wia_context_t *context = core_context(device);
  caller_t caller = {context, core_tensor(context, 4, 1), core_tensor(context, 4, 0), 0};
  void *memory = NULL;
  CHECK_STATUS(wia_malloc(&memory, 16, core_id(device)), WIA_STATUS_OK);
  wia_tensor_t from = caller.from, wrap = NULL;
  CHECK_STATUS(wia_wrap_tensor(context, memory, shape4, NULL, 1, WIA_FLOAT32, &wrap),
               WIA_STATUS_OK);
  for (uint32_t round = 0; round < 2; round++) { /* with memory of its own, and borrowed */
    pthread_t thread;
    core_close_gate();
    CHECK(pthread_create(&thread, NULL, call_in_thread, &caller) == 0);
    CHECK(core_await_gate(1));
    const uint32_t frees = core.frees;
    core_destroy(caller.to);
    if (round) CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
    wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
    for (uint32_t i = 0; i < 1000; i++)
      CHECK_STATUS(wia_get_tensor_info(caller.to, &info), WIA_STATUS_INVALID_HANDLE);
    CHECK(core.frees == frees);
    core_open_gate();
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_STATUS(caller.status, WIA_STATUS_OK);
    caller.to = wrap;
  }
  core_destroy(from);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_CLEAN();
}

/* Nobody has the stream any more, and its queue still runs to its end. */
static void test_destroy_stream_with_queue(void) {
  enum { COUNT = 50 };
  wia_context_t *context = core_context(device);
  wia_stream_t *stream = make_stream(context);
  wia_tensor_t a = core_tensor(context, 4, 1), sum = core_tensor(context, 4, 0);
  core_close_gate();
  CHECK_STATUS(relu_on(context, a, a, stream), WIA_STATUS_OK);
  CHECK(core_await_gate(1));
  for (uint32_t i = 0; i < COUNT; i++)
    CHECK_STATUS(wia_add(context, sum, a, sum, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, sum, a, sum, stream), WIA_STATUS_INVALID_HANDLE);
  core_open_gate();
  CHECK(core_has(sum, COUNT, COUNT + 1)); /* element i: i + COUNT (1 + i) */
  core_destroy(a);
  core_destroy(sum);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_CLEAN();
}

int main(void) {
  core_start();
  const uint32_t kinds[] = {CORE_PLAIN, CORE_QUEUED, CORE_SPARSE};
  for (uint32_t i = 0; i < 3; i++) {
    device = kinds[i];
    test_context_first();
    test_base_before_view();
    test_tensors_before_plan();
    test_destroy_in_flight(device);
    test_free_in_flight(device);
    test_destroy_while_waiting();
    test_destroy_under_call();
    test_destroy_stream_with_queue();
  }
  test_destroy_in_flight(CORE_OPAQUE);
  test_free_in_flight(CORE_OPAQUE);
  test_free_in_flight(CORE_SPLIT);
  return CHECK_DONE();
}
