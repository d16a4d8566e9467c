#include "network.h"

#include <stdio.h>
#include <string.h>

/* Images that go through the network at once: bounds the memory for the layers in between. */
enum { BATCH = 512 };

static const char *const WEIGHT_NAMES[WEIGHT_COUNT] = {
    "conv1_weight", "conv1_bias", "conv2_weight", "conv2_bias", "linear_weight", "linear_bias"};
static const struct {
  uint32_t rank;
  int64_t shape[4];
} WEIGHT_SHAPES[WEIGHT_COUNT] = {
    {4, {16, 1, 3, 3}},      {1, {16}},          {4, {32, 16, 3, 3}}, {1, {32}},
    {2, {CLASS_COUNT, 128}}, {1, {CLASS_COUNT}},
};

static const struct {
  char kind;
  uint32_t item_size;
  wia_dtype_t dtype;
} DTYPES[] = {
    {'b', 1, WIA_BOOL},   {'i', 1, WIA_INT8},    {'i', 2, WIA_INT16},   {'i', 4, WIA_INT32},
    {'i', 8, WIA_INT64},  {'u', 1, WIA_UINT8},   {'u', 2, WIA_UINT16},  {'u', 4, WIA_UINT32},
    {'u', 8, WIA_UINT64}, {'f', 2, WIA_FLOAT16}, {'f', 4, WIA_FLOAT32}, {'f', 8, WIA_FLOAT64},
};

/* True for OK; otherwise prints what WIA says of the error. */
static bool check(wia_status_t status) {
  if (status == WIA_STATUS_OK) return true;
  wia_error_info_t error = WIA_ERROR_INFO_INIT;
  wia_get_last_error(&error);
  fprintf(stderr, "digits: %s: %s (%s)\n", error.function, error.message,
          wia_get_status_name(status));
  if (error.cause[0]) fprintf(stderr, "caused by: %s\n", error.cause);
  return false;
}

static bool load_weight(network_t *network, const char *folder, uint32_t index) {
  char path[1024], message[NPY_MESSAGE_SIZE];
  const int length = snprintf(path, sizeof(path), "%s/%s.npy", folder, WEIGHT_NAMES[index]);
  if (length < 0 || (size_t)length >= sizeof(path)) {
    fprintf(stderr, "digits: the path of the weights is too long: %s\n", folder);
    return false;
  }
  npy_array_t array;
  if (!npy_read(path, &array, message)) {
    fprintf(stderr, "digits: %s\n", message);
    return false;
  }
  const int64_t *shape = WEIGHT_SHAPES[index].shape;
  const uint32_t rank = WEIGHT_SHAPES[index].rank;
  bool good = array.kind == 'f' && array.item_size == 4 && array.rank == rank;
  for (uint32_t i = 0; good && i < rank; i++) good = array.shape[i] == shape[i];
  good = good && (rank < 2 || array.strides[rank - 1] == 1);
  if (!good) fprintf(stderr, "digits: %s: not the float32 array that the network needs\n", path);
  wia_tensor_t *weight = &network->weights[index];
  good = good && check(wia_allocate_tensor(network->context, shape, rank, WIA_FLOAT32, weight)) &&
         check(wia_write_tensor(*weight, array.data, (uint64_t)array.count * 4, NULL));
  npy_free(&array);
  return good;
}

bool network_open(network_t *network, const char *device, const char *weights_folder) {
  memset(network, 0, sizeof(*network));
  int32_t id = 0;
  if (!check(wia_find_device(device, &id))) return false;
  if (!check(wia_create_context(&network->context, id))) return false;
  for (uint32_t i = 0; i < WEIGHT_COUNT; i++)
    if (!load_weight(network, weights_folder, i)) return false;
  const float scale = 1.0f / 16;
  return check(wia_allocate_tensor(network->context, NULL, 0, WIA_FLOAT32, &network->scale)) &&
         check(wia_write_tensor(network->scale, &scale, sizeof(scale), NULL));
}

void network_close(network_t *network) {
  for (uint32_t i = 0; i < WEIGHT_COUNT; i++)
    if (network->weights[i]) check(wia_destroy_tensor(network->weights[i]));
  if (network->scale) check(wia_destroy_tensor(network->scale));
  if (network->context) check(wia_destroy_context(network->context));
}

/* The tensors between the layers, for a number of images. */
enum { CAST, SCALED, CONV1, POOL1, CONV2, POOL2, FLAT, LOGITS, DIGITS, STEP_COUNT };

static bool allocate_steps(const network_t *network, int64_t count, wia_tensor_t *steps) {
  const struct {
    uint32_t rank;
    int64_t shape[3];
    wia_dtype_t dtype;
  } table[STEP_COUNT] = {
      [CAST] = {4, {1, 8, 8}, WIA_FLOAT32},   [SCALED] = {4, {1, 8, 8}, WIA_FLOAT32},
      [CONV1] = {4, {16, 8, 8}, WIA_FLOAT32}, [POOL1] = {4, {16, 4, 4}, WIA_FLOAT32},
      [CONV2] = {4, {32, 4, 4}, WIA_FLOAT32}, [POOL2] = {4, {32, 2, 2}, WIA_FLOAT32},
      [FLAT] = {2, {128}, WIA_FLOAT32},       [LOGITS] = {2, {CLASS_COUNT}, WIA_FLOAT32},
      [DIGITS] = {1, {0}, WIA_INT64},
  };
  for (uint32_t i = 0; i < STEP_COUNT; i++) {
    int64_t shape[4] = {count, table[i].shape[0], table[i].shape[1], table[i].shape[2]};
    const uint32_t rank = table[i].rank;
    if (!check(wia_allocate_tensor(network->context, shape, rank, table[i].dtype, &steps[i])))
      return false;
  }
  return true;
}

/* The network itself. ReLU works in place. */
static bool run_layers(const network_t *network, wia_tensor_t pixels, const wia_tensor_t *x) {
  wia_context_t *ctx = network->context;
  const wia_tensor_t *w = network->weights;
  wia_conv_config_t conv = WIA_CONV_CONFIG_INIT;
  for (uint32_t i = 0; i < 4; i++) conv.padding[i] = 1;
  wia_max_pool2d_config_t pool = WIA_MAX_POOL2D_CONFIG_INIT;
  pool.kernel[0] = pool.kernel[1] = 2;
  wia_argmax_config_t last_axis = WIA_ARGMAX_CONFIG_INIT;
  last_axis.axis = -1;
  return check(wia_cast(ctx, pixels, x[CAST], NULL)) &&
         check(wia_mul(ctx, x[CAST], network->scale, x[SCALED], NULL)) &&
         check(wia_conv2d(ctx, x[SCALED], w[0], w[1], x[CONV1], &conv, NULL)) &&
         check(wia_relu(ctx, x[CONV1], x[CONV1], NULL)) &&
         check(wia_max_pool2d(ctx, x[CONV1], x[POOL1], &pool, NULL)) &&
         check(wia_conv2d(ctx, x[POOL1], w[2], w[3], x[CONV2], &conv, NULL)) &&
         check(wia_relu(ctx, x[CONV2], x[CONV2], NULL)) &&
         check(wia_max_pool2d(ctx, x[CONV2], x[POOL2], &pool, NULL)) &&
         check(wia_reshape(ctx, x[POOL2], x[FLAT], NULL)) &&
         check(wia_linear(ctx, x[FLAT], w[4], w[5], x[LOGITS], NULL)) &&
         check(wia_argmax(ctx, x[LOGITS], x[DIGITS], &last_axis, NULL));
}

/* The images, as they lie in the file: one row of elements of their own dtype. */
static bool upload_images(const network_t *network, const npy_array_t *images,
                          wia_tensor_t *out_elements) {
  wia_dtype_t dtype = WIA_DTYPE_NONE;
  for (size_t i = 0; i < sizeof(DTYPES) / sizeof(DTYPES[0]); i++)
    if (DTYPES[i].kind == images->kind && DTYPES[i].item_size == images->item_size)
      dtype = DTYPES[i].dtype;
  const uint64_t size = (uint64_t)images->count * images->item_size;
  return check(wia_allocate_tensor(network->context, &images->count, 1, dtype, out_elements)) &&
         check(wia_write_tensor(*out_elements, images->data, size, NULL));
}

/* Classifies count images from start on, seen as [count, 1, 8, 8]. */
static bool classify_batch(const network_t *network, const npy_array_t *images,
                           wia_tensor_t elements, int64_t start, int64_t count, float *out_logits,
                           int64_t *out_digits) {
  const int64_t shape[4] = {count, 1, IMAGE_SIDE, IMAGE_SIDE};
  const int64_t strides[4] = {images->strides[0], 0, images->strides[1], images->strides[2]};
  wia_tensor_t pixels = NULL, steps[STEP_COUNT] = {NULL};
  const bool done =
      check(wia_view_tensor(elements, start * strides[0], shape, strides, 4, &pixels)) &&
      allocate_steps(network, count, steps) && run_layers(network, pixels, steps) &&
      check(wia_read_tensor(steps[LOGITS], out_logits,
                            (uint64_t)count * CLASS_COUNT * sizeof(float), NULL)) &&
      check(wia_read_tensor(steps[DIGITS], out_digits, (uint64_t)count * sizeof(int64_t), NULL));
  for (uint32_t i = 0; i < STEP_COUNT; i++)
    if (steps[i]) check(wia_destroy_tensor(steps[i]));
  if (pixels) check(wia_destroy_tensor(pixels));
  return done;
}

bool network_classify(const network_t *network, const npy_array_t *images, float *out_logits,
                      int64_t *out_digits) {
  wia_tensor_t elements = NULL;
  bool done = upload_images(network, images, &elements);
  const int64_t count = images->shape[0];
  for (int64_t start = 0; done && start < count; start += BATCH) {
    const int64_t size = count - start < BATCH ? count - start : BATCH;
    done = classify_batch(network, images, elements, start, size, out_logits + start * CLASS_COUNT,
                          out_digits + start);
  }
  if (elements) check(wia_destroy_tensor(elements));
  return done;
}
