/* Loading native drivers: versions, tables, broken libraries, drivers that misbehave (scenarios 2,
 * 3, 4, 5 and 7). Beside each check: the guard without which it fails. */
#include <errno.h>

#include "folder.h"
#include "wia_driver.h"

static const char *folder;

static void check_refused(const char *name, wia_status_t status, const char *part,
                          const char *cause_part) {
  int32_t id = -7;
  if (!CHECK_STATUS(wia_find_device(name, &id), status)) printf("  driver %s\n", name);
  CHECK(id == -7);
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  CHECK_STATUS(wia_get_last_error(&info), WIA_STATUS_OK);
  CHECK_TEXT(info.message, part);
  CHECK_TEXT(info.cause, cause_part);
  CHECK(strcmp(info.driver, name) == 0);
  CHECK(strcmp(info.function, "wia_find_device") == 0);
  /* The report says the same, and so does asking again. */
  const wia_load_record_t record = find_record(".manifest", name);
  CHECK(record.state == WIA_DRIVER_STATE_REFUSED);
  CHECK(record.status == status);
  CHECK_TEXT(record.message, part);
  CHECK_TEXT(record.cause, cause_part);
  CHECK_STATUS(wia_find_device(name, &id), status);
}

static void check_loads(const char *name) {
  int32_t id;
  if (!CHECK_STATUS(wia_find_device(name, &id), WIA_STATUS_OK)) printf("  driver %s\n", name);
  CHECK(find_record(".manifest", name).state == WIA_DRIVER_STATE_LOADED);
}

/* -- versions and tables ----------------------------------------------------------------------- */

static void test_versions(void) {
  folder = make_folder();
  announce(folder, "newer", LIBRARY("newer"), "");
  announce(folder, "oldest", LIBRARY("oldest"), "");
  announce(folder, "major_two", LIBRARY("major_two"), "");
  announce(folder, "major_zero", LIBRARY("major_zero"), "");
  announce(folder, "major_garbage", LIBRARY("major_garbage"), "");
  announce(folder, "short_table", LIBRARY("short_table"), "");
  announce(folder, "good", LIBRARY("good"), "");
  /* negotiate.c, wia__check_version */
  check_refused("major_two", WIA_STATUS_INCOMPATIBLE, "driver ABI 2.0, this library has 1.1", "");
  check_refused("major_zero", WIA_STATUS_INCOMPATIBLE, "driver ABI 0.0, this library has 1.1", "");
  check_refused("major_garbage", WIA_STATUS_INCOMPATIBLE, "driver ABI 3735928559.3735928559", "");
  /* wia__check_table: struct_size < FIRST_SIZE */
  check_refused("short_table", WIA_STATUS_INCOMPATIBLE, "up to and including prepare", "");
  check_loads("newer");
  check_loads("oldest");
  check_loads("good");
  /* wia__adopt_table: what lies behind an older table is not read. oldest has an entry there that
   * aborts. */
  int32_t id = -1;
  uint64_t dtypes = 77;
  CHECK_STATUS(wia_find_device("oldest", &id), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_device_support(id, WIA_OP_MATMUL, &dtypes), WIA_STATUS_UNIMPLEMENTED);
  CHECK_MESSAGE("get_support");
  CHECK(dtypes == 77);
  remove_folder(folder);
}

static void check_runs(const char *name, wia_op_t op, wia_status_t expected) {
  int32_t id = -1;
  wia_context_t *context = NULL;
  wia_tensor_t tensor = NULL;
  const int64_t shape[] = {2};
  float values[] = {-1, 3};
  CHECK_STATUS(wia_find_device(name, &id), WIA_STATUS_OK);
  CHECK_STATUS(wia_create_context(&context, id), WIA_STATUS_OK);
  CHECK_STATUS(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &tensor), WIA_STATUS_OK);
  CHECK_STATUS(wia_write_tensor(tensor, values, sizeof values, NULL), WIA_STATUS_OK);
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_execute(context, op, &tensor, 1, &tensor, 1, NULL, 0, stream), expected);
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK_STATUS(wia_read_tensor(tensor, values, sizeof values, NULL), WIA_STATUS_OK);
  CHECK(values[0] == (expected ? -1 : 0) && values[1] == 3);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_tensor(tensor), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

/* What was built for the minor version before ours, or behind it, loads and runs; entries that it lacks
 * are as if it had left them out. */
static void test_driver_of_the_minor_version_before_or_after_loads_and_runs(void) {
  folder = make_folder();
  announce(folder, "before", LIBRARY("before"), "");
  announce(folder, "newer", LIBRARY("newer"), "");
  check_loads("before");
  check_runs("before", WIA_OP_RELU, WIA_STATUS_OK);
  check_runs("before", WIA_OP_EXP, WIA_STATUS_UNIMPLEMENTED);
  check_loads("newer");
  check_runs("newer", WIA_OP_RELU, WIA_STATUS_UNIMPLEMENTED); /* it has no kernels, but memory */
  const char *const names[] = {"before", "newer"};
  for (uint32_t i = 0; i < 2; i++) {
    int32_t id = -1;
    uint32_t count = 7;
    CHECK_STATUS(wia_find_device(names[i], &id), WIA_STATUS_OK);
    CHECK_STATUS(wia_get_extension_count(id, &count), WIA_STATUS_OK);
    CHECK(count == 0);
  }
  remove_folder(folder);
}

/* Of the streams' table, which grows on its own. */
static void test_streams(void) {
  folder = make_folder();
  const char *const names[] = {"streamless", "old_streams", "short_streams", "null_stream_entry",
                               "bad_priority"};
  for (uint32_t i = 0; i < 5; i++) {
    char library[PATH_MAX];
    snprintf(library, sizeof library, "%s/%s.so", TEST_DRIVERS, names[i]);
    announce(folder, names[i], library, "");
  }
  /* wia__check_table: FIRST_STREAMS_SIZE, required entries */
  check_refused("short_streams", WIA_STATUS_INCOMPATIBLE, "up to and including signal", "");
  check_refused("null_stream_entry", WIA_STATUS_INVALID_ARGUMENT,
                "NULL for create, destroy or signal", "");
  check_refused("bad_priority", WIA_STATUS_INVALID_ARGUMENT, "least_priority -1", "");
  /* streams_of, wia__adopt_table: what lies behind either table is not read */
  for (uint32_t i = 0; i < 2; i++) {
    check_loads(names[i]);
    int32_t id = -1;
    wia_context_t *context = NULL;
    wia_stream_t *stream = NULL;
    void *memory = NULL;
    uint32_t value = 7, host = 0;
    CHECK_STATUS(wia_find_device(names[i], &id), WIA_STATUS_OK);
    CHECK_STATUS(wia_create_context(&context, id), WIA_STATUS_OK);
    CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
    CHECK_STATUS(wia_malloc(&memory, sizeof value, id), WIA_STATUS_OK);
    CHECK_STATUS(wia_copy_host_to_device(memory, &value, sizeof value, stream), WIA_STATUS_OK);
    CHECK_STATUS(wia_copy_device_to_host(&host, memory, sizeof value, stream), WIA_STATUS_OK);
    CHECK_STATUS(wia_synchronize_stream(stream, INT64_C(20000000000)), WIA_STATUS_OK);
    CHECK(host == 7);
    CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
    CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
    CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  }
  remove_folder(folder);
}

static void test_tables(void) {
  folder = make_folder();
  announce(folder, "null_entry", LIBRARY("null_entry"), "");
  announce(folder, "bad_name", LIBRARY("bad_name"), "");
  announce(folder, "flagged", LIBRARY("flagged"), "");
  announce(folder, "no_drivers", LIBRARY("no_drivers"), "");
  announce(folder, "null_list", LIBRARY("null_list"), "");
  announce(folder, "many_drivers", LIBRARY("many_drivers"), "");
  announce(folder, "misnamed", LIBRARY("good"), "");
  announce(folder, "alpha", LIBRARY("three"), "");
  announce(folder, "gamma", LIBRARY("three"), "");
  const wia_status_t invalid = WIA_STATUS_INVALID_ARGUMENT;
  /* wia__check_table: has_entry, wia__is_driver_name, flags */
  check_refused("null_entry", invalid, "has NULL for allocate, which is required", "");
  check_refused("bad_name", invalid, "the name \"Bad-Name\"; expected", "");
  check_refused("flagged", invalid, "flags 0x8; ABI 1.1 has none", "");
  /* take_answer: driver_count, drivers */
  check_refused("no_drivers", invalid, "gave 0 drivers; expected 1 to 64", "");
  check_refused("null_list", invalid, "in a NULL list", "");
  check_refused("many_drivers", invalid, "gave 4294967295 drivers", "");
  /* loader.c, install_offer: offered */
  check_refused("misnamed", WIA_STATUS_NOT_FOUND, "has no driver \"misnamed\"; it has: good", "");
  /* The others of a library come too, and one that is broken doesn't take them with it. */
  check_loads("alpha");
  CHECK(find_record("alpha.manifest", "beta").state == WIA_DRIVER_STATE_LOADED);
  check_loads("beta");
  check_refused("gamma", invalid, "has NULL for prepare, which is required", "");
  remove_folder(folder);
}

/* A table that is handed over in memory is checked as one from a library: registry.c,
 * register_driver. */
static void test_register(void) {
  folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "");
  wia_driver_t table = {.struct_size = sizeof table, .name = "in_memory"};
  CHECK_STATUS(wia_register_driver(NULL, 1, 0), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_register_driver(&table, 2, 0), WIA_STATUS_INCOMPATIBLE);
  CHECK_STATUS(wia_register_driver(&table, 0, 0), WIA_STATUS_INCOMPATIBLE);
  CHECK_STATUS(wia_register_driver(&table, 1, 0), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("count_devices");
  table.name = NULL;
  CHECK_STATUS(wia_register_driver(&table, 1, 0), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("(NULL)");
  table.struct_size = 0;
  CHECK_STATUS(wia_register_driver(&table, 1, 0), WIA_STATUS_INCOMPATIBLE);
  remove_folder(folder);
}

/* -- libraries --------------------------------------------------------------------------------- */

/* A copy of a driver library, cut after size bytes and with one byte changed. */
static void copy_library(const char *name, const char *library, size_t size, size_t place,
                         unsigned char byte) {
  static unsigned char bytes[1 << 22];
  FILE *file = fopen(library, "rb");
  if (file == NULL) abort();
  const size_t length = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  if (place > 0) bytes[place] = byte;
  write_bytes(folder, name, bytes, length < size ? length : size);
}

static void test_libraries(void) {
  folder = make_folder();
  enum { MACHINE = 18, BIG_ENDIAN_S390 = 22 }; /* e_machine of an ELF file */
  copy_library("truncated.so", LIBRARY("good"), 700, 0, 0);
  copy_library("foreign.so", LIBRARY("good"), SIZE_MAX, MACHINE, BIG_ENDIAN_S390);
  write_text(folder, "empty.so", "");
  write_text(folder, "text.so", "this is no library\n");
  announce(folder, "truncated", "truncated.so", "");
  announce(folder, "foreign", "foreign.so", "");
  announce(folder, "empty", "empty.so", "");
  announce(folder, "text", "text.so", "");
  announce(folder, "missing", "no-such-library.so", "");
  announce(folder, "undefined", LIBRARY("undefined"), "");
  announce(folder, "entryless", LIBRARY("entryless"), "");
  announce(folder, "good", LIBRARY("good"), "");
  /* The causes are the loader's own words: negotiate.c, loader_text. */
  const wia_status_t status = WIA_STATUS_UNAVAILABLE;
  const char *part = "can't be used; the cause has the loader's words";
  check_refused("truncated", status, part, "truncated.so: ");
  check_refused("foreign", status, part, "foreign.so: ");
  check_refused("empty", status, part, "empty.so: file too short");
  check_refused("text", status, part, "text.so: ");
  check_refused("missing", status, part,
                "no-such-library.so: cannot open shared object file: No such file or directory");
  check_refused("undefined", status, part, "undefined symbol: wia_test_symbol_of_nobody");
  check_refused("entryless", status, part, "undefined symbol: wia_negotiate_driver");
  check_loads("good");
  remove_folder(folder);
}

/* -- drivers that misbehave -------------------------------------------------------------------- */

static void test_misbehaviour(void) {
  folder = make_folder();
  setenv("WIA_DRIVER_TIMEOUT", "5", 1); /* enough for the good ones on a busy machine */
  announce(folder, "refusing", LIBRARY("refusing"), "");
  announce(folder, "mumbling", LIBRARY("mumbling"), "");
  announce(folder, "hanging", LIBRARY("hanging"), "");
  announce(folder, "ending", LIBRARY("ending"), "");
  announce(folder, "good", LIBRARY("good"), "");
  /* negotiate.c: the status is looked at; its own message and cause are kept. */
  check_refused("refusing", WIA_STATUS_FAILED_PRECONDITION,
                "returned FAILED_PRECONDITION (9): the firmware is too old", "firmware 3 of 7");
  /* known_status */
  check_refused("mumbling", WIA_STATUS_INTERNAL, "returned UNKNOWN_STATUS (4711)", "");
  /* job.c: the deadline, and end_job as a clean-up. Without them this test hangs. */
  check_refused("hanging", WIA_STATUS_DEADLINE_EXCEEDED,
                "did not register within 5 s and was given up; WIA_DRIVER_TIMEOUT", "");
  check_refused("ending", WIA_STATUS_ABORTED, "ended its thread while it was loaded", "");
  check_loads("good");
  remove_folder(folder);
}

/* A driver that asks for itself while it is loaded gets an answer at once and no deadlock:
 * loader.c, is_loading_for. Without it that answer is a time-out. */
static void test_asking(void) {
  folder = make_folder();
  announce(folder, "asking", LIBRARY("asking"), "");
  check_refused("asking", WIA_STATUS_FAILED_PRECONDITION, "returned FAILED_PRECONDITION (9)", "");
  remove_folder(folder);
}

/* All bad ones at once in an enumeration: the good ones are there, the bad ones stand in the
 * report, and the last error of the thread is left alone. */
static void test_all_together(void) {
  folder = make_folder();
  setenv("WIA_DRIVER_TIMEOUT", "5", 1); /* enough for the good ones on a busy machine */
  const char *bad[] = {"ending", "entryless", "hanging", "major_two", "null_entry", "refusing"};
  enum { BAD_COUNT = sizeof bad / sizeof bad[0] };
  for (int i = 0; i < BAD_COUNT; ++i) {
    char library[PATH_MAX];
    snprintf(library, sizeof library, "%s/%s.so", TEST_DRIVERS, bad[i]);
    announce(folder, bad[i], library, "priority = 10\n");
  }
  announce(folder, "good", LIBRARY("good"), "");
  announce(folder, "newer", LIBRARY("newer"), "");
  write_text(folder, "broken.manifest", "?");
  int32_t ids[8];
  uint32_t count = 0;
  CHECK_STATUS(wia_get_devices(ids, 8, &count), WIA_STATUS_OK);
  CHECK(count == 2);
  wia_error_info_t error = WIA_ERROR_INFO_INIT;
  CHECK_STATUS(wia_get_last_error(&error), WIA_STATUS_OK);
  CHECK(error.status == WIA_STATUS_OK);
  for (uint32_t i = 0; i < count; ++i) {
    wia_device_info_t info = WIA_DEVICE_INFO_INIT;
    CHECK_STATUS(wia_get_device_info(ids[i], &info), WIA_STATUS_OK);
    CHECK(strcmp(info.name, i == 0 ? "good:0" : "newer:0") == 0);
  }
  for (int i = 0; i < BAD_COUNT; ++i) {
    const wia_load_record_t record = find_record(".manifest", bad[i]);
    CHECK(record.state == WIA_DRIVER_STATE_REFUSED);
    CHECK(record.status != WIA_STATUS_OK);
    CHECK(record.message[0] != '\0');
  }
  remove_folder(folder);
}

int main(void) {
  RUN_ALONE(test_versions);
  RUN_ALONE(test_driver_of_the_minor_version_before_or_after_loads_and_runs);
  RUN_ALONE(test_streams);
  RUN_ALONE(test_tables);
  RUN_ALONE(test_register);
  RUN_ALONE(test_libraries);
  RUN_ALONE(test_misbehaviour);
  RUN_ALONE(test_asking);
  RUN_ALONE(test_all_together);
  return CHECK_DONE();
}
