/* pool.h: blocks of one size that one thread takes and another gives back, as queued work is. From
 * malloc() both would keep running into the lock of the same arena. */
#ifndef WIA__POOL_H
#define WIA__POOL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wia__block_t {
  struct wia__block_t *next;
} wia__block_t;

/* Zero is an empty one. */
typedef struct wia__pool_t {
  _Atomic(wia__block_t *) given; /* only taken as a whole, so that a pop can't meet a change */
  _Atomic uint32_t count;        /* of given, about */
} wia__pool_t;

/* A block of at least size bytes, the same in every call: from spare, which is the thread's own list,
 * from the pool, or new. NULL: no memory. */
void *wia__take_block(wia__pool_t *pool, wia__block_t **spare, size_t size);

/* Gives one back. The pool keeps a bounded number and frees the rest. */
void wia__give_block(wia__pool_t *pool, void *block);

#endif
