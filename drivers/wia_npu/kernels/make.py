"""Tensors of one value, and series of numbers."""

from __future__ import annotations

import math
from typing import Any

import numba

from wia.driver.numba import scalar
from wia_npu._dtypes import BOOL, FLOAT32, INT8, INT64
from wia_npu._makes import KIND, SERIES, SPACE, START, STEP
from wia_npu.kernels.common import (
    INVALID_ARGUMENT,
    first_unit,
    offset_at,
    operand,
    part,
    serial,
    word,
)
from wia_npu.kernels.numbers import bytes_of, write_float, write_low_bits

__all__ = ["make"]


@serial
def _is_whole(x: Any, low: Any, behind: Any) -> Any:
    """Whether a number is whole and in a range; NaN isn't."""
    return low <= x < behind and math.floor(x) == x


@serial
def _fits(kind: Any, x: Any) -> Any:
    """Whether a number is an element of an integer dtype."""
    if kind == BOOL:
        return x == 0.0 or x == 1.0
    bits = 8 * bytes_of(kind)
    if kind >= INT8:
        behind = 2.0 ** (bits - 1)
        return _is_whole(x, -behind, behind)
    return _is_whole(x, 0.0, 2.0**bits)


@part
def make(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is an element. Integers of a series wrap."""
    kind, series = word(state, KIND), word(state, SERIES) != 0
    start, step = scalar(args, word(state, START)), scalar(args, word(state, STEP))
    whole = kind < FLOAT32
    if whole and series and not (_fits(INT64, start) and _fits(INT64, step)):
        return INVALID_ARGUMENT
    if whole and not series and not _fits(kind, start):
        return INVALID_ARGUMENT
    first = distance = numba.int64(0)
    if whole and series:
        first, distance = numba.int64(start), numba.int64(step)
    width = bytes_of(kind)
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        y = operand(state, args, 0) + width * offset_at(state, SPACE, 0, unit)
        place = offset_at(state, SPACE, 1, unit)
        if not series:
            write_float(kind, y, start)
        elif whole:
            write_low_bits(kind, y, first + place * distance)
        else:
            write_float(kind, y, start + place * step)
    return 0
