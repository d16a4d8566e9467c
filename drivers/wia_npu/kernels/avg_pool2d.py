"""Mean of windows, float32, summed in float64."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._images import (
    CHANNELS,
    IN,
    IN_STRIDES,
    KERNEL,
    OUT,
    OUT_STRIDES,
)
from wia_npu.kernels.common import first_unit, operand, part, serial, word
from wia_npu.kernels.windows import count_taps, place_of

__all__ = ["avg_pool2d"]


@serial
def _sum(state: Any, x: Any, row: Any, column: Any) -> Any:
    """The sum of what is under the window of an output; padding is 0."""
    total = 0.0
    for i in range(word(state, KERNEL)):
        y = place_of(state, 0, row, i)
        if y < 0 or y >= word(state, IN):
            continue
        for j in range(word(state, KERNEL + 1)):
            z = place_of(state, 1, column, j)
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
            rows = count_taps(state, 0, row)
            for column in range(word(state, OUT + 1)):
                count = numba.float64(rows * count_taps(state, 1, column))
                target = row * word(state, OUT_STRIDES + 2) + column * word(state, OUT_STRIDES + 3)
                y[target] = numba.float32(_sum(state, x, row, column) / count)
    return 0
