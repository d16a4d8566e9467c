/* heap.c: see heap.h. */
#include "heap.h"

#include <stdlib.h>

#include "poison.h"
#include "stream.h"

/* -- lanes --------------------------------------------------------------------------------------- */

static wia__lane_t *find_lane(const wia__heap_t *heap, const wia__queue_t *queue) {
  wia__lane_t *lane = heap->lanes;
  while (lane && lane->queue != queue) lane = lane->next;
  return lane;
}

/* Where a piece with its marks belongs. */
static wia__lane_t *choose_lane(wia__heap_t *heap, const wia__piece_t *piece) {
  if (!piece->mark_count) return &heap->ready;
  if (piece->mark_count > 1) return &heap->mixed;
  wia__queue_t *queue = piece->marks[0].queue;
  wia__lane_t *lane = find_lane(heap, queue);
  if (lane) return lane;
  lane = heap->spare ? heap->spare : calloc(1, sizeof *lane);
  heap->spare = NULL;
  if (!lane) return &heap->mixed; /* where it is found too, later */
  wia__retain_queue(queue);
  lane->queue = queue;
  lane->next = heap->lanes;
  heap->lanes = lane;
  return lane;
}

static void drop_lane(wia__heap_t *heap, wia__lane_t *lane) {
  wia__lane_t **link = &heap->lanes;
  while (*link != lane) link = &(*link)->next;
  *link = lane->next;
  wia__release_queue(lane->queue);
  lane->queue = NULL;
  lane->next = NULL;
  if (heap->spare)
    free(lane);
  else
    heap->spare = lane;
}

static void enter_lane(wia__heap_t *heap, wia__piece_t *piece) {
  wia__lane_t *lane = choose_lane(heap, piece);
  piece->lane = lane;
  piece->newer = NULL;
  piece->older = lane->newest;
  if (piece->older)
    piece->older->newer = piece;
  else
    lane->oldest = piece;
  lane->newest = piece;
  lane->count++;
  if (piece->mark_count)
    piece->segment->mark_count++;
  else
    wia__poison(piece->segment->device, wia__piece_address(piece), piece->size);
  heap->free_count++;
  heap->free_size += piece->size;
  wia__put_in_bin(piece);
}

static void leave_lane(wia__heap_t *heap, wia__piece_t *piece) {
  wia__lane_t *lane = piece->lane;
  wia__take_from_bin(piece);
  if (piece->older)
    piece->older->newer = piece->newer;
  else
    lane->oldest = piece->newer;
  if (piece->newer)
    piece->newer->older = piece->older;
  else
    lane->newest = piece->older;
  if (piece->mark_count) piece->segment->mark_count--;
  heap->free_count--;
  heap->free_size -= piece->size;
  piece->lane = NULL;
  if (--lane->count == 0 && lane->queue) drop_lane(heap, lane);
}

/* -- marks --------------------------------------------------------------------------------------- */

void wia__piece_forget(wia__piece_t *piece) {
  for (uint32_t i = 0; i < piece->mark_count; i++) wia__release_queue(piece->marks[i].queue);
  free(piece->marks);
  piece->marks = NULL;
  piece->mark_count = 0;
}

/* Drops the marks of work that is done. */
static void prune(wia__piece_t *piece) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < piece->mark_count; i++) {
    const wia__mark_t mark = piece->marks[i];
    if (wia__is_done(mark.queue, mark.sequence))
      wia__release_queue(mark.queue);
    else
      piece->marks[kept++] = mark;
  }
  piece->mark_count = kept;
  if (kept) return;
  free(piece->marks);
  piece->marks = NULL;
}

/* Adds marks to those of a piece, with references of their own. False: no host memory. */
static bool add_marks(wia__piece_t *piece, const wia__mark_t *marks, uint32_t count) {
  if (!count) return true;
  wia__mark_t *grown = realloc(piece->marks, (piece->mark_count + count) * sizeof *grown);
  if (!grown) return false;
  piece->marks = grown;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t at = 0;
    while (at < piece->mark_count && grown[at].queue != marks[i].queue) at++;
    if (at == piece->mark_count) {
      wia__retain_queue(marks[i].queue);
      grown[piece->mark_count++] = marks[i];
    } else if (grown[at].sequence < marks[i].sequence) {
      grown[at].sequence = marks[i].sequence;
    }
  }
  return true;
}

/* -- cutting and joining ------------------------------------------------------------------------- */

/* Cuts a piece in use in two; the rest, in use too, has the same marks. NULL: no host memory. */
static wia__piece_t *cut_at(wia__piece_t *piece, uint64_t size) {
  wia__piece_t *rest = wia__make_zeroed(sizeof *rest);
  if (!rest || !add_marks(rest, piece->marks, piece->mark_count)) {
    free(rest);
    return NULL;
  }
  rest->segment = piece->segment;
  rest->offset = piece->offset + size;
  rest->size = piece->size - size;
  rest->before = piece;
  rest->after = piece->after;
  if (rest->after) rest->after->before = rest;
  piece->after = rest;
  piece->size = size;
  return rest;
}

/* Joins two neighbours that are in no lane, the second of which goes. */
static void join(wia__piece_t *piece, wia__piece_t *next) {
  piece->size += next->size;
  piece->after = next->after;
  if (piece->after) piece->after->before = piece;
  wia__piece_forget(next);
  free(next);
}

/* Neighbours that nothing uses, or that the same queue's work alone uses, belong together. Others stay
 * apart, so that what is ready isn't held up by what is not. */
static bool belong_together(const wia__piece_t *a, const wia__piece_t *b) {
  if (!a->mark_count && !b->mark_count) return true;
  return a->mark_count == 1 && b->mark_count == 1 && a->marks[0].queue == b->marks[0].queue;
}

static wia__piece_t *join_neighbours(wia__heap_t *heap, wia__piece_t *piece) {
  wia__piece_t *next = piece->after, *before = piece->before;
  if (next && next->lane && belong_together(piece, next)) {
    leave_lane(heap, next);
    if (piece->mark_count) add_marks(piece, next->marks, next->mark_count);
    join(piece, next);
  }
  if (before && before->lane && belong_together(before, piece)) {
    leave_lane(heap, before);
    if (piece->mark_count) add_marks(before, piece->marks, piece->mark_count);
    join(before, piece);
    piece = before;
  }
  return piece;
}

/* Of a piece in use: frees what lies before the next aligned address, and behind size from there. NULL:
 * no host memory for that, and the piece is free again. */
static wia__piece_t *trim(wia__heap_t *heap, wia__piece_t *piece, uint64_t size,
                          uint64_t alignment) {
  const uint64_t lead = (alignment - wia__piece_address(piece) % alignment) % alignment;
  if (lead) {
    wia__piece_t *rest = cut_at(piece, lead);
    enter_lane(heap, join_neighbours(heap, piece));
    if (!rest) return NULL;
    piece = rest;
  }
  piece->segment->used_count++;
  wia__heap_cut(heap, piece, size);
  return piece;
}

void wia__heap_cut(wia__heap_t *heap, wia__piece_t *piece, uint64_t size) {
  const uint64_t least = piece->segment->small ? WIA__HEAP_GRANULE : WIA__HEAP_LARGE_REST;
  if (piece->size < size + least) return;
  wia__piece_t *rest = cut_at(piece, size);
  if (rest) enter_lane(heap, join_neighbours(heap, rest));
}

/* -- public -------------------------------------------------------------------------------------- */

wia__piece_t *wia__heap_add(wia__heap_t *heap, wia__segment_t *segment) {
  wia__piece_t *piece = calloc(1, sizeof *piece);
  if (!piece) return NULL;
  piece->segment = segment;
  piece->size = segment->size;
  segment->first = piece;
  segment->used_count = 1;
  segment->previous = NULL;
  segment->next = heap->segments;
  if (segment->next) segment->next->previous = segment;
  heap->segments = segment;
  heap->segment_count++;
  return piece;
}

/* What is looked for so that size bytes at the alignment are sure to be inside. */
static uint64_t padded(uint64_t size, uint64_t alignment) {
  return alignment > WIA__HEAP_GRANULE ? size + alignment - WIA__HEAP_GRANULE : size;
}

wia__piece_t *wia__heap_take(wia__heap_t *heap, const wia__queue_t *queue, uint64_t size,
                             uint64_t alignment) {
  const uint64_t wanted = padded(size, alignment);
  const bool small = size <= WIA__HEAP_SMALL;
  wia__piece_t *piece = NULL;
  const wia__lane_t *lane = queue ? find_lane(heap, queue) : NULL;
  if (lane) piece = wia__find_in_bins(&lane->bins[small], wanted);
  if (!piece) piece = wia__find_in_bins(&heap->ready.bins[small], wanted);
  if (!piece) return NULL;
  leave_lane(heap, piece);
  return trim(heap, piece, size, alignment);
}

wia__piece_t *wia__heap_gather(wia__heap_t *heap, uint64_t size, uint64_t alignment) {
  wia__piece_t *best = NULL;
  uint64_t best_size = UINT64_MAX;
  const uint64_t wanted = padded(size, alignment);
  for (wia__segment_t *segment = heap->segments; segment; segment = segment->next) {
    for (wia__piece_t *first = segment->first; first;) {
      wia__piece_t *end = first;
      uint64_t run = 0;
      for (; end && end->lane; end = end->after) run += end->size;
      if (run >= wanted && run < best_size) {
        best = first;
        best_size = run;
      }
      first = end ? end->after : NULL;
    }
  }
  if (!best) return NULL;
  leave_lane(heap, best);
  while (best->size < best_size) {
    wia__piece_t *next = best->after;
    if (!add_marks(best, next->marks, next->mark_count)) break;
    leave_lane(heap, next);
    join(best, next);
  }
  if (best->size >= wanted) return trim(heap, best, size, alignment);
  enter_lane(heap, best);
  return NULL;
}

void wia__heap_give(wia__heap_t *heap, wia__piece_t *piece) {
  prune(piece);
  piece->requested = 0;
  piece->segment->used_count--;
  enter_lane(heap, join_neighbours(heap, piece));
}

static void free_again(wia__heap_t *heap, wia__piece_t *piece) {
  leave_lane(heap, piece);
  prune(piece);
  enter_lane(heap, join_neighbours(heap, piece));
}

static bool is_done(const wia__piece_t *piece) {
  for (uint32_t i = 0; i < piece->mark_count; i++) {
    if (!wia__is_done(piece->marks[i].queue, piece->marks[i].sequence)) return false;
  }
  return true;
}

/* Each time from the start, since a piece that becomes ready takes neighbours and empty lanes along. */
void wia__heap_sweep(wia__heap_t *heap, bool all) {
  for (wia__lane_t *lane = heap->lanes, *next; lane; lane = next) {
    next = lane->next;
    for (uint64_t left = lane->count; left && is_done(lane->oldest); left--)
      free_again(heap, lane->oldest);
  }
  if (heap->mixed.oldest && is_done(heap->mixed.oldest)) free_again(heap, heap->mixed.oldest);
  if (!all) return;
  for (wia__segment_t *segment = heap->segments; segment; segment = segment->next) {
    for (wia__piece_t *piece = segment->first; piece && segment->mark_count;) {
      if (piece->lane && piece->mark_count && is_done(piece)) {
        free_again(heap, piece);
        piece = segment->first;
      } else {
        piece = piece->after;
      }
    }
  }
}

wia__segment_t *wia__heap_shrink(wia__heap_t *heap, uint64_t keep) {
  wia__segment_t *out = NULL;
  while (heap->free_size > keep) {
    wia__segment_t *largest = NULL;
    for (wia__segment_t *s = heap->segments; s; s = s->next) {
      if (!s->used_count && !s->mark_count && (!largest || s->size > largest->size)) largest = s;
    }
    if (!largest) break;
    for (wia__piece_t *piece = largest->first, *after; piece; piece = after) {
      after = piece->after;
      leave_lane(heap, piece);
      free(piece);
    }
    largest->first = NULL;
    if (largest->next) largest->next->previous = largest->previous;
    if (largest->previous)
      largest->previous->next = largest->next;
    else
      heap->segments = largest->next;
    heap->segment_count--;
    largest->next = out;
    out = largest;
  }
  return out;
}

uint64_t wia__heap_largest(const wia__heap_t *heap) {
  uint64_t largest = 0;
  for (const wia__segment_t *segment = heap->segments; segment; segment = segment->next) {
    uint64_t run = 0;
    for (const wia__piece_t *piece = segment->first; piece; piece = piece->after) {
      run = piece->lane ? run + piece->size : 0;
      if (run > largest) largest = run;
    }
  }
  return largest;
}
