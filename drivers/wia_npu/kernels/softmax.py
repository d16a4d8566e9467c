"""Softmax along a dimension, float32, computed in float64."""

from __future__ import annotations

import math
from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._rows import LENGTH, ROWS, STEPS
from wia_npu.kernels.common import first_unit, offset_at, operand, part, serial, word

__all__ = ["softmax"]


@serial
def _run(x: Any, x_step: Any, y: Any, y_step: Any, length: Any) -> None:
    """One row; it may be in place."""
    largest = numba.float32(-float("inf"))
    for i in range(length):
        own = x[i * x_step]
        if own > largest or own != own:
            largest = own
    total = 0.0
    for i in range(length):
        total += math.exp(numba.float64(x[i * x_step]) - largest)
    for i in range(length):
        power = math.exp(numba.float64(x[i * x_step]) - largest)
        y[i * y_step] = numba.float32(power / total)


@part
def softmax(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is a row."""
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        x = operand(state, args, 0) + 4 * offset_at(state, ROWS, 0, unit)
        y = operand(state, args, 1) + 4 * offset_at(state, ROWS, 1, unit)
        source, target = pointer(x, numba.float32), pointer(y, numba.float32)
        _run(source, word(state, STEPS), target, word(state, STEPS + 1), word(state, LENGTH))
    return 0
