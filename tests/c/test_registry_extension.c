/* Extensions: of drivers, and registered ones. */
#include <pthread.h>

#include "folder.h"
#include "wia_driver.h"

enum { THREADS = 4 };

static const char *folder;

typedef struct counters_t {
  uint32_t struct_size;
  int32_t answer;
  void (*reset)(void);
} counters_t;

static void test_of_a_driver(void) {
  folder = make_folder();
  announce(folder, "extended", LIBRARY("extended"), "");
  announce(folder, "good", LIBRARY("good"), "");
  int32_t id = -1, plain = -1;
  uint32_t count = 77;
  CHECK_STATUS(wia_find_device("extended", &id), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_extension_count(id, &count), WIA_STATUS_OK);
  CHECK(count == 2);
  wia_extension_info_t info = WIA_EXTENSION_INFO_INIT;
  CHECK_STATUS(wia_get_extension_info(id, 0, &info), WIA_STATUS_OK);
  CHECK_TEXT(info.extension_id, "test::counters");
  CHECK_TEXT(info.version, "1.3");
  CHECK(info.has_table == 1 && info.capability_count == 2 && info.operation_count == 1);
  CHECK_TEXT(info.capabilities[1], "test::reset");
  CHECK_TEXT(info.operations[0], "test::counted");
  CHECK_STATUS(wia_get_extension_info(id, 2, &info), WIA_STATUS_OUT_OF_RANGE);
  CHECK_MESSAGE("extended:0 was asked for; it has 2");

  const void *table = NULL;
  const char *const versions[] = {"1.0", "1.3", "1.9", "2.0"};
  for (uint32_t i = 0; i < 4; i++) { /* an older, the same, a newer minor version; another major */
    CHECK_STATUS(wia_query_extension(id, "test::counters", versions[i], &table), WIA_STATUS_OK);
    const counters_t *counters = table;
    CHECK(counters->answer == (i < 3 ? 41 : 42));
    CHECK(!WIA_HAS_ENTRY(counters, reset)); /* lies behind the table */
  }
  const counters_t longer = {.struct_size = sizeof longer};
  CHECK(!WIA_HAS_ENTRY(&longer, reset));
  table = &longer;
  CHECK_STATUS(wia_query_extension(id, "test::counters", "3.0", &table), WIA_STATUS_INCOMPATIBLE);
  CHECK_MESSAGE("extended:0 has test::counters 1.3, test::counters 2.0");
  CHECK_STATUS(wia_query_extension(id, "test::other", "1.0", &table), WIA_STATUS_UNIMPLEMENTED);
  CHECK_MESSAGE("extended:0 has no extension \"test::other\"; it has test::counters 1.3, test::");
  const char *const bad[] = {NULL,    "",    "1",    "1.",   ".1",
                             "1.0.0", "a.b", "1.0 ", "-1.0", "9999999.0"};
  for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    CHECK_STATUS(wia_query_extension(id, "test::counters", bad[i], &table),
                 WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_query_extension(id, NULL, "1.0", &table), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_query_extension(id, "test::counters", "1.0", NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_query_extension(-1, "test::counters", "1.0", &table), WIA_STATUS_NOT_FOUND);
  CHECK_STATUS(wia_get_extension_count(id, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK(table == &longer);

  CHECK_STATUS(wia_find_device("good", &plain), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_extension_count(plain, &count), WIA_STATUS_OK);
  CHECK(count == 0);
  CHECK_STATUS(wia_query_extension(plain, "test::counters", "1.0", &table),
               WIA_STATUS_UNIMPLEMENTED);
  CHECK_MESSAGE("it has none");
  remove_folder(folder);
}

static void test_faulty_drivers(void) {
  folder = make_folder();
  announce(folder, "misversioned", LIBRARY("misversioned"), "");
  announce(folder, "undersized", LIBRARY("undersized"), "");
  int32_t id = -1;
  uint32_t count;
  CHECK_STATUS(wia_find_device("misversioned", &id), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_extension_count(id, &count), WIA_STATUS_INTERNAL);
  CHECK_MESSAGE("has the version \"two\"; expected \"major.minor\"");
  CHECK_STATUS(wia_find_device("undersized", &id), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_extension_count(id, &count), WIA_STATUS_INCOMPATIBLE);
  CHECK_MESSAGE("struct_size");
  remove_folder(folder);
}

/* -- registered ---------------------------------------------------------------------------------- */

static wia_status_t prepare_none(void *context, int32_t device_id, const wia_request_t *request,
                                 wia_driver_kernel_t *out_kernel, wia_error_t *out_error) {
  (void)device_id, (void)request, (void)out_kernel;
  snprintf(out_error->message, sizeof out_error->message, "%s declines", (const char *)context);
  return WIA_STATUS_UNIMPLEMENTED;
}

static wia_device_extension_t make_extension(const char *id, const char *version) {
  static char name[] = "the extension";
  wia_device_extension_t extension = WIA_DEVICE_EXTENSION_INIT;
  extension.extension_id = id;
  extension.version = version;
  extension.context = name;
  return extension;
}

static void test_registered(void) {
  folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "");
  int32_t id = -1;
  uint32_t count = 0;
  wia_context_t *context = NULL;
  CHECK_STATUS(wia_find_device("good", &id), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_context(&context, id), WIA_STATUS_OK);
  wia_device_extension_t extension = make_extension(WIA_EXT_TRANSFORMER_ENGINE, "1.0");
  extension.capabilities[0] = WIA_CAP_FUSED_ATTENTION;
  extension.capabilities[1] = WIA_CAP_FLASH_ATTENTION;
  extension.operations[0] = (wia_extension_operation_t){"attention", prepare_none};
  extension.operations[1] = (wia_extension_operation_t){"no_such_operation", prepare_none};
  CHECK_STATUS(wia_register_device_extension(context, &extension), WIA_STATUS_NOT_FOUND);
  CHECK_STATUS(wia_get_extension_count(id, &count), WIA_STATUS_OK);
  CHECK(count == 0); /* nothing of it */
  extension.operations[1].name = NULL;
  CHECK_STATUS(wia_register_device_extension(context, &extension), WIA_STATUS_OK);
  CHECK_STATUS(wia_register_device_extension(context, &extension), WIA_STATUS_ALREADY_EXISTS);
  extension.version = "2.0"; /* the operation has kernels already */
  CHECK_STATUS(wia_register_device_extension(context, &extension), WIA_STATUS_ALREADY_EXISTS);
  CHECK_MESSAGE("kernels of attention");
  CHECK_STATUS(wia_get_extension_count(id, &count), WIA_STATUS_OK);
  CHECK(count == 1);
  wia_extension_info_t info = WIA_EXTENSION_INFO_INIT;
  CHECK_STATUS(wia_get_extension_info(id, 0, &info), WIA_STATUS_OK);
  CHECK(!info.has_table && info.capability_count == 2);
  CHECK_TEXT(info.operations[0], "attention");
  const void *table = &count;
  CHECK_STATUS(wia_query_extension(id, WIA_EXT_TRANSFORMER_ENGINE, "1.5", &table), WIA_STATUS_OK);
  CHECK(table == NULL);
  uint64_t dtypes = 0;
  CHECK_STATUS(wia_get_device_support(id, WIA_OP_ATTENTION, &dtypes), WIA_STATUS_OK);
  CHECK(dtypes >> WIA_FLOAT32 & 1);

  const uint32_t no_size = 0;
  const wia_device_extension_t good = make_extension("test::x", "1.0");
  wia_device_extension_t bad[6] = {good, good, good, good, good, good};
  bad[0].extension_id = "No Id";
  bad[1].extension_id = NULL;
  bad[2].version = "1";
  bad[3].capabilities[0] = "Fast";
  bad[4].table = &no_size;
  bad[5].reserved = 1;
  for (uint32_t i = 0; i < 6; i++)
    CHECK_STATUS(wia_register_device_extension(context, &bad[i]), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_register_device_extension(context, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_register_device_extension(NULL, &good), WIA_STATUS_INVALID_HANDLE);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  remove_folder(folder);
}

static wia_context_t *shared;
static int32_t shared_id;

static void *register_many(void *argument) {
  for (uint32_t i = 0; i < 20; i++) {
    char name[32];
    const void *table = NULL;
    uint32_t count = 0;
    snprintf(name, sizeof name, "test::t%u_%u", *(const uint32_t *)argument, i);
    const wia_device_extension_t extension = make_extension(name, "1.0");
    CHECK_STATUS(wia_register_device_extension(shared, &extension), WIA_STATUS_OK);
    CHECK_STATUS(wia_query_extension(shared_id, name, "1.0", &table), WIA_STATUS_OK);
    CHECK_STATUS(wia_get_extension_count(shared_id, &count), WIA_STATUS_OK);
    wia_extension_info_t info = WIA_EXTENSION_INFO_INIT;
    CHECK_STATUS(wia_get_extension_info(shared_id, count - 1, &info), WIA_STATUS_OK);
  }
  return NULL;
}

static void test_threads(void) {
  folder = make_folder();
  announce(folder, "extended", LIBRARY("extended"), "");
  CHECK_STATUS(wia_find_device("extended", &shared_id), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_context(&shared, shared_id), WIA_STATUS_OK);
  pthread_t threads[THREADS];
  uint32_t numbers[THREADS], count = 0;
  for (uint32_t i = 0; i < THREADS; i++) {
    numbers[i] = i;
    CHECK(pthread_create(&threads[i], NULL, register_many, &numbers[i]) == 0);
  }
  for (uint32_t i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK_STATUS(wia_get_extension_count(shared_id, &count), WIA_STATUS_OK);
  CHECK(count == 2 + THREADS * 20);
  const pid_t child = fork();
  if (child == 0) { /* what was registered is there, what the driver has is asked anew */
    uint32_t inherited = 0;
    const wia_status_t status = wia_get_extension_count(shared_id, &inherited);
    _exit(status == WIA_STATUS_OK && inherited == count ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK_STATUS(wia_destroy_context(shared), WIA_STATUS_OK);
  remove_folder(folder);
}

int main(void) {
  RUN_ALONE(test_of_a_driver);
  RUN_ALONE(test_faulty_drivers);
  RUN_ALONE(test_registered);
  RUN_ALONE(test_threads);
  return CHECK_DONE();
}
