"""Elements of bool, integers, float32 and float64 by the codes of their dtypes.

An element is read as float64, uint64 or int64, whichever holds all values of its dtype, and rounded
once when it is written.
"""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._dtypes import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
)
from wia_npu.kernels.common import serial

__all__ = ["bytes_of", "float_at", "integer_at", "write_float", "write_low_bits", "write_number"]


@serial
def float_at(code: Any, x: Any) -> Any:
    """An element of float32 or float64."""
    if code == FLOAT32:
        return numba.float64(pointer(x, numba.float32)[0])
    return pointer(x, numba.float64)[0]


@serial
def integer_at(code: Any, x: Any) -> Any:
    """An element of any integer dtype but uint64."""
    value = numba.int64(0)
    if code in (BOOL, UINT8):
        value = numba.int64(pointer(x, numba.uint8)[0])
    elif code == UINT16:
        value = numba.int64(pointer(x, numba.uint16)[0])
    elif code == UINT32:
        value = numba.int64(pointer(x, numba.uint32)[0])
    elif code == INT8:
        value = numba.int64(pointer(x, numba.int8)[0])
    elif code == INT16:
        value = numba.int64(pointer(x, numba.int16)[0])
    elif code == INT32:
        value = numba.int64(pointer(x, numba.int32)[0])
    elif code == INT64:
        value = pointer(x, numba.int64)[0]
    return value


@serial
def write_low_bits(code: Any, y: Any, value: Any) -> None:
    """Writes the low bits of an int64 to an element of an integer dtype."""
    if code in (UINT8, INT8):
        pointer(y, numba.uint8)[0] = numba.uint8(value)
    elif code in (UINT16, INT16):
        pointer(y, numba.uint16)[0] = numba.uint16(value)
    elif code in (UINT32, INT32):
        pointer(y, numba.uint32)[0] = numba.uint32(value)
    else:
        pointer(y, numba.int64)[0] = value


@serial
def write_number(code: Any, y: Any, value: Any) -> None:
    """Writes an int64 or uint64."""
    if code == FLOAT32:
        pointer(y, numba.float32)[0] = numba.float32(value)
    elif code == FLOAT64:
        pointer(y, numba.float64)[0] = numba.float64(value)
    elif code == BOOL:
        pointer(y, numba.uint8)[0] = numba.uint8(value != 0)
    else:
        write_low_bits(code, y, numba.int64(value))


@serial
def _clamped(x: Any, code: Any) -> Any:
    """Rounded toward zero; beyond the range of an integer dtype its nearest end; 0 for NaN."""
    if x != x:
        return numba.int64(0)
    if code == UINT64:
        # As int64, whose bits are those of the uint64.
        if x >= 18446744073709551616.0:
            return numba.int64(-1)
        return numba.int64(numba.uint64(x)) if x > 0.0 else numba.int64(0)
    bits = 8
    if code in (UINT16, INT16):
        bits = 16
    elif code in (UINT32, INT32):
        bits = 32
    elif code == INT64:
        bits = 64
    signed = code >= INT8
    behind = 2.0 ** (bits - 1 if signed else bits)
    low = -behind if signed else 0.0
    if x < low:
        return numba.int64(low)
    if x >= behind:
        most = numba.int64(9223372036854775807)
        return most if bits == 64 else numba.int64(behind) - 1
    return numba.int64(x)


@serial
def write_float(code: Any, y: Any, x: Any) -> None:
    """Writes a float64."""
    if code == FLOAT32:
        pointer(y, numba.float32)[0] = numba.float32(x)
    elif code == FLOAT64:
        pointer(y, numba.float64)[0] = x
    elif code == BOOL:
        pointer(y, numba.uint8)[0] = numba.uint8(x != 0.0)
    else:
        write_low_bits(code, y, _clamped(x, code))


@serial
def bytes_of(code: Any) -> Any:
    """The bytes of an element."""
    if code in (BOOL, UINT8, INT8):
        return 1
    if code in (UINT16, INT16):
        return 2
    if code in (UINT32, INT32, FLOAT32):
        return 4
    return 8
