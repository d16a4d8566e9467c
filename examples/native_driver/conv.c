/* conv.c: conv2d by direct summation, and max_pool2d. Images are NCHW, weights OIHW. */
#include <math.h>

#include "sample.h"

/* One spatial dimension of a window that moves over an image. */
typedef struct axis_t {
  int64_t input, output, window; /* lengths */
  int64_t stride, padding, dilation;
} axis_t;

/* The outputs [begin, end) for which a tap of the window lies inside the image. */
static void find_range(const axis_t *axis, int64_t tap, int64_t *out_begin, int64_t *out_end) {
  /* Output o reads the position o * stride - ahead of the image. */
  const int64_t ahead = axis->padding - tap * axis->dilation;
  const int64_t begin = ahead <= 0 ? 0 : (ahead + axis->stride - 1) / axis->stride;
  const int64_t room = axis->input - 1 + ahead;
  int64_t end = room < 0 ? 0 : room / axis->stride + 1;
  if (end > axis->output) end = axis->output;
  *out_begin = begin;
  *out_end = end;
}

static axis_t make_axis(const sample_node_t *node, uint32_t i, int64_t window,
                        const int64_t *stride, const int64_t *padding, const int64_t *dilation) {
  /* Padding is top, left, bottom, right; how far the end is padded is in the output's size. */
  return (axis_t){.input = node->inputs[0]->shape[2 + i],
                  .output = node->output->shape[2 + i],
                  .window = window,
                  .stride = stride[i],
                  .padding = padding[i],
                  .dilation = dilation[i]};
}

/* -- conv2d ------------------------------------------------------------------------------------ */

typedef struct conv_t {
  axis_t y, x;
  int64_t batch, channels, group_inputs, group_outputs; /* channels of the output, of one group */
  int64_t input[4], weight[4], output[4];               /* strides in elements */
  int64_t bias;
  uint32_t has_bias, output_operand;
} conv_t;

/* Adds weight * a row of the image to a row of the output. */
static void add_row(const conv_t *s, float weight, const float *input, float *output,
                    int64_t count) {
  const int64_t input_step = s->x.stride * s->input[3], output_step = s->output[3];
  if (input_step == 1 && output_step == 1)
    for (int64_t i = 0; i < count; i++) output[i] += weight * input[i];
  else
    for (int64_t i = 0; i < count; i++) output[i * output_step] += weight * input[i * input_step];
}

/* All taps of one channel of the image on one channel of the output. */
static void add_channel(const conv_t *s, const float *input, const float *weight, float *output) {
  for (int64_t ky = 0; ky < s->y.window; ky++)
    for (int64_t kx = 0; kx < s->x.window; kx++) {
      int64_t y_begin, y_end, x_begin, x_end;
      find_range(&s->y, ky, &y_begin, &y_end);
      find_range(&s->x, kx, &x_begin, &x_end);
      const float factor = weight[ky * s->weight[2] + kx * s->weight[3]];
      const int64_t x = x_begin * s->x.stride - s->x.padding + kx * s->x.dilation;
      for (int64_t oy = y_begin; oy < y_end && x_begin < x_end; oy++) {
        const int64_t y = oy * s->y.stride - s->y.padding + ky * s->y.dilation;
        add_row(s, factor, input + y * s->input[2] + x * s->input[3],
                output + oy * s->output[2] + x_begin * s->output[3], x_end - x_begin);
      }
    }
}

static wia_status_t run_conv(void *state, const wia_kernel_args_t *args) {
  const conv_t *s = state;
  const float *input = (const float *)sample_pointer(args, 0);
  const float *weight = (const float *)sample_pointer(args, 1);
  const float *bias = (const float *)sample_pointer(args, 2);
  float *output = (float *)sample_pointer(args, s->output_operand);
  for (int64_t n = 0; n < s->batch; n++)
    for (int64_t o = 0; o < s->channels; o++) {
      float *plane = output + n * s->output[0] + o * s->output[1];
      const float start = s->has_bias ? bias[o * s->bias] : 0;
      for (int64_t y = 0; y < s->y.output; y++)
        for (int64_t x = 0; x < s->x.output; x++)
          plane[y * s->output[2] + x * s->output[3]] = start;
      const int64_t first = o / s->group_outputs * s->group_inputs;
      for (int64_t i = 0; i < s->group_inputs; i++)
        add_channel(s, input + n * s->input[0] + (first + i) * s->input[1],
                    weight + o * s->weight[0] + i * s->weight[1], plane);
    }
  return WIA_STATUS_OK;
}

wia_status_t sample_prepare_conv2d(sample_node_t *node, wia_driver_kernel_t *out_kernel) {
  const wia_tensor_layout_t *input = node->inputs[0], *weight = node->inputs[1];
  const wia_tensor_layout_t *bias = node->inputs[2], *output = node->output;
  int64_t stride[2] = {1, 1}, padding[4] = {0}, dilation[2] = {1, 1};
  sample_get_list(node, "stride", 2, stride);
  sample_get_list(node, "padding", 4, padding);
  sample_get_list(node, "dilation", 2, dilation);
  const int64_t groups = sample_get_int(node, "groups", 1);
  sample_accept_algorithm(node, "direct");
  conv_t s = {
      .y = make_axis(node, 0, weight->shape[2], stride, padding, dilation),
      .x = make_axis(node, 1, weight->shape[3], stride, padding, dilation),
      .batch = output->shape[0],
      .channels = output->shape[1],
      .group_inputs = weight->shape[1],
      .group_outputs = output->shape[1] / groups,
      .bias = bias == NULL ? 0 : bias->strides[0],
      .has_bias = bias != NULL,
      .output_operand = node->input_count,
  };
  for (uint32_t i = 0; i < 4; i++) {
    s.input[i] = input->strides[i];
    s.weight[i] = weight->strides[i];
    s.output[i] = output->strides[i];
  }
  return sample_finish(node, run_conv, WIA_KERNEL_THREAD_SAFE, &s, sizeof s, out_kernel);
}

/* -- max_pool2d -------------------------------------------------------------------------------- */

typedef struct pool_t {
  axis_t y, x;
  int64_t batch, channels;
  int64_t input[4], output[4]; /* strides in elements */
} pool_t;

/* The largest element of a window, NaN if there is one. */
static float find_largest(const pool_t *s, const float *plane, int64_t top, int64_t left) {
  float largest = -INFINITY;
  for (int64_t ky = 0; ky < s->y.window; ky++) {
    const int64_t y = top + ky * s->y.dilation;
    if (y < 0 || y >= s->y.input) continue;
    for (int64_t kx = 0; kx < s->x.window; kx++) {
      const int64_t x = left + kx * s->x.dilation;
      if (x < 0 || x >= s->x.input) continue;
      const float value = plane[y * s->input[2] + x * s->input[3]];
      if (!(value <= largest)) largest = value; /* true for NaN, and then for nothing any more */
      if (isnan(largest)) return largest;
    }
  }
  return largest;
}

static wia_status_t run_pool(void *state, const wia_kernel_args_t *args) {
  const pool_t *s = state;
  const float *input = (const float *)sample_pointer(args, 0);
  float *output = (float *)sample_pointer(args, 1);
  for (int64_t n = 0; n < s->batch; n++)
    for (int64_t c = 0; c < s->channels; c++)
      for (int64_t y = 0; y < s->y.output; y++)
        for (int64_t x = 0; x < s->x.output; x++)
          output[n * s->output[0] + c * s->output[1] + y * s->output[2] + x * s->output[3]] =
              find_largest(s, input + n * s->input[0] + c * s->input[1],
                           y * s->y.stride - s->y.padding, x * s->x.stride - s->x.padding);
  return WIA_STATUS_OK;
}

wia_status_t sample_prepare_max_pool2d(sample_node_t *node, wia_driver_kernel_t *out_kernel) {
  int64_t kernel[2] = {1, 1}, stride[2] = {0, 0}, padding[4] = {0}, dilation[2] = {1, 1};
  sample_get_list(node, "kernel", 2, kernel);
  sample_get_list(node, "stride", 2, stride);
  sample_get_list(node, "padding", 4, padding);
  sample_get_list(node, "dilation", 2, dilation);
  sample_skip_attribute(node, "ceil_mode"); /* it decides the output's size only */
  for (uint32_t i = 0; i < 2; i++)
    if (stride[i] == 0) stride[i] = kernel[i];
  pool_t s = {
      .y = make_axis(node, 0, kernel[0], stride, padding, dilation),
      .x = make_axis(node, 1, kernel[1], stride, padding, dilation),
      .batch = node->output->shape[0],
      .channels = node->output->shape[1],
  };
  for (uint32_t i = 0; i < 4; i++) {
    s.input[i] = node->inputs[0]->strides[i];
    s.output[i] = node->output->strides[i];
  }
  return sample_finish(node, run_pool, WIA_KERNEL_THREAD_SAFE, &s, sizeof s, out_kernel);
}
