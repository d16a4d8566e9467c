/* shadow.h: who has used which bytes of an allocation, as far as that can still matter. Everything here
 * is under the model's mutex (timeline.h). */
#ifndef WIA__SHADOW_H
#define WIA__SHADOW_H

#include "clock.h"
#include "region.h"
#include "site.h"

enum { WIA__ACTOR_HOST = 0, WIA__USE_NAME = 64, WIA__OPERATION_NAME = 32 };

/* One use of memory by one piece of work. */
typedef struct wia__access_t {
  wia__region_t region;
  uint64_t time; /* of the actor */
  uint32_t actor;
  uint32_t write;
  uint32_t thread;   /* above 0: the host's, and that thread is in it right now */
  const void *turns; /* work of the same one, an executable, never overlaps; NULL: of none */
  uint32_t stream;   /* for findings, as all below; 0: the host */
  const struct wia__device_t *device;
  wia__site_t site;
  char use[WIA__USE_NAME]; /* "input 0", "destination" */
  char operation[WIA__OPERATION_NAME];
} wia__access_t;

/* Lives as long as its allocation, or as work that the model holds back. */
typedef struct wia__shadow_t {
  wia__access_t *accesses;
  uint32_t count, capacity;
  uint32_t holders;
  uint64_t address, size; /* of the allocation; size 0: of the host */
  struct wia__shadow_t *previous, *next;
} wia__shadow_t;

wia__shadow_t *wia__create_shadow(uint64_t address, uint64_t size); /* NULL: no memory */
void wia__hold_shadow(wia__shadow_t *shadow);
void wia__drop_shadow(wia__shadow_t *shadow);
/* Of all there are. */
void wia__forget_accesses(void);

/* An access that meets this one, where one of them writes, and that the clock of this one doesn't have
 * before it. thread: that does the work or enqueues it. NULL: there is none. */
const wia__access_t *wia__find_conflict(const wia__shadow_t *shadow, const wia__access_t *access,
                                        const wia__clock_t *clock, uint32_t thread);

/* Notes an access, in place of those that matter no more when it is there. host: what is before
 * everything that is still to come; NULL: work is held back for which that isn't so. False: no memory. */
bool wia__note_access(wia__shadow_t *shadow, const wia__access_t *access, const wia__clock_t *clock,
                      const wia__clock_t *host);

/* The thread is out of the uses that it was in. */
void wia__end_accesses(wia__shadow_t *shadow, uint32_t thread);

#endif
