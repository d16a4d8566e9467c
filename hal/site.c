/* site.c: see site.h. */
#include "site.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fork.h"
#include "object.h"

enum { MOST_FRAMES = 16, TEXT_SIZE = 512, BUCKETS = 1024, PAGE_SITES = 256, MOST_PAGES = 4096 };

typedef struct entry_t {
  uint64_t hash;
  const char *function; /* a literal of the library's */
  char *text;           /* of Python; else NULL */
  uint32_t frame_count;
  wia__site_t next; /* in its bucket */
  void *frames[MOST_FRAMES];
} entry_t;

/* Guards the table, and is taken last. Entries stay. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static entry_t **pages[MOST_PAGES];
static wia__site_t buckets[BUCKETS];
static uint32_t site_count;

static _Atomic(wia__find_caller_fn_t) find_caller;

WIA_API void wia__set_find_caller(wia__find_caller_fn_t function) {
  atomic_store(&find_caller, function);
}

static entry_t *entry_of(wia__site_t site) {
  return pages[(site - 1) / PAGE_SITES][(site - 1) % PAGE_SITES];
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < size; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
  return hash;
}

static bool is_same(const entry_t *a, const entry_t *b) {
  if (a->hash != b->hash || a->function != b->function || a->frame_count != b->frame_count)
    return false;
  if (a->text || b->text) return a->text && b->text && strcmp(a->text, b->text) == 0;
  return memcmp(a->frames, b->frames, a->frame_count * sizeof *a->frames) == 0;
}

/* Under the mutex: a number for a copy of the entry. */
static wia__site_t add(const entry_t *wanted) {
  const uint32_t page = site_count / PAGE_SITES;
  if (page == MOST_PAGES) return 0;
  if (!pages[page] && !(pages[page] = calloc(PAGE_SITES, sizeof *pages[page]))) return 0;
  entry_t *entry = malloc(sizeof *entry);
  char *text = wanted->text ? strdup(wanted->text) : NULL;
  if (!entry || (wanted->text && !text)) {
    free(entry);
    free(text);
    return 0;
  }
  *entry = *wanted;
  entry->text = text;
  entry->next = buckets[wanted->hash % BUCKETS];
  pages[page][site_count % PAGE_SITES] = entry;
  return buckets[wanted->hash % BUCKETS] = ++site_count;
}

static wia__site_t intern(const entry_t *wanted) {
  pthread_mutex_lock(&mutex);
  wia__site_t site = buckets[wanted->hash % BUCKETS];
  while (site && !is_same(entry_of(site), wanted)) site = entry_of(site)->next;
  if (!site) site = add(wanted);
  pthread_mutex_unlock(&mutex);
  return site;
}

wia__site_t wia__capture_site(void) {
  entry_t wanted = {.function = wia__thread()->function};
  char text[TEXT_SIZE];
  const wia__find_caller_fn_t find = atomic_load(&find_caller);
  if (find && find(text, sizeof text)) {
    wanted.text = text;
    wanted.hash = hash_bytes(0, text, strlen(text));
  } else {
    const int count = backtrace(wanted.frames, MOST_FRAMES);
    wanted.frame_count = count < 0 ? 0 : (uint32_t)count;
    wanted.hash = hash_bytes(0, wanted.frames, wanted.frame_count * sizeof *wanted.frames);
  }
  return intern(&wanted);
}

const char *wia__site_function(wia__site_t site) {
  if (!site) return "";
  pthread_mutex_lock(&mutex);
  const char *function = entry_of(site)->function;
  pthread_mutex_unlock(&mutex);
  return function ? function : "";
}

/* -- text ---------------------------------------------------------------------------------------- */

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* "step at program+0x1234", or less where less is known. */
static int print_frame(char *text, size_t size, const char *before, void *frame) {
  Dl_info info;
  /* the address is behind the call, which may be another line or even function */
  const char *address = (char *)frame - 1;
  if (!dladdr(address, &info) || !info.dli_fname)
    return snprintf(text, size, "%s%p", before, frame);
  const unsigned long offset = (unsigned long)(address - (const char *)info.dli_fbase);
  return info.dli_sname
             ? snprintf(text, size, "%s%s at %s+%#lx", before, info.dli_sname,
                        base_name(info.dli_fname), offset)
             : snprintf(text, size, "%s%s+%#lx", before, base_name(info.dli_fname), offset);
}

static bool is_own(void *frame) {
  Dl_info info, own;
  return dladdr((char *)frame - 1, &info) && dladdr((void *)(uintptr_t)wia__capture_site, &own) &&
         info.dli_fbase == own.dli_fbase;
}

static char *describe_frames(const entry_t *entry) {
  const size_t size = (size_t)TEXT_SIZE * (entry->frame_count + 1);
  char *text = calloc(1, size);
  uint32_t first = 0;
  size_t used = 0;
  if (!text) return NULL;
  /* a sanitizer may stand before the library's own frames */
  while (first < entry->frame_count && !is_own(entry->frames[first])) first++;
  while (first < entry->frame_count && is_own(entry->frames[first])) first++;
  if (first == entry->frame_count) first = 0;
  for (uint32_t i = first; i < entry->frame_count; i++) {
    const int length =
        print_frame(text + used, TEXT_SIZE, i == first ? "" : "\n    ", entry->frames[i]);
    used += length < TEXT_SIZE ? (size_t)length : TEXT_SIZE - 1;
  }
  return text;
}

char *wia__describe_site(wia__site_t site) {
  if (!site) return strdup("a place that isn't known: the layer was off");
  pthread_mutex_lock(&mutex);
  const entry_t *entry = entry_of(site);
  pthread_mutex_unlock(&mutex);
  return entry->text ? strdup(entry->text) : describe_frames(entry);
}

void wia__fork_sites(wia__fork_t stage) { wia__fork_mutex(stage, &mutex); }
