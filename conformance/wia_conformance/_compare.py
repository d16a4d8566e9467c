"""Whether a result is what was expected."""

from __future__ import annotations

from typing import Any

import numpy as np

from wia_conformance._values import Call

__all__ = ["find_difference"]

Array = np.ndarray[Any, Any]

# They copy elements, so that every bit has to arrive.
_COPIES = (
    "broadcast",
    "concat",
    "copy",
    "gather",
    "pad",
    "reshape",
    "slice",
    "transpose",
    "where",
)
# Rounded once at most: the sign of a zero is told. A maximum of zeros may have either.
_SIGNED_ZEROS = (*_COPIES, "cast", "neg", "relu")
_TOLERANT = ("float64", "float32", "float16", "bfloat16")


def find_difference(call: Call, result: Array) -> str:
    """What is wrong with a result; "" if nothing is.

    Integers, copies and dtypes without a tolerance are equal bit by bit. Floats are as near as the
    catalog says, and NaN or infinite where the expected element is.
    """
    expected = call.expected
    if call.operation.name in _COPIES or expected.dtype.name not in _TOLERANT:
        wrong = _bytes_of(result) != _bytes_of(expected)
        return _describe(call, result, wrong.any(axis=-1).reshape(expected.shape))
    wide, want = result.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        error = abs(wide - want)
    same = (wide == want) | (np.isnan(wide) & np.isnan(want))
    good = same | (np.isfinite(want) & (error <= call.allowed))
    if call.operation.name in _SIGNED_ZEROS:
        good &= (want != 0) | (np.signbit(wide) == np.signbit(want))
    return _describe(call, result, ~good)


def _bytes_of(array: Array) -> Array:
    """The bytes of each element, in a last dimension of their own."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).reshape(flat.size, array.dtype.itemsize)


def _describe(call: Call, result: Array, wrong: Array) -> str:
    count = int(wrong.sum())
    if count == 0:
        return ""
    index = _worst(call, result, wrong)
    text = (
        f"{count} of {wrong.size} elements are wrong; the worst is at {list(index)}: expected "
        f"{call.expected[index]!s}, got {result[index]!s}"
    )
    if call.expected.dtype.name in _TOLERANT:
        text += f", where an error of {call.allowed[index]:.3g} is allowed"
    return f"{text}."


def _worst(call: Call, result: Array, wrong: Array) -> tuple[int, ...]:
    """The index of the wrong element that is farthest off."""
    with np.errstate(all="ignore"):
        kind = np.complex128 if result.dtype.kind == "c" else np.float64
        error: Array = abs(result.astype(kind) - call.expected.astype(kind))
    # What is not a number is as wrong as can be, and what is right doesn't count.
    score = np.where(wrong, np.where(np.isnan(error), np.inf, error), -1.0)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(score)), score.shape))
