"""Programs of operations on images: NCHW, windows that move over rows and columns.

What has a single dimension is an image of one row, what has three is images one behind the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from wia.driver import Layout, Node
from wia_npu._words import HEADER, Program

__all__ = [
    "BIAS_STRIDE",
    "BY_INPUT",
    "CHANNELS",
    "DILATION",
    "END_PADDING",
    "GROUP_CHANNELS",
    "GROUP_OUTPUTS",
    "HAS_BIAS",
    "IMAGES",
    "IN",
    "INCLUDE_PADDING",
    "IN_STRIDES",
    "KERNEL",
    "LARGEST",
    "OUT",
    "OUT_STRIDES",
    "PADDING",
    "RESULT",
    "RESULT_STRIDES",
    "STRIDE",
    "WEIGHT_STRIDES",
    "conv",
    "conv2d_gradient",
    "conv_transpose",
    "pool2d",
    "pool2d_gradient",
]

IN, OUT, KERNEL, STRIDE, DILATION, PADDING = range(HEADER, HEADER + 18, 3)
"""Of rows, columns and depth; padding is that before the first element."""
IN_STRIDES, OUT_STRIDES, WEIGHT_STRIDES = range(HEADER + 18, HEADER + 33, 5)
"""Of images, channels, rows, columns and depth."""
RESULT_STRIDES = WEIGHT_STRIDES
"""Of the gradient of a pool, which has the shape of the pool's input."""
CHANNELS = HEADER + 33
"""Channels of the result that an image has, or of a gradient by weights an output."""
GROUP_CHANNELS, GROUP_OUTPUTS, HAS_BIAS, BIAS_STRIDE = range(HEADER + 34, HEADER + 38)
"""Input and output channels of a group; whether there is a bias."""
BY_INPUT, IMAGES, RESULT = range(HEADER + 38, HEADER + 41)
"""Of a gradient of a convolution: whether it is that by the input, and not by the weight; how many
images there are; the operand that is the result."""
INCLUDE_PADDING, END_PADDING, LARGEST = HEADER + 34, HEADER + 35, HEADER + 37
"""Of a mean: whether padding counts; a pair, that below and on the right. Of a gradient of a pool:
whether the largest element gets it, and not all."""
FEW_OUTPUTS = 4
"""With fewer a group, copying what lies under taps would take as long as the sums."""


class _Image(NamedTuple):
    """Sizes and strides of images, or of weights, in the order of the words."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _image(layout: Layout | None) -> _Image:
    assert layout is not None
    shape, strides = layout.shape[2:], layout.strides[2:]
    if len(shape) == 1:
        shape, strides = (1, *shape), (shape[0] * strides[0], *strides)
    if len(shape) == 2:
        shape, strides = (1, *shape), (0, *strides)
    return _Image(
        (*layout.shape[:2], *shape[1:], shape[0]), (*layout.strides[:2], *strides[1:], strides[0])
    )


def _moves(node: Node, dimensions: int) -> list[int]:
    """Stride, dilation and padding before the first element."""
    moves: list[int] = []
    for name, default in (("stride", 1), ("dilation", 1), ("padding", 0)):
        given: Sequence[int] = node.attributes[name] or (default,)
        every = list(given) if len(given) > 1 else list(given) * dimensions
        depth, *own = [default] * (3 - dimensions) + every[:dimensions]
        moves += [*own, depth]
    return moves


def _convolution(
    node: Node, x: Layout | None, output: Layout, weight: Layout | None, channels: int
) -> list[int]:
    """The words that a convolution and its gradients share; a unit is one of `channels` planes."""
    image, result, taps = (_image(layout) for layout in (x, output, weight))
    return [
        *image.shape[2:],
        *result.shape[2:],
        *taps.shape[2:],
        *_moves(node, output.rank - 2),
        *image.strides,
        *result.strides,
        *taps.strides,
        channels,
        taps.shape[1],
        taps.shape[0] // node.attributes["groups"],
    ]


def _bias(bias: Layout | None) -> list[int]:
    return [bias is not None, 0 if bias is None else bias.strides[0]]


def conv(node: Node) -> Program:
    """A product where each group has several outputs, else plane by plane."""
    x, weight, bias = node.inputs
    assert weight is not None
    output = node.output
    words = _convolution(node, x, output, weight, output.shape[1])
    words += _bias(bias)
    if _is_pointwise(words):
        _join_rows(words)
    plane, taps = prod(output.shape[2:]), prod(weight.shape[1:])
    if words[GROUP_OUTPUTS - HEADER] < FEW_OUTPUTS or not weight.contiguous:
        units = [*output.shape[:2], words[OUT + 2 - HEADER]]
        work = [plane // max(1, words[OUT + 2 - HEADER]), taps]
        return Program("conv2d_planes", words, units=units, work=work)
    return Program("conv2d", words, units=output.shape, work=[taps])


def _is_pointwise(words: list[int]) -> bool:
    """Whether there is one tap, which meets each pixel once, and rows follow one another."""
    one_tap = [*(1,) * 9, *(0,) * 3] == words[KERNEL - HEADER : PADDING + 3 - HEADER]
    rows = [
        words[strides + 2] == size * words[strides + 3]
        for strides, size in (
            (IN_STRIDES - HEADER, words[IN + 1 - HEADER]),
            (OUT_STRIDES - HEADER, words[OUT + 1 - HEADER]),
        )
    ]
    return one_tap and all(rows) and words[:3] == words[3:6]


def _join_rows(words: list[int]) -> None:
    """Makes an image one row, input and output alike."""
    words[:6] = [1, words[0] * words[1], words[2]] * 2


def conv2d_gradient(node: Node) -> Program:
    """By the input or the weight. One unit is a plane of the result."""
    grad, other = node.inputs
    assert grad is not None
    assert other is not None
    node.attributes["shape"]  # that of the output, which is known
    result = node.output
    by_input = node.op == "conv2d_input_gradient"
    x, weight = (result, other) if by_input else (other, result)
    words = _convolution(node, x, grad, weight, result.shape[1])
    words += [False, 0, by_input, x.shape[0], 2]
    sums = words[GROUP_OUTPUTS - HEADER] if by_input else x.shape[0]
    return _planes(words, result, grad, weight, sums)


def conv_transpose(node: Node) -> Program:
    """The gradient of a convolution by its input, plus a bias."""
    x, weight, bias = node.inputs
    assert x is not None
    assert weight is not None
    node.attributes["output_padding"]  # decided the output's size, which is known
    result = node.output
    words = _convolution(node, result, x, weight, result.shape[1])
    words += [*_bias(bias), True, x.shape[0], 3]
    return _planes(words, result, x, weight, words[GROUP_OUTPUTS - HEADER])


def _planes(words: list[int], result: Layout, grad: Layout, weight: Layout, sums: int) -> Program:
    units = [*result.shape[:2], _image(result).shape[4]]
    work = [*_image(grad).shape[2:4], *weight.shape[2:], sums]
    return Program("conv2d_gradient", words, units=units, work=work)


def _pooling(node: Node, x: Layout, output: Layout) -> list[int]:
    """The words that a pool and its gradient share, up to the strides of both."""
    values = node.attributes
    kernel = values["kernel"]
    stride = [own or size for own, size in zip(values["stride"], kernel, strict=True)]
    values["ceil_mode"]  # decided the output's size, which is known
    moves = (*kernel, 1), (*stride, 1), (*values["dilation"], 1), (*values["padding"][:2], 0)
    image, result = _image(x), _image(output)
    words = [*image.shape[2:], *result.shape[2:], *(word for triple in moves for word in triple)]
    return [*words, *image.strides, *result.strides]


def pool2d(node: Node) -> Program:
    """Largest element or mean of windows. One unit is a plane of the output."""
    (x,) = (layout for layout in node.inputs if layout is not None)
    output, values = node.output, node.attributes
    words = [*_pooling(node, x, output), *(0,) * 5, output.shape[1]]
    if node.op == "avg_pool2d":
        words += [values["count_include_pad"], *values["padding"][2:]]
    plane = output.shape[2] * output.shape[3]
    return Program(node.op, words, units=output.shape[:2], work=[plane, *values["kernel"]])


def pool2d_gradient(node: Node) -> Program:
    """What the windows give back. One unit is a plane of the result."""
    grad, *others = (layout for layout in node.inputs if layout is not None)
    result, values = node.output, node.attributes
    words = [*_pooling(node, others[0] if others else result, grad), *_image(result).strides]
    words.append(result.shape[1])
    if others:
        words += [0, 0, 0, True]
    else:
        values["shape"]  # that of the output, which is known
        words += [values["count_include_pad"], *values["padding"][2:], False]
    plane = grad.shape[2] * grad.shape[3]
    work = [plane, *values["kernel"]]
    return Program("pool2d_gradient", words, units=result.shape[:2], work=work)
