"""Inputs and expected results of calls, from a seed and the catalog's semantics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import ml_dtypes
import numpy as np

from wia.catalog import Operation, Sample, allowed_error, evaluate, input_dtypes, make_inputs

__all__ = ["SPOILT", "Call", "input_name", "is_packed", "make_call", "numpy_dtype", "packed_bits"]

_MINIMUM_EXPONENTS = {"float64": -1022, "float32": -126, "float16": -14, "bfloat16": -126}

_OF_4_BITS = ("float4_e2m1fn", "int4", "uint4")
_OF_2_BITS = ("int2", "uint2")

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Call:
    """What goes into one call and what has to come out.

    `values` has every attribute and scalar. `before` is the output as it was, which counts where
    `reads_output`. What is of outputs is a tuple with one array for each of them.
    """

    operation: Operation
    inputs: list[Array | None]
    values: dict[str, Any]
    reads_output: bool
    before: tuple[Array, ...] | None
    expected: tuple[Array, ...]

    @cached_property
    def allowed(self) -> tuple[Array, ...]:
        """The largest errors of each element; lists of cases don't need them."""
        return allowed_error(
            np, self.operation, self.inputs, self.values, self.expected, self.before
        )


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype of numpy or ml_dtypes of that name."""
    return np.dtype(name if hasattr(np, name) else getattr(ml_dtypes, name))


def is_packed(dtype: np.dtype[Any]) -> bool:
    """Whether devices have several elements of a dtype in a byte; in numpy each has its own."""
    return packed_bits(dtype) < 8


@cache
def packed_bits(dtype: np.dtype[Any]) -> int:
    """Bits of an element on a device, 8 where they are as many as in numpy, or more."""
    return 4 if dtype.name in _OF_4_BITS else 2 if dtype.name in _OF_2_BITS else 8


def input_name(operation: Operation, position: int) -> str:
    """The name of an input; those of a list have a number behind it."""
    if not operation.variadic:
        return operation.inputs[position].name
    return f"{operation.inputs[0].name}{position}"


def make_call(
    operation: Operation,
    dtype: str,
    shapes: tuple[Shape | None, ...],
    given: Mapping[str, Any],
    fills: tuple[str, ...],
    own: tuple[tuple[str, str], ...] = (),
    *,
    seed: int = 0,
    repeat: bool = False,
) -> Call:
    """The call of a case. With `repeat` inputs are constant along their first dimension."""
    sample = Sample(shapes=shapes, fills=fills, own=own)
    inputs = _make_inputs(operation, dtype, sample, seed)
    if repeat:
        inputs = [_repeat(array) for array in inputs]
    values = {**operation.defaults(), **given}
    if values.get("dtype") is not None:
        values["dtype"] = numpy_dtype(values["dtype"])
    before = None
    if read := operation.outputs_read(values):
        others = _make_inputs(operation, dtype, sample, seed + 1)
        unread = {operation.outputs[i].read_with: 0.0 for i in read}
        before = evaluate(np, operation, others, {**values, **unread})
    expected = tuple(result.copy() for result in evaluate(np, operation, inputs, values, before))
    return Call(
        operation=operation,
        inputs=inputs,
        values=values,
        reads_output=before is not None,
        before=before,
        expected=expected,
    )


def _make_inputs(
    operation: Operation,
    dtype: str,
    sample: Sample,
    seed: int,
) -> list[Array | None]:
    dtypes = [numpy_dtype(name) for name in input_dtypes(operation, dtype, sample)]
    known = tuple(_OWN_FILLS[fill][0] if fill in _OWN_FILLS else fill for fill in sample.fills)
    filled = replace(sample, fills=known)
    entry = replace(operation, samples=(filled,))
    with np.errstate(all="ignore"):
        arrays = make_inputs(np, entry, filled, tuple(dtypes), seed)
        for position, fill in enumerate(sample.fills):
            if fill in _OWN_FILLS:
                arrays[position] = _OWN_FILLS[fill][1](arrays[position])
    return arrays


def _shrink(array: Array) -> Array:
    """Normal numbers times the smallest one that is not denormal: most of them are, then."""
    smallest = 2.0 ** _MINIMUM_EXPONENTS[array.dtype.name]
    return (array.astype(np.float64) * smallest).astype(array.dtype)


def _spoil(array: Array) -> Array:
    """NaN, infinities and zeros of both signs for about one element in eight, one at least.

    No large numbers: where sums overflow depends on their order.
    """
    random = np.random.default_rng(array.size)
    odd = random.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0]), array.shape)
    chosen = np.asarray(random.random(array.shape) < 1 / 8)  # also of rank 0
    chosen.reshape(-1)[array.size // 2 : array.size // 2 + 1] = True
    return np.where(chosen, odd.astype(array.dtype), array)


_OWN_FILLS = {
    "denormal": ("normal", _shrink),
    "nonfinite": ("normal", _spoil),
    "nonfinite-definite": ("definite", _spoil),
    "nonfinite-positive": ("positive", _spoil),
    "nonfinite-share": ("0.05..0.95", _spoil),
}
"""Fills of the suite: what of the catalog they begin with, and what is made of it."""

SPOILT = {plain: fill for fill, (plain, change) in _OWN_FILLS.items() if change is _spoil}
"""By fill of the catalog, that with NaN and infinities in it."""


def _repeat(array: Array | None) -> Array | None:
    if array is None or array.ndim == 0 or array.shape[0] < 2:
        return array
    return np.ascontiguousarray(np.broadcast_to(array[:1], array.shape))
