/* shape_gradient.c: rules of gradients: what the operation that they belong to gives has the shape of
 * the gradient that comes in. */
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
