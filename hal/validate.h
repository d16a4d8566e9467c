/* validate.h: what the layer validate is told. Each function is called only while the layer is on
 * (wia__is_validating()), or for what it has left behind; without a mutex, unless it says so.
 *
 * Whoever puts work on a queue with wia__enqueue() has nothing to do but to list what the work uses, for a
 * new kind of item: list_uses() in validate.c. Waits and records are items of their own kinds. */
#ifndef WIA__VALIDATE_H
#define WIA__VALIDATE_H

#include "memory.h"
#include "shadow.h"
#include "stream.h"
#include "wia/validation.h"

struct wia__timeline_t;
struct wia__moment_t;

/* -- uses of memory ------------------------------------------------------------------------------ */

typedef struct wia__use_t {
  wia__shadow_t *shadow; /* filled by the layer */
  wia__allocation_t *allocation;
  wia__access_t access;
} wia__use_t;

/* What a piece of work uses. Whoever makes one gives it room in list: of an operation that is
 * WIA_MAX_OPERANDS, 8 kB, so it stands on the stack of few. */
typedef struct wia__uses_t {
  const char *operation; /* "add", "upload" */
  const wia__device_t *device;
  const void *turns; /* as in wia__access_t */
  uint32_t count;
  wia__use_t *list;
} wia__uses_t;

/* allocation NULL: memory of the host. name and number: "input", 0; number below 0: none. */
void wia__add_use(wia__uses_t *uses, wia__allocation_t *allocation, wia__region_t region,
                  bool write, const char *name, int32_t number);

/* Around work that this thread does now, and not for a stream. Fails, before the work, with a finding
 * where findings are errors; then the end is not called. */
bool wia__works_for_host(void);
wia_status_t wia__begin_use(wia__uses_t *uses);
void wia__end_use_of(wia__uses_t *uses);

/* -- queues -------------------------------------------------------------------------------------- */

/* Under the queue's mutex: an item that is about to be its last, from a site. Fails as wia__begin_use(). */
wia_status_t wia__validate_item(wia__queue_t *queue, const wia__item_t *item, uint64_t sequence,
                                wia__site_t site);

/* The host has seen that all up to a sequence is done, or dropped. */
void wia__validate_done(wia__queue_t *queue, uint64_t sequence);
/* The same of a queue that is reset. */
void wia__validate_reset(wia__queue_t *queue, uint64_t sequence);

/* Around a host function; it stands at that sequence. */
void wia__validate_function(wia__queue_t *queue, uint64_t sequence, bool over);

/* -- points -------------------------------------------------------------------------------------- */

/* A point is about to be finished; the host has seen it finished. */
void wia__validate_finish(wia__point_t *point, bool failed);
void wia__validate_seen(wia__point_t *point);

/* -- ends ---------------------------------------------------------------------------------------- */

/* What the layer keeps with a queue, a point, an allocation; NULL does nothing. */
void wia__end_timeline(struct wia__timeline_t *timeline);
void wia__end_moment(struct wia__moment_t *moment);
void wia__end_shadow(wia__shadow_t *shadow);

/* -- places of objects (leak.c) ------------------------------------------------------------------ */

/* Where what has this key, a handle or the address of an allocation's struct, was made; and that it is no
 * more. */
void wia__note_birth(uint64_t key);
void wia__note_death(uint64_t key);
void wia__forget_births(void);
/* Writes what is live to the log. */
void wia__log_leaks(void);

/* -- the layer ----------------------------------------------------------------------------------- */

wia_status_t wia__start_validate(void);
wia_status_t wia__stop_validate(void);

#endif
