/* copies.h: one copy of this library in a process. */
#ifndef WIA__COPIES_H
#define WIA__COPIES_H

#include "status.h"

/* OK; or, in a copy that was loaded while another one was there, FAILED_PRECONDITION naming both files.
 * Asked where a program gets at devices: without those there is nothing else. */
wia_status_t wia__check_copies(void);

#endif
