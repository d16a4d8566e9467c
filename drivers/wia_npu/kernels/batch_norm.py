"""Normalisation of channels by given means and variances, float32, computed in float64."""

from __future__ import annotations

import math
from typing import Any

import numba

from wia.driver.numba import pointer, scalar
from wia_npu._norms import CHANNELS, EPSILON, HAS_BIAS, HAS_WEIGHT
from wia_npu.kernels.common import first_unit, offset_at, operand, part, serial, word

__all__ = ["batch_norm"]


@serial
def _at(state: Any, args: Any, position: Any, unit: Any) -> Any:
    """The element of the operand at a position that belongs to a unit."""
    place = operand(state, args, position) + 4 * offset_at(state, CHANNELS, position, unit)
    return numba.float64(pointer(place, numba.float32)[0])


@part
def batch_norm(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is an element."""
    epsilon = scalar(args, word(state, EPSILON))
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        value = _at(state, args, 0, unit) - _at(state, args, 1, unit)
        value /= math.sqrt(_at(state, args, 2, unit) + epsilon)
        if word(state, HAS_WEIGHT):
            value *= _at(state, args, 3, unit)
        if word(state, HAS_BIAS):
            value += _at(state, args, 4, unit)
        place = operand(state, args, 5) + 4 * offset_at(state, CHANNELS, 5, unit)
        pointer(place, numba.float32)[0] = numba.float32(value)
    return 0
