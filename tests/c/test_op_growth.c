/* A config struct that has grown since its first release: what an older caller's lacks has its
 * default. No operation has such a struct yet, so this one is made up, over the library's own code. */
#include <stddef.h>

#include "check.h"
#include "op.h"
#include "validate.h"

/* What the files of the library that are in this program need of those that aren't: no layer is on. */
void wia__note_birth(uint64_t key) { (void)key; }
void wia__note_death(uint64_t key) { (void)key; }

typedef struct grown_t {
  uint32_t struct_size;
  uint32_t flag; /* the first release ended here */
  int64_t step[2];
  uint32_t list_count;
  int32_t list[3];
  double rate;
} grown_t;

enum { FIRST_SIZE = offsetof(grown_t, step) };

static const wia__attribute_spec_t attributes[] = {
    {.name = "flag",
     .type = WIA_ATTRIBUTE_INT64,
     .count = 1,
     .field = WIA__FIELD_U32,
     .offset = offsetof(grown_t, flag),
     .maximum.i64 = 1},
    {.name = "step",
     .type = WIA_ATTRIBUTE_INT64,
     .count = 2,
     .word = 1,
     .field = WIA__FIELD_I64,
     .offset = offsetof(grown_t, step),
     .zero_is_default = 1,
     .minimum.i64 = 1,
     .maximum.i64 = 9},
    {.name = "list",
     .type = WIA_ATTRIBUTE_INT64,
     .count = 3,
     .variable = 1,
     .word = 3,
     .field = WIA__FIELD_I32,
     .offset = offsetof(grown_t, list),
     .length_offset = offsetof(grown_t, list_count),
     .minimum.i64 = -9,
     .maximum.i64 = 9},
};
static const wia__attribute_spec_t scalar = {.name = "rate",
                                             .type = WIA_ATTRIBUTE_FLOAT64,
                                             .count = 1,
                                             .field = WIA__FIELD_F64,
                                             .offset = offsetof(grown_t, rate)};
static const wia_scalar_t default_words[] = {{.i64 = 0}, {.i64 = 3},  {.i64 = 4}, {.i64 = 2},
                                             {.i64 = 7}, {.i64 = -8}, {.i64 = 0}};
static const wia_scalar_t default_rate = {.f64 = 0.5};

static const wia__op_t op = {
    .name = "grown",
    .attribute_count = 3,
    .scalar_count = 1,
    .word_count = 7,
    .attributes = attributes,
    .scalars = &scalar,
    .default_words = default_words,
    .default_scalars = &default_rate,
    .config_size = sizeof(grown_t),
    .config_first_size = FIRST_SIZE,
    .config_init = "GROWN_INIT",
};

/* What a config gives: words, and the rate behind them. */
static void check_words(int line, const grown_t *config, const int64_t *expected, double rate) {
  wia_scalar_t words[WIA__MAX_WORDS], scalars[WIA__MAX_SCALARS];
  check_status(wia__words_of_config(&op, config, words, scalars), WIA_STATUS_OK, __FILE__, line,
               "the config is read");
  for (uint32_t i = 0; i < op.word_count; i++)
    check_report(words[i].i64 == expected[i], __FILE__, line, "a word is the expected one");
  check_report(scalars[0].f64 == rate, __FILE__, line, "the rate is the expected one");
}
#define WORDS(config, rate, ...) check_words(__LINE__, config, (int64_t[]){__VA_ARGS__}, rate)

static void test_sizes(void) {
  grown_t config = {.struct_size = FIRST_SIZE,
                    .flag = 1,
                    .step = {5, 6},
                    .list_count = 1,
                    .list = {9},
                    .rate = 2};
  WORDS(NULL, 0.5, 0, 3, 4, 2, 7, -8, 0);
  WORDS(&config, 0.5, 1, 3, 4, 2, 7, -8, 0);
  config.struct_size = offsetof(grown_t, list_count);
  WORDS(&config, 0.5, 1, 5, 6, 2, 7, -8, 0);
  config.step[1] = 0;
  WORDS(&config, 0.5, 1, 5, 4, 2, 7, -8, 0);
  config.struct_size = offsetof(grown_t, rate);
  WORDS(&config, 0.5, 1, 5, 4, 1, 9, 0, 0);
  config.struct_size = sizeof config;
  WORDS(&config, 2, 1, 5, 4, 1, 9, 0, 0);
}

static void test_refusals(void) {
  wia_scalar_t words[WIA__MAX_WORDS], scalars[WIA__MAX_SCALARS];
  grown_t config = {.struct_size = FIRST_SIZE - 1};
  CHECK_STATUS(wia__words_of_config(&op, &config, words, scalars), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("GROWN_INIT");
  config = (grown_t){.struct_size = sizeof config, .step = {1, 10}};
  CHECK_STATUS(wia__words_of_config(&op, &config, words, scalars), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("grown: step[1] is 10; expected 1 to 9");
  config = (grown_t){.struct_size = sizeof config, .list_count = 4};
  CHECK_STATUS(wia__words_of_config(&op, &config, words, scalars), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("grown: list has 4 elements; expected at most 3");
  config = (grown_t){.struct_size = sizeof config, .list_count = 3, .list = {-9, 9, -10}};
  CHECK_STATUS(wia__words_of_config(&op, &config, words, scalars), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("grown: list[2] is -10; expected -9 to 9");
}

int main(void) {
  test_sizes();
  test_refusals();
  return CHECK_DONE();
}
