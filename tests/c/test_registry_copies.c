/* Two copies of the library in one process: the later one refuses, naming both files. */
#include <dlfcn.h>

#include "folder.h"
#include "wia_driver.h"

typedef wia_status_t (*find_device_t)(const char *name, int32_t *out_id);
typedef wia_status_t (*get_last_error_t)(wia_error_info_t *out_info);

static void copy_file(const char *from, const char *to) {
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  char bytes[1 << 16];
  size_t size;
  if (!in || !out) abort();
  while ((size = fread(bytes, 1, sizeof bytes, in)) > 0)
    if (fwrite(bytes, 1, size, out) != size) abort();
  fclose(in);
  if (fclose(out)) abort();
}

static void test_copy(void) {
  const char *folder = make_folder();
  announce(folder, "good", LIBRARY("good"), "");
  Dl_info ours;
  int32_t id = -1;
  CHECK(dladdr((const void *)(uintptr_t)wia_find_device, &ours) != 0);
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/renamed.so", folder);
  copy_file(ours.dli_fname, path);
  void *copy = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!CHECK(copy != NULL)) return;
  find_device_t find_device;
  get_last_error_t get_last_error;
  void *symbol = dlsym(copy, "wia_find_device");
  memcpy(&find_device, &symbol, sizeof find_device);
  symbol = dlsym(copy, "wia_get_last_error");
  memcpy(&get_last_error, &symbol, sizeof get_last_error);
  CHECK(find_device != wia_find_device);
  CHECK(find_device("good", &id) == WIA_STATUS_FAILED_PRECONDITION);
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  CHECK(get_last_error(&info) == WIA_STATUS_OK);
  CHECK_TEXT(info.message, ours.dli_fname);
  CHECK_TEXT(info.message, path);
  CHECK_STATUS(wia_find_device("good", &id), WIA_STATUS_OK); /* the first one goes on */
  /* by another path it is the same library */
  snprintf(path, sizeof path, "%s/linked.so", folder);
  CHECK(symlink(ours.dli_fname, path) == 0);
  copy = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  symbol = copy ? dlsym(copy, "wia_find_device") : NULL;
  memcpy(&find_device, &symbol, sizeof find_device);
  CHECK(find_device == wia_find_device);
  remove_folder(folder);
}

int main(void) {
  RUN_ALONE(test_copy);
  return CHECK_DONE();
}
