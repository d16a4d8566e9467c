/* execute.c: any operation by its number, on handles or raw views. */
#include <string.h>

#include "run.h"
#include "shape.h"

/* Copies operands to the places that wia__call_t has for them. */
static wia_status_t place_operands(const wia__op_t *op, const void *inputs, uint32_t input_count,
                                   const void *outputs, uint32_t output_count, size_t size,
                                   void *out_operands) {
  if (input_count < op->min_input_count || input_count > op->max_input_count)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s has %u inputs; expected %u to %u", op->name,
                     input_count, op->min_input_count, op->max_input_count);
  if (output_count < op->min_output_count || output_count > op->output_count)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "%s has %u outputs; expected %u", op->name,
                     output_count, op->output_count);
  if (!inputs && input_count) return wia__null("inputs");
  if (!outputs) return wia__null("outputs");
  char *places = out_operands;
  memset(places, 0, (op->max_input_count + op->output_count) * size);
  if (input_count) memcpy(places, inputs, input_count * size);
  memcpy(places + op->max_input_count * size, outputs, output_count * size);
  return WIA_STATUS_OK;
}

static wia_status_t execute(wia_context_t *context, wia_op_t number, const wia_tensor_t *inputs,
                            uint32_t input_count, const wia_tensor_t *outputs,
                            uint32_t output_count, const wia_attribute_t *attributes,
                            uint32_t attribute_count, wia_stream_t *stream, wia__plan_t **out_plan,
                            wia_scalar_t *out_scalars) {
  const wia__op_t *op = NULL;
  wia_tensor_t operands[WIA_MAX_OPERANDS];
  wia_scalar_t words[WIA__MAX_WORDS];
  wia_status_t status = wia__resolve_op(number, &op);
  if (!status)
    status =
        place_operands(op, inputs, input_count, outputs, output_count, sizeof *operands, operands);
  if (!status)
    status = wia__words_of_attributes(op, attributes, attribute_count, words, out_scalars);
  if (status) return status;
  const wia__call_t call = {context, op, operands, NULL, words, out_scalars, stream};
  return out_plan ? wia__plan_call(&call, out_plan) : wia__run_call(&call);
}

WIA_API wia_status_t wia_execute(wia_context_t *context, wia_op_t op, const wia_tensor_t *inputs,
                                 uint32_t input_count, const wia_tensor_t *outputs,
                                 uint32_t output_count, const wia_attribute_t *attributes,
                                 uint32_t attribute_count, wia_stream_t *stream) {
  wia_scalar_t scalars[WIA__MAX_SCALARS];
  WIA__CALL(execute(context, op, inputs, input_count, outputs, output_count, attributes,
                    attribute_count, stream, NULL, scalars));
}

wia_status_t wia__plan_operation(wia_context_t *context, wia_op_t op, const wia_tensor_t *inputs,
                                 uint32_t input_count, const wia_tensor_t *outputs,
                                 uint32_t output_count, const wia_attribute_t *attributes,
                                 uint32_t attribute_count, wia_scalar_t *out_scalars,
                                 wia__plan_t **out_plan) {
  return execute(context, op, inputs, input_count, outputs, output_count, attributes,
                 attribute_count, NULL, out_plan, out_scalars);
}

static wia_status_t execute_views(wia_context_t *context, wia_op_t number, const wia_view_t *inputs,
                                  uint32_t input_count, const wia_view_t *outputs,
                                  uint32_t output_count, const wia_attribute_t *attributes,
                                  uint32_t attribute_count, wia_stream_t *stream) {
  const wia__op_t *op = NULL;
  wia_view_t operands[WIA_MAX_OPERANDS];
  wia_scalar_t words[WIA__MAX_WORDS], scalars[WIA__MAX_SCALARS];
  wia_status_t status = wia__resolve_op(number, &op);
  if (!status)
    status =
        place_operands(op, inputs, input_count, outputs, output_count, sizeof *operands, operands);
  if (!status) status = wia__words_of_attributes(op, attributes, attribute_count, words, scalars);
  if (status) return status;
  const wia__call_t call = {context, op, NULL, operands, words, scalars, stream};
  return wia__run_call(&call);
}

WIA_API wia_status_t wia_execute_views(wia_context_t *context, wia_op_t op,
                                       const wia_view_t *inputs, uint32_t input_count,
                                       const wia_view_t *outputs, uint32_t output_count,
                                       const wia_attribute_t *attributes, uint32_t attribute_count,
                                       wia_stream_t *stream) {
  WIA__CALL(execute_views(context, op, inputs, input_count, outputs, output_count, attributes,
                          attribute_count, stream));
}

/* -- matmul on plain arrays ---------------------------------------------------------------------- */

typedef struct matrix_t {
  int64_t shape[3], strides[3];
} matrix_t;

/* A batch of rows x columns matrices; transposed ones are seen through their strides. */
static wia_status_t make_matrix(const char *name, int64_t batch, int64_t batch_stride, int64_t rows,
                                int64_t columns, int64_t leading, uint32_t transposed,
                                matrix_t *out) {
  const int64_t width = transposed ? rows : columns; /* of a row as it is stored */
  if (leading == 0) leading = width > 1 ? width : 1;
  if (leading < width)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "ld%s is %lld; expected at least the %lld elements of a row", name,
                     (long long)leading, (long long)width);
  if (batch_stride < 0)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "stride_%s is %lld; expected 0 or more", name,
                     (long long)batch_stride);
  *out = (matrix_t){{batch, rows, columns},
                    {batch_stride, transposed ? 1 : leading, transposed ? leading : 1}};
  return WIA_STATUS_OK;
}

static wia_status_t matmul_strided(wia_context_t *context, const void *a, const void *b, void *c,
                                   const wia_matmul_dims_t *given, wia_stream_t *stream) {
  if (!given) return wia__null("dims");
  wia_matmul_dims_t dims = WIA_MATMUL_DIMS_INIT;
  wia_status_t status =
      wia__read_struct(given, &dims, sizeof dims, sizeof dims, "WIA_MATMUL_DIMS_INIT");
  if (status) return status;
  const int64_t batch = dims.batch ? dims.batch : 1;
  if (batch < 0 || dims.m < 0 || dims.n < 0 || dims.k < 0)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "m, n, k, batch are %lld, %lld, %lld, %lld; expected 0 or more",
                     (long long)dims.m, (long long)dims.n, (long long)dims.k, (long long)batch);
  int64_t stride_c = dims.stride_c;
  if (stride_c == 0 && __builtin_mul_overflow(dims.m, dims.ldc ? dims.ldc : dims.n, &stride_c))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "m * ldc overflows 63 bits");
  matrix_t ma, mb, mc;
  status = make_matrix("a", batch, dims.stride_a, dims.m, dims.k, dims.lda, dims.transpose_a, &ma);
  if (!status)
    status =
        make_matrix("b", batch, dims.stride_b, dims.k, dims.n, dims.ldb, dims.transpose_b, &mb);
  if (!status) status = make_matrix("c", batch, stride_c, dims.m, dims.n, dims.ldc, 0, &mc);
  if (status) return status;
  /* without a batch the matrices are plain ones, which every driver has a kernel for */
  const uint32_t skip = batch == 1;
  const wia_view_t inputs[] = {
      {(uint64_t)(uintptr_t)a, ma.shape + skip, ma.strides + skip, dims.dtype, 3 - skip},
      {(uint64_t)(uintptr_t)b, mb.shape + skip, mb.strides + skip, dims.dtype, 3 - skip}};
  const wia_view_t output = {(uint64_t)(uintptr_t)c, mc.shape + skip, mc.strides + skip,
                             wia__product_dtype(dims.dtype), 3 - skip};
  const wia_attribute_t scalars[] = {
      {.name = "alpha", .data = &dims.alpha, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1},
      {.name = "beta", .data = &dims.beta, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1}};
  return execute_views(context, WIA_OP_MATMUL, inputs, 2, &output, 1, scalars, 2, stream);
}

WIA_API wia_status_t wia_matmul_strided(wia_context_t *context, const void *a, const void *b,
                                        void *c, const wia_matmul_dims_t *dims,
                                        wia_stream_t *stream) {
  WIA__CALL(matmul_strided(context, a, b, c, dims, stream));
}
