/* shape_quantized.h: zero points and scales, which belong to a tensor or to a row of it. */
#ifndef WIA__SHAPE_QUANTIZED_H
#define WIA__SHAPE_QUANTIZED_H

#include "shape.h"

/* That an input, if it is there, has one element; or one for each of count. */
wia_status_t wia__expect_one(const wia__infer_t *call, uint32_t index);
wia_status_t wia__expect_one_or_each(const wia__infer_t *call, uint32_t index, int64_t count);

/* That a zero point, if it is there, has the dtype of the input that it belongs to. */
wia_status_t wia__expect_zero_dtype(const wia__infer_t *call, uint32_t zero, uint32_t owner);

#endif
