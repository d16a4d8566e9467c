"""Normalisation of channels by given means and variances, float32, computed in float64."""

from __future__ import annotations

import math
from typing import Any

import numba

from wia.driver.numba import pointer, scalar
from wia_npu._norms import CHANNELS, EPSILON, HAS_BIAS, HAS_WEIGHT
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

__all__ = ["batch_norm"]


@serial
def _at(state: Any, args: Any, position: Any, unit: Any) -> Any:
    """Where the element of the operand at a position is that belongs to a unit."""
    place = operand(state, args, position) + 4 * offset_at(state, CHANNELS, position, unit)
    return pointer(place, numba.float32)


@serial
def _run(x: Any, sx: Any, y: Any, sy: Any, n: Any, of: Any) -> None:
    """Elements of one channel, which have a mean, a root, a weight and a bias."""
    mean, root, weight, bias = of
    for i in range(n):
        y[i * sy] = numba.float32((numba.float64(x[i * sx]) - mean) / root * weight + bias)


@part
def batch_norm(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is an element. A run of them ends where another dimension goes on."""
    epsilon = scalar(args, word(state, EPSILON))
    size, still = inner_size(state, CHANNELS), True
    for position in range(1, 5):
        still = still and inner_stride(state, CHANNELS, position) == 0
    unit, end = first_unit(state, chunk), first_unit(state, chunk + 1)
    while unit < end:
        # where channels follow one another, each element is a run
        n = min(end - unit, size - unit % size) if still else 1
        mean = numba.float64(_at(state, args, 1, unit)[0])
        root = math.sqrt(_at(state, args, 2, unit)[0] + epsilon)
        weight, bias = 1.0, -0.0  # which change nothing
        if word(state, HAS_WEIGHT):
            weight = numba.float64(_at(state, args, 3, unit)[0])
        if word(state, HAS_BIAS):
            bias = numba.float64(_at(state, args, 4, unit)[0])
        x, y = _at(state, args, 0, unit), _at(state, args, 5, unit)
        sx, sy = inner_stride(state, CHANNELS, 0), inner_stride(state, CHANNELS, 5)
        if sx == 1 and sy == 1:
            _run(x, 1, y, 1, n, (mean, root, weight, bias))
        else:
            _run(x, sx, y, sy, n, (mean, root, weight, bias))
        unit += n
    return 0
