/* Rules of losses, steps of optimisers, draws, and gradients. */
#include "infer.h"

/* What the rule says of an output behind the first one. */
static wia_shape_t output_of(wia_op_t op, uint32_t index, const wia_shape_t *inputs,
                             uint32_t count) {
  wia_shape_t shapes[WIA_MAX_OPERANDS] = {{.rank = 99}};
  wia_op_info_t info = WIA_OP_INFO_INIT;
  CHECK_STATUS(wia_get_op_info(op, &info), WIA_STATUS_OK);
  CHECK(index < info.output_count);
  CHECK_STATUS(wia_infer_outputs(op, inputs, count, NULL, 0, shapes, info.output_count),
               WIA_STATUS_OK);
  return shapes[index];
}

static bool is_shape(wia_shape_t got, wia_shape_t expected) {
  return got.dtype == expected.dtype && got.rank == expected.rank &&
         memcmp(got.shape, expected.shape, got.rank * sizeof got.shape[0]) == 0;
}

static void test_losses(void) {
  const wia_shape_t x = S(FLOAT16, 2, 3);
  for (int64_t reduction = 0; reduction < 2; reduction++)
    GIVES(MSE_LOSS, R0(FLOAT16), LIST(x, x), WITH(INTS("reduction", reduction)));
  GIVES(MSE_LOSS, x, LIST(x, x), WITH(INTS("reduction", 2)));
  GIVES(KL_DIV_LOSS, R0(FLOAT64), LIST(R0(FLOAT64), R0(FLOAT64)), NO_ATTRIBUTES);
  GIVES(HUBER_LOSS, S(FLOAT32, 0, 3), LIST(S(FLOAT32, 0, 3), S(FLOAT32, 0, 3)),
        WITH(INTS("reduction", 2)));
  REFUSES(L1_LOSS, "l1_loss: target has the shape [3, 2]; expected [2, 3]",
          LIST(x, S(FLOAT16, 3, 2)), NO_ATTRIBUTES);
  REFUSES(L1_LOSS, "target has the shape []; expected [2, 3]", LIST(x, R0(FLOAT16)), NO_ATTRIBUTES);
}

static void test_class_losses(void) {
  const wia_shape_t x = S(FLOAT32, 2, 3, 5, 7), target = S(INT32, 2, 5, 7);
  GIVES(NLL_LOSS, R0(FLOAT32), LIST(x, target), NO_ATTRIBUTES);
  GIVES(NLL_LOSS, S(FLOAT32, 2, 5, 7), LIST(x, target, S(FLOAT32, 3)), WITH(INTS("reduction", 2)));
  GIVES(NLL_LOSS, S(FLOAT32, 5), LIST(S(FLOAT32, 5, 3), S(INT64, 5)), WITH(INTS("reduction", 2)));
  GIVES(NLL_LOSS, R0(FLOAT32), LIST(S(FLOAT32, 0, 3), S(INT64, 0)), NO_ATTRIBUTES);
  REFUSES(NLL_LOSS, "input has the shape [5], of rank 1; expected rank 2 or more",
          LIST(S(FLOAT32, 5), S(INT64, 5)), NO_ATTRIBUTES);
  REFUSES(NLL_LOSS, "target has the shape [2, 3, 7]; expected [2, 5, 7]",
          LIST(x, S(INT64, 2, 3, 7)), NO_ATTRIBUTES);
  REFUSES(NLL_LOSS, "weight has the shape [5]; expected [3]", LIST(x, target, S(FLOAT32, 5)),
          NO_ATTRIBUTES);
  GIVES(SOFTMAX_CROSS_ENTROPY, R0(FLOAT32), LIST(x, target), NO_ATTRIBUTES);
  const wia_shape_t inputs[] = {x, target};
  CHECK(is_shape(output_of(WIA_OP_SOFTMAX_CROSS_ENTROPY, 1, inputs, 2), x));
  REFUSES(SOFTMAX_CROSS_ENTROPY, "weight has the shape []; expected [3]",
          LIST(x, target, R0(FLOAT32)), NO_ATTRIBUTES);
}

static void test_similarity(void) {
  const wia_shape_t x = S(BFLOAT16, 2, 3, 5);
  GIVES(COSINE_SIMILARITY, S(BFLOAT16, 2, 5), LIST(x, x), NO_ATTRIBUTES);
  GIVES(COSINE_SIMILARITY, S(BFLOAT16, 3, 5), LIST(x, x), WITH(INTS("axis", -3)));
  GIVES(COSINE_SIMILARITY, S(BFLOAT16, 2, 3), LIST(x, x), WITH(INTS("axis", 2)));
  GIVES(COSINE_SIMILARITY, R0(FLOAT32), LIST(S(FLOAT32, 0), S(FLOAT32, 0)), WITH(INTS("axis", 0)));
  REFUSES(COSINE_SIMILARITY, "b has the shape [2, 3]; expected [2, 3, 5]",
          LIST(x, S(BFLOAT16, 2, 3)), NO_ATTRIBUTES);
  REFUSES(COSINE_SIMILARITY, "axis is 3; a has rank 3, so expected -3 to 2", LIST(x, x),
          WITH(INTS("axis", 3)));
  REFUSES(COSINE_SIMILARITY, "axis is 1, but a has rank 0", LIST(R0(FLOAT32), R0(FLOAT32)),
          NO_ATTRIBUTES);
}

static void test_steps(void) {
  const wia_shape_t x = S(FLOAT32, 33, 0), other = S(FLOAT32, 33), inputs[] = {x, x, x, x};
  GIVES(SGD_STEP, R0(FLOAT64), LIST(R0(FLOAT64), R0(FLOAT64)), NO_ATTRIBUTES);
  GIVES(ADAM_STEP, x, LIST(x, x, x, x), NO_ATTRIBUTES);
  for (uint32_t i = 1; i < 3; i++) CHECK(is_shape(output_of(WIA_OP_ADAM_STEP, i, inputs, 4), x));
  CHECK(is_shape(output_of(WIA_OP_MOMENTUM_STEP, 1, inputs, 3), x));
  REFUSES(SGD_STEP, "gradient has the shape [33]; expected [33, 0]", LIST(x, other), NO_ATTRIBUTES);
  REFUSES(ADAMW_STEP, "adamw_step: square has the shape [33]; expected [33, 0]",
          LIST(x, x, x, other), NO_ATTRIBUTES);
}

static void test_draws(void) {
  GIVES(MULTINOMIAL, S(INT64, 3, 33), LIST(S(FLOAT32, 3, 5)), WITH(INTS("count", 33)));
  GIVES(MULTINOMIAL, S(INT64, 0, 1), LIST(S(FLOAT64, 0, 5)), NO_ATTRIBUTES);
  REFUSES(MULTINOMIAL, "of rank 1; expected rank 2", LIST(S(FLOAT32, 3)), NO_ATTRIBUTES);
  REFUSES(MULTINOMIAL, "of rank 0; expected rank 2", LIST(R0(FLOAT32)), NO_ATTRIBUTES);
  REFUSES(MULTINOMIAL, "whose size in bytes overflows", LIST(S(FLOAT32, INT64_MAX, 0)),
          WITH(INTS("count", 2)));
}

static void test_sum_to(void) {
  const wia_shape_t x = S(FLOAT32, 2, 3, 33);
  GIVES(SUM_TO, S(FLOAT32, 3, 1), LIST(x), WITH(INTS("shape", 3, 1)));
  GIVES(SUM_TO, x, LIST(x), WITH(INTS("shape", 2, 3, 33)));
  const wia_attribute_t nothing = {.name = "shape", .type = WIA_ATTRIBUTE_INT64};
  GIVES(SUM_TO, R0(FLOAT32), LIST(x), WITH(nothing));
  GIVES(SUM_TO, S(FLOAT32, 1), LIST(S(FLOAT32, 0)), WITH(INTS("shape", 1)));
  REFUSES(SUM_TO, "sum_to: input has the shape [2, 3, 33], which [2, 33] doesn't broadcast to",
          LIST(x), WITH(INTS("shape", 2, 33)));
  REFUSES(SUM_TO, "which [1, 2, 3, 33] doesn't broadcast to", LIST(x),
          WITH(INTS("shape", 1, 2, 3, 33)));
  REFUSES(SUM_TO, "which [33] doesn't broadcast to", LIST(S(FLOAT32, 2, 1)),
          WITH(INTS("shape", 33)));
  REFUSES(SUM_TO, "no shape is given", LIST(x), NO_ATTRIBUTES);
}

static void test_gradients_of_conv(void) {
  const wia_shape_t x = S(FLOAT64, 2, 3, 7, 9), w = S(FLOAT64, 5, 3, 3, 2);
  const wia_shape_t grad = S(FLOAT64, 2, 5, 4, 10);
  GIVES(CONV2D_INPUT_GRADIENT, x, LIST(grad, w),
        WITH(INTS("shape", 2, 3, 7, 9), INTS("stride", 2, 1), INTS("padding", 1, 0, 1, 2)));
  GIVES(CONV2D_WEIGHT_GRADIENT, w, LIST(grad, x),
        WITH(INTS("shape", 5, 3, 3, 2), INTS("stride", 2, 1), INTS("padding", 1, 0, 1, 2)));
  REFUSES(CONV2D_INPUT_GRADIENT,
          "conv2d_input_gradient: grad has the shape [2, 5, 4, 10]; expected that of the output, "
          "[2, 5, 5, 8]",
          LIST(grad, w), WITH(INTS("shape", 2, 3, 7, 9)));
  REFUSES(CONV2D_WEIGHT_GRADIENT, "expected that of the output, [2, 5, 5, 8]", LIST(grad, x),
          WITH(INTS("shape", 5, 3, 3, 2)));
  /* The forward rule names its operands: what was asked for is called shape. */
  REFUSES(CONV2D_INPUT_GRADIENT, "shape has the shape [2, 3, 7], of rank 3; expected rank 4",
          LIST(grad, w), WITH(INTS("shape", 2, 3, 7)));
  REFUSES(CONV2D_WEIGHT_GRADIENT, "shape has the shape [5, 3], of rank 2; expected rank 4",
          LIST(grad, x), WITH(INTS("shape", 5, 3)));
  REFUSES(CONV2D_INPUT_GRADIENT, "no shape is given", LIST(grad, w), NO_ATTRIBUTES);
  REFUSES(CONV2D_WEIGHT_GRADIENT, "no shape is given", LIST(grad, x), NO_ATTRIBUTES);
}

static void test_gradients_of_pools(void) {
  const wia_shape_t x = S(FLOAT32, 1, 2, 4, 6), grad = S(FLOAT32, 1, 2, 2, 3);
  const wia_attribute_t kernel = INTS("kernel", 2, 2);
  GIVES(MAX_POOL2D_GRADIENT, x, LIST(grad, x), &kernel, 1);
  GIVES(AVG_POOL2D_GRADIENT, x, LIST(grad), WITH(kernel, INTS("shape", 1, 2, 4, 6)));
  REFUSES(MAX_POOL2D_GRADIENT, "grad has the shape [1, 2, 4, 6]; expected that of the output",
          LIST(x, x), &kernel, 1);
  REFUSES(AVG_POOL2D_GRADIENT,
          "grad has the shape [1, 2, 2, 3]; expected that of the output, [1, 2, 2, 2]", LIST(grad),
          WITH(kernel, INTS("shape", 1, 2, 4, 4)));
  REFUSES(MAX_POOL2D_GRADIENT, "input has the shape [4, 6], of rank 2; expected rank 4",
          LIST(grad, S(FLOAT32, 4, 6)), &kernel, 1);
  REFUSES(AVG_POOL2D_GRADIENT, "no shape is given", LIST(grad), &kernel, 1);
}

static void test_gradient_of_gather(void) {
  const wia_shape_t grad = S(FLOAT32, 3, 2, 3, 2), indices = S(INT64, 2, 3);
  GIVES(GATHER_GRADIENT, S(FLOAT32, 3, 4, 2), LIST(grad, indices),
        WITH(INTS("shape", 3, 4, 2), INTS("axis", 1)));
  GIVES(GATHER_GRADIENT, S(FLOAT32, 5, 33), LIST(S(FLOAT32, 33), R0(INT32)),
        WITH(INTS("shape", 5, 33)));
  REFUSES(GATHER_GRADIENT, "expected that of the output, [2, 3, 4, 2]", LIST(grad, indices),
          WITH(INTS("shape", 3, 4, 2)));
  REFUSES(GATHER_GRADIENT, "axis is 2; shape has rank 1, so expected -1 to 0", LIST(grad, indices),
          WITH(INTS("shape", 3), INTS("axis", 2)));
  REFUSES(GATHER_GRADIENT, "no shape is given", LIST(grad, indices), NO_ATTRIBUTES);
}

int main(void) {
  test_losses();
  test_class_losses();
  test_similarity();
  test_steps();
  test_draws();
  test_sum_to();
  test_gradients_of_conv();
  test_gradients_of_pools();
  test_gradient_of_gather();
  return CHECK_DONE();
}
