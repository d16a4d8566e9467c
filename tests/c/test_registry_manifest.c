/* Manifests: what is read from them, and that a broken one is a record with its line and never a
 * crash (scenario 6). Beside each check: the guard without which it fails. */
#include <errno.h>

#include "folder.h"

static const char *folder;

/* The record of a manifest with that text. Each call uses a new file: they are all read at once. */
typedef struct case_t {
  const char *file, *text, *part;
} case_t;

static const case_t cases[] = {
    /* manifest.c, read_lines: the loop over required keys */
    {"a00.manifest", "", "without the key name"},
    {"a01.manifest", "name = x\nabi = 1.0\n", "line 2 without the key library"},
    {"a02.manifest", "name = x\nlibrary = x.so", "line 2 without the key abi"},
    /* manifest.c, read_line: equals == NULL */
    {"a03.manifest", "name = x\n\n# fine\nnonsense\n",
     "line 4 is \"nonsense\"; expected key = value"},
    /* set_value: wia__is_driver_name */
    {"a04.manifest", "name = Npu\n", "line 1: name is \"Npu\"; expected"},
    {"a05.manifest", "name = \n", "line 1: name is \"\"; expected"},
    {"a06.manifest", "name = a-b\n", "line 1: name is \"a-b\"; expected"},
    {"a07.manifest", "name = a123456789012345678901234567890123456789012345678901234567890123\n",
     "at most 63"},
    /* set_value: the empty library */
    {"a08.manifest", "library =\n", "line 1: library is \"\"; expected the path"},
    /* parse_abi */
    {"a09.manifest", "abi = 1\n", "line 1: abi is \"1\"; expected two numbers"},
    {"a10.manifest", "abi = 1.x\n", "line 1: abi is \"1.x\"; expected two numbers"},
    {"a11.manifest", "abi = -1.0\n", "line 1: abi is \"-1.0\"; expected two numbers"},
    {"a12.manifest", "abi = 99999999999999999999.0\n", "expected two numbers"},
    /* parse_integer */
    {"a13.manifest", "priority = high\n", "priority is \"high\"; expected a whole number"},
    {"a14.manifest", "priority = 3000000000\n", "expected a whole number of 32 bits"},
    {"a15.manifest", "default = maybe\n", "default is \"maybe\"; expected yes or no"},
    /* read_line: lines_of_keys */
    {"a16.manifest", "name = x\nname = y\n", "line 2 gives name again, which line 1 gave"},
    /* read_lines: unknown_problem */
    {"a17.manifest", "name = x\nlibrary = x.so\nabi = 1.0\npriorty = 3\n",
     "line 4 has the unknown key \"priorty\"; the keys are"},
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

static void check_refused(const char *file, const char *part) {
  const wia_load_record_t record = find_record(file, NULL);
  CHECK(record.state == WIA_DRIVER_STATE_REFUSED);
  CHECK(record.status == WIA_STATUS_INVALID_ARGUMENT);
  CHECK(record.kind == WIA_DRIVER_KIND_NATIVE);
  CHECK(record.slot == -1);
  CHECK_TEXT(record.message, part);
}

static void test_malformed(void) {
  folder = make_folder();
  for (int i = 0; i < CASE_COUNT; ++i) write_text(folder, cases[i].file, cases[i].text);
  announce(folder, "good", LIBRARY("good"), "");
  for (int i = 0; i < CASE_COUNT; ++i) check_refused(cases[i].file, cases[i].part);
  /* A name that was read before the fault is kept, and asking for it tells the fault: registry.c,
   * explain_absence. */
  int32_t id;
  CHECK_STATUS(wia_find_device("x", &id), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("line 2 without the key library");
  /* One bad driver doesn't hide a good one. */
  CHECK_STATUS(wia_find_device("good", &id), WIA_STATUS_OK);
  remove_folder(folder);
}

static void path_in(char *path, const char *name) {
  snprintf(path, PATH_MAX + 256, "%s/%s", folder, name);
}

static void test_odd_files(void) {
  folder = make_folder();
  char path[PATH_MAX + 256];
  static char huge[100 * 1024];
  memset(huge, '#', sizeof huge);
  write_bytes(folder, "b0.manifest", huge, sizeof huge);
  write_bytes(folder, "b1.manifest", "name = x\0y\n", 11);
  write_bytes(folder, "b2.manifest", "\xff\xfe\x00\x01=\xff", 6);
  path_in(path, "b3.manifest");
  CHECK(mkdir(path, 0755) == 0);
  path_in(path, "b4.manifest");
  CHECK(symlink("nowhere", path) == 0);
  path_in(path, "b5.manifest");
  CHECK(mkfifo(path, 0644) == 0);
  path_in(path, "b6.manifest");
  CHECK(symlink("b6.manifest", path) == 0);
  write_text(folder, "b7.manifest", "name = x\n");
  path_in(path, "b7.manifest");
  CHECK(chmod(path, 0) == 0);
  write_text(folder, "notes_of_mine.txt", "nonsense");
  write_text(folder, ".manifest", "nonsense");
  /* Carriage returns, no space, a comment, no newline at the end. */
  write_text(folder, "good.manifest",
             "# good\r\nname=good\r\n\r\nlibrary\t=  " LIBRARY("good") "\r\nabi=1.0");
  /* root can read anything: the unreadable file needs another user. */
  CHECK(chmod(folder, 0755) == 0);
  const bool is_root = geteuid() == 0;
  if (is_root) CHECK(seteuid(65534) == 0);
  uint32_t count = 0;
  CHECK_STATUS(wia_get_load_record_count(&count), WIA_STATUS_OK);
  if (is_root) CHECK(seteuid(0) == 0);
  check_refused("b0.manifest", "102400 bytes; expected at most 65536"); /* FILE_LIMIT */
  check_refused("b1.manifest", "line 1 has a zero byte");               /* the memchr for '\0' */
  check_refused("b2.manifest", "line 1 has a zero byte");
  check_refused("b3.manifest", "not a regular file"); /* S_ISREG */
  check_refused("b4.manifest", strerror(ENOENT));
  check_refused("b5.manifest", "not a regular file"); /* O_NONBLOCK: without it this hangs */
  check_refused("b6.manifest", strerror(ELOOP));
  check_refused("b7.manifest", strerror(EACCES));
  CHECK(find_record("notes_of_mine.txt", NULL).state == WIA_DRIVER_STATE_NONE); /* is_manifest */
  CHECK(find_record("/.manifest", NULL).state == WIA_DRIVER_STATE_NONE);
  const wia_load_record_t good = find_record("good.manifest", "good");
  CHECK(good.state == WIA_DRIVER_STATE_FOUND);
  CHECK(good.priority == 0);
  int32_t id;
  CHECK_STATUS(wia_find_device("good", &id), WIA_STATUS_OK);
  remove_folder(folder);
}

/* Manifests of newer ABIs: an unknown key is let through (read_lines: newer), another major version
 * is refused without loading (discovery.c, add_manifest). */
static void test_versions(void) {
  folder = make_folder();
  write_text(folder, "newer.manifest",
             "name = newer\nlibrary = " LIBRARY("newer") "\nabi = 1.7\nfuture = 1\n");
  write_text(folder, "major_two.manifest",
             "name = major_two\nlibrary = no-such-library.so\nabi = 2.0\nfuture = 1\n");
  int32_t id;
  CHECK_STATUS(wia_find_device("newer", &id), WIA_STATUS_OK);
  CHECK_STATUS(wia_find_device("major_two", &id), WIA_STATUS_INCOMPATIBLE);
  CHECK_MESSAGE("driver ABI 2.0, this library has 1.1");
  const wia_load_record_t record = find_record("major_two.manifest", "major_two");
  CHECK(record.state == WIA_DRIVER_STATE_REFUSED);
  CHECK(record.status == WIA_STATUS_INCOMPATIBLE);
  remove_folder(folder);
}

/* A library relative to the manifest's folder (manifest.c, join_library), a folder that doesn't
 * exist or is a file, empty parts of the path. */
static void test_folders(void) {
  folder = make_folder();
  char path[PATH_MAX + 256], list[4 * PATH_MAX];
  path_in(path, "copy.so");
  CHECK(symlink(LIBRARY("good"), path) == 0);
  announce(folder, "good", "copy.so", "priority = -5\n");
  write_text(folder, "file", "");
  snprintf(list, sizeof list, "::%s/no-such-folder:%s/file:%s:", folder, folder, folder);
  setenv("WIA_DRIVER_PATH", list, 1);
  int32_t id;
  CHECK_STATUS(wia_find_device("good", &id), WIA_STATUS_OK);
  const wia_load_record_t good = find_record("good.manifest", "good");
  CHECK(good.state == WIA_DRIVER_STATE_LOADED);
  CHECK(good.priority == -5);
  CHECK(strcmp(good.version, "1.2.3") == 0);
  CHECK(good.slot >= 0);
  CHECK(find_record("no-such-folder", NULL).state == WIA_DRIVER_STATE_NONE); /* ENOENT is silent */
  const wia_load_record_t file = find_record("/file", NULL);
  CHECK(file.state == WIA_DRIVER_STATE_REFUSED);
  CHECK_TEXT(file.message, strerror(ENOTDIR));
  remove_folder(folder);
}

/* The functions of the report: their arguments. */
static void test_report(void) {
  folder = make_folder();
  CHECK_STATUS(wia_get_load_record_count(NULL), WIA_STATUS_INVALID_ARGUMENT);
  uint32_t count = 0;
  CHECK_STATUS(wia_get_load_record_count(&count), WIA_STATUS_OK);
  wia_load_record_t record = WIA_LOAD_RECORD_INIT;
  CHECK_STATUS(wia_get_load_record(count, &record), WIA_STATUS_OUT_OF_RANGE);
  CHECK_STATUS(wia_get_load_record(UINT32_MAX, &record), WIA_STATUS_OUT_OF_RANGE);
  CHECK_STATUS(wia_get_load_record(0, NULL), WIA_STATUS_INVALID_ARGUMENT);
  record.struct_size = 0;
  CHECK_STATUS(wia_get_load_record(0, &record), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("WIA_LOAD_RECORD_INIT");
  remove_folder(folder);
}

int main(void) {
  RUN_ALONE(test_malformed);
  RUN_ALONE(test_odd_files);
  RUN_ALONE(test_versions);
  RUN_ALONE(test_folders);
  RUN_ALONE(test_report);
  return CHECK_DONE();
}
