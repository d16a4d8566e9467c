/* A driver that needs a symbol which nobody has. */
#include "tiny.h"

wia_status_t wia_test_symbol_of_nobody(void);

WIA_API wia_status_t wia_negotiate_driver(wia_negotiation_t *negotiation, wia_error_t *out_error) {
  (void)negotiation, (void)out_error;
  return wia_test_symbol_of_nobody();
}
