/* Shutting the library down and beginning anew: with all live, from where it can't be, again and again,
 * and by many threads. */
#include <dirent.h>
#include <malloc.h>

#include "core_driver.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { ROUNDS = 20, THREADS = 8, TURNS = 60 };
#else
enum { ROUNDS = 400, THREADS = 20, TURNS = 1000 };
#endif

enum { SMALLEST_BLOCK = 32 }; /* of malloc(), with what it keeps of it */
enum { WAIT_MS = 5000 };

static const int64_t forever = WIA_TIMEOUT_INFINITE;
static _Atomic uint32_t released;
static _Alignas(64) float host[16];

static void release(void *memory) {
  (void)memory;
  released++;
}

/* -- all at once --------------------------------------------------------------------------------- */

typedef struct all_t {
  wia_context_t *context;
  wia_stream_t *stream;
  wia_event_t *event;
  wia_tensor_t a, view, imported;
  wia_plan_t *plan;
  wia_profiling_session_t *session;
  void *memory;
} all_t;

static all_t make_all(uint32_t device) {
  all_t all = {.context = core_context(device)};
  const int64_t shape[] = {4};
  all.a = core_tensor(all.context, 4, 1);
  CHECK_STATUS(wia_view_tensor(all.a, 0, shape, NULL, 1, &all.view), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_stream(&all.stream, all.context), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_event(&all.event, all.context), WIA_STATUS_OK);
  CHECK_STATUS(wia_malloc(&all.memory, 100, core_id(device)), WIA_STATUS_OK);
  wia_import_config_t config = WIA_IMPORT_CONFIG_INIT;
  config.release = release;
  CHECK_STATUS(wia_import_memory(host, 16, core_id(device), &config), WIA_STATUS_OK);
  CHECK_STATUS(
      wia_import_tensor(all.context, host + 8, shape, NULL, 1, WIA_FLOAT32, &config, &all.imported),
      WIA_STATUS_OK);
  const wia_tensor_t operands[] = {all.a, all.a, all.view};
  CHECK_STATUS(wia_create_operation_plan(all.context, WIA_OP_ADD, operands, 2, operands + 2, 1,
                                         NULL, 0, &all.plan),
               WIA_STATUS_OK);
  core.workspace_size = 64;
  CHECK_STATUS(wia_div(all.context, all.a, all.a, all.view, NULL), WIA_STATUS_OK);
  core.workspace_size = 0;
  CHECK_STATUS(wia_start_profiling(all.context, NULL, &all.session), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(all.context, all.a, all.a, all.view, all.stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_wait(all.stream, all.event), WIA_STATUS_OK);
  for (uint32_t i = 0; i < 10; i++)
    CHECK_STATUS(wia_add(all.context, all.a, all.a, all.view, all.stream), WIA_STATUS_OK);
  return all;
}

static void *wait_event(void *event) {
  return (void *)(intptr_t)wia_wait_event(event, WIA_TIMEOUT_INFINITE);
}
static void *wait_stream(void *stream) {
  return (void *)(intptr_t)wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE);
}

static bool test_all(uint32_t device, uint32_t pause_us) {
  all_t all = make_all(device);
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, wait_event, all.event);
  pthread_create(&threads[1], NULL, wait_stream, all.stream);
  usleep(pause_us);
  released = 0;
  CHECK_STATUS(wia_shutdown(forever), WIA_STATUS_OK);
  bool waited = true;
  for (uint32_t i = 0; i < 2; i++) {
    void *result = NULL;
    pthread_join(threads[i], &result);
    const wia_status_t status = (wia_status_t)(intptr_t)result;
    CHECK(status == WIA_STATUS_CANCELLED || status == WIA_STATUS_INVALID_HANDLE);
    waited = waited && status == WIA_STATUS_CANCELLED;
  }
  CHECK(released == 2);
  CHECK(core.releases == core.kernels && core.allocations == core.frees);
  CHECK(core_memory(device).live_count == 0 && core_memory(device).deferred_count == 0);
  CHECK(core_cache(device).entry_count == 0);
  CHECK_STATUS(wia_destroy_context(all.context), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_destroy_tensor(all.view), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_destroy_stream(all.stream), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_destroy_event(all.event), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_destroy_plan(all.plan), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_destroy_profiling_session(all.session), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_free(all.memory), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_CLEAN();
  return waited;
}

/* -- from where it can't be ------------------------------------------------------------------------ */

static _Atomic uint32_t refusals;
static void refused(void) {
  refusals += CHECK_STATUS(wia_shutdown(0), WIA_STATUS_FAILED_PRECONDITION);
}
static wia_status_t on_stream(void *context, wia_status_t status, wia_error_t *error) {
  (void)context, (void)error;
  refused();
  return status;
}
static void on_event(void *context, wia_status_t status) {
  (void)context, (void)status;
  refused();
}
static void on_release(void *context) {
  (void)context;
  refused();
}
static void on_line(void *context, int32_t level, const char *subsystem, const char *driver,
                    const char *message) {
  (void)context, (void)level, (void)subsystem, (void)driver, (void)message;
  refused();
}
static wia_status_t on_prepare(void) {
  refused();
  return WIA_STATUS_OK;
}

static void test_inside(uint32_t device) {
  wia_context_t *context = core_context(device);
  wia_stream_t *stream = NULL;
  wia_event_t *signalled = NULL, *recorded = NULL;
  wia_tensor_t a = core_tensor(context, 5, 1);
  refusals = 0;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_event(&signalled, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_event(&recorded, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_enqueue_host_function(stream, on_stream, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_call_on_event(recorded, on_event, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_record_event(recorded, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(stream, forever), WIA_STATUS_OK);
  CHECK_STATUS(wia_call_on_event(signalled, on_event, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_signal_event(signalled, WIA_STATUS_OK, NULL), WIA_STATUS_OK);
  wia_import_config_t config = WIA_IMPORT_CONFIG_INIT;
  config.release = on_release;
  CHECK_STATUS(wia_import_memory(host, 16, core_id(device), &config), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(host), WIA_STATUS_OK);
  core.in_prepare = on_prepare;
  CHECK_STATUS(wia_sub(context, a, a, a, NULL), WIA_STATUS_OK);
  core.in_prepare = NULL;
  CHECK_STATUS(wia_set_log_callback(on_line, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_set_log_level("plan=debug"), WIA_STATUS_OK);
  CHECK_STATUS(wia_mul(context, a, a, a, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_set_log_level("warning"), WIA_STATUS_OK);
  CHECK_STATUS(wia_set_log_callback(NULL, NULL), WIA_STATUS_OK);
  CHECK(core_has(a, 0, 0)); /* a - a, and all is there still */
  CHECK_STATUS(wia_shutdown(-2), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_shutdown(forever), WIA_STATUS_OK);
  CHECK(refusals == 6);
}

/* -- work that doesn't end ------------------------------------------------------------------------- */

static void test_late(uint32_t device) {
  wia_context_t *context = core_context(device);
  wia_stream_t *stream = NULL;
  wia_tensor_t a = core_tensor(context, 4, 1);
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  core_close_gate();
  CHECK_STATUS(wia_relu(context, a, a, stream), WIA_STATUS_OK);
  CHECK(core_await_gate(1));
  CHECK_STATUS(wia_shutdown(20000000), WIA_STATUS_DEADLINE_EXCEEDED);
  CHECK_STATUS(wia_destroy_tensor(a), WIA_STATUS_INVALID_HANDLE);
  context = core_context(device); /* begins anew beside it */
  a = core_tensor(context, 4, 1);
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_add(context, a, a, a, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(stream, forever), WIA_STATUS_OK);
  CHECK_STATUS(wia_shutdown(20000000), WIA_STATUS_DEADLINE_EXCEEDED); /* it still runs */
  core_open_gate();
  CHECK_STATUS(wia_shutdown(forever), WIA_STATUS_OK);
  CHECK(core.releases == core.kernels && core.allocations == core.frees);
}

/* -- again and again ------------------------------------------------------------------------------- */

static uint64_t count_entries(const char *folder) {
  uint64_t count = 0;
  DIR *entries = opendir(folder);
  while (entries && readdir(entries)) count++;
  if (entries) closedir(entries);
  return count;
}

static uint64_t resident_pages(void) {
  unsigned long all = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%lu %lu", &all, &resident) != 2) abort();
  fclose(file);
  return resident;
}

/* A worker that was told of its end may need a moment to be gone. */
static uint64_t count_threads(uint64_t expected) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < WAIT_MS; i++) {
    count = count_entries("/proc/self/task");
    if (count <= expected) break;
    usleep(1000);
  }
  return count;
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
static bool is_traced(void) {
  uint32_t count = 0;
  bool traced = false;
  CHECK_STATUS(wia_get_layer_count(&count), WIA_STATUS_OK);
  for (uint32_t i = 0; i < count; i++) {
    wia_layer_info_t info = WIA_LAYER_INFO_INIT;
    CHECK_STATUS(wia_get_layer_info(i, &info), WIA_STATUS_OK);
    traced |= info.enabled && strcmp(info.name, "trace") == 0;
  }
  return traced;
}

/* Bytes of malloc() in use, once they are below a bound. */
static uint64_t used_bytes(uint64_t bound) {
  for (uint32_t i = 0; i < WAIT_MS && mallinfo2().uordblks >= bound; i++) usleep(1000);
  return mallinfo2().uordblks;
}
#endif

static void test_rounds(uint32_t device) {
  uint64_t files = 0, threads = 0, pages = 0, bytes = 0;
  for (uint32_t i = 0; i < ROUNDS; i++) {
    make_all(device);
    CHECK_STATUS(wia_shutdown(forever), WIA_STATUS_OK);
    if (i == ROUNDS / 2) {
      files = count_entries("/proc/self/fd");
      threads = count_threads(0);
      pages = resident_pages();
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
      bytes = mallinfo2().uordblks;
#endif
    }
  }
  CHECK(count_entries("/proc/self/fd") == files);
  CHECK(count_threads(threads) <= threads);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  /* Lists may have grown since; the smallest block, left by each round, would be more. */
  const uint64_t bound = bytes + (ROUNDS - ROUNDS / 2) * (uint64_t)SMALLEST_BLOCK;
  CHECK(used_bytes(bound) < bound);
  if (!is_traced()) /* whose ring fills up to its bound; mapped ones too */
    CHECK(resident_pages() < pages + (ROUNDS - ROUNDS / 2) / 4);
#else
  (void)pages;
  (void)bytes;
#endif
  CHECK_CLEAN();
}

/* -- many threads ---------------------------------------------------------------------------------- */

static int32_t id;
static _Atomic uint32_t wrong;

static void note(wia_status_t status) {
  const bool fine = status == WIA_STATUS_OK || status == WIA_STATUS_INVALID_HANDLE ||
                    status == WIA_STATUS_CANCELLED || status == WIA_STATUS_UNAVAILABLE ||
                    status == WIA_STATUS_INVALID_ARGUMENT;
  if (!fine && atomic_fetch_add(&wrong, 1) == 0) CHECK_STATUS(status, WIA_STATUS_OK);
}

static void *take_turns(void *unused) {
  (void)unused;
  const int64_t shape[] = {8};
  for (uint32_t i = 0; i < TURNS; i++) {
    wia_context_t *context = NULL;
    wia_stream_t *stream = NULL;
    wia_tensor_t a = NULL;
    void *memory = NULL;
    note(wia_create_context(&context, id));
    note(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &a));
    note(wia_malloc(&memory, 64, id));
    note(wia_add(context, a, a, a, NULL));
    if (i % 16 == 0) {
      note(wia_create_stream(&stream, context));
      note(wia_add(context, a, a, a, stream));
      note(wia_synchronize_stream(stream, forever));
      note(wia_destroy_stream(stream));
    }
    if (memory) note(wia_free(memory));
    note(wia_destroy_tensor(a));
    note(wia_shutdown(forever));
    note(wia_destroy_context(context));
  }
  return NULL;
}

static void test_threads(uint32_t device) {
  pthread_t threads[THREADS];
  id = core_id(device);
  wrong = 0;
  core.only_touch = true; /* a free address may be another thread's memory by then */
  for (uint32_t i = 0; i < THREADS; i++)
    CHECK(pthread_create(&threads[i], NULL, take_turns, NULL) == 0);
  for (uint32_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  CHECK(wrong == 0);
  CHECK_STATUS(wia_shutdown(forever), WIA_STATUS_OK);
  core.only_touch = false;
  CHECK_CLEAN();
}

/* Blocks that malloc() keeps for a thread count as in use: off, which takes a new start. */
static void keep_no_blocks(char **argv) {
  if (getenv("GLIBC_TUNABLES")) return;
  setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1);
  execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
  (void)argc;
  keep_no_blocks(argv);
  core_start();
  CHECK_STATUS(wia_shutdown(forever), WIA_STATUS_OK); /* of nothing */
  const uint32_t devices[] = {CORE_PLAIN, CORE_QUEUED};
  for (uint32_t i = 0; i < 2; i++) {
    core_retry(test_all, devices[i]);
    test_inside(devices[i]);
    test_late(devices[i]);
    test_rounds(devices[i]);
    test_threads(devices[i]);
  }
  return CHECK_DONE();
}
