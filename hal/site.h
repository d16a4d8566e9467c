/* site.h: where a call of the library came from: the line of a Python program, or a stack of a C program. */
#ifndef WIA__SITE_H
#define WIA__SITE_H

#include "status.h"

/* A number of a place; 0: not known. Equal places have the same, as long as the process lives. */
typedef uint32_t wia__site_t;

/* The place that this thread's public function was called from. Takes the GIL on a thread of Python's, so
 * it is called without any mutex. */
wia__site_t wia__capture_site(void);

/* The function that was called there; "" if it isn't known. Lives as long as the process. */
const char *wia__site_function(wia__site_t site);

/* "train.py:12 in step", or a line for each frame of the stack, the innermost first. To be freed; NULL:
 * no memory. */
char *wia__describe_site(wia__site_t site);

/* Exported for the bridge only: how to find the innermost frame of this thread's Python code that isn't
 * of the package wia. Writes "file:line in function" and returns 1, or returns 0 without any. */
typedef int32_t (*wia__find_caller_fn_t)(char *out_text, uint64_t size);
WIA_API void wia__set_find_caller(wia__find_caller_fn_t function);

#endif
