#include "platform.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NANOSECONDS = 1000000000 };

void wia__pause(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

int64_t wia__now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * NANOSECONDS + now.tv_nsec;
}

int wia__init_condition(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  int error = pthread_condattr_init(&attributes);
  if (error != 0) return error;
  error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  if (error == 0) error = pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
  return error;
}

bool wia__wait_condition(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline_ns) {
  if (deadline_ns < 0) {
    pthread_cond_wait(condition, mutex);
    return true;
  }
  const struct timespec deadline = {.tv_sec = deadline_ns / NANOSECONDS,
                                    .tv_nsec = deadline_ns % NANOSECONDS};
  return pthread_cond_timedwait(condition, mutex, &deadline) != ETIMEDOUT;
}

int64_t wia__deadline_ns(int64_t timeout_ns) {
  if (timeout_ns < 0) return -1;
  const int64_t now = wia__now_ns();
  return timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

const char *wia__get_environment(const char *name) { return secure_getenv(name); }

static void *check_loaded(void *result, char **out_error) {
  *out_error = NULL;
  if (result == NULL) {
    const char *text = dlerror();
    *out_error = strdup(text != NULL ? text : "the loader gave no reason");
  }
  return result;
}

/* Bytes that the loader would map from a library, 0 for what is none: it says so itself. */
static uint64_t mapped_size(int file) {
  ElfW(Ehdr) header;
  if (pread(file, &header, sizeof header, 0) != (ssize_t)sizeof header ||
      memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
      header.e_phentsize != sizeof(ElfW(Phdr)))
    return 0;
  uint64_t size = 0;
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    const off_t place = (off_t)(header.e_phoff + i * sizeof segment);
    if (pread(file, &segment, sizeof segment, place) != (ssize_t)sizeof segment) return 0;
    const uint64_t end = segment.p_offset + segment.p_filesz;
    if (segment.p_type == PT_LOAD && end > size) size = end;
  }
  return size;
}

/* glibc dies of SIGBUS on a library that is cut short. NULL, or what is wrong. */
static char *find_cut(const char *path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return NULL;
  struct stat status;
  char *text = NULL;
  const uint64_t size = mapped_size(file);
  if (fstat(file, &status) == 0 && size > (uint64_t)status.st_size &&
      asprintf(&text, "%s: file too short: %lld bytes, its headers tell of %llu", path,
               (long long)status.st_size, (unsigned long long)size) < 0)
    text = NULL;
  close(file);
  return text;
}

void *wia__load_library(const char *path, bool global, char **out_error) {
  *out_error = find_cut(path);
  if (*out_error != NULL) return NULL;
  return check_loaded(dlopen(path, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL)), out_error);
}

void *wia__find_symbol(void *library, const char *name, char **out_error) {
  return check_loaded(dlsym(library != NULL ? library : RTLD_DEFAULT, name), out_error);
}

static char library_folder[PATH_MAX];

static void find_library_folder(void) {
  Dl_info info;
  char path[PATH_MAX];
  if (dladdr((const void *)library_folder, &info) == 0 || info.dli_fname == NULL ||
      realpath(info.dli_fname, path) == NULL)
    return;
  char *slash = strrchr(path, '/');
  if (slash == NULL) return;
  *slash = '\0';
  memcpy(library_folder, path, strlen(path) + 1);
}

const char *wia__library_folder(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_library_folder);
  return library_folder;
}

typedef struct search_t {
  char (*paths)[PATH_MAX];
  uint32_t count, capacity;
} search_t;

static int note_object(struct dl_phdr_info *object, size_t size, void *argument) {
  search_t *search = argument;
  (void)size;
  if (!object->dlpi_name || !*object->dlpi_name) return 0; /* the program */
  if (search->count < search->capacity)
    snprintf(search->paths[search->count], PATH_MAX, "%s", object->dlpi_name);
  search->count++;
  return 0;
}

/* Asks each loaded object for the function, and where that lies: one that links to this library finds
 * ours. The loader's list is gone through first, since it is locked meanwhile. */
void wia__find_copies(const char *function, char *out_ours, char *out_other) {
  Dl_info ours, found;
  search_t search = {0};
  *out_ours = *out_other = '\0';
  if (!dladdr((const void *)library_folder, &ours)) return;
  snprintf(out_ours, PATH_MAX, "%s", ours.dli_fname);
  dl_iterate_phdr(note_object, &search);
  search.capacity = search.count;
  search.paths = malloc(search.capacity * sizeof *search.paths);
  if (!search.paths) return;
  search.count = 0;
  dl_iterate_phdr(note_object, &search);
  if (search.count > search.capacity) search.count = search.capacity;
  for (uint32_t i = 0; i < search.count && !*out_other; i++) {
    void *object = dlopen(search.paths[i], RTLD_LAZY | RTLD_NOLOAD);
    if (!object) continue;
    void *symbol = dlsym(object, function);
    if (symbol && dladdr(symbol, &found) && found.dli_fbase != ours.dli_fbase)
      snprintf(out_other, PATH_MAX, "%s", found.dli_fname);
    dlclose(object);
  }
  free(search.paths);
}

typedef struct start_t {
  void *(*main)(void *);
  void *argument;
  char name[16]; /* the kernel's limit */
} start_t;

static void *run_thread(void *argument) {
  start_t start = *(start_t *)argument;
  free(argument);
  pthread_setname_np(pthread_self(), start.name);
  return start.main(start.argument);
}

uint64_t wia__thread_id(void) { return (uint64_t)syscall(SYS_gettid); }

void wia__lower_priority(int32_t steps) {
  /* On Linux a priority is a thread's, and its number is taken where a process is asked for. */
  setpriority(PRIO_PROCESS, (id_t)wia__thread_id(), steps);
}

int wia__start_thread(void *(*main)(void *), void *argument, const char *name) {
  start_t *start = malloc(sizeof *start);
  if (start == NULL) return ENOMEM;
  *start = (start_t){.main = main, .argument = argument};
  strncpy(start->name, name, sizeof start->name - 1);
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error != 0) {
    free(start);
    return error;
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  error = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (error == 0) error = pthread_create(&thread, &attributes, run_thread, start);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (error != 0) free(start);
  return error;
}

void *wia__reserve_addresses(uint64_t size, uint64_t alignment) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  const uint64_t spare = alignment > page ? alignment - page : 0;
  if (size > SIZE_MAX - page - spare) return NULL;
  size = (size + page - 1) / page * page;
  void *base = mmap(NULL, (size_t)(size + spare), PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return NULL;
  char *first = base;
  const uint64_t before = (alignment - (uint64_t)(uintptr_t)base % alignment) % alignment;
  if (before) munmap(first, (size_t)before);
  if (spare - before) munmap(first + before + size, (size_t)(spare - before));
  return first + before;
}

void wia__return_addresses(void *base, uint64_t size) {
  if (base != NULL) munmap(base, (size_t)size);
}
