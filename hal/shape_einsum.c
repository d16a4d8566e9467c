/* shape_einsum.c: the rule of einsum, which reads an equation. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "shape.h"

enum { LABELS = 128, LONGEST = 39 };

/* What is known while the equation is read. sizes is -1 for a label that wasn't met. */
typedef struct equation_t {
  const wia__infer_t *call;
  char text[LONGEST + 1];
  uint32_t place;
  int64_t sizes[LABELS];
  uint32_t times[LABELS];
  wia_shape_t dots; /* the dimensions that ... stands for, broadcast */
} equation_t;

static wia_status_t wrong(const equation_t *equation, const char *what) {
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: the equation \"%s\" %s; expected a term of letters, with ... at most once, "
                   "for each input, commas between them, and perhaps -> and a term",
                   equation->call->op->name, equation->text, what);
}

/* One term, up to its end: labels, and where ... stands among them, or -1. */
typedef struct term_t {
  unsigned char labels[LONGEST];
  uint32_t count;
  int32_t dots;
} term_t;

static wia_status_t read_term(equation_t *equation, term_t *out_term) {
  *out_term = (term_t){.dots = -1};
  const char *text = equation->text;
  for (;;) {
    const char c = text[equation->place];
    if (c == '\0' || c == ',' || c == '-') return WIA_STATUS_OK;
    if (isalpha((unsigned char)c)) {
      out_term->labels[out_term->count++] = (unsigned char)c;
      equation->place++;
    } else if (strncmp(text + equation->place, "...", 3) == 0 && out_term->dots < 0) {
      out_term->dots = (int32_t)out_term->count;
      equation->place += 3;
    } else {
      return wrong(equation, "has a character that means nothing there");
    }
  }
}

static wia_status_t read_label(equation_t *equation, uint32_t input, unsigned char label,
                               int64_t size) {
  equation->times[label]++;
  if (equation->sizes[label] < 0) equation->sizes[label] = size;
  if (equation->sizes[label] == size) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: the label %c has the size %" PRId64 " in %s and %" PRId64
                   " before; expected equal ones",
                   equation->call->op->name, label, size, equation->call->op->operand_names[input],
                   equation->sizes[label]);
}

/* The term of an input against its shape. */
static wia_status_t match_input(equation_t *equation, uint32_t index) {
  const wia_shape_t *input = &equation->call->inputs[index];
  char shape[WIA__SHAPE_TEXT];
  term_t term;
  wia_status_t status = read_term(equation, &term);
  if (status) return status;
  if (term.dots < 0 ? term.count != input->rank : term.count > input->rank)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: %s has the shape %s and its term of \"%s\" %u labels; expected one for "
                     "each dimension",
                     equation->call->op->name, equation->call->op->operand_names[index],
                     wia__format_shape(shape, input->shape, input->rank), equation->text,
                     term.count);
  const uint32_t first = term.dots < 0 ? term.count : (uint32_t)term.dots;
  const uint32_t middle = input->rank - term.count;
  for (uint32_t i = 0; !status && i < term.count; i++)
    status = read_label(equation, index, term.labels[i], input->shape[i < first ? i : i + middle]);
  if (status || term.dots < 0) return status;
  if (wia__broadcast_shape(&equation->dots, input->shape + first, middle)) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: the dimensions that ... stands for in %s, of the shape %s, don't broadcast "
                   "with those before; expected equal sizes, or 1",
                   equation->call->op->name, equation->call->op->operand_names[index],
                   wia__format_shape(shape, input->shape, input->rank));
}

/* The labels of the result: those behind ->, or those that came once. */
static wia_status_t read_result(equation_t *equation, term_t *out_term) {
  if (equation->text[equation->place] == '\0') {
    *out_term = (term_t){.dots = 0};
    for (unsigned char c = 'A'; c <= 'z'; c++)
      if (equation->times[c] == 1) out_term->labels[out_term->count++] = c;
    return WIA_STATUS_OK;
  }
  if (strncmp(equation->text + equation->place, "->", 2) != 0)
    return wrong(equation, "has more terms than there are inputs");
  equation->place += 2;
  const wia_status_t status = read_term(equation, out_term);
  if (status) return status;
  if (equation->text[equation->place] != '\0') return wrong(equation, "goes on behind its result");
  uint32_t seen[LABELS] = {0};
  for (uint32_t i = 0; i < out_term->count; i++) {
    const unsigned char label = out_term->labels[i];
    if (equation->sizes[label] < 0) return wrong(equation, "has a label in its result only");
    if (seen[label]++) return wrong(equation, "has a label twice in its result");
  }
  if (out_term->dots < 0 && equation->dots.rank)
    return wrong(equation, "has no ... in its result, but dimensions for it");
  return WIA_STATUS_OK;
}

wia_status_t wia__infer_einsum(const wia__infer_t *call) {
  equation_t equation = {.call = call};
  uint32_t length, count = call->input_count, end = 0;
  const wia_scalar_t *codes = wia__attribute_list(call, "equation", &length);
  for (uint32_t i = 0; i < LABELS; i++) equation.sizes[i] = -1;
  for (uint32_t i = 0; i < length; i++)
    if (codes[i].i64 != ' ') equation.text[end++] = (char)codes[i].i64;
  while (count > 1 && !wia__has_input(call, count - 1)) count--;
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t i = 0; !status && i < count; i++) {
    if (!wia__has_input(call, i))
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: %s is left out, and one behind it is not; expected a list without gaps",
                       call->op->name, call->op->operand_names[i]);
    if (i && equation.text[equation.place++] != ',')
      return wrong(&equation, "has fewer terms than there are inputs");
    status = match_input(&equation, i);
  }
  term_t result;
  if (!status) status = read_result(&equation, &result);
  if (status) return status;
  const uint32_t middle = result.dots < 0 ? 0 : equation.dots.rank;
  const uint32_t first = result.dots < 0 ? result.count : (uint32_t)result.dots;
  if (result.count + middle > WIA_MAX_RANK)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: the result has %u dimensions; expected at most %d", call->op->name,
                     result.count + middle, WIA_MAX_RANK);
  int64_t shape[WIA_MAX_RANK];
  for (uint32_t i = 0; i < middle; i++) shape[first + i] = equation.dots.shape[i];
  for (uint32_t i = 0; i < result.count; i++)
    shape[i < first ? i : i + middle] = equation.sizes[result.labels[i]];
  return wia__set_output(call, call->inputs[0].dtype, shape, result.count + middle);
}
