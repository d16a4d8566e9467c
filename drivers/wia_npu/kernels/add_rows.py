"""Rows of float32, added up where indices say."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._moves import COLUMNS, INDICES, LENGTH, LENGTH_STEP, PICKED
from wia_npu.kernels.common import (
    INVALID_ARGUMENT,
    first_unit,
    offset_at,
    operand,
    part,
    word,
)
from wia_npu.kernels.indices import index_at

__all__ = ["add_rows"]


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
            index = index_at(state, args, INDICES, 0, at)
            if index < 0 or index >= length:
                return INVALID_ARGUMENT
            y[index * step] += x[offset_at(state, INDICES, 1, at)]
    return 0
