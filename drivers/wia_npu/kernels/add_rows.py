"""Rows of float32, added up where indices say."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._moves import COLUMNS, INDEX_WIDTH, INDICES, LENGTH, LENGTH_STEP, PICKED
from wia_npu.kernels.common import first_unit, offset_at, operand, part, serial, word

__all__ = ["add_rows"]

_INVALID_ARGUMENT = 3


@serial
def _index(state: Any, args: Any, at: Any) -> Any:
    """Which row of the output it is; below 0 or too large where there is none."""
    width = word(state, INDEX_WIDTH)
    place = operand(state, args, 1) + width * offset_at(state, INDICES, 0, at)
    index = pointer(place, numba.int64)[0] if width == 8 else pointer(place, numba.int32)[0]
    return index + word(state, LENGTH) if index < 0 else index


@part
def add_rows(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is a column: an element of every row. Indices come one after the other."""
    length, step = word(state, LENGTH), word(state, LENGTH_STEP)
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        x = pointer(operand(state, args, 0) + 4 * offset_at(state, COLUMNS, 0, unit), numba.float32)
        y = pointer(operand(state, args, 2) + 4 * offset_at(state, COLUMNS, 1, unit), numba.float32)
        for i in range(length):
            y[i * step] = numba.float32(0.0)
        for at in range(word(state, PICKED)):
            index = _index(state, args, at)
            if index < 0 or index >= length:
                return _INVALID_ARGUMENT
            y[index * step] += x[offset_at(state, INDICES, 1, at)]
    return 0
