/* shape_gradient.c: rules of gradients: what the operation that they belong to gives has the shape of
 * the gradient that comes in. */
#include <inttypes.h>
#include <string.h>

#include "shape.h"

/* Runs the rule of the operation on its inputs, and compares what it gives with input 0, grad. */
static wia_status_t check_forward(const wia__infer_t *call, wia__infer_fn_t rule,
                                  const wia_shape_t *inputs, const char *const *names,
                                  uint32_t count) {
  const wia_shape_t *grad = &call->inputs[0];
  wia_shape_t output = {0};
  wia__op_t op = *call->op;
  op.operand_names = names;
  op.output_count = 1;
  const wia__infer_t forward = {
      .op = &op, .inputs = inputs, .input_count = count, .words = call->words, .outputs = &output};
  const wia_status_t status = rule(&forward);
  if (status || (output.rank == grad->rank &&
                 memcmp(output.shape, grad->shape, grad->rank * sizeof *grad->shape) == 0))
    return status;
  char given[WIA__SHAPE_TEXT], wanted[WIA__SHAPE_TEXT];
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: grad has the shape %s; expected that of the output, %s", call->op->name,
                   wia__format_shape(given, grad->shape, grad->rank),
                   wia__format_shape(wanted, output.shape, output.rank));
}

/* The target has the dtype of grad. */
static wia_status_t read_target(const wia__infer_t *call, wia_shape_t *out_target) {
  const wia_status_t status = wia__wanted_shape(call, out_target);
  out_target->dtype = call->inputs[0].dtype;
  return status;
}

static wia_status_t set_target(const wia__infer_t *call, wia_status_t status,
                               const wia_shape_t *target) {
  return status ? status : wia__set_output(call, target->dtype, target->shape, target->rank);
}

wia_status_t wia__infer_sum_to(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  wia_shape_t target;
  const wia_status_t status = read_target(call, &target);
  if (status) return status;
  wia_shape_t together = target;
  const bool fits = wia__broadcast_shape(&together, input->shape, input->rank) &&
                    together.rank == input->rank &&
                    memcmp(together.shape, input->shape, input->rank * sizeof *input->shape) == 0;
  if (fits) return set_target(call, status, &target);
  char given[WIA__SHAPE_TEXT], wanted[WIA__SHAPE_TEXT];
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: input has the shape %s, which %s doesn't broadcast to", call->op->name,
                   wia__format_shape(given, input->shape, input->rank),
                   wia__format_shape(wanted, target.shape, target.rank));
}

wia_status_t wia__infer_conv2d_input_gradient(const wia__infer_t *call) {
  static const char *const names[] = {"shape", "weight"};
  wia_shape_t target;
  wia_status_t status = read_target(call, &target);
  const wia_shape_t inputs[] = {target, call->inputs[1]};
  if (!status) status = check_forward(call, wia__infer_conv2d, inputs, names, 2);
  return set_target(call, status, &target);
}

wia_status_t wia__infer_conv2d_weight_gradient(const wia__infer_t *call) {
  static const char *const names[] = {"input", "shape"};
  wia_shape_t target;
  wia_status_t status = read_target(call, &target);
  const wia_shape_t inputs[] = {call->inputs[1], target};
  if (!status) status = check_forward(call, wia__infer_conv2d, inputs, names, 2);
  return set_target(call, status, &target);
}

wia_status_t wia__infer_max_pool2d_gradient(const wia__infer_t *call) {
  static const char *const names[] = {"input"};
  const wia_shape_t *input = &call->inputs[1];
  return set_target(call, check_forward(call, wia__infer_pool2d, input, names, 1), input);
}

wia_status_t wia__infer_avg_pool2d_gradient(const wia__infer_t *call) {
  static const char *const names[] = {"shape"};
  wia_shape_t target;
  wia_status_t status = read_target(call, &target);
  if (!status) status = check_forward(call, wia__infer_pool2d, &target, names, 1);
  return set_target(call, status, &target);
}

wia_status_t wia__infer_gather_gradient(const wia__infer_t *call) {
  static const char *const names[] = {"shape", "indices"};
  wia_shape_t target;
  wia_status_t status = read_target(call, &target);
  const wia_shape_t inputs[] = {target, call->inputs[1]};
  if (!status) status = check_forward(call, wia__infer_gather, inputs, names, 2);
  return set_target(call, status, &target);
}

/* The inputs behind grad are those of the operation; each output is like one of these. */
static wia_status_t infer_back(const wia__infer_t *call, wia__infer_fn_t rule) {
  const wia_shape_t *inputs = call->inputs + 1;
  wia_status_t status =
      check_forward(call, rule, inputs, call->op->operand_names + 1, call->input_count - 1);
  for (uint32_t i = 0; !status && i < call->op->output_count; i++)
    status = wia__set_output_at(call, i, inputs[i].dtype, inputs[i].shape, inputs[i].rank);
  return status;
}

wia_status_t wia__infer_adaptive_max_pool_gradient(const wia__infer_t *call) {
  return infer_back(call, wia__infer_adaptive_pool);
}

wia_status_t wia__infer_max_roi_pool_gradient(const wia__infer_t *call) {
  return infer_back(call, wia__infer_max_roi_pool);
}

wia_status_t wia__infer_roi_align_gradient(const wia__infer_t *call) {
  return infer_back(call, wia__infer_roi_align);
}

wia_status_t wia__infer_grid_sample_gradient(const wia__infer_t *call) {
  return infer_back(call, wia__infer_grid_sample);
}

wia_status_t wia__infer_resize_gradient(const wia__infer_t *call) {
  static const char *const names[] = {"shape"};
  wia_shape_t target;
  wia_status_t status = read_target(call, &target);
  if (!status) status = check_forward(call, wia__infer_resize, &target, names, 1);
  return set_target(call, status, &target);
}

wia_status_t wia__infer_deform_conv_gradient(const wia__infer_t *call) {
  static const char *const names[] = {"input", "weight", "offset", "bias", "mask"};
  enum { INPUT = 1, WEIGHT, OFFSET, MASK, BY_MASK = 3 };
  const wia_shape_t *given = call->inputs, none = {0};
  const wia_shape_t inputs[] = {given[INPUT], given[WEIGHT], given[OFFSET], none, given[MASK]};
  wia_status_t status = check_forward(call, wia__infer_deform_conv, inputs, names, 5);
  for (uint32_t i = 0; !status && i < BY_MASK; i++)
    status = wia__set_output_at(call, i, given[1 + i].dtype, given[1 + i].shape, given[1 + i].rank);
  if (status) return status;
  const wia_shape_t *offset = &given[OFFSET];
  const int64_t mask[] = {offset->shape[0], offset->shape[1] / 2, offset->shape[2],
                          offset->shape[3]};
  return wia__set_output_at(call, BY_MASK, offset->dtype, mask, 4);
}

/* The inputs: grad, those of the layer, then a gradient of each of its last states. */
wia_status_t wia__infer_recurrent_gradient(const wia__infer_t *call) {
  enum { X = 1, W = 2, R = 3, BIAS = 3, INITIAL = 4, LSTM_STATES = 2 };
  const uint32_t states = call->op->op == WIA_OP_LSTM_GRADIENT ? LSTM_STATES : 1;
  const uint32_t count = call->op->max_input_count - 1 - states;
  const uint32_t given = call->input_count - 1 < count ? call->input_count - 1 : count;
  const wia_shape_t *x = &call->inputs[X], *w = &call->inputs[W], *r = &call->inputs[R];
  wia_status_t status = check_forward(call, wia__infer_recurrent, call->inputs + 1,
                                      call->op->operand_names + 1, given);
  if (status) return status;
  const bool batch_first = wia__attribute(call, "layout") != 0;
  const int64_t directions = w->shape[0], batch = x->shape[!batch_first], hidden = r->shape[2];
  const int64_t state[] = {batch_first ? batch : directions, batch_first ? directions : batch,
                           hidden};
  const int64_t bias[] = {directions, 2 * w->shape[1]}, seen[] = {directions, 3 * hidden};
  for (uint32_t i = 0; i < 3 && !status; i++)
    status = wia__set_output_at(call, i, x->dtype, call->inputs[X + i].shape, 3);
  if (!status) status = wia__set_output_at(call, BIAS, x->dtype, bias, 2);
  for (uint32_t i = 0; i < states && !status; i++) {
    const uint32_t last = 1 + count + i;
    if (wia__has_input(call, last)) status = wia__expect_shape(call, last, state, 3);
    if (!status) status = wia__set_output_at(call, INITIAL + i, x->dtype, state, 3);
  }
  if (!status && states == LSTM_STATES)
    status = wia__set_output_at(call, INITIAL + states, x->dtype, seen, 2);
  return status;
}

/* The inputs: grad, then those of einsum. */
wia_status_t wia__infer_einsum_gradient(const wia__infer_t *call) {
  const int64_t place = wia__attribute(call, "place");
  if (!wia__has_input(call, (uint32_t)place + 1))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: place is %" PRId64 ", and there is no input of that number behind grad",
                     call->op->name, place);
  const wia_shape_t *input = &call->inputs[place + 1];
  const wia_status_t status = check_forward(call, wia__infer_einsum, call->inputs + 1,
                                            call->op->operand_names + 1, call->input_count - 1);
  return set_target(call, status, input);
}
