/* Layouts and aliasing: equal layouts are one object; outputs that meet other operands. */
#include "core_driver.h"

static wia_context_t *context;

static const wia_tensor_layout_t *layout_of(wia_tensor_t tensor) {
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  CHECK_STATUS(wia_get_tensor_info(tensor, &info), WIA_STATUS_OK);
  return info.layout;
}

static wia_tensor_t view_of(wia_tensor_t base, int64_t offset, uint32_t rank, const int64_t *shape,
                            const int64_t *strides) {
  wia_tensor_t view = NULL;
  CHECK_STATUS(wia_view_tensor(base, offset, shape, strides, rank, &view), WIA_STATUS_OK);
  return view;
}

/* -- interning ----------------------------------------------------------------------------------- */

static void test_same_layout(void) {
  const int64_t shape[] = {3, 4}, strides[] = {4, 1};
  wia_context_t *other = core_context(CORE_OPAQUE);
  wia_tensor_t a = core_empty(context, 2, shape), b = core_empty(other, 2, shape);
  wia_tensor_t c = view_of(a, 0, 2, shape, strides), d = view_of(a, 0, 2, shape, NULL);
  const wia_tensor_layout_t *layout = layout_of(a);
  CHECK(layout_of(b) == layout && layout_of(c) == layout && layout_of(d) == layout);
  wia_tensor_t e = NULL;
  CHECK_STATUS(wia_allocate_tensor(context, shape, 2, WIA_INT32, &e), WIA_STATUS_OK);
  wia_tensor_t f = core_empty(context, 2, (const int64_t[]){4, 3});
  wia_tensor_t g = core_empty(context, 3, (const int64_t[]){1, 3, 4});
  wia_tensor_t h = view_of(a, 11, 2, shape, (const int64_t[]){-4, -1});
  const wia_tensor_t others[] = {e, f, g, h};
  for (uint32_t i = 0; i < 4; i++) {
    CHECK(layout_of(others[i]) != layout && layout_of(others[i])->id != layout->id);
    for (uint32_t j = 0; j < i; j++) CHECK(layout_of(others[i])->id != layout_of(others[j])->id);
  }
  /* gone with its last tensor; the next has another id */
  const uint64_t id = layout_of(h)->id;
  core_destroy(h);
  h = view_of(a, 11, 2, shape, (const int64_t[]){-4, -1});
  CHECK(layout_of(h)->id > id);
  const wia_tensor_t all[] = {a, b, c, d, e, f, g, h};
  for (uint32_t i = 0; i < 8; i++) core_destroy(all[i]);
  CHECK_STATUS(wia_destroy_context(other), WIA_STATUS_OK);
}

/* Many at once: the table grows, and finds each again. */
static void test_many_layouts(void) {
  enum { COUNT = 2000 };
  static wia_tensor_t tensors[COUNT];
  wia_tensor_t base = core_empty(context, 1, (const int64_t[]){COUNT + 1});
  for (int64_t i = 0; i < COUNT; i++)
    tensors[i] = view_of(base, 0, 1, (const int64_t[]){i + 1}, NULL);
  uint32_t wrong = 0;
  for (int64_t i = 0; i < COUNT; i++) {
    wia_tensor_t again = view_of(base, 1, 1, (const int64_t[]){i + 1}, NULL);
    wrong += layout_of(again) != layout_of(tensors[i]);
    wrong += layout_of(again)->shape[0] != i + 1;
    core_destroy(again);
  }
  CHECK(wrong == 0);
  for (uint32_t i = 0; i < COUNT; i++) core_destroy(tensors[i]);
  core_destroy(base);
}

/* -- outputs that share places ------------------------------------------------------------------- */

typedef struct output_t {
  int64_t offset, shape[2], strides[2];
  wia_status_t expected;
} output_t;

static void test_outputs(void) {
  const wia_status_t bad = WIA_STATUS_INVALID_ARGUMENT, good = WIA_STATUS_OK;
  const output_t outputs[] = {
      {0, {4, 3}, {3, 1}, good},    {0, {4, 3}, {0, 1}, bad},          {0, {4, 3}, {1, 0}, bad},
      {0, {4, 3}, {1, 1}, bad},     {0, {4, 3}, {2, 1}, bad},          {0, {4, 3}, {1, 4}, good},
      {40, {4, 3}, {-3, -1}, good}, {40, {4, 3}, {-2, 1}, bad},        {0, {1, 12}, {0, 1}, good},
      {0, {12, 1}, {1, 0}, good},   {0, {12, 1}, {1, INT64_MIN}, good}};
  wia_tensor_t base = core_tensor(context, 64, 0);
  for (uint32_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
    const output_t *o = &outputs[i];
    wia_tensor_t a = core_empty(context, 2, o->shape);
    const float zeros[12] = {0};
    CHECK_STATUS(wia_write_tensor(a, zeros, sizeof zeros, NULL), good);
    wia_tensor_t out = view_of(base, o->offset, 2, o->shape, o->strides);
    const uint32_t prepares = core.prepares;
    if (!CHECK_STATUS(wia_add(context, a, a, out, NULL), o->expected)) printf("  output %u\n", i);
    if (o->expected) {
      CHECK_MESSAGE("share memory");
      CHECK(core.prepares == prepares); /* before a driver was asked */
      CHECK_STATUS(wia_add(context, a, a, out, NULL), o->expected);
    } else {
      CHECK(core_has(out, 0, 0));
    }
    core_destroy(out);
    core_destroy(a);
  }
  core_destroy(base);
}

/* -- outputs that meet inputs -------------------------------------------------------------------- */

static void test_in_place(void) {
  wia_tensor_t a = core_tensor(context, 16, 0), b = core_tensor(context, 16, 1);
  CHECK_STATUS(wia_add(context, a, b, a, NULL), WIA_STATUS_OK);
  CHECK(core_has(a, 1, 2));
  CHECK_STATUS(wia_add(context, b, a, a, NULL), WIA_STATUS_OK);
  CHECK(core_has(a, 2, 3));
  CHECK_STATUS(wia_add(context, b, b, b, NULL), WIA_STATUS_OK);
  CHECK(core_has(b, 2, 2));
  /* another tensor with the same place and layout is the same */
  wia_tensor_t same = view_of(a, 0, 1, (const int64_t[]){16}, NULL);
  CHECK_STATUS(wia_add(context, same, b, a, NULL), WIA_STATUS_OK);
  CHECK(core_has(a, 4, 5));
  core_destroy(same);
  core_destroy(a);
  core_destroy(b);
}

/* A kernel that can't work in place refuses, and works otherwise: they are two signatures. */
static void test_not_in_place(void) {
  wia_tensor_t a = core_tensor(context, 17, 0), b = core_tensor(context, 17, 1);
  core.kernel_flags = WIA_KERNEL_THREAD_SAFE;
  CHECK_STATUS(wia_add(context, a, b, a, NULL), WIA_STATUS_UNIMPLEMENTED);
  CHECK_MESSAGE("in place");
  CHECK(core_has(a, 0, 1));
  CHECK_STATUS(wia_add(context, a, a, b, NULL), WIA_STATUS_OK);
  CHECK(core_has(b, 0, 2));
  CHECK_STATUS(wia_add(context, a, b, b, NULL), WIA_STATUS_UNIMPLEMENTED);
  core.kernel_flags = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE;
  core_destroy(a);
  core_destroy(b);
}

typedef struct meeting_t {
  int64_t in_offset, in_strides[2], out_offset, out_strides[2];
  wia_status_t expected;
} meeting_t;

/* [3, 4] each, in 100 floats. */
static void test_meetings(void) {
  const wia_status_t bad = WIA_STATUS_INVALID_ARGUMENT, good = WIA_STATUS_OK;
  const meeting_t meetings[] = {
      {0, {4, 1}, 12, {4, 1}, good},    /* one behind the other */
      {0, {4, 1}, 11, {4, 1}, bad},     /* by one element */
      {11, {4, 1}, 0, {4, 1}, bad},     /* the other way round */
      {0, {4, 1}, 1, {4, 1}, bad},      /* moved */
      {0, {4, 1}, 0, {1, 3}, bad},      /* the same place, another layout */
      {0, {4, 1}, 11, {-4, -1}, bad},   /* the same place, backwards */
      {0, {10, 1}, 4, {10, 1}, good},   /* columns 0 to 3 and 4 to 7 */
      {4, {10, 1}, 0, {10, 1}, good},   /* the other way round */
      {0, {10, 1}, 3, {10, 1}, bad},    /* columns 3 to 6 */
      {0, {10, 1}, 24, {-10, 1}, good}, /* columns, rows backwards */
      {0, {10, 1}, 7, {10, -1}, good},  /* columns 7 to 4 */
      {0, {10, 1}, 6, {10, -1}, bad},   /* columns 6 to 3 */
      {8, {10, 1}, 2, {10, 1}, good},   /* columns 8 to 1 of the next row, 2 to 5 */
      {8, {10, 1}, 1, {10, 1}, bad},    /* 1 to 4 */
      {0, {20, 2}, 1, {20, 2}, good},   /* even and odd columns */
      {0, {20, 2}, 21, {20, 2}, good},  /* the same, a row on */
      {0, {20, 2}, 2, {20, 2}, bad},    /* even and even */
      {0, {20, 1}, 10, {20, 1}, good},  /* every other row */
      {5, {0, 1}, 9, {4, 1}, good},     /* a broadcast input */
      {9, {0, 1}, 9, {4, 1}, bad},
  };
  const int64_t shape[] = {3, 4};
  for (uint32_t i = 0; i < sizeof meetings / sizeof meetings[0]; i++) {
    const meeting_t *m = &meetings[i];
    wia_tensor_t base = core_tensor(context, 100, 0);
    wia_tensor_t in = view_of(base, m->in_offset, 2, shape, m->in_strides);
    wia_tensor_t out = view_of(base, m->out_offset, 2, shape, m->out_strides);
    const bool fine = CHECK_STATUS(wia_add(context, in, in, out, NULL), m->expected);
    if (m->expected) CHECK_MESSAGE("overlaps");
    if (!fine) printf("  meeting %u\n", i);
    core_destroy(in);
    core_destroy(out);
    core_destroy(base);
  }
}

/* Raw views of other dtypes over the same bytes. */
static void test_other_dtypes(void) {
  void *memory = NULL;
  const int64_t shape[] = {4};
  CHECK_STATUS(wia_malloc(&memory, 64, core_id(CORE_PLAIN)), WIA_STATUS_OK);
  const uint64_t base = (uint64_t)(uintptr_t)memory;
  const wia_view_t in = {base, shape, NULL, WIA_INT64, 1},
                   out = {base, shape, NULL, WIA_FLOAT32, 1};
  const wia_view_t behind = {base + 32, shape, NULL, WIA_FLOAT32, 1};
  const int32_t dtype = WIA_FLOAT32;
  const wia_attribute_t attribute = {
      .name = "dtype", .data = &dtype, .type = WIA_ATTRIBUTE_DTYPE, .count = 1};
  CHECK_STATUS(wia_execute_views(context, WIA_OP_CAST, &in, 1, &out, 1, &attribute, 1, NULL),
               WIA_STATUS_INVALID_ARGUMENT);
  CHECK_MESSAGE("overlaps");
  CHECK_STATUS(wia_execute_views(context, WIA_OP_CAST, &in, 1, &behind, 1, &attribute, 1, NULL),
               WIA_STATUS_UNIMPLEMENTED); /* the driver has no cast, and was asked */
  CHECK_STATUS(wia_free(memory), WIA_STATUS_OK);
}

int main(void) {
  core_start();
  context = core_context(CORE_PLAIN);
  test_same_layout();
  test_many_layouts();
  test_outputs();
  test_in_place();
  test_not_in_place();
  test_meetings();
  test_other_dtypes();
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_CLEAN();
  return CHECK_DONE();
}
