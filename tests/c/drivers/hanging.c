/* A driver that never comes back. */
#include <unistd.h>

#include "tiny.h"

WIA_API wia_status_t wia_negotiate_driver(wia_negotiation_t *negotiation, wia_error_t *out_error) {
  (void)negotiation, (void)out_error;
  for (;;) pause();
}
