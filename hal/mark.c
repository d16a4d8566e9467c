/* mark.c: which work in flight uses an allocation, and waiting for it. */
#include <stdlib.h>

#include "memory.h"
#include "python.h"
#include "queue.h"

enum { SIGNAL_SLICE_NS = 100000000 };

wia_status_t wia__mark(wia__allocation_t *allocation, wia__queue_t *queue, uint64_t sequence) {
  wia_status_t status = WIA_STATUS_OK;
  pthread_mutex_lock(&allocation->mark_mutex);
  const uint32_t count = atomic_load_explicit(&allocation->pending, memory_order_relaxed);
  uint32_t i = 0;
  const uint64_t captured = sequence & WIA__CAPTURED;
  while (i < count && (allocation->marks[i].queue != queue ||
                       (allocation->marks[i].sequence & WIA__CAPTURED) != captured))
    i++;
  if (i == count && count == allocation->mark_capacity) {
    const uint32_t capacity = count ? 2 * count : 2;
    wia__mark_t *grown = realloc(allocation->marks, capacity * sizeof *grown);
    if (!grown) {
      status = wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no host memory is left");
    } else {
      allocation->marks = grown;
      allocation->mark_capacity = capacity;
    }
  }
  if (!status) {
    if (i == count) {
      wia__retain_queue(queue);
      allocation->marks[i] = (wia__mark_t){.queue = queue, .sequence = captured};
      atomic_store_explicit(&allocation->pending, count + 1, memory_order_release);
    }
    if (sequence > allocation->marks[i].sequence) {
      allocation->marks[i].sequence = sequence;
      allocation->marks[i].inherited = false;
    }
  }
  pthread_mutex_unlock(&allocation->mark_mutex);
  return status;
}

bool wia__is_captured(const wia__mark_t *mark) {
  return mark->sequence & WIA__CAPTURED &&
         atomic_load(&mark->queue->capturing) == (mark->sequence & ~WIA__CAPTURED);
}

void wia__take_marks(wia__allocation_t *allocation, wia__mark_t **out_marks, uint32_t *out_count) {
  pthread_mutex_lock(&allocation->mark_mutex);
  wia__mark_t *marks = allocation->marks;
  const uint32_t count = allocation->pending;
  allocation->marks = NULL;
  allocation->mark_capacity = 0;
  atomic_store_explicit(&allocation->pending, 0, memory_order_release);
  pthread_mutex_unlock(&allocation->mark_mutex);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) { /* what a capture noted has uses of its own */
    if (marks[i].sequence & WIA__CAPTURED)
      wia__release_queue(marks[i].queue);
    else
      marks[kept++] = marks[i];
  }
  *out_marks = marks;
  *out_count = kept;
}

/* Takes any mark, with a reference to its queue. */
static bool peek_mark(wia__allocation_t *allocation, wia__mark_t *out_mark) {
  pthread_mutex_lock(&allocation->mark_mutex);
  const bool any = allocation->pending != 0;
  if (any) {
    *out_mark = allocation->marks[0];
    wia__retain_queue(out_mark->queue);
  }
  pthread_mutex_unlock(&allocation->mark_mutex);
  return any;
}

/* Drops the queue's mark unless later work was marked meanwhile. */
static void drop_mark(wia__allocation_t *allocation, const wia__mark_t *mark) {
  bool dropped = false;
  pthread_mutex_lock(&allocation->mark_mutex);
  const uint32_t count = allocation->pending;
  for (uint32_t i = 0; i < count && !dropped; i++) {
    dropped = allocation->marks[i].queue == mark->queue &&
              allocation->marks[i].sequence == mark->sequence;
    if (!dropped) continue;
    allocation->marks[i] = allocation->marks[count - 1];
    atomic_store_explicit(&allocation->pending, count - 1, memory_order_release);
  }
  pthread_mutex_unlock(&allocation->mark_mutex);
  if (dropped) wia__release_queue(mark->queue);
}

/* In slices where somebody looks for signals between them: Ctrl-C in Python ends the wait. */
static wia_status_t await_mark(const wia__mark_t *mark) {
  if (mark->sequence & WIA__CAPTURED) {
    if (!wia__is_captured(mark)) return WIA_STATUS_OK;
    return wia__fail(
        WIA_STATUS_FAILED_PRECONDITION,
        "the memory is used by work that a stream captures, and that isn't done before "
        "its graph is launched: end the capture with wia_end_capture() first, or give "
        "the stream, so that this call is captured too");
  }
  const int64_t slice_ns = wia__sees_signals() ? SIGNAL_SLICE_NS : WIA_TIMEOUT_INFINITE;
  wia_status_t status;
  do {
    status = wia__wait_sequence(mark->queue, mark->sequence, slice_ns);
    if (status != WIA_STATUS_DEADLINE_EXCEEDED || wia__is_done(mark->queue, mark->sequence) ||
        wia__queue_status(mark->queue))
      return status; /* done, or the stream's own failure */
    status = wia__check_signals();
  } while (!status);
  return status;
}

wia_status_t wia__await_end(const wia__mark_t *mark) {
  const wia_status_t status = await_mark(mark);
  return wia__is_done(mark->queue, mark->sequence) ? WIA_STATUS_OK : status;
}

static wia_status_t wait_marks(wia__allocation_t *allocation) {
  wia_status_t status = WIA_STATUS_OK;
  for (wia__mark_t mark; !status && peek_mark(allocation, &mark);) {
    status = mark.inherited ? wia__await_end(&mark) : await_mark(&mark);
    if (!status) drop_mark(allocation, &mark); /* a failure stays, for whoever asks next */
    wia__release_queue(mark.queue);
  }
  return status;
}

wia_status_t wia__settle(wia__allocation_t *const *allocations, uint32_t count, bool *out_waited) {
  wia__allocation_t *held[WIA_MAX_OPERANDS];
  uint32_t held_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!allocations[i] || !wia__is_pending(allocations[i])) continue;
    wia__retain(&allocations[i]->object);
    held[held_count++] = allocations[i];
  }
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t i = 0; i < held_count && !status; i++) status = wait_marks(held[i]);
  for (uint32_t i = 0; i < held_count; i++) wia__release(&held[i]->object);
  *out_waited = held_count != 0 && !status; /* after a failure nobody is to look again */
  return status;
}
