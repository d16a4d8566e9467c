"""Elements of a tensor and others around them, float32."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer, scalar
from wia_npu._pads import CONSTANT, DIMENSION_SIZE, DIMENSIONS, EDGE, MODE, RANK, VALUE, WRAP
from wia_npu.kernels.common import first_unit, operand, part, serial, word

__all__ = ["pad"]


@serial
def _origin(mode: Any, at: Any, size: Any) -> Any:
    """Which element of a dimension of the input is at a place; -1: the value."""
    if mode == CONSTANT:
        return at if 0 <= at < size else -1
    if mode == EDGE:
        return min(max(at, 0), size - 1)
    if mode == WRAP:
        return at % size
    turn = 2 * (size - 1)
    there = at % max(turn, 1)
    return min(there, turn - there)


@part
def pad(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is an element of the output."""
    value = numba.float32(scalar(args, word(state, VALUE)))
    x = pointer(operand(state, args, 0), numba.float32)
    y = pointer(operand(state, args, 1), numba.float32)
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        source, target, rest, inside = 0, 0, unit, True
        for back in range(word(state, RANK)):
            own = DIMENSIONS + DIMENSION_SIZE * (word(state, RANK) - 1 - back)
            at = rest % word(state, own)
            rest //= word(state, own)
            origin = _origin(word(state, MODE), at - word(state, own + 2), word(state, own + 1))
            inside = inside and origin >= 0
            source += origin * word(state, own + 3)
            target += at * word(state, own + 4)
        y[target] = x[source] if inside else value
    return 0
