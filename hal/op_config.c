/* op_config.c: config structs and lists of attributes as words, and look-up of operations. */
#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "names.h"
#include "object.h"
#include "op.h"

static bool is_dtype(const wia__attribute_spec_t *spec) {
  return spec->type == WIA_ATTRIBUTE_DTYPE;
}

static wia_status_t check_range(const wia__op_t *op, const wia__attribute_spec_t *spec,
                                uint32_t index, wia_scalar_t word) {
  const int64_t value = word.i64, minimum = spec->minimum.i64, maximum = spec->maximum.i64;
  char element[16] = "";
  if (spec->count > 1) snprintf(element, sizeof element, "[%u]", index);
  if (spec->type == WIA_ATTRIBUTE_FLOAT64) {
    if (word.f64 >= spec->minimum.f64 && word.f64 <= spec->maximum.f64) return WIA_STATUS_OK;
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: %s%s is %g; expected %g to %g", op->name,
                     spec->name, element, word.f64, spec->minimum.f64, spec->maximum.f64);
  }
  if (value >= minimum && value <= maximum) return WIA_STATUS_OK;
  if (is_dtype(spec))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: %s is %" PRId64 ", which is no dtype",
                     op->name, spec->name, value);
  if (maximum == INT64_MAX)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: %s%s is %" PRId64 "; expected %" PRId64 " or more", op->name, spec->name,
                     element, value, minimum);
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: %s%s is %" PRId64 "; expected %" PRId64 " to %" PRId64, op->name,
                   spec->name, element, value, minimum, maximum);
}

static wia_status_t check_length(const wia__op_t *op, const wia__attribute_spec_t *spec,
                                 uint32_t count) {
  if (spec->variable ? count <= spec->count : count == spec->count) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: %s has %u elements; expected %s%u", op->name,
                   spec->name, count, spec->variable ? "at most " : "", spec->count);
}

static void copy_defaults(const wia__op_t *op, wia_scalar_t *words, wia_scalar_t *scalars) {
  if (op->word_count) memcpy(words, op->default_words, op->word_count * sizeof *words);
  if (op->scalar_count) memcpy(scalars, op->default_scalars, op->scalar_count * sizeof *scalars);
}

/* -- config structs ---------------------------------------------------------------------------- */

static size_t field_size(uint32_t field) {
  return field == WIA__FIELD_U32 || field == WIA__FIELD_I32 ? 4 : 8;
}

/* A double as it is, an integer as int64_t: an unsigned value above its range reads as negative,
 * which no unsigned field allows. */
static int64_t read_bits(const unsigned char *bytes, uint32_t field) {
  uint32_t narrow;
  int64_t wide;
  if (field == WIA__FIELD_U32 || field == WIA__FIELD_I32) {
    memcpy(&narrow, bytes, sizeof narrow);
    return field == WIA__FIELD_U32 ? (int64_t)narrow : (int64_t)(int32_t)narrow;
  }
  memcpy(&wide, bytes, sizeof wide);
  return wide;
}

static void write_bits(unsigned char *bytes, uint32_t field, int64_t value) {
  memcpy(bytes, &value, field_size(field)); /* little endian: the low half comes first */
}

/* Fields that an older caller's struct doesn't have keep what is written here. */
static void write_defaults(const wia__op_t *op, unsigned char *bytes) {
  for (uint32_t i = 0; i < op->attribute_count; i++) {
    const wia__attribute_spec_t *spec = &op->attributes[i];
    if (spec->field == WIA__FIELD_NONE) continue;
    const wia_scalar_t *word = op->default_words + spec->word;
    if (spec->variable) {
      const uint32_t length = (uint32_t)word++->i64;
      memcpy(bytes + spec->length_offset, &length, sizeof length);
    }
    for (uint32_t j = 0; j < spec->count; j++)
      write_bits(bytes + spec->offset + j * field_size(spec->field), spec->field, word[j].i64);
  }
  for (uint32_t i = 0; i < op->scalar_count; i++) {
    const wia__attribute_spec_t *spec = &op->scalars[i];
    memcpy(bytes + spec->offset, &op->default_scalars[i].f64, sizeof(double));
  }
}

/* Reads one attribute out of the struct and zeroes its bytes, so that what is left is reserved. */
static wia_status_t read_attribute(const wia__op_t *op, const wia__attribute_spec_t *spec,
                                   unsigned char *bytes, wia_scalar_t *words) {
  const size_t size = field_size(spec->field);
  const wia_scalar_t *defaults = op->default_words + spec->word;
  wia_scalar_t *word = words + spec->word;
  uint32_t count = spec->count;
  if (spec->variable) {
    memcpy(&count, bytes + spec->length_offset, sizeof count);
    memset(bytes + spec->length_offset, 0, sizeof count);
    const wia_status_t status = check_length(op, spec, count);
    if (status) return status;
    word++->i64 = count;
    defaults++;
  }
  for (uint32_t i = 0; i < spec->count; i++) {
    word[i].i64 = i < count ? read_bits(bytes + spec->offset + i * size, spec->field) : 0;
    if (i < count && word[i].i64 == 0 && spec->zero_is_default) word[i] = defaults[i];
    const wia_status_t status = i < count ? check_range(op, spec, i, word[i]) : WIA_STATUS_OK;
    if (status) return status;
  }
  memset(bytes + spec->offset, 0, spec->count * size);
  /* no kernel depends on it, so that it makes no other key */
  if (spec->option == WIA__OPTION_IN_CALL) words[spec->word] = op->default_words[spec->word];
  return WIA_STATUS_OK;
}

static wia_status_t check_reserved(const wia__op_t *op, const unsigned char *bytes) {
  for (uint32_t i = sizeof(uint32_t), word; i < op->config_size; i += sizeof word) {
    memcpy(&word, bytes + i, sizeof word);
    if (word)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: the reserved field at byte %u of the config is %u; expected 0: start "
                       "from %s",
                       op->name, i, word, op->config_init);
  }
  return WIA_STATUS_OK;
}

wia_status_t wia__words_of_config(const wia__op_t *op, const void *config, wia_scalar_t *words,
                                  wia_scalar_t *scalars) {
  copy_defaults(op, words, scalars);
  if (!config) return WIA_STATUS_OK;
  assert(op->config_size && op->config_size <= WIA__MAX_CONFIG_SIZE);
  _Alignas(8) unsigned char bytes[WIA__MAX_CONFIG_SIZE] = {0};
  write_defaults(op, bytes);
  wia_status_t status =
      wia__read_struct(config, bytes, op->config_size, op->config_first_size, op->config_init);
  for (uint32_t i = 0; !status && i < op->attribute_count; i++)
    if (op->attributes[i].field != WIA__FIELD_NONE)
      status = read_attribute(op, &op->attributes[i], bytes, words);
  if (status) return status;
  for (uint32_t i = 0; i < op->scalar_count; i++) {
    unsigned char *field = bytes + op->scalars[i].offset;
    memcpy(&scalars[i].f64, field, sizeof(double));
    memset(field, 0, sizeof(double));
  }
  return check_reserved(op, bytes);
}

/* -- lists of attributes ----------------------------------------------------------------------- */

/* Options that the generated function carries out itself are in no list. */
static const wia__attribute_spec_t *find_spec(const wia__op_t *op, const char *name,
                                              bool *out_scalar) {
  *out_scalar = false;
  for (uint32_t i = 0; i < op->attribute_count; i++)
    if (op->attributes[i].option != WIA__OPTION_IN_CALL &&
        strcmp(op->attributes[i].name, name) == 0)
      return &op->attributes[i];
  *out_scalar = true;
  for (uint32_t i = 0; i < op->scalar_count; i++)
    if (strcmp(op->scalars[i].name, name) == 0) return &op->scalars[i];
  return NULL;
}

static wia_status_t unknown_attribute(const wia__op_t *op, const char *name) {
  char names[256] = "";
  size_t length = 0;
  for (uint32_t i = 0; i < op->attribute_count + op->scalar_count; i++) {
    const wia__attribute_spec_t *spec =
        i < op->attribute_count ? &op->attributes[i] : &op->scalars[i - op->attribute_count];
    if (spec->option == WIA__OPTION_IN_CALL || length >= sizeof names) continue;
    length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "",
                               spec->name);
  }
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s has no attribute %s; expected one of: %s",
                   op->name, name, *names ? names : "none");
}

static wia_status_t wrong_type(const wia__op_t *op, const wia__attribute_spec_t *spec,
                               int32_t given) {
  static const char *const names[] = {"NONE", "INT64", "FLOAT64", "STRING", "DTYPE"};
  const bool known = given >= 0 && given <= WIA_ATTRIBUTE_DTYPE;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: %s is given with type %d (%s); expected WIA_ATTRIBUTE_%s", op->name,
                   spec->name, given, known ? names[given] : "unknown", names[spec->type]);
}

static wia_status_t read_scalar(const wia__op_t *op, const wia__attribute_spec_t *spec,
                                const wia_attribute_t *given, wia_scalar_t *out_scalar) {
  if (given->count != 1) return check_length(op, spec, given->count);
  if (given->type == WIA_ATTRIBUTE_FLOAT64)
    memcpy(&out_scalar->f64, given->data, sizeof(double));
  else {
    int64_t value;
    memcpy(&value, given->data, sizeof value);
    out_scalar->f64 = (double)value;
  }
  return WIA_STATUS_OK;
}

static wia_status_t read_list(const wia__op_t *op, const wia__attribute_spec_t *spec,
                              const wia_attribute_t *given, wia_scalar_t *words) {
  wia_status_t status = check_length(op, spec, given->count);
  if (status) return status;
  wia_scalar_t *word = words + spec->word;
  if (spec->variable) {
    word++->i64 = given->count;
    memset(word, 0, spec->count * sizeof *word);
  }
  for (uint32_t i = 0; !status && i < given->count; i++) {
    if (is_dtype(spec))
      word[i].i64 = ((const int32_t *)given->data)[i];
    else if (given->type == WIA_ATTRIBUTE_FLOAT64)
      word[i].f64 = ((const double *)given->data)[i];
    else if (spec->type == WIA_ATTRIBUTE_FLOAT64)
      word[i].f64 = (double)((const int64_t *)given->data)[i];
    else
      word[i].i64 = ((const int64_t *)given->data)[i];
    status = check_range(op, spec, i, word[i]);
  }
  return status;
}

wia_status_t wia__words_of_attributes(const wia__op_t *op, const wia_attribute_t *attributes,
                                      uint32_t count, wia_scalar_t *words, wia_scalar_t *scalars) {
  copy_defaults(op, words, scalars);
  if (count && !attributes) return wia__null("attributes");
  for (uint32_t i = 0; i < count; i++) {
    const wia_attribute_t *given = &attributes[i];
    if (!given->name)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: attributes[%u] has no name", op->name, i);
    for (uint32_t j = 0; j < i; j++)
      if (strcmp(attributes[j].name, given->name) == 0)
        return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: %s is given twice", op->name,
                         given->name);
    bool scalar;
    const wia__attribute_spec_t *spec = find_spec(op, given->name, &scalar);
    if (!spec) return unknown_attribute(op, given->name);
    const bool whole = spec->type == WIA_ATTRIBUTE_FLOAT64 && given->type == WIA_ATTRIBUTE_INT64;
    if (given->type != spec->type && !whole) return wrong_type(op, spec, given->type);
    if (!given->data && given->count)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: %s has no data", op->name, spec->name);
    const wia_status_t status = scalar ? read_scalar(op, spec, given, &scalars[spec->word])
                                       : read_list(op, spec, given, words);
    if (status) return status;
  }
  return WIA_STATUS_OK;
}
