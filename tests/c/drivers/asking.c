/* A driver that asks the library for itself while it is loaded, and passes the answer on. */
#include <dlfcn.h>

#include "tiny.h"

typedef wia_status_t (*find_fn_t)(const char *name, int32_t *out_device_id);

WIA_API wia_status_t wia_negotiate_driver(wia_negotiation_t *negotiation, wia_error_t *out_error) {
  (void)negotiation, (void)out_error;
  void *symbol = dlsym(RTLD_DEFAULT, "wia_find_device");
  find_fn_t find;
  memcpy(&find, &symbol, sizeof find);
  int32_t id;
  return find != NULL ? find("asking", &id) : WIA_STATUS_INTERNAL;
}
