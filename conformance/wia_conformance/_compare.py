"""Whether a result is what was expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wia.catalog import Tolerance
from wia_conformance._values import Call

__all__ = ["find_difference"]

Array = np.ndarray[Any, Any]

_TOLERANT = ("float64", "float32", "float16", "bfloat16")


@dataclass(frozen=True)
class _Pair:
    """A result and what it should be."""

    name: str
    result: Array
    expected: Array
    allowed: Array


def find_difference(call: Call, results: Sequence[Array]) -> str:
    """What is wrong with the results; "" if nothing is.

    Integers, copies and dtypes without a tolerance are equal bit by bit. Floats are as near as the
    catalog says, and NaN or infinite where the expected element is.
    """
    operation = call.operation
    count = len(call.expected)  # which may be fewer than the operation has
    entries = zip(operation.outputs[:count], operation.tolerances[:count], strict=True)
    arrays = zip(results, call.expected, call.allowed, strict=True)
    for (output, tolerance), given in zip(entries, arrays, strict=True):
        pair = _Pair(f"In the output {output.name} " if count > 1 else "", *given)
        if problem := _compare(pair, tolerance):
            return problem
    return ""


def _compare(pair: _Pair, tolerance: Tolerance) -> str:
    result, expected = pair.result, pair.expected
    if tolerance.bitwise or expected.dtype.name not in _TOLERANT:
        wrong = _bytes_of(result) != _bytes_of(expected)
        return _describe(pair, wrong.any(axis=-1).reshape(expected.shape))
    wide, want = result.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        error = abs(wide - want)
    same = (wide == want) | (np.isnan(wide) & np.isnan(want))
    good = same | (np.isfinite(want) & (error <= pair.allowed))
    if tolerance.signed_zeros:
        good &= (want != 0) | (np.signbit(wide) == np.signbit(want))
    return _describe(pair, ~good)


def _bytes_of(array: Array) -> Array:
    """The bytes of each element, in a last dimension of their own."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).reshape(flat.size, array.dtype.itemsize)


def _describe(pair: _Pair, wrong: Array) -> str:
    count = int(wrong.sum())
    if count == 0:
        return ""
    index = _worst(pair, wrong)
    text = (
        f"{pair.name}{count} of {wrong.size} elements are wrong; the worst is at {list(index)}: "
        f"expected {pair.expected[index]!s}, got {pair.result[index]!s}"
    )
    if pair.expected.dtype.name in _TOLERANT:
        text += f", where an error of {pair.allowed[index]:.3g} is allowed"
    return f"{text}."


def _worst(pair: _Pair, wrong: Array) -> tuple[int, ...]:
    """The index of the wrong element that is farthest off."""
    with np.errstate(all="ignore"):
        kind = np.complex128 if pair.result.dtype.kind == "c" else np.float64
        error: Array = abs(pair.result.astype(kind) - pair.expected.astype(kind))
    # What is not a number is as wrong as can be, and what is right doesn't count.
    score = np.where(wrong, np.where(np.isnan(error), np.inf, error), -1.0)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(score)), score.shape))
