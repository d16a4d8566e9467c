#include "manifest.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_LIMIT = 64 * 1024, SHOWN = 60 };

static const char suffix[] = ".manifest";
static const char no_memory[] = "memory, which is short";

enum { KEY_NAME, KEY_LIBRARY, KEY_ABI, KEY_PRIORITY, KEY_DEFAULT, KEY_COUNT };
static const char *const keys[KEY_COUNT] = {"name", "library", "abi", "priority", "default"};

/* What is known while a file is read. */
typedef struct reader_t {
  wia__manifest_t *manifest;
  const char *folder_end; /* of the manifest's path: behind its last slash */
  const char *path;
  uint32_t unknown_line; /* of the first unknown key, held back until abi is known; 0: none */
  char unknown_key[SHOWN + 1];
  uint32_t lines_of_keys[KEY_COUNT];
} reader_t;

/* -- the file ---------------------------------------------------------------------------------- */

/* Opening doesn't wait for the other end of a pipe. NULL: *out_problem is set. */
static char *read_file(const char *path, size_t *out_size, const char **out_problem) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    *out_problem = wia__text("the manifest can't be opened: %s", strerror(errno));
    return NULL;
  }
  struct stat status;
  char *text = NULL;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    *out_problem = wia__text("the manifest is not a regular file");
  } else if (status.st_size > FILE_LIMIT) {
    *out_problem = wia__text("the manifest has %" PRIdMAX " bytes; expected at most %d",
                             (intmax_t)status.st_size, FILE_LIMIT);
  } else if ((text = malloc(FILE_LIMIT + 1)) == NULL) {
    *out_problem = no_memory;
    wia__lost = true;
  } else {
    size_t size = 0;
    ssize_t count;
    while ((count = read(file, text + size, FILE_LIMIT - size)) > 0) size += (size_t)count;
    if (count < 0) {
      *out_problem = wia__text("the manifest can't be read: %s", strerror(errno));
      free(text);
      text = NULL;
    } else {
      text[size] = '\0';
      *out_size = size;
    }
  }
  close(file);
  return text;
}

/* -- lines ------------------------------------------------------------------------------------- */

/* Without the white space on both ends, in place. */
static char *trim(char *text) {
  while (isspace((unsigned char)*text)) ++text;
  size_t length = strlen(text);
  while (length > 0 && isspace((unsigned char)text[length - 1])) --length;
  text[length] = '\0';
  return text;
}

static bool parse_integer(const char *text, int64_t minimum, int64_t maximum, int64_t *out_value) {
  if (text[0] != '-' && !isdigit((unsigned char)text[0])) return false;
  char *end;
  *out_value = strtoll(text, &end, 10); /* saturates */
  return end != text && *end == '\0' && *out_value >= minimum && *out_value <= maximum;
}

static bool parse_abi(const char *text, uint32_t *out_major, uint32_t *out_minor) {
  char head[16];
  const char *dot = strchr(text, '.');
  if (dot == NULL || (size_t)(dot - text) >= sizeof head) return false;
  memcpy(head, text, (size_t)(dot - text));
  head[dot - text] = '\0';
  int64_t major, minor;
  if (!parse_integer(head, 0, UINT32_MAX, &major) || !parse_integer(dot + 1, 0, UINT32_MAX, &minor))
    return false;
  *out_major = (uint32_t)major;
  *out_minor = (uint32_t)minor;
  return true;
}

static char *join_library(const reader_t *reader, const char *value) {
  const size_t folder = value[0] == '/' ? 0 : (size_t)(reader->folder_end - reader->path);
  const size_t length = strlen(value);
  char *library = malloc(folder + length + 1);
  if (library == NULL) return NULL;
  memcpy(library, reader->path, folder);
  memcpy(library + folder, value, length + 1);
  return library;
}

/* NULL, or what was expected. */
static const char *set_value(reader_t *reader, int key, const char *value) {
  wia__manifest_t *manifest = reader->manifest;
  int64_t number;
  switch (key) {
  case KEY_NAME:
    if (!wia__is_driver_name(value))
      return "a name of lower-case letters, digits and _ that starts with a letter, at most 63";
    memcpy(manifest->name, value, strlen(value) + 1);
    return NULL;
  case KEY_LIBRARY:
    if (value[0] == '\0') return "the path of a shared library";
    manifest->library = join_library(reader, value);
    wia__lost |= manifest->library == NULL;
    return manifest->library != NULL ? NULL : no_memory;
  case KEY_ABI:
    if (!parse_abi(value, &manifest->abi_major, &manifest->abi_minor))
      return "two numbers with a dot, for example 1.0";
    return NULL;
  case KEY_PRIORITY:
    if (!parse_integer(value, INT32_MIN, INT32_MAX, &number)) return "a whole number of 32 bits";
    manifest->priority = (int32_t)number;
    return NULL;
  default:
    if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0) return "yes or no";
    manifest->may_be_default = value[0] == 'y';
    return NULL;
  }
}

/* NULL, or the problem. */
static const char *read_line(reader_t *reader, uint32_t number, char *line) {
  line = trim(line);
  if (line[0] == '\0' || line[0] == '#') return NULL;
  char *equals = strchr(line, '=');
  if (equals == NULL)
    return wia__text("line %u is \"%.*s\"; expected key = value", number, SHOWN, line);
  *equals = '\0';
  const char *name = trim(line), *value = trim(equals + 1);
  int key = 0;
  while (key < KEY_COUNT && strcmp(name, keys[key]) != 0) ++key;
  if (key == KEY_COUNT) {
    if (reader->unknown_line == 0) {
      reader->unknown_line = number;
      snprintf(reader->unknown_key, sizeof reader->unknown_key, "%s", name);
    }
    return NULL;
  }
  if (reader->lines_of_keys[key] != 0)
    return wia__text("line %u gives %s again, which line %u gave; expected it once", number, name,
                     reader->lines_of_keys[key]);
  reader->lines_of_keys[key] = number;
  const char *expected = set_value(reader, key, value);
  if (expected == NULL) return NULL;
  return wia__text("line %u: %s is \"%.*s\"; expected %s", number, name, SHOWN, value, expected);
}

static const char *read_lines(reader_t *reader, char *text, size_t size) {
  uint32_t number = 1;
  for (char *line = text; line < text + size; ++number) {
    char *end = memchr(line, '\n', (size_t)(text + size - line));
    if (end == NULL) end = text + size;
    if (memchr(line, '\0', (size_t)(end - line)) != NULL)
      return wia__text("line %u has a zero byte; expected text", number);
    *end = '\0';
    const char *problem = read_line(reader, number, line);
    if (problem != NULL) return problem;
    line = end + 1;
  }
  for (int key = KEY_NAME; key <= KEY_ABI; ++key)
    if (reader->lines_of_keys[key] == 0)
      return wia__text("the manifest ends at line %u without the key %s; it needs name, library "
                       "and abi",
                       number - 1, keys[key]);
  const wia__manifest_t *manifest = reader->manifest;
  const bool newer =
      manifest->abi_major > WIA_DRIVER_ABI_MAJOR ||
      (manifest->abi_major == WIA_DRIVER_ABI_MAJOR && manifest->abi_minor > WIA_DRIVER_ABI_MINOR);
  if (newer || reader->unknown_line == 0) return NULL;
  return wia__text("line %u has the unknown key \"%s\"; the keys are name, library, abi, priority "
                   "and default",
                   reader->unknown_line, reader->unknown_key);
}

bool wia__read_manifest(const char *path, wia__manifest_t *out_manifest, const char **out_problem) {
  *out_manifest = (wia__manifest_t){.may_be_default = true};
  const char *slash = strrchr(path, '/');
  reader_t reader = {
      .manifest = out_manifest, .path = path, .folder_end = slash != NULL ? slash + 1 : path};
  size_t size = 0;
  char *text = read_file(path, &size, out_problem);
  if (text == NULL) return false;
  *out_problem = read_lines(&reader, text, size);
  free(text);
  if (*out_problem == NULL) return true;
  free(out_manifest->library);
  out_manifest->library = NULL;
  return false;
}

/* -- folders ----------------------------------------------------------------------------------- */

static int is_manifest(const struct dirent *entry) {
  const size_t length = strlen(entry->d_name), tail = sizeof suffix - 1;
  return length > tail && strcmp(entry->d_name + length - tail, suffix) == 0;
}

/* alphasort() follows the locale; the order of drivers doesn't. */
static int compare_names(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

void wia__free_list(char **list) {
  for (char **text = list; text != NULL && *text != NULL; ++text) free(*text);
  free(list);
}

char **wia__list_manifests(const char *folder, int *out_error) {
  struct dirent **entries;
  const int count = scandir(folder, &entries, is_manifest, compare_names);
  if (count < 0) {
    *out_error = errno;
    return NULL;
  }
  char **list = calloc((size_t)count + 1, sizeof *list);
  bool complete = list != NULL;
  for (int i = 0; i < count; ++i) {
    const size_t size = strlen(folder) + strlen(entries[i]->d_name) + 2;
    if (complete && (list[i] = malloc(size)) != NULL)
      snprintf(list[i], size, "%s/%s", folder, entries[i]->d_name);
    else
      complete = false;
    free(entries[i]);
  }
  free(entries);
  if (complete) return list;
  wia__free_list(list);
  *out_error = ENOMEM;
  return NULL;
}
