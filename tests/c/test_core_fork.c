/* Processes that are forked off: what they inherit is refused, and they start anew. Beside each check:
 * the guard without which it fails. */
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core_driver.h"

/* The thread sanitizer of gcc 12 takes no threads in a child, and the address sanitizer's allocator
 * doesn't wait for its own locks at a fork. */
#ifdef __SANITIZE_THREAD__
enum { CHILD_HAS_THREADS = 0, FORKS_AMONG_THREADS = 0 };
#elif defined __SANITIZE_ADDRESS__
enum { CHILD_HAS_THREADS = 1, FORKS_AMONG_THREADS = 0 };
#else
enum { CHILD_HAS_THREADS = 1, FORKS_AMONG_THREADS = 1 };
#endif

static wia_context_t *context;
static wia_stream_t *stream;
static wia_event_t *event;
static wia_tensor_t a, out;
static void *memory;
static pid_t process; /* that opened the device */

/* Runs the body in a child; whether all of its checks passed. */
static bool passes_in_child(void (*body)(void)) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const uint32_t before = check_counts()->failed;
    alarm(60);
    body();
    fflush(stdout);
    _exit(check_counts()->failed == before ? 0 : 1);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool is_forked(wia_status_t status) {
  wia_error_info_t error = WIA_ERROR_INFO_INIT;
  wia_get_last_error(&error);
  return status == WIA_STATUS_FORKED && strstr(error.message, "forked");
}

static void use_old_handles(void) {
  wia_tensor_t tensor = NULL;
  wia_stream_t *other = NULL;
  uint32_t done;
  float value;
  const int64_t shape[] = {4};
  /* object.c, forget_handles and was_forked */
  CHECK(is_forked(wia_add(context, a, a, out, NULL)));
  CHECK(is_forked(wia_add(context, a, a, out, stream)));
  CHECK(is_forked(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &tensor)));
  CHECK(is_forked(wia_create_stream(&other, context)));
  CHECK(is_forked(wia_read_tensor(a, &value, sizeof value, NULL)));
  CHECK(is_forked(wia_synchronize_stream(stream, 0)));
  CHECK(is_forked(wia_query_stream(stream, &done)));
  CHECK(is_forked(wia_wait_event(event, 0)));
  /* address.c, wia__was_forked */
  CHECK(is_forked(wia_free(memory)));
  CHECK(is_forked(wia_destroy_tensor(a)));
  CHECK(is_forked(wia_destroy_stream(stream)));
  CHECK(is_forked(wia_destroy_event(event)));
  CHECK(is_forked(wia_destroy_context(context)));
  CHECK(is_forked(wia_destroy_context(context))); /* each time */
}

static void start_stream_anew(wia_context_t *fresh) {
  wia_stream_t *queue = NULL;
  wia_tensor_t b = core_tensor(fresh, 4, 1);
  CHECK_STATUS(wia_create_stream(&queue, fresh), WIA_STATUS_OK);
  CHECK_STATUS(wia_mul(fresh, b, b, b, queue), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(queue, INT64_C(30000000000)), WIA_STATUS_OK);
  float values[4] = {0};
  CHECK_STATUS(wia_read_tensor(b, values, sizeof values, NULL), WIA_STATUS_OK);
  CHECK(values[0] == 1 && values[3] == 16);
  core_destroy(b);
  CHECK_STATUS(wia_destroy_stream(queue), WIA_STATUS_OK);
}

static void start_anew(void) {
  const uint32_t opens = core.opens;
  wia_context_t *fresh = core_context(CORE_PLAIN);
  CHECK(core.opens == opens + (process != getpid())); /* slots.c, wia__fork_slots */
  process = getpid();
  wia_tensor_t b = core_tensor(fresh, 4, 1), c = core_tensor(fresh, 4, 0);
  CHECK_STATUS(wia_add(fresh, b, b, c, NULL), WIA_STATUS_OK);
  CHECK(core_has(c, 2, 2));
  if (CHILD_HAS_THREADS) start_stream_anew(fresh);
  core_destroy(b);
  core_destroy(c);
  CHECK_STATUS(wia_destroy_context(fresh), WIA_STATUS_OK);
}

static void use_and_start_anew(void) {
  use_old_handles();
  start_anew();
  use_old_handles(); /* a handle that is made anew has another generation */
}

static void fork_again(void) { CHECK(passes_in_child(use_and_start_anew)); }

static void make_all(void) {
  core_start();
  context = core_context(CORE_PLAIN);
  process = getpid();
  a = core_tensor(context, 4, 1);
  out = core_tensor(context, 4, 0);
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_event(&event, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_malloc(&memory, 64, core_id(CORE_PLAIN)), WIA_STATUS_OK);
}

static void destroy_all(void) {
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
  core_destroy(a);
  core_destroy(out);
  CHECK_STATUS(wia_destroy_event(event), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

static void test_with_work_in_flight(void) {
  make_all();
  core_close_gate();
  CHECK_STATUS(wia_relu(context, a, out, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(event, stream), WIA_STATUS_OK);
  CHECK(core_await_gate(1));
  CHECK(passes_in_child(use_and_start_anew));
  CHECK(passes_in_child(fork_again));
  core_open_gate();
  CHECK_STATUS(wia_wait_event(event, INT64_C(30000000000)), WIA_STATUS_OK);
  CHECK(core_has(out, 1, 1)); /* the parent's is unharmed */
  destroy_all();
  CHECK_CLEAN();
}

/* A fork waits for whoever changes a list, and the child has each of them whole: fork.c, before. */
static _Atomic bool stop;

static void *keep_busy(void *argument) {
  (void)argument;
  while (!stop) {
    wia_stream_t *own = NULL;
    wia_context_t *another = core_context(CORE_PLAIN);
    wia_tensor_t tensor = core_tensor(context, 4, 1);
    CHECK_STATUS(wia_create_stream(&own, context), WIA_STATUS_OK);
    CHECK_STATUS(wia_add(context, tensor, tensor, tensor, own), WIA_STATUS_OK);
    core_destroy(tensor);
    CHECK_STATUS(wia_destroy_stream(own), WIA_STATUS_OK);
    CHECK_STATUS(wia_destroy_context(another), WIA_STATUS_OK);
  }
  return NULL;
}

static void test_among_threads(void) {
  make_all();
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, keep_busy, NULL) == 0);
  uint32_t passed = 0;
  for (int i = 0; i < 50; i++) passed += passes_in_child(start_anew);
  stop = true;
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  CHECK(passed == 50);
  destroy_all();
  CHECK_CLEAN();
}

/* log.c, wia__fork_log: the child writes lines, whoever was in the function at the fork. */
static void ignore(void *given, int32_t level, const char *subsystem, const char *driver,
                   const char *message) {
  (void)given, (void)level, (void)subsystem, (void)driver, (void)message;
  sched_yield();
}

static void *write_lines(void *argument) {
  (void)argument;
  while (!stop) wia_get_host()->log(NULL, WIA_LOG_ERROR, "a word");
  return NULL;
}

static void write_line(void) {
  CHECK_STATUS(wia_set_log_callback(ignore, NULL), WIA_STATUS_OK);
  wia_get_host()->log(NULL, WIA_LOG_ERROR, "a word");
}

static void test_log(void) {
  pthread_t thread;
  CHECK_STATUS(wia_set_log_callback(ignore, NULL), WIA_STATUS_OK);
  CHECK(pthread_create(&thread, NULL, write_lines, NULL) == 0);
  uint32_t passed = 0;
  for (int i = 0; i < 20; i++) passed += passes_in_child(write_line);
  stop = true;
  pthread_join(thread, NULL);
  CHECK(passed == 20);
}

/* memory_pool.c, wia__fork_pools: what the parent's pools keep is not the child's, nor are their locks. */
static void *kept;

static void import_kept(void) {
  CHECK_STATUS(wia_import_memory(kept, 64, core_id(CORE_PLAIN), NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(kept), WIA_STATUS_OK);
}

static void test_pools(void) {
  setenv("WIA_MEMORY_POOL", "on", 1);
  make_all();
  CHECK_STATUS(wia_malloc_async(context, 1000, NULL, NULL, &kept), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(kept), WIA_STATUS_OK);
  CHECK_STATUS(wia_import_memory(kept, 64, core_id(CORE_PLAIN), NULL), WIA_STATUS_ALREADY_EXISTS);
  CHECK(passes_in_child(import_kept));
  destroy_all();
  CHECK_CLEAN();
}

/* object.c, forget_threads: a thread of the child takes the record of one that is gone, and destroys what
 * it gives up, although that one was in an allocator, where nothing is destroyed. */
static _Atomic bool asked, answered;

static void *give_none(void *given, const wia_memory_request_t *request) {
  (void)given, (void)request;
  asked = true;
  while (!answered) sched_yield();
  return NULL;
}

static void take_back(void *given, void *given_memory, const wia_memory_request_t *request) {
  (void)given, (void)given_memory, (void)request;
}

static void *ask(void *argument) {
  void *none = NULL;
  CHECK_STATUS(wia_malloc_async(argument, 64, NULL, NULL, &none), WIA_STATUS_RESOURCE_EXHAUSTED);
  return NULL;
}

static void *give_up(void *argument) {
  (void)argument;
  wia_context_t *fresh = core_context(CORE_PLAIN);
  const uint32_t frees = core.frees;
  core_destroy(core_tensor(fresh, 4, 1));
  CHECK_STATUS(wia_destroy_context(fresh), WIA_STATUS_OK);
  CHECK(core.frees == frees + 1);
  return NULL;
}

static void give_up_on_a_thread(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, give_up, NULL) == 0);
  pthread_join(thread, NULL);
}

static void test_inside_an_allocator(void) {
  make_all();
  wia_allocator_t allocator = WIA_ALLOCATOR_INIT;
  allocator.allocate = give_none;
  allocator.free = take_back;
  CHECK_STATUS(wia_set_allocator(context, &allocator), WIA_STATUS_OK);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, ask, context) == 0);
  while (!asked) sched_yield();
  CHECK(passes_in_child(give_up_on_a_thread));
  answered = true;
  pthread_join(thread, NULL);
  destroy_all();
  CHECK_CLEAN();
}

int main(void) {
  RUN_ALONE(test_with_work_in_flight);
  if (FORKS_AMONG_THREADS) RUN_ALONE(test_among_threads);
  RUN_ALONE(test_log);
  RUN_ALONE(test_pools);
  if (CHILD_HAS_THREADS) RUN_ALONE(test_inside_an_allocator);
  return CHECK_DONE();
}
