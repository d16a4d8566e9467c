/* A shared library that is no driver. */
#include "wia_driver.h"

WIA_API int wia_test_no_driver(void);
WIA_API int wia_test_no_driver(void) { return 1; }
