/* A driver with extensions; TEST_FAULT names one that can't be. */
#include "tiny.h"

typedef struct counters_t {
  uint32_t struct_size;
  int32_t answer;
} counters_t;

static wia_driver_t table;
static const wia_driver_t *const tables[] = {&table};
static const counters_t first = {.struct_size = sizeof first, .answer = 41};
static const counters_t second = {.struct_size = sizeof second, .answer = 42};
static wia_device_extension_t extensions[] = {{.struct_size = sizeof extensions[0],
                                               .extension_id = "test::counters",
                                               .version = "1.3",
                                               .capabilities = {"test::count", "test::reset"},
                                               .operations = {{"test::counted", NULL}},
                                               .table = &first},
                                              {.struct_size = sizeof extensions[0],
                                               .extension_id = "test::counters",
                                               .version = "2.0",
                                               .table = &second}};
static const wia_device_extension_t *const list[] = {&extensions[0], &extensions[1]};

static wia_status_t get_extensions(wia_driver_device_t device,
                                   const wia_device_extension_t *const **out_extensions,
                                   uint32_t *out_count, wia_error_t *out_error) {
  (void)device, (void)out_error;
  *out_extensions = list;
  *out_count = 2;
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_negotiate_driver(wia_negotiation_t *negotiation, wia_error_t *out_error) {
  (void)out_error;
  tiny_make(&table, TEST_NAME);
  table.get_extensions = get_extensions;
  if (TEST_FAULT == 1) extensions[1].version = "two";
  if (TEST_FAULT == 2) extensions[1].struct_size = 8;
  return tiny_answer(negotiation, tables, 1);
}
