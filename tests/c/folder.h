/* folder.h: a folder with manifests for a test of the registry, and records of the load report. */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

#include "check.h"

/* TEST_DRIVERS is set by the build. */
#define LIBRARY(name) TEST_DRIVERS "/" name ".so"

/* Fails at once and for a reason that the test knows, whatever Python this machine has. */
static inline void without_python(void) { setenv("WIA_LIBPYTHON", "no-such-python", 1); }

/* A new, empty folder, which WIA_DRIVER_PATH then names. */
static inline const char *make_folder(void) {
  static char path[PATH_MAX];
  if (mkdtemp(temporary_pattern("test", path, sizeof path)) == NULL) abort();
  setenv("WIA_DRIVER_PATH", path, 1);
  without_python();
  return path;
}

static inline void write_bytes(const char *folder, const char *name, const void *bytes,
                               size_t size) {
  char path[PATH_MAX + 256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) abort();
}

static inline void write_text(const char *folder, const char *name, const char *text) {
  write_bytes(folder, name, text, strlen(text));
}

/* <name>.manifest for a driver in a library; more are further lines. */
static inline void announce(const char *folder, const char *name, const char *library,
                            const char *more) {
  char file[128], text[2 * PATH_MAX];
  snprintf(file, sizeof file, "%s.manifest", name);
  snprintf(text, sizeof text, "name = %s\nlibrary = %s\nabi = 1.0\n%s", name, library, more);
  write_text(folder, file, text);
}

static inline void remove_folder(const char *folder) {
  DIR *entries = opendir(folder);
  for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
    char path[PATH_MAX + 256];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) remove(path);
  }
  if (entries != NULL) closedir(entries);
  rmdir(folder);
}

/* The first record whose source ends so and, unless name is NULL, that has that name. All zero with
 * state NONE: there is none. */
static inline wia_load_record_t find_record(const char *source_end, const char *name) {
  uint32_t count = 0;
  CHECK_STATUS(wia_get_load_record_count(&count), WIA_STATUS_OK);
  for (uint32_t i = 0; i < count; ++i) {
    wia_load_record_t record = WIA_LOAD_RECORD_INIT;
    CHECK_STATUS(wia_get_load_record(i, &record), WIA_STATUS_OK);
    const size_t length = strlen(record.source), tail = strlen(source_end);
    if (length >= tail && strcmp(record.source + length - tail, source_end) == 0 &&
        (name == NULL || strcmp(record.name, name) == 0))
      return record;
  }
  return (wia_load_record_t){.name = "", .source = "", .version = "", .message = "", .cause = ""};
}

#endif
