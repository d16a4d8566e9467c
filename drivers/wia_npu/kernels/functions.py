"""Functions of one element, float32: what `unary` and the ends of products are made of."""

from __future__ import annotations

import math
from typing import Any

import numba

from wia_npu._elements import CLIP, EXP, GELU, LOG, NEG, RELU, SIGMOID, SILU, SQRT, TANH
from wia_npu.kernels.common import serial

__all__ = ["run_function"]


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
def run_function(code: Any, a: Any, sa: Any, c: Any, sc: Any, n: Any, low: Any, high: Any) -> None:
    """One run of elements at constant strides; it may be in place. low and high are of clip."""
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
