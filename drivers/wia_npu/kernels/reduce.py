"""Sums, means and extremes over dimensions, float32, summed in float64."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer, scalar
from wia_npu._rows import COUNT, FACTOR, INNER, MAX, MEAN, MIN, MODE, OUTER
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
def _extreme(state: Any, x: Any, smallest: Any) -> Any:
    """The largest or smallest element of the inner space; NaN wins."""
    best = pointer(x, numba.float32)[0]
    size, step = inner_size(state, INNER), inner_stride(state, INNER, 0)
    for begin in range(0, word(state, COUNT), size):
        run = pointer(x + 4 * offset_at(state, INNER, 0, begin), numba.float32)
        if smallest:
            for i in range(size):
                own = run[i * step]
                if own < best or own != own:
                    best = own
        else:
            for i in range(size):
                own = run[i * step]
                if own > best or own != own:
                    best = own
    return best


@part
def reduce(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is an element of the output."""
    mode, factor = word(state, MODE), 1.0
    if word(state, FACTOR) >= 0:
        factor = scalar(args, word(state, FACTOR))
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        x = operand(state, args, 0) + 4 * offset_at(state, OUTER, 0, unit)
        y = operand(state, args, 1) + 4 * offset_at(state, OUTER, 1, unit)
        target = pointer(y, numba.float32)
        if mode in (MAX, MIN):
            target[0] = _extreme(state, x, mode == MIN)
        elif mode == MEAN:
            target[0] = numba.float32(_sum(state, x) / word(state, COUNT))
        else:
            target[0] = numba.float32(_sum(state, x) * factor)
    return 0
