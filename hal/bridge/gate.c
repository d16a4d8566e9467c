/* gate.c: see bridge.h. */
#define _POSIX_C_SOURCE 200809L
#include "bridge.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

/* The closed flag and the number of calls inside share one word, so that nobody gets in between the
 * look at the one and the change of the other. */
#define CLOSED INT64_C(0x4000000000000000)

static _Atomic int64_t gate;
static _Thread_local int64_t depth; /* calls inside, of this thread */
static _Thread_local wia__entry_t entry;

int wia__enter_gate(void) {
  const int open = atomic_fetch_add(&gate, 1) < CLOSED;
  depth++; /* by now, for a fork */
  entry = open ? wia__attach_thread() : WIA__ENTRY_CLOSED;
  if (entry == WIA__ENTRY_OPEN) return 1;
  wia__leave_gate();
  return 0;
}

void wia__leave_gate(void) {
  depth--;
  atomic_fetch_sub(&gate, 1);
}

/* A process that was forked off has the forking thread only. */
static void forget_threads(void) { atomic_store(&gate, (atomic_load(&gate) & CLOSED) + depth); }

__attribute__((constructor)) static void watch_forks(void) {
  (void)pthread_atfork(NULL, NULL, forget_threads);
}

int64_t wia__close_gate(int64_t timeout_ns) {
  const struct timespec pause = {.tv_nsec = 1000000};
  int64_t inside = atomic_fetch_or(&gate, CLOSED) & ~CLOSED;
  for (int64_t waited_ns = 0; inside != 0 && waited_ns < timeout_ns; waited_ns += pause.tv_nsec) {
    nanosleep(&pause, NULL);
    inside = atomic_load(&gate) & ~CLOSED;
  }
  return inside;
}

int wia__is_gate_closed(void) { return atomic_load(&gate) >= CLOSED; }

wia_status_t wia__refuse_at_gate(wia_error_t *out_error) {
  static const struct {
    wia_status_t status;
    const char *text;
  } refusals[] = {
      [WIA__ENTRY_OPEN] = {WIA_STATUS_INTERNAL, ""},
      [WIA__ENTRY_CLOSED] = {WIA_STATUS_UNAVAILABLE,
                             "The Python interpreter of this driver has ended. Synchronize streams "
                             "before the program ends."},
      [WIA__ENTRY_FOREIGN] =
          {WIA_STATUS_FAILED_PRECONDITION,
           "This call comes from a subinterpreter, and drivers in Python work in "
           "the main interpreter alone. Make the call from there."},
      [WIA__ENTRY_NO_MEMORY] = {WIA_STATUS_RESOURCE_EXHAUSTED,
                                "There is no memory for this thread to enter Python."},
  };
  if (out_error)
    snprintf(out_error->message, sizeof out_error->message, "%s", refusals[entry].text);
  return refusals[entry].status;
}
