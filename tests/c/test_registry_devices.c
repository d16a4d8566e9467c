/* Devices: none, some, coming and going (scenario 9), what they say of themselves, and many threads
 * that ask at once. Beside each check: the guard without which it fails. */
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include "folder.h"
#include "wia_driver.h"

enum { THREADS = 8 };

static const char *folder;

/* A counter that a driver library exports. */
static int counter(const char *library, const char *name) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  const _Atomic int *value = handle != NULL ? dlsym(handle, name) : NULL;
  return value != NULL ? atomic_load(value) : -1;
}

/* -- none, some, coming and going -------------------------------------------------------------- */

static void test_no_driver(void) {
  folder = make_folder();
  uint32_t count = 77;
  int32_t ids[2] = {-7, -7};
  CHECK_STATUS(wia_get_devices(ids, 2, &count), WIA_STATUS_OK);
  CHECK(count == 0 && ids[0] == -7);
  int32_t id;
  CHECK(wia_find_device(NULL, &id) != WIA_STATUS_OK);
  CHECK(wia_find_device("good", &id) != WIA_STATUS_OK);
  remove_folder(folder);
}

/* A negative ordinal can't be; ids of slots that nobody was given are refused: device.c,
 * wia__get_device. */
static void test_bad_ids(void) {
  folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "");
  const int32_t bad[] = {1, 255, 256, 65536, 4096 * 256, -1, -256, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
    wia_device_info_t info = WIA_DEVICE_INFO_INIT;
    uint64_t dtypes;
    wia_context_t *context = NULL;
    CHECK_STATUS(wia_get_device_info(bad[i], &info), WIA_STATUS_NOT_FOUND);
    CHECK_STATUS(wia_get_device_support(bad[i], WIA_OP_MATMUL, &dtypes), WIA_STATUS_NOT_FOUND);
    CHECK_STATUS(wia_create_context(&context, bad[i]), WIA_STATUS_NOT_FOUND);
  }
  wia_device_info_t info = WIA_DEVICE_INFO_INIT;
  CHECK_STATUS(wia_get_device_info(0, &info), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_device_info(0, NULL), WIA_STATUS_INVALID_ARGUMENT);
  info.struct_size = 4;
  CHECK_STATUS(wia_get_device_info(0, &info), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("WIA_DEVICE_INFO_INIT");
  remove_folder(folder);
}

static void test_coming_and_going(void) {
  folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "");
  announce(folder, "good2", LIBRARY("good2"), "");
  setenv("WIA_GOOD_DEVICES", "0", 1);
  uint32_t count = 0;
  CHECK_STATUS(wia_get_devices(NULL, 0, &count), WIA_STATUS_OK);
  CHECK(count == 1); /* good has none, which is no failure */
  int32_t id;
  CHECK_STATUS(wia_find_device("good", &id), WIA_STATUS_NOT_FOUND);
  CHECK_MESSAGE("the driver has 0 now");
  CHECK_STATUS(wia_find_device(NULL, &id), WIA_STATUS_NOT_FOUND);

  setenv("WIA_GOOD_DEVICES", "3", 1);
  int32_t ids[5] = {-7, -7, -7, -7, -7};
  /* devices.c, get_devices: count > capacity. The answer of the call before is out of date. */
  CHECK_STATUS(wia_get_devices(ids, 1, &count), WIA_STATUS_OUT_OF_RANGE);
  CHECK(count == 4 && ids[0] == -7 && ids[1] == -7);
  CHECK_STATUS(wia_get_devices(ids, 5, &count), WIA_STATUS_OK);
  CHECK(count == 4);
  CHECK(ids[0] == 0 && ids[1] == 1 && ids[2] == 2 && ids[3] == 256 && ids[4] == -7);
  CHECK_STATUS(wia_find_device("good:2", &id), WIA_STATUS_OK);
  CHECK(id == 2);

  setenv("WIA_GOOD_DEVICES", "1", 1);
  CHECK_STATUS(wia_get_devices(ids, 5, &count), WIA_STATUS_OK);
  CHECK(count == 2);
  CHECK_STATUS(wia_find_device("good:2", &id), WIA_STATUS_NOT_FOUND);
  wia_device_info_t info = WIA_DEVICE_INFO_INIT;
  CHECK_STATUS(wia_get_device_info(2, &info), WIA_STATUS_NOT_FOUND); /* check_ordinal */

  /* More than ids can say: devices.c, count_devices. */
  setenv("WIA_GOOD_DEVICES", "4000000000", 1);
  CHECK_STATUS(wia_get_devices(NULL, 0, &count), WIA_STATUS_OK);
  CHECK(count == 257);
  CHECK_STATUS(wia_find_device("good:255", &id), WIA_STATUS_OK);
  CHECK(id == 255);
  CHECK_STATUS(wia_find_device("good:256", &id), WIA_STATUS_NOT_FOUND);

  CHECK_STATUS(wia_get_devices(NULL, 3, &count), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_get_devices(ids, 5, NULL), WIA_STATUS_INVALID_ARGUMENT);
  remove_folder(folder);
}

/* -- what they say of themselves --------------------------------------------------------------- */

static void test_info(void) {
  folder = make_folder();
  announce(folder, "device", LIBRARY("device"), "");
  setenv("WIA_DEVICE_DEVICES", "6", 1);
  wia_device_info_t info = WIA_DEVICE_INFO_INIT;
  /* device.c, check_info */
  CHECK_STATUS(wia_get_device_info(0, &info), WIA_STATUS_INTERNAL);
  CHECK_MESSAGE("describes device \"device:0\" with 0 memory kinds");
  CHECK_STATUS(wia_get_device_info(1, &info), WIA_STATUS_INTERNAL);
  CHECK_MESSAGE("no power of two");
  CHECK_STATUS(wia_get_device_info(2, &info), WIA_STATUS_INTERNAL);
  CHECK_MESSAGE("both opaque and addressable");
  CHECK_STATUS(wia_get_device_info(5, &info), WIA_STATUS_UNAVAILABLE);
  CHECK_MESSAGE("opening device \"device:5\": the link is down");
  wia_error_info_t error = WIA_ERROR_INFO_INIT;
  CHECK_STATUS(wia_get_last_error(&error), WIA_STATUS_OK);
  CHECK(strcmp(error.cause, "PCI slot 3") == 0);
  CHECK(strcmp(error.driver, "device") == 0);
  CHECK(strcmp(error.function, "wia_get_device_info") == 0);

  CHECK_STATUS(wia_get_device_info(3, &info), WIA_STATUS_OK);
  CHECK(info.struct_size == sizeof info);
  CHECK(info.device_id == 3);
  CHECK(strcmp(info.name, "device:3") == 0);
  CHECK(strcmp(info.driver_name, "device") == 0);
  CHECK(strcmp(info.driver_version, "1.2.3") == 0);
  CHECK(strcmp(info.description, "") == 0);
  CHECK(strcmp(info.vendor, "WIA tests") == 0); /* the driver's, for want of its own */
  CHECK(strcmp(info.architecture, "") == 0);
  CHECK(info.flags == WIA_DEVICE_SIMULATED);
  CHECK(info.memory_kind_count == 1);
  CHECK(info.total_memory_size == 1 << 20);
  CHECK_STATUS(wia_get_device_info(4, &info), WIA_STATUS_OK);
  CHECK(info.flags == (WIA_DEVICE_SERIAL | WIA_DEVICE_HOST_ADDRESSABLE));
  CHECK(strcmp(info.description, "tiny test device") == 0);
  remove_folder(folder);
}

static void test_support(void) {
  folder = make_folder();
  announce(folder, "device", LIBRARY("device"), "");
  setenv("WIA_DEVICE_DEVICES", "6", 1);
  uint64_t dtypes = 77;
  CHECK_STATUS(wia_get_device_support(3, WIA_OP_MATMUL, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_get_device_support(3, -1, &dtypes), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_get_device_support(3, INT32_MAX, &dtypes), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_get_device_support(3, WIA_OP_RELU, &dtypes), WIA_STATUS_UNAVAILABLE);
  CHECK_MESSAGE("asking device \"device:3\" about relu: no idea");
  CHECK(dtypes == 77);
  CHECK_STATUS(wia_get_device_support(3, WIA_OP_SOFTMAX, &dtypes), WIA_STATUS_OK);
  CHECK(dtypes == 0);
  CHECK_STATUS(wia_get_device_support(3, WIA_OP_MATMUL, &dtypes), WIA_STATUS_OK);
  CHECK(dtypes == UINT64_C(1) << WIA_FLOAT32); /* without the bit that is no dtype */
  remove_folder(folder);
}

/* -- many threads ------------------------------------------------------------------------------ */

typedef struct asker_t {
  void (*ask)(struct asker_t *asker);
  pthread_barrier_t *barrier;
  int32_t id;
  wia_status_t status;
} asker_t;

static void *run_asker(void *argument) {
  asker_t *asker = argument;
  pthread_barrier_wait(asker->barrier);
  asker->ask(asker);
  return NULL;
}

static void ask_at_once(asker_t *askers, void (*ask)(asker_t *)) {
  pthread_barrier_t barrier;
  pthread_t threads[THREADS];
  pthread_barrier_init(&barrier, NULL, THREADS);
  for (int i = 0; i < THREADS; ++i) {
    askers[i] = (asker_t){.ask = ask, .barrier = &barrier};
    if (pthread_create(&threads[i], NULL, run_asker, &askers[i]) != 0) abort();
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&barrier);
}

static void find_slow(asker_t *asker) { asker->status = wia_find_device("slow", &asker->id); }

/* The manifest has another name, so that the library is asked for and none is there. */
static void find_renamed(asker_t *asker) { asker->status = wia_find_device("renamed", &asker->id); }

/* One loads, the others wait and see the same: loader.c, record->loading. */
static void test_threads_load(void) {
  folder = make_folder();
  announce(folder, "slow", LIBRARY("slow"), "");
  asker_t askers[THREADS];
  ask_at_once(askers, find_slow);
  for (int i = 0; i < THREADS; ++i) {
    CHECK_STATUS(askers[i].status, WIA_STATUS_OK);
    CHECK(askers[i].id == 0);
  }
  CHECK(counter(LIBRARY("slow"), "negotiation_count") == 1);
  remove_folder(folder);
}

static void test_threads_fail(void) {
  folder = make_folder();
  announce(folder, "renamed", LIBRARY("slow"), "");
  asker_t askers[THREADS];
  ask_at_once(askers, find_renamed);
  for (int i = 0; i < THREADS; ++i) CHECK_STATUS(askers[i].status, WIA_STATUS_NOT_FOUND);
  CHECK(counter(LIBRARY("slow"), "negotiation_count") == 1);
  remove_folder(folder);
}

/* Two names of one library at once: loader.c, load_library. */
static void find_either(asker_t *asker) {
  static _Atomic int turn;
  const bool even = atomic_fetch_add(&turn, 1) % 2 == 0;
  asker->status = wia_find_device(even ? "slow" : "renamed", &asker->id);
  if (!even && asker->status == WIA_STATUS_NOT_FOUND) asker->status = WIA_STATUS_OK;
}

static void test_threads_share_library(void) {
  folder = make_folder();
  announce(folder, "slow", LIBRARY("slow"), "");
  announce(folder, "renamed", LIBRARY("slow"), "");
  asker_t askers[THREADS];
  ask_at_once(askers, find_either);
  for (int i = 0; i < THREADS; ++i) CHECK_STATUS(askers[i].status, WIA_STATUS_OK);
  CHECK(counter(LIBRARY("slow"), "negotiation_count") == 1);
  remove_folder(folder);
}

/* While one driver takes its time others are usable: no lock is held while driver code runs. */
static void *load_slow(void *unused) {
  (void)unused;
  int32_t id;
  CHECK_STATUS(wia_find_device("slow", &id), WIA_STATUS_OK);
  return NULL;
}

static void test_threads_apart(void) {
  folder = make_folder();
  announce(folder, "slow", LIBRARY("slow"), "");
  announce(folder, "good", LIBRARY("good"), "");
  char gate[600];
  snprintf(gate, sizeof gate, "%s/gate", folder);
  FILE *file = fopen(gate, "w");
  if (!file || fclose(file)) abort();
  setenv("TEST_GATE", gate, 1);
  pthread_t thread;
  if (pthread_create(&thread, NULL, load_slow, NULL) != 0) abort();
  while (counter(LIBRARY("slow"), "negotiation_count") < 1) usleep(1000);
  int32_t id;
  CHECK_STATUS(wia_find_device("good", &id), WIA_STATUS_OK);
  const wia_load_record_t record = find_record("slow.manifest", "slow");
  CHECK(record.state == WIA_DRIVER_STATE_FOUND); /* good did not wait for it */
  unlink(gate);
  pthread_join(thread, NULL);
  remove_folder(folder);
}

static void open_device(asker_t *asker) {
  wia_device_info_t info = WIA_DEVICE_INFO_INIT;
  asker->status = wia_get_device_info(4, &info);
}

static void ask_support(asker_t *asker) {
  uint64_t dtypes;
  asker->status = wia_get_device_support(4, WIA_OP_MATMUL, &dtypes);
}

/* device.c: slot->opening, and wia__lock_device for a serial device. */
static void test_threads_device(void) {
  folder = make_folder();
  announce(folder, "device", LIBRARY("device"), "");
  setenv("WIA_DEVICE_DEVICES", "6", 1);
  asker_t askers[THREADS];
  ask_at_once(askers, open_device);
  for (int i = 0; i < THREADS; ++i) CHECK_STATUS(askers[i].status, WIA_STATUS_OK);
  CHECK(counter(LIBRARY("device"), "open_count") == 1);
  ask_at_once(askers, ask_support);
  for (int i = 0; i < THREADS; ++i) CHECK_STATUS(askers[i].status, WIA_STATUS_OK);
  CHECK(counter(LIBRARY("device"), "overlap_count") == 0);
  remove_folder(folder);
}

int main(void) {
  RUN_ALONE(test_no_driver);
  RUN_ALONE(test_bad_ids);
  RUN_ALONE(test_coming_and_going);
  RUN_ALONE(test_info);
  RUN_ALONE(test_support);
  RUN_ALONE(test_threads_load);
  RUN_ALONE(test_threads_fail);
  RUN_ALONE(test_threads_share_library);
  RUN_ALONE(test_threads_apart);
  RUN_ALONE(test_threads_device);
  return CHECK_DONE();
}
