"""Operations on pairs of elements, float32."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._elements import (
    ADD,
    CODE,
    DIV,
    GELU_TANH_GRADIENT,
    MAXIMUM,
    MINIMUM,
    MUL,
    RELU_GRADIENT,
    SPACE,
    SUB,
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
from wia_npu.kernels.functions import gelu_slope

__all__ = ["binary"]


@serial
def _larger(a: Any, b: Any) -> Any:
    """The larger one; NaN wins."""
    return a if a > b or a != a else b


@serial
def _smaller(a: Any, b: Any) -> Any:
    """The smaller one; NaN wins."""
    return a if a < b or a != a else b


@serial
def _run(code: Any, a: Any, sa: Any, b: Any, sb: Any, c: Any, sc: Any, n: Any) -> None:
    """One run of elements at constant strides."""
    if code == ADD:
        for i in range(n):
            c[i * sc] = a[i * sa] + b[i * sb]
    elif code == SUB:
        for i in range(n):
            c[i * sc] = a[i * sa] - b[i * sb]
    elif code == MUL:
        for i in range(n):
            c[i * sc] = a[i * sa] * b[i * sb]
    elif code == DIV:
        for i in range(n):
            c[i * sc] = a[i * sa] / b[i * sb]
    elif code == MINIMUM:
        for i in range(n):
            c[i * sc] = _smaller(a[i * sa], b[i * sb])
    elif code == MAXIMUM:
        for i in range(n):
            c[i * sc] = _larger(a[i * sa], b[i * sb])
    elif code == RELU_GRADIENT:
        for i in range(n):
            c[i * sc] = a[i * sa] if b[i * sb] > 0 else numba.float32(0.0)
    else:
        for i in range(n):
            slope = gelu_slope(numba.float64(b[i * sb]), code == GELU_TANH_GRADIENT)
            c[i * sc] = numba.float32(a[i * sa] * slope)


@part
def binary(state: Any, args: Any, chunk: Any) -> Any:
    """output = f(a, b)."""
    a, b, c = operand(state, args, 0), operand(state, args, 1), operand(state, args, 2)
    inner = inner_size(state, SPACE)
    sa, sb = inner_stride(state, SPACE, 0), inner_stride(state, SPACE, 1)
    sc = inner_stride(state, SPACE, 2)
    begin, end = first_unit(state, chunk), first_unit(state, chunk + 1)
    while begin < end:
        n = min(inner - begin % inner, end - begin)
        left = pointer(a + 4 * offset_at(state, SPACE, 0, begin), numba.float32)
        right = pointer(b + 4 * offset_at(state, SPACE, 1, begin), numba.float32)
        target = pointer(c + 4 * offset_at(state, SPACE, 2, begin), numba.float32)
        _run(word(state, CODE), left, sa, right, sb, target, sc, n)
        begin += n
    return 0
