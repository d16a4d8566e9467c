/* extension_check.c: what is well formed in an extension that a driver or a program gives. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "extension.h"

static bool read_number(const char **text, uint32_t *out_number) {
  uint32_t length = 0;
  for (*out_number = 0; isdigit((unsigned char)**text) && length < 6; ++*text, ++length)
    *out_number = *out_number * 10 + (uint32_t)(**text - '0');
  return length > 0;
}

bool wia__read_extension_version(const char *text, uint32_t *out_major, uint32_t *out_minor) {
  if (!text || !read_number(&text, out_major) || *text++ != '.') return false;
  return read_number(&text, out_minor) && *text == '\0';
}

static bool is_id(const char *name) {
  return wia__is_driver_name(name) || wia__is_scoped_name(name);
}

bool wia__examine_extension(wia__extension_t *extension, char out_why[WIA__TEXT_SIZE]) {
  const wia_device_extension_t *given = &extension->given;
  if (!is_id(given->extension_id)) {
    snprintf(out_why, WIA__TEXT_SIZE,
             "has the id \"%.80s\"; expected WIA_EXT_* or \"vendor::name\", of lower-case letters, "
             "digits and _",
             given->extension_id ? given->extension_id : "(NULL)");
    return false;
  }
  if (!wia__read_extension_version(given->version, &extension->major, &extension->minor)) {
    snprintf(out_why, WIA__TEXT_SIZE, "\"%s\" has the version \"%.40s\"; expected \"major.minor\"",
             given->extension_id, given->version ? given->version : "(NULL)");
    return false;
  }
  uint32_t size = sizeof size;
  if (given->table) memcpy(&size, given->table, sizeof size);
  if (size < sizeof size) {
    snprintf(out_why, WIA__TEXT_SIZE,
             "\"%s\" has a table whose struct_size is %u; expected its size, in its first 4 bytes",
             given->extension_id, size);
    return false;
  }
  uint32_t *count = &extension->capability_count;
  for (*count = 0; *count < WIA_MAX_CAPABILITIES && given->capabilities[*count]; ++*count)
    if (!is_id(given->capabilities[*count])) {
      snprintf(out_why, WIA__TEXT_SIZE,
               "\"%s\" has the capability \"%.80s\"; expected WIA_CAP_* or \"vendor::name\"",
               given->extension_id, given->capabilities[*count]);
      return false;
    }
  count = &extension->operation_count;
  for (*count = 0; *count < WIA_MAX_EXTENSION_OPERATIONS && given->operations[*count].name;
       ++*count)
    extension->operations[*count] = given->operations[*count].name;
  return true;
}
