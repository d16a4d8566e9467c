"""Comparisons of pairs of elements, float32 to bool."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._elements import CODE, EQUAL, GREATER, LESS, LESS_EQUAL, NOT_EQUAL, SPACE
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

__all__ = ["compare"]


@serial
def _holds(code: Any, a: Any, b: Any) -> Any:
    if code == EQUAL:
        return a == b
    if code == NOT_EQUAL:
        return a != b
    if code == LESS:
        return a < b
    if code == LESS_EQUAL:
        return a <= b
    return a > b if code == GREATER else a >= b


@part
def compare(state: Any, args: Any, chunk: Any) -> Any:
    """output = whether a and b are so."""
    code = word(state, CODE)
    inner = inner_size(state, SPACE)
    sa, sb = inner_stride(state, SPACE, 0), inner_stride(state, SPACE, 1)
    sc = inner_stride(state, SPACE, 2)
    begin, end = first_unit(state, chunk), first_unit(state, chunk + 1)
    while begin < end:
        n = min(inner - begin % inner, end - begin)
        left = operand(state, args, 0) + 4 * offset_at(state, SPACE, 0, begin)
        right = operand(state, args, 1) + 4 * offset_at(state, SPACE, 1, begin)
        target = operand(state, args, 2) + offset_at(state, SPACE, 2, begin)
        a, b = pointer(left, numba.float32), pointer(right, numba.float32)
        c = pointer(target, numba.uint8)
        for i in range(n):
            c[i * sc] = numba.uint8(_holds(code, a[i * sa], b[i * sb]))
        begin += n
    return 0
