/* shape_recurrent.c: rules of recurrent layers and cells, and of embeddings. */
#include <inttypes.h>

#include "shape.h"

/* Gates of a cell, from the operation; states that it carries. */
static int64_t gate_count(const wia__infer_t *call) {
  switch (call->op->op) {
  case WIA_OP_LSTM:
  case WIA_OP_LSTM_CELL:
  case WIA_OP_LSTM_GRADIENT:
    return 4;
  case WIA_OP_GRU:
  case WIA_OP_GRU_CELL:
  case WIA_OP_GRU_GRADIENT:
    return 3;
  default:
    return 1;
  }
}

/* The hidden size, from the last dimension of r; that [gates h, h] can be counted. */
static wia_status_t check_weights(const wia__infer_t *call, uint32_t lead, int64_t directions,
                                  int64_t width, uint32_t w, uint32_t r, int64_t *out_hidden) {
  const wia_shape_t *weights = &call->inputs[r];
  const int64_t gates = gate_count(call);
  wia_status_t status = wia__expect_rank(call, r, lead + 2, lead + 2);
  if (status) return status;
  const int64_t hidden = weights->shape[lead + 1];
  if (hidden > INT32_MAX)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: the hidden size is %" PRId64 ", the last dimension of %s; expected less "
                     "than 2^31",
                     call->op->name, hidden, call->op->operand_names[r]);
  const int64_t expected[] = {directions, gates * hidden, hidden};
  const int64_t own[] = {directions, gates * hidden, width};
  status = wia__expect_shape(call, r, expected + 1 - lead, lead + 2);
  if (!status) status = wia__expect_shape(call, w, own + 1 - lead, lead + 2);
  *out_hidden = hidden;
  return status;
}

static wia_status_t expect_if_given(const wia__infer_t *call, uint32_t index, const int64_t *shape,
                                    uint32_t rank) {
  return wia__has_input(call, index) ? wia__expect_shape(call, index, shape, rank) : WIA_STATUS_OK;
}

/* That lists of a value for each activation have none or all of them. */
static wia_status_t check_activations(const wia__infer_t *call, int64_t directions) {
  static const char *const names[] = {"activations", "alpha", "beta"};
  const uint32_t gates = (uint32_t)gate_count(call);
  const uint32_t each = gates == 1 ? 1 : gates - 1;
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t count;
    wia__attribute_list(call, names[i], &count);
    if (count && count != each * (uint32_t)directions)
      return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: %s has %u elements; expected %u for each of %" PRId64
                       " directions, or none",
                       call->op->name, names[i], count, each, directions);
  }
  return WIA_STATUS_OK;
}

wia_status_t wia__infer_recurrent(const wia__infer_t *call) {
  enum { X, W, R, BIAS, LENGTHS, INITIAL, INITIAL_CELL, PEEPHOLES, BOTH = 2 };
  const wia_shape_t *x = &call->inputs[X];
  const bool batch_first = wia__attribute(call, "layout") != 0;
  const int64_t directions = wia__attribute(call, "direction") == BOTH ? 2 : 1;
  int64_t hidden;
  wia_status_t status = wia__expect_rank(call, X, 3, 3);
  if (!status) status = check_weights(call, 1, directions, x->shape[2], W, R, &hidden);
  if (!status) status = check_activations(call, directions);
  if (status) return status;
  const int64_t batch = x->shape[!batch_first], steps = x->shape[batch_first];
  const int64_t bias[] = {directions, 2 * gate_count(call) * hidden};
  const int64_t seen[] = {directions, 3 * hidden};
  const int64_t state[] = {batch_first ? batch : directions, batch_first ? directions : batch,
                           hidden};
  const int64_t all[] = {batch_first ? batch : steps, batch_first ? steps : directions,
                         batch_first ? directions : batch, hidden};
  status = expect_if_given(call, BIAS, bias, 2);
  if (!status) status = expect_if_given(call, LENGTHS, &batch, 1);
  if (!status) status = expect_if_given(call, INITIAL, state, 3);
  if (!status) status = expect_if_given(call, INITIAL_CELL, state, 3);
  if (!status) status = expect_if_given(call, PEEPHOLES, seen, 2);
  if (!status) status = wia__set_output(call, x->dtype, all, 4);
  for (uint32_t i = 1; !status && i < call->op->output_count; i++)
    status = wia__set_output_at(call, i, x->dtype, state, 3);
  return status;
}

wia_status_t wia__infer_recurrent_cell(const wia__infer_t *call) {
  const wia_shape_t *x = &call->inputs[0];
  const uint32_t states = call->op->output_count, w = 1 + states;
  int64_t hidden;
  wia_status_t status = wia__expect_rank(call, 0, 2, 2);
  if (!status) status = check_weights(call, 0, 1, x->shape[1], w, w + 1, &hidden);
  if (status) return status;
  const int64_t state[] = {x->shape[0], hidden}, bias[] = {2 * gate_count(call) * hidden};
  for (uint32_t i = 1; !status && i <= states; i++) status = wia__expect_shape(call, i, state, 2);
  if (!status) status = expect_if_given(call, w + 2, bias, 1);
  for (uint32_t i = 0; !status && i < states; i++)
    status = wia__set_output_at(call, i, x->dtype, state, 2);
  return status;
}

wia_status_t wia__infer_embedding(const wia__infer_t *call) {
  const wia_shape_t *weight = &call->inputs[0], *indices = &call->inputs[1];
  int64_t shape[WIA_MAX_RANK];
  wia_status_t status = wia__expect_rank(call, 0, 2, 2);
  if (!status) status = wia__expect_rank(call, 1, 0, WIA_MAX_RANK - 1);
  if (status) return status;
  for (uint32_t i = 0; i < indices->rank; i++) shape[i] = indices->shape[i];
  shape[indices->rank] = weight->shape[1];
  return wia__set_output(call, weight->dtype, shape, indices->rank + 1);
}

wia_status_t wia__infer_embedding_bag(const wia__infer_t *call) {
  enum { SUM = 0 };
  wia_status_t status = wia__expect_rank(call, 0, 2, 2);
  for (uint32_t i = 1; !status && i < 3; i++) status = wia__expect_rank(call, i, 1, 1);
  if (!status) status = expect_if_given(call, 3, call->inputs[1].shape, 1);
  if (!status && wia__has_input(call, 3) && wia__attribute(call, "mode") != SUM)
    status = wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "%s: factors are given, and mode is not sum; expected sum", call->op->name);
  const int64_t shape[] = {call->inputs[2].shape[0], call->inputs[0].shape[1]};
  return status ? status : wia__set_output(call, call->inputs[0].dtype, shape, 2);
}
