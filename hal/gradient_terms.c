/* gradient_terms.c: attributes and conditions of gradients, computed from shapes and attributes. */
#include "gradient.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { STACK = 12 };

static double real(const wia__list_t *list, uint32_t i) {
  return list->real ? list->items[i].f64 : (double)list->items[i].i64;
}

static int64_t whole(const wia__list_t *list, uint32_t i) {
  if (i >= list->count) return 0;
  if (!list->real) return list->items[i].i64;
  return fabs(list->items[i].f64) < 0x1p62 ? (int64_t)list->items[i].f64 : 0;
}

static void set_whole(wia__list_t *list, int64_t value) {
  list->count = 1;
  list->real = false;
  list->items[0].i64 = value;
}

static void append(wia__list_t *list, int64_t value) {
  if (list->count < WIA__LIST_ITEMS) list->items[list->count++].i64 = value;
}

/* -- leaves -------------------------------------------------------------------------------------- */

static void take_attribute(const wia__terms_of_t *of, uint32_t index, wia__list_t *out) {
  const wia__attribute_spec_t *spec = &of->op->attributes[index];
  const wia_scalar_t *word = of->words + spec->word;
  const int64_t length = spec->variable ? word++->i64 : spec->count;
  out->real = spec->type == WIA_ATTRIBUTE_FLOAT64;
  out->count = length < 0 ? 0 : (uint32_t)length; /* not given: no items */
  memcpy(out->items, word, out->count * sizeof *word);
}

static void take_shape(const wia_shape_t *shape, wia__list_t *out) {
  out->real = false;
  out->count = shape->rank;
  memcpy(out->items, shape->shape, shape->rank * sizeof *shape->shape);
}

static int64_t count_of(const wia_shape_t *shape) {
  int64_t count = 1;
  for (uint32_t i = 0; i < shape->rank; i++) count *= shape->shape[i];
  return count;
}

static void take_leaf(const wia__terms_of_t *of, const wia__term_t *term, wia__list_t *out) {
  const uint32_t index = (uint32_t)term->index;
  switch (term->kind) {
  case WIA__TERM_NUMBER:
    set_whole(out, 0);
    out->real = term->number != floor(term->number);
    if (out->real)
      out->items[0].f64 = term->number;
    else
      out->items[0].i64 = (int64_t)term->number;
    break;
  case WIA__TERM_ATTRIBUTE:
    take_attribute(of, index, out);
    break;
  case WIA__TERM_SCALAR:
    out->count = 1;
    out->real = true;
    out->items[0] = of->scalars[index];
    break;
  case WIA__TERM_SHAPE:
    take_shape(&of->slots[index], out);
    break;
  case WIA__TERM_RANK:
    set_whole(out, of->slots[index].rank);
    break;
  case WIA__TERM_SIZE:
    set_whole(out, count_of(&of->slots[index]));
    break;
  case WIA__TERM_DTYPE:
    set_whole(out, of->slots[index].dtype);
    break;
  case WIA__TERM_GIVEN:
    set_whole(out, of->given[index]);
    break;
  default:
    set_whole(out, of->place);
    break;
  }
}

/* -- of two -------------------------------------------------------------------------------------- */

static int64_t divide(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return b ? (int64_t)(0 - (uint64_t)a) : 0;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static double apply_real(uint16_t kind, double a, double b) {
  switch (kind) {
  case WIA__TERM_ADD:
    return a + b;
  case WIA__TERM_SUB:
    return a - b;
  case WIA__TERM_MUL:
    return a * b;
  case WIA__TERM_FLOORDIV:
    return floor(a / b);
  case WIA__TERM_MOD:
    return a - floor(a / b) * b;
  case WIA__TERM_MAXIMUM:
    return a > b ? a : b;
  case WIA__TERM_MINIMUM:
    return a < b ? a : b;
  default:
    return a / b;
  }
}

/* Sums and products wrap. */
static int64_t apply_whole(uint16_t kind, int64_t a, int64_t b) {
  switch (kind) {
  case WIA__TERM_ADD:
    return (int64_t)((uint64_t)a + (uint64_t)b);
  case WIA__TERM_SUB:
    return (int64_t)((uint64_t)a - (uint64_t)b);
  case WIA__TERM_MUL:
    return (int64_t)((uint64_t)a * (uint64_t)b);
  case WIA__TERM_FLOORDIV:
    return divide(a, b);
  case WIA__TERM_MOD:
    return b == 0 || b == -1 ? 0 : a - divide(a, b) * b;
  case WIA__TERM_MAXIMUM:
    return a > b ? a : b;
  default:
    return a < b ? a : b;
  }
}

static bool compare(uint16_t kind, double a, double b) {
  switch (kind) {
  case WIA__TERM_EQ:
    return a == b;
  case WIA__TERM_NE:
    return a != b;
  case WIA__TERM_LT:
    return a < b;
  case WIA__TERM_LE:
    return a <= b;
  case WIA__TERM_AND:
    return a != 0 && b != 0;
  default:
    return a != 0 || b != 0;
  }
}

/* Into the first. Truths of lists of another length are none. */
static void combine(uint16_t kind, wia__list_t *a, const wia__list_t *b) {
  if (kind >= WIA__TERM_EQ) {
    bool all = a->count == b->count;
    for (uint32_t i = 0; all && i < a->count; i++) all = compare(kind, real(a, i), real(b, i));
    set_whole(a, kind == WIA__TERM_NE && a->count != b->count ? 1 : all);
    return;
  }
  const wia__list_t left = *a;
  const bool wide = left.real || b->real || kind == WIA__TERM_DIV;
  a->count = left.count == 1 ? b->count : left.count;
  a->real = wide;
  for (uint32_t i = 0; i < a->count; i++) {
    const uint32_t l = left.count == 1 ? 0 : i, r = b->count == 1 ? 0 : i;
    if (wide)
      a->items[i].f64 = apply_real(kind, real(&left, l), r < b->count ? real(b, r) : 0);
    else
      a->items[i].i64 = apply_whole(kind, whole(&left, l), whole(b, r));
  }
}

/* -- lists --------------------------------------------------------------------------------------- */

static uint32_t place_of(const wia__list_t *list, int64_t index) {
  const int64_t place = index < 0 ? index + list->count : index;
  if (place < 0) return 0;
  return place > list->count ? list->count : (uint32_t)place;
}

static void cut(wia__list_t *list, int64_t begin, int64_t end) {
  const uint32_t first = place_of(list, begin), last = place_of(list, end);
  list->count = last > first ? last - first : 0;
  memmove(list->items, list->items + first, list->count * sizeof *list->items);
}

static void join(wia__list_t *list, const wia__list_t *next) {
  if (list->count == 0) list->real = next->real;
  for (uint32_t i = 0; i < next->count && list->count < WIA__LIST_ITEMS; i++) {
    if (list->real)
      list->items[list->count++].f64 = real(next, i);
    else
      append(list, whole(next, i));
  }
}

static void repeat(wia__list_t *list, int64_t times) {
  const wia__list_t once = *list;
  list->count = 0;
  for (int64_t i = 0; i < times && list->count < WIA__LIST_ITEMS; i++) join(list, &once);
}

static void fold(wia__list_t *list, bool product) {
  const wia__list_t all = *list;
  set_whole(list, product);
  for (uint32_t i = 0; i < all.count; i++) {
    const wia__list_t item = {.count = 1, .real = all.real, .items = {all.items[i]}};
    combine(product ? WIA__TERM_MUL : WIA__TERM_ADD, list, &item);
  }
}

static void turn(wia__list_t *list, bool inverse) {
  const wia__list_t was = *list;
  for (uint32_t i = 0; i < was.count; i++) {
    if (!inverse)
      list->items[i] = was.items[was.count - 1 - i];
    else if (was.items[i].i64 >= 0 && was.items[i].i64 < was.count)
      list->items[was.items[i].i64].i64 = i;
  }
}

static void keep(wia__list_t *shape, const wia__list_t *axes) {
  for (uint32_t i = 0; i < shape->count; i++) {
    bool named = axes->count == 0;
    for (uint32_t j = 0; j < axes->count; j++)
      named |= whole(axes, j) == i || whole(axes, j) + (int64_t)shape->count == i;
    if (named) shape->items[i].i64 = 1;
  }
}

static void replace(wia__list_t *list, int64_t index, const wia__list_t *with) {
  const uint32_t place = place_of(list, index);
  if (place < list->count && with->count) list->items[place] = with->items[0];
}

static void add_before(const wia__terms_of_t *of, wia__list_t *axis) {
  const int64_t given = whole(axis, 0);
  int64_t total = 0;
  for (uint32_t i = 0; i < of->place; i++) {
    const int64_t place = given < 0 ? given + of->inputs[i].rank : given;
    if (place >= 0 && place < of->inputs[i].rank) total += of->inputs[i].shape[place];
  }
  set_whole(axis, total);
}

static void negate(wia__list_t *list) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (list->real)
      list->items[i].f64 = -list->items[i].f64;
    else
      list->items[i].i64 = (int64_t)(0 - (uint64_t)list->items[i].i64);
  }
}

/* -- the whole ----------------------------------------------------------------------------------- */

/* How many lists a term takes; the result stands in the place of the first. */
static uint32_t taken(const wia__term_t *term) {
  if (term->kind == WIA__TERM_JOIN) return (uint32_t)term->index;
  if (term->kind == WIA__TERM_SELECT || term->kind == WIA__TERM_CUT ||
      term->kind == WIA__TERM_REPLACED)
    return 3;
  if ((term->kind >= WIA__TERM_ADD && term->kind <= WIA__TERM_OR) || term->kind == WIA__TERM_ITEM ||
      term->kind == WIA__TERM_RANGE || term->kind == WIA__TERM_REPEAT ||
      term->kind == WIA__TERM_KEPT)
    return 2;
  return term->kind <= WIA__TERM_PLACE ? 0 : 1;
}

static void apply(const wia__terms_of_t *of, const wia__term_t *term, wia__list_t *a) {
  const wia__list_t *b = a + 1, *c = a + 2;
  switch (term->kind) {
  case WIA__TERM_BEFORE:
    add_before(of, a);
    break;
  case WIA__TERM_NEG:
    negate(a);
    break;
  case WIA__TERM_NOT:
    set_whole(a, a->count == 0 || real(a, 0) == 0);
    break;
  case WIA__TERM_SELECT:
    *a = a->count && real(a, 0) != 0 ? *b : *c;
    break;
  case WIA__TERM_JOIN:
    for (int16_t i = 1; i < term->index; i++) join(a, a + i);
    if (term->index == 0) *a = (wia__list_t){.count = 0};
    break;
  case WIA__TERM_ITEM:
    cut(a, place_of(a, whole(b, 0)), place_of(a, whole(b, 0)) + 1);
    break;
  case WIA__TERM_CUT:
    cut(a, whole(b, 0), whole(c, 0));
    break;
  case WIA__TERM_RANGE: {
    const int64_t begin = whole(a, 0);
    *a = (wia__list_t){.count = 0};
    for (int64_t i = begin; i < whole(b, 0); i++) append(a, i);
    break;
  }
  case WIA__TERM_REPEAT:
    repeat(a, whole(b, 0));
    break;
  case WIA__TERM_LENGTH:
    set_whole(a, a->count);
    break;
  case WIA__TERM_SUM:
    fold(a, false);
    break;
  case WIA__TERM_PROD:
    fold(a, true);
    break;
  case WIA__TERM_INVERSE:
    turn(a, true);
    break;
  case WIA__TERM_REVERSED:
    turn(a, false);
    break;
  case WIA__TERM_KEPT:
    keep(a, b);
    break;
  case WIA__TERM_REPLACED:
    replace(a, whole(b, 0), c);
    break;
  default:
    combine(term->kind, a, b);
    break;
  }
}

void wia__compute_terms(const wia__terms_of_t *of, wia__terms_t terms, wia__list_t *out_list) {
  wia__list_t stack[STACK + 3]; /* apply() names three, also where it reads one */
  uint32_t depth = 0;
  for (uint32_t i = 0; i < terms.count; i++) {
    const wia__term_t *term = &terms.terms[i];
    const uint32_t count = taken(term);
    assert(count <= depth && depth - count < STACK);
    if (term->kind <= WIA__TERM_PLACE)
      take_leaf(of, term, &stack[depth]);
    else
      apply(of, term, &stack[depth - count]);
    depth += 1 - count;
  }
  assert(depth == 1);
  *out_list = stack[0];
}

bool wia__holds(const wia__terms_of_t *of, wia__terms_t condition) {
  wia__list_t found;
  if (condition.count == 0) return true;
  wia__compute_terms(of, condition, &found);
  return found.count && real(&found, 0) != 0;
}
