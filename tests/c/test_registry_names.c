/* Names: duplicates, exact matching, device strings, the default driver, WIA_DRIVERS (scenario 8).
 * Beside each check: the guard without which it fails. */
#include <malloc.h>

#include "drivers/tiny.h"
#include "folder.h"

static const char *folder;

static void check_device(const char *text, const char *name) {
  int32_t id = -1;
  if (!CHECK_STATUS(wia_find_device(text, &id), WIA_STATUS_OK)) return;
  wia_device_info_t info = WIA_DEVICE_INFO_INIT;
  CHECK_STATUS(wia_get_device_info(id, &info), WIA_STATUS_OK);
  CHECK(strcmp(info.name, name) == 0);
  CHECK(info.device_id == id);
}

static void check_absent(const char *text, wia_status_t status, const char *part) {
  int32_t id = -7;
  if (!CHECK_STATUS(wia_find_device(text, &id), status)) printf("  name %s\n", text);
  CHECK(id == -7);
  CHECK_MESSAGE(part);
}

/* Unknown for good, or perhaps a Python driver that can't be asked for here. */
static const wia_status_t UNKNOWN_NAME =
    TEST_HAS_PYTHON ? WIA_STATUS_UNAVAILABLE : WIA_STATUS_NOT_FOUND;

/* -- duplicates -------------------------------------------------------------------------------- */

static void test_duplicates(void) {
  folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "");
  char path[PATH_MAX + 256], text[2 * PATH_MAX];
  snprintf(path, sizeof path, "%s/link.so", folder);
  CHECK(symlink(LIBRARY("good"), path) == 0);
  write_text(folder, "good_again.manifest", "name = good\nlibrary = link.so\nabi = 1.0\n");
  snprintf(text, sizeof text, "name = good\nlibrary = %s\nabi = 1.0\n", LIBRARY("other_good"));
  write_text(folder, "other_good.manifest", text);
  check_device("good", "good:0");
  /* records.c, is_same_driver: the same file by another path is the same driver. */
  wia_load_record_t record = find_record("/good_again.manifest", "good");
  CHECK(record.state == WIA_DRIVER_STATE_DUPLICATE);
  CHECK_TEXT(record.message, "/good.manifest");
  /* judge: owner != NULL */
  record = find_record("/other_good.manifest", "good");
  CHECK(record.state == WIA_DRIVER_STATE_REFUSED);
  CHECK(record.status == WIA_STATUS_ALREADY_EXISTS);
  CHECK_TEXT(record.message, "/good.manifest");
  CHECK_TEXT(record.message, "/other_good.manifest");
  uint32_t count = 0;
  CHECK_STATUS(wia_get_devices(NULL, 0, &count), WIA_STATUS_OK);
  CHECK(count == 1);
  remove_folder(folder);
}

/* The first folder of WIA_DRIVER_PATH wins, whatever the priority. */
static void test_search_order(void) {
  static char first[PATH_MAX];
  snprintf(first, sizeof first, "%s", make_folder());
  announce(first, "zz_good", LIBRARY("good"), "");
  folder = make_folder();
  announce(folder, "good", LIBRARY("other_good"), "priority = 99\n");
  write_text(first, "zz_good.manifest", "name = good\nlibrary = " LIBRARY("good") "\nabi = 1.0\n");
  char list[2 * PATH_MAX + 2];
  snprintf(list, sizeof list, "%s:%s", first, folder);
  setenv("WIA_DRIVER_PATH", list, 1);
  check_device("good", "good:0");
  CHECK(find_record("/zz_good.manifest", "good").state == WIA_DRIVER_STATE_LOADED);
  CHECK(find_record("/good.manifest", "good").state == WIA_DRIVER_STATE_REFUSED);
  remove_folder(first);
  remove_folder(folder);
}

static void test_exact_names(void) {
  folder = make_folder();
  announce(folder, "good2", LIBRARY("good2"), "");
  /* records.c, wia__find_owner: names are compared whole. */
  check_absent("good", UNKNOWN_NAME, "did you mean \"good2\"? known drivers: good2");
  check_absent("good22", UNKNOWN_NAME, "good2");
  check_absent("nothing_like_it", UNKNOWN_NAME, "known drivers: good2");
  check_device("good2", "good2:0");
  remove_folder(folder);
}

/* Asking in vain again and again costs no memory: wia__refuse() in registry.c. (Sanitizers have an
 * allocator of their own, which mallinfo2() doesn't see.) */
static void test_growth(void) {
  folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "");
  announce(folder, "null_entry", LIBRARY("null_entry"), "");
  static wia_driver_t taken;
  tiny_make(&taken, "good");
  uint32_t failures = 0;
  size_t before = 0;
  for (int i = 0; i < 3000; ++i) {
    if (i == 100) before = mallinfo2().uordblks;
    int32_t id;
    uint32_t count;
    failures += wia_find_device("unknown", &id) != WIA_STATUS_OK;
    failures += wia_find_device("null_entry", &id) != WIA_STATUS_OK;
    failures += wia_find_device("good:7", &id) != WIA_STATUS_OK;
    failures += wia_register_driver(&taken, 1, 0) != WIA_STATUS_OK;
    failures += wia_get_devices(NULL, 0, &count) != WIA_STATUS_OK;
  }
  CHECK(failures == 4 * 3000);
  CHECK(mallinfo2().uordblks < before + 16 * 1024);
  remove_folder(folder);
}

static void test_register(void) {
  folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "default = no\n");
  static wia_driver_t table, twin, taken;
  tiny_host = wia_get_host();
  CHECK(tiny_host != NULL);
  tiny_make(&table, "in_memory");
  tiny_make(&twin, "in_memory");
  tiny_make(&taken, "good");
  /* registry.c, discover(): before anybody has looked for drivers, the name is taken already. */
  CHECK_STATUS(wia_register_driver(&taken, 1, 0), WIA_STATUS_ALREADY_EXISTS);
  CHECK_MESSAGE("good.manifest");
  CHECK_STATUS(wia_register_driver(&table, 1, 0), WIA_STATUS_OK);
  check_device("in_memory", "in_memory:0");
  int32_t id = 0;
  CHECK_STATUS(wia_find_device("in_memory", &id), WIA_STATUS_OK);
  CHECK(id >= 256); /* not the default slot */
  /* registry.c, add_registered: wia__find_owner */
  CHECK_STATUS(wia_register_driver(&twin, 1, 0), WIA_STATUS_ALREADY_EXISTS);
  CHECK_MESSAGE("the name \"in_memory\" is taken by the driver from the process itself");
  const wia_load_record_t record = find_record("the process itself", "in_memory");
  CHECK(record.kind == WIA_DRIVER_KIND_MEMORY);
  CHECK(record.state == WIA_DRIVER_STATE_LOADED);
  CHECK(strcmp(record.version, "1.2.3") == 0);
  CHECK(record.slot == id / 256);
  remove_folder(folder);
}

/* -- device strings ---------------------------------------------------------------------------- */

static void test_device_strings(void) {
  folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "");
  setenv("WIA_GOOD_DEVICES", "2", 1);
  check_device("good", "good:0");
  check_device("good:0", "good:0");
  check_device("good:1", "good:1");
  check_device("good:001", "good:1");
  check_absent("good:2", WIA_STATUS_NOT_FOUND, "the driver has 2 now");
  check_absent("good:256", WIA_STATUS_NOT_FOUND, "good:256");
  /* names.c: the ordinal saturates instead of running over to 0. */
  check_absent("good:4294967296", WIA_STATUS_NOT_FOUND, "good:4294967295");
  check_absent("good:18446744073709551616", WIA_STATUS_NOT_FOUND, "good:4294967295");
  const char *malformed[] = {"Good",  "good:",   "good:x",  "good:-1",  "good:+1",
                             ":0",    " good",   "good ",   "0good",    "_good",
                             "go-od", "good:1:", "good:1 ", "g\xc3\xb6"};
  for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; ++i)
    check_absent(malformed[i], WIA_STATUS_INVALID_ARGUMENT, "expected driver or driver:ordinal");
  char longest[80];
  memset(longest, 'a', sizeof longest);
  longest[63] = '\0';
  check_absent(longest, UNKNOWN_NAME, "known drivers: good");
  longest[63] = 'a';
  longest[64] = '\0';
  check_absent(longest, WIA_STATUS_INVALID_ARGUMENT, "expected driver or driver:ordinal");
  CHECK_STATUS(wia_find_device("good", NULL), WIA_STATUS_INVALID_ARGUMENT);
  remove_folder(folder);
}

/* -- the default driver ------------------------------------------------------------------------ */

static void test_default_by_priority(void) {
  folder = make_folder();
  announce(folder, "alpha", LIBRARY("three"), "priority = -1\n");
  announce(folder, "good", LIBRARY("good"), "priority = 5\n");
  announce(folder, "good2", LIBRARY("good2"), "priority = 5\n"); /* later in the order */
  announce(folder, "newer", LIBRARY("newer"), "priority = 50\ndefault = no\n");
  announce(folder, "oldest", LIBRARY("oldest"), "priority = 40\n");
  setenv("WIA_DRIVERS", "*,-oldest", 1);
  /* slots.c, find_best_native: may_be_default, owner, priority */
  check_device(NULL, "good:0");
  check_device("", "good:0");
  int32_t id = -1;
  CHECK_STATUS(wia_find_device("good", &id), WIA_STATUS_OK);
  CHECK(id == 0);
  /* Nothing else was loaded for it. */
  CHECK(find_record("alpha.manifest", "alpha").state == WIA_DRIVER_STATE_FOUND);
  CHECK(find_record("alpha.manifest", "alpha").slot == -1);
  wia_device_info_t info = WIA_DEVICE_INFO_INIT;
  CHECK_STATUS(wia_get_device_info(0, &info), WIA_STATUS_OK);
  CHECK(strcmp(info.name, "good:0") == 0);
  remove_folder(folder);
}

static void test_default_by_variable(void) {
  folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "priority = 5\n");
  announce(folder, "good2", LIBRARY("good2"), "default = no\n");
  setenv("WIA_DEFAULT_DEVICE", "good2", 1);
  check_device(NULL, "good2:0");
  int32_t id = -1;
  CHECK_STATUS(wia_find_device("good2:0", &id), WIA_STATUS_OK);
  CHECK(id == 0);
  CHECK_STATUS(wia_find_device("good", &id), WIA_STATUS_OK);
  CHECK(id == 256);
  remove_folder(folder);
}

static void test_default_in_memory(void) {
  folder = make_folder();
  setenv("WIA_DEFAULT_DEVICE", "in_memory:0", 1);
  static wia_driver_t table;
  tiny_host = wia_get_host();
  tiny_make(&table, "in_memory");
  check_absent(NULL, UNKNOWN_NAME,
               "the default driver is \"in_memory\", which WIA_DEFAULT_DEVICE names, and can't");
  CHECK_STATUS(wia_register_driver(&table, 1, 0), WIA_STATUS_OK);
  check_device(NULL, "in_memory:0");
  remove_folder(folder);
}

static void test_default_malformed(void) {
  folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "");
  setenv("WIA_DEFAULT_DEVICE", "good:1", 1);
  check_absent(NULL, WIA_STATUS_INVALID_ARGUMENT, "WIA_DEFAULT_DEVICE is \"good:1\"; expected");
  check_device("good", "good:0");
  remove_folder(folder);
}

/* With nothing there, "reference" is what is looked for, and the error says what to do. */
static void test_default_absent(void) {
  folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "default = no\n");
  check_absent(NULL, UNKNOWN_NAME, "the default driver is \"reference\", since no native driver");
  CHECK_MESSAGE("Set WIA_DEFAULT_DEVICE to the name of another driver");
  wia_context_t *context = NULL;
  CHECK_STATUS(wia_create_context(&context, 0), UNKNOWN_NAME);
  CHECK(context == NULL);
  if (TEST_HAS_PYTHON) CHECK_MESSAGE("no-such-python");
  remove_folder(folder);
}

static void test_default_broken(void) {
  folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "");
  announce(folder, "null_entry", LIBRARY("null_entry"), "priority = 9\n");
  check_absent(NULL, WIA_STATUS_INVALID_ARGUMENT,
               "the default driver is \"null_entry\", the native driver of highest priority, and "
               "can't be used: the table of driver \"null_entry\" has NULL for allocate");
  check_device("good", "good:0");
  remove_folder(folder);
}

/* -- WIA_DRIVERS ------------------------------------------------------------------------------- */

static void check_patterns(const char *patterns, bool good, bool good2) {
  folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "");
  announce(folder, "good2", LIBRARY("good2"), "");
  setenv("WIA_DRIVERS", patterns, 1);
  int32_t id;
  CHECK_STATUS(wia_find_device("good", &id), good ? WIA_STATUS_OK : WIA_STATUS_NOT_FOUND);
  if (!good) CHECK_MESSAGE("switched off by WIA_DRIVERS=");
  CHECK_STATUS(wia_find_device("good2", &id), good2 ? WIA_STATUS_OK : WIA_STATUS_NOT_FOUND);
  const wia_load_record_t record = find_record("/good2.manifest", "good2");
  CHECK(record.state == (good2 ? WIA_DRIVER_STATE_LOADED : WIA_DRIVER_STATE_DISABLED));
  if (!good2) CHECK_TEXT(record.message, "switched off by WIA_DRIVERS=");
  uint32_t count = 0;
  CHECK_STATUS(wia_get_devices(NULL, 0, &count), WIA_STATUS_OK);
  CHECK(count == (uint32_t)good + (uint32_t)good2);
  remove_folder(folder);
}

/* names.c, wia__is_enabled */
static void test_all(void) { check_patterns("*", true, true); }
static void test_all_but(void) { check_patterns("*,-good2", true, false); }
static void test_only(void) { check_patterns("good2", false, true); }
static void test_later_wins(void) { check_patterns("-good*, good2 ,", false, true); }
static void test_minus_alone(void) { check_patterns("-good", false, true); }
static void test_character_class(void) { check_patterns("good[0-9]", false, true); }

static void test_disabled_in_memory(void) {
  folder = make_folder();
  setenv("WIA_DRIVERS", "-in_memory", 1);
  static wia_driver_t table;
  tiny_host = wia_get_host();
  tiny_make(&table, "in_memory");
  CHECK_STATUS(wia_register_driver(&table, 1, 0), WIA_STATUS_OK);
  check_absent("in_memory", WIA_STATUS_NOT_FOUND, "switched off by WIA_DRIVERS=-in_memory");
  CHECK(find_record("the process itself", "in_memory").state == WIA_DRIVER_STATE_DISABLED);
  remove_folder(folder);
}

int main(void) {
  RUN_ALONE(test_duplicates);
  RUN_ALONE(test_search_order);
  RUN_ALONE(test_exact_names);
  RUN_ALONE(test_growth);
  RUN_ALONE(test_register);
  RUN_ALONE(test_device_strings);
  RUN_ALONE(test_default_by_priority);
  RUN_ALONE(test_default_by_variable);
  RUN_ALONE(test_default_in_memory);
  RUN_ALONE(test_default_malformed);
  RUN_ALONE(test_default_absent);
  RUN_ALONE(test_default_broken);
  RUN_ALONE(test_all);
  RUN_ALONE(test_all_but);
  RUN_ALONE(test_only);
  RUN_ALONE(test_later_wins);
  RUN_ALONE(test_minus_alone);
  RUN_ALONE(test_character_class);
  RUN_ALONE(test_disabled_in_memory);
  return CHECK_DONE();
}
