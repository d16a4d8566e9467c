/* custom.c: registering operations. */
#include "custom.h"

#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "fork.h"
#include "names.h"
#include "object.h"

enum { MAX_OUTPUTS = 8 };

/* Written under the mutex, the count last: who has read the count may read that many. */
static const wia__custom_t *customs[WIA_OP_CUSTOM_COUNT];
static _Atomic uint32_t custom_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

uint32_t wia__custom_count(void) {
  return atomic_load_explicit(&custom_count, memory_order_acquire);
}

const wia__custom_t *wia__get_custom(wia_op_t number) {
  const uint32_t index = (uint32_t)number - (uint32_t)WIA_OP_CUSTOM_FIRST;
  return index < wia__custom_count() ? customs[index] : NULL;
}

void wia__fork_customs(wia__fork_t stage) { wia__fork_mutex(stage, &mutex); }

/* -- memory of one registration ------------------------------------------------------------------ */

typedef struct block_t {
  struct block_t *next;
  _Alignas(8) unsigned char bytes[];
} block_t;

/* Zeroed; NULL: no memory. It goes with the registration. */
static void *take(wia__custom_t *custom, size_t size) {
  block_t *block = calloc(1, sizeof *block + size);
  if (!block) return NULL;
  block->next = custom->blocks;
  custom->blocks = block;
  return block->bytes;
}

static const char *take_text(wia__custom_t *custom, const char *text) {
  const size_t size = strlen(text) + 1;
  char *copy = take(custom, size);
  return copy ? memcpy(copy, text, size) : NULL;
}

static void drop(wia__custom_t *custom) {
  for (block_t *block = custom->blocks, *next; block; block = next) {
    next = block->next;
    free(block);
  }
  free(custom);
}

static wia_status_t no_memory(void) {
  return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for an operation");
}

/* -- names --------------------------------------------------------------------------------------- */

static wia_status_t check_name(const char *name) {
  if (!name) return wia__null("definition->name");
  if (wia__is_scoped_name(name)) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "an operation has the name \"%.80s\"; expected \"vendor::name\", both a "
                   "lower-case letter, then lower-case letters, digits and _, at most %d in all",
                   name, WIA__NAME_SIZE - 1);
}

static bool is_taken(const char *const *names, uint32_t count, const char *name) {
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

/* -- operands ------------------------------------------------------------------------------------ */

static const uint64_t ALL_DTYPES = (UINT64_C(1) << WIA_DTYPE_COUNT) - 2; /* bit 0 is NONE */

static wia_status_t bad_operand(const wia__op_t *op, const char *what, uint32_t i,
                                const char *why) {
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: %s[%u] %s", op->name, what, i, why);
}

/* Names go to names; dtypes is NULL for outputs. *out_required: how many can't be left out. */
static wia_status_t take_operands(wia__custom_t *custom, const wia_operand_definition_t *given,
                                  uint32_t count, const char *what, const char **names,
                                  uint64_t *dtypes, uint32_t *out_required) {
  const wia__op_t *op = &custom->op;
  *out_required = count;
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t unknown = dtypes ? ~ALL_DTYPES : UINT64_MAX;
    if (!given[i].name || !*given[i].name) return bad_operand(op, what, i, "has no name");
    if (given[i].flags & ~(uint32_t)WIA_OPERAND_OPTIONAL || given[i].reserved)
      return bad_operand(op, what, i, "has flags that are not known, or a reserved field set");
    if (given[i].dtypes & unknown)
      return bad_operand(op, what, i,
                         dtypes
                             ? "has dtypes that are none"
                             : "has dtypes, which the shape function gives to outputs; expected 0");
    if (given[i].flags && i < *out_required)
      *out_required = i;
    else if (!given[i].flags && i > *out_required)
      return bad_operand(op, what, i,
                         "can't be left out, and one before it can; expected those at the end");
    names[i] = take_text(custom, given[i].name);
    if (!names[i]) return no_memory();
    if (dtypes) dtypes[i] = given[i].dtypes;
  }
  return WIA_STATUS_OK;
}

static wia_status_t take_all_operands(wia__custom_t *custom, const wia_op_definition_t *given) {
  wia__op_t *op = &custom->op;
  const uint32_t inputs = given->input_count, outputs = given->output_count;
  if (outputs < 1 || outputs > MAX_OUTPUTS || inputs > WIA_MAX_OPERANDS - outputs)
    return wia__fail(
        WIA_STATUS_INVALID_ARGUMENT,
        "%s: %u inputs and %u outputs; expected 1 to %d outputs, and at most %d in all", op->name,
        inputs, outputs, MAX_OUTPUTS, WIA_MAX_OPERANDS);
  if (!given->inputs && inputs) return wia__null("definition->inputs");
  if (!given->outputs) return wia__null("definition->outputs");
  const char **names = take(custom, (inputs + outputs) * sizeof *names);
  uint64_t *dtypes = take(custom, (inputs + 1) * sizeof *dtypes);
  if (!names || !dtypes) return no_memory();
  op->operand_names = names;
  op->operand_dtypes = dtypes;
  op->max_input_count = inputs;
  op->output_count = outputs;
  wia_status_t status =
      take_operands(custom, given->inputs, inputs, "inputs", names, dtypes, &op->min_input_count);
  if (!status)
    status = take_operands(custom, given->outputs, outputs, "outputs", names + inputs, NULL,
                           &op->min_output_count);
  if (status) return status;
  if (!op->min_output_count)
    return bad_operand(op, "outputs", 0, "may be left out; expected the first one to be required");
  for (uint32_t i = 1; i < inputs + outputs; i++)
    if (is_taken(names, i, names[i]))
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: two operands have the name %s", op->name,
                       names[i]);
  op->dtype_input = WIA__NO_INPUT;
  for (uint32_t i = inputs; i-- > 0;)
    if (!dtypes[i]) op->dtype_input = i;
  if (op->dtype_input != WIA__NO_INPUT && op->dtype_input >= op->min_input_count)
    return bad_operand(op, "inputs", op->dtype_input,
                       "is the first without dtypes of its own, which the operation's dtypes are "
                       "about, so it can't be optional");
  return WIA_STATUS_OK;
}

/* -- attributes ---------------------------------------------------------------------------------- */

static wia_status_t bad_attribute(const wia__op_t *op, const char *name, const char *why) {
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: the attribute %s %s", op->name, name, why);
}

static wia_status_t check_attribute(const wia__op_t *op, const wia_attribute_definition_t *given,
                                    uint32_t i, bool scalar) {
  if (!given->name || !*given->name)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: %s[%u] has no name", op->name,
                     scalar ? "scalars" : "attributes", i);
  const bool list = given->flags & WIA_ATTRIBUTE_LIST;
  if (given->flags & ~(uint32_t)WIA_ATTRIBUTE_LIST)
    return bad_attribute(op, given->name, "has flags that are not known");
  if (scalar && (given->type != WIA_ATTRIBUTE_FLOAT64 || given->count > 1 || list ||
                 given->minimum.i64 || given->maximum.i64))
    return bad_attribute(op, given->name,
                         "is a scalar; expected FLOAT64, one element, no list, no bounds");
  if (given->type != WIA_ATTRIBUTE_INT64 && given->type != WIA_ATTRIBUTE_FLOAT64 &&
      given->type != WIA_ATTRIBUTE_DTYPE)
    return bad_attribute(op, given->name,
                         "has a type that is none of WIA_ATTRIBUTE_INT64, _FLOAT64 and _DTYPE; a "
                         "text is a list of INT64, its characters");
  if (given->type == WIA_ATTRIBUTE_DTYPE && (given->count > 1 || list))
    return bad_attribute(op, given->name, "is several dtypes; expected one");
  if (given->default_count && (!list || !given->defaults || given->default_count > given->count))
    return bad_attribute(op, given->name,
                         "has a default_count; expected that only of a list, with defaults, and at "
                         "most its count");
  return WIA_STATUS_OK;
}

static wia_scalar_t default_of(const wia_attribute_definition_t *given, uint32_t i) {
  wia_scalar_t value = {.i64 = 0};
  if (!given->defaults) return value;
  if (given->type == WIA_ATTRIBUTE_DTYPE)
    value.i64 = ((const int32_t *)given->defaults)[i];
  else
    memcpy(&value, (const unsigned char *)given->defaults + i * sizeof value, sizeof value);
  return value;
}

static void set_bounds(const wia_attribute_definition_t *given, wia__attribute_spec_t *spec,
                       bool *out_bounded) {
  spec->minimum = given->minimum;
  spec->maximum = given->maximum;
  *out_bounded = given->minimum.i64 || given->maximum.i64;
  if (*out_bounded) return;
  if (given->type == WIA_ATTRIBUTE_FLOAT64) {
    spec->minimum.f64 = -HUGE_VAL;
    spec->maximum.f64 = HUGE_VAL;
  } else {
    spec->minimum.i64 = given->type == WIA_ATTRIBUTE_DTYPE ? 0 : INT64_MIN;
    spec->maximum.i64 = given->type == WIA_ATTRIBUTE_DTYPE ? WIA_DTYPE_COUNT - 1 : INT64_MAX;
  }
}

static bool is_inside(const wia__attribute_spec_t *spec, wia_scalar_t value) {
  if (spec->type == WIA_ATTRIBUTE_FLOAT64)
    return value.f64 >= spec->minimum.f64 && value.f64 <= spec->maximum.f64;
  return value.i64 >= spec->minimum.i64 && value.i64 <= spec->maximum.i64;
}

static wia_status_t check_defaults(const wia__op_t *op) {
  for (uint32_t i = 0; i < op->attribute_count; i++) {
    const wia__attribute_spec_t *spec = &op->attributes[i];
    const wia_scalar_t *word = op->default_words + spec->word;
    uint32_t count = spec->count;
    if (spec->variable) count = word->i64 < 0 ? 0 : (uint32_t)word->i64;
    for (uint32_t j = 0; j < count; j++)
      if (!is_inside(spec, word[spec->variable + j]))
        return bad_attribute(op, spec->name, "has a default outside its bounds");
  }
  return WIA_STATUS_OK;
}

/* specs has room for all; bounded as for wia__adopt_family. */
static wia_status_t take_attributes(wia__custom_t *custom, const wia_op_definition_t *given,
                                    wia__attribute_spec_t *specs, bool *bounded) {
  wia__op_t *op = &custom->op;
  wia_scalar_t *words = take(custom, WIA__MAX_WORDS * sizeof *words);
  wia_scalar_t *scalars = take(custom, WIA__MAX_SCALARS * sizeof *scalars);
  if (!words || !scalars) return no_memory();
  op->attributes = specs;
  op->scalars = specs + given->attribute_count;
  op->default_words = words;
  op->default_scalars = scalars;
  for (uint32_t i = 0; i < given->attribute_count + given->scalar_count; i++) {
    const bool scalar = i >= given->attribute_count;
    const uint32_t place = scalar ? i - given->attribute_count : i;
    const wia_attribute_definition_t *from =
        scalar ? &given->scalars[place] : &given->attributes[place];
    const wia_status_t status = check_attribute(op, from, place, scalar);
    if (status) return status;
    for (uint32_t j = 0; j < i; j++)
      if (strcmp(specs[j].name, from->name) == 0)
        return bad_attribute(op, from->name, "is there twice");
    wia__attribute_spec_t *spec = &specs[i];
    spec->name = take_text(custom, from->name);
    if (!spec->name) return no_memory();
    spec->type = from->type;
    spec->count = from->count ? from->count : 1;
    spec->variable = from->flags & WIA_ATTRIBUTE_LIST ? 1 : 0;
    set_bounds(from, spec, &bounded[i]);
    if (scalar) {
      spec->word = place;
      scalars[place] = default_of(from, 0);
      op->scalar_count++;
      continue;
    }
    if (spec->count > WIA__MAX_WORDS ||
        op->word_count + spec->count + spec->variable > WIA__MAX_WORDS)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: its attributes have more than %d words; see count in "
                       "wia_attribute_definition_t",
                       op->name, WIA__MAX_WORDS);
    spec->word = op->word_count;
    wia_scalar_t *word = words + spec->word;
    uint32_t count = spec->count;
    if (spec->variable) {
      count = from->default_count;
      word++->i64 = from->defaults ? (int64_t)count : -1;
    }
    for (uint32_t j = 0; j < count; j++) word[j] = default_of(from, j);
    op->word_count += spec->count + spec->variable;
    op->attribute_count++;
  }
  return WIA_STATUS_OK;
}

/* -- the whole ----------------------------------------------------------------------------------- */

static wia_status_t define(wia__custom_t *custom, const wia_op_definition_t *given) {
  wia__op_t *op = &custom->op;
  if (given->flags & ~(uint32_t)WIA_OP_MIXED_DTYPES)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: flags are 0x%x; this version knows 0x%x",
                     given->name, given->flags, WIA_OP_MIXED_DTYPES);
  if (!given->infer == !given->family)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: family and infer are both %s; expected one of them", given->name,
                     given->infer ? "set" : "NULL");
  if (given->dtypes & ~ALL_DTYPES)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: dtypes has bits that stand for no dtype",
                     given->name);
  if (given->attribute_count > WIA__MAX_WORDS || given->scalar_count > WIA__MAX_SCALARS)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: %u attributes and %u scalars; expected at most %d and %d", given->name,
                     given->attribute_count, given->scalar_count, WIA__MAX_WORDS, WIA__MAX_SCALARS);
  if (!given->attributes && given->attribute_count) return wia__null("definition->attributes");
  if (!given->scalars && given->scalar_count) return wia__null("definition->scalars");
  op->name = take_text(custom, given->name);
  custom->documentation = take_text(custom, given->documentation ? given->documentation : "");
  const uint32_t count = given->attribute_count + given->scalar_count;
  wia__attribute_spec_t *specs = take(custom, (count + 1) * sizeof *specs);
  if (!op->name || !custom->documentation || !specs) return no_memory();
  bool bounded[WIA__MAX_WORDS + WIA__MAX_SCALARS] = {false};
  op->family = "custom";
  op->infer = wia__infer_custom;
  op->dtypes = given->dtypes ? given->dtypes : ALL_DTYPES;
  op->same_dtype = !(given->flags & WIA_OP_MIXED_DTYPES);
  op->read_scalar = -1;
  custom->infer = given->infer;
  custom->cost = given->cost;
  custom->gradient = given->gradient;
  custom->context = given->context;
  wia_status_t status = take_all_operands(custom, given);
  if (!status) status = take_attributes(custom, given, specs, bounded);
  if (!status && given->family) status = wia__adopt_family(op, given->family, specs, bounded);
  return status ? status : check_defaults(op);
}

static wia_status_t add(wia__custom_t *custom) {
  wia_status_t status = WIA_STATUS_OK;
  pthread_mutex_lock(&mutex);
  const uint32_t count = atomic_load_explicit(&custom_count, memory_order_relaxed);
  for (uint32_t i = 0; i < count && !status; i++)
    if (strcmp(customs[i]->op.name, custom->op.name) == 0) status = WIA_STATUS_ALREADY_EXISTS;
  if (!status && count == WIA_OP_CUSTOM_COUNT) status = WIA_STATUS_RESOURCE_EXHAUSTED;
  if (!status) {
    custom->op.op = WIA_OP_CUSTOM_FIRST + (wia_op_t)count;
    customs[count] = custom;
    atomic_store_explicit(&custom_count, count + 1, memory_order_release);
  }
  pthread_mutex_unlock(&mutex);
  return status;
}

static wia_status_t register_op(const wia_op_definition_t *given, wia_op_t *out_op) {
  if (!given) return wia__null("definition");
  if (!out_op) return wia__null("out_op");
  wia_op_definition_t definition = WIA_OP_DEFINITION_INIT;
  const uint32_t first = offsetof(wia_op_definition_t, gradient);
  wia_status_t status =
      wia__read_struct(given, &definition, sizeof definition, first, "WIA_OP_DEFINITION_INIT");
  if (!status) status = check_name(definition.name);
  if (status) return status;
  wia__custom_t *custom = calloc(1, sizeof *custom);
  if (!custom) return no_memory();
  status = define(custom, &definition);
  if (!status && (status = add(custom)) == WIA_STATUS_ALREADY_EXISTS)
    wia__fail(status,
              "the operation \"%s\" is registered already; give this one another name, or "
              "register it once only",
              custom->op.name);
  else if (status == WIA_STATUS_RESOURCE_EXHAUSTED)
    wia__fail(status, "%s: no memory, or %d operations are registered, which is the most",
              definition.name, WIA_OP_CUSTOM_COUNT);
  if (status)
    drop(custom);
  else
    *out_op = custom->op.op;
  return status;
}

WIA_API wia_status_t wia_register_op(const wia_op_definition_t *definition, wia_op_t *out_op) {
  WIA__CALL(register_op(definition, out_op));
}
