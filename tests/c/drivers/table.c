/* A driver whose table has one fault, TEST_FAULT. */
#include <stddef.h>

#include "tiny.h"

static wia_driver_t table;
static const wia_driver_t *const tables[] = {&table};

static wia_status_t unreadable(wia_driver_device_t device, const char *op_name,
                               uint64_t *out_dtypes, wia_error_t *out_error) {
  (void)device, (void)op_name, (void)out_dtypes, (void)out_error;
  abort(); /* lies behind the end of the table: nobody may call it */
}

WIA_API wia_status_t wia_negotiate_driver(wia_negotiation_t *negotiation, wia_error_t *out_error) {
  (void)out_error;
  const wia_status_t status = tiny_answer(negotiation, tables, 1);
  switch (TEST_FAULT) {
  case 0: /* none: the oldest table there can be, and rubbish behind it */
    tiny_make(&table, "oldest");
    table.struct_size = offsetof(wia_driver_t, get_support);
    table.get_support = unreadable;
    break;
  case 1:
    tiny_make(&table, "short_table");
    table.struct_size = offsetof(wia_driver_t, prepare);
    break;
  case 2:
    tiny_make(&table, "null_entry");
    table.allocate = NULL;
    break;
  case 3:
    tiny_make(&table, "Bad-Name");
    break;
  case 4:
    tiny_make(&table, "flagged");
    table.flags = 8;
    break;
  case 5:
    negotiation->driver_count = 0;
    break;
  case 6:
    negotiation->drivers = NULL;
    break;
  default:
    negotiation->driver_count = UINT32_MAX;
    break;
  }
  return status;
}
