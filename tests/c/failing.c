/* The wrappers that the linker puts between wia_failing and the C library. */
#include "failing.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic uint64_t allocations, first_failing = UINT64_MAX, last_failing;
static _Atomic int64_t live, mapped; /* blocks; bytes, since mappings are cut */
static _Atomic bool fired;

void failing_arm(uint64_t n, bool also_later) {
  atomic_store(&allocations, 0);
  atomic_store(&fired, false);
  atomic_store(&last_failing, also_later ? UINT64_MAX : n);
  atomic_store(&first_failing, n);
}

bool failing_disarm(void) {
  atomic_store(&first_failing, UINT64_MAX);
  return atomic_load(&fired);
}

int64_t failing_live(void) { return atomic_load(&live); }
int64_t failing_mapped(void) { return atomic_load(&mapped); }

static bool fails(void) {
  const uint64_t n = atomic_fetch_add(&allocations, 1) + 1;
  if (n < atomic_load(&first_failing) || n > atomic_load(&last_failing)) return false;
  atomic_store(&fired, true);
  errno = ENOMEM;
  return true;
}

static void *count(void *made) {
  if (made) atomic_fetch_add(&live, 1);
  return made;
}

static int64_t whole_pages(size_t size) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (int64_t)((size + page - 1) / page * page);
}

/* What the library calls, and what that stands for: names that the linker gives. */
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t number, size_t size);
void *__wrap_realloc(void *block, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
int __wrap_asprintf(char **out_text, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_vasprintf(char **out_text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
int __wrap_scandir(const char *folder, struct dirent ***out_list,
                   int (*filter)(const struct dirent *),
                   int (*compare)(const struct dirent **, const struct dirent **));
void __wrap_free(void *block);
void *__wrap_mmap(void *address, size_t size, int access, int flags, int file, off_t offset);
int __wrap_munmap(void *address, size_t size);
int __wrap_pthread_create(pthread_t *out_thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument);
FILE *__wrap_fdopen(int file, const char *mode);
void *__real_malloc(size_t size);
void *__real_calloc(size_t number, size_t size);
void *__real_realloc(void *block, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
int __real_vasprintf(char **out_text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
int __real_scandir(const char *folder, struct dirent ***out_list,
                   int (*filter)(const struct dirent *),
                   int (*compare)(const struct dirent **, const struct dirent **));
void __real_free(void *block);
void *__real_mmap(void *address, size_t size, int access, int flags, int file, off_t offset);
int __real_munmap(void *address, size_t size);
int __real_pthread_create(pthread_t *out_thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument);
FILE *__real_fdopen(int file, const char *mode);

void *__wrap_malloc(size_t size) { return fails() ? NULL : count(__real_malloc(size)); }
void *__wrap_calloc(size_t number, size_t size) {
  return fails() ? NULL : count(__real_calloc(number, size));
}
void *__wrap_realloc(void *block, size_t size) {
  if (fails()) return NULL;
  void *made = __real_realloc(block, size);
  return block ? made : count(made);
}
char *__wrap_strdup(const char *text) { return fails() ? NULL : count(__real_strdup(text)); }
char *__wrap_strndup(const char *text, size_t size) {
  return fails() ? NULL : count(__real_strndup(text, size));
}
int __wrap_vasprintf(char **out_text, const char *format, va_list arguments) {
  if (fails()) return -1;
  const int length = __real_vasprintf(out_text, format, arguments);
  if (length >= 0) count(*out_text);
  return length;
}
int __wrap_asprintf(char **out_text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = __wrap_vasprintf(out_text, format, arguments);
  va_end(arguments);
  return length;
}
int __wrap_scandir(const char *folder, struct dirent ***out_list,
                   int (*filter)(const struct dirent *),
                   int (*compare)(const struct dirent **, const struct dirent **)) {
  if (fails()) return -1;
  const int entries = __real_scandir(folder, out_list, filter, compare);
  if (entries >= 0) atomic_fetch_add(&live, entries + 1);
  return entries;
}
void __wrap_free(void *block) {
  if (block) atomic_fetch_sub(&live, 1);
  __real_free(block);
}
void *__wrap_mmap(void *address, size_t size, int access, int flags, int file, off_t offset) {
  if (fails()) return MAP_FAILED;
  void *made = __real_mmap(address, size, access, flags, file, offset);
  if (made != MAP_FAILED) atomic_fetch_add(&mapped, whole_pages(size));
  return made;
}
int __wrap_munmap(void *address, size_t size) {
  atomic_fetch_sub(&mapped, whole_pages(size));
  return __real_munmap(address, size);
}
int __wrap_pthread_create(pthread_t *out_thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument) {
  return fails() ? EAGAIN : __real_pthread_create(out_thread, attributes, body, argument);
}
FILE *__wrap_fdopen(int file, const char *mode) {
  return fails() ? NULL : __real_fdopen(file, mode);
}
