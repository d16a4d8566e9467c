#include "host.h"

#include <stdio.h>
#include <string.h>

#include "device.h"
#include "log.h"
#include "names.h"
#include "object.h"
#include "platform.h"

enum { OPTION_SIZE = 256 };

static void host_log(const wia_driver_t *driver, int32_t level, const char *text) {
  if (text != NULL) wia__log_text(WIA__LOG_DRIVER, level, driver != NULL ? driver->name : "", text);
}

/* toupper() follows the locale; names of variables don't. */
static char upper(char letter) {
  return letter >= 'a' && letter <= 'z' ? (char)(letter - 'a' + 'A') : letter;
}

static const char *host_get_option(const wia_driver_t *driver, const char *name) {
  if (driver == NULL || driver->name == NULL || name == NULL) return NULL;
  char variable[OPTION_SIZE];
  const char *separator = name[0] != '\0' ? "_" : "";
  const int length =
      snprintf(variable, sizeof variable, "WIA_%s%s%s", driver->name, separator, name);
  if (length < 0 || (size_t)length >= sizeof variable) return NULL;
  for (char *letter = variable; *letter != '\0'; ++letter) *letter = upper(*letter);
  return wia__get_environment(variable);
}

static wia_status_t find_device(const wia_driver_t *driver, const char *name,
                                wia__device_t **out_device) {
  char base[WIA__NAME_SIZE];
  uint32_t ordinal;
  if (name == NULL || !wia__parse_device_name(name, base, &ordinal))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "\"%.80s\" is no device name; expected driver or driver:ordinal, as npu or "
                     "npu:1, the driver in lower-case letters, digits and _",
                     name != NULL ? name : "(NULL)");
  if (strcmp(base, driver->name) == 0)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "driver \"%s\" asked for its own device \"%.80s\"; expected one of another "
                     "driver",
                     driver->name, name);
  int32_t id;
  wia_status_t status = wia_find_device(name, &id);
  if (status == WIA_STATUS_OK) status = wia__get_device(id, out_device);
  if (status != WIA_STATUS_OK || !((*out_device)->flags & WIA_DEVICE_SERIAL)) return status;
  return wia__fail(
      WIA_STATUS_UNIMPLEMENTED,
      "device \"%s\" runs one call at a time, in the library's order, so driver \"%s\" "
      "can't build on it; expected a device without WIA_DEVICE_SERIAL",
      (*out_device)->name, driver->name);
}

static wia_status_t host_find_device(const wia_driver_t *driver, const char *name,
                                     const wia_driver_t **out_driver,
                                     wia_driver_device_t *out_device, wia_error_t *out_error) {
  wia__thread_t *self = wia__enter(wia__thread()->function);
  wia__device_t *device = NULL;
  const wia_status_t status = find_device(driver, name, &device);
  wia__exit(self);
  if (status != WIA_STATUS_OK) return wia__save_error(out_error, status);
  *out_driver = device->table;
  *out_device = device->handle;
  return status;
}

const wia_host_t wia__host = {
    .struct_size = sizeof(wia_host_t),
    .log = host_log,
    .get_option = host_get_option,
    .set_error_text = wia__set_error_text,
    .find_device = host_find_device,
};

WIA_API const wia_host_t *wia_get_host(void) { return &wia__host; }

WIA_API wia_status_t wia__tell_error(wia_error_t *error, wia_status_t status, const char *doing) {
  if (status != WIA_STATUS_OK) return wia__take_error(error, status, NULL, "%s", doing);
  wia__drop_error(error);
  return status;
}
