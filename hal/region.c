/* region.c: see region.h. */
#include "region.h"

#include <string.h>

enum { MOST_STEPS = 20000, MOST_DIMENSIONS = 2 * WIA_MAX_RANK };

wia__region_t wia__range_region(uint64_t address, uint64_t size) {
  return (wia__region_t){.base = address, .run = size};
}

static void insert_dimension(wia__region_t *region, uint64_t count, uint64_t step) {
  uint32_t at = region->rank++;
  for (; at && region->step[at - 1] < step; at--) {
    region->step[at] = region->step[at - 1];
    region->count[at] = region->count[at - 1];
  }
  region->step[at] = step;
  region->count[at] = count;
}

static void drop_dimension(wia__region_t *region, uint32_t at) {
  for (region->rank--; at < region->rank; at++) {
    region->step[at] = region->step[at + 1];
    region->count[at] = region->count[at + 1];
  }
  region->step[region->rank] = region->count[region->rank] = 0;
}

/* From the smallest step up: what lies without gaps is a longer run, or a longer dimension. */
static void join_dimensions(wia__region_t *region) {
  while (region->rank && region->step[region->rank - 1] <= region->run) {
    const uint32_t last = region->rank - 1;
    region->run += (region->count[last] - 1) * region->step[last];
    drop_dimension(region, last);
  }
  for (uint32_t i = region->rank; i-- > 1;) {
    if (region->step[i - 1] != region->count[i] * region->step[i]) continue;
    region->count[i] *= region->count[i - 1];
    drop_dimension(region, i - 1);
  }
}

wia__region_t wia__layout_region(const wia_tensor_layout_t *layout, uint64_t address) {
  const uint64_t bits = wia_get_dtype_bits(layout->dtype);
  if (layout->contiguous) return wia__range_region(address, (layout->element_count * bits + 7) / 8);
  wia__region_t region = {.base = address + (uint64_t)layout->span_begin, .run = bits / 8};
  for (uint32_t i = 0; i < layout->rank; i++) {
    const int64_t step = layout->strides[i] * (int64_t)(bits / 8);
    if (layout->shape[i] > 1 && step != 0)
      insert_dimension(&region, (uint64_t)layout->shape[i], (uint64_t)(step < 0 ? -step : step));
  }
  join_dimensions(&region);
  return region;
}

uint64_t wia__region_end(const wia__region_t *region) {
  uint64_t end = region->base + region->run;
  for (uint32_t i = 0; i < region->rank; i++) end += (region->count[i] - 1) * region->step[i];
  return end;
}

bool wia__same_region(const wia__region_t *a, const wia__region_t *b) {
  return memcmp(a, b, sizeof *a) == 0;
}

bool wia__covers_region(const wia__region_t *a, const wia__region_t *b) {
  if (wia__same_region(a, b)) return true;
  return !a->rank && a->base <= b->base && wia__region_end(b) <= wia__region_end(a);
}

/* -- meeting ------------------------------------------------------------------------------------- */

/* Whether an offset + the sum of a choice of one multiple of each step lies between low and high. */
typedef struct search_t {
  int64_t low, high;
  uint32_t rank, steps_left;
  int64_t step[MOST_DIMENSIONS]; /* above 0, falling */
  int64_t count[MOST_DIMENSIONS];
  int64_t most[MOST_DIMENSIONS + 1];    /* sum that can be reached from a dimension on */
  int64_t divisor[MOST_DIMENSIONS + 1]; /* of all steps from there on */
} search_t;

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static void add_dimensions(search_t *search, const wia__region_t *region) {
  for (uint32_t i = 0; i < region->rank; i++) {
    uint32_t at = search->rank++;
    for (; at && search->step[at - 1] < (int64_t)region->step[i]; at--) {
      search->step[at] = search->step[at - 1];
      search->count[at] = search->count[at - 1];
    }
    search->step[at] = (int64_t)region->step[i];
    search->count[at] = (int64_t)region->count[i];
  }
}

static void sum_up(search_t *search) {
  search->most[search->rank] = search->divisor[search->rank] = 0;
  for (uint32_t i = search->rank; i-- > 0;) {
    search->most[i] = search->most[i + 1] + (search->count[i] - 1) * search->step[i];
    search->divisor[i] = common_divisor(search->step[i], search->divisor[i + 1]);
  }
}

static int64_t floor_divide(int64_t value, int64_t divisor) {
  return value / divisor - (value % divisor < 0);
}

static bool find(search_t *search, uint32_t at, int64_t offset) {
  if (offset >= search->high || offset + search->most[at] <= search->low) return false;
  if (at == search->rank) return true;
  /* the first number above low that can be reached at all */
  const int64_t divisor = search->divisor[at], step = search->step[at];
  if (offset - floor_divide(offset - search->low - 1, divisor) * divisor >= search->high)
    return false;
  int64_t first = -floor_divide(offset + search->most[at + 1] - search->low - 1, step);
  int64_t last = floor_divide(search->high - 1 - offset, step);
  if (first < 0) first = 0;
  if (last >= search->count[at]) last = search->count[at] - 1;
  for (int64_t i = first; i <= last; i++) {
    if (!search->steps_left) return false;
    search->steps_left--;
    if (find(search, at + 1, offset + i * step)) return true;
  }
  return false;
}

/* a's address less b's, with b's indices counted from the end: all steps then add to it. */
bool wia__regions_meet(const wia__region_t *a, const wia__region_t *b) {
  const uint64_t a_end = wia__region_end(a), b_end = wia__region_end(b);
  if (a_end <= b->base || b_end <= a->base) return false;
  search_t search = {.low = -(int64_t)a->run, .high = (int64_t)b->run, .steps_left = MOST_STEPS};
  add_dimensions(&search, a);
  add_dimensions(&search, b);
  sum_up(&search);
  return find(&search, 0, (int64_t)(a->base - (b_end - b->run)));
}
