"""Functions of one element, float32."""

from __future__ import annotations

import math
from typing import Any

import numba

from wia.driver.numba import pointer, scalar
from wia_npu._elements import (
    CLIP,
    CODE,
    EXP,
    GELU,
    HIGH,
    LOG,
    LOW,
    NEG,
    RELU,
    SIGMOID,
    SILU,
    SPACE,
    SQRT,
    TANH,
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

__all__ = ["unary"]

INVALID_ARGUMENT = 3


@serial
def _sigmoid(x: Any) -> Any:
    """In the form that never overflows."""
    power = math.exp(-abs(x))
    return (1.0 if x >= 0 else power) / (1.0 + power)


@serial
def _function(code: Any, x: Any) -> Any:
    """A function of one number, in float64."""
    if code == EXP:
        return math.exp(x)
    if code == LOG:
        return math.log(x)
    if code == SQRT:
        return math.sqrt(x)
    if code == TANH:
        return math.tanh(x)
    if code == SIGMOID:
        return _sigmoid(x)
    if code == SILU:
        return x * _sigmoid(x)
    if code == GELU:
        return 0.5 * x * math.erfc(-x / math.sqrt(2.0))
    cubic = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
    return x * _sigmoid(2.0 * cubic)


@serial
def _run(code: Any, a: Any, sa: Any, c: Any, sc: Any, n: Any, low: Any, high: Any) -> None:
    """One run of elements at constant strides."""
    if code == RELU:
        for i in range(n):
            x = a[i * sa]
            c[i * sc] = numba.float32(0.0) if x <= 0 else x
    elif code == NEG:
        for i in range(n):
            c[i * sc] = -a[i * sa]
    elif code == CLIP:
        for i in range(n):
            x = a[i * sa]
            x = low if x < low else x
            c[i * sc] = high if x > high else x
    else:
        for i in range(n):
            c[i * sc] = numba.float32(_function(code, numba.float64(a[i * sa])))


@part
def unary(state: Any, args: Any, chunk: Any) -> Any:
    """output = f(input)."""
    a, c = operand(state, args, 0), operand(state, args, 1)
    code = word(state, CODE)
    low = high = numba.float32(0.0)
    if code == CLIP:
        low = numba.float32(scalar(args, word(state, LOW)))
        high = numba.float32(scalar(args, word(state, HIGH)))
        if low != low or high != high:
            return INVALID_ARGUMENT
    inner = inner_size(state, SPACE)
    sa, sc = inner_stride(state, SPACE, 0), inner_stride(state, SPACE, 1)
    begin, end = first_unit(state, chunk), first_unit(state, chunk + 1)
    while begin < end:
        n = min(inner - begin % inner, end - begin)
        source = pointer(a + 4 * offset_at(state, SPACE, 0, begin), numba.float32)
        target = pointer(c + 4 * offset_at(state, SPACE, 1, begin), numba.float32)
        _run(code, source, sa, target, sc, n, low, high)
        begin += n
    return 0
