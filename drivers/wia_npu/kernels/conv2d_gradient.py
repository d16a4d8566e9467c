"""Gradients of a convolution by its input, which is its transpose, and by its weight, float32."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._images import (
    BIAS_STRIDE,
    BY_INPUT,
    CHANNELS,
    DILATION,
    GROUP_CHANNELS,
    GROUP_OUTPUTS,
    HAS_BIAS,
    IMAGES,
    IN,
    IN_STRIDES,
    KERNEL,
    OUT,
    OUT_STRIDES,
    PADDING,
    RESULT,
    STRIDE,
    WEIGHT_STRIDES,
)
from wia_npu.kernels.common import first_unit, operand, part, serial, word
from wia_npu.kernels.windows import fill_plane, reach_of

__all__ = ["conv2d_gradient"]


@serial
def _plane(
    state: Any, args: Any, index: Any, strides: Any, first: Any, second: Any, layer: Any
) -> Any:
    """A plane of the operand at an index, by its first two numbers and its depth."""
    place = first * word(state, strides) + second * word(state, strides + 1)
    place += layer * word(state, strides + 4)
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
def _add_layer(state: Any, x: Any, grad: Any, taps: Any) -> None:
    """Adds what a plane of the gradient gives to one of the result."""
    for i in range(word(state, KERNEL)):
        for j in range(word(state, KERNEL + 1)):
            place = i * word(state, WEIGHT_STRIDES + 2) + j * word(state, WEIGHT_STRIDES + 3)
            _spread(state, x, grad, taps[place], i, j)


@serial
def _by_input(state: Any, args: Any, image: Any, channel: Any, behind: Any) -> None:
    """A plane of a channel, from its bias and the planes of all outputs that see it."""
    group, own = channel // word(state, GROUP_CHANNELS), channel % word(state, GROUP_CHANNELS)
    x = _plane(state, args, word(state, RESULT), IN_STRIDES, image, channel, behind)
    rows, columns = word(state, IN), word(state, IN + 1)
    start = numba.float32(0.0)
    if word(state, HAS_BIAS):
        bias = pointer(operand(state, args, 2), numba.float32)
        start = bias[channel * word(state, BIAS_STRIDE)]
    row_step, step = word(state, IN_STRIDES + 2), word(state, IN_STRIDES + 3)
    fill_plane(x, rows, row_step, columns, step, start)
    first = group * word(state, GROUP_OUTPUTS)
    for output in range(first, first + word(state, GROUP_OUTPUTS)):
        for k in range(word(state, KERNEL + 2)):
            # where the window begins whose tap k lies at this depth
            begin = behind + word(state, PADDING + 2) - k * word(state, DILATION + 2)
            layer = begin // word(state, STRIDE + 2)
            if begin % word(state, STRIDE + 2) == 0 and 0 <= layer < word(state, OUT + 2):
                grad = _plane(state, args, 0, OUT_STRIDES, image, output, layer)
                _add_layer(state, x, grad, _plane(state, args, 1, WEIGHT_STRIDES, output, own, k))


@serial
def _by_weight(state: Any, args: Any, output: Any, own: Any) -> None:
    """The taps between an output and a channel of its group, from all images."""
    channel = output // word(state, GROUP_OUTPUTS) * word(state, GROUP_CHANNELS) + own
    taps = _plane(state, args, 2, WEIGHT_STRIDES, output, own, 0)
    for i in range(word(state, KERNEL)):
        for j in range(word(state, KERNEL + 1)):
            total = 0.0
            for image in range(word(state, IMAGES)):
                x = _plane(state, args, 1, IN_STRIDES, image, channel, 0)
                grad = _plane(state, args, 0, OUT_STRIDES, image, output, 0)
                total += _product(state, x, grad, i, j)
            place = i * word(state, WEIGHT_STRIDES + 2) + j * word(state, WEIGHT_STRIDES + 3)
            taps[place] = numba.float32(total)


@part
def conv2d_gradient(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is a plane of the result."""
    depth = word(state, IN + 2) if word(state, BY_INPUT) else 1
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        plane, behind = unit // depth, unit % depth
        first, second = plane // word(state, CHANNELS), plane % word(state, CHANNELS)
        if word(state, BY_INPUT):
            _by_input(state, args, first, second, behind)
        else:
            _by_weight(state, args, first, second)
    return 0
