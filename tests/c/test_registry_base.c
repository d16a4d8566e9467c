/* Drivers on top of others (wia_host_t.find_device), and links between devices. Beside each check: the
 * guard without which it fails. */
#include <dlfcn.h>
#include <pthread.h>

#include "folder.h"
#include "wia_driver.h"

static const char *folder;

static void start(void) {
  folder = make_folder();
  const char *const names[] = {"good", "upper", "lower", "device"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    char library[PATH_MAX];
    snprintf(library, sizeof library, TEST_DRIVERS "/%s.so", names[i]);
    announce(folder, names[i], library, "");
  }
  setenv("WIA_UPPER_BASE", "good", 1);
  setenv("WIA_UPPER_DEVICES", "2", 1);
  setenv("WIA_DEVICE_DEVICES", "6", 1);
}

static wia_status_t open_device(const char *name) {
  int32_t id;
  wia_device_info_t info = WIA_DEVICE_INFO_INIT;
  const wia_status_t status = wia_find_device(name, &id);
  return status == WIA_STATUS_OK ? wia_get_device_info(id, &info) : status;
}

/* -- find_device ----------------------------------------------------------------------------------- */

static void test_base(void) {
  start();
  CHECK_STATUS(open_device("upper"), WIA_STATUS_OK);
  void *library = dlopen(LIBRARY("upper"), RTLD_NOW | RTLD_NOLOAD);
  const wia_driver_t *const *base = dlsym(library, "base_driver");
  CHECK((*base)->struct_size == sizeof **base);
  CHECK(strcmp((*base)->name, "good") == 0);
  CHECK((*base)->fill == NULL); /* optional, and good lacks it */
  CHECK_STATUS(open_device("good"), WIA_STATUS_OK);
  remove_folder(folder);
}

/* host.c, find_device: names, the own name, serial devices; errors arrive at the user. */
static void check_refused(const char *base, wia_status_t status, const char *message) {
  start();
  if (base != NULL)
    setenv("WIA_UPPER_BASE", base, 1);
  else
    unsetenv("WIA_UPPER_BASE");
  CHECK_STATUS(open_device("upper:1"), status);
  CHECK_MESSAGE("opening device \"upper:1\": ");
  CHECK_MESSAGE(message);
  CHECK_STATUS(open_device("upper:1"), status); /* again, and nothing waits for the first try */
  remove_folder(folder);
}

static void test_no_name(void) {
  check_refused(NULL, WIA_STATUS_INVALID_ARGUMENT, "\"(NULL)\" is no device name");
}
static void test_malformed(void) {
  check_refused("Good:x", WIA_STATUS_INVALID_ARGUMENT, "\"Good:x\" is no device name");
}
static void test_itself(void) {
  check_refused("upper:0", WIA_STATUS_INVALID_ARGUMENT,
                "driver \"upper\" asked for its own device \"upper:0\"");
}
static void test_unknown(void) {
  /* unknown for good, or perhaps a Python driver that can't be asked for here */
  check_refused("goo", TEST_HAS_PYTHON ? WIA_STATUS_UNAVAILABLE : WIA_STATUS_NOT_FOUND,
                "driver is named \"goo\"");
}
static void test_ordinal(void) {
  check_refused("good:7", WIA_STATUS_NOT_FOUND, "there is no device \"good:7\"");
}
static void test_serial(void) {
  check_refused("device:4", WIA_STATUS_UNIMPLEMENTED,
                "device \"device:4\" runs one call at a time");
}
static void test_broken_base(void) {
  check_refused("device:5", WIA_STATUS_UNAVAILABLE,
                "opening device \"device:5\": the link is down");
}

/* -- no way round in a circle: device.c, await_opener ---------------------------------------------- */

static void test_cycle(void) {
  start();
  setenv("WIA_UPPER_BASE", "lower", 1);
  setenv("WIA_LOWER_BASE", "upper", 1);
  CHECK_STATUS(open_device("upper"), WIA_STATUS_FAILED_PRECONDITION);
  CHECK_MESSAGE("device \"upper:0\" was asked for while it was opened");
  setenv("WIA_LOWER_BASE", "good", 1);
  CHECK_STATUS(open_device("upper"), WIA_STATUS_OK); /* nothing is left of the attempt */
  remove_folder(folder);
}

static pthread_barrier_t barrier;

static void *open_at_once(void *name) {
  pthread_barrier_wait(&barrier);
  return (void *)(intptr_t)open_device(name);
}

/* Opens both at the same time. */
static void open_both(wia_status_t out_statuses[2]) {
  static char names[2][8] = {"upper", "lower"};
  pthread_t threads[2];
  pthread_barrier_init(&barrier, NULL, 2);
  for (int i = 0; i < 2; ++i)
    if (pthread_create(&threads[i], NULL, open_at_once, names[i]) != 0) abort();
  for (int i = 0; i < 2; ++i) {
    void *result;
    pthread_join(threads[i], &result);
    out_statuses[i] = (wia_status_t)(intptr_t)result;
  }
  pthread_barrier_destroy(&barrier);
}

static void test_cycle_of_threads(void) {
  start();
  setenv("WIA_UPPER_BASE", "lower", 1);
  setenv("WIA_LOWER_BASE", "upper", 1);
  wia_status_t statuses[2];
  open_both(statuses); /* neither can work; who comes first to see that is open */
  for (int i = 0; i < 2; ++i) CHECK_STATUS(statuses[i], WIA_STATUS_FAILED_PRECONDITION);
  remove_folder(folder);
}

/* Waiting for another thread that needs nothing of this one's is no circle. */
static void test_chain_of_threads(void) {
  start();
  setenv("WIA_UPPER_BASE", "lower", 1);
  setenv("WIA_LOWER_BASE", "good", 1);
  wia_status_t statuses[2];
  open_both(statuses);
  for (int i = 0; i < 2; ++i) CHECK_STATUS(statuses[i], WIA_STATUS_OK);
  remove_folder(folder);
}

/* The variable WIA_<DRIVER>: host.c, host_get_option. */
static void test_bare_option(void) {
  const wia_driver_t driver = {.struct_size = sizeof driver, .name = "npu_x"};
  setenv("WIA_NPU_X", "two", 1);
  setenv("WIA_NPU_X_", "three", 1);
  const char *value = wia_get_host()->get_option(&driver, "");
  CHECK(value != NULL && strcmp(value, "two") == 0);
}

/* -- links ----------------------------------------------------------------------------------------- */

static int32_t find(const char *name) {
  int32_t id = -1;
  CHECK_STATUS(wia_find_device(name, &id), WIA_STATUS_OK);
  return id;
}

static bool is_link(const char *from, const char *to, int32_t kind, double bandwidth,
                    double latency_ns) {
  wia_link_info_t info = WIA_LINK_INFO_INIT;
  if (!CHECK_STATUS(wia_get_link_info(find(from), find(to), &info), WIA_STATUS_OK)) return false;
  return info.struct_size == sizeof info && info.kind == kind && info.bandwidth == bandwidth &&
         info.latency_ns == latency_ns;
}

static void test_link(void) {
  start();
  setenv("WIA_GOOD_DEVICES", "2", 1);
  CHECK(is_link("good:0", "good:1", WIA_LINK_HOST, -1, -1));   /* no get_link */
  CHECK(is_link("upper:0", "good:0", WIA_LINK_HOST, -1, -1));  /* different drivers */
  CHECK(is_link("upper:0", "upper:1", WIA_LINK_HOST, -1, -1)); /* it says nothing */
  setenv("WIA_UPPER_LINK", "2 1000 250", 1);
  CHECK(is_link("upper:0", "upper:1", WIA_LINK_DIRECT, 1012, 250));
  CHECK(is_link("upper:1", "upper:0", WIA_LINK_DIRECT, 1021, 250));
  CHECK(is_link("upper:0", "good:0", WIA_LINK_HOST, -1, -1));
  setenv("WIA_UPPER_LINK", "1 -1000 nan", 1); /* link.c, known */
  CHECK(is_link("upper:1", "upper:0", WIA_LINK_HOST, -1, -1));
  remove_folder(folder);
}

static void test_link_errors(void) {
  start();
  wia_link_info_t info = WIA_LINK_INFO_INIT;
  const int32_t first = find("upper:0"), second = find("upper:1");
  CHECK_STATUS(wia_get_link_info(first, first, &info), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("(\"upper:0\"); expected two devices");
  CHECK_STATUS(wia_get_link_info(first, -1, &info), WIA_STATUS_NOT_FOUND);
  CHECK_STATUS(wia_get_link_info(77777, first, &info), WIA_STATUS_NOT_FOUND);
  CHECK_STATUS(wia_get_link_info(first, second, NULL), WIA_STATUS_INVALID_ARGUMENT);
  setenv("WIA_UPPER_LINK", "broken", 1);
  CHECK_STATUS(wia_get_link_info(first, second, &info), WIA_STATUS_UNAVAILABLE);
  CHECK_MESSAGE("asking device \"upper:0\" for its link to \"upper:1\": no cable");
  setenv("WIA_UPPER_LINK", "3 1 1", 1);
  CHECK_STATUS(wia_get_link_info(first, second, &info), WIA_STATUS_INTERNAL);
  CHECK_MESSAGE("as kind 3");
  CHECK(info.kind == 0 && info.bandwidth == 0); /* not written to */
  remove_folder(folder);
}

int main(void) {
  RUN_ALONE(test_base);
  RUN_ALONE(test_no_name);
  RUN_ALONE(test_malformed);
  RUN_ALONE(test_itself);
  RUN_ALONE(test_unknown);
  RUN_ALONE(test_ordinal);
  RUN_ALONE(test_serial);
  RUN_ALONE(test_broken_base);
  RUN_ALONE(test_cycle);
  RUN_ALONE(test_cycle_of_threads);
  RUN_ALONE(test_chain_of_threads);
  RUN_ALONE(test_bare_option);
  RUN_ALONE(test_link);
  RUN_ALONE(test_link_errors);
  return CHECK_DONE();
}
