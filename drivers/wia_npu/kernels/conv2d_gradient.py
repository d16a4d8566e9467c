"""Gradients of a convolution by its input and by its weight, float32."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._images import (
    BY_INPUT,
    CHANNELS,
    GROUP_CHANNELS,
    GROUP_OUTPUTS,
    IMAGES,
    IN,
    IN_STRIDES,
    KERNEL,
    OUT_STRIDES,
    STRIDE,
    WEIGHT_STRIDES,
)
from wia_npu.kernels.common import first_unit, operand, part, serial, word
from wia_npu.kernels.windows import clear_plane, reach_of

__all__ = ["conv2d_gradient"]


@serial
def _plane(state: Any, args: Any, index: Any, strides: Any, first: Any, second: Any) -> Any:
    """A plane of the operand at an index, by its first two numbers."""
    place = first * word(state, strides) + second * word(state, strides + 1)
    return pointer(operand(state, args, index) + 4 * place, numba.float32)


@serial
def _rows(state: Any, row: Any, down: Any, left: Any, across: Any) -> Any:
    """Where a row under a tap begins, in the input and in the gradient, and the step in each."""
    x_step = word(state, IN_STRIDES + 3) * word(state, STRIDE + 1)
    source = (row * word(state, STRIDE) + down) * word(state, IN_STRIDES + 2)
    source += across * word(state, IN_STRIDES + 3) + left * x_step
    target = row * word(state, OUT_STRIDES + 2) + left * word(state, OUT_STRIDES + 3)
    return source, x_step, target, word(state, OUT_STRIDES + 3)


@serial
def _spread(state: Any, x: Any, grad: Any, weight: Any, i: Any, j: Any) -> None:
    """Adds weight times the gradient to what lies under the tap at i, j."""
    top, bottom, down = reach_of(state, 0, i)
    left, right, across = reach_of(state, 1, j)
    for row in range(top, bottom):
        source, x_step, target, step = _rows(state, row, down, left, across)
        for n in range(right - left):
            x[source + n * x_step] += weight * grad[target + n * step]


@serial
def _product(state: Any, x: Any, grad: Any, i: Any, j: Any) -> Any:
    """The sum of the gradient times what lies under the tap at i, j."""
    total = 0.0
    top, bottom, down = reach_of(state, 0, i)
    left, right, across = reach_of(state, 1, j)
    for row in range(top, bottom):
        source, x_step, target, step = _rows(state, row, down, left, across)
        for n in range(right - left):
            total += numba.float64(grad[target + n * step]) * x[source + n * x_step]
    return total


@serial
def _by_input(state: Any, args: Any, image: Any, channel: Any) -> None:
    """The plane of a channel, from those of all outputs that see it."""
    group, own = channel // word(state, GROUP_CHANNELS), channel % word(state, GROUP_CHANNELS)
    x = _plane(state, args, 2, IN_STRIDES, image, channel)
    rows, columns = word(state, IN), word(state, IN + 1)
    clear_plane(x, rows, word(state, IN_STRIDES + 2), columns, word(state, IN_STRIDES + 3))
    first = group * word(state, GROUP_OUTPUTS)
    for output in range(first, first + word(state, GROUP_OUTPUTS)):
        grad = _plane(state, args, 0, OUT_STRIDES, image, output)
        taps = _plane(state, args, 1, WEIGHT_STRIDES, output, own)
        for i in range(word(state, KERNEL)):
            for j in range(word(state, KERNEL + 1)):
                place = i * word(state, WEIGHT_STRIDES + 2) + j * word(state, WEIGHT_STRIDES + 3)
                _spread(state, x, grad, taps[place], i, j)


@serial
def _by_weight(state: Any, args: Any, output: Any, own: Any) -> None:
    """The taps between an output and a channel of its group, from all images."""
    channel = output // word(state, GROUP_OUTPUTS) * word(state, GROUP_CHANNELS) + own
    taps = _plane(state, args, 2, WEIGHT_STRIDES, output, own)
    for i in range(word(state, KERNEL)):
        for j in range(word(state, KERNEL + 1)):
            total = 0.0
            for image in range(word(state, IMAGES)):
                x = _plane(state, args, 1, IN_STRIDES, image, channel)
                grad = _plane(state, args, 0, OUT_STRIDES, image, output)
                total += _product(state, x, grad, i, j)
            place = i * word(state, WEIGHT_STRIDES + 2) + j * word(state, WEIGHT_STRIDES + 3)
            taps[place] = numba.float32(total)


@part
def conv2d_gradient(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is a plane of the result."""
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        first, second = unit // word(state, CHANNELS), unit % word(state, CHANNELS)
        if word(state, BY_INPUT):
            _by_input(state, args, first, second)
        else:
            _by_weight(state, args, first, second)
    return 0
