"""Programs of operations on images: NCHW, windows that move over rows and columns."""

from __future__ import annotations

from math import prod

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
    "RESULT_STRIDES",
    "STRIDE",
    "WEIGHT_STRIDES",
    "conv2d",
    "conv2d_gradient",
    "pool2d",
    "pool2d_gradient",
]

IN, OUT, KERNEL, STRIDE, DILATION, PADDING = range(HEADER, HEADER + 12, 2)
"""Pairs, of rows and columns; padding is that above and on the left."""
IN_STRIDES, OUT_STRIDES, WEIGHT_STRIDES = range(HEADER + 12, HEADER + 24, 4)
RESULT_STRIDES = WEIGHT_STRIDES
"""Of the gradient of a pool, which has the shape of the pool's input."""
CHANNELS = HEADER + 24
"""Planes of the result that an image has, or of a gradient by weights an output."""
GROUP_CHANNELS, GROUP_OUTPUTS, HAS_BIAS, BIAS_STRIDE = range(HEADER + 25, HEADER + 29)
"""Input and output channels of a group; whether there is a bias."""
BY_INPUT, IMAGES = HAS_BIAS, BIAS_STRIDE
"""Of a gradient of a convolution: whether it is that by the input, and not by the weight; how many
images there are."""
INCLUDE_PADDING, END_PADDING, LARGEST = HEADER + 25, HEADER + 26, HEADER + 28
"""Of a mean: whether padding counts; a pair, that below and on the right. Of a gradient of a pool:
whether the largest element gets it, and not all."""
FEW_OUTPUTS = 4
"""With fewer a group, copying what lies under taps would take as long as the sums."""


def _convolution(node: Node, x: Layout, output: Layout, weight: Layout, channels: int) -> list[int]:
    """The words that a convolution and its gradients share; a unit is one of `channels` planes."""
    values = node.attributes
    return [
        *x.shape[2:],
        *output.shape[2:],
        *weight.shape[2:],
        *values["stride"],
        *values["dilation"],
        *values["padding"][:2],
        *x.strides,
        *output.strides,
        *weight.strides,
        channels,
        weight.shape[1],
        weight.shape[0] // values["groups"],
    ]


def conv2d(node: Node) -> Program:
    """A product where each group has several outputs, else plane by plane."""
    x, weight, bias = node.inputs
    assert x is not None
    assert weight is not None
    output = node.output
    words = _convolution(node, x, output, weight, output.shape[1])
    words += [bias is not None, 0 if bias is None else bias.strides[0]]
    if _is_pointwise(words):
        _join_rows(words)
    plane = output.shape[2] * output.shape[3]
    taps = prod(weight.shape[1:])
    if words[GROUP_OUTPUTS - HEADER] < FEW_OUTPUTS or not weight.contiguous:
        return Program("conv2d_planes", words, units=output.shape[:2], work=[plane, taps])
    return Program("conv2d", words, units=output.shape, work=[taps])


def _is_pointwise(words: list[int]) -> bool:
    """Whether there is one tap, which meets each pixel once, and rows follow one another."""
    one_tap = [*(1,) * 6, 0, 0] == words[KERNEL - HEADER : PADDING + 2 - HEADER]
    rows = [
        words[strides + 2] == size * words[strides + 3]
        for strides, size in (
            (IN_STRIDES - HEADER, words[IN + 1 - HEADER]),
            (OUT_STRIDES - HEADER, words[OUT + 1 - HEADER]),
        )
    ]
    return one_tap and all(rows) and words[:2] == words[2:4]


def _join_rows(words: list[int]) -> None:
    """Makes an image one row, input and output alike."""
    words[:4] = [1, words[0] * words[1]] * 2


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
    words += [by_input, x.shape[0]]
    plane = grad.shape[2] * grad.shape[3]
    sums = words[GROUP_OUTPUTS - HEADER] if by_input else x.shape[0]
    work = [plane, *weight.shape[2:], sums]
    return Program("conv2d_gradient", words, units=result.shape[:2], work=work)


def _pooling(node: Node, x: Layout, output: Layout) -> list[int]:
    """The words that a pool and its gradient share, up to the strides of both."""
    values = node.attributes
    kernel = values["kernel"]
    stride = [own or size for own, size in zip(values["stride"], kernel, strict=True)]
    values["ceil_mode"]  # decided the output's size, which is known
    return [
        *x.shape[2:],
        *output.shape[2:],
        *kernel,
        *stride,
        *values["dilation"],
        *values["padding"][:2],
        *x.strides,
        *output.strides,
    ]


def pool2d(node: Node) -> Program:
    """Largest element or mean of windows. One unit is a plane of the output."""
    (x,) = (layout for layout in node.inputs if layout is not None)
    output, values = node.output, node.attributes
    words = [*_pooling(node, x, output), *(0,) * 4, output.shape[1]]
    if node.op == "avg_pool2d":
        words += [values["count_include_pad"], *values["padding"][2:]]
    plane = output.shape[2] * output.shape[3]
    return Program(node.op, words, units=output.shape[:2], work=[plane, *values["kernel"]])


def pool2d_gradient(node: Node) -> Program:
    """What the windows give back. One unit is a plane of the result."""
    grad, *others = (layout for layout in node.inputs if layout is not None)
    result, values = node.output, node.attributes
    words = [*_pooling(node, others[0] if others else result, grad), *result.strides]
    words.append(result.shape[1])
    if others:
        words += [0, 0, 0, True]
    else:
        values["shape"]  # that of the output, which is known
        words += [values["count_include_pad"], *values["padding"][2:], False]
    plane = grad.shape[2] * grad.shape[3]
    work = [plane, *values["kernel"]]
    return Program("pool2d_gradient", words, units=result.shape[:2], work=work)
