/* shutdown.c: giving up all that the process has of the library, so that it may begin anew. */
#include <pthread.h>

#include "cache.h"
#include "fork.h"
#include "memory.h"
#include "platform.h"
#include "slots.h"

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* Kernels that were kept, and allocators of the program. */
static void clear_devices(void) {
  const wia__slot_t *slot;
  for (int32_t number = 0; (slot = wia__get_slot(number)); number++) {
    for (uint32_t i = 0; i < WIA__MAX_DEVICES; i++) {
      wia__device_t *device = atomic_load_explicit(&slot->devices[i], memory_order_acquire);
      if (!device) continue;
      wia__clear_cache(device->cache);
      wia__replace_allocator(device, NULL);
    }
  }
}

static void close_handle(void *context, uint64_t key, wia__object_t *object) {
  (void)context;
  (void)wia__close_handle((void *)(uintptr_t)key, (wia__type_t)object->type);
}

/* Whoever called this thread is the library, or works for it, and would be waited for. */
static bool is_inside(const wia__thread_t *self) {
  return self->depth != 1 || self->left || self->collecting || wia__is_stream_thread();
}

static wia_status_t end_all(int64_t timeout_ns) {
  const int64_t deadline_ns = wia__deadline_ns(timeout_ns);
  const bool stopped =
      wia__stop_streams(timeout_ns, "the library is being shut down") == WIA_STATUS_OK;
  wia__thread_t *self = wia__enter(__func__);
  wia__each_handle(close_handle, NULL);
  wia__free_memory();
  clear_devices();
  bool gone = wia__await_collection(deadline_ns);
  wia__exit(self);
  gone = wia__await_streams(deadline_ns) && gone;
  gone = wia__await_collection(deadline_ns) && gone; /* what the last workers let go of */
  wia__admit_streams();
  return stopped && gone ? WIA_STATUS_OK : WIA_STATUS_DEADLINE_EXCEEDED;
}

static wia_status_t shut_down(int64_t timeout_ns) {
  wia__thread_t *self = wia__thread();
  wia_status_t status = wia__check_timeout(timeout_ns);
  if (status) return status;
  if (is_inside(self))
    return wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                     "the library calls this thread, so it can't be shut down from here: it would "
                     "wait for itself");
  wia__leave(self);
  pthread_mutex_lock(&one_at_a_time);
  status = end_all(timeout_ns);
  pthread_mutex_unlock(&one_at_a_time);
  wia__rejoin(self);
  if (!status) return status;
  return wia__fail(
      status,
      "after %lld ns work is running or a call is going on; what it uses is given back "
      "when it ends",
      (long long)timeout_ns);
}

WIA_API wia_status_t wia_shutdown(int64_t timeout_ns) { WIA__CALL(shut_down(timeout_ns)); }

/* A shutdown may take long, so a fork doesn't wait for it: the parent's is none of the child's. */
void wia__fork_shutdown(wia__fork_t stage) {
  static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  if (stage == WIA__FORK_CHILD) one_at_a_time = fresh;
}
