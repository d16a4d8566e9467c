/* layout.c: dtypes, and interned layouts. */
#include "layout.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "fork.h"
#include "op.h"

/* -- dtypes -------------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  uint32_t bits;
} dtypes[WIA_DTYPE_COUNT] = {[WIA_DTYPE_NONE] = {"none", 0},
#define ENTRY(constant, value, name, bits) [value] = {name, bits},
                             WIA_DTYPE_MAP(ENTRY)
#undef ENTRY
};

static bool is_dtype(wia_dtype_t dtype) { return dtype > 0 && dtype < WIA_DTYPE_COUNT; }

WIA_API const char *wia_get_dtype_name(wia_dtype_t dtype) {
  return dtypes[is_dtype(dtype) ? dtype : WIA_DTYPE_NONE].name;
}

WIA_API uint32_t wia_get_dtype_bits(wia_dtype_t dtype) {
  return dtypes[is_dtype(dtype) ? dtype : WIA_DTYPE_NONE].bits;
}

static wia_status_t find_dtype(const char *name, wia_dtype_t *out_dtype) {
  if (!name) return wia__null("name");
  if (!out_dtype) return wia__null("out_dtype");
  for (wia_dtype_t dtype = 1; dtype < WIA_DTYPE_COUNT; dtype++) {
    if (strcmp(dtypes[dtype].name, name) == 0) {
      *out_dtype = dtype;
      return WIA_STATUS_OK;
    }
  }
  return wia__fail(WIA_STATUS_NOT_FOUND,
                   "no dtype is called \"%s\"; names are those of numpy and "
                   "ml_dtypes, such as float32 and bfloat16",
                   name);
}

WIA_API wia_status_t wia_find_dtype(const char *name, wia_dtype_t *out_dtype) {
  WIA__CALL(find_dtype(name, out_dtype));
}

uint64_t wia__packed_size(wia_dtype_t dtype, uint64_t count) {
  return (count * wia_get_dtype_bits(dtype) + 7) / 8;
}

/* -- the table of layouts ------------------------------------------------------------------------ */

static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;
static wia__layout_t **buckets;
static uint64_t bucket_count, layout_count;
static uint64_t last_id;

static uint64_t hash_words(uint64_t hash, const int64_t *words, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    hash = (hash ^ (uint64_t)words[i]) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
  }
  return hash;
}

/* Runs once nobody refers to the layout and no call can see it; until then the table still has it,
 * and wia__try_retain keeps finders away. */
static void unlink_layout(wia__object_t *object) {
  wia__layout_t *layout = (wia__layout_t *)((char *)object - offsetof(wia__layout_t, object));
  pthread_mutex_lock(&table_mutex);
  wia__layout_t **link = &buckets[layout->hash & (bucket_count - 1)];
  while (*link != layout) link = &(*link)->next;
  *link = layout->next;
  layout_count--;
  pthread_mutex_unlock(&table_mutex);
  free(layout);
}

/* Under table_mutex. A failed growth leaves the table as it is, only slower. */
static bool grow_table(void) {
  if (layout_count < bucket_count) return true;
  const uint64_t fresh_count = bucket_count ? bucket_count * 2 : 256;
  wia__layout_t **fresh = calloc(fresh_count, sizeof *fresh);
  if (!fresh) return bucket_count != 0;
  for (uint64_t i = 0; i < bucket_count; i++) {
    for (wia__layout_t *layout = buckets[i], *next; layout; layout = next) {
      next = layout->next;
      layout->next = fresh[layout->hash & (fresh_count - 1)];
      fresh[layout->hash & (fresh_count - 1)] = layout;
    }
  }
  free(buckets);
  buckets = fresh;
  bucket_count = fresh_count;
  return true;
}

static bool is_same(const wia__layout_t *layout, wia_dtype_t dtype, uint32_t rank,
                    const int64_t *dimensions) {
  return layout->public_layout.dtype == dtype && layout->public_layout.rank == rank &&
         memcmp(layout->dimensions, dimensions, 2 * rank * sizeof *dimensions) == 0;
}

/* -- making one ---------------------------------------------------------------------------------- */

/* Everything that follows from dtype, shape and strides, checked for overflow. */
typedef struct extent_t {
  uint64_t count, size;
  int64_t begin, end;
  uint32_t contiguous;
} extent_t;

static wia_status_t too_large(wia_dtype_t dtype, const int64_t *shape, uint32_t rank) {
  char text[WIA__SHAPE_TEXT];
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "shape %s of %s: the size in bytes, or an offset that the strides reach, "
                   "overflows 63 bits",
                   wia__format_shape(text, shape, rank), wia_get_dtype_name(dtype));
}

static wia_status_t measure(wia_dtype_t dtype, const int64_t *shape, const int64_t *strides,
                            uint32_t rank, extent_t *out) {
  const int64_t bits = (int64_t)wia_get_dtype_bits(dtype);
  int64_t count = 1, low = 0, high = 0, packed = 1;
  bool empty = false, contiguous = true;
  for (uint32_t i = 0; i < rank; i++) empty |= shape[i] == 0;
  for (uint32_t i = rank; i-- > 0;) {
    /* an empty tensor may have any other dimension, but no product may overflow */
    const int64_t factor = shape[i] ? shape[i] : 1;
    if (__builtin_mul_overflow(count, factor, &count)) return too_large(dtype, shape, rank);
    if (shape[i] != 1 && strides[i] != packed) contiguous = false;
    packed = count;
    int64_t reach;
    if (__builtin_mul_overflow(factor - 1, strides[i], &reach) ||
        (reach < 0 ? __builtin_add_overflow(low, reach, &low)
                   : __builtin_add_overflow(high, reach, &high)))
      return too_large(dtype, shape, rank);
  }
  int64_t total_bits, low_bits, high_bits;
  if (__builtin_mul_overflow(count, bits, &total_bits) || total_bits > INT64_MAX - 7 ||
      __builtin_mul_overflow(low, bits, &low_bits) || high == INT64_MAX ||
      __builtin_mul_overflow(high + 1, bits, &high_bits) || high_bits > INT64_MAX - 7)
    return too_large(dtype, shape, rank);
  out->count = empty ? 0 : (uint64_t)count;
  out->size = empty ? 0 : (uint64_t)(total_bits + 7) / 8;
  out->begin = empty ? 0 : low_bits / 8;
  out->end = empty ? 0 : (high_bits + 7) / 8;
  out->contiguous = empty || contiguous;
  if (bits < 8 && !out->contiguous)
    return wia__fail(
        WIA_STATUS_INVALID_ARGUMENT,
        "%s is packed below a byte and can't be strided; copy it to a row-major tensor",
        wia_get_dtype_name(dtype));
  return WIA_STATUS_OK;
}

wia_status_t wia__check_shape(wia_dtype_t dtype, const int64_t *shape, uint32_t rank) {
  if (!is_dtype(dtype))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "dtype is %d; expected a constant of dtype.h, such as WIA_FLOAT32",
                     (int)dtype);
  if (rank > WIA_MAX_RANK)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "rank is %u; expected at most %d", rank,
                     WIA_MAX_RANK);
  if (rank && !shape) return wia__null("shape");
  for (uint32_t i = 0; i < rank; i++) {
    char text[WIA__SHAPE_TEXT];
    if (shape[i] < 0)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "shape %s has a negative dimension at position %u",
                       wia__format_shape(text, shape, rank), i);
  }
  return WIA_STATUS_OK;
}

static wia__layout_t *make_layout(wia_dtype_t dtype, uint32_t rank, const int64_t *dimensions,
                                  const extent_t *extent) {
  wia__layout_t *layout = calloc(1, sizeof *layout + 2 * rank * sizeof *dimensions);
  if (!layout) return NULL;
  memcpy(layout->dimensions, dimensions, 2 * rank * sizeof *dimensions);
  wia__init_object(&layout->object, WIA__INTERNAL, unlink_layout);
  layout->size = extent->size;
  layout->public_layout = (wia_tensor_layout_t){.struct_size = sizeof layout->public_layout,
                                                .dtype = dtype,
                                                .rank = rank,
                                                .format = WIA_FORMAT_STRIDED,
                                                .element_count = extent->count,
                                                .shape = layout->dimensions,
                                                .strides = layout->dimensions + rank,
                                                .span_begin = extent->begin,
                                                .span_end = extent->end,
                                                .contiguous = extent->contiguous};
  return layout;
}

wia_status_t wia__intern_layout(wia_dtype_t dtype, const int64_t *shape, const int64_t *strides,
                                uint32_t rank, wia__layout_t **out_layout) {
  wia_status_t status = wia__check_shape(dtype, shape, rank);
  if (status) return status;
  int64_t dimensions[2 * WIA_MAX_RANK];
  int64_t packed = 1;
  for (uint32_t i = rank; i-- > 0;) {
    dimensions[i] = shape[i];
    dimensions[rank + i] = strides ? strides[i] : packed;
    if (__builtin_mul_overflow(packed, shape[i] ? shape[i] : 1, &packed))
      return too_large(dtype, shape, rank);
  }
  extent_t extent = {0};
  status = measure(dtype, dimensions, dimensions + rank, rank, &extent);
  if (status) return status;

  const uint64_t hash = hash_words(((uint64_t)rank << 8) + (uint64_t)dtype, dimensions, 2 * rank);
  pthread_mutex_lock(&table_mutex);
  wia__layout_t *found = NULL;
  if (grow_table()) {
    wia__layout_t **bucket = &buckets[hash & (bucket_count - 1)];
    for (found = *bucket; found; found = found->next) {
      if (found->hash == hash && is_same(found, dtype, rank, dimensions) &&
          wia__try_retain(&found->object))
        break;
    }
    if (!found && (found = make_layout(dtype, rank, dimensions, &extent))) {
      found->hash = hash;
      found->public_layout.id = ++last_id;
      found->next = *bucket;
      *bucket = found;
      layout_count++;
    }
  }
  pthread_mutex_unlock(&table_mutex);
  if (!found) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a layout");
  *out_layout = found;
  return WIA_STATUS_OK;
}

wia_shape_t wia__shape_of(const wia_tensor_layout_t *layout) {
  wia_shape_t shape = {.dtype = layout->dtype, .rank = layout->rank};
  memcpy(shape.shape, layout->shape, layout->rank * sizeof *layout->shape);
  return shape;
}

/* -- overlap ------------------------------------------------------------------------------------- */

/* Extent in bytes of one pitch-wide line: of all dimensions whose stride is not the pitch. False when
 * it doesn't fit in one pitch. */
static bool line_extent(const wia_tensor_layout_t *layout, int64_t pitch, int64_t *out_begin,
                        int64_t *out_end) {
  const int64_t element = wia_get_dtype_bits(layout->dtype) / 8;
  int64_t begin = 0, end = element;
  for (uint32_t i = 0; i < layout->rank; i++) {
    if (layout->shape[i] < 2) continue; /* its stride may be anything */
    const int64_t stride = layout->strides[i] * element;
    if (stride % pitch == 0) continue;
    const int64_t reach = (layout->shape[i] - 1) * stride;
    *(reach < 0 ? &begin : &end) += reach;
  }
  *out_begin = begin;
  *out_end = end;
  return end - begin <= pitch;
}

bool wia__may_overlap(const wia_tensor_layout_t *a, uint64_t a_address,
                      const wia_tensor_layout_t *b, uint64_t b_address) {
  if (!a->element_count || !b->element_count) return false;
  if (a_address + (uint64_t)a->span_end <= b_address + (uint64_t)b->span_begin ||
      b_address + (uint64_t)b->span_end <= a_address + (uint64_t)a->span_begin)
    return false;
  /* Slices of one array: every stride either is a multiple of a common pitch or stays in a line. */
  for (uint32_t i = 0; i < a->rank; i++) {
    const int64_t element = wia_get_dtype_bits(a->dtype) / 8;
    const int64_t pitch = a->shape[i] < 2 ? 0 : llabs(a->strides[i]) * element;
    int64_t a_begin, a_end, b_begin, b_end;
    if (pitch == 0 || !line_extent(a, pitch, &a_begin, &a_end) ||
        !line_extent(b, pitch, &b_begin, &b_end))
      continue;
    /* b's line relative to a's, modulo the pitch: disjoint if it lies between two of a's lines */
    int64_t gap = ((int64_t)(b_address - a_address) + b_begin - a_begin) % pitch;
    if (gap < 0) gap += pitch;
    if (gap >= a_end - a_begin && gap + (b_end - b_begin) <= pitch) return false;
  }
  return true;
}

bool wia__shares_elements(const wia_tensor_layout_t *layout, uint32_t *out_dimension) {
  bool taken[WIA_MAX_RANK] = {false};
  int64_t reach = 0; /* of the dimensions taken so far, from the smallest stride up */
  if (!layout->element_count) return false;
  for (;;) {
    uint32_t next = WIA_MAX_RANK;
    for (uint32_t i = 0; i < layout->rank; i++) {
      if (!taken[i] && layout->shape[i] > 1 &&
          (next == WIA_MAX_RANK || llabs(layout->strides[i]) < llabs(layout->strides[next])))
        next = i;
    }
    if (next == WIA_MAX_RANK) return false;
    taken[next] = true;
    *out_dimension = next;
    if (llabs(layout->strides[next]) <= reach) return true;
    reach += (layout->shape[next] - 1) * llabs(layout->strides[next]);
  }
}

void wia__fork_layouts(wia__fork_t stage) { wia__fork_mutex(stage, &table_mutex); }
