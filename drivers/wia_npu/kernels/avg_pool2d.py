"""Mean of windows, float32, summed in float64."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._images import (
    CHANNELS,
    DILATION,
    END_PADDING,
    IN,
    IN_STRIDES,
    INCLUDE_PADDING,
    KERNEL,
    OUT,
    OUT_STRIDES,
    PADDING,
    STRIDE,
)
from wia_npu.kernels.common import first_unit, operand, part, serial, word

__all__ = ["avg_pool2d"]


@serial
def _place(state: Any, axis: Any, output: Any, tap: Any) -> Any:
    """Where a tap of an output's window lies along an axis of the input."""
    place = output * word(state, STRIDE + axis) + tap * word(state, DILATION + axis)
    return place - word(state, PADDING + axis)


@serial
def _count(state: Any, axis: Any, output: Any) -> Any:
    """The taps along an axis that count."""
    first, behind = numba.int64(0), word(state, IN + axis)
    if word(state, INCLUDE_PADDING):
        first -= word(state, PADDING + axis)
        behind += word(state, END_PADDING + axis)
    count = 0
    for tap in range(word(state, KERNEL + axis)):
        if first <= _place(state, axis, output, tap) < behind:
            count += 1
    return count


@serial
def _sum(state: Any, x: Any, row: Any, column: Any) -> Any:
    """The sum of what is under the window of an output; padding is 0."""
    total = 0.0
    for i in range(word(state, KERNEL)):
        y = _place(state, 0, row, i)
        if y < 0 or y >= word(state, IN):
            continue
        for j in range(word(state, KERNEL + 1)):
            z = _place(state, 1, column, j)
            if 0 <= z < word(state, IN + 1):
                total += x[y * word(state, IN_STRIDES + 2) + z * word(state, IN_STRIDES + 3)]
    return total


@part
def avg_pool2d(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is a plane of the output: an image and a channel. Nothing that counts gives NaN."""
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        image, channel = unit // word(state, CHANNELS), unit % word(state, CHANNELS)
        place = image * word(state, IN_STRIDES) + channel * word(state, IN_STRIDES + 1)
        x = pointer(operand(state, args, 0) + 4 * place, numba.float32)
        place = image * word(state, OUT_STRIDES) + channel * word(state, OUT_STRIDES + 1)
        y = pointer(operand(state, args, 1) + 4 * place, numba.float32)
        for row in range(word(state, OUT)):
            rows = _count(state, 0, row)
            for column in range(word(state, OUT + 1)):
                count = numba.float64(rows * _count(state, 1, column))
                target = row * word(state, OUT_STRIDES + 2) + column * word(state, OUT_STRIDES + 3)
                y[target] = numba.float32(_sum(state, x, row, column) / count)
    return 0
