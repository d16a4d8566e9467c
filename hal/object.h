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

typedef enum wia__type_t {
  WIA__CONTEXT = 1,
  WIA__STREAM = 2,
  WIA__EVENT = 3,
  WIA__PLAN = 4,
  WIA__TENSOR = 5,
  WIA__INTERNAL = 6 /* has no handles */
} wia__type_t;

typedef struct wia__object_t {
  _Atomic uint32_t references;
  uint32_t type;
  void (*destroy)(struct wia__object_t *object); /* frees it, releases what it holds */
  struct wia__object_t *next_retired;
  uint64_t retired_epoch;
} wia__object_t;

/* Per-thread record; never freed, reused by later threads. */
typedef struct wia__thread_t {
  _Atomic uint64_t epoch; /* 0: outside */
  uint32_t depth;
  uint32_t exits;
  uint32_t retires;     /* 1: this thread retired something since it last collected */
  uint32_t collecting;
  uint64_t left;        /* a bit for each wia__leave without its wia__rejoin: whether it left */
  uint32_t number;      /* small, differs between threads */
  const char *function; /* the public function that the thread is in */
  wia__failure_t last;  /* last error */
  struct wia__thread_t *next;
  _Atomic uint32_t in_use;
} wia__thread_t;

wia__thread_t *wia__thread_slow(void);
extern _Thread_local wia__thread_t *wia__thread_self __attribute__((tls_model("initial-exec")));
extern _Atomic uint64_t wia__epoch;
extern _Atomic uint32_t wia__retired_count;

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
/* Destroys what nobody can be using any more. wia__collect_some: unless others should do it. */
void wia__collect(void);
void wia__collect_some(wia__thread_t *self);
static inline void wia__exit(wia__thread_t *self) {
  if (--self->depth == 0) {
    atomic_store_explicit(&self->epoch, 0, memory_order_release);
    if (__builtin_expect(
            atomic_load_explicit(&wia__retired_count, memory_order_relaxed) != 0, 0))
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
  const wia_status_t wia__status = (expression);                                                   \
  wia__exit(wia__self);                                                                            \
  wia__self->function = wia__outer;                                                                \
  return wia__status

void wia__init_object(wia__object_t *object, wia__type_t type, void (*destroy)(wia__object_t *));
static inline void wia__retain(wia__object_t *object) {
  atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
}
/* False if the last reference is already gone. */
bool wia__try_retain(wia__object_t *object);
/* NULL does nothing. The last one retires the object. */
void wia__release(wia__object_t *object);
/* Hands an object without references to the collector. */
void wia__retire(wia__object_t *object);

/* Handles. Making one takes over a reference of the caller; closing it gives that one up. */
wia_status_t wia__make_handle(wia__object_t *object, void **out_handle);
wia_status_t wia__close_handle(void *handle, wia__type_t type);
/* The object, good until wia__exit or wia__leave; NULL: not a live handle of that type. */
wia__object_t *wia__find_object(const void *handle, wia__type_t type);
/* The same, and fails with INVALID_HANDLE naming the argument. */
wia_status_t wia__resolve(const void *handle, wia__type_t type, const char *argument,
                          void *out_object);

#endif
