"""Normalisation of rows, float32, computed in float64."""

from __future__ import annotations

import math
from typing import Any

import numba

from wia.driver.numba import pointer, scalar
from wia_npu._norms import COUNT, EPSILON, HAS_BIAS, HAS_WEIGHT, INNER, OUTER
from wia_npu.kernels.common import first_unit, offset_at, operand, part, serial, word

__all__ = ["layer_norm"]


@serial
def _at(address: Any, state: Any, position: Any, index: Any) -> Any:
    """Element index of a row of the operand at a position."""
    return numba.float64(
        pointer(address + 4 * offset_at(state, INNER, position, index), numba.float32)[0]
    )


@part
def layer_norm(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is a row."""
    count, epsilon = word(state, COUNT), scalar(args, word(state, EPSILON))
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        x = operand(state, args, 0) + 4 * offset_at(state, OUTER, 0, unit)
        y = operand(state, args, 3) + 4 * offset_at(state, OUTER, 1, unit)
        total = 0.0
        for i in range(count):
            total += _at(x, state, 0, i)
        mean = total / count
        total = 0.0
        for i in range(count):
            centred = _at(x, state, 0, i) - mean
            total += centred * centred
        deviation = math.sqrt(total / count + epsilon)
        for i in range(count):
            value = (_at(x, state, 0, i) - mean) / deviation
            if word(state, HAS_WEIGHT):
                value *= _at(operand(state, args, 1), state, 1, i)
            if word(state, HAS_BIAS):
                value += _at(operand(state, args, 2), state, 2, i)
            target = pointer(y + 4 * offset_at(state, INNER, 3, i), numba.float32)
            target[0] = numba.float32(value)
    return 0
