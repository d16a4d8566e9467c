/* A driver built for the driver ABI TEST_MAJOR.TEST_MINOR, whose table goes on behind ours. */
#include "tiny.h"

typedef struct longer_table_t {
  wia_driver_t table;
  uint64_t more[8];
} longer_table_t;

static longer_table_t longer;
static const wia_driver_t *const tables[] = {&longer.table};

WIA_API wia_status_t wia_negotiate_driver(wia_negotiation_t *negotiation, wia_error_t *out_error) {
  (void)out_error;
  tiny_make(&longer.table, TEST_NAME);
  longer.table.struct_size = sizeof longer;
  memset(longer.more, 0xff, sizeof longer.more);
  const wia_status_t status = tiny_answer(negotiation, tables, 1);
  negotiation->driver_major = TEST_MAJOR;
  negotiation->driver_minor = TEST_MINOR;
  return status;
}
