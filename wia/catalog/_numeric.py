"""Arithmetic shared by the semantics: wide on the way, rounded once at the end.

Floats are computed in float64 and integers in int64 or uint64, both summed in a fixed order, so
that a result depends neither on strides nor on threads. Wrapping int64 to int32 at the end equals
accumulating in int32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

_SMALL = {"int4": 4, "int2": 2, "uint4": 4, "uint2": 2}
"""Bits of the integers that numpy itself doesn't have."""


class ScalarError(ValueError):
    """A scalar of the launch has a value that the dtype can't take."""


class OperandError(ValueError):
    """An element of an input has a value that the operation can't take."""


def is_integer(dtype: Any) -> bool:
    """Whether a numpy dtype is bool or an integer; other dtypes of ml_dtypes are floats here."""
    return bool(dtype.kind in "biu") or _is_small(dtype)


def _is_small(dtype: Any) -> bool:
    """Whether a numpy dtype is an integer of ml_dtypes."""
    return bool(dtype.kind == "V" and dtype.name in _SMALL)  # the name alone takes long


def is_unsigned(dtype: Any) -> bool:
    """Whether a numpy dtype is an unsigned integer."""
    return bool(dtype.kind == "u" or (dtype.kind == "V" and dtype.name.startswith("uint")))


def limits(np: Any, dtype: Any) -> tuple[int, int]:
    """The least and the largest value of an integer dtype."""
    if _is_small(dtype):
        bits = _SMALL[dtype.name]
        return (0, 2**bits - 1) if is_unsigned(dtype) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if dtype.kind == "b":
        return 0, 1
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def widen(np: Any, array: Any) -> Any:
    """The array in the dtype to compute in, row-major: float64, complex128, int64 or uint64."""
    if not is_integer(array.dtype):
        wide = np.complex128 if array.dtype.kind == "c" else np.float64
    else:
        wide = np.uint64 if is_unsigned(array.dtype) else np.int64
    # A single element counts as row-major under any stride, but numpy takes other loops for some.
    return np.array(array, wide, order="C", copy=True if array.size == 1 else None)


def narrow(np: Any, array: Any, dtype: Any) -> Any:
    """Rounds once to a dtype, to nearest even; integers wrap.

    ml_dtypes goes from float64 to its 16-bit types by way of float32, which would round twice:
    here the first step rounds to odd, after which the second gives the right result.
    """
    array = np.asarray(array)
    if _is_small(dtype):
        low, high = limits(np, dtype)
        return (((array.astype(np.int64) - low) & (high - low)) + low).astype(np.int8).astype(dtype)
    if array.dtype != np.float64 or is_integer(dtype) or dtype.char in "dfeFD":
        return array.astype(dtype)
    single = array.astype(np.float32)
    wrong = (single != array) & ~np.isnan(array)
    too_far = np.abs(single.astype(np.float64)) > np.abs(array)
    bits = single.view(np.uint32) - (wrong & too_far).astype(np.uint32)
    return (bits | wrong.astype(np.uint32)).view(np.float32).astype(dtype)


def product_dtype(np: Any, dtype: Any) -> Any:
    """The dtype of a sum of products: int32 for 8-bit integers, else that of the operands."""
    return np.dtype(np.int32) if is_integer(dtype) and dtype.itemsize == 1 else dtype


def scale(np: Any, factor: float, array: Any, name: str) -> Any:
    """A wide array times a scalar of the launch, which has to be whole for integers."""
    if not is_integer(array.dtype):
        return array * float(factor)
    if not (float(factor).is_integer() and abs(factor) < 2.0**63):
        raise ScalarError(f"{name} is {factor}; integer dtypes need a whole number below 2**63")
    return array * np.int64(factor)


def lowest(np: Any, dtype: Any) -> Any:
    """The value below all others, as a wide scalar."""
    return np.iinfo(dtype).min if is_integer(dtype) else -np.inf


def each(np: Any, function: Callable[..., float], *arrays: Any, undefined: float = math.nan) -> Any:
    """A function of Python floats on each element, in float64.

    Where it raises ValueError, as those of math do outside of their domain, the result is
    ``undefined``; where it overflows, infinite.
    """

    def call(*values: float) -> float:
        try:
            return function(*values)
        except ValueError:
            return math.nan if any(map(math.isnan, values)) else undefined
        except OverflowError:
            return math.inf

    wide = np.broadcast_arrays(*(widen(np, array) for array in arrays))
    flat = zip(*(array.ravel().tolist() for array in wide), strict=True)
    return np.array([call(*values) for values in flat], np.float64).reshape(wide[0].shape)


def element(np: Any, value: float, dtype: Any, name: str = "value") -> Any:
    """A scalar of the launch as an element. Raises ScalarError when an integer can't be that."""
    if not is_integer(dtype):
        return narrow(np, np.float64(value), dtype)
    least, largest = limits(np, dtype)
    if not (float(value).is_integer() and least <= value <= largest):
        raise ScalarError(
            f"{name} is {value}; {dtype.name} needs a whole number from {least} to {largest}"
        )
    return np.array(int(value)).astype(dtype)
