/* fork.h: what becomes of the library in a process that was forked.
 *
 * The child has the forking thread only, and nothing that it inherited may touch a device: handles and
 * memory of the parent are lost to it. It gets FORKED for them, and can start anew: devices are opened
 * again at their next use. Lists that outlive the fork are whole, since the fork waits for whoever is
 * changing one under a mutex. Those that threads change without one are not: the memory of a process is
 * copied page by page while its other threads run, so a link may be there before what it leads to. The
 * child lets go of them. */
#ifndef WIA__FORK_H
#define WIA__FORK_H

#include <pthread.h>

typedef enum wia__fork_t {
  WIA__FORK_BEFORE = 0, /* in the parent */
  WIA__FORK_PARENT = 1, /* behind it */
  WIA__FORK_CHILD = 2
} wia__fork_t;

/* One function per file with state of its own: it locks, unlocks, and in the child lets go of what is
 * the parent's. */
void wia__fork_records(wia__fork_t stage);
void wia__fork_libraries(wia__fork_t stage);
void wia__fork_searches(wia__fork_t stage);
void wia__fork_slots(wia__fork_t stage);
void wia__fork_python(wia__fork_t stage);
void wia__fork_extensions(wia__fork_t stage);
void wia__fork_customs(wia__fork_t stage);
void wia__fork_supplies(wia__fork_t stage);
void wia__fork_queues(wia__fork_t stage);
void wia__fork_pools(wia__fork_t stage);
void wia__fork_launches(wia__fork_t stage);
void wia__fork_layouts(wia__fork_t stage);
void wia__fork_addresses(wia__fork_t stage);
void wia__fork_handles(wia__fork_t stage);
void wia__fork_objects(wia__fork_t stage);
void wia__fork_texts(wia__fork_t stage);
void wia__fork_environment(wia__fork_t stage);
void wia__fork_log(wia__fork_t stage);
void wia__fork_layers(wia__fork_t stage);
void wia__fork_trace(wia__fork_t stage);
void wia__fork_validate(wia__fork_t stage);
void wia__fork_findings(wia__fork_t stage);
void wia__fork_sites(wia__fork_t stage);
void wia__fork_leaks(wia__fork_t stage);
void wia__fork_profile(wia__fork_t stage);
void wia__fork_shutdown(wia__fork_t stage);
void wia__fork_threads(wia__fork_t stage);

static inline void wia__fork_mutex(wia__fork_t stage, pthread_mutex_t *mutex) {
  if (stage == WIA__FORK_BEFORE)
    pthread_mutex_lock(mutex);
  else
    pthread_mutex_unlock(mutex);
}

#endif
