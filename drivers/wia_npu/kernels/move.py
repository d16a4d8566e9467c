"""Moves of elements of any dtype of whole bytes, run by run."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._moves import FIRST, SOURCE, TARGET, WIDTH
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

__all__ = ["move"]


@serial
def _run(width: Any, x: Any, x_step: Any, y: Any, y_step: Any, n: Any) -> None:
    """n elements at constant strides; complex numbers of 16 bytes are two words."""
    if width == 1:
        x1, y1 = pointer(x, numba.uint8), pointer(y, numba.uint8)
        for i in range(n):
            y1[i * y_step] = x1[i * x_step]
    elif width == 2:
        x2, y2 = pointer(x, numba.uint16), pointer(y, numba.uint16)
        for i in range(n):
            y2[i * y_step] = x2[i * x_step]
    elif width == 4:
        x4, y4 = pointer(x, numba.uint32), pointer(y, numba.uint32)
        for i in range(n):
            y4[i * y_step] = x4[i * x_step]
    else:
        words = width // 8
        x8, y8 = pointer(x, numba.uint64), pointer(y, numba.uint64)
        for i in range(n):
            for j in range(words):
                y8[i * y_step * words + j] = x8[i * x_step * words + j]


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
        _run(width, x, x_step, y, y_step, n)
        begin += n
    return 0
