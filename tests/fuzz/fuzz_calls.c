/* Random sequences of calls on several threads, over devices whose streams are the library's and over
 * devices with queues of their own: nothing crashes, every status is one of the map, no driver is given
 * anything against its contract, data are right where work is ordered, and in the end everything was
 * given back, once. Options: fuzz.h.
 *
 * A case is one of two: threads that share handles, whatever these are (wild.c), and threads that know
 * what their tensors hold (ordered.c). A case that finds something becomes a test of its own elsewhere. */
#include "calls.h"

enum { CALLS = 300, MEMORY_LIMIT = 1 << 20 };
#ifdef __SANITIZE_THREAD__
enum { CASES = 8 }; /* each takes several times as long */
#else
enum { CASES = 30 };
#endif

_Atomic uint32_t calls_promised, calls_kept;
const wia_tensor_layout_t *calls_layout;
static wia_tensor_t anchor; /* whose layout it is */
static bool wild;

void calls_wrong(calls_thread_t *t, const char *what, wia_status_t status) {
  if (t->wrong) return;
  t->wrong = true;
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  wia_get_last_error(&info);
  printf("thread %u, call %llu: wrong: %s\n  status %d %s; last error: %s: %s\n", t->index,
         (unsigned long long)t->call, what, status, wia_get_status_name(status), info.function,
         info.message);
  fflush(stdout);
}

static void *run_thread(void *argument) {
  calls_thread_t *t = argument;
  if (!wild) {
    ordered_run(t);
    return NULL;
  }
  for (; t->call < t->calls && !t->wrong; t->call++) wild_call(t);
  return NULL;
}

static void set_up(uint64_t seed) {
  fuzz_random_t random = fuzz_random(seed, UINT64_MAX);
  wild = fuzz_below(&random, 2);
  core.memory_limit = wild ? MEMORY_LIMIT : UINT64_MAX;
  core.kernel_flags = wild ? fuzz_below(&random, 4) : WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE;
#ifdef __SANITIZE_THREAD__
  core.only_touch = wild; /* nobody orders the streams, and that race is not the library's */
#endif
  core.imports = wild; /* host memory on both sides of a copy */
  calls_promised = calls_kept = 0;
  wia_context_t *context = core_context(CORE_PLAIN);
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  anchor = core_tensor(context, 8, 0);
  CHECK_STATUS(wia_get_tensor_info(anchor, &info), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  calls_layout = info.layout;
  if (wild) wild_start();
}

/* What fails on purpose stops, and all queues run dry: then nothing may be left. */
static bool clean_up(void) {
  core.memory_limit = UINT64_MAX;
  core.fail_status = core.copy_status = core.submit_status = core.stream_status = WIA_STATUS_OK;
  if (wild) wild_end();
  core_destroy(anchor);
  for (uint32_t i = 0; i < CORE_ALL_COUNT; i++) { /* what failed on purpose is told here too */
    const wia_status_t status = wia_synchronize_device(core_id(i), INT64_MAX);
    CHECK(wild || status == WIA_STATUS_OK);
  }
  core_evict();
  /* first the wait for what the library gives back a little later */
  bool clean = CHECK(core_is_clean());
  for (uint32_t i = 0; i < 5000 && calls_promised != calls_kept; i++) usleep(1000);
  clean &= CHECK(calls_promised == calls_kept);
  return clean;
}

static bool run_case(const fuzz_options_t *options, uint64_t seed) {
  static calls_thread_t threads[64];
  pthread_t handles[64];
  set_up(seed);
  for (uint32_t i = 0; i < options->threads; i++) {
    threads[i] = (calls_thread_t){.random = fuzz_random(seed, i), .index = i, .calls = CALLS};
    if (pthread_create(&handles[i], NULL, run_thread, &threads[i])) abort();
  }
  bool fine = true;
  uint32_t good = 0;
  for (uint32_t i = 0; i < options->threads; i++) {
    pthread_join(handles[i], NULL);
    fine = !threads[i].wrong && fine;
    good += threads[i].statuses[WIA_STATUS_OK];
  }
  if (wild) fine = CHECK(good >= options->threads * CALLS / 20) && fine; /* it gets somewhere */
  return clean_up() && CHECK(fine);
}

int main(int count, char **arguments) {
  const fuzz_options_t options = fuzz_options(
      count, arguments, (fuzz_options_t){.seed = 20261202, .cases = CASES, .threads = 4});
  setenv("WIA_PLAN_CACHE_SIZE", "20", 1);
  core_start();
  core.workspace_size = 40;
  custom_start();
  fuzz_run(&options, run_case);
  return CHECK_DONE();
}
