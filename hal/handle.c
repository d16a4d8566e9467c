/* handle.c: handles: the slots behind them; object.h says how they are read. */
#include <assert.h>
#include <stdlib.h>

#include "fork.h"
#include "object.h"
#include "validate.h"

enum { CHUNK_SIZE = 1 << WIA__CHUNK_BITS };

typedef wia__handle_slot_t slot_t;

static const uint32_t NO_SLOT = UINT32_MAX;

_Atomic(wia__handle_slot_t *) wia__chunks[1 << (WIA__INDEX_BITS - WIA__CHUNK_BITS)];
static pthread_mutex_t slots_mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t slot_count;
static uint32_t first_free = UINT32_MAX, last_free = UINT32_MAX; /* a queue: reuse comes late */

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
    "",       "context",           "stream",           "event",    "plan",
    "tensor", "profiling session", "report",           "gradient", "validation report",
    "graph",  "executable",        "gradient builder", "internal"};

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

/* -- fork ---------------------------------------------------------------------------------------- */

/* What the handles stand for is the parent's: it is not destroyed here. */
static void forget_handles(void) {
  for (uint32_t index = 0; index < slot_count; index++) {
    slot_t *slot = find_slot(index);
    if (!atomic_load(&slot->key)) continue;
    slot->forked = slot->generation;
    atomic_store(&slot->key, 0);
    give_slot(slot, index);
  }
}

void wia__fork_handles(wia__fork_t stage) {
  if (stage == WIA__FORK_CHILD) forget_handles();
  wia__fork_mutex(stage, &slots_mutex);
}
