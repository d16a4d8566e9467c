/* object.c: handles, epochs and reclamation; object.h says how they work together. */
#include "object.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "fork.h"
#include "platform.h"
#include "validate.h"

enum {
  CHUNK_SIZE = 1 << WIA__CHUNK_BITS,
  RESERVE = 64 /* records of threads */,
  LONGEST_CHAIN = 8
};

typedef wia__handle_slot_t slot_t;

static const uint32_t NO_SLOT = UINT32_MAX;

_Atomic(wia__handle_slot_t *) wia__chunks[1 << (WIA__INDEX_BITS - WIA__CHUNK_BITS)];
static pthread_mutex_t slots_mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t slot_count;
static uint32_t first_free = UINT32_MAX, last_free = UINT32_MAX; /* a queue: reuse comes late */

_Thread_local wia__thread_t *wia__thread_self __attribute__((tls_model("initial-exec")));
_Atomic uint64_t wia__epoch = 1;
_Atomic uint32_t wia__retired_count;
static _Atomic uint32_t left_over;  /* 1: by a thread that deferred */
static _Atomic uint32_t destroying; /* threads that are */

static _Atomic(wia__thread_t *) threads;
static _Atomic uint32_t thread_count;
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
    self->number = atomic_fetch_add(&thread_count, 1);
    self->next = atomic_load(&threads);
    while (!atomic_compare_exchange_weak(&threads, &self->next, self)) {
    }
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

bool wia__try_retain(wia__object_t *object) {
  uint32_t count = atomic_load_explicit(&object->references, memory_order_relaxed);
  while (count) {
    if (atomic_compare_exchange_weak(&object->references, &count, count + 1)) return true;
  }
  return false;
}

void wia__release(wia__object_t *object) {
  if (!object) return;
  const uint32_t before = atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel);
  assert(before != 0);
  if (before == 1) wia__retire(object);
}

void wia__retire(wia__object_t *object) {
  wia__thread_t *self = wia__thread();
  pthread_mutex_lock(&retired_mutex);
  object->retired_epoch = atomic_fetch_add(&wia__epoch, 1);
  object->next_retired = retired;
  retired = object;
  atomic_fetch_add_explicit(&wia__retired_count, 1, memory_order_relaxed);
  pthread_mutex_unlock(&retired_mutex);
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

/* Takes those retired before every running call began off the list. */
static wia__object_t *take_reclaimable(void) {
  wia__object_t *ready = NULL;
  pthread_mutex_lock(&retired_mutex);
  const uint64_t oldest = oldest_epoch();
  for (wia__object_t **link = &retired; *link;) {
    wia__object_t *object = *link;
    if (object->retired_epoch < oldest) {
      *link = object->next_retired;
      object->next_retired = ready;
      ready = object;
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
  for (wia__object_t *ready; (ready = take_reclaimable());) {
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

/* -- handles ------------------------------------------------------------------------------------- */

static slot_t *find_slot(uint32_t index) {
  slot_t *chunk =
      atomic_load_explicit(&wia__chunks[index >> WIA__CHUNK_BITS], memory_order_acquire);
  return chunk ? &chunk[index & (CHUNK_SIZE - 1)] : NULL;
}

/* Under slots_mutex. */
static uint32_t take_slot(void) {
  if (first_free != NO_SLOT) {
    const uint32_t index = first_free;
    first_free = find_slot(index)->next_free;
    if (first_free == NO_SLOT) last_free = NO_SLOT;
    return index;
  }
  if (slot_count == 1u << WIA__INDEX_BITS) return NO_SLOT;
  const uint32_t chunk = slot_count >> WIA__CHUNK_BITS;
  if (!atomic_load_explicit(&wia__chunks[chunk], memory_order_relaxed)) {
    slot_t *fresh = calloc(CHUNK_SIZE, sizeof *fresh);
    if (!fresh) return NO_SLOT;
    atomic_store_explicit(&wia__chunks[chunk], fresh, memory_order_release);
  }
  return slot_count++;
}

/* Under slots_mutex. */
static void give_slot(slot_t *slot, uint32_t index) {
  slot->next_free = NO_SLOT;
  if (last_free == NO_SLOT)
    first_free = index;
  else
    find_slot(last_free)->next_free = index;
  last_free = index;
}

wia_status_t wia__make_handle(wia__object_t *object, void **out_handle) {
  assert(object->type < WIA__INTERNAL);
  pthread_mutex_lock(&slots_mutex);
  const uint32_t index = take_slot();
  uint64_t key = 0;
  if (index != NO_SLOT) {
    slot_t *slot = find_slot(index);
    if (++slot->generation == 0) slot->generation = 1;
    key = (uint64_t)slot->generation << 32 | (uint64_t)object->type << WIA__INDEX_BITS | index;
    atomic_store_explicit(&slot->object, object, memory_order_release);
    atomic_store_explicit(&slot->key, key, memory_order_release);
  }
  pthread_mutex_unlock(&slots_mutex);
  if (key && wia__is_validating()) wia__note_birth(key);
  if (!key) {
    wia__release(object);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED,
                     "no handle is left: %u are live or memory is short; destroy what is no longer "
                     "used",
                     slot_count);
  }
  *out_handle = (void *)(uintptr_t)key;
  return WIA_STATUS_OK;
}

static const char *const type_names[] = {
    "",       "context",           "stream",  "event",    "plan",
    "tensor", "profiling session", "report",  "gradient", "validation report",
    "graph",  "executable",        "internal"};

static const char *article_of(uint64_t type) {
  return type == WIA__EVENT || type == WIA__EXECUTABLE ? "an" : "a";
}

static bool was_forked(uint64_t key) {
  const slot_t *slot = find_slot((uint32_t)key & ((1u << WIA__INDEX_BITS) - 1));
  return slot && slot->forked && slot->forked == (uint32_t)(key >> 32);
}

wia_status_t wia__resolve(const void *handle, wia__type_t type, const char *argument,
                          void *out_object) {
  wia__object_t *object = wia__find_object(handle, type);
  if (object) {
    *(void **)out_object = object;
    return WIA_STATUS_OK;
  }
  const uint64_t key = (uint64_t)(uintptr_t)handle;
  const uint64_t given = (key >> WIA__INDEX_BITS) & 0xff;
  if (!handle)
    return wia__fail(WIA_STATUS_INVALID_HANDLE, "%s is NULL; expected %s %s", argument,
                     article_of(type), type_names[type]);
  if (given != (uint64_t)type && given > 0 && given < WIA__INTERNAL &&
      wia__find_object(handle, (wia__type_t)given))
    return wia__fail(WIA_STATUS_INVALID_HANDLE, "%s is %s %s; expected %s %s", argument,
                     article_of(given), type_names[given], article_of(type), type_names[type]);
  if (given > 0 && given < WIA__INTERNAL && was_forked(key))
    return wia__fail(
        WIA_STATUS_FORKED,
        "%s (%p) is %s %s of the process that this one was forked from; make a context "
        "and all else anew here",
        argument, handle, article_of(given), type_names[given]);
  return wia__fail(WIA_STATUS_INVALID_HANDLE,
                   "%s (%p) is no live %s: it was destroyed, or never was one", argument, handle,
                   type_names[type]);
}

wia_status_t wia__close_handle(void *handle, wia__type_t type) {
  wia__object_t *object = NULL;
  const wia_status_t status = wia__resolve(handle, type, type_names[type], &object);
  if (status) return status;
  uint64_t key = (uint64_t)(uintptr_t)handle;
  const uint32_t index = (uint32_t)key & ((1u << WIA__INDEX_BITS) - 1);
  slot_t *slot = find_slot(index);
  if (!atomic_compare_exchange_strong(&slot->key, &key, 0)) /* another thread was first */
    return wia__fail(WIA_STATUS_INVALID_HANDLE, "%s (%p) was destroyed by another thread",
                     type_names[type], handle);
  pthread_mutex_lock(&slots_mutex);
  give_slot(slot, index);
  pthread_mutex_unlock(&slots_mutex);
  if (wia__is_validating()) wia__note_death((uint64_t)(uintptr_t)handle);
  wia__release(object);
  return WIA_STATUS_OK;
}

const char *wia__type_name(uint32_t type) { return type_names[type]; }

void wia__each_handle(void (*visit)(void *context, uint64_t key, wia__object_t *object),
                      void *context) {
  pthread_mutex_lock(&slots_mutex);
  const uint32_t count = slot_count;
  pthread_mutex_unlock(&slots_mutex);
  for (uint32_t index = 0; index < count; index++) {
    const uint64_t key = atomic_load_explicit(&find_slot(index)->key, memory_order_acquire);
    const wia__type_t type = (wia__type_t)(key >> WIA__INDEX_BITS & 0xff);
    wia__object_t *object = key ? wia__find_object((void *)(uintptr_t)key, type) : NULL;
    if (object) visit(context, key, object);
  }
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

/* Other threads are gone, so their records are free for new ones. */
static void forget_threads(void) {
  for (wia__thread_t *t = atomic_load(&threads); t; t = t->next) {
    if (t == wia__thread_self || !t->in_use) continue;
    atomic_store(&t->epoch, 0);
    t->depth = t->retires = t->collecting = t->validating = 0;
    t->left = 0;
    wia__forget_thread(&t->trace);
    t->spare_launches = NULL; /* the list may be half changed */
    t->last = (wia__failure_t){0};
    atomic_store(&t->in_use, 0);
  }
}

/* What the handles stand for is the parent's: it is not destroyed here, and neither is what the parent
 * retired. */
static void forget_handles(void) {
  for (uint32_t index = 0; index < slot_count; index++) {
    slot_t *slot = find_slot(index);
    if (!atomic_load(&slot->key)) continue;
    slot->forked = slot->generation;
    atomic_store(&slot->key, 0);
    give_slot(slot, index);
  }
  retired = NULL;
  atomic_store(&destroying, wia__thread()->collecting);
  atomic_store(&wia__retired_count, 0);
}

void wia__fork_objects(wia__fork_t stage) {
  if (stage == WIA__FORK_CHILD) {
    forget_threads();
    forget_handles();
  }
  if (stage == WIA__FORK_BEFORE) {
    pthread_mutex_lock(&slots_mutex);
    pthread_mutex_lock(&retired_mutex);
  } else {
    pthread_mutex_unlock(&retired_mutex);
    pthread_mutex_unlock(&slots_mutex);
  }
}
