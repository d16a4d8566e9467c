"""Largest element of windows, float32."""

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
from wia_npu.kernels.windows import place_of

__all__ = ["max_pool2d"]

_LEAST = numba.float32(-float("inf"))


@serial
def _largest(state: Any, x: Any, row: Any, column: Any) -> Any:
    """The largest element under the window of an output; NaN wins."""
    largest = numba.float32(_LEAST)
    for i in range(word(state, KERNEL)):
        y = place_of(state, 0, row, i)
        if y < 0 or y >= word(state, IN):
            continue
        for j in range(word(state, KERNEL + 1)):
            z = place_of(state, 1, column, j)
            if 0 <= z < word(state, IN + 1):
                own = x[y * word(state, IN_STRIDES + 2) + z * word(state, IN_STRIDES + 3)]
                if own > largest or own != own:
                    largest = own
    return largest


@part
def max_pool2d(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is a plane of the output: an image and a channel."""
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        image, channel = unit // word(state, CHANNELS), unit % word(state, CHANNELS)
        place = image * word(state, IN_STRIDES) + channel * word(state, IN_STRIDES + 1)
        x = pointer(operand(state, args, 0) + 4 * place, numba.float32)
        place = image * word(state, OUT_STRIDES) + channel * word(state, OUT_STRIDES + 1)
        y = pointer(operand(state, args, 1) + 4 * place, numba.float32)
        for row in range(word(state, OUT)):
            for column in range(word(state, OUT + 1)):
                target = row * word(state, OUT_STRIDES + 2) + column * word(state, OUT_STRIDES + 3)
                y[target] = _largest(state, x, row, column)
    return 0
