"""Moves of elements of any dtype of whole bytes, run by run."""

from __future__ import annotations

from typing import Any

from wia_npu._moves import FIRST, SOURCE, TARGET, WIDTH
from wia_npu.kernels.common import (
    first_unit,
    inner_size,
    inner_stride,
    offset_at,
    operand,
    part,
    word,
)
from wia_npu.kernels.runs import copy_run

__all__ = ["move"]


@part
def move(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is an element. A run ends where the inner dimension of either side does."""
    width = word(state, WIDTH)
    x_inner, y_inner = inner_size(state, SOURCE), inner_size(state, TARGET)
    x_step, y_step = inner_stride(state, SOURCE, 0), inner_stride(state, TARGET, 0)
    begin, end = first_unit(state, chunk), first_unit(state, chunk + 1)
    while begin < end:
        n = min(x_inner - begin % x_inner, y_inner - begin % y_inner)
        n = min(n, end - begin)
        x = operand(state, args, 0)
        x += width * (word(state, FIRST) + offset_at(state, SOURCE, 0, begin))
        y = operand(state, args, 1) + width * offset_at(state, TARGET, 0, begin)
        copy_run(width, x, x_step, y, y_step, n)
        begin += n
    return 0
