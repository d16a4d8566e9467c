/* The layer validate: cyclic waits (scenario 19), overlaps, findings as errors and as calls, leaks, and the
 * layer's own beginning and end. Beside each check: the guard without which it fails. */
#include "findings.h"

enum { COUNT = 4, MS = 1000000 };

static uint32_t device;
static wia_context_t *context;
static _Atomic uint32_t lines;

static wia_stream_t *make_stream(void) {
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  return stream;
}

static wia_event_t *make_event(void) {
  wia_event_t *event = NULL;
  CHECK_STATUS(wia_create_event(&event, context), WIA_STATUS_OK);
  return event;
}

static void configure(int32_t mode, wia_finding_fn_t function, void *with) {
  wia_validation_config_t config = WIA_VALIDATION_CONFIG_INIT;
  config.mode = mode;
  config.function = function;
  config.context = with;
  CHECK_STATUS(wia_configure_validation(&config), WIA_STATUS_OK);
}

/* -- cyclic waits -------------------------------------------------------------------------------- */

enum { MOST = 4 };
static wia_stream_t *streams[MOST];
static wia_event_t *events[MOST];

/* Each stream waits for the event that the next one is to record. */
static void start_cycle(uint32_t count) {
  for (uint32_t i = 0; i < count; i++) streams[i] = make_stream();
  for (uint32_t i = 0; i < count; i++) events[i] = make_event();
  for (uint32_t i = 0; i < count; i++)
    CHECK_STATUS(wia_enqueue_wait(streams[i], events[(i + 1) % count]), WIA_STATUS_OK);
  for (uint32_t i = 0; i + 1 < count; i++)
    CHECK_STATUS(wia_record_event(events[i], streams[i]), WIA_STATUS_OK);
  CHECK_NONE();
}

static void end_cycle(uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    CHECK_STATUS(wia_reset_stream(streams[i]), WIA_STATUS_OK);
    CHECK_STATUS(wia_destroy_stream(streams[i]), WIA_STATUS_OK);
    CHECK_STATUS(wia_destroy_event(events[i]), WIA_STATUS_OK);
  }
}

/* Found by the call that closes the cycle; nothing waits for it. */
static void test_cycles(void) {
  for (uint32_t count = 1; count <= MOST; count++) {
    start_cycle(count);
    CHECK_STATUS(wia_record_event(events[count - 1], streams[count - 1]), WIA_STATUS_OK);
    const seen_t seen = see(wia_get_validation_report);
    CHECK(seen.count == 1); /* hazard.c, check_cycle */
    const wia_finding_t finding = finding_at(&seen, 0);
    CHECK(finding.kind == WIA_FINDING_CYCLIC_WAIT);
    CHECK(strcmp(finding.function, "wia_record_event") == 0);
    CHECK(strcmp(finding.function_2, "wia_enqueue_wait") == 0);
    uint32_t named = 0;
    for (const char *at = finding.message; (at = strstr(at, "waits for an event of")); at++)
      named++;
    CHECK(named == count);
    drop(&seen);
    CHECK(count_findings() == 1);
    CHECK_STATUS(wia_synchronize_stream(streams[0], 10 * MS), WIA_STATUS_DEADLINE_EXCEEDED);
    end_cycle(count);
  }
}

/* As an error, the record fails, and so do the waits: nobody hangs. */
static void test_refused_cycle(void) {
  configure(WIA_VALIDATION_ERROR, NULL, NULL);
  start_cycle(2);
  CHECK_STATUS(wia_record_event(events[1], streams[1]), WIA_STATUS_FAILED_PRECONDITION);
  CHECK_MESSAGE("cyclic wait: stream");
  CHECK_STATUS(wia_synchronize_stream(streams[0], 20000 * INT64_C(1000000)),
               WIA_STATUS_FAILED_PRECONDITION);
  CHECK_MESSAGE("cyclic wait: stream");
  end_cycle(2);
  configure(WIA_VALIDATION_REPORT, NULL, NULL);
  CHECK(count_findings() == 1);
}

/* A chain that ends somewhere. */
static void test_no_cycle(void) {
  start_cycle(3);
  CHECK_STATUS(wia_signal_event(events[2], WIA_STATUS_OK, NULL), WIA_STATUS_OK);
  for (int i = 0; i < 3; i++) finish(streams[i]);
  CHECK_NONE();
  end_cycle(3);
}

/* -- findings as errors and calls ---------------------------------------------------------------- */

static void note(void *context_, const wia_finding_t *finding) {
  CHECK(finding->struct_size == sizeof *finding && finding->kind == WIA_FINDING_RACE);
  CHECK_STATUS(wia_configure_validation(NULL), WIA_STATUS_FAILED_PRECONDITION);
  atomic_fetch_add((_Atomic uint32_t *)context_, 1);
}

static void test_modes(void) {
  wia_stream_t *one = make_stream(), *two = make_stream();
  wia_tensor_t a = core_tensor(context, COUNT, 0), b = core_tensor(context, COUNT, 0);
  _Atomic uint32_t noted = 0;
  wia_validation_config_t wrong = WIA_VALIDATION_CONFIG_INIT;
  wrong.mode = 3;
  CHECK_STATUS(wia_configure_validation(&wrong), WIA_STATUS_INVALID_ARGUMENT);
  configure(WIA_VALIDATION_ERROR, note, (void *)&noted);
  core.launches = 0;
  CHECK_STATUS(wia_add(context, a, a, b, one), WIA_STATUS_OK);
  for (int i = 0; i < 2; i++) {
    CHECK_STATUS(wia_add(context, a, a, b, two), WIA_STATUS_FAILED_PRECONDITION);
    CHECK_MESSAGE("race, write after write: add on stream");
    CHECK_MESSAGE("the other: ");
  }
  CHECK(noted == 1); /* it is told once */
  finish(one);
  finish(two);
  CHECK(core.launches == 1); /* queue.c, append: refused work is not enqueued */
  CHECK_STATUS(wia_add(context, a, a, b, two), WIA_STATUS_OK);
  finish(two);
  configure(WIA_VALIDATION_REPORT, NULL, NULL);
  CHECK(count_findings() == 1);
  core_destroy(a);
  core_destroy(b);
  CHECK_STATUS(wia_destroy_stream(one), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(two), WIA_STATUS_OK);
}

/* A driver is told of one input that is the output. */
static void test_twins(void) {
  const int64_t shape[] = {2, 2};
  wia_stream_t *stream = make_stream();
  wia_tensor_t a = core_empty(context, 2, shape), b = core_empty(context, 2, shape);
  const float zeros[4] = {0};
  CHECK_STATUS(wia_write_tensor(a, zeros, sizeof zeros, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_write_tensor(b, zeros, sizeof zeros, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_matmul(context, a, b, a, NULL, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, a, a, a, NULL), WIA_STATUS_OK); /* hazard.c, needs_others */
  CHECK_NONE();
  CHECK_STATUS(wia_matmul(context, a, a, a, NULL, NULL), WIA_STATUS_OK);
  CHECK(is_found(WIA_FINDING_OVERLAP, 0, "is the same tensor as 2 inputs"));
  CHECK_STATUS(wia_matmul(context, a, a, a, NULL, stream), WIA_STATUS_OK);
  CHECK(is_found(WIA_FINDING_OVERLAP, 0, "is the same tensor as 2 inputs"));
  configure(WIA_VALIDATION_ERROR, NULL, NULL);
  CHECK_STATUS(wia_matmul(context, a, a, a, NULL, NULL), WIA_STATUS_FAILED_PRECONDITION);
  CHECK_MESSAGE("give another output");
  configure(WIA_VALIDATION_REPORT, NULL, NULL);
  CHECK(count_findings() == 1);
  finish(stream);
  core_destroy(a);
  core_destroy(b);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

/* -- leaks --------------------------------------------------------------------------------------- */

/* The finding of what is live of an object; count 0: none. */
static wia_finding_t leak_of(const seen_t *seen, const char *object, const char *function) {
  wia_finding_t found = WIA_FINDING_INIT;
  for (uint64_t i = 0; i < seen->count; i++) {
    const wia_finding_t finding = finding_at(seen, i);
    CHECK(finding.kind == WIA_FINDING_LEAK);
    if (strcmp(finding.object, object) == 0 && strcmp(finding.function, function) == 0)
      found = finding;
  }
  return found;
}

static void test_leaks(void) {
  void *memory[3] = {NULL};
  const int64_t shape[] = {COUNT};
  wia_tensor_t tensors[2] = {NULL};
  wia_plan_t *plan = NULL;
  for (int i = 0; i < 3; i++)
    CHECK_STATUS(wia_malloc(&memory[i], 100, core_id(device)), WIA_STATUS_OK);
  for (int i = 0; i < 2; i++)
    CHECK_STATUS(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &tensors[i]), WIA_STATUS_OK);
  const wia_tensor_t operands[] = {tensors[0], tensors[0], tensors[1]};
  CHECK_STATUS(
      wia_create_operation_plan(context, WIA_OP_ADD, operands, 2, operands + 2, 1, NULL, 0, &plan),
      WIA_STATUS_OK);
  wia_stream_t *stream = make_stream();
  wia_event_t *event = make_event();
  seen_t seen = see(wia_get_leak_report);
  wia_finding_t leak = leak_of(&seen, "memory", "wia_malloc");
  CHECK(leak.count == 3 && leak.size == 300 && leak.device_id == core_id(device));
  CHECK_TEXT(leak.site, "test_core_validate_ends");
  CHECK_TEXT(leak.message, "(3 live, 300 bytes)");
  leak = leak_of(&seen, "tensor", "wia_allocate_tensor"); /* its memory isn't told twice */
  CHECK(leak.count == 2 && leak.size == 2 * sizeof(float) * COUNT);
  CHECK(leak_of(&seen, "plan", "wia_create_operation_plan").count == 1);
  CHECK(leak_of(&seen, "stream", "wia_create_stream").count == 1);
  CHECK(leak_of(&seen, "event", "wia_create_event").count == 1);
  CHECK(leak_of(&seen, "context", "wia_create_context").count == 1);
  const uint64_t count = seen.count;
  drop(&seen);
  for (int i = 0; i < 3; i++) CHECK_STATUS(wia_free(memory[i]), WIA_STATUS_OK);
  core_destroy(tensors[0]);
  core_destroy(tensors[1]);
  CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
  seen = see(wia_get_leak_report);
  CHECK(seen.count == count - 5); /* leak.c */
  drop(&seen);
  CHECK_NONE(); /* leaks are in no other report */
}

/* At the end of the program, in the log. */
static void test_leaks_at_exit(void) {
  int pipes[2];
  char text[4096] = "";
  CHECK(pipe(pipes) == 0);
  const pid_t child = fork();
  if (child == 0) {
    wia_set_log_callback(NULL, NULL);
    dup2(pipes[1], STDERR_FILENO);
    close(pipes[0]);
    close(pipes[1]);
    context = core_context(device);
    make_event();
    exit(0);
  }
  close(pipes[1]);
  size_t used = 0;
  for (ssize_t size; (size = read(pipes[0], text + used, sizeof text - 1 - used)) > 0;)
    used += (size_t)size;
  close(pipes[0]);
  waitpid(child, NULL, 0);
  CHECK_TEXT(text, "wia: warning: validate: leak: event (1 live)");
  CHECK_TEXT(text, "wia: warning: validate: leak: context on ");
}

/* -- the layer ----------------------------------------------------------------------------------- */

/* What was before the layer is not known, and what was found stays. */
static void test_switching(void) {
  wia_stream_t *one = make_stream(), *two = make_stream();
  wia_event_t *event = make_event();
  wia_tensor_t a = core_tensor(context, COUNT, 0), b = core_tensor(context, COUNT, 0);
  wia_validation_report_t *report = NULL;
  CHECK_STATUS(wia_add(context, a, a, b, one), WIA_STATUS_OK);
  CHECK_STATUS(wia_disable_layer("validate"), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, a, a, b, two), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(event, two), WIA_STATUS_OK);
  CHECK_STATUS(wia_enable_layer("validate"), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, a, a, b, two), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_wait(one, event),
               WIA_STATUS_OK); /* recorded before: no cycle, no hold */
  CHECK_STATUS(wia_mul(context, b, b, a, one), WIA_STATUS_OK);
  CHECK(count_findings() == 2); /* of b, and of a: with the call that the layer saw */
  CHECK_STATUS(wia_disable_layer("validate"), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_validation_report(&report), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_validation_report(NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_get_leak_report(NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_destroy_validation_report(report), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_validation_report(report), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_enable_layer("validate"), WIA_STATUS_OK);
  finish(one);
  finish(two);
  core_destroy(a);
  core_destroy(b);
  CHECK_STATUS(wia_destroy_stream(one), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(two), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
}

int main(void) {
  static const uint32_t devices[] = {CORE_PLAIN, CORE_QUEUED, CORE_SPARSE};
  while (wia_disable_layer("validate") == WIA_STATUS_OK) { /* of WIA_LAYERS: switched off below */
  }
  core_start();
  core.only_touch = true;
  core.kernel_flags = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE;
  CHECK_STATUS(wia_set_log_callback(swallow, &lines), WIA_STATUS_OK);
  configure(WIA_VALIDATION_REPORT, NULL, NULL);
  CHECK_STATUS(wia_enable_layer("validate"), WIA_STATUS_OK);
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    device = devices[i];
    context = core_context(device);
    test_cycles();
    test_refused_cycle();
    test_no_cycle();
    test_modes();
    test_twins();
    test_leaks();
    test_switching();
    CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  }
  context = core_context(CORE_PLAIN);
  device = CORE_PLAIN;
  test_leaks_at_exit();
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_STATUS(wia_disable_layer("validate"), WIA_STATUS_OK);
  core_evict();
  CHECK_CLEAN();
  return CHECK_DONE();
}
