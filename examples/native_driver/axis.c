/* axis.c: operations along one axis: softmax and argmax. */
#include <math.h>

#include "sample.h"

typedef struct axis_t {
  sample_walk_t walk;            /* over all other dimensions */
  int64_t length, input, output; /* of the axis, and bytes from element to element along it */
} axis_t;

/* The walk over the input and the output without the axis. The output has as many dimensions as the
 * input, or, as argmax may, lacks the axis. */
static axis_t make_axis(const sample_node_t *node, int64_t axis) {
  const wia_tensor_layout_t *input = node->inputs[0], *output = node->output;
  if (axis < 0) axis += input->rank;
  int64_t shape[WIA_MAX_RANK], inputs[WIA_MAX_RANK], outputs[WIA_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < input->rank; i++) {
    if (i == axis) continue;
    shape[rank] = input->shape[i];
    inputs[rank] = sample_stride(input, i);
    outputs[rank] = sample_stride(output, output->rank == input->rank ? i : rank);
    rank++;
  }
  axis_t result = {.length = 1};
  if (input->rank > 0) {
    result.length = input->shape[axis];
    result.input = sample_stride(input, (uint32_t)axis);
    if (output->rank == input->rank) result.output = sample_stride(output, (uint32_t)axis);
  }
  sample_start_walk(&result.walk, shape, rank);
  sample_add_strides(&result.walk, inputs);
  sample_add_strides(&result.walk, outputs);
  sample_merge_walk(&result.walk);
  return result;
}

static wia_status_t run(const axis_t *s, const wia_kernel_args_t *args, sample_row_fn_t row) {
  char *pointers[] = {sample_pointer(args, 0), sample_pointer(args, 1)};
  sample_run_walk(&s->walk, pointers, row, s);
  return WIA_STATUS_OK;
}

/* -- softmax ----------------------------------------------------------------------------------- */

/* In place is fine: each element is read before its place is written. NaN spreads by exp(). */
static void softmax(const axis_t *s, const char *input, char *output) {
  float largest = -INFINITY;
  for (int64_t i = 0; i < s->length; i++) {
    const float value = *(const float *)(input + i * s->input);
    if (value > largest) largest = value;
  }
  double sum = 0;
  for (int64_t i = 0; i < s->length; i++) {
    const float power = expf(*(const float *)(input + i * s->input) - largest);
    *(float *)(output + i * s->output) = power;
    sum += power;
  }
  for (int64_t i = 0; i < s->length; i++) {
    float *power = (float *)(output + i * s->output);
    *power = (float)(*power / sum);
  }
}

static void softmax_row(const void *context, char *const *p, const int64_t *s, int64_t count) {
  for (int64_t i = 0; i < count; i++) softmax(context, p[0] + i * s[0], p[1] + i * s[1]);
}

static wia_status_t run_softmax(void *state, const wia_kernel_args_t *args) {
  return run(state, args, softmax_row);
}

wia_status_t sample_prepare_softmax(sample_node_t *node, wia_driver_kernel_t *out_kernel) {
  const axis_t axis = make_axis(node, sample_get_int(node, "axis", -1));
  return sample_finish(node, run_softmax, SAMPLE_PROMPT | WIA_KERNEL_IN_PLACE, &axis, sizeof axis,
                       out_kernel);
}

/* -- argmax ------------------------------------------------------------------------------------ */

/* The first NaN wins, else the first of the largest. */
static int64_t argmax(const axis_t *s, const char *input) {
  int64_t best = 0;
  float largest = *(const float *)input;
  for (int64_t i = 1; i < s->length && !isnan(largest); i++) {
    const float value = *(const float *)(input + i * s->input);
    if (!(value <= largest)) {
      largest = value;
      best = i;
    }
  }
  return best;
}

static void argmax_row(const void *context, char *const *p, const int64_t *s, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    *(int64_t *)(p[1] + i * s[1]) = argmax(context, p[0] + i * s[0]);
}

static wia_status_t run_argmax(void *state, const wia_kernel_args_t *args) {
  return run(state, args, argmax_row);
}

wia_status_t sample_prepare_argmax(sample_node_t *node, wia_driver_kernel_t *out_kernel) {
  const axis_t axis = make_axis(node, sample_get_int(node, "axis", -1));
  sample_skip_attribute(node, "keepdims"); /* the output's rank tells */
  return sample_finish(node, run_argmax, SAMPLE_PROMPT, &axis, sizeof axis, out_kernel);
}
