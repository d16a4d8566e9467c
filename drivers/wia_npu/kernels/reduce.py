"""Sums, means and maxima over dimensions, float32, summed in float64."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._rows import COUNT, INNER, MAX, MEAN, MODE, OUTER
from wia_npu.kernels.common import (
    first_unit,
    inner_size,
    inner_stride,
    offset_at,
    operand,
    part,
    serial,
    word,
)

__all__ = ["reduce"]


@serial
def _sum(state: Any, x: Any) -> Any:
    """The sum over the inner space."""
    total = 0.0
    if word(state, COUNT) == 0:
        return total
    size, step = inner_size(state, INNER), inner_stride(state, INNER, 0)
    for begin in range(0, word(state, COUNT), size):
        run = pointer(x + 4 * offset_at(state, INNER, 0, begin), numba.float32)
        for i in range(size):
            total += run[i * step]
    return total


@serial
def _largest(state: Any, x: Any) -> Any:
    """The largest element of the inner space; NaN wins."""
    largest = pointer(x, numba.float32)[0]
    size, step = inner_size(state, INNER), inner_stride(state, INNER, 0)
    for begin in range(0, word(state, COUNT), size):
        run = pointer(x + 4 * offset_at(state, INNER, 0, begin), numba.float32)
        for i in range(size):
            own = run[i * step]
            if own > largest or own != own:
                largest = own
    return largest


@part
def reduce(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is an element of the output."""
    mode = word(state, MODE)
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        x = operand(state, args, 0) + 4 * offset_at(state, OUTER, 0, unit)
        y = operand(state, args, 1) + 4 * offset_at(state, OUTER, 1, unit)
        target = pointer(y, numba.float32)
        if mode == MAX:
            target[0] = _largest(state, x)
        elif mode == MEAN:
            target[0] = numba.float32(_sum(state, x) / word(state, COUNT))
        else:
            target[0] = numba.float32(_sum(state, x))
    return 0
