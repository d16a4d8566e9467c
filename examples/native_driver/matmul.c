/* matmul.c: matmul, addmm and linear: c = alpha * a b + beta * d.
 *
 * d is what is added: c itself, a tensor that broadcasts, a bias, or nothing. A group of operations
 * (fuse.c) may end with a row that is added then, and with relu. The product is made
 * in tiles that fit into the registers. Every path adds the products of an element in the order of
 * k, so that strides and sizes don't change the result by a bit. */
#include <string.h>

#include "sample.h"

enum { TILE_M = 4, TILE_N = 8 };

typedef struct matmul_t {
  int64_t m, n, k;
  int64_t a_m, a_k, b_k, b_n, c_m, c_n, d_m, d_n; /* elements from one to the next along m, n, k */
  uint32_t a, b, c, d;                            /* which operand it is */
  uint32_t adds;                                  /* 0: there is no d */
  uint32_t row, adds_row, activates;              /* of a group; the row's operand */
  int64_t row_n;
  sample_scalar_t alpha, beta;
  sample_walk_t batch; /* over a, b, c, d: one position per matrix product */
} matmul_t;

typedef struct job_t {
  const matmul_t *matmul;
  double alpha, beta;
  const float *row; /* NULL: none is added */
} job_t;

/* Four floats, which is what every processor of the last twenty years adds at once. Compilers that
 * were left to find vectors in a loop kept the sums in memory. */
typedef float vector_t __attribute__((vector_size(4 * sizeof(float))));

static inline vector_t load(const float *b, int64_t b_n) {
  if (b_n != 1) return (vector_t){b[0], b[b_n], b[2 * b_n], b[3 * b_n]};
  vector_t vector;
  memcpy(&vector, b, sizeof vector); /* b is aligned to a float only */
  return vector;
}

/* Inlined with a b_n of 1 it loads whole vectors. */
static inline void multiply_tile(const matmul_t *s, const float *a, const float *b, int64_t b_n,
                                 float sum[TILE_M][TILE_N]) {
  vector_t left[TILE_M] = {{0}}, right[TILE_M] = {{0}};
  for (int64_t p = 0; p < s->k; p++) {
    const vector_t b_left = load(b, b_n), b_right = load(b + 4 * b_n, b_n);
    for (int i = 0; i < TILE_M; i++) {
      left[i] += a[i * s->a_m] * b_left;
      right[i] += a[i * s->a_m] * b_right;
    }
    a += s->a_k;
    b += s->b_k;
  }
  for (int i = 0; i < TILE_M; i++) {
    memcpy(sum[i], &left[i], sizeof left[i]);
    memcpy(sum[i] + 4, &right[i], sizeof right[i]);
  }
}

static void multiply_edge(const matmul_t *s, const float *a, const float *b, int64_t rows,
                          int64_t columns, float sum[TILE_M][TILE_N]) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      float total = 0;
      for (int64_t p = 0; p < s->k; p++)
        total += a[i * s->a_m + p * s->a_k] * b[p * s->b_k + j * s->b_n];
      sum[i][j] = total;
    }
}

/* What a group does behind the product, rounded as its operations would round. */
static inline float end_value(const job_t *job, float value, int64_t column) {
  if (job->row != NULL) value += job->row[column * job->matmul->row_n];
  return job->matmul->activates && value <= 0 ? 0 : value; /* as sample_prepare_relu() */
}

static void store_tile(const job_t *job, float sum[TILE_M][TILE_N], int64_t rows, int64_t columns,
                       int64_t first_column, float *c, const float *d) {
  const matmul_t *s = job->matmul;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      double value = job->alpha * sum[i][j];
      /* With beta 0, d isn't read: it may hold anything, NaN too. */
      if (job->beta != 0) value += job->beta * d[i * s->d_m + j * s->d_n];
      c[i * s->c_m + j * s->c_n] = end_value(job, (float)value, first_column + j);
    }
}

static void multiply(const job_t *job, const float *a, const float *b, float *c, const float *d) {
  const matmul_t *s = job->matmul;
  for (int64_t i = 0; i < s->m; i += TILE_M)
    for (int64_t j = 0; j < s->n; j += TILE_N) {
      float sum[TILE_M][TILE_N];
      const int64_t rows = s->m - i < TILE_M ? s->m - i : TILE_M;
      const int64_t columns = s->n - j < TILE_N ? s->n - j : TILE_N;
      const float *tile_a = a + i * s->a_m, *tile_b = b + j * s->b_n;
      if (rows < TILE_M || columns < TILE_N)
        multiply_edge(s, tile_a, tile_b, rows, columns, sum);
      else if (s->b_n == 1)
        multiply_tile(s, tile_a, tile_b, 1, sum);
      else
        multiply_tile(s, tile_a, tile_b, s->b_n, sum);
      store_tile(job, sum, rows, columns, j, c + i * s->c_m + j * s->c_n,
                 job->beta != 0 ? d + i * s->d_m + j * s->d_n : NULL);
    }
}

static job_t make_job(const matmul_t *s, const wia_kernel_args_t *args) {
  return (job_t){s, sample_scalar(s->alpha, args), s->adds ? sample_scalar(s->beta, args) : 0,
                 s->adds_row ? (const float *)sample_pointer(args, s->row) : NULL};
}

static void multiply_row(const void *context, char *const *p, const int64_t *s, int64_t count) {
  const job_t *job = context;
  for (int64_t i = 0; i < count; i++)
    multiply(job, (const float *)(p[0] + i * s[0]), (const float *)(p[1] + i * s[1]),
             (float *)(p[2] + i * s[2]),
             job->matmul->adds ? (const float *)(p[3] + i * s[3]) : NULL);
}

static wia_status_t run_general(void *state, const wia_kernel_args_t *args) {
  const matmul_t *s = state;
  const job_t job = make_job(s, args);
  char *pointers[] = {sample_pointer(args, s->a), sample_pointer(args, s->b),
                      sample_pointer(args, s->c), sample_pointer(args, s->d)};
  sample_run_walk(&s->batch, pointers, multiply_row, &job);
  return WIA_STATUS_OK;
}

/* One product, made of whole tiles with rows of b and c in one piece. */
static wia_status_t run_tiles(void *state, const wia_kernel_args_t *args) {
  const matmul_t *s = state;
  const job_t job = make_job(s, args);
  if (job.alpha != 1 || job.beta != 0) return run_general(state, args);
  const float *a = (const float *)sample_pointer(args, s->a);
  const float *b = (const float *)sample_pointer(args, s->b);
  float *c = (float *)sample_pointer(args, s->c);
  for (int64_t i = 0; i < s->m; i += TILE_M)
    for (int64_t j = 0; j < s->n; j += TILE_N) {
      float sum[TILE_M][TILE_N];
      multiply_tile(s, a + i * s->a_m, b + j, 1, sum);
      for (int y = 0; y < TILE_M; y++)
        for (int x = 0; x < TILE_N; x++)
          c[(i + y) * s->c_m + j + x] = end_value(&job, sum[y][x], j + x);
    }
  return WIA_STATUS_OK;
}

static wia_status_t finish(sample_node_t *node, matmul_t *s, wia_driver_kernel_t *out_kernel) {
  sample_merge_walk(&s->batch);
  const bool tiles =
      s->batch.rank == 0 && s->b_n == 1 && s->c_n == 1 && s->m % TILE_M == 0 && s->n % TILE_N == 0;
  /* Not in place: elements of a are read again after the first tile of c was written. */
  return sample_finish(node, tiles ? run_tiles : run_general, SAMPLE_PROMPT, s, sizeof *s,
                       out_kernel);
}

static matmul_t read_matmul(sample_node_t *node) {
  const wia_tensor_layout_t *a = node->inputs[0], *b = node->inputs[1], *c = node->output;
  /* The dimensions of the matrices. A 1-D operand is one row or one column, which c then lacks. */
  const bool row = a->rank == 1, column = b->rank == 1;
  const uint32_t swap_a = sample_get_int(node, "transpose_a", 0) != 0;
  const uint32_t swap_b = sample_get_int(node, "transpose_b", 0) != 0;
  const uint32_t a_k = row ? 0 : a->rank - 1 - swap_a, a_m = a->rank - 2 + swap_a;
  const uint32_t b_k = column ? 0 : b->rank - 2 + swap_b, b_n = b->rank - 1 - swap_b;
  const uint32_t batch_rank = c->rank - !row - !column;
  matmul_t s = {
      .m = row ? 1 : a->shape[a_m],
      .n = column ? 1 : b->shape[b_n],
      .k = a->shape[a_k],
      .a_m = row ? 0 : a->strides[a_m],
      .a_k = a->strides[a_k],
      .b_k = b->strides[b_k],
      .b_n = column ? 0 : b->strides[b_n],
      .c_m = row ? 0 : c->strides[batch_rank],
      .c_n = column ? 0 : c->strides[c->rank - 1],
      .a = 0,
      .b = 1,
      .c = 2,
      .d = 2,
      .adds = 1,
      .alpha = sample_get_scalar(node, "alpha", 1),
      .beta = sample_get_scalar(node, "beta", 0),
  };
  s.d_m = s.c_m;
  s.d_n = s.c_n;
  sample_start_walk(&s.batch, c->shape, batch_rank);
  sample_add_leading(&s.batch, a, row ? 0 : a->rank - 2);
  sample_add_leading(&s.batch, b, column ? 0 : b->rank - 2);
  sample_add_leading(&s.batch, c, batch_rank);
  sample_add_leading(&s.batch, c, batch_rank);
  return s;
}

wia_status_t sample_prepare_matmul(sample_node_t *node, wia_driver_kernel_t *out_kernel) {
  matmul_t s = read_matmul(node);
  return finish(node, &s, out_kernel);
}

wia_status_t sample_prepare_layer(sample_node_t *node, const sample_layer_t *layer,
                                  wia_driver_kernel_t *out_kernel) {
  matmul_t s = read_matmul(node);
  s.a = layer->a;
  s.b = layer->b;
  s.c = s.d = layer->output;
  s.adds = 0; /* beta is 0: the product lies between nodes, so there is nothing to be added to */
  s.activates = layer->activates;
  if (layer->bias != NULL) {
    const wia_tensor_layout_t *bias = layer->bias;
    s.adds_row = 1;
    s.row = layer->row;
    s.row_n =
        bias->rank == 0 || bias->shape[bias->rank - 1] == 1 ? 0 : bias->strides[bias->rank - 1];
  }
  return finish(node, &s, out_kernel);
}

wia_status_t sample_prepare_addmm(sample_node_t *node, wia_driver_kernel_t *out_kernel) {
  const wia_tensor_layout_t *d = node->inputs[0], *a = node->inputs[1], *b = node->inputs[2];
  const wia_tensor_layout_t *c = node->output;
  matmul_t s = {
      .m = a->shape[0],
      .n = b->shape[1],
      .k = a->shape[1],
      .a_m = a->strides[0],
      .a_k = a->strides[1],
      .b_k = b->strides[0],
      .b_n = b->strides[1],
      .c_m = c->strides[0],
      .c_n = c->strides[1],
      .d_m = d->rank < 2 || d->shape[0] == 1 ? 0 : d->strides[0],
      .d_n = d->rank < 1 || d->shape[d->rank - 1] == 1 ? 0 : d->strides[d->rank - 1],
      .a = 1,
      .b = 2,
      .c = 3,
      .d = 0,
      .adds = 1,
      .alpha = sample_get_scalar(node, "alpha", 1),
      .beta = sample_get_scalar(node, "beta", 1),
  };
  sample_start_walk(&s.batch, NULL, 0);
  s.batch.operand_count = 4;
  return finish(node, &s, out_kernel);
}

wia_status_t sample_prepare_linear(sample_node_t *node, wia_driver_kernel_t *out_kernel) {
  const wia_tensor_layout_t *input = node->inputs[0], *weight = node->inputs[1];
  const wia_tensor_layout_t *bias = node->inputs[2], *output = node->output;
  const uint32_t last = input->rank - 1, batch_rank = last == 0 ? 0 : last - 1;
  matmul_t s = {
      .m = last == 0 ? 1 : input->shape[last - 1],
      .n = weight->shape[0],
      .k = weight->shape[1],
      .a_m = last == 0 ? 0 : input->strides[last - 1],
      .a_k = input->strides[last],
      .b_k = weight->strides[1],
      .b_n = weight->strides[0],
      .c_m = last == 0 ? 0 : output->strides[last - 1],
      .c_n = output->strides[last],
      .d_n = bias == NULL ? 0 : bias->strides[0],
      .a = 0,
      .b = 1,
      .c = node->input_count,
      .d = 2,
      .adds = bias != NULL,
      .alpha = {.value = 1, .index = -1},
      .beta = {.value = 1, .index = -1},
  };
  sample_start_walk(&s.batch, output->shape, batch_rank);
  sample_add_leading(&s.batch, input, batch_rank);
  sample_add_leading(&s.batch, weight, 0);
  sample_add_leading(&s.batch, output, batch_rank);
  sample_add_leading(&s.batch, output, 0); /* the bias is the same for all */
  return finish(node, &s, out_kernel);
}
