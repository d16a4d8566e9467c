/* region.h: the bytes that an access reaches, and whether two accesses reach a common one. */
#ifndef WIA__REGION_H
#define WIA__REGION_H

#include <stdbool.h>

#include "wia_driver.h"

/* Runs of bytes at base + the sums of index times step, in one form: steps are above 0 and fall, and
 * dimensions that can be are joined. So equal sets of bytes mostly are equal structs, and unused
 * dimensions are 0. */
typedef struct wia__region_t {
  uint64_t base, run;
  uint64_t count[WIA_MAX_RANK], step[WIA_MAX_RANK];
  uint32_t rank, reserved;
} wia__region_t;

wia__region_t wia__range_region(uint64_t address, uint64_t size);
/* Of a layout with elements at the address of element 0. */
wia__region_t wia__layout_region(const wia_tensor_layout_t *layout, uint64_t address);

/* One behind the last byte. */
uint64_t wia__region_end(const wia__region_t *region);
bool wia__same_region(const wia__region_t *a, const wia__region_t *b);
/* Whether all bytes of b are known to be in a. */
bool wia__covers_region(const wia__region_t *a, const wia__region_t *b);

/* Whether they have a byte in common. Exact, but for false where that takes too long to find out:
 * several dimensions each whose steps have no common divisor to tell them apart. */
bool wia__regions_meet(const wia__region_t *a, const wia__region_t *b);

#endif
