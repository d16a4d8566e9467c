/* sample.h: the sample driver under test: arrays of any strides, and launches of its kernels
 * through its own table, without the library in between. */
#ifndef TEST_SAMPLE_H
#define TEST_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "wia_driver.h"

enum { MAX_BYTES = 1 << 16 };

/* How an array lies in memory. */
enum { PLAIN, SWAPPED, REVERSED, GAPPED, MODE_COUNT };

typedef struct array_t {
  wia_tensor_layout_t layout;
  int64_t shape[WIA_MAX_RANK], strides[WIA_MAX_RANK];
  uint64_t address; /* of element 0 */
  uint8_t bytes[MAX_BYTES];
  uint8_t used[MAX_BYTES]; /* 1 where an element is */
} array_t;

typedef struct launch_t {
  const char *op_name;
  array_t *inputs[3]; /* NULL: left out */
  uint32_t input_count;
  array_t *output;
  const wia_attribute_t *attributes;
  uint32_t attribute_count;
  const wia_scalar_t *scalars;
  const char *candidate;
  wia_error_t error; /* out */
  uint32_t flags;    /* out: WIA_KERNEL_* */
} launch_t;

const wia_driver_t *load_sample(void);

/* Sets up the shape and strides, and every byte to a mark that check_margins() looks for. The rest
 * are int64_t, as many as rank says. */
void make_array(array_t *array, wia_dtype_t dtype, int mode, uint32_t rank, const int64_t *shape);
#define MAKE(array, dtype, mode, ...)                                                              \
  make_array(array, dtype, mode, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),               \
             (int64_t[]){__VA_ARGS__})

/* The position of an element from its place in row-major order, and from its indices. */
void *element(array_t *array, uint64_t place);
void *element_at(array_t *array, const int64_t *index);
#define AT(T, array, ...) (*(T *)element_at(array, (int64_t[]){__VA_ARGS__}))

/* Small numbers of both signs, the same in every run. */
void fill_random(array_t *array);

/* Whether no byte between and around the elements was written to. */
bool has_margins(const array_t *array);

/* Prepares, launches and releases. */
wia_status_t launch(launch_t *launch);

/* |result - expected| within count roundings in float32 relative to magnitude. */
bool is_near(double result, double expected, double count, double magnitude);

#endif
