/* extension.c: extensions of devices: those of their drivers, and those that were registered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "extension.h"
#include "fork.h"
#include "op.h"
#include "supply.h"

enum { MAX_OFFERED = 1024 }; /* of one driver */

/* Those that were registered, in their order, of all devices. Under the mutex. */
static wia__extension_t *registered;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static wia__extension_t none; /* the list of a driver without any */

void wia__fork_extensions(wia__fork_t stage) { wia__fork_mutex(stage, &mutex); }

/* -- a driver's ---------------------------------------------------------------------------------- */

static void free_list(wia__extension_t *list) {
  for (wia__extension_t *next; list && list != &none; list = next) {
    next = list->next;
    free(list);
  }
}

static wia_status_t fail_driver(const wia__device_t *device, wia_status_t status, const char *why) {
  return wia__fail_with(status, device->driver->name, NULL,
                        "driver \"%s\" tells the extensions of %s, of which one %s: report this to "
                        "its vendor",
                        device->driver->name, device->name, why);
}

static wia_status_t adopt(const wia__device_t *device, const wia_device_extension_t *const *offered,
                          uint32_t count, wia__extension_t **out_list) {
  wia__extension_t **link = out_list;
  *link = count ? NULL : &none;
  if (count > MAX_OFFERED || (count && !offered))
    return fail_driver(device, WIA_STATUS_INTERNAL, "is one of too many, or of a NULL list");
  for (uint32_t i = 0; i < count; i++) {
    char why[WIA__TEXT_SIZE];
    if (!offered[i] || offered[i]->struct_size < sizeof *offered[i])
      return fail_driver(device, WIA_STATUS_INCOMPATIBLE, "is NULL, or its struct_size too small");
    wia__extension_t *extension = calloc(1, sizeof *extension);
    if (!extension) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for an extension");
    extension->given = *offered[i]; /* of one that is longer, what is known here */
    extension->device_id = device->id;
    *link = extension;
    link = &extension->next;
    if (!wia__examine_extension(extension, why))
      return fail_driver(device, WIA_STATUS_INTERNAL, why);
  }
  return WIA_STATUS_OK;
}

static wia_status_t ask_driver(wia__device_t *device, wia__extension_t **out_list) {
  const wia_device_extension_t *const *offered = NULL;
  uint32_t count = 0;
  wia_error_t error;
  wia__init_error(&error);
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  wia__lock_device(device);
  const wia_status_t status =
      device->table->get_extensions
          ? device->table->get_extensions(device->handle, &offered, &count, &error)
          : WIA_STATUS_OK;
  wia__unlock_device(device);
  wia__rejoin(self);
  if (status && status != WIA_STATUS_UNIMPLEMENTED)
    return wia__take_error(&error, status, device->driver->name, "the extensions of %s",
                           device->name);
  wia__drop_error(&error);
  return adopt(device, offered, status ? 0 : count, out_list);
}

/* Asked once: the answer doesn't change. */
static wia_status_t find_list(wia__device_t *device, const wia__extension_t **out_list) {
  pthread_mutex_lock(&mutex);
  *out_list = device->extensions;
  pthread_mutex_unlock(&mutex);
  if (*out_list) return WIA_STATUS_OK;
  wia__extension_t *fresh = NULL;
  const wia_status_t status = ask_driver(device, &fresh);
  if (status) {
    free_list(fresh);
    return status;
  }
  pthread_mutex_lock(&mutex);
  const bool first = !device->extensions;
  if (first) device->extensions = fresh;
  *out_list = device->extensions;
  pthread_mutex_unlock(&mutex);
  if (!first) free_list(fresh);
  return WIA_STATUS_OK;
}

/* -- over both lists, with the mutex held -------------------------------------------------------- */

typedef struct cursor_t {
  const wia__extension_t *next;
  int32_t device_id;
  bool at_registered;
} cursor_t;

static cursor_t start(const wia__device_t *device, const wia__extension_t *list) {
  return (cursor_t){.next = list == &none ? NULL : list, .device_id = device->id};
}

/* NULL at the end. */
static const wia__extension_t *step(cursor_t *cursor) {
  for (;;) {
    const wia__extension_t *found = cursor->next;
    if (found) cursor->next = found->next;
    if (found && found->device_id == cursor->device_id) return found;
    if (found) continue;
    if (cursor->at_registered) return NULL;
    cursor->at_registered = true;
    cursor->next = registered;
  }
}

/* -- telling ------------------------------------------------------------------------------------- */

static wia_status_t get_extension_count(int32_t device_id, uint32_t *out_count) {
  if (!out_count) return wia__null("out_count");
  wia__device_t *device = NULL;
  const wia__extension_t *list = NULL;
  wia_status_t status = wia__get_device(device_id, &device);
  if (!status) status = find_list(device, &list);
  if (status) return status;
  uint32_t count = 0;
  pthread_mutex_lock(&mutex);
  for (cursor_t cursor = start(device, list); step(&cursor);) count++;
  pthread_mutex_unlock(&mutex);
  *out_count = count;
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_extension_count(int32_t device_id, uint32_t *out_count) {
  WIA__CALL(get_extension_count(device_id, out_count));
}

static wia_status_t get_extension_info(int32_t device_id, uint32_t index,
                                       wia_extension_info_t *out_info) {
  wia__device_t *device = NULL;
  const wia__extension_t *list = NULL;
  wia_status_t status = wia__check_out(out_info, sizeof *out_info, "WIA_EXTENSION_INFO_INIT");
  if (!status) status = wia__get_device(device_id, &device);
  if (!status) status = find_list(device, &list);
  if (status) return status;
  uint32_t place = 0;
  pthread_mutex_lock(&mutex);
  cursor_t cursor = start(device, list);
  const wia__extension_t *found;
  while ((found = step(&cursor)) && place < index) place++;
  pthread_mutex_unlock(&mutex);
  if (!found)
    return wia__fail(WIA_STATUS_OUT_OF_RANGE, "extension %u of %s was asked for; it has %u", index,
                     device->name, place);
  const wia_extension_info_t info = {.struct_size = sizeof info,
                                     .has_table = found->given.table != NULL,
                                     .extension_id = found->given.extension_id,
                                     .version = found->given.version,
                                     .capabilities = found->given.capabilities,
                                     .operations = found->operations,
                                     .capability_count = found->capability_count,
                                     .operation_count = found->operation_count};
  wia__write_struct(out_info, &info, sizeof info);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_extension_info(int32_t device_id, uint32_t index,
                                            wia_extension_info_t *out_info) {
  WIA__CALL(get_extension_info(device_id, index, out_info));
}

/* Appends what the device has, "acme::counters 1.2", of one id only if name isn't NULL. */
static void list_known(const wia__device_t *device, const wia__extension_t *list, const char *name,
                       char out_text[WIA__TEXT_SIZE]) {
  size_t used = 0;
  const wia__extension_t *found;
  *out_text = '\0';
  pthread_mutex_lock(&mutex);
  for (cursor_t cursor = start(device, list); (found = step(&cursor)) && used < WIA__TEXT_SIZE;) {
    if (name && strcmp(found->given.extension_id, name) != 0) continue;
    used += (size_t)snprintf(out_text + used, WIA__TEXT_SIZE - used, "%s%s %s", used ? ", " : "",
                             found->given.extension_id, found->given.version);
  }
  pthread_mutex_unlock(&mutex);
}

static wia_status_t query_extension(int32_t device_id, const char *name, const char *version,
                                    const void **out_table) {
  if (!name) return wia__null("name");
  if (!out_table) return wia__null("out_table");
  uint32_t major, minor;
  if (!wia__read_extension_version(version, &major, &minor))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "the version \"%.40s\" of extension \"%.80s\" was asked for; expected "
                     "\"major.minor\"",
                     version ? version : "(NULL)", name);
  wia__device_t *device = NULL;
  const wia__extension_t *list = NULL;
  wia_status_t status = wia__get_device(device_id, &device);
  if (!status) status = find_list(device, &list);
  if (status) return status;
  bool known = false;
  const wia__extension_t *found;
  pthread_mutex_lock(&mutex);
  for (cursor_t cursor = start(device, list); (found = step(&cursor));) {
    if (strcmp(found->given.extension_id, name) != 0) continue;
    known = true;
    if (found->major == major) break;
  }
  pthread_mutex_unlock(&mutex);
  if (found) {
    *out_table = found->given.table;
    return WIA_STATUS_OK;
  }
  char text[WIA__TEXT_SIZE];
  list_known(device, list, known ? name : NULL, text);
  if (known)
    return wia__fail_with(WIA_STATUS_INCOMPATIBLE, device->driver->name, NULL,
                          "version %s of extension \"%s\" was asked for; %s has %s, and major "
                          "versions don't go together",
                          version, name, device->name, text);
  return wia__fail_with(WIA_STATUS_UNIMPLEMENTED, device->driver->name, NULL,
                        "%s has no extension \"%.80s\"; it has %s", device->name, name,
                        *text ? text : "none");
}

WIA_API wia_status_t wia_query_extension(int32_t device_id, const char *name, const char *version,
                                         const void **out_table) {
  WIA__CALL(query_extension(device_id, name, version, out_table));
}

/* -- registering --------------------------------------------------------------------------------- */

static void free_supplies(wia__supply_t *list) {
  for (wia__supply_t *next; list; list = next) {
    next = list->next;
    free(list);
  }
}

/* The registrations that the operations of an extension stand for. */
static wia_status_t make_supplies(const wia__extension_t *extension, const wia__device_t *device,
                                  wia__supply_t **out_list) {
  for (uint32_t i = 0; i < extension->operation_count; i++) {
    const wia_extension_operation_t *given = &extension->given.operations[i];
    wia_op_t number;
    const wia_status_t status = wia_find_op(given->name, &number);
    if (status) return status;
    if (!given->prepare) continue;
    wia__supply_t *supply = calloc(1, sizeof *supply);
    if (!supply) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for an extension");
    supply->op = wia__get_op(number);
    supply->prepare = given->prepare;
    supply->context = extension->given.context;
    supply->dtypes = WIA__ALL_DTYPES;
    supply->reach = WIA__FOR_DEVICE;
    supply->ordinal = (uint32_t)device->id % WIA__MAX_DEVICES;
    memcpy(supply->driver, device->driver->name, sizeof supply->driver);
    supply->next = *out_list;
    *out_list = supply;
  }
  return WIA_STATUS_OK;
}

/* Copies of the caller's strings, which stay when the extension does. */
static bool copy_texts(wia__extension_t *extension) {
  wia_device_extension_t *given = &extension->given;
  bool complete = (given->extension_id = strdup(given->extension_id)) != NULL;
  complete &= (given->version = strdup(given->version)) != NULL;
  for (uint32_t i = 0; i < extension->capability_count; i++)
    complete &= (given->capabilities[i] = strdup(given->capabilities[i])) != NULL;
  for (uint32_t i = 0; i < extension->operation_count; i++) {
    given->operations[i].name = extension->operations[i] = strdup(given->operations[i].name);
    complete &= extension->operations[i] != NULL;
  }
  return complete;
}

static void free_texts(wia__extension_t *extension) {
  free((void *)(uintptr_t)extension->given.extension_id);
  free((void *)(uintptr_t)extension->given.version);
  for (uint32_t i = 0; i < extension->capability_count; i++)
    free((void *)(uintptr_t)extension->given.capabilities[i]);
  for (uint32_t i = 0; i < extension->operation_count; i++)
    free((void *)(uintptr_t)extension->operations[i]);
}

/* Takes extension and supplies over on success. */
static wia_status_t add(const wia__device_t *device, const wia__extension_t *list,
                        wia__extension_t *extension, wia__supply_t *supplies) {
  wia_status_t status = WIA_STATUS_OK;
  const wia__extension_t *found;
  pthread_mutex_lock(&mutex);
  for (cursor_t cursor = start(device, list); !status && (found = step(&cursor));)
    if (found->major == extension->major &&
        strcmp(found->given.extension_id, extension->given.extension_id) == 0)
      status =
          wia__fail(WIA_STATUS_ALREADY_EXISTS, "%s has the extension \"%s\" already, in version %s",
                    device->name, found->given.extension_id, found->given.version);
  if (!status) status = wia__add_supplies(supplies);
  if (!status) {
    wia__extension_t **end = &registered;
    while (*end) end = &(*end)->next;
    *end = extension;
  }
  pthread_mutex_unlock(&mutex);
  return status;
}

static wia_status_t register_extension(wia_context_t *context,
                                       const wia_device_extension_t *given) {
  if (!given) return wia__null("extension");
  wia__device_t *device = NULL;
  const wia__extension_t *list = NULL;
  wia__extension_t *extension = calloc(1, sizeof *extension);
  if (!extension) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for an extension");
  wia__supply_t *supplies = NULL;
  char why[WIA__TEXT_SIZE];
  bool copied = false;
  wia_status_t status = wia__context_device(context, &device);
  if (!status)
    status = wia__read_struct(given, &extension->given, sizeof extension->given,
                              sizeof extension->given, "WIA_DEVICE_EXTENSION_INIT");
  if (!status && extension->given.reserved)
    status = wia__fail(WIA_STATUS_INVALID_ARGUMENT, "reserved of the extension is %u; expected 0",
                       extension->given.reserved);
  if (!status && !wia__examine_extension(extension, why))
    status = wia__fail(WIA_STATUS_INVALID_ARGUMENT, "the extension %s", why);
  if (!status) {
    extension->device_id = device->id;
    copied = true;
    if (!copy_texts(extension))
      status = wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for an extension");
  }
  if (!status) status = find_list(device, &list);
  if (!status) status = make_supplies(extension, device, &supplies);
  if (!status) status = add(device, list, extension, supplies);
  if (!status) {
    for (uint32_t i = 0; i < extension->operation_count; i++) {
      wia_op_t number;
      if (!wia_find_op(extension->operations[i], &number)) wia__forget_op(number);
    }
    return status;
  }
  free_supplies(supplies);
  if (copied) free_texts(extension);
  free(extension);
  return status;
}

WIA_API wia_status_t wia_register_device_extension(wia_context_t *context,
                                                   const wia_device_extension_t *extension) {
  WIA__CALL(register_extension(context, extension));
}
