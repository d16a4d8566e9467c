/* python.h: Python in a C process, started when the first Python driver is asked for. */
#ifndef WIA__PYTHON_H
#define WIA__PYTHON_H

#include <stdbool.h>

#include "registry.h"

typedef enum wia__python_t {
  WIA__PYTHON_READY = 0,
  WIA__PYTHON_ABSENT =
      1, /* this library was built and is run without Python: there is none to ask */
  WIA__PYTHON_FAILED = 2
} wia__python_t;

/* What is in the way. Both live as long as the process; cause is "" or a traceback. */
typedef struct wia__problem_t {
  const char *message, *cause;
} wia__problem_t;

/* Starts Python and the bridge, or waits for whoever does; a failure is kept. It leaves this thread's last error alone. Outside the epoch. */
wia__python_t wia__start_python(const wia__bridge_t **out_bridge, wia__problem_t *out_problem);

/* Path of the Python library that a C program loads; "" if there is none. Exported for the bridge. */
WIA_API const char *wia__get_libpython(void);

/* Whether the bridge is there already. */
bool wia__has_bridge(void);

/* Whether the process is a Python program, in which a wait has to look for signals now and then; and
 * the look: CANCELLED when a handler raised an exception. Inside the epoch. */
bool wia__sees_signals(void);
wia_status_t wia__check_signals(void);

#endif
