/* Scenario 23, of C programs: a process ends with exit code 0, whatever is live, queued or running. */
#include <signal.h>

#include "core_driver.h"

static uint32_t device = CORE_PLAIN;
static wia_context_t *context;
static wia_tensor_t a, b;

/* What the library says where the exit has waited for something in vain. */
static bool is_stuck, stuck_told;
static void on_line(void *unused, int32_t level, const char *subsystem, const char *driver,
                    const char *message) {
  (void)unused, (void)level, (void)driver;
  if (strcmp(subsystem, "stream") != 0 || !strstr(message, "still runs")) return;
  if (!is_stuck) _exit(5);
  stuck_told = true;
}

static wia_stream_t *start(void) {
  wia_stream_t *stream = NULL;
  core_start();
  CHECK_STATUS(wia_set_log_callback(on_line, NULL), WIA_STATUS_OK);
  context = core_context(device);
  a = core_tensor(context, 4, 1);
  b = core_tensor(context, 4, 0);
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  return stream;
}

static void leave_all(void) {
  wia_stream_t *stream = start();
  wia_event_t *event = NULL;
  wia_plan_t *plan = NULL;
  void *memory = NULL;
  const wia_tensor_t operands[] = {a, a, b};
  CHECK_STATUS(wia_create_event(&event, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_malloc(&memory, 100, core_id(CORE_OPAQUE)), WIA_STATUS_OK);
  CHECK_STATUS(
      wia_create_operation_plan(context, WIA_OP_ADD, operands, 2, operands + 2, 1, NULL, 0, &plan),
      WIA_STATUS_OK);
  CHECK_STATUS(wia_execute_plan(plan, operands, 3, NULL, 0, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(event, stream), WIA_STATUS_OK);
}

static void leave_waiting(void) {
  wia_stream_t *stream = start();
  wia_event_t *never = NULL;
  CHECK_STATUS(wia_create_event(&never, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_wait(stream, never), WIA_STATUS_OK);
  for (uint32_t i = 0; i < 100; i++) CHECK_STATUS(wia_add(context, a, a, b, stream), WIA_STATUS_OK);
}

static void leave_failed(void) {
  wia_stream_t *stream = start();
  core.fail_status = WIA_STATUS_DATA_LOSS;
  CHECK_STATUS(wia_softmax(context, a, b, NULL, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_DATA_LOSS);
}

static void check_finished(void) {
  /* runs after the library has stopped its streams: what ran has come to its end */
  if (core.running) _exit(3);
}

/* What is running is waited for; what is queued is dropped. */
static void leave_running(void) {
  atexit(check_finished); /* before the library's, so it is called after that */
  wia_stream_t *stream = start();
  core.launch_delay_us = 300000;
  CHECK_STATUS(wia_add(context, a, a, b, stream), WIA_STATUS_OK);
  while (!core.running) usleep(1000);
  for (uint32_t i = 0; i < 100; i++) CHECK_STATUS(wia_add(context, a, a, b, stream), WIA_STATUS_OK);
}

static wia_stream_t *late_stream;
static void use_late(void) {
  wia_stream_t *another = NULL;
  bool fine = wia_create_stream(&another, context) == WIA_STATUS_UNAVAILABLE && !another;
  fine &= wia_add(context, a, a, b, late_stream) == WIA_STATUS_UNAVAILABLE;
  fine &= wia_synchronize_stream(late_stream, 0) == WIA_STATUS_OK;
  fine &= wia_add(context, a, a, b, NULL) == WIA_STATUS_OK; /* on this thread it still works */
  fine &= wia_destroy_stream(late_stream) == WIA_STATUS_OK;
  fine &= wia_destroy_tensor(b) == WIA_STATUS_OK;
  if (!fine) _exit(4);
}

static void use_after_stop(void) {
  atexit(use_late);
  late_stream = start();
}

/* A thread is inside a call that never ends. */
static void *wait_for_ever(void *event) {
  wia_wait_event(event, WIA_TIMEOUT_INFINITE);
  return NULL;
}

static void leave_thread_waiting(void) {
  start();
  wia_event_t *never = NULL;
  pthread_t thread;
  CHECK_STATUS(wia_create_event(&never, context), WIA_STATUS_OK);
  CHECK(pthread_create(&thread, NULL, wait_for_ever, never) == 0);
  CHECK(pthread_detach(thread) == 0);
  usleep(20000);
}

/* A kernel that never comes back doesn't hold the process for ever. The exit waits for it, beside all
 * other tests: begun first, looked at last. */
static void check_told(void) {
  if (!stuck_told) _exit(6);
}

static pid_t begin_stuck(void) {
  fflush(NULL);
  check_counts();
  const pid_t child = fork();
  if (child) return child;
  alarm(120);
  is_stuck = true;
  atexit(check_told); /* before the library's, so it is called after that */
  wia_stream_t *stream = start();
  core_close_gate();
  CHECK_STATUS(wia_relu(context, a, b, stream), WIA_STATUS_OK);
  CHECK(core_await_gate(1));
  fflush(NULL);
  exit(0);
}

static void end_stuck(pid_t child) {
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

/* -- every other way out, with work that runs and work that is queued ------------------------------- */

static void start_busy(void) {
  wia_stream_t *stream = start();
  core.launch_delay_us = 50000;
  CHECK_STATUS(wia_add(context, a, a, b, stream), WIA_STATUS_OK);
  while (!core.running) usleep(1000);
  for (uint32_t i = 0; i < 20; i++) CHECK_STATUS(wia_add(context, a, a, b, stream), WIA_STATUS_OK);
}

static void leave_quick(void) {
  start_busy();
  quick_exit(0);
}

static void leave_at_once(void) {
  start_busy();
  _exit(0);
}

static void *end_process(void *unused) {
  (void)unused;
  exit(0);
}

static void leave_from_thread(void) {
  start_busy();
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, end_process, NULL) == 0);
  pause();
}

static wia_status_t end_in_function(void *unused, wia_status_t status, wia_error_t *error) {
  (void)unused, (void)status, (void)error;
  exit(0);
}

static void leave_from_function(void) {
  wia_stream_t *stream = start();
  CHECK_STATUS(wia_enqueue_host_function(stream, end_in_function, NULL), WIA_STATUS_OK);
  for (uint32_t i = 0; i < 20; i++)
    (void)wia_add(context, a, a, b, stream); /* OK, or UNAVAILABLE by then */
  pause();
}

static void end_on_event(void *unused, wia_status_t status) {
  (void)unused, (void)status;
  exit(0);
}

static void leave_from_event(void) {
  wia_stream_t *stream = start();
  wia_event_t *event = NULL;
  CHECK_STATUS(wia_create_event(&event, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_call_on_event(event, end_on_event, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(event, stream), WIA_STATUS_OK);
  pause();
}

/* By a signal, which nobody handles: at once, whatever is live. */
static void check_signal(int number) {
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    start_busy();
    raise(number);
    _exit(0);
  }
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == number);
}

int main(void) {
  const pid_t stuck = begin_stuck();
  for (uint32_t i = 0; i < 2; i++) { /* streams of the library's, and of the driver's */
    RUN_ALONE(leave_all);
    RUN_ALONE(leave_waiting);
    RUN_ALONE(leave_failed);
    RUN_ALONE(leave_running);
    RUN_ALONE(use_after_stop);
    RUN_ALONE(leave_thread_waiting);
    RUN_ALONE(leave_quick);
    RUN_ALONE(leave_at_once);
    RUN_ALONE(leave_from_thread);
    RUN_ALONE(leave_from_function); /* neither waits for itself */
    RUN_ALONE(leave_from_event);
    check_signal(SIGTERM);
    check_signal(SIGABRT);
    device = CORE_QUEUED;
  }
  end_stuck(stuck);
  return CHECK_DONE();
}
