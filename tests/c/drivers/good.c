/* A driver without a fault, TEST_NAME by name. TEST_DELAY_MS: it takes its time to register, and if the
 * variable TEST_GATE names a file, all the time that this is there. */
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tiny.h"

WIA_API _Atomic int negotiation_count; /* read by the tests */

static wia_driver_t table;
static const wia_driver_t *const tables[] = {&table};

WIA_API wia_status_t wia_negotiate_driver(wia_negotiation_t *negotiation, wia_error_t *out_error) {
  (void)out_error;
  atomic_fetch_add(&negotiation_count, 1);
  const struct timespec delay = {.tv_nsec = TEST_DELAY_MS * 1000000L};
  nanosleep(&delay, NULL);
  const char *gate = TEST_DELAY_MS ? getenv("TEST_GATE") : NULL;
  while (gate && access(gate, F_OK) == 0) usleep(1000);
  tiny_make(&table, TEST_NAME);
  return tiny_answer(negotiation, tables, 1);
}
