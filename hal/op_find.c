/* op_find.c: operations by number and by name. */
#include <stddef.h>
#include <string.h>

#include "custom.h"
#include "names.h"
#include "object.h"

const wia__op_t *wia__get_op(wia_op_t op) {
  if (__builtin_expect(op >= WIA_OP_CUSTOM_FIRST, 0)) {
    const wia__custom_t *custom = wia__get_custom(op);
    return custom ? &custom->op : NULL;
  }
  const uint32_t place = op >= 1 && op <= wia__op_last ? wia__op_places[op] : 0;
  return place ? &wia__ops[place - 1] : NULL;
}

/* All operations: of the catalog, then registered ones. */
static uint32_t count_all(void) { return wia__op_count + wia__custom_count(); }

static const wia__op_t *get_nth(uint32_t i) {
  return i < wia__op_count ? &wia__ops[i]
                           : wia__get_op(WIA_OP_CUSTOM_FIRST + (wia_op_t)(i - wia__op_count));
}

static wia_status_t get_info(wia_op_t op, wia_op_info_t *out_info) {
  const wia_status_t status =
      wia__check_out(out_info, offsetof(wia_op_info_t, documentation), "WIA_OP_INFO_INIT");
  if (status) return status;
  const wia__op_t *entry = wia__get_op(op);
  if (!entry)
    return wia__fail(
        WIA_STATUS_INVALID_ARGUMENT,
        "op is %d, which is no operation; expected a WIA_OP_* number, 1 to %d, or one of "
        "wia_register_op(), which has registered %u",
        op, wia__op_last, wia__custom_count());
  const wia__custom_t *custom = wia__custom_of(entry);
  const wia_op_info_t info = {
      .struct_size = sizeof info,
      .op = op,
      .name = entry->name,
      .family = entry->family,
      .min_input_count = entry->min_input_count,
      .max_input_count = entry->max_input_count,
      .output_count = entry->output_count,
      .dtype_input = entry->dtype_input,
      .dtypes = entry->dtypes,
      .min_output_count = entry->min_output_count,
      .documentation = custom ? custom->documentation : NULL,
  };
  wia__write_struct(out_info, &info, sizeof info);
  return WIA_STATUS_OK;
}

wia_status_t wia_get_op_info(wia_op_t op, wia_op_info_t *out_info) {
  WIA__CALL(get_info(op, out_info));
}

static wia_status_t find_op(const char *name, wia_op_t *out_op) {
  if (!name) return wia__null("name");
  if (!out_op) return wia__null("out_op");
  const char *near = NULL;
  uint32_t distance = 3; /* more changes than that are another name */
  const uint32_t count = count_all();
  for (uint32_t i = 0; i < count; i++) {
    const wia__op_t *op = get_nth(i);
    if (strcmp(op->name, name) == 0) {
      *out_op = op->op;
      return WIA_STATUS_OK;
    }
    const uint32_t changes = wia__name_distance(name, op->name);
    if (changes < distance) {
      distance = changes;
      near = op->name;
    }
  }
  if (!near) return wia__fail(WIA_STATUS_NOT_FOUND, "there is no operation \"%s\"", name);
  return wia__fail(WIA_STATUS_NOT_FOUND, "there is no operation \"%s\"; did you mean \"%s\"?", name,
                   near);
}

wia_status_t wia_find_op(const char *name, wia_op_t *out_op) { WIA__CALL(find_op(name, out_op)); }
