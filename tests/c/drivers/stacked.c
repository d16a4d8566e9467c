/* A driver of the name TEST_NAME that opens a device of another driver when one of its own is opened:
 * WIA_<NAME>_BASE names it. Links: WIA_<NAME>_LINK is kind and figures, or "broken". */
#include <stdio.h>
#include <time.h>

#include "tiny.h"

WIA_API const wia_driver_t *base_driver; /* read by the tests */

static wia_driver_t table;
static const wia_driver_t *const tables[] = {&table};

static wia_status_t open_device(wia_driver_self_t self, uint32_t index,
                                wia_driver_device_t *out_device, wia_error_t *out_error) {
  const wia_driver_t *driver = (const wia_driver_t *)self;
  wia_driver_device_t base;
  const struct timespec delay = {.tv_nsec = 50000000};
  nanosleep(&delay, NULL); /* so that another thread gets to its own device meanwhile */
  *out_device = (wia_driver_device_t)(uintptr_t)(index + 1);
  const char *name = tiny_host->get_option(driver, "base");
  const wia_status_t status = tiny_host->find_device(driver, name, &base_driver, &base, out_error);
  if (status != WIA_STATUS_OK) return status;
  wia_driver_device_info_t info = {.struct_size = sizeof info};
  return base_driver->get_info(base, &info, out_error);
}

static wia_status_t get_link(wia_driver_device_t device, wia_driver_device_t peer,
                             wia_link_info_t *out_info, wia_error_t *out_error) {
  const char *text = tiny_host->get_option(&table, "link");
  if (text == NULL) return WIA_STATUS_OK;
  if (strcmp(text, "broken") == 0) {
    tiny_host->set_error_text(out_error, "no cable", NULL);
    return WIA_STATUS_UNAVAILABLE;
  }
  if (sscanf(text, "%d %lf %lf", &out_info->kind, &out_info->bandwidth, &out_info->latency_ns) != 3)
    return WIA_STATUS_INTERNAL;
  out_info->bandwidth += (double)(10 * (uintptr_t)device + (uintptr_t)peer);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_negotiate_driver(wia_negotiation_t *negotiation, wia_error_t *out_error) {
  (void)out_error;
  tiny_make(&table, TEST_NAME);
  table.open_device = open_device;
  table.get_link = get_link;
  return tiny_answer(negotiation, tables, 1);
}
