/* heap_bin.c: the bins of a heap: free pieces by their sizes, see heap.h. */
#include "heap.h"

enum { LOOKS = 16 }; /* at pieces of a bin that may be too small */

static void find_bin(uint64_t size, uint32_t *out_doubling, uint32_t *out_step) {
  const uint64_t granules = size / WIA__HEAP_GRANULE;
  const uint32_t doubling = 63u - (uint32_t)__builtin_clzll(granules);
  *out_doubling = doubling;
  *out_step =
      (uint32_t)(doubling < 2 ? granules << (2 - doubling) : granules >> (doubling - 2)) & 3;
}

static wia__bins_t *bins_of(const wia__piece_t *piece) {
  return &piece->lane->bins[piece->segment->small];
}

void wia__put_in_bin(wia__piece_t *piece) {
  uint32_t doubling, step;
  find_bin(piece->size, &doubling, &step);
  wia__bins_t *bins = bins_of(piece);
  piece->previous = NULL;
  piece->next = bins->first[doubling][step];
  if (piece->next) piece->next->previous = piece;
  bins->first[doubling][step] = piece;
  bins->steps[doubling] |= (uint8_t)(1u << step);
  bins->doublings |= UINT64_C(1) << doubling;
}

void wia__take_from_bin(wia__piece_t *piece) {
  uint32_t doubling, step;
  find_bin(piece->size, &doubling, &step);
  wia__bins_t *bins = bins_of(piece);
  if (piece->next) piece->next->previous = piece->previous;
  if (piece->previous) {
    piece->previous->next = piece->next;
    return;
  }
  bins->first[doubling][step] = piece->next;
  if (piece->next) return;
  bins->steps[doubling] &= (uint8_t)~(1u << step);
  if (!bins->steps[doubling]) bins->doublings &= ~(UINT64_C(1) << doubling);
}

wia__piece_t *wia__find_in_bins(const wia__bins_t *bins, uint64_t size) {
  uint32_t doubling, step;
  find_bin(size, &doubling, &step);
  if (!(bins->doublings >> doubling)) return NULL;
  wia__piece_t *best = NULL;
  uint32_t looks = 0;
  for (wia__piece_t *p = bins->first[doubling][step]; p && looks < LOOKS; p = p->next, looks++) {
    if (p->size >= size && (!best || p->size < best->size)) best = p;
  }
  if (best) return best;
  const uint32_t steps = bins->steps[doubling] & ~((2u << step) - 1);
  if (steps) return bins->first[doubling][__builtin_ctz(steps)];
  const uint64_t doublings = bins->doublings >> doubling >> 1;
  if (!doublings) return NULL;
  doubling += 1 + (uint32_t)__builtin_ctzll(doublings);
  return bins->first[doubling][__builtin_ctz(bins->steps[doubling])];
}
