"""Convolution with few outputs a group: each tap is a multiple of the input, added to a plane."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._images import (
    BIAS_STRIDE,
    CHANNELS,
    GROUP_CHANNELS,
    GROUP_OUTPUTS,
    HAS_BIAS,
    IN,
    IN_STRIDES,
    KERNEL,
    OUT,
    OUT_STRIDES,
    STRIDE,
    WEIGHT_STRIDES,
)
from wia_npu.kernels.common import first_unit, operand, part, serial, word
from wia_npu.kernels.windows import fill_plane, place_of, reach_of

__all__ = ["conv2d_planes"]


@serial
def _tap(state: Any, x: Any, y: Any, weight: Any, i: Any, j: Any) -> None:
    """Adds weight times the input under the tap at i, j to the plane y."""
    top, bottom, down = reach_of(state, 0, i)
    left, right, across = reach_of(state, 1, j)
    rows, columns = word(state, STRIDE), word(state, STRIDE + 1)
    x_step, y_step = word(state, IN_STRIDES + 3) * columns, word(state, OUT_STRIDES + 3)
    for row in range(top, bottom):
        source = (row * rows + down) * word(state, IN_STRIDES + 2)
        source += (left * columns + across) * word(state, IN_STRIDES + 3)
        target = row * word(state, OUT_STRIDES + 2) + left * y_step
        if x_step == 1 and y_step == 1:
            for n in range(right - left):
                y[target + n] += weight * x[source + n]
        else:
            for n in range(right - left):
                y[target + n * y_step] += weight * x[source + n * x_step]


@serial
def _add_layer(state: Any, x: Any, y: Any, taps: Any) -> None:
    """Adds what a plane of the input gives to one of the output."""
    for i in range(word(state, KERNEL)):
        for j in range(word(state, KERNEL + 1)):
            place = i * word(state, WEIGHT_STRIDES + 2) + j * word(state, WEIGHT_STRIDES + 3)
            _tap(state, x, y, taps[place], i, j)


@part
def conv2d_planes(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is a plane of the output: an image, a channel and a depth."""
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        plane, behind = unit // word(state, OUT + 2), unit % word(state, OUT + 2)
        image, channel = plane // word(state, CHANNELS), plane % word(state, CHANNELS)
        place = image * word(state, OUT_STRIDES) + channel * word(state, OUT_STRIDES + 1)
        place += behind * word(state, OUT_STRIDES + 4)
        y = pointer(operand(state, args, 3) + 4 * place, numba.float32)
        start = numba.float32(0.0)
        if word(state, HAS_BIAS):
            bias = pointer(operand(state, args, 2), numba.float32)
            start = bias[channel * word(state, BIAS_STRIDE)]
        row_step, step = word(state, OUT_STRIDES + 2), word(state, OUT_STRIDES + 3)
        fill_plane(y, word(state, OUT), row_step, word(state, OUT + 1), step, start)
        first = channel // word(state, GROUP_OUTPUTS) * word(state, GROUP_CHANNELS)
        for own in range(word(state, GROUP_CHANNELS)):
            for k in range(word(state, KERNEL + 2)):
                layer = place_of(state, 2, behind, k)
                if layer < 0 or layer >= word(state, IN + 2):
                    continue
                place = image * word(state, IN_STRIDES) + layer * word(state, IN_STRIDES + 4)
                place += (first + own) * word(state, IN_STRIDES + 1)
                x = pointer(operand(state, args, 0) + 4 * place, numba.float32)
                place = channel * word(state, WEIGHT_STRIDES) + k * word(state, WEIGHT_STRIDES + 4)
                place += own * word(state, WEIGHT_STRIDES + 1)
                taps = pointer(operand(state, args, 1) + 4 * place, numba.float32)
                _add_layer(state, x, y, taps)
    return 0
