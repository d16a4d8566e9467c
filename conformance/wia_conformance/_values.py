"""Inputs and expected results of calls, from a seed and the catalog's semantics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from wia.catalog import Operation, Sample, allowed_error, evaluate, make_inputs

__all__ = ["Call", "make_call", "numpy_dtype"]

_MINIMUM_EXPONENTS = {"float64": -1022, "float32": -126, "float16": -14, "bfloat16": -126}

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Call:
    """What goes into one call and what has to come out.

    `values` has every attribute and scalar. `before` is the output as it was, which counts where
    `reads_output`. `allowed` is the largest error of each element.
    """

    operation: Operation
    inputs: list[Array | None]
    values: dict[str, Any]
    reads_output: bool
    before: Array | None
    expected: Array
    allowed: Array


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype of numpy or ml_dtypes of that name."""
    return np.dtype(name if hasattr(np, name) else getattr(ml_dtypes, name))


def make_call(
    operation: Operation,
    dtype: str,
    shapes: tuple[Shape | None, ...],
    given: Mapping[str, Any],
    fills: tuple[str, ...],
    seed: int = 0,
    repeat: bool = False,
) -> Call:
    """The call of a case. With `repeat` inputs are constant along their first dimension."""
    inputs = _make_inputs(operation, dtype, shapes, fills, seed)
    if repeat:
        inputs = [_repeat(array) for array in inputs]
    values = {**operation.defaults(), **given}
    if "dtype" in values:
        values["dtype"] = numpy_dtype(values["dtype"])
    read_with = operation.output.read_with
    before, more = None, {}
    if read_with and values[read_with] != 0:
        others = _make_inputs(operation, dtype, shapes, fills, seed + 1)
        before = evaluate(np, operation, others, {**values, read_with: 0.0})
        more = {operation.output.name: before}
    expected = evaluate(np, operation, inputs, values, before).copy()
    return Call(
        operation=operation,
        inputs=inputs,
        values=values,
        reads_output=bool(more),
        before=before,
        expected=expected,
        allowed=allowed_error(np, operation, inputs, {**values, **more}, expected),
    )


def _make_inputs(
    operation: Operation,
    dtype: str,
    shapes: tuple[Shape | None, ...],
    fills: tuple[str, ...],
    seed: int,
) -> list[Array | None]:
    dtypes = [numpy_dtype(dtype)] * len(shapes)
    if not operation.same_dtype and dtype in ("int8", "uint8"):
        dtypes[2] = np.dtype(np.int32)  # the bias of sums of products
    known = tuple("normal" if fill == "denormal" else fill for fill in fills)
    sample = Sample(shapes=shapes, fills=known)
    entry = replace(operation, samples=(sample,))
    with np.errstate(all="ignore"):
        arrays = make_inputs(np, entry, sample, tuple(dtypes), seed)
        for position, fill in enumerate(fills):
            if fill == "denormal":
                arrays[position] = _shrink(arrays[position])
    return arrays


def _shrink(array: Array) -> Array:
    """Normal numbers times the smallest one that is not denormal: most of them are, then."""
    smallest = 2.0 ** _MINIMUM_EXPONENTS[array.dtype.name]
    return (array.astype(np.float64) * smallest).astype(array.dtype)


def _repeat(array: Array | None) -> Array | None:
    if array is None or array.ndim == 0 or array.shape[0] < 2:
        return array
    return np.ascontiguousarray(np.broadcast_to(array[:1], array.shape))
