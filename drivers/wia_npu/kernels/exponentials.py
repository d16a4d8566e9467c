"""Sums of exponentials of a row, float32: what softmax and losses of classes are made of."""

from __future__ import annotations

import math
from typing import Any

import numba

from wia_npu.kernels.common import serial

__all__ = ["sum_exponentials"]


@serial
def sum_exponentials(x: Any, step: Any, length: Any) -> Any:
    """The largest element of a row, NaN before all, and the sum of e^(element - largest)."""
    largest = numba.float32(-float("inf"))
    for i in range(length):
        own = x[i * step]
        if own > largest or own != own:
            largest = own
    total = 0.0
    for i in range(length):
        total += math.exp(numba.float64(x[i * step]) - largest)
    return numba.float64(largest), total
