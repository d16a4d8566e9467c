"""Index of the largest element along a dimension, float32 to int64."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._rows import LENGTH, ROWS, STEPS
from wia_npu.kernels.common import first_unit, offset_at, operand, part, serial, word

__all__ = ["argmax"]


@serial
def _first_largest(x: Any, step: Any, length: Any) -> Any:
    """The first of equals; the first NaN if there is one."""
    best = 0
    for i in range(length):
        own, largest = x[i * step], x[best * step]
        if largest != largest:
            return best
        if own > largest or own != own:
            best = i
    return best


@part
def argmax(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is an element of the output."""
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        x = operand(state, args, 0) + 4 * offset_at(state, ROWS, 0, unit)
        y = operand(state, args, 1) + 8 * offset_at(state, ROWS, 1, unit)
        row = pointer(x, numba.float32)
        pointer(y, numba.int64)[0] = _first_largest(row, word(state, STEPS), word(state, LENGTH))
    return 0
