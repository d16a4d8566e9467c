/* One library with three drivers: "alpha", "beta" and one without a prepare function, "gamma". */
#include "tiny.h"

static wia_driver_t alpha, beta, third;
static const wia_driver_t *const tables[] = {&alpha, &beta, &third};

WIA_API wia_status_t wia_negotiate_driver(wia_negotiation_t *negotiation, wia_error_t *out_error) {
  (void)out_error;
  tiny_make(&alpha, "alpha");
  tiny_make(&beta, "beta");
  tiny_make(&third, "gamma");
  third.prepare = NULL;
  return tiny_answer(negotiation, tables, 3);
}
