/* op_find.c: operations by number and by name. */
#include <string.h>

#include "names.h"
#include "object.h"
#include "op.h"

const wia__op_t *wia__get_op(wia_op_t op) {
  const uint32_t place = op >= 1 && op <= wia__op_last ? wia__op_places[op] : 0;
  return place ? &wia__ops[place - 1] : NULL;
}

static wia_status_t get_info(wia_op_t op, wia_op_info_t *out_info) {
  const wia_status_t status = wia__check_out(out_info, sizeof *out_info, "WIA_OP_INFO_INIT");
  if (status) return status;
  const wia__op_t *entry = wia__get_op(op);
  if (!entry)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "op is %d, which is no operation; expected a WIA_OP_* number, 1 to %d", op,
                     wia__op_last);
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
  for (uint32_t i = 0; i < wia__op_count; i++) {
    if (strcmp(wia__ops[i].name, name) == 0) {
      *out_op = wia__ops[i].op;
      return WIA_STATUS_OK;
    }
    const uint32_t changes = wia__name_distance(name, wia__ops[i].name);
    if (changes < distance) {
      distance = changes;
      near = wia__ops[i].name;
    }
  }
  if (!near) return wia__fail(WIA_STATUS_NOT_FOUND, "there is no operation \"%s\"", name);
  return wia__fail(WIA_STATUS_NOT_FOUND, "there is no operation \"%s\"; did you mean \"%s\"?", name,
                   near);
}

wia_status_t wia_find_op(const char *name, wia_op_t *out_op) { WIA__CALL(find_op(name, out_op)); }
