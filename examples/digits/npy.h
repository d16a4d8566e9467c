/* npy.h: reads and writes numpy's .npy files, versions 1.0 to 3.0, little-endian.
 *
 * Every number in a file is checked before it is used: a damaged file is an error with a message
 * and never an access outside the buffer or an allocation larger than the file. */
#ifndef DIGITS_NPY_H
#define DIGITS_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NPY_MAX_RANK = 8, NPY_MESSAGE_SIZE = 512 };

typedef struct npy_array_t {
  char kind;          /* 'b' bool, 'i' signed, 'u' unsigned, 'f' float, as numpy names it */
  uint32_t item_size; /* bytes: 1, 2, 4 or 8 */
  uint32_t rank;
  int64_t shape[NPY_MAX_RANK];
  int64_t strides[NPY_MAX_RANK]; /* in elements: row-major, or column-major as the file says */
  int64_t count;                 /* elements */
  void *data;                    /* count * item_size bytes */
} npy_array_t;

/* Reads a file. False: message says what is wrong with it. Otherwise npy_free() frees the array. */
bool npy_read(const char *path, npy_array_t *out_array, char message[NPY_MESSAGE_SIZE]);

void npy_free(npy_array_t *array);

/* The element at an offset (the sum of index times stride), as a number; float16 gives NaN. */
double npy_element(const npy_array_t *array, int64_t offset);

/* Writes a row-major float32 array, format version 1.0. */
bool npy_write_float32(const char *path, const float *data, const int64_t *shape, uint32_t rank,
                       char message[NPY_MESSAGE_SIZE]);

#endif
