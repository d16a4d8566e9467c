/* Tensors: made, wrapped, seen through views, read and written at any strides. */
#include "core_driver.h"

static wia_context_t *context;
static uint32_t device;

static wia_tensor_info_t info_of(wia_tensor_t tensor) {
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(tensor, &info), WIA_STATUS_OK);
  return info;
}

/* -- shapes and dtypes --------------------------------------------------------------------------- */

static void check_allocation(const int64_t *shape, uint32_t rank, wia_dtype_t dtype,
                             wia_status_t expected) {
  wia_tensor_t tensor = NULL;
  CHECK_STATUS(wia_allocate_tensor(context, shape, rank, dtype, &tensor), expected);
  if (expected)
    CHECK(tensor == NULL);
  else
    core_destroy(tensor);
}

static void test_shapes(void) {
  const int64_t max = INT64_MAX, big = INT64_C(1) << 32;
  const wia_status_t bad = WIA_STATUS_INVALID_ARGUMENT;
  check_allocation((const int64_t[]){max, 2}, 2, WIA_FLOAT32, bad);
  CHECK_MESSAGE("overflows");
  check_allocation((const int64_t[]){max}, 1, WIA_FLOAT32, bad);
  check_allocation((const int64_t[]){max / 4 + 1}, 1, WIA_FLOAT32, bad);
  check_allocation((const int64_t[]){max / 8}, 1, WIA_FLOAT64, bad);
  check_allocation((const int64_t[]){big, big}, 2, WIA_INT8, bad);
  check_allocation((const int64_t[]){big, big, big, big}, 4, WIA_INT8, bad); /* wraps to 0 */
  check_allocation((const int64_t[]){max}, 1, WIA_INT4, bad);
  check_allocation((const int64_t[]){big, big, 0}, 3, WIA_INT8, bad);
  check_allocation((const int64_t[]){-1}, 1, WIA_FLOAT32, bad);
  check_allocation((const int64_t[]){2, INT64_MIN}, 2, WIA_FLOAT32, bad);
  CHECK_MESSAGE("negative");
  check_allocation((const int64_t[]){1 << 20, 1 << 22}, 2, WIA_FLOAT32,
                   WIA_STATUS_RESOURCE_EXHAUSTED); /* 16 TiB is a size, but too much */
  const int64_t ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  check_allocation(ones, 8, WIA_FLOAT32, WIA_STATUS_OK);
  check_allocation(ones, 9, WIA_FLOAT32, bad);
  CHECK_MESSAGE("rank");
  check_allocation(ones, UINT32_MAX, WIA_FLOAT32, bad);
  check_allocation(NULL, 1, WIA_FLOAT32, bad);
  check_allocation(NULL, 0, WIA_FLOAT32, WIA_STATUS_OK);
  const wia_dtype_t dtypes[] = {-1, 0, WIA_DTYPE_COUNT, INT32_MAX, INT32_MIN};
  for (uint32_t i = 0; i < 5; i++) check_allocation(ones, 1, dtypes[i], bad);
  for (wia_dtype_t dtype = 1; dtype < WIA_DTYPE_COUNT; dtype++) {
    wia_tensor_t tensor = NULL;
    CHECK_STATUS(wia_allocate_tensor(context, (const int64_t[]){3, 5}, 2, dtype, &tensor),
                 WIA_STATUS_OK);
    const wia_tensor_info_t info = info_of(tensor);
    CHECK(info.size == (15 * wia_get_dtype_bits(dtype) + 7) / 8);
    wia_address_info_t address = WIA_ADDRESS_INFO_INIT;
    CHECK_STATUS(wia_query_address((void *)(uintptr_t)info.address, &address), WIA_STATUS_OK);
    CHECK(address.size == info.size && address.offset == 0);
    core_destroy(tensor);
  }
}

static void test_info(void) {
  const int64_t shape[] = {2, 3, 4};
  wia_tensor_t tensor = core_empty(context, 3, shape), view = NULL;
  wia_tensor_info_t info = info_of(tensor);
  CHECK(info.device_id == core_id(device) && info.dtype == WIA_FLOAT32 && info.rank == 3);
  CHECK(memcmp(info.shape, shape, sizeof shape) == 0 && info.element_count == 24);
  CHECK(info.strides[0] == 12 && info.strides[1] == 4 && info.strides[2] == 1);
  CHECK(info.size == 96 && info.contiguous == 1 && info.borrowed == 0 && info.address != 0);
  const uint64_t address = info.address;
  CHECK_STATUS(wia_view_tensor(tensor, 23, shape, (const int64_t[]){-12, -4, -1}, 3, &view),
               WIA_STATUS_OK);
  info = info_of(view);
  CHECK(info.address == address + 92 && info.contiguous == 0 && info.element_count == 24);
  CHECK(info.layout->span_begin == -92 && info.layout->span_end == 4);
  core_destroy(tensor);
  core_destroy(view);
}

static void test_empty(void) {
  const int64_t shapes[][3] = {{0, 3, 4}, {3, 0, 4}, {0, 0, 0}, {INT64_C(1) << 40, 0, 1}};
  const uint32_t allocations = core.allocations;
  for (uint32_t i = 0; i < 4; i++) {
    wia_tensor_t tensor = core_empty(context, 3, shapes[i]),
                 copy = core_empty(context, 3, shapes[i]);
    wia_tensor_t view = NULL, wrap = NULL;
    const wia_tensor_info_t info = info_of(tensor);
    CHECK(info.address == 0 && info.size == 0 && info.element_count == 0 && info.contiguous == 1);
    CHECK_STATUS(wia_write_tensor(tensor, NULL, 0, NULL), WIA_STATUS_OK);
    CHECK_STATUS(wia_read_tensor(tensor, NULL, 0, NULL), WIA_STATUS_OK);
    CHECK_STATUS(wia_read_tensor(tensor, NULL, 4, NULL), WIA_STATUS_INVALID_ARGUMENT);
    CHECK_STATUS(wia_add(context, tensor, tensor, copy, NULL), WIA_STATUS_OK);
    CHECK_STATUS(wia_add(context, tensor, tensor, tensor, NULL), WIA_STATUS_OK);
    CHECK_STATUS(wia_view_tensor(tensor, 0, shapes[i], NULL, 3, &view), WIA_STATUS_OK);
    CHECK_STATUS(wia_wrap_tensor(context, NULL, shapes[i], NULL, 3, WIA_FLOAT32, &wrap),
                 WIA_STATUS_OK);
    core_destroy(view);
    view = NULL;
    CHECK_STATUS(wia_view_tensor(tensor, 0, (const int64_t[]){1}, NULL, 1, &view),
                 WIA_STATUS_INVALID_ARGUMENT);
    core_destroy(wrap);
    core_destroy(copy);
    core_destroy(tensor);
  }
  CHECK(core.allocations == allocations);
  const uint32_t launches = core.launches;
  wia_tensor_t none = core_empty(context, 1, (const int64_t[]){0});
  CHECK_STATUS(wia_add(context, none, none, none, NULL), WIA_STATUS_OK);
  CHECK(core.launches == launches); /* there is nothing to launch */
  core_destroy(none);
}

/* -- wraps and views ----------------------------------------------------------------------------- */

typedef struct reach_t {
  int64_t offset, shape[2], strides[2];
  bool fits;
} reach_t;

/* In 24 floats. */
static const reach_t reaches[] = {
    {0, {4, 6}, {6, 1}, true},
    {0, {4, 6}, {6, 2}, false},
    {0, {5, 6}, {6, 1}, false},
    {1, {4, 6}, {6, 1}, false},
    {23, {1, 1}, {6, 1}, true},
    {24, {1, 1}, {6, 1}, false},
    {-1, {1, 1}, {6, 1}, false},
    {-1, {2, 1}, {1, 1}, false},
    {23, {4, 6}, {-6, -1}, true},
    {22, {4, 6}, {-6, -1}, false},
    {18, {4, 6}, {-6, 1}, true},
    {17, {4, 6}, {-6, 1}, false},
    {5, {100000, 2}, {0, 0}, true},
    {0, {1, 24}, {INT64_MAX, 1}, true}, /* no step is ever made */
    {0, {1, 24}, {INT64_MIN, 1}, true},
    {0, {2, 1}, {INT64_MAX, 1}, false},
    {0, {2, 1}, {INT64_MIN, 1}, false},
    {0, {2, 1}, {INT64_MAX / 4, 1}, false},
    {23, {2, 1}, {-(INT64_C(1) << 61), 1}, false},
    {0, {3, 2}, {INT64_C(1) << 61, INT64_C(1) << 61}, false},
    {0, {INT64_C(1) << 40, INT64_C(1) << 40}, {0, 0}, false}, /* one place, but no such number */
    {0, {INT64_C(1) << 61, 1}, {0, 1}, false},                /* nor bytes */
    {INT64_MAX, {1, 1}, {1, 1}, false},
    {INT64_MIN, {1, 1}, {1, 1}, false},
    {INT64_C(1) << 62, {1, 1}, {1, 1}, false}, /* times 4 bytes: wraps to 0 */
};

static void test_reaches(void) {
  void *memory = core_allocate(24 * sizeof(float), device);
  wia_tensor_t base = NULL;
  CHECK_STATUS(wia_wrap_tensor(context, memory, (const int64_t[]){24}, NULL, 1, WIA_FLOAT32, &base),
               WIA_STATUS_OK);
  for (uint32_t i = 0; i < sizeof reaches / sizeof reaches[0]; i++) {
    const reach_t *r = &reaches[i];
    const wia_status_t expected = r->fits ? WIA_STATUS_OK : WIA_STATUS_INVALID_ARGUMENT;
    wia_tensor_t view = NULL, wrap = NULL;
    bool good =
        CHECK_STATUS(wia_view_tensor(base, r->offset, r->shape, r->strides, 2, &view), expected);
    if (view) core_destroy(view);
    if (r->offset < 1000 && r->offset > -1000) {
      good &= CHECK_STATUS(wia_wrap_tensor(context, core_at(memory, 4 * r->offset), r->shape,
                                           r->strides, 2, WIA_FLOAT32, &wrap),
                           expected);
      if (wrap) core_destroy(wrap);
      const wia_view_t raw = {(uint64_t)(uintptr_t)core_at(memory, 4 * r->offset), r->shape,
                              r->strides, WIA_FLOAT32, 2};
      const wia_view_t inputs[] = {raw, raw};
      if (!r->fits) /* as an input and output alike */
        good &=
            CHECK_STATUS(wia_execute_views(context, WIA_OP_ADD, inputs, 2, &raw, 1, NULL, 0, NULL),
                         WIA_STATUS_INVALID_ARGUMENT);
    }
    if (!good) printf("  reach %u on device %u\n", i, device);
  }
  core_destroy(base);
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
}

static void test_alignment(void) {
  void *memory = core_allocate(64, device);
  for (wia_dtype_t dtype = 1; dtype < WIA_DTYPE_COUNT; dtype++) {
    uint64_t size = (wia_get_dtype_bits(dtype) + 7) / 8;
    if (dtype == WIA_COMPLEX64 || dtype == WIA_COMPLEX128) size /= 2; /* that of its parts */
    for (int64_t offset = 0; offset < 16; offset++) {
      wia_tensor_t tensor = NULL;
      CHECK_STATUS(wia_wrap_tensor(context, core_at(memory, offset), NULL, NULL, 0, dtype, &tensor),
                   offset % (int64_t)size ? WIA_STATUS_INVALID_ARGUMENT : WIA_STATUS_OK);
      if (tensor) core_destroy(tensor);
    }
  }
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
}

static void test_borrowed(void) {
  void *memory = core_allocate(16, device);
  wia_tensor_t wrap = NULL, view = NULL, other = core_tensor(context, 4, 0);
  CHECK_STATUS(wia_wrap_tensor(context, memory, (const int64_t[]){4}, NULL, 1, WIA_FLOAT32, &wrap),
               WIA_STATUS_OK);
  CHECK(info_of(wrap).borrowed == 1);
  CHECK_STATUS(wia_view_tensor(wrap, 1, (const int64_t[]){2}, NULL, 1, &view), WIA_STATUS_OK);
  CHECK(info_of(view).borrowed == 1);
  CHECK_STATUS(wia_add(context, other, other, wrap, NULL), WIA_STATUS_OK);
  CHECK(core_has(view, 2, 2));
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
  const wia_status_t bad = WIA_STATUS_INVALID_HANDLE;
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  float host[4];
  wia_tensor_t made = NULL;
  CHECK_STATUS(wia_get_tensor_info(wrap, &info), bad);
  CHECK_STATUS(wia_get_tensor_info(view, &info), bad);
  CHECK_STATUS(wia_read_tensor(wrap, host, 16, NULL), bad);
  CHECK_STATUS(wia_write_tensor(view, host, 8, NULL), bad);
  CHECK_STATUS(wia_view_tensor(wrap, 0, NULL, NULL, 0, &made), bad);
  CHECK_STATUS(wia_add(context, other, wrap, other, NULL), bad);
  CHECK_STATUS(wia_add(context, other, other, wrap, NULL), bad);
  CHECK_MESSAGE("wia_free");
  CHECK_STATUS(wia_destroy_tensor(wrap), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_tensor(view), WIA_STATUS_OK);
  /* one that borrows a tensor's memory ends with it */
  CHECK_STATUS(wia_wrap_tensor(context, (void *)(uintptr_t)info_of(other).address,
                               (const int64_t[]){4}, NULL, 1, WIA_FLOAT32, &wrap),
               WIA_STATUS_OK);
  core_destroy(other);
  CHECK_STATUS(wia_get_tensor_info(wrap, &info), bad);
  CHECK_STATUS(wia_destroy_tensor(wrap), WIA_STATUS_OK);
}

/* -- reads and writes ---------------------------------------------------------------------------- */

/* Through a view of 10 by 12 floats, against a loop; what it doesn't reach stays. */
static void check_strided(int64_t offset, const int64_t *shape, const int64_t *strides,
                          uint32_t rank, bool writable) {
  enum { COUNT = 120 };
  float all[COUNT], expected[COUNT], packed[COUNT], back[COUNT];
  wia_tensor_t base = core_tensor(context, COUNT, 1000), view = NULL;
  CHECK_STATUS(wia_view_tensor(base, offset, shape, strides, rank, &view), WIA_STATUS_OK);
  const uint64_t count = info_of(view).element_count;
  for (uint32_t i = 0; i < COUNT; i++) expected[i] = 1000 + (float)i;
  for (uint64_t n = 0; n < count; n++) {
    int64_t place = offset, rest = (int64_t)n;
    for (uint32_t i = rank; i-- > 0; rest /= shape[i]) place += rest % shape[i] * strides[i];
    back[n] = expected[place];
    if (writable) expected[place] = packed[n] = (float)n;
  }
  float read[COUNT];
  CHECK_STATUS(wia_read_tensor(view, read, count * sizeof(float), NULL), WIA_STATUS_OK);
  CHECK(memcmp(read, back, count * sizeof(float)) == 0);
  CHECK_STATUS(wia_write_tensor(view, writable ? packed : read, count * sizeof(float), NULL),
               writable ? WIA_STATUS_OK : WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_read_tensor(base, all, sizeof all, NULL), WIA_STATUS_OK);
  CHECK(memcmp(all, expected, sizeof all) == 0);
  CHECK_STATUS(wia_read_tensor(view, read, count * sizeof(float) - 1, NULL),
               WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_read_tensor(view, read, count * sizeof(float) + 4, NULL),
               WIA_STATUS_INVALID_ARGUMENT);
  core_destroy(view);
  core_destroy(base);
}

static void test_strided(void) {
  check_strided(0, (const int64_t[]){10, 12}, (const int64_t[]){12, 1}, 2, true);
  check_strided(13, (const int64_t[]){4, 5}, (const int64_t[]){12, 1}, 2, true);
  check_strided(13, (const int64_t[]){4, 5}, (const int64_t[]){12, 2}, 2, true);
  check_strided(0, (const int64_t[]){12, 10}, (const int64_t[]){1, 12}, 2, true);
  check_strided(119, (const int64_t[]){10, 12}, (const int64_t[]){-12, -1}, 2, true);
  check_strided(11, (const int64_t[]){10, 12}, (const int64_t[]){12, -1}, 2, true);
  check_strided(7, (const int64_t[]){5, 3}, (const int64_t[]){0, 1}, 2, false);
  check_strided(7, (const int64_t[]){5, 3}, (const int64_t[]){3, 0}, 2, false);
  check_strided(7, (const int64_t[]){5, 3}, (const int64_t[]){1, 1}, 2, false);
  check_strided(7, (const int64_t[]){1, 3}, (const int64_t[]){0, 1}, 2, true);
  check_strided(7, (const int64_t[]){1, 1, 1}, (const int64_t[]){INT64_MIN, 0, INT64_MAX}, 3, true);
  check_strided(1, (const int64_t[]){2, 3, 4, 2}, (const int64_t[]){60, 20, 4, 1}, 4, true);
  check_strided(0, (const int64_t[]){2, 3, 4, 5}, (const int64_t[]){1, 2, 30, 6}, 4, true);
  check_strided(0, (const int64_t[]){60}, (const int64_t[]){2}, 1, true);
  check_strided(119, NULL, NULL, 0, true);
}

/* More runs than go into one call of the driver. */
static void test_many_runs(void) {
  enum { COUNT = 1000 };
  float values[COUNT], back[COUNT];
  wia_tensor_t base = core_empty(context, 1, (const int64_t[]){2 * COUNT}), view = NULL;
  CHECK_STATUS(wia_view_tensor(base, 1, (const int64_t[]){COUNT}, (const int64_t[]){2}, 1, &view),
               WIA_STATUS_OK);
  for (uint32_t i = 0; i < COUNT; i++) values[i] = (float)i;
  CHECK_STATUS(wia_write_tensor(view, values, sizeof values, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_read_tensor(view, back, sizeof back, NULL), WIA_STATUS_OK);
  CHECK(memcmp(values, back, sizeof values) == 0);
  core_destroy(base);
  core_destroy(view);
}

static void test_packed(void) {
  const int64_t shape[] = {3, 5};
  const wia_dtype_t dtypes[] = {WIA_INT4, WIA_UINT4, WIA_FLOAT4_E2M1FN, WIA_INT2, WIA_UINT2};
  for (uint32_t i = 0; i < 5; i++) {
    const uint64_t size = (15 * wia_get_dtype_bits(dtypes[i]) + 7) / 8;
    const int64_t whole = 8 / wia_get_dtype_bits(dtypes[i]); /* elements of a byte */
    unsigned char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8}, back[8] = {0};
    wia_tensor_t tensor = NULL, view = NULL;
    CHECK_STATUS(wia_allocate_tensor(context, shape, 2, dtypes[i], &tensor), WIA_STATUS_OK);
    CHECK_STATUS(wia_write_tensor(tensor, bytes, size, NULL), WIA_STATUS_OK);
    CHECK_STATUS(wia_read_tensor(tensor, back, size, NULL), WIA_STATUS_OK);
    CHECK(memcmp(bytes, back, size) == 0);
    const wia_status_t bad = WIA_STATUS_INVALID_ARGUMENT;
    CHECK_STATUS(wia_view_tensor(tensor, 0, shape, (const int64_t[]){1, 3}, 2, &view), bad);
    CHECK_STATUS(
        wia_view_tensor(tensor, 14, (const int64_t[]){15}, (const int64_t[]){-1}, 1, &view), bad);
    CHECK_STATUS(wia_view_tensor(tensor, 1, (const int64_t[]){2}, NULL, 1, &view), bad);
    CHECK_STATUS(wia_view_tensor(tensor, whole, (const int64_t[]){20}, NULL, 1, &view), bad);
    CHECK_STATUS(wia_view_tensor(tensor, whole, (const int64_t[]){whole}, NULL, 1, &view),
                 WIA_STATUS_OK);
    CHECK_STATUS(wia_read_tensor(view, back, 1, NULL), WIA_STATUS_OK);
    CHECK(back[0] == 2);
    core_destroy(view);
    core_destroy(tensor);
  }
}

int main(void) {
  const uint32_t devices[] = {CORE_PLAIN, CORE_OPAQUE, CORE_SPLIT, CORE_BARE};
  core_start();
  for (uint32_t i = 0; i < 4; i++) {
    device = devices[i];
    context = core_context(device);
    test_shapes();
    test_info();
    test_empty();
    test_reaches();
    test_alignment();
    test_borrowed();
    test_strided();
    test_many_runs();
    test_packed();
    CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  }
  CHECK_CLEAN();
  return CHECK_DONE();
}
