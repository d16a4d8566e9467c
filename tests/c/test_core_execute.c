/* Operations by number: attributes, raw views, matrix products on plain arrays, and what shapes and
 * dtypes are refused before anything runs (the shape half of scenario 25). */
#include "core_driver.h"

static wia_context_t *context;
static uint32_t device;
static const wia_status_t bad = WIA_STATUS_INVALID_ARGUMENT, good = WIA_STATUS_OK;

static wia_tensor_t typed(wia_dtype_t dtype, uint32_t rank, const int64_t *shape) {
  wia_tensor_t tensor = NULL;
  CHECK_STATUS(wia_allocate_tensor(context, shape, rank, dtype, &tensor), WIA_STATUS_OK);
  return tensor;
}

/* -- counts, shapes, dtypes ---------------------------------------------------------------------- */

static void test_mismatches(void) {
  wia_tensor_t a = core_tensor(context, 4, 0), out = core_tensor(context, 4, 7);
  wia_tensor_t longer = core_tensor(context, 5, 0),
               matrix = core_empty(context, 2, (int64_t[]){4, 4});
  wia_tensor_t ints = typed(WIA_INT32, 1, (int64_t[]){4}),
               bools = typed(WIA_BOOL, 1, (int64_t[]){4});
  const uint32_t prepares = core.prepares, launches = core.launches;
  CHECK_STATUS(wia_add(context, a, longer, out, NULL), bad);
  CHECK_MESSAGE("add");
  CHECK_MESSAGE("[5]");
  CHECK_STATUS(wia_add(context, a, a, longer, NULL), bad);
  CHECK_MESSAGE("output has shape [5]; expected [4]");
  CHECK_STATUS(wia_add(context, a, a, matrix, NULL), bad);
  CHECK_STATUS(wia_add(context, a, matrix, a, NULL), bad);
  CHECK_STATUS(wia_add(context, a, ints, out, NULL), bad);
  CHECK_MESSAGE("int32");
  CHECK_STATUS(wia_add(context, a, a, ints, NULL), bad);
  CHECK_MESSAGE("output is int32; expected float32");
  CHECK_STATUS(wia_add(context, bools, bools, bools, NULL), bad);
  CHECK_MESSAGE("bool");
  CHECK_STATUS(wia_matmul(context, matrix, longer, out, NULL, NULL), bad);
  CHECK_STATUS(wia_reshape(context, a, longer, NULL), bad);
  CHECK(core.prepares == prepares && core.launches == launches);
  CHECK(core_has(out, 7, 1));
  const wia_tensor_t all[] = {a, out, longer, matrix, ints, bools};
  for (uint32_t i = 0; i < 6; i++) core_destroy(all[i]);
}

static void test_counts(void) {
  wia_tensor_t a = core_tensor(context, 4, 0), out = core_tensor(context, 4, 7);
  const wia_tensor_t in[] = {a, a, a, a};
  const uint32_t counts[] = {0, 1, 3, 32, 33, UINT32_MAX};
  for (uint32_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    CHECK_STATUS(wia_execute(context, WIA_OP_ADD, in, counts[i], &out, 1, NULL, 0, NULL), bad);
    if (counts[i] != 1)
      CHECK_STATUS(wia_execute(context, WIA_OP_ADD, in, 2, &out, counts[i], NULL, 0, NULL), bad);
  }
  CHECK_STATUS(wia_execute(context, WIA_OP_ADD, NULL, 2, &out, 1, NULL, 0, NULL), bad);
  CHECK_STATUS(wia_execute(context, WIA_OP_ADD, in, 2, NULL, 1, NULL, 0, NULL), bad);
  CHECK_STATUS(wia_execute(context, WIA_OP_ADD, in, 2, &out, 1, NULL, 1, NULL), bad);
  const wia_op_t ops[] = {-1, 0, 9999, INT32_MAX, INT32_MIN};
  for (uint32_t i = 0; i < 5; i++) {
    wia_op_info_t info = WIA_OP_INFO_INIT;
    uint64_t dtypes = 77;
    wia_shape_t shapes[2] = {{WIA_FLOAT32, 0, {0}}};
    CHECK_STATUS(wia_execute(context, ops[i], in, 2, &out, 1, NULL, 0, NULL), bad);
    CHECK_STATUS(wia_get_op_info(ops[i], &info), bad);
    CHECK_STATUS(wia_get_device_support(core_id(device), ops[i], &dtypes), bad);
    CHECK_STATUS(wia_infer_outputs(ops[i], shapes, 2, NULL, 0, shapes, 1), bad);
    CHECK(info.name == NULL && dtypes == 77);
  }
  CHECK(core_has(out, 7, 1));
  core_destroy(a);
  core_destroy(out);
}

/* -- attributes ---------------------------------------------------------------------------------- */

static wia_status_t multiply(wia_tensor_t a, wia_tensor_t c, const wia_attribute_t *attributes,
                             uint32_t count) {
  const wia_tensor_t in[] = {a, a};
  return wia_execute(context, WIA_OP_MATMUL, in, 2, &c, 1, attributes, count, NULL);
}

static void test_attributes(void) {
  const int64_t shape[] = {2, 2}, one = 1, three = 3, wild = 2;
  const double half = 0.5;
  wia_tensor_t a = core_empty(context, 2, shape), c = core_empty(context, 2, shape);
  float host[4];
  CHECK_STATUS(wia_write_tensor(a, (const float[]){1, 2, 3, 4}, 16, NULL), WIA_STATUS_OK);
  const wia_attribute_t transpose = {
      .name = "transpose_b", .data = &one, .type = WIA_ATTRIBUTE_INT64, .count = 1};
  const wia_attribute_t alpha = {
      .name = "alpha", .data = &half, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1};
  const wia_attribute_t both[] = {alpha, transpose};
  CHECK_STATUS(multiply(a, c, both, 2), good);
  CHECK_STATUS(wia_read_tensor(c, host, sizeof host, NULL), good);
  CHECK(host[0] == 2.5f && host[1] == 5.5f && host[2] == 5.5f && host[3] == 12.5f);
  wia_attribute_t whole = alpha; /* a whole number for a scalar is one, too */
  whole.data = &three;
  whole.type = WIA_ATTRIBUTE_INT64;
  CHECK_STATUS(multiply(a, c, &whole, 1), good);
  CHECK_STATUS(wia_read_tensor(c, host, sizeof host, NULL), good);
  CHECK(host[0] == 21 && host[3] == 66);

  wia_attribute_t wrong = transpose;
  wrong.name = "transpose";
  CHECK_STATUS(multiply(a, c, &wrong, 1), bad);
  CHECK_MESSAGE("transpose_a");
  wrong.name = "";
  CHECK_STATUS(multiply(a, c, &wrong, 1), bad);
  wrong.name = NULL;
  CHECK_STATUS(multiply(a, c, &wrong, 1), bad);
  wrong = transpose;
  wrong.data = &wild;
  CHECK_STATUS(multiply(a, c, &wrong, 1), bad);
  CHECK_MESSAGE("2");
  const int32_t types[] = {
      -1,        0,        WIA_ATTRIBUTE_FLOAT64, WIA_ATTRIBUTE_STRING, WIA_ATTRIBUTE_DTYPE, 5,
      INT32_MAX, INT32_MIN};
  for (uint32_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    wrong = transpose;
    wrong.type = types[i];
    CHECK_STATUS(multiply(a, c, &wrong, 1), bad);
    CHECK_MESSAGE("transpose_b");
  }
  const uint32_t counts[] = {0, 2, 8, UINT32_MAX};
  for (uint32_t i = 0; i < 4; i++) {
    wrong = transpose;
    wrong.count = counts[i];
    CHECK_STATUS(multiply(a, c, &wrong, 1), bad);
    wrong = alpha;
    wrong.count = counts[i];
    CHECK_STATUS(multiply(a, c, &wrong, 1), bad);
  }
  wrong = transpose;
  wrong.data = NULL; /* only in a group */
  CHECK_STATUS(multiply(a, c, &wrong, 1), bad);
  const wia_attribute_t twice[] = {alpha, alpha};
  CHECK_STATUS(multiply(a, c, twice, 2), bad);
  CHECK_MESSAGE("twice");
  core_destroy(a);
  core_destroy(c);
}

/* -- raw views ----------------------------------------------------------------------------------- */

static void test_views(void) {
  void *memory = core_allocate(256, device);
  const uint64_t base = (uint64_t)(uintptr_t)memory;
  float host[64];
  for (uint32_t i = 0; i < 64; i++) host[i] = (float)i;
  CHECK_STATUS(wia_copy_host_to_device(memory, host, sizeof host, NULL), good);
  const int64_t shape[] = {2, 3}, rows[] = {8, 1}, turned[] = {-8, -2};
  const wia_view_t in[] = {{base + 4, shape, rows, WIA_FLOAT32, 2},
                           {base + 15 * 4, shape, turned, WIA_FLOAT32, 2}};
  const wia_view_t out = {base + 32 * 4, shape, NULL, WIA_FLOAT32, 2};
  CHECK_STATUS(wia_execute_views(context, WIA_OP_SUB, in, 2, &out, 1, NULL, 0, NULL), good);
  CHECK_STATUS(wia_copy_device_to_host(host, memory, sizeof host, NULL), good);
  for (uint32_t i = 0; i < 64; i++) {
    float expected = (float)i;
    if (i >= 32 && i < 38) {
      const float row = (float)((i - 32) / 3), column = (float)((i - 32) % 3);
      expected = 1 + 8 * row + column - (15 - 8 * row - 2 * column);
    }
    CHECK(host[i] == expected);
  }
  wia_view_t wrong = out;
  const uint64_t addresses[] = {0,          1,        base - 4,   base + 256,
                                base + 240, base + 1, UINT64_MAX, UINT64_MAX - 3};
  for (uint32_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
    wrong.address = addresses[i];
    CHECK_STATUS(wia_execute_views(context, WIA_OP_ADD, in, 2, &wrong, 1, NULL, 0, NULL), bad);
    const wia_view_t inputs[] = {wrong, in[1]};
    CHECK_STATUS(wia_execute_views(context, WIA_OP_ADD, inputs, 2, &out, 1, NULL, 0, NULL), bad);
  }
  wrong = out;
  wrong.shape = NULL;
  CHECK_STATUS(wia_execute_views(context, WIA_OP_ADD, in, 2, &wrong, 1, NULL, 0, NULL), bad);
  wrong = out;
  wrong.rank = 9;
  CHECK_STATUS(wia_execute_views(context, WIA_OP_ADD, in, 2, &wrong, 1, NULL, 0, NULL), bad);
  const wia_dtype_t dtypes[] = {0, -1, WIA_DTYPE_COUNT, INT32_MAX};
  for (uint32_t i = 0; i < 4; i++) {
    wrong = out;
    wrong.dtype = dtypes[i];
    CHECK_STATUS(wia_execute_views(context, WIA_OP_ADD, in, 2, &wrong, 1, NULL, 0, NULL), bad);
    const wia_view_t inputs[] = {in[0], wrong};
    CHECK_STATUS(wia_execute_views(context, WIA_OP_ADD, inputs, 2, &out, 1, NULL, 0, NULL), bad);
  }
  CHECK_STATUS(wia_execute_views(context, WIA_OP_ADD, NULL, 2, &out, 1, NULL, 0, NULL), bad);
  CHECK_STATUS(wia_execute_views(context, WIA_OP_ADD, in, 2, NULL, 1, NULL, 0, NULL), bad);
  /* on a stream: the memory goes meanwhile */
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), good);
  core_close_gate();
  CHECK_STATUS(wia_execute_views(context, WIA_OP_RELU, in, 1, &out, 1, NULL, 0, stream), good);
  CHECK(core_await_gate(1));
  CHECK_STATUS(wia_free(memory), good);
  CHECK_STATUS(wia_execute_views(context, WIA_OP_RELU, in, 1, &out, 1, NULL, 0, stream), bad);
  core_open_gate();
  CHECK_STATUS(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE), good);
  CHECK_STATUS(wia_destroy_stream(stream), good);
}

/* -- matrix products on plain arrays ------------------------------------------------------------- */

enum { PLACES = 1000 };

typedef struct product_t {
  int64_t m, n, k, batch, lda, ldb, ldc, stride_a, stride_b, stride_c;
  uint32_t transpose_a, transpose_b;
  double alpha, beta;
} product_t;

static void check_product(const product_t *p, wia_stream_t *stream) {
  float a[PLACES], b[PLACES], c[PLACES], got[PLACES];
  for (uint32_t i = 0; i < PLACES; i++) {
    a[i] = (float)(i * 7 % 11) - 5;
    b[i] = (float)(i * 5 % 13) - 6;
    c[i] = (float)(i % 3);
  }
  void *da = core_allocate(sizeof a, device), *db = core_allocate(sizeof b, device),
       *dc = core_allocate(sizeof c, device);
  CHECK_STATUS(wia_copy_host_to_device(da, a, sizeof a, NULL), good);
  CHECK_STATUS(wia_copy_host_to_device(db, b, sizeof b, NULL), good);
  CHECK_STATUS(wia_copy_host_to_device(dc, c, sizeof c, NULL), good);
  wia_matmul_dims_t dims = WIA_MATMUL_DIMS_INIT;
  dims.dtype = WIA_FLOAT32;
  dims.m = p->m, dims.n = p->n, dims.k = p->k, dims.batch = p->batch;
  dims.lda = p->lda, dims.ldb = p->ldb, dims.ldc = p->ldc;
  dims.stride_a = p->stride_a, dims.stride_b = p->stride_b, dims.stride_c = p->stride_c;
  dims.transpose_a = p->transpose_a, dims.transpose_b = p->transpose_b;
  dims.alpha = p->alpha, dims.beta = p->beta;
  CHECK_STATUS(wia_matmul_strided(context, da, db, dc, &dims, stream), good);
  CHECK_STATUS(wia_copy_device_to_host(got, dc, sizeof got, NULL), good);
  const int64_t lda = p->lda ? p->lda : (p->transpose_a ? p->m : p->k);
  const int64_t ldb = p->ldb ? p->ldb : (p->transpose_b ? p->k : p->n);
  const int64_t ldc = p->ldc ? p->ldc : p->n, step = p->stride_c ? p->stride_c : p->m * ldc;
  for (int64_t g = 0; g < (p->batch ? p->batch : 1); g++) {
    for (int64_t i = 0; i < p->m; i++) {
      for (int64_t j = 0; j < p->n; j++) {
        double sum = 0;
        for (int64_t l = 0; l < p->k; l++)
          sum += (double)a[g * p->stride_a + (p->transpose_a ? l * lda + i : i * lda + l)] *
                 (double)b[g * p->stride_b + (p->transpose_b ? j * ldb + l : l * ldb + j)];
        float *at = &c[g * step + i * ldc + j];
        *at = (float)(p->alpha * sum + (p->beta == 0 ? 0 : p->beta * (double)*at));
      }
    }
  }
  CHECK(memcmp(got, c, sizeof c) == 0); /* also what lies between and behind */
  CHECK_STATUS(wia_free(da), good);
  CHECK_STATUS(wia_free(db), good);
  CHECK_STATUS(wia_free(dc), good);
}

static void test_products(void) {
  const product_t products[] = {
      {3, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0},     {3, 4, 5, 1, 7, 9, 11, 0, 0, 0, 0, 0, 2, 0.5},
      {3, 4, 5, 0, 8, 8, 8, 0, 0, 0, 1, 0, 1, 1},     {3, 4, 5, 0, 8, 8, 8, 0, 0, 0, 0, 1, 1, 1},
      {3, 4, 5, 0, 0, 0, 0, 0, 0, 0, 1, 1, -1, 0},    {3, 4, 5, 6, 0, 0, 0, 15, 20, 0, 0, 0, 1, 0},
      {3, 4, 5, 6, 0, 0, 0, 0, 20, 0, 0, 0, 1, 0}, /* one a for all */
      {3, 4, 5, 6, 6, 5, 7, 20, 0, 30, 1, 1, 0.5, 2}, {3, 4, 5, 6, 5, 7, 6, 30, 40, 50, 0, 0, 1, 0},
      {1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0},     {1, 7, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0},
      {7, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0},     {3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0.5},
      {0, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0},
  };
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), good);
  for (uint32_t i = 0; i < sizeof products / sizeof products[0]; i++)
    check_product(&products[i], i % 2 ? stream : NULL);
  CHECK_STATUS(wia_destroy_stream(stream), good);
}

static void test_bad_products(void) {
  void *memory = core_allocate(1000, device);
  char *c = (char *)(uintptr_t)((uint64_t)(uintptr_t)memory + 500);
  wia_matmul_dims_t base = WIA_MATMUL_DIMS_INIT;
  base.dtype = WIA_FLOAT32;
  base.m = base.n = base.k = 3;
  CHECK_STATUS(wia_matmul_strided(context, memory, memory, c, &base, NULL), good);
  int64_t *const fields[] = {&base.m,   &base.n,   &base.k,        &base.batch,    &base.lda,
                             &base.ldb, &base.ldc, &base.stride_a, &base.stride_b, &base.stride_c};
  const int64_t values[] = {-1, INT64_MIN, INT64_MAX, INT64_C(1) << 62, INT64_C(1) << 32, 100000};
  for (uint32_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    const int64_t before = *fields[i];
    for (uint32_t j = 0; j < sizeof values / sizeof values[0]; j++) {
      base.batch = 2;
      *fields[i] = values[j];
      if (!CHECK_STATUS(wia_matmul_strided(context, memory, memory, c, &base, NULL), bad))
        printf("  field %u, value %lld\n", i, (long long)values[j]);
      base.batch = 0;
    }
    *fields[i] = before;
  }
  base.lda = 2;
  CHECK_STATUS(wia_matmul_strided(context, memory, memory, c, &base, NULL), bad);
  CHECK_MESSAGE("lda");
  base.lda = 0;
  base.batch = 2;
  base.stride_c = 5; /* matrices of c would overlap */
  CHECK_STATUS(wia_matmul_strided(context, memory, memory, c, &base, NULL), bad);
  base.batch = 0;
  base.stride_c = 0;
  CHECK_STATUS(wia_matmul_strided(context, NULL, memory, c, &base, NULL), bad);
  CHECK_STATUS(wia_matmul_strided(context, memory, NULL, c, &base, NULL), bad);
  CHECK_STATUS(wia_matmul_strided(context, memory, memory, NULL, &base, NULL), bad);
  CHECK_STATUS(wia_matmul_strided(context, memory, memory, c, NULL, NULL), bad);
  CHECK_STATUS(wia_matmul_strided(context, memory, memory, memory, &base, NULL), good);
  CHECK_STATUS(wia_matmul_strided(context, memory, c, (char *)memory + 4, &base, NULL), bad);
  CHECK_MESSAGE("overlaps");
  base.dtype = 0;
  CHECK_STATUS(wia_matmul_strided(context, memory, memory, c, &base, NULL), bad);
  base.dtype = WIA_BOOL;
  CHECK_STATUS(wia_matmul_strided(context, memory, memory, c, &base, NULL), bad);
  CHECK_STATUS(wia_free(memory), good);
}

int main(void) {
  const uint32_t devices[] = {CORE_PLAIN, CORE_OPAQUE};
  core_start();
  for (uint32_t i = 0; i < 2; i++) {
    device = devices[i];
    context = core_context(device);
    test_mismatches();
    test_counts();
    test_attributes();
    test_views();
    test_products();
    test_bad_products();
    CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  }
  CHECK_CLEAN();
  return CHECK_DONE();
}
