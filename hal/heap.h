/* heap.h: the blocks of a memory pool: segments that a driver gave, cut into pieces and put together
 * again. Book-keeping only: it calls no driver, and whoever uses a heap holds the pool's mutex.
 *
 * A free piece may still be in use by work in flight; its marks say which. So free pieces lie in
 * lanes: one for those that nothing uses any more, one for each queue whose work alone uses them, and
 * one for the rest. A lane has bins by size, each four to a doubling. */
#ifndef WIA__HEAP_H
#define WIA__HEAP_H

#include "memory.h"

enum {
  WIA__HEAP_GRANULE = 256,   /* sizes of pieces are multiples of it, and addresses too */
  WIA__HEAP_SMALL = 1 << 18, /* requests up to here have segments of their own */
  WIA__HEAP_SMALL_SEGMENT = 1 << 21,
  WIA__HEAP_LARGE_SEGMENT = 1 << 24,
  WIA__HEAP_LARGE_REST = 1 << 16, /* less is not cut off a large piece */
  WIA__HEAP_DOUBLINGS = 56,
  WIA__HEAP_STEPS = 4
};

typedef struct wia__segment_t wia__segment_t;
typedef struct wia__piece_t wia__piece_t;
typedef struct wia__lane_t wia__lane_t;

struct wia__piece_t {
  wia__segment_t *segment;
  uint64_t offset, size;
  uint64_t requested;            /* of a piece in use: what was asked for */
  wia__piece_t *before, *after;  /* in the segment */
  wia__piece_t *previous, *next; /* in the bin */
  wia__piece_t *older, *newer;   /* in the lane, in the order of freeing */
  wia__lane_t *lane;             /* NULL: in use */
  wia__mark_t *marks;            /* of a free piece: each with a reference to its queue */
  uint32_t mark_count;
};

struct wia__segment_t {
  wia_operand_t memory;
  wia__source_t source;
  uint64_t size;
  bool small;
  wia__device_t *device;
  wia__piece_t *first;
  uint32_t used_count; /* pieces in use */
  uint32_t mark_count; /* free pieces with marks */
  wia__segment_t *previous, *next;
};

typedef struct wia__bins_t {
  uint64_t doublings; /* a bit each: some bin of it has pieces */
  uint8_t steps[WIA__HEAP_DOUBLINGS];
  wia__piece_t *first[WIA__HEAP_DOUBLINGS][WIA__HEAP_STEPS];
} wia__bins_t;

struct wia__lane_t {
  wia__queue_t *queue; /* with a reference */
  wia__lane_t *next;
  wia__piece_t *oldest, *newest;
  uint64_t count;
  wia__bins_t bins[2]; /* of large and of small segments */
};

typedef struct wia__heap_t {
  wia__segment_t *segments;
  wia__lane_t ready, mixed; /* mixed: work of several queues */
  wia__lane_t *lanes;       /* of single queues; none is empty */
  wia__lane_t *spare;       /* an empty one, or NULL */
  uint64_t segment_count, free_count, free_size;
} wia__heap_t;

static inline uint64_t wia__heap_round(uint64_t size) {
  return (size + WIA__HEAP_GRANULE - 1) / WIA__HEAP_GRANULE * WIA__HEAP_GRANULE;
}

static inline uint64_t wia__piece_address(const wia__piece_t *piece) {
  return piece->segment->memory.address + piece->offset;
}

/* Adds a segment, all of it one piece in use, which is returned. NULL: no host memory. */
wia__piece_t *wia__heap_add(wia__heap_t *heap, wia__segment_t *segment);

/* A free piece of at least size bytes at that alignment, cut to size and in use from now on: one that
 * work of the queue (NULL: none) alone may still use, else one that nothing uses. NULL: there is none.
 * Marks stay on the piece. */
wia__piece_t *wia__heap_take(wia__heap_t *heap, const wia__queue_t *queue, uint64_t size,
                             uint64_t alignment);
/* The same of whatever is free, in the shortest run of free neighbours that has the room. */
wia__piece_t *wia__heap_gather(wia__heap_t *heap, uint64_t size, uint64_t alignment);
/* Cuts what is above size off a piece in use, if that is worth a piece. */
void wia__heap_cut(wia__heap_t *heap, wia__piece_t *piece, uint64_t size);

/* Frees a piece in use, whose marks tell what may still use it. */
void wia__heap_give(wia__heap_t *heap, wia__piece_t *piece);

/* Looks which work is done by now: at the oldest pieces of each lane, or at all. */
void wia__heap_sweep(wia__heap_t *heap, bool all);

/* Drops the marks of a piece in use. */
void wia__piece_forget(wia__piece_t *piece);

/* Takes segments without a piece in use or in flight out of the heap, largest first, until what is
 * free is at most keep bytes. Chained by `next`. */
wia__segment_t *wia__heap_shrink(wia__heap_t *heap, uint64_t keep);

uint64_t wia__heap_largest(const wia__heap_t *heap);

/* Of the lane that the piece is in, or leaves. (heap_bin.c) */
void wia__put_in_bin(wia__piece_t *piece);
void wia__take_from_bin(wia__piece_t *piece);
/* A piece of at least size bytes, or NULL. (heap_bin.c) */
wia__piece_t *wia__find_in_bins(const wia__bins_t *bins, uint64_t size);

#endif
