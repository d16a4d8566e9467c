"""Comparisons and logic of elements, to bool."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._dtypes import FLOAT32, FLOAT64
from wia_npu._elements import (
    AND,
    CODE,
    EQUAL,
    GREATER,
    GREATER_EQUAL,
    KIND,
    LESS,
    LESS_EQUAL,
    NOT_EQUAL,
    OR,
    RESULT,
    SPACE,
    XOR,
)
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
from wia_npu.kernels.numbers import bytes_of, integer_at

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
    if code == GREATER:
        return a > b
    if code == GREATER_EQUAL:
        return a >= b
    if code == AND:
        return a != 0 and b != 0
    if code == OR:
        return a != 0 or b != 0
    if code == XOR:
        return (a != 0) != (b != 0)
    return a == 0


@serial
def _run(code: Any, kind: Any, a: Any, sa: Any, b: Any, sb: Any, c: Any, sc: Any, n: Any) -> None:
    """One run of elements at constant strides, those of a and b in bytes."""
    if kind == FLOAT32:
        for i in range(n):
            x, y = pointer(a + i * sa, numba.float32)[0], pointer(b + i * sb, numba.float32)[0]
            c[i * sc] = numba.uint8(_holds(code, x, y))
    elif kind == FLOAT64:
        for i in range(n):
            x, y = pointer(a + i * sa, numba.float64)[0], pointer(b + i * sb, numba.float64)[0]
            c[i * sc] = numba.uint8(_holds(code, x, y))
    else:
        for i in range(n):
            own, other = integer_at(kind, a + i * sa), integer_at(kind, b + i * sb)
            c[i * sc] = numba.uint8(_holds(code, own, other))


@part
def compare(state: Any, args: Any, chunk: Any) -> Any:
    """output = whether a and b are so. Of one operand alone b is it again."""
    kind, result = word(state, KIND), word(state, RESULT)
    width, other = bytes_of(kind), result - 1
    inner = inner_size(state, SPACE)
    sa, sb = inner_stride(state, SPACE, 0), inner_stride(state, SPACE, other)
    sc = inner_stride(state, SPACE, result)
    begin, end = first_unit(state, chunk), first_unit(state, chunk + 1)
    while begin < end:
        n = min(inner - begin % inner, end - begin)
        a = operand(state, args, 0) + width * offset_at(state, SPACE, 0, begin)
        b = operand(state, args, other) + width * offset_at(state, SPACE, other, begin)
        c = operand(state, args, result) + offset_at(state, SPACE, result, begin)
        target = pointer(c, numba.uint8)
        _run(word(state, CODE), kind, a, width * sa, b, width * sb, target, sc, n)
        begin += n
    return 0
