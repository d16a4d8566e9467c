"""Functions of one element, float32: what `unary` and the ends of products are made of."""

from __future__ import annotations

import math
from typing import Any

import numba

from wia_npu._elements import (
    ABS,
    CLIP,
    COS,
    ERF,
    EXP,
    EXPM1,
    GELU,
    GELU_TANH,
    LOG,
    LOG1P,
    NEG,
    RELU,
    RSQRT,
    SCALE,
    SIGMOID,
    SILU,
    SIN,
    SQRT,
    SQUARE,
    TANH,
)
from wia_npu.kernels.common import serial

__all__ = ["gelu_slope", "run_function"]

_CUBE = 0.044715
_ROOT = math.sqrt(2.0 / math.pi)


@serial
def _sigmoid(x: Any) -> Any:
    """In the form that never overflows."""
    power = math.exp(-abs(x))
    return (1.0 if x >= 0 else power) / (1.0 + power)


@serial
def gelu_slope(x: Any, approximate: Any) -> Any:
    """The derivative of gelu, in float64."""
    if approximate:
        curve = math.tanh(_ROOT * (x + _CUBE * x * x * x))
        slope = (1.0 - curve * curve) * _ROOT * (1.0 + 3 * _CUBE * x * x)
        return 0.5 * (1.0 + curve) + 0.5 * x * slope
    bell = math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    return 0.5 * math.erfc(-x / math.sqrt(2.0)) + x * bell


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
    if code == GELU_TANH:
        return x * _sigmoid(2.0 * _ROOT * (x + _CUBE * x * x * x))
    if code == ERF:
        return math.erf(x)
    if code == EXPM1:
        return math.expm1(x)
    if code == LOG1P:
        return math.log1p(x)
    if code == SIN:
        return math.sin(x)
    if code == COS:
        return math.cos(x)
    if code == RSQRT:
        return 1.0 / math.sqrt(x)
    return 1.0 / x


@serial
def _simple(code: Any, x: Any) -> Any:
    """One that float32 is enough for."""
    if code == ABS:
        return abs(x)
    if code == SQUARE:
        return x * x
    if x == 0:
        return numba.float32(0.0)
    return x if x != x else numba.float32(math.copysign(1.0, x))


@serial
def run_function(code: Any, a: Any, sa: Any, c: Any, sc: Any, n: Any, low: Any, high: Any) -> None:
    """One run of elements at constant strides; it may be in place. low is of scale, or with high
    of clip."""
    if code == RELU:
        for i in range(n):
            x = a[i * sa]
            c[i * sc] = numba.float32(0.0) if x <= 0 else x
    elif code == NEG:
        for i in range(n):
            c[i * sc] = -a[i * sa]
    elif code <= SQUARE:
        for i in range(n):
            c[i * sc] = _simple(code, a[i * sa])
    elif code == CLIP:
        for i in range(n):
            x = a[i * sa]
            x = low if x < low else x
            c[i * sc] = high if x > high else x
    elif code == SCALE:
        for i in range(n):
            c[i * sc] = a[i * sa] * low
    else:
        for i in range(n):
            c[i * sc] = numba.float32(_function(code, numba.float64(a[i * sa])))
