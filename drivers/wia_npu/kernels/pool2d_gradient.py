"""What the windows of a pool give back to the elements under them, float32."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._images import (
    CHANNELS,
    IN,
    IN_STRIDES,
    KERNEL,
    LARGEST,
    OUT,
    OUT_STRIDES,
    RESULT_STRIDES,
)
from wia_npu.kernels.common import first_unit, operand, part, serial, word
from wia_npu.kernels.windows import count_taps, fill_plane, place_of

__all__ = ["pool2d_gradient"]


@serial
def _give_largest(state: Any, x: Any, result: Any, row: Any, column: Any, grad: Any) -> None:
    """To the largest element of a window, the first of equals or of NaNs."""
    top, left = numba.int64(-1), numba.int64(-1)
    best = numba.float32(0.0)
    for i in range(word(state, KERNEL)):
        y = place_of(state, 0, row, i)
        if y < 0 or y >= word(state, IN):
            continue
        for j in range(word(state, KERNEL + 1)):
            z = place_of(state, 1, column, j)
            if z < 0 or z >= word(state, IN + 1):
                continue
            own = x[y * word(state, IN_STRIDES + 2) + z * word(state, IN_STRIDES + 3)]
            if top < 0 or own > best or (own != own and best == best):
                top, left, best = y, z, own
    if top >= 0:
        place = top * word(state, RESULT_STRIDES + 2) + left * word(state, RESULT_STRIDES + 3)
        result[place] += grad


@serial
def _give_all(state: Any, result: Any, row: Any, column: Any, grad: Any) -> None:
    """To each element of a window its share."""
    count = count_taps(state, 0, row) * count_taps(state, 1, column)
    share = numba.float32(numba.float64(grad) / count)
    for i in range(word(state, KERNEL)):
        y = place_of(state, 0, row, i)
        if y < 0 or y >= word(state, IN):
            continue
        for j in range(word(state, KERNEL + 1)):
            z = place_of(state, 1, column, j)
            if 0 <= z < word(state, IN + 1):
                place = y * word(state, RESULT_STRIDES + 2) + z * word(state, RESULT_STRIDES + 3)
                result[place] += share


@serial
def _plane(state: Any, args: Any, index: Any, strides: Any, image: Any, channel: Any) -> Any:
    place = image * word(state, strides) + channel * word(state, strides + 1)
    return pointer(operand(state, args, index) + 4 * place, numba.float32)


@part
def pool2d_gradient(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is a plane of the result: an image and a channel."""
    largest = word(state, LARGEST) != 0
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        image, channel = unit // word(state, CHANNELS), unit % word(state, CHANNELS)
        grads = _plane(state, args, 0, OUT_STRIDES, image, channel)
        # Without elements to compare the second operand is the result; nothing reads it then.
        x = _plane(state, args, 1, IN_STRIDES, image, channel)
        result = _plane(state, args, 2 if largest else 1, RESULT_STRIDES, image, channel)
        fill_plane(
            result,
            word(state, IN),
            word(state, RESULT_STRIDES + 2),
            word(state, IN + 1),
            word(state, RESULT_STRIDES + 3),
            numba.float32(0.0),
        )
        for row in range(word(state, OUT)):
            for column in range(word(state, OUT + 1)):
                place = row * word(state, OUT_STRIDES + 2) + column * word(state, OUT_STRIDES + 3)
                if largest:
                    _give_largest(state, x, result, row, column, grads[place])
                else:
                    _give_all(state, result, row, column, grads[place])
    return 0
