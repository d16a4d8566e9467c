"""Rows of elements of any dtype of whole bytes, picked by their numbers."""

from __future__ import annotations

from typing import Any

from wia_npu._moves import LENGTH, LENGTH_STEP, PICKED, WIDTH
from wia_npu.kernels.common import (
    INVALID_ARGUMENT,
    first_unit,
    inner_size,
    inner_stride,
    offset_at,
    operand,
    part,
    word,
)
from wia_npu.kernels.indices import index_at
from wia_npu.kernels.runs import copy_run

__all__ = ["gather"]


@part
def gather(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is an element. A run is one row, or one element where the index changes."""
    width, length = word(state, WIDTH), word(state, LENGTH)
    inner = inner_size(state, PICKED) if inner_stride(state, PICKED, 1) == 0 else 1
    x_step, y_step = inner_stride(state, PICKED, 0), inner_stride(state, PICKED, 2)
    begin, end = first_unit(state, chunk), first_unit(state, chunk + 1)
    while begin < end:
        n = min(inner - begin % inner, end - begin)
        index = index_at(state, args, PICKED, 1, begin)
        if index < 0 or index >= length:
            return INVALID_ARGUMENT
        place = offset_at(state, PICKED, 0, begin) + index * word(state, LENGTH_STEP)
        x = operand(state, args, 0) + width * place
        y = operand(state, args, 2) + width * offset_at(state, PICKED, 2, begin)
        copy_run(width, x, x_step, y, y_step, n)
        begin += n
    return 0
