"""Arithmetic of quantized products: exact sums of integers, then one rounding.

The way back to 8 bits is spelled out to the bit, so that all drivers agree: the factor and its
product with the sum are computed in float32, then rounded to the nearest whole number, ties to the
even one, and clamped after the zero point was added.
"""

from __future__ import annotations

from typing import Any

from ._numeric import limits


def shift(np: Any, array: Any, zero: Any, axis: int | None = None) -> Any:
    """The elements as int64 without their zero point: one, or one along an axis."""
    wide = array.astype(np.int64)
    if zero is None:
        return wide
    zero = zero.astype(np.int64)
    if zero.ndim == 1 and axis is not None:
        shape = [1] * array.ndim
        shape[axis] = zero.size
        zero = zero.reshape(shape)
    return wide - zero


def wrap(np: Any, total: Any) -> Any:
    """Sums as an int32 accumulator has them."""
    return total.astype(np.int32)


def requantize(np: Any, total: Any, factor: Any, zero: Any) -> Any:
    """int32 sums times a float32 factor, rounded to the dtype of the zero point."""
    scaled = np.rint(total.astype(np.float32) * factor).astype(np.float64)
    low, high = limits(np, zero.dtype)
    shifted = np.where(np.isnan(scaled), 0.0, scaled) + float(zero.reshape(()))
    return np.clip(shifted, low, high).astype(zero.dtype)
