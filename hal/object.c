/* object.c: handles, epochs and reclamation; object.h says how they work together. */
#include "object.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fork.h"
#include "platform.h"

enum { RESERVE = 64 /* records of threads */, LONGEST_CHAIN = 8 };

_Thread_local wia__thread_t *wia__thread_self __attribute__((tls_model("initial-exec")));
_Atomic uint64_t wia__epoch = 1;
_Atomic uint32_t wia__retired_count;
static _Atomic uint32_t left_over;  /* 1: by a thread that deferred */
static _Atomic uint32_t destroying; /* threads that are */

static _Atomic(wia__thread_t *) threads;
static pthread_mutex_t threads_mutex = PTHREAD_MUTEX_INITIALIZER; /* of whoever adds one */
static uint32_t thread_count;
static pthread_key_t thread_key;
static bool has_thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

static pthread_mutex_t retired_mutex = PTHREAD_MUTEX_INITIALIZER;
static wia__object_t *retired;

/* -- threads ------------------------------------------------------------------------------------- */

static void end_thread(void *record) {
  wia__thread_t *self = record;
  wia__free_failure(&self->last);
  wia__forget_thread(&self->trace);
  wia__thread_self = NULL;
  atomic_store_explicit(&self->in_use, 0, memory_order_release);
}

/* Without a key the records of threads that ended are not used again. */
static void make_thread_key(void) {
  has_thread_key = pthread_key_create(&thread_key, end_thread) == 0;
}

/* Nothing could be reported without a record, so some are there for when memory is short. */
static wia__thread_t *make_record(void) {
  static wia__thread_t reserve[RESERVE];
  static _Atomic uint32_t used;
  wia__thread_t *record = calloc(1, sizeof *record);
  if (record) return record;
  const uint32_t index = atomic_fetch_add(&used, 1);
  if (index >= RESERVE) abort(); /* as the C runtime does for a thread's own storage */
  return &reserve[index];
}

wia__thread_t *wia__thread_slow(void) {
  pthread_once(&thread_once, make_thread_key);
  wia__thread_t *self = NULL;
  for (self = atomic_load(&threads); self; self = self->next) {
    uint32_t unused = 0;
    if (atomic_compare_exchange_strong(&self->in_use, &unused, 1)) break;
  }
  if (!self) {
    self = make_record();
    self->in_use = 1;
    pthread_mutex_lock(&threads_mutex);
    self->number = thread_count++;
    self->next = atomic_load(&threads);
    atomic_store(&threads, self);
    pthread_mutex_unlock(&threads_mutex);
  }
  wia__thread_self = self;
  if (has_thread_key) pthread_setspecific(thread_key, self);
  return self;
}

uint64_t wia__sum_hits(uint32_t index) {
  uint64_t sum = 0;
  for (wia__thread_t *t = atomic_load(&threads); t; t = t->next)
    sum += atomic_load_explicit(&t->hits[index], memory_order_relaxed);
  return sum;
}

void wia__leave(wia__thread_t *self) {
  self->left = self->left << 1 | (self->depth == 1);
  if (self->depth != 1) return;
  self->depth = 0;
  atomic_store_explicit(&self->epoch, 0, memory_order_release);
  if (atomic_load_explicit(&wia__retired_count, memory_order_relaxed)) wia__collect_some(self);
}

void wia__rejoin(wia__thread_t *self) {
  if (self->left & 1) wia__enter(self->function);
  self->left >>= 1;
}

/* -- objects ------------------------------------------------------------------------------------- */

void wia__init_object(wia__object_t *object, wia__type_t type, void (*destroy)(wia__object_t *)) {
  atomic_init(&object->references, 1);
  object->type = (uint32_t)type;
  object->destroy = destroy;
  object->next_retired = NULL;
  object->retired_epoch = 0;
}

void *wia__make_zeroed(size_t size) {
  void *block = malloc(size);
  __asm__("" : "+r"(block)); /* else compilers make one calloc() of both */
  return block ? memset(block, 0, size) : NULL;
}

bool wia__try_retain(wia__object_t *object) {
  uint32_t count = atomic_load_explicit(&object->references, memory_order_relaxed);
  while (count) {
    if (atomic_compare_exchange_weak(&object->references, &count, count + 1)) return true;
  }
  return false;
}

/* Under retired_mutex. One that is on the list was looked up before, and given a reference afterwards. */
static void retire(wia__object_t *object) {
  const bool listed = object->retired_epoch != 0;
  object->retired_epoch = atomic_fetch_add(&wia__epoch, 1);
  if (listed) return;
  object->next_retired = retired;
  retired = object;
  atomic_fetch_add_explicit(&wia__retired_count, 1, memory_order_relaxed);
}

/* The last reference goes under the mutex, so that whoever sees there an object without one sees the
 * epoch of that moment too. */
void wia__release(wia__object_t *object) {
  if (!object) return;
  uint32_t count = atomic_load_explicit(&object->references, memory_order_relaxed);
  assert(count != 0);
  while (count > 1) {
    if (atomic_compare_exchange_weak_explicit(&object->references, &count, count - 1,
                                              memory_order_acq_rel, memory_order_relaxed))
      return;
  }
  wia__thread_t *self = wia__thread();
  pthread_mutex_lock(&retired_mutex);
  const bool last = atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) == 1;
  if (last) retire(object);
  pthread_mutex_unlock(&retired_mutex);
  if (!last) return;
  if (self->deferring) {
    atomic_store_explicit(&left_over, 1, memory_order_relaxed);
    return;
  }
  self->retires = 1;
  if (self->depth == 0) wia__collect();
}

void wia__defer_collecting(void) { wia__thread()->deferring++; }
void wia__end_deferring(void) { wia__thread()->deferring--; }

static uint64_t oldest_epoch(void) {
  uint64_t oldest = UINT64_MAX;
  for (wia__thread_t *t = atomic_load(&threads); t; t = t->next) {
    const uint64_t epoch = atomic_load(&t->epoch);
    if (epoch && epoch < oldest) oldest = epoch;
  }
  return oldest;
}

/* Takes those retired before every running call began off the list. One that such a call has given a
 * reference meanwhile is only taken off: its last one brings it back. */
static wia__object_t *take_reclaimable(void) {
  wia__object_t *ready = NULL;
  pthread_mutex_lock(&retired_mutex);
  const uint64_t oldest = oldest_epoch();
  for (wia__object_t **link = &retired; *link;) {
    wia__object_t *object = *link;
    if (object->retired_epoch < oldest) {
      *link = object->next_retired;
      object->retired_epoch = 0;
      if (!atomic_load_explicit(&object->references, memory_order_acquire)) {
        object->next_retired = ready;
        ready = object;
      }
      atomic_fetch_sub_explicit(&wia__retired_count, 1, memory_order_relaxed);
    } else {
      link = &object->next_retired;
    }
  }
  pthread_mutex_unlock(&retired_mutex);
  return ready;
}

void wia__collect(void) {
  wia__thread_t *self = wia__thread();
  if (self->deferring) return;
  if (self->collecting) return; /* a destroy that releases more: the loop below takes it up */
  self->collecting = 1;
  self->retires = 0;
  atomic_store_explicit(&left_over, 0, memory_order_relaxed);
  atomic_fetch_add(&destroying, 1);
  while (atomic_load_explicit(&wia__retired_count, memory_order_relaxed)) {
    wia__object_t *ready = take_reclaimable();
    if (!ready) break;
    while (ready) {
      wia__object_t *object = ready;
      ready = object->next_retired;
      object->destroy(object);
    }
  }
  atomic_fetch_sub(&destroying, 1);
  self->collecting = 0;
}

void wia__collect_some(wia__thread_t *self) {
  if (self->retires || atomic_load_explicit(&left_over, memory_order_relaxed) ||
      (++self->exits & 63) == 0)
    wia__collect();
}

/* -- shutdown ------------------------------------------------------------------------------------ */

/* Whether all that was retired up to an epoch is. Others may be at it. */
static bool is_destroyed(uint64_t until) {
  bool destroyed = !atomic_load(&destroying);
  pthread_mutex_lock(&retired_mutex);
  for (const wia__object_t *object = retired; object && destroyed; object = object->next_retired)
    destroyed = object->retired_epoch > until;
  pthread_mutex_unlock(&retired_mutex);
  return destroyed;
}

/* What is destroyed retires what it held, a few times over. */
bool wia__await_collection(int64_t deadline_ns) {
  wia__thread_t *self = wia__thread();
  bool done = false, in_time = true;
  wia__leave(self);
  for (uint32_t i = 0; i < LONGEST_CHAIN; i++) {
    const uint64_t until = atomic_fetch_add(&wia__epoch, 1);
    do {
      wia__collect();
      done = is_destroyed(until);
      in_time = deadline_ns < 0 || wia__now_ns() < deadline_ns;
      if (!done && in_time) wia__pause();
    } while (!done && in_time);
  }
  wia__rejoin(self);
  return done;
}

/* -- fork ---------------------------------------------------------------------------------------- */

/* Other threads are gone, so their records are free for new ones. They may be half changed: a fork
 * copies one page after the other while those threads run. */
static void forget_threads(void) {
  for (wia__thread_t *t = atomic_load(&threads); t; t = t->next) {
    if (t == wia__thread_self) continue;
    wia__forget_thread(&t->trace);
    wia__thread_t fresh = {.number = t->number, .trace = t->trace, .next = t->next};
    for (uint32_t i = 0; i < WIA__HIT_COUNTERS; i++) fresh.hits[i] = t->hits[i];
    memcpy(t, &fresh, sizeof fresh);
  }
}

void wia__fork_threads(wia__fork_t stage) {
  if (stage == WIA__FORK_CHILD) forget_threads();
  wia__fork_mutex(stage, &threads_mutex);
}

void wia__fork_objects(wia__fork_t stage) {
  if (stage == WIA__FORK_CHILD) {
    retired = NULL; /* by the parent */
    atomic_store(&destroying, wia__thread_self ? wia__thread_self->collecting : 0);
    atomic_store(&wia__retired_count, 0);
  }
  wia__fork_mutex(stage, &retired_mutex);
}
