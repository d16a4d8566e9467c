"""Programs of operations on images: NCHW, windows that move over rows and columns."""

from __future__ import annotations

from wia.driver import Node
from wia_npu._words import HEADER, Program

__all__ = [
    "BIAS_STRIDE",
    "CHANNELS",
    "DILATION",
    "END_PADDING",
    "GROUP_CHANNELS",
    "GROUP_OUTPUTS",
    "HAS_BIAS",
    "IN",
    "INCLUDE_PADDING",
    "IN_STRIDES",
    "KERNEL",
    "OUT",
    "OUT_STRIDES",
    "PADDING",
    "STRIDE",
    "WEIGHT_STRIDES",
    "conv2d",
    "pool2d",
]

IN, OUT, KERNEL, STRIDE, DILATION, PADDING = range(HEADER, HEADER + 12, 2)
"""Pairs, of rows and columns; padding is that above and on the left."""
IN_STRIDES, OUT_STRIDES, WEIGHT_STRIDES = range(HEADER + 12, HEADER + 24, 4)
CHANNELS = HEADER + 24
"""Of the output."""
GROUP_CHANNELS, GROUP_OUTPUTS, HAS_BIAS, BIAS_STRIDE = range(HEADER + 25, HEADER + 29)
"""Input and output channels of a group; whether there is a bias."""
INCLUDE_PADDING, END_PADDING = HEADER + 25, HEADER + 26
"""Of a mean: whether padding counts; a pair, that below and on the right."""


def conv2d(node: Node) -> Program:
    """One unit is a plane of the output."""
    x, weight, bias = node.inputs
    assert x is not None
    assert weight is not None
    output, values = node.output, node.attributes
    groups = values["groups"]
    words = [
        *x.shape[2:],
        *output.shape[2:],
        *weight.shape[2:],
        *values["stride"],
        *values["dilation"],
        *values["padding"][:2],
        *x.strides,
        *output.strides,
        *weight.strides,
        output.shape[1],
        weight.shape[1],
        weight.shape[0] // groups,
        bias is not None,
        0 if bias is None else bias.strides[0],
    ]
    plane = output.shape[2] * output.shape[3]
    taps = weight.shape[1] * weight.shape[2] * weight.shape[3]
    return Program("conv2d", words, units=output.shape[:2], work=[plane, taps])


def pool2d(node: Node) -> Program:
    """Largest element or mean of windows. One unit is a plane of the output."""
    (x,) = (layout for layout in node.inputs if layout is not None)
    output, values = node.output, node.attributes
    kernel = values["kernel"]
    stride = [own or size for own, size in zip(values["stride"], kernel, strict=True)]
    values["ceil_mode"]  # decided the output's size, which is known
    words = [
        *x.shape[2:],
        *output.shape[2:],
        *kernel,
        *stride,
        *values["dilation"],
        *values["padding"][:2],
        *x.strides,
        *output.strides,
        *(0,) * 4,
        output.shape[1],
    ]
    if node.op == "avg_pool2d":
        words += [values["count_include_pad"], *values["padding"][2:]]
    plane = output.shape[2] * output.shape[3]
    return Program(
        node.op,
        words,
        units=output.shape[:2],
        work=[plane, *kernel],
    )
