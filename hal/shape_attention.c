/* shape_attention.c: rules of attention, of positions and of the cache. */
#include <inttypes.h>

#include "shape.h"

/* An operand of attention seen as [b, heads, length, width], whatever its rank. */
typedef struct heads_t {
  int64_t batch, heads, length, width;
} heads_t;

static wia_status_t read_heads(const wia__infer_t *call, uint32_t index, int64_t heads,
                               const char *name, heads_t *out_heads) {
  const wia_shape_t *input = &call->inputs[index];
  const int64_t *shape = input->shape;
  if (input->rank == 4) {
    *out_heads = (heads_t){shape[0], shape[1], shape[2], shape[3]};
    if (heads == 0 || heads == shape[1]) return WIA_STATUS_OK;
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: %s is %" PRId64 ", and %s has %" PRId64
                     " heads (its dimension 1); expected as many, or 0",
                     call->op->name, name, heads, call->op->operand_names[index], shape[1]);
  }
  if (heads < 1 || shape[2] % heads)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: %s is %" PRId64 " and the last dimension of %s has size %" PRId64
                     "; expected a number from 1 that divides it",
                     call->op->name, name, heads, call->op->operand_names[index], shape[2]);
  *out_heads = (heads_t){shape[0], heads, shape[1], shape[2] / heads};
  return WIA_STATUS_OK;
}

/* Queries, keys and values that go together. */
static wia_status_t read_operands(const wia__infer_t *call, const char *heads, const char *kv_heads,
                                  heads_t out[3]) {
  const uint32_t rank = call->inputs[0].rank;
  wia_status_t status = wia__expect_rank(call, 0, 3, 4);
  for (uint32_t i = 1; !status && i < 3; i++) status = wia__expect_rank(call, i, rank, rank);
  for (uint32_t i = 0; !status && i < 3; i++) {
    const char *name = i ? kv_heads : heads;
    status = read_heads(call, i, wia__attribute(call, name), name, &out[i]);
  }
  if (status) return status;
  const heads_t *q = &out[0], *k = &out[1], *v = &out[2];
  if (q->batch == k->batch && k->batch == v->batch && k->heads == v->heads &&
      k->length == v->length && q->width == k->width &&
      (k->heads ? q->heads % k->heads : q->heads) == 0)
    return WIA_STATUS_OK;
  char a[WIA__SHAPE_TEXT], b[WIA__SHAPE_TEXT], c[WIA__SHAPE_TEXT];
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: queries have the shape %s with %" PRId64
                   " heads, keys %s and values %s with "
                   "%" PRId64 "; expected one batch size, as many keys as values, heads as wide in "
                   "keys as in queries, and a number of them that divides that of queries",
                   call->op->name, wia__format_shape(a, call->inputs[0].shape, rank), q->heads,
                   wia__format_shape(b, call->inputs[1].shape, rank),
                   wia__format_shape(c, call->inputs[2].shape, rank), k->heads);
}

/* What is kept of the past, at the inputs 4 and 5; 0 keys when it is left out. */
static wia_status_t read_past(const wia__infer_t *call, const heads_t operands[3],
                              int64_t *out_length) {
  *out_length = 0;
  if (wia__has_input(call, 4) != wia__has_input(call, 5))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: only one of past_keys and past_values is given; expected both or none",
                     call->op->name);
  if (!wia__has_input(call, 4)) return WIA_STATUS_OK;
  wia_status_t status = wia__expect_rank(call, 4, 4, 4);
  if (status) return status;
  *out_length = call->inputs[4].shape[2];
  for (uint32_t i = 0; !status && i < 2; i++) {
    const heads_t *operand = &operands[1 + i];
    const int64_t shape[] = {operand->batch, operand->heads, *out_length, operand->width};
    status = wia__expect_shape(call, 4 + i, shape, 4);
  }
  return status;
}

/* That a mask broadcasts to the scores, but for a shorter last dimension. */
static wia_status_t check_mask(const wia__infer_t *call, const int64_t scores[4]) {
  if (!wia__has_input(call, 3)) return WIA_STATUS_OK;
  const wia_shape_t *mask = &call->inputs[3];
  bool fits = mask->rank >= 1 && mask->rank <= 4 && mask->shape[mask->rank - 1] <= scores[3];
  for (uint32_t i = 2; fits && i <= mask->rank; i++)
    fits = mask->shape[mask->rank - i] == scores[4 - i] || mask->shape[mask->rank - i] == 1;
  if (fits) return WIA_STATUS_OK;
  char given[WIA__SHAPE_TEXT], expected[WIA__SHAPE_TEXT];
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: mask has the shape %s; expected one that broadcasts to %s, that of the "
                   "scores, or is shorter in the last dimension",
                   call->op->name, wia__format_shape(given, mask->shape, mask->rank),
                   wia__format_shape(expected, scores, 4));
}

/* The result, in the rank of queries. */
static wia_status_t set_result(const wia__infer_t *call, const heads_t *queries, int64_t width) {
  const wia_shape_t *input = &call->inputs[0];
  int64_t joined;
  if (input->rank == 4) {
    const int64_t shape[] = {queries->batch, queries->heads, queries->length, width};
    return wia__set_output(call, input->dtype, shape, 4);
  }
  if (__builtin_mul_overflow(queries->heads, width, &joined))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: the output is wider than 63 bits",
                     call->op->name);
  const int64_t shape[] = {queries->batch, queries->length, joined};
  return wia__set_output(call, input->dtype, shape, 3);
}

wia_status_t wia__infer_attention(const wia__infer_t *call) {
  const wia_dtype_t dtype = call->inputs[0].dtype;
  heads_t operands[3];
  int64_t past, total;
  wia_status_t status = read_operands(call, "heads", "kv_heads", operands);
  if (!status) status = read_past(call, operands, &past);
  if (status) return status;
  const heads_t *q = &operands[0];
  if (__builtin_add_overflow(past, operands[1].length, &total))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s: past and keys are more than 63 bits",
                     call->op->name);
  const int64_t scores[] = {q->batch, q->heads, q->length, total};
  status = check_mask(call, scores);
  if (!status && wia__has_input(call, 6)) {
    if (wia__has_input(call, 4))
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: lengths and past_keys are given; expected one of them at most",
                       call->op->name);
    status = wia__expect_shape(call, 6, &q->batch, 1);
  }
  if (!status) status = set_result(call, q, operands[2].width);
  for (uint32_t i = 1; !status && i < 3; i++) {
    const int64_t shape[] = {q->batch, operands[i].heads, total, operands[i].width};
    status = wia__set_output_at(call, i, dtype, shape, 4);
  }
  return status ? status : wia__set_output_at(call, 3, dtype, scores, 4);
}

static wia_status_t check_given(const wia__infer_t *call, const char *name, int64_t size) {
  const int64_t given = wia__attribute(call, name);
  if (given == 0 || given == size) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: %s is %" PRId64 ", but queries have %" PRId64 "; expected that, or 0",
                   call->op->name, name, given, size);
}

wia_status_t wia__infer_multi_head_attention(const wia__infer_t *call) {
  heads_t operands[3];
  wia_status_t status = wia__expect_rank(call, 0, 3, 3);
  if (!status) status = read_operands(call, "num_heads", "num_heads", operands);
  if (!status) status = check_given(call, "head_dim", operands[0].width);
  if (!status) status = check_given(call, "sequence_length", operands[0].length);
  return status ? status : set_result(call, &operands[0], operands[2].width);
}

wia_status_t wia__infer_rotary_embedding(const wia__infer_t *call) {
  const wia_shape_t *cosine = &call->inputs[1];
  heads_t input;
  wia_status_t status = wia__expect_rank(call, 0, 3, 4);
  if (!status) status = read_heads(call, 0, wia__attribute(call, "heads"), "heads", &input);
  if (status) return status;
  const int64_t given = wia__attribute(call, "width"), width = given ? given : input.width;
  if (width > input.width || width % 2)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: %" PRId64 " elements of each head are to be rotated and it has %" PRId64
                     "; expected an even number up to that",
                     call->op->name, width, input.width);
  const int64_t places[] = {input.batch, input.length, width / 2};
  if (wia__has_input(call, 3)) {
    status = wia__expect_rank(call, 1, 2, 2);
    const int64_t table[] = {cosine->shape[0], width / 2};
    if (!status) status = wia__expect_shape(call, 1, table, 2);
    if (!status) status = wia__expect_shape(call, 3, places, 2);
  } else {
    status = wia__expect_shape(call, 1, places, 3);
  }
  if (!status) status = wia__expect_shape(call, 2, cosine->shape, cosine->rank);
  return status ? status : wia__set_output_like(call, 0);
}

wia_status_t wia__infer_kv_cache_update(const wia__infer_t *call) {
  const wia_shape_t *cache = &call->inputs[0], *update = &call->inputs[1];
  uint32_t axis;
  wia_status_t status = wia__expect_rank(call, 0, 2, WIA_MAX_RANK);
  if (!status)
    status = wia__expect_axis(call, "axis", wia__attribute(call, "axis"), cache->rank, &axis);
  if (!status && wia__has_input(call, 2)) status = wia__expect_shape(call, 2, cache->shape, 1);
  if (status) return status;
  bool fits = axis != 0 && update->rank == cache->rank;
  for (uint32_t i = 0; fits && i < cache->rank; i++)
    fits = i == axis ? update->shape[i] <= cache->shape[i] : update->shape[i] == cache->shape[i];
  if (fits) return wia__set_output_like(call, 0);
  char a[WIA__SHAPE_TEXT], b[WIA__SHAPE_TEXT];
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: cache has the shape %s, update %s and axis is %u; expected equal sizes "
                   "but for a smaller one of update along axis, and an axis behind the first",
                   call->op->name, wia__format_shape(a, cache->shape, cache->rank),
                   wia__format_shape(b, update->shape, update->rank), axis);
}
