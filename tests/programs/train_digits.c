/* train_digits.c: trains a network with what wia_query_gradient() gives, and nothing else.
 *
 *     train_digits DEVICE DATA STEPS
 *
 * DATA has two numbers of rows as int64_t, then for training and for the check 64 floats and an
 * int64_t, the label, of each row. Prints the loss before and after, and the share of rows of the
 * check that come out right. The network is linear(64, 32), relu, linear(32, 10). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <wia.h>

enum { PIXELS = 64, HIDDEN = 32, CLASSES = 10, PARAMETERS = 4, LAYERS = 4, MOST = 4 };

static wia_context_t *context;

static void check(wia_status_t status, const char *what) {
  if (!status) return;
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  wia_get_last_error(&info);
  fprintf(stderr, "train_digits: %s: %s\n", what, info.message);
  exit(1);
}

static wia_tensor_t make(wia_dtype_t dtype, uint32_t rank, int64_t rows, int64_t columns) {
  const int64_t shape[] = {rows, columns};
  wia_tensor_t tensor = NULL;
  check(wia_allocate_tensor(context, shape, rank, dtype, &tensor), "a tensor");
  return tensor;
}

static wia_tensor_t like(const wia_tensor_layout_t *layout) {
  wia_tensor_t tensor = NULL;
  check(wia_allocate_tensor(context, layout->shape, layout->rank, layout->dtype, &tensor), "one");
  return tensor;
}

static const wia_tensor_layout_t *layout_of(wia_tensor_t tensor) {
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  check(wia_get_tensor_info(tensor, &info), "a layout");
  return info.layout;
}

/* -- layers -------------------------------------------------------------------------------------- */

/* An operation, its tensors, and the plan of its gradient. */
typedef struct layer_t {
  wia_op_t op;
  uint32_t input_count;
  wia_tensor_t inputs[MOST], output;
  wia_tensor_t grad;            /* of the output */
  wia_tensor_t gradients[MOST]; /* of the inputs; NULL: not wanted */
  wia_plan_t *plan, *backward;
  wia_tensor_t operands[3 * MOST]; /* of the plan backward */
  uint32_t operand_count;
} layer_t;

/* Where an operand of the group is to come from. */
static wia_tensor_t find(const layer_t *layer, wia_role_t role) {
  if (role.role == WIA_ROLE_INPUT) return layer->inputs[role.index];
  return role.role == WIA_ROLE_OUTPUT ? layer->output : layer->grad;
}

static void prepare(layer_t *layer, uint32_t wanted) {
  check(wia_create_operation_plan(context, layer->op, layer->inputs, layer->input_count,
                                  &layer->output, 1, NULL, 0, &layer->plan),
        "a layer");
  const wia_tensor_layout_t *inputs[MOST], *output = layout_of(layer->output);
  for (uint32_t i = 0; i < layer->input_count; i++) inputs[i] = layout_of(layer->inputs[i]);
  wia_gradient_config_t config = WIA_GRADIENT_CONFIG_INIT;
  config.op = layer->op;
  config.inputs = inputs;
  config.input_count = layer->input_count;
  config.outputs = &output;
  config.output_count = 1;
  config.wanted = wanted;
  wia_gradient_t *gradient = NULL;
  wia_gradient_info_t info = WIA_GRADIENT_INFO_INIT;
  check(wia_query_gradient(&config, &gradient), "a gradient");
  check(wia_get_gradient_info(gradient, &info), "a gradient");
  check(wia_create_plan(context, info.group, &layer->backward), "the plan of a gradient");
  for (uint32_t i = 0; i < info.group->input_count; i++)
    layer->operands[layer->operand_count++] = find(layer, info.inputs[i]);
  for (uint32_t i = 0; i < info.group->output_count; i++)
    layer->operands[layer->operand_count++] = layer->gradients[info.outputs[i].index];
  check(wia_destroy_gradient(gradient), "a gradient");
}

static void forward(layer_t *layer) {
  wia_op_info_t info = WIA_OP_INFO_INIT;
  wia_tensor_t operands[2 * MOST] = {NULL};
  check(wia_get_op_info(layer->op, &info), "an operation");
  for (uint32_t i = 0; i < layer->input_count; i++) operands[i] = layer->inputs[i];
  operands[info.max_input_count] = layer->output;
  check(wia_execute_plan(layer->plan, operands, info.max_input_count + info.output_count, NULL, 0,
                         NULL),
        "a layer");
}

static void backward(layer_t *layer) {
  check(wia_execute_plan(layer->backward, layer->operands, layer->operand_count, NULL, 0, NULL),
        "a gradient");
}

/* -- data ---------------------------------------------------------------------------------------- */

static void read_rows(FILE *file, int64_t rows, wia_tensor_t images, wia_tensor_t labels) {
  float *pixels = malloc((size_t)rows * PIXELS * sizeof *pixels);
  int64_t *right = malloc((size_t)rows * sizeof *right);
  for (int64_t i = 0; i < rows; i++)
    if (!pixels || !right || fread(pixels + i * PIXELS, sizeof *pixels, PIXELS, file) != PIXELS ||
        fread(right + i, sizeof *right, 1, file) != 1)
      exit(2);
  check(wia_write_tensor(images, pixels, (uint64_t)rows * PIXELS * sizeof *pixels, NULL), "images");
  check(wia_write_tensor(labels, right, (uint64_t)rows * sizeof *right, NULL), "labels");
  free(pixels);
  free(right);
}

/* Numbers between -scale and scale, the same in each run. */
static void fill(wia_tensor_t tensor, double scale) {
  static uint32_t state = 7;
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  check(wia_get_tensor_info(tensor, &info), "weights");
  float *values = malloc(info.size);
  if (!values) exit(2);
  for (uint64_t i = 0; i < info.element_count; i++) {
    state = state * 1664525u + 1013904223u;
    values[i] = (float)(((double)state / 4294967296.0 * 2 - 1) * scale);
  }
  check(wia_write_tensor(tensor, values, info.size, NULL), "weights");
  free(values);
}

static double number(wia_tensor_t tensor) {
  float value = 0;
  check(wia_read_tensor(tensor, &value, sizeof value, NULL), "the loss");
  return value;
}

/* -- the network --------------------------------------------------------------------------------- */

static wia_tensor_t weights[PARAMETERS];

static void build(layer_t *layers, wia_tensor_t images, wia_tensor_t labels, int64_t rows) {
  wia_tensor_t hidden = make(WIA_FLOAT32, 2, rows, HIDDEN),
               bent = make(WIA_FLOAT32, 2, rows, HIDDEN);
  wia_tensor_t logits = make(WIA_FLOAT32, 2, rows, CLASSES), loss = make(WIA_FLOAT32, 0, 0, 0);
  layers[0] = (layer_t){.op = WIA_OP_LINEAR,
                        .input_count = 3,
                        .inputs = {images, weights[0], weights[1]},
                        .output = hidden};
  layers[1] = (layer_t){.op = WIA_OP_RELU, .input_count = 1, .inputs = {hidden}, .output = bent};
  layers[2] = (layer_t){.op = WIA_OP_LINEAR,
                        .input_count = 3,
                        .inputs = {bent, weights[2], weights[3]},
                        .output = logits};
  layers[3] = (layer_t){.op = WIA_OP_SOFTMAX_CROSS_ENTROPY,
                        .input_count = 2,
                        .inputs = {logits, labels},
                        .output = loss};
  for (uint32_t i = 0; i < LAYERS; i++) layers[i].grad = like(layout_of(layers[i].output));
  for (uint32_t i = 1; i < LAYERS; i++) layers[i].gradients[0] = layers[i - 1].grad;
  for (uint32_t i = 0; i < PARAMETERS; i++)
    layers[i / 2 * 2].gradients[1 + i % 2] = like(layout_of(weights[i]));
  for (uint32_t i = 0; i < LAYERS; i++) prepare(&layers[i], i == 0 ? 6 : i == 2 ? 7 : 1);
  const float one = 1;
  check(wia_write_tensor(layers[3].grad, &one, sizeof one, NULL), "the gradient of the loss");
}

static double share_right(const layer_t *layers, wia_tensor_t labels, int64_t rows) {
  float *scores = malloc((size_t)rows * CLASSES * sizeof *scores);
  int64_t *right = malloc((size_t)rows * sizeof *right), good = 0;
  if (!scores || !right) exit(2);
  check(wia_read_tensor(layers[2].output, scores, (uint64_t)rows * CLASSES * sizeof *scores, NULL),
        "scores");
  check(wia_read_tensor(labels, right, (uint64_t)rows * sizeof *right, NULL), "labels");
  for (int64_t i = 0; i < rows; i++) {
    int64_t best = 0;
    for (int64_t j = 1; j < CLASSES; j++)
      if (scores[i * CLASSES + j] > scores[i * CLASSES + best]) best = j;
    good += best == right[i];
  }
  free(scores);
  free(right);
  return (double)good / (double)rows;
}

int main(int argc, char **argv) {
  int64_t rows[2];
  int32_t device;
  FILE *file = argc == 4 ? fopen(argv[2], "rb") : NULL;
  if (!file || fread(rows, sizeof *rows, 2, file) != 2) return 2;
  check(wia_find_device(argv[1], &device), argv[1]);
  check(wia_create_context(&context, device), argv[1]);
  const int64_t outs[] = {HIDDEN, CLASSES}, ins[] = {PIXELS, HIDDEN};
  for (uint32_t i = 0; i < PARAMETERS; i++) {
    weights[i] = i % 2 ? make(WIA_FLOAT32, 1, outs[i / 2], 0)
                       : make(WIA_FLOAT32, 2, outs[i / 2], ins[i / 2]);
    fill(weights[i], i % 2 ? 0 : 1 / sqrt((double)ins[i / 2]));
  }
  wia_tensor_t images[2], labels[2];
  layer_t layers[2][LAYERS];
  for (uint32_t part = 0; part < 2; part++) {
    images[part] = make(WIA_FLOAT32, 2, rows[part], PIXELS);
    labels[part] = make(WIA_INT64, 1, rows[part], 0);
    read_rows(file, rows[part], images[part], labels[part]);
    build(layers[part], images[part], labels[part], rows[part]);
  }
  fclose(file);
  wia_sgd_step_config_t step = WIA_SGD_STEP_CONFIG_INIT;
  step.rate = 0.5;
  double before = 0;
  for (int n = 0; n < atoi(argv[3]); n++) {
    for (uint32_t i = 0; i < LAYERS; i++) forward(&layers[0][i]);
    if (n == 0) before = number(layers[0][LAYERS - 1].output);
    for (uint32_t i = LAYERS; i-- > 0;) backward(&layers[0][i]);
    for (uint32_t i = 0; i < PARAMETERS; i++)
      check(wia_sgd_step(context, weights[i], layers[0][i / 2 * 2].gradients[1 + i % 2], weights[i],
                         &step, NULL),
            "a step");
  }
  for (uint32_t part = 0; part < 2; part++)
    for (uint32_t i = 0; i < LAYERS; i++) forward(&layers[part][i]);
  printf("%.6f %.6f %.4f\n", before, number(layers[0][LAYERS - 1].output),
         share_right(layers[1], labels[1], rows[1]));
  return 0;
}
