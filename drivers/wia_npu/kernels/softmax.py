"""Softmax along a dimension, and its logarithm, float32, computed in float64."""

from __future__ import annotations

import math
from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._rows import LENGTH, LOGARITHM, ROWS, STEPS
from wia_npu.kernels.common import first_unit, offset_at, operand, part, serial, word
from wia_npu.kernels.exponentials import sum_exponentials

__all__ = ["softmax"]


@serial
def _run(x: Any, x_step: Any, y: Any, y_step: Any, length: Any, logarithm: Any) -> None:
    """One row; it may be in place."""
    largest, total = sum_exponentials(x, x_step, length)
    if logarithm:
        less = math.log(total)
        for i in range(length):
            y[i * y_step] = numba.float32((numba.float64(x[i * x_step]) - largest) - less)
        return
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
        steps, length = (word(state, STEPS), word(state, STEPS + 1)), word(state, LENGTH)
        _run(source, steps[0], target, steps[1], length, word(state, LOGARITHM) != 0)
    return 0
