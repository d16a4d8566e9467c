/* shape_quantize.c: rules of quantization by scales and zero points. */
#include <inttypes.h>
#include <stddef.h>

#include "shape_quantized.h"

/* Scales (or zero points) of blocks: as many along the axis as there are blocks. */
static wia_status_t check_blocks(const wia__infer_t *call, uint32_t index, int64_t block) {
  wia_shape_t expected = call->inputs[0];
  uint32_t axis;
  const wia_status_t status = wia__read_axis(call, expected.rank, &axis);
  if (status) return status;
  expected.shape[axis] = expected.shape[axis] / block + (expected.shape[axis] % block != 0);
  return wia__expect_shape(call, index, expected.shape, expected.rank);
}

static wia_status_t check_parts(const wia__infer_t *call, uint32_t index, int64_t block) {
  const wia_shape_t *input = &call->inputs[0], *parts = &call->inputs[index];
  if (!wia__has_input(call, index)) return WIA_STATUS_OK;
  if (block) return check_blocks(call, index, block);
  if (parts->rank == 0 || (parts->rank == 1 && parts->shape[0] == 1)) return WIA_STATUS_OK;
  uint32_t axis;
  const wia_status_t status = wia__read_axis(call, input->rank, &axis);
  return status ? status : wia__expect_one_or_each(call, index, input->shape[axis]);
}

static wia_status_t check_all(const wia__infer_t *call, int64_t block) {
  const wia_shape_t *scale = &call->inputs[1];
  wia_status_t status = check_parts(call, 1, block);
  if (!status && wia__has_input(call, 2))
    status = wia__expect_shape(call, 2, scale->shape, scale->rank);
  return status;
}

wia_status_t wia__infer_quantize(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  wia_status_t status = check_all(call, wia__attribute(call, "block_size"));
  wia_dtype_t dtype = call->inputs[2].dtype;
  if (!status && !wia__has_input(call, 2)) status = wia__wanted_dtype(call, &dtype);
  if (status) return status;
  if (!(call->op->operand_dtypes[2] >> dtype & 1))
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "%s: the result would be %s; expected an integer of 16 bits or fewer or a "
                     "float of 8 or 4",
                     call->op->name, wia_get_dtype_name(dtype));
  return wia__set_output(call, dtype, input->shape, input->rank);
}

wia_status_t wia__infer_dequantize(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  wia_status_t status = check_all(call, wia__attribute(call, "block_size"));
  if (!status) status = wia__expect_zero_dtype(call, 2, 0);
  if (status) return status;
  return wia__set_output(call, call->inputs[1].dtype, input->shape, input->rank);
}

wia_status_t wia__infer_dynamic_quantize(const wia__infer_t *call) {
  const wia_shape_t *input = &call->inputs[0];
  wia_status_t status = wia__set_output(call, WIA_UINT8, input->shape, input->rank);
  if (!status) status = wia__set_output_at(call, 1, input->dtype, NULL, 0);
  return status ? status : wia__set_output_at(call, 2, WIA_UINT8, NULL, 0);
}

wia_status_t wia__infer_fake_quantize(const wia__infer_t *call) {
  const int64_t least = wia__attribute(call, "quant_min");
  const int64_t largest = wia__attribute(call, "quant_max");
  if (least > largest)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "fake_quantize: quant_min is %" PRId64 " and quant_max %" PRId64
                     "; expected the least first",
                     least, largest);
  const wia_status_t status = check_all(call, 0);
  return status ? status : wia__set_output_like(call, 0);
}
