/* Scenario 15, of what a process does once: registering drivers, looking for them, loading libraries,
 * opening devices. For every n a process of its own: the n-th allocation fails, that or all after it; a
 * call says RESOURCE_EXHAUSTED, and then all is there as if nothing had been. */
#include "core_driver.h"
#include "failing.h"
#include "folder.h"

/* Sanitizers make processes expensive. */
#if defined(__SANITIZE_THREAD__)
enum { STEP = 12 };
#elif defined(__SANITIZE_ADDRESS__)
enum { STEP = 3 };
#else
enum { STEP = 1 };
#endif
enum { MOST = 2000, MAX_RECORDS = 32 };

static const wia_status_t short_of = WIA_STATUS_RESOURCE_EXHAUSTED;
static wia_context_t *context;
static wia_stream_t *stream;
static wia_tensor_t tensor;

#define TRY(expression)                                                                            \
  do {                                                                                             \
    if (!status) status = (expression);                                                            \
  } while (0)

/* Stops at the first call that fails; called again it does all of it once more. */
static wia_status_t use_device(const char *name) {
  wia_status_t status = WIA_STATUS_OK;
  int32_t id = -1;
  float values[4] = {0};
  const int64_t shape[] = {4};
  wia_device_info_t info = WIA_DEVICE_INFO_INIT;
  TRY(wia_find_device(name, &id));
  TRY(wia_get_device_info(id, &info));
  TRY(wia_create_context(&context, id));
  TRY(wia_create_stream(&stream, context));
  TRY(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &tensor));
  TRY(wia_write_tensor(tensor, values, sizeof values, NULL));
  TRY(wia_add(context, tensor, tensor, tensor, stream));
  TRY(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE));
  if (tensor) CHECK_STATUS(wia_destroy_tensor(tensor), WIA_STATUS_OK);
  if (stream) CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  if (context) CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  tensor = NULL;
  stream = NULL;
  context = NULL;
  return status;
}

static wia_status_t use_all(void) {
  wia_status_t status = WIA_STATUS_OK;
  uint32_t count = 0;
  int32_t id = -1;
  TRY(core_register());
  TRY(use_device(NULL));
  TRY(use_device("queued:0"));
  TRY(wia_find_device("good", &id));
  TRY(wia_get_devices(NULL, 0, &count));
  TRY(wia_get_load_record_count(&count));
  return status;
}

static int compare_lines(const void *a, const void *b) { return strcmp(a, b); }

/* What is known of drivers and devices, as a text; the order in which they were found may differ. */
static void describe(char *text, size_t size) {
  static char lines[MAX_RECORDS][512];
  uint32_t count = 0, devices = 0, used = 0;
  CHECK_STATUS(wia_get_load_record_count(&count), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_devices(NULL, 0, &devices), WIA_STATUS_OK);
  for (uint32_t i = 0; i < count && used < MAX_RECORDS; i++) {
    wia_load_record_t record = WIA_LOAD_RECORD_INIT;
    CHECK_STATUS(wia_get_load_record(i, &record), WIA_STATUS_OK);
    if (record.kind != WIA_DRIVER_KIND_PYTHON) /* there is none */
      snprintf(lines[used++], sizeof lines[0], "%s, %s: state %d, version %s\n", record.name,
               record.source, (int)record.state, record.version);
  }
  qsort(lines, used, sizeof lines[0], compare_lines);
  size_t length = (size_t)snprintf(text, size, "%u devices\n", devices);
  for (uint32_t i = 0; i < used && length < size; i++)
    length += (size_t)snprintf(text + length, size - length, "%s", lines[i]);
}

typedef struct outcome_t {
  bool fired;
  char text[4096];
} outcome_t;
static outcome_t *outcome; /* of the child, in shared memory */
static uint64_t failing;
static bool also_later;

static void start_short(void) {
  failing_arm(failing, also_later);
  const wia_status_t status = use_all();
  outcome->fired = failing_disarm();
  CHECK(status == short_of || status == WIA_STATUS_OK);
  if (!CHECK_STATUS(use_all(), WIA_STATUS_OK)) return;
  describe(outcome->text, sizeof outcome->text);
  CHECK_CLEAN();
}

int main(void) {
  static char expected[sizeof outcome->text];
  const char *folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "");
  announce(folder, "three", LIBRARY("three"), "");
  announce(folder, "off", LIBRARY("good2"), "");
  setenv("WIA_DRIVERS", "core,bare,queued,sparse,good,three", 1);
  setenv("WIA_DEFAULT_DEVICE", "core", 1);
  setenv("WIA_LOG", "none", 1);
  outcome = mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (outcome == MAP_FAILED) abort();
  failing = UINT64_MAX;
  RUN_ALONE(start_short);
  memcpy(expected, outcome->text, sizeof expected);
  CHECK_TEXT(expected, "three");
  for (uint32_t later = 0; later < 2; later++) {
    also_later = later != 0;
    outcome->fired = true;
    for (failing = 1; outcome->fired && failing < MOST; failing += STEP) {
      RUN_ALONE(start_short);
      if (CHECK(strcmp(outcome->text, expected) == 0)) continue;
      printf("  allocation %llu%s:\n%s  expected:\n%s", (unsigned long long)failing,
             also_later ? " and later" : "", outcome->text, expected);
    }
    CHECK(failing > 10 && failing < MOST);
  }
  remove_folder(folder);
  return CHECK_DONE();
}
