/* Copies and fills: ranges, overlap, devices, and nothing written beside. */
#include "core_driver.h"

static const uint32_t ALL[] = {CORE_PLAIN, CORE_OPAQUE, CORE_SERIAL, CORE_SPLIT, CORE_BARE};
enum { DEVICES = sizeof ALL / sizeof ALL[0], SIZE = 256 };

static unsigned char numbers[SIZE]; /* 1, 2, 3 ... */

static wia_stream_t *make_stream(uint32_t device) {
  wia_context_t *context = core_context(device);
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  return stream;
}

static void end_stream(wia_stream_t *stream) {
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
}

/* The memory holds `fill` but for count bytes at offset, which are 1, 2, 3 ... */
static bool holds(void *memory, unsigned char fill, uint64_t offset, uint64_t count) {
  unsigned char bytes[SIZE];
  if (!CHECK_STATUS(wia_copy_device_to_host(bytes, memory, SIZE, NULL), WIA_STATUS_OK))
    return false;
  for (uint64_t i = 0; i < SIZE; i++) {
    const bool inside = i >= offset && i < offset + count;
    if (bytes[i] != (inside ? numbers[i - offset] : fill)) return false;
  }
  return true;
}

static void set(void *memory, unsigned char value) {
  CHECK_STATUS(wia_fill_memory(memory, &value, 1, SIZE, NULL), WIA_STATUS_OK);
}

/* -- ranges -------------------------------------------------------------------------------------- */

static void test_ranges(uint32_t device, bool streamed) {
  void *a = core_allocate(SIZE, device), *b = core_allocate(SIZE, device);
  wia_stream_t *stream = streamed ? make_stream(device) : NULL;
  unsigned char host[SIZE];
  const uint64_t spans[][2] = {{0, SIZE}, {0, 1}, {SIZE - 1, 1}, {7, 3}, {1, SIZE - 1}, {33, 100}};
  for (uint32_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
    const uint64_t offset = spans[i][0], size = spans[i][1];
    set(a, 0xcc);
    set(b, 0xbb);
    memset(host, 0xaa, sizeof host);
    CHECK_STATUS(wia_copy_host_to_device(core_at(a, (int64_t)offset), numbers, size, stream),
                 WIA_STATUS_OK);
    CHECK(holds(a, 0xcc, offset, size));
    CHECK_STATUS(wia_copy_device_to_device(core_at(b, (int64_t)(SIZE - offset - size)),
                                           core_at(a, (int64_t)offset), size, stream),
                 WIA_STATUS_OK);
    CHECK(holds(b, 0xbb, SIZE - offset - size, size));
    CHECK_STATUS(wia_copy_device_to_host(host + offset, core_at(a, (int64_t)offset), size, stream),
                 WIA_STATUS_OK);
    if (stream) CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_OK);
    for (uint64_t j = 0; j < SIZE; j++)
      CHECK(host[j] == (j >= offset && j < offset + size ? numbers[j - offset] : 0xaa));
  }

  const struct {
    int64_t offset;
    uint64_t size;
  } outside[] = {
      {0, SIZE + 1},         {1, SIZE},           {SIZE - 1, 2},       {SIZE, 1},           {-1, 2},
      {0, UINT64_MAX},       {1, UINT64_MAX - 1}, {8, UINT64_MAX - 7}, {SIZE - 8, 1 << 30}, {-8, 4},
      {0, UINT64_C(1) << 63}};
  set(a, 0xcc);
  set(b, 0xbb);
  for (uint32_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
    char *bad = core_at(a, outside[i].offset);
    const uint64_t size = outside[i].size;
    const wia_status_t expected = WIA_STATUS_INVALID_ARGUMENT;
    CHECK_STATUS(wia_copy_host_to_device(bad, numbers, size, stream), expected);
    CHECK_STATUS(wia_copy_device_to_host(host, bad, size, stream), expected);
    CHECK_STATUS(wia_copy_device_to_device(bad, b, size, stream), expected);
    CHECK_STATUS(wia_copy_device_to_device(b, bad, size, stream), expected);
    CHECK_STATUS(wia_fill_memory(bad, numbers, 1, size, stream), expected);
  }
  if (stream) end_stream(stream); /* nothing of that was queued, or it would have failed */
  CHECK(holds(a, 0xcc, 0, 0) && holds(b, 0xbb, 0, 0));
  CHECK_STATUS(wia_copy_host_to_device(a, numbers, 0, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_copy_device_to_device(NULL, NULL, 0, NULL), WIA_STATUS_OK);
  CHECK(holds(a, 0xcc, 0, 0));
  CHECK_STATUS(wia_free(a), WIA_STATUS_OK);
  CHECK_STATUS(wia_copy_host_to_device(a, numbers, 1, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_copy_device_to_device(b, a, 1, NULL), WIA_STATUS_INVALID_ARGUMENT);
  CHECK_STATUS(wia_free(b), WIA_STATUS_OK);
}

static void test_overlap(uint32_t device) {
  void *a = core_allocate(SIZE, device);
  const wia_status_t bad = WIA_STATUS_INVALID_ARGUMENT;
  CHECK_STATUS(wia_copy_host_to_device(a, numbers, SIZE, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_copy_device_to_device(a, a, 1, NULL), bad);
  CHECK_STATUS(wia_copy_device_to_device(core_at(a, 99), a, 100, NULL), bad);
  CHECK_MESSAGE("overlap");
  CHECK_STATUS(wia_copy_device_to_device(a, core_at(a, 99), 100, NULL), bad);
  CHECK_STATUS(wia_copy_device_to_device(a, core_at(a, 1), SIZE - 1, NULL), bad);
  CHECK(holds(a, 0, 0, SIZE));
  CHECK_STATUS(wia_copy_device_to_device(core_at(a, 128), a, 128, NULL), WIA_STATUS_OK);
  CHECK(core.faults == 0);
  CHECK_STATUS(wia_free(a), WIA_STATUS_OK);
}

/* The host's side is memory of a device: refused where the host can't read it, and where it is the other
 * side too. */
static void test_host_side(uint32_t device) {
  void *a = core_allocate(SIZE, device), *b = core_allocate(SIZE, device);
  wia_context_t *context = core_context(device);
  const bool readable = device != CORE_OPAQUE && device != CORE_SPLIT;
  const wia_status_t bad = WIA_STATUS_INVALID_ARGUMENT;
  wia_tensor_t tensor = NULL;
  CHECK_STATUS(wia_wrap_tensor(context, a, (const int64_t[]){8}, NULL, 1, WIA_FLOAT32, &tensor),
               WIA_STATUS_OK);
  set(a, 1);
  set(b, 2);
  const wia_status_t expected = readable ? WIA_STATUS_OK : bad;
  CHECK_STATUS(wia_copy_host_to_device(a, b, 16, NULL), expected);
  CHECK_STATUS(wia_copy_device_to_host(b, a, 16, NULL), expected);
  CHECK_STATUS(wia_copy_host_to_device(a, core_at(b, 240), 16, NULL), expected);
  CHECK_STATUS(wia_write_tensor(tensor, b, 32, NULL), expected);
  CHECK_STATUS(wia_read_tensor(tensor, b, 32, NULL), expected);
  CHECK_STATUS(wia_copy_host_to_device(a, a, 16, NULL), bad);
  CHECK_STATUS(wia_copy_device_to_host(core_at(a, 8), a, 16, NULL), bad);
  CHECK_STATUS(wia_read_tensor(tensor, a, 32, NULL), bad);
  CHECK_STATUS(wia_write_tensor(tensor, core_at(a, 31), 32, NULL), bad);
  core_destroy(tensor);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(a), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(b), WIA_STATUS_OK);
}

/* -- between devices ----------------------------------------------------------------------------- */

static void test_between_devices(void) {
  enum { LARGE = (5 << 18) + 12345 }; /* more than one piece on the way */
  unsigned char *pattern = malloc(LARGE), *back = malloc(LARGE);
  if (!pattern || !back) abort();
  for (uint32_t i = 0; i < LARGE; i++) pattern[i] = (unsigned char)(i * 31 + i / 251);
  for (uint32_t i = 0; i < DEVICES; i++) {
    for (uint32_t j = 0; j < DEVICES; j++) {
      void *from = core_allocate(LARGE + 3, ALL[i]), *to = core_allocate(LARGE + 5, ALL[j]);
      CHECK_STATUS(wia_copy_host_to_device(core_at(from, 3), pattern, LARGE, NULL), WIA_STATUS_OK);
      wia_stream_t *stream = (i + j) % 2 ? make_stream(ALL[i + j > 4 ? i : j]) : NULL;
      CHECK_STATUS(wia_copy_device_to_device(core_at(to, 2), core_at(from, 3), LARGE, stream),
                   WIA_STATUS_OK);
      memset(back, 0, LARGE);
      CHECK_STATUS(wia_copy_device_to_host(back, core_at(to, 2), LARGE, NULL), WIA_STATUS_OK);
      CHECK(memcmp(back, pattern, LARGE) == 0);
      if (stream) end_stream(stream);
      CHECK_STATUS(wia_free(from), WIA_STATUS_OK);
      CHECK_STATUS(wia_free(to), WIA_STATUS_OK);
    }
  }
  void *a = core_allocate(8, CORE_PLAIN), *b = core_allocate(8, CORE_OPAQUE);
  wia_stream_t *stream = make_stream(CORE_OTHER);
  CHECK_STATUS(wia_copy_device_to_device(a, b, 8, stream), WIA_STATUS_INVALID_ARGUMENT);
  end_stream(stream);
  CHECK_STATUS(wia_free(a), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(b), WIA_STATUS_OK);
  free(pattern);
  free(back);
}

/* Two devices of one driver: directly where it can, once; else, and where it says UNIMPLEMENTED or calls
 * have an order, through the host; a failure is one. */
static void test_direct(void) {
  static const struct {
    uint32_t from, to;
    wia_status_t says;
    uint32_t peer_copies, copies;
    wia_status_t status;
  } cases[] = {{CORE_PLAIN, CORE_OTHER, WIA_STATUS_OK, 1, 0, WIA_STATUS_OK},
               {CORE_SPLIT, CORE_OPAQUE, WIA_STATUS_OK, 1, 0, WIA_STATUS_OK},
               {CORE_PLAIN, CORE_OTHER, WIA_STATUS_UNIMPLEMENTED, 1, 2, WIA_STATUS_OK},
               {CORE_PLAIN, CORE_OTHER, WIA_STATUS_DATA_LOSS, 1, 0, WIA_STATUS_DATA_LOSS},
               {CORE_PLAIN, CORE_SERIAL, WIA_STATUS_OK, 0, 2, WIA_STATUS_OK},
               {CORE_PLAIN, CORE_BARE, WIA_STATUS_OK, 0, 2, WIA_STATUS_OK}};
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    unsigned char values[32], host[32] = {0};
    void *from = NULL, *to = NULL;
    for (uint32_t j = 0; j < sizeof values; j++) values[j] = (unsigned char)(i + j);
    CHECK_STATUS(wia_malloc(&from, 32, core_id(cases[i].from)), WIA_STATUS_OK);
    CHECK_STATUS(wia_malloc(&to, 32, core_id(cases[i].to)), WIA_STATUS_OK);
    CHECK_STATUS(wia_copy_host_to_device(from, values, 32, NULL), WIA_STATUS_OK);
    CHECK_STATUS(wia_fill_memory(to, host, 16, 32, NULL), WIA_STATUS_OK);
    const uint32_t peer_copies = core.peer_copies, copies = core.copies;
    core.peer_status = cases[i].says;
    CHECK_STATUS(wia_copy_device_to_device(to, core_at(from, 1), 31, NULL), cases[i].status);
    core.peer_status = WIA_STATUS_OK;
    CHECK(core.peer_copies - peer_copies == cases[i].peer_copies);
    CHECK(core.copies - copies == cases[i].copies);
    if (cases[i].status) {
      CHECK_MESSAGE("a copy from core:0 to core:1");
      CHECK_MESSAGE("wants this copy to fail");
    } else {
      CHECK_STATUS(wia_copy_device_to_host(host, to, 32, NULL), WIA_STATUS_OK);
      CHECK(memcmp(host, values + 1, 31) == 0 && host[31] == 0);
    }
    CHECK_STATUS(wia_free(from), WIA_STATUS_OK);
    CHECK_STATUS(wia_free(to), WIA_STATUS_OK);
  }
}

/* -- fills --------------------------------------------------------------------------------------- */

static void test_fill(uint32_t device) {
  enum { LARGE = (1 << 20) + 48 };
  void *a = core_allocate(SIZE, device);
  const wia_status_t bad = WIA_STATUS_INVALID_ARGUMENT;
  for (uint32_t size = 1; size <= 16; size *= 2) {
    set(a, 0xcc);
    CHECK_STATUS(wia_fill_memory(core_at(a, 16), numbers, size, 64, NULL), WIA_STATUS_OK);
    unsigned char bytes[SIZE];
    CHECK_STATUS(wia_copy_device_to_host(bytes, a, SIZE, NULL), WIA_STATUS_OK);
    for (uint32_t i = 0; i < SIZE; i++)
      CHECK(bytes[i] == (i >= 16 && i < 80 ? numbers[(i - 16) % size] : 0xcc));
    CHECK_STATUS(wia_fill_memory(a, numbers, size, 64 + size, NULL), WIA_STATUS_OK);
    if (size > 1) CHECK_STATUS(wia_fill_memory(a, numbers, size, 64 + size / 2, NULL), bad);
  }
  const uint32_t bad_sizes[] = {0, 3, 5, 12, 17, 32, 64, UINT32_MAX};
  for (uint32_t i = 0; i < sizeof bad_sizes / sizeof bad_sizes[0]; i++)
    CHECK_STATUS(wia_fill_memory(a, numbers, bad_sizes[i], 96, NULL), bad);
  CHECK_STATUS(wia_fill_memory(NULL, numbers, 1, 0, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(a), WIA_STATUS_OK);

  void *large = core_allocate(LARGE, device);
  unsigned char *bytes = malloc(LARGE);
  if (!bytes) abort();
  wia_stream_t *stream = make_stream(device);
  unsigned char pattern[16];
  memcpy(pattern, numbers, sizeof pattern);
  core_close_gate();
  CHECK_STATUS(wia_fill_memory(large, pattern, 16, LARGE, stream), WIA_STATUS_OK);
  memset(pattern, 0, sizeof pattern); /* the pattern was copied */
  core_open_gate();
  CHECK_STATUS(wia_copy_device_to_host(bytes, large, LARGE, NULL), WIA_STATUS_OK);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < LARGE; i++) wrong += bytes[i] != numbers[i % 16];
  CHECK(wrong == 0);
  end_stream(stream);
  free(bytes);
  CHECK_STATUS(wia_free(large), WIA_STATUS_OK);
}

/* What a driver's copy fails with comes through, at once and on a stream. */
static void test_failing_copy(uint32_t device) {
  void *a = core_allocate(SIZE, device), *b = core_allocate(SIZE, device);
  wia_stream_t *stream = make_stream(device);
  unsigned char host[SIZE];
  core.copy_status = WIA_STATUS_DATA_LOSS;
  CHECK_STATUS(wia_copy_host_to_device(a, numbers, SIZE, NULL), WIA_STATUS_DATA_LOSS);
  CHECK_MESSAGE("the test wants this copy to fail");
  CHECK_STATUS(wia_copy_device_to_device(a, b, SIZE, NULL), WIA_STATUS_DATA_LOSS);
  CHECK_STATUS(wia_copy_host_to_device(a, numbers, SIZE, stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), WIA_STATUS_DATA_LOSS);
  CHECK_MESSAGE("the test wants this copy to fail");
  core.copy_status = WIA_STATUS_OK;
  CHECK_STATUS(wia_copy_device_to_host(host, a, SIZE, NULL), WIA_STATUS_DATA_LOSS);
  CHECK_STATUS(wia_copy_device_to_host(host, b, SIZE, NULL), WIA_STATUS_OK);
  CHECK_STATUS(wia_reset_stream(stream), WIA_STATUS_OK);
  CHECK_STATUS(wia_copy_host_to_device(a, numbers, SIZE, NULL), WIA_STATUS_OK);
  CHECK(holds(a, 0, 0, SIZE));
  end_stream(stream);
  CHECK_STATUS(wia_free(a), WIA_STATUS_OK);
  CHECK_STATUS(wia_free(b), WIA_STATUS_OK);
}

int main(void) {
  core_start();
  for (uint32_t i = 0; i < SIZE; i++) numbers[i] = (unsigned char)(i + 1);
  for (uint32_t i = 0; i < DEVICES; i++) {
    test_ranges(ALL[i], false);
    test_ranges(ALL[i], true);
    test_overlap(ALL[i]);
    test_host_side(ALL[i]);
    test_fill(ALL[i]);
    test_failing_copy(ALL[i]);
  }
  test_between_devices();
  test_direct();
  CHECK_CLEAN();
  return CHECK_DONE();
}
