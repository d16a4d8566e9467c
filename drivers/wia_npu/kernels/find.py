"""Index of the largest or smallest element along a dimension, float32 to int64."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._rows import LAST, LENGTH, PLACES, SMALLEST, STEP
from wia_npu.kernels.common import first_unit, offset_at, operand, part, serial, word

__all__ = ["find"]


@serial
def _find(x: Any, step: Any, length: Any, smallest: Any, last: Any) -> Any:
    """The first or last of equals; the first or last NaN if there is one."""
    best = 0
    for i in range(1, length):
        own, known = x[i * step], x[best * step]
        if known != known:
            better = own != own and last
        elif own != own:
            better = True
        else:
            better = own < known if smallest else own > known
            better = better or (own == known and last)
        if better:
            best = i
    return best


@part
def find(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is an element of the output."""
    smallest, last = word(state, SMALLEST) != 0, word(state, LAST) != 0
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        x = operand(state, args, 0) + 4 * offset_at(state, PLACES, 0, unit)
        y = operand(state, args, 1) + 8 * offset_at(state, PLACES, 1, unit)
        row = pointer(x, numba.float32)
        pointer(y, numba.int64)[0] = _find(
            row, word(state, STEP), word(state, LENGTH), smallest, last
        )
    return 0
