/* discovery.h: looking for drivers: each place is looked through once. */
#ifndef WIA__DISCOVERY_H
#define WIA__DISCOVERY_H

#include "python.h"

/* Both take long: outside the epoch. They leave this thread's last error alone. */

/* Reads all manifests and settles the default driver. RESOURCE_EXHAUSTED: memory is short, and
 * nothing was done. */
wia_status_t wia__discover_native(void);

/* Asks Python for its entry points, starting it. On anything but WIA__PYTHON_READY *out_problem says
 * why. */
wia__python_t wia__discover_python(wia__problem_t *out_problem);

#endif
