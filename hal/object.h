/* object.h: objects, their handles and their reclamation.
 *
 * One mechanism makes destroying safe while other threads use a handle. On entry a public function
 * stores the global epoch in its thread's record, on exit it clears it. What nobody refers to any
 * more is retired: it is destroyed once no thread is in an epoch as old as its retirement. So a
 * pointer that was looked up after entry stays good until exit, without a count.
 * Whoever keeps a pointer beyond exit (queued work, children) holds a reference. */
#ifndef WIA__OBJECT_H
#define WIA__OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "status.h"
#include "trace.h"

typedef enum wia__type_t {
  WIA__CONTEXT = 1,
  WIA__STREAM = 2,
  WIA__EVENT = 3,
  WIA__PLAN = 4,
  WIA__TENSOR = 5,
  WIA__SESSION = 6,
  WIA__REPORT = 7,
  WIA__GRADIENT = 8,
  WIA__FINDINGS = 9,
  WIA__GRAPH = 10,
  WIA__EXECUTABLE = 11,
  WIA__GRADIENT_BUILDER = 12,
  WIA__INTERNAL = 13 /* has no handles */
} wia__type_t;

typedef struct wia__object_t {
  _Atomic uint32_t references;
  uint32_t type;
  void (*destroy)(struct wia__object_t *object); /* frees it, releases what it holds */
  struct wia__object_t *next_retired;
  uint64_t retired_epoch; /* 0: not on the list of retired ones */
} wia__object_t;

enum { WIA__HIT_COUNTERS = 16 };

/* Per-thread record; never freed, reused by later threads. */
typedef struct wia__thread_t {
  _Atomic uint64_t epoch; /* 0: outside */
  uint32_t depth;
  uint32_t exits;
  uint32_t retires; /* 1: this thread retired something since it last collected */
  uint32_t collecting;
  uint32_t deferring;   /* while above 0 this thread destroys nothing: others do */
  uint64_t left;        /* a bit for each wia__leave without its wia__rejoin: whether it left */
  uint32_t number;      /* small, differs between threads */
  const char *function; /* the public function that the thread is in */
  struct wia__block_t *spare_launches;      /* see pool.h */
  _Atomic uint64_t hits[WIA__HIT_COUNTERS]; /* calls that found their kernel, by cache; written by
                                               this thread only, so that counting costs no lock */
  const void *runs; /* the executable of a graph whose host function it calls; else NULL */
  wia__trace_t trace;
  uint32_t refused;    /* 1: its last item was, by the layer validate */
  uint32_t validating; /* uses of memory that the thread is in, for the layer validate */
  wia__failure_t last; /* last error */
  struct wia__thread_t *next;
  _Atomic uint32_t in_use;
} wia__thread_t;

wia__thread_t *wia__thread_slow(void);
/* The sum of hits[index] over all threads, also those that ended. */
uint64_t wia__sum_hits(uint32_t index);
extern _Thread_local wia__thread_t *wia__thread_self __attribute__((tls_model("initial-exec")));
extern _Atomic uint64_t wia__epoch;
extern _Atomic uint32_t wia__retired_count;
extern _Atomic uint32_t wia__text_count; /* errors with a text to drop, of status.c */

static inline wia__thread_t *wia__thread(void) {
  wia__thread_t *self = wia__thread_self;
  return __builtin_expect(self != NULL, 1) ? self : wia__thread_slow();
}

/* Every public function stands between these two. They nest. */
static inline wia__thread_t *wia__enter(const char *function) {
  wia__thread_t *self = wia__thread();
  self->function = function;
  if (self->depth++ == 0) {
    atomic_exchange(&self->epoch, atomic_load_explicit(&wia__epoch, memory_order_acquire));
  }
  return self;
}
/* Around what must not destroy anything, although it may give up last references. They nest. */
void wia__defer_collecting(void);
void wia__end_deferring(void);
/* Destroys what nobody can be using any more. wia__collect_some: unless others should do it. */
void wia__collect(void);
void wia__collect_some(wia__thread_t *self);
static inline void wia__exit(wia__thread_t *self) {
  if (--self->depth == 0) {
    atomic_store_explicit(&self->epoch, 0, memory_order_release);
    if (__builtin_expect(atomic_load_explicit(&wia__retired_count, memory_order_relaxed) != 0, 0))
      wia__collect_some(self);
  }
}
/* Around anything that may take long. Pointers without a reference are no longer good afterwards.
 * Inside a nested call they do nothing, since the outer one's pointers are in use. */
void wia__leave(wia__thread_t *self);
void wia__rejoin(wia__thread_t *self);

/* The body of a public function that returns a status:
 *   WIA_API wia_status_t wia_x(...) { WIA__CALL(x__locked(...)); } */
#define WIA__CALL(expression)                                                                      \
  wia__thread_t *wia__self = wia__thread();                                                        \
  const char *wia__outer = wia__self->function;                                                    \
  wia__enter(__func__);                                                                            \
  wia__frame_t wia__frame;                                                                         \
  const uint32_t wia__layered = wia__layers_on();                                                  \
  if (wia__layered) wia__begin_call(&wia__frame);                                                  \
  const wia_status_t wia__status = (expression);                                                   \
  if (__builtin_expect(wia__layered, 0)) wia__end_call(&wia__frame, __func__);                     \
  wia__exit(wia__self);                                                                            \
  wia__self->function = wia__outer;                                                                \
  return wia__status

void wia__init_object(wia__object_t *object, wia__type_t type, void (*destroy)(wia__object_t *));
/* Zeroed host memory for what is made often, to be freed with free(); NULL: none is left. glibc's
 * calloc() passes by the cache that each thread has, up to 2.40, and takes 30 times as long. */
void *wia__make_zeroed(size_t size);
/* Also of what was looked up in this epoch and has lost its last reference since. */
static inline void wia__retain(wia__object_t *object) {
  atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
}
/* False if the last reference is already gone. */
bool wia__try_retain(wia__object_t *object);
/* NULL does nothing. The last one retires the object: hands it to the collector. */
void wia__release(wia__object_t *object);

/* Handles. Making one takes over a reference of the caller; closing it gives that one up. */
wia_status_t wia__make_handle(wia__object_t *object, void **out_handle);
wia_status_t wia__close_handle(void *handle, wia__type_t type);
/* Calls visit for each that is live, with an object that is good until wia__exit. */
void wia__each_handle(void (*visit)(void *context, uint64_t key, wia__object_t *object),
                      void *context);
const char *wia__type_name(uint32_t type);

/* Waits, outside the epoch, until what was retired is destroyed. False: the deadline passed. */
bool wia__await_collection(int64_t deadline_ns);

/* A handle is generation << 32 | type << 24 | index. A slot's key is the handle that is live in it, or
 * 0. The object is written before the key, and the key is cleared before the object is: who reads the
 * object first and then finds its own handle as the key has the right object. */
enum { WIA__INDEX_BITS = 24, WIA__CHUNK_BITS = 12 };
typedef struct wia__handle_slot_t {
  _Atomic uint64_t key;
  _Atomic(wia__object_t *) object;
  uint32_t generation;
  uint32_t forked; /* the generation that was live when the process was forked off; 0: none */
  uint32_t next_free;
} wia__handle_slot_t;
extern _Atomic(wia__handle_slot_t *) wia__chunks[1 << (WIA__INDEX_BITS - WIA__CHUNK_BITS)];

/* The object, good until wia__exit or wia__leave; NULL: not a live handle of that type. */
static inline wia__object_t *wia__find_object(const void *handle, wia__type_t type) {
  const uint64_t key = (uint64_t)(uintptr_t)handle;
  if (((key >> WIA__INDEX_BITS) & 0xff) != (uint64_t)type) return NULL;
  const uint32_t index = (uint32_t)key & ((1u << WIA__INDEX_BITS) - 1);
  wia__handle_slot_t *chunk =
      atomic_load_explicit(&wia__chunks[index >> WIA__CHUNK_BITS], memory_order_acquire);
  if (!chunk) return NULL;
  wia__handle_slot_t *slot = &chunk[index & ((1u << WIA__CHUNK_BITS) - 1)];
  wia__object_t *object = atomic_load_explicit(&slot->object, memory_order_acquire);
  return atomic_load_explicit(&slot->key, memory_order_acquire) == key ? object : NULL;
}
/* The same, and fails with INVALID_HANDLE naming the argument. */
wia_status_t wia__resolve(const void *handle, wia__type_t type, const char *argument,
                          void *out_object);

#endif
