#include "fork.h"

#include <stddef.h>

/* In the order in which a thread takes several of their mutexes. */
static void (*const parts[])(wia__fork_t stage) = {
    wia__fork_layers,    wia__fork_records,  wia__fork_libraries,  wia__fork_searches,
    wia__fork_slots,     wia__fork_python,   wia__fork_extensions, wia__fork_customs,
    wia__fork_pools,     wia__fork_supplies, wia__fork_queues,     wia__fork_layouts,
    wia__fork_addresses, wia__fork_handles,  wia__fork_objects,    wia__fork_validate,
    wia__fork_leaks,     wia__fork_findings, wia__fork_texts,      wia__fork_environment,
    wia__fork_log,       wia__fork_profile,  wia__fork_trace,      wia__fork_sites,
    wia__fork_shutdown,  wia__fork_launches, wia__fork_threads,
};
enum { PART_COUNT = sizeof parts / sizeof *parts };

static void before(void) {
  for (size_t i = 0; i < PART_COUNT; i++) parts[i](WIA__FORK_BEFORE);
}

static void behind(wia__fork_t stage) {
  for (size_t i = PART_COUNT; i-- > 0;) parts[i](stage);
}

static void in_parent(void) { behind(WIA__FORK_PARENT); }
static void in_child(void) { behind(WIA__FORK_CHILD); }

/* When the library is loaded, so that it costs no call anything. Without memory for it a child simply
 * is not told. */
__attribute__((constructor)) static void watch_forks(void) {
  (void)pthread_atfork(before, in_parent, in_child);
}
