/* dtype.h: element types. */
#ifndef WIA_DTYPE_H
#define WIA_DTYPE_H

#include "base.h"

WIA_BEGIN_DECLS

/* The one map of element types: X(constant, value, name, bits). The names are those of numpy and
 * ml_dtypes. Types below 8 bits are packed, low bits first, and each tensor starts on a byte. */
#define WIA_DTYPE_MAP(X)                                                                           \
  X(FLOAT64, 1, "float64", 64)                                                                     \
  X(FLOAT32, 2, "float32", 32)                                                                     \
  X(FLOAT16, 3, "float16", 16)                                                                     \
  X(BFLOAT16, 4, "bfloat16", 16)                                                                   \
  X(FLOAT8_E4M3FN, 5, "float8_e4m3fn", 8)                                                          \
  X(FLOAT8_E5M2, 6, "float8_e5m2", 8)                                                              \
  X(FLOAT8_E4M3FNUZ, 7, "float8_e4m3fnuz", 8)                                                      \
  X(FLOAT8_E5M2FNUZ, 8, "float8_e5m2fnuz", 8)                                                      \
  X(FLOAT8_E8M0FNU, 9, "float8_e8m0fnu", 8)                                                        \
  X(FLOAT4_E2M1FN, 10, "float4_e2m1fn", 4)                                                         \
  X(INT64, 11, "int64", 64)                                                                        \
  X(INT32, 12, "int32", 32)                                                                        \
  X(INT16, 13, "int16", 16)                                                                        \
  X(INT8, 14, "int8", 8)                                                                           \
  X(INT4, 15, "int4", 4)                                                                           \
  X(INT2, 16, "int2", 2)                                                                           \
  X(UINT64, 17, "uint64", 64)                                                                      \
  X(UINT32, 18, "uint32", 32)                                                                      \
  X(UINT16, 19, "uint16", 16)                                                                      \
  X(UINT8, 20, "uint8", 8)                                                                         \
  X(UINT4, 21, "uint4", 4)                                                                         \
  X(UINT2, 22, "uint2", 2)                                                                         \
  X(BOOL, 23, "bool", 8)                                                                           \
  X(COMPLEX64, 24, "complex64", 64)                                                                \
  X(COMPLEX128, 25, "complex128", 128)

#define WIA_DTYPE_ENUM_(constant, value, name, bits) WIA_##constant = value,
enum { WIA_DTYPE_NONE = 0, WIA_DTYPE_MAP(WIA_DTYPE_ENUM_) WIA_DTYPE_COUNT = 26 };
#undef WIA_DTYPE_ENUM_

/* The name of a dtype, "float32"; "none" for a value outside the map. */
WIA_API const char *wia_get_dtype_name(wia_dtype_t dtype);

/* Bits of one element; 0 for a value outside the map. */
WIA_API uint32_t wia_get_dtype_bits(wia_dtype_t dtype);

/* Finds a dtype by its exact name. Errors: INVALID_ARGUMENT for NULL, NOT_FOUND. */
WIA_API wia_status_t wia_find_dtype(const char *name, wia_dtype_t *out_dtype);

WIA_END_DECLS
#endif
