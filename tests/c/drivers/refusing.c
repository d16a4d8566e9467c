/* A driver that returns TEST_STATUS, with a message and a cause. */
#include "tiny.h"

WIA_API wia_status_t wia_negotiate_driver(wia_negotiation_t *negotiation, wia_error_t *out_error) {
  negotiation->host->set_error_text(out_error, "the firmware is too old", "firmware 3 of 7");
  return TEST_STATUS;
}
