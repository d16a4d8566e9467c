#include "names.h"

#include <fnmatch.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_letter(char c) { return c >= 'a' && c <= 'z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* The length of the driver name that text starts with; 0: none. */
static size_t span_name(const char *text) {
  if (!is_letter(text[0])) return 0;
  size_t length = 1;
  while (is_letter(text[length]) || is_digit(text[length]) || text[length] == '_') ++length;
  return length < WIA__NAME_SIZE ? length : 0;
}

bool wia__is_driver_name(const char *name) {
  if (name == NULL) return false;
  const size_t length = span_name(name);
  return length > 0 && name[length] == '\0';
}

bool wia__is_scoped_name(const char *name) {
  if (name == NULL) return false;
  const size_t length = span_name(name);
  return length > 0 && strncmp(name + length, "::", 2) == 0 &&
         wia__is_driver_name(name + length + 2) && strlen(name) < WIA__NAME_SIZE;
}

bool wia__parse_device_name(const char *text, char out_driver[WIA__NAME_SIZE],
                            uint32_t *out_ordinal) {
  const size_t length = span_name(text);
  if (length == 0) return false;
  uint64_t ordinal = 0;
  if (text[length] == ':') {
    const char *digit = text + length + 1;
    if (!is_digit(*digit)) return false;
    for (; is_digit(*digit); ++digit) {
      ordinal = ordinal * 10 + (uint64_t)(*digit - '0');
      if (ordinal > UINT32_MAX) ordinal = UINT32_MAX;
    }
    if (*digit != '\0') return false;
  } else if (text[length] != '\0') {
    return false;
  }
  memcpy(out_driver, text, length);
  out_driver[length] = '\0';
  *out_ordinal = (uint32_t)ordinal;
  return true;
}

bool wia__is_enabled(const char *driver, const char *patterns) {
  /* "-npu" alone is "*,-npu": a list that only takes away starts from all. */
  bool enabled = patterns[strspn(patterns, " ,")] == '-';
  for (const char *next = patterns; *next != '\0';) {
    next += strspn(next, " ,");
    const bool disables = *next == '-';
    if (disables) ++next;
    const size_t length = strcspn(next, " ,");
    char pattern[4 * WIA__NAME_SIZE];
    if (length > 0 && length < sizeof pattern) {
      memcpy(pattern, next, length);
      pattern[length] = '\0';
      if (fnmatch(pattern, driver, 0) == 0) enabled = !disables;
    }
    next += length;
  }
  return enabled;
}

uint32_t wia__name_distance(const char *name, const char *other) {
  const size_t length = strlen(name), other_length = strlen(other);
  if (length >= WIA__NAME_SIZE || other_length >= WIA__NAME_SIZE) return UINT32_MAX;
  uint32_t row[WIA__NAME_SIZE];
  for (size_t j = 0; j <= other_length; ++j) row[j] = (uint32_t)j;
  for (size_t i = 1; i <= length; ++i) {
    uint32_t diagonal = row[0];
    row[0] = (uint32_t)i;
    for (size_t j = 1; j <= other_length; ++j) {
      uint32_t best = diagonal + (name[i - 1] != other[j - 1]);
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[other_length];
}

/* Texts that nobody shows any more may still be in a caller's hands: all are kept, in one list. */
typedef struct text_t {
  struct text_t *next;
  char bytes[];
} text_t;

static _Atomic(text_t *) texts;
_Thread_local bool wia__lost;

const char *wia__text(const char *format, ...) {
  static const char no_memory[] = "(there was no memory for this text)";
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  text_t *text = length < 0 ? NULL : malloc(sizeof *text + (size_t)length + 1);
  if (text != NULL) vsnprintf(text->bytes, (size_t)length + 1, format, again);
  va_end(again);
  if (text == NULL) {
    wia__lost = true;
    return no_memory;
  }
  text->next = atomic_load(&texts);
  while (!atomic_compare_exchange_weak(&texts, &text->next, text)) {
  }
  return text->bytes;
}
