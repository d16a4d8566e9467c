#include "npy.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC_SIZE = 6, MAX_HEADER_SIZE = 1 << 16 };
static const char MAGIC[] = "\x93NUMPY";

static bool fail(char message[NPY_MESSAGE_SIZE], const char *path, const char *what) {
  snprintf(message, NPY_MESSAGE_SIZE, "%s: %s", path, what);
  return false;
}

/* What stands behind 'key': in the header, a Python dictionary of three entries. */
static const char *find_value(const char *header, const char *key) {
  char quoted[32];
  snprintf(quoted, sizeof(quoted), "'%s'", key);
  const char *at = strstr(header, quoted);
  if (!at) return NULL;
  at += strlen(quoted);
  at += strspn(at, " ");
  if (*at != ':') return NULL;
  at++;
  return at + strspn(at, " ");
}

static bool parse_dtype(const char *text, npy_array_t *array) {
  if (*text != '\'') return false;
  const char order = text[1], kind = text[2], digit = text[3];
  if ((order != '<' && order != '|') || !kind || !strchr("biuf", kind)) return false;
  if (!digit || !strchr("1248", digit) || text[4] != '\'') return false;
  array->kind = kind;
  array->item_size = (uint32_t)(digit - '0');
  const bool wide = array->item_size > 1;
  return wide == (order == '<') && !(kind == 'b' && wide) && !(kind == 'f' && !wide);
}

static bool parse_shape(const char *text, npy_array_t *array) {
  if (*text++ != '(') return false;
  array->rank = 0;
  array->count = 1;
  bool empty = false;
  int64_t bytes = array->item_size; /* of the dimensions that are not 0 */
  for (;;) {
    text += strspn(text, " ");
    if (*text == ')') break;
    if (array->rank == NPY_MAX_RANK || *text < '0' || *text > '9') return false;
    errno = 0;
    char *end = NULL;
    const int64_t size = strtoll(text, &end, 10);
    if (errno) return false;
    if (size == 0)
      empty = true;
    else if (bytes > INT64_MAX / size)
      return false;
    else
      bytes *= size;
    array->shape[array->rank++] = size;
    text = end + strspn(end, " ");
    if (*text == ',')
      text++;
    else if (*text != ')')
      return false;
  }
  array->count = empty ? 0 : bytes / array->item_size;
  return true;
}

static void set_strides(npy_array_t *array, bool column_major) {
  int64_t stride = 1;
  for (uint32_t i = 0; i < array->rank; i++) {
    const uint32_t axis = column_major ? i : array->rank - 1 - i;
    array->strides[axis] = stride;
    if (array->shape[axis] > 0) stride *= array->shape[axis];
  }
}

static bool parse_header(const char *path, const char *header, npy_array_t *array, char *message) {
  const char *dtype = find_value(header, "descr");
  const char *order = find_value(header, "fortran_order");
  const char *shape = find_value(header, "shape");
  if (!dtype || !order || !shape) return fail(message, path, "the .npy header is damaged");
  if (!parse_dtype(dtype, array)) {
    const size_t length = *dtype == '\'' ? strcspn(dtype + 1, "'") + 2 : strcspn(dtype, ",");
    snprintf(message, NPY_MESSAGE_SIZE,
             "%s: can't read elements of type %.*s; expected little-endian integers or floats: "
             "save array.astype('<f4')",
             path, length < 16 ? (int)length : 16, dtype);
    return false;
  }
  const bool column_major = strncmp(order, "True", 4) == 0;
  if (!column_major && strncmp(order, "False", 5) != 0)
    return fail(message, path, "fortran_order in the .npy header is neither True nor False");
  if (!parse_shape(shape, array))
    return fail(message, path, "the shape in the .npy header is damaged, or has over 8 dimensions");
  set_strides(array, column_major);
  return true;
}

/* The file from its header on; size is that of the whole file. */
static bool read_open(const char *path, FILE *file, int64_t size, npy_array_t *array,
                      char *message) {
  unsigned char start[MAGIC_SIZE + 2], length[4] = {0};
  if (fread(start, 1, sizeof(start), file) != sizeof(start) ||
      memcmp(start, MAGIC, MAGIC_SIZE) != 0)
    return fail(message, path, "this is no .npy file: it doesn't start with \\x93NUMPY");
  const unsigned version = start[MAGIC_SIZE];
  if (version < 1 || version > 3) return fail(message, path, "unknown version of the .npy format");
  const size_t length_size = version == 1 ? 2 : 4;
  if (fread(length, 1, length_size, file) != length_size)
    return fail(message, path, "the file ends inside its header");
  const uint32_t header_size = (uint32_t)length[0] | (uint32_t)length[1] << 8 |
                               (uint32_t)length[2] << 16 | (uint32_t)length[3] << 24;
  if (header_size > MAX_HEADER_SIZE) return fail(message, path, "the .npy header is too long");
  char *header = malloc(header_size + (size_t)1);
  if (!header) return fail(message, path, "out of memory");
  const bool whole = fread(header, 1, header_size, file) == header_size;
  header[header_size] = '\0';
  const bool parsed = whole ? parse_header(path, header, array, message)
                            : fail(message, path, "the file ends inside its header");
  free(header);
  if (!parsed) return false;

  const int64_t left = size - (int64_t)(sizeof(start) + length_size + header_size);
  const int64_t bytes = array->count * array->item_size;
  if (bytes > left) {
    snprintf(message, NPY_MESSAGE_SIZE,
             "%s: the file is cut off: its shape needs %" PRId64 " bytes, it has %" PRId64, path,
             bytes, left);
    return false;
  }
  array->data = malloc(bytes > 0 ? (size_t)bytes : 1);
  if (!array->data) return fail(message, path, "out of memory");
  if (fread(array->data, 1, (size_t)bytes, file) == (size_t)bytes) return true;
  npy_free(array);
  return fail(message, path, "the file can't be read to its end");
}

bool npy_read(const char *path, npy_array_t *out_array, char message[NPY_MESSAGE_SIZE]) {
  memset(out_array, 0, sizeof(*out_array));
  FILE *file = fopen(path, "rb");
  if (!file) return fail(message, path, strerror(errno));
  bool done = false;
  int64_t size = -1;
  if (fseek(file, 0, SEEK_END) == 0) size = ftell(file);
  if (size < 0 || fseek(file, 0, SEEK_SET) != 0)
    fail(message, path, "this is no regular file");
  else
    done = read_open(path, file, size, out_array, message);
  fclose(file);
  return done;
}

void npy_free(npy_array_t *array) {
  free(array->data);
  array->data = NULL;
}

double npy_element(const npy_array_t *array, int64_t offset) {
  const unsigned char *at = (const unsigned char *)array->data + offset * array->item_size;
  uint64_t bits = 0;
  for (uint32_t i = 0; i < array->item_size; i++) bits |= (uint64_t)at[i] << (8 * i);
  if (array->kind == 'f') {
    const uint32_t low = (uint32_t)bits;
    float single;
    double wide;
    memcpy(&single, &low, sizeof(single));
    memcpy(&wide, &bits, sizeof(wide));
    if (array->item_size == 2) return NAN;
    return array->item_size == 4 ? (double)single : wide;
  }
  if (array->kind != 'i') return (double)bits;
  const unsigned shift = 64 - 8 * array->item_size;
  const uint64_t sign = UINT64_C(1) << 63;
  const uint64_t top = bits << shift;
  /* Without a cast of a value that doesn't fit, which the language leaves open. */
  const int64_t wide = top & sign ? (int64_t)(top ^ sign) + INT64_MIN : (int64_t)top;
  return (double)(wide / ((int64_t)1 << shift));
}

bool npy_write_float32(const char *path, const float *data, const int64_t *shape, uint32_t rank,
                       char message[NPY_MESSAGE_SIZE]) {
  char header[512];
  int used =
      snprintf(header, sizeof(header), "{'descr': '<f4', 'fortran_order': False, 'shape': (");
  size_t count = 1;
  for (uint32_t i = 0; i < rank; i++) {
    count *= (size_t)shape[i];
    used += snprintf(header + used, sizeof(header) - (size_t)used, "%" PRId64 ", ", shape[i]);
  }
  used += snprintf(header + used, sizeof(header) - (size_t)used, "), }");
  const int start =
      MAGIC_SIZE + 4; /* magic, version, length: the data starts at a multiple of 64 */
  while ((start + used + 1) % 64 != 0) header[used++] = ' ';
  header[used++] = '\n';
  unsigned char prefix[MAGIC_SIZE + 4] = {0};
  memcpy(prefix, MAGIC, MAGIC_SIZE);
  prefix[MAGIC_SIZE] = 1;
  prefix[MAGIC_SIZE + 2] = (unsigned char)(used & 0xff);
  prefix[MAGIC_SIZE + 3] = (unsigned char)(used >> 8);

  FILE *file = fopen(path, "wb");
  if (!file) return fail(message, path, strerror(errno));
  bool done = fwrite(prefix, 1, sizeof(prefix), file) == sizeof(prefix);
  done = done && fwrite(header, 1, (size_t)used, file) == (size_t)used;
  done = done && fwrite(data, sizeof(float), count, file) == count;
  if (fclose(file) != 0 || !done) return fail(message, path, strerror(errno));
  return true;
}
