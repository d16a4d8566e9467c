/* hazard.h: what is wrong with uses of memory, and with waits, as findings. */
#ifndef WIA__HAZARD_H
#define WIA__HAZARD_H

#include "timeline.h"
#include "validate.h"

/* Two accesses to a shadow that nothing orders: a finding, or where those are errors and this one may be
 * refused, a failure. Under the model's mutex. */
wia_status_t wia__find_race(const wia__shadow_t *shadow, const wia__access_t *access,
                            const wia__access_t *before, bool refusable);

/* An output that is several inputs of an operation whose elements depend on others than their own. A
 * finding, or a failure. Under any mutex. */
wia_status_t wia__find_twins(const wia__uses_t *uses, wia__site_t site);

#endif
