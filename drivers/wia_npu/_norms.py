"""Programs of normalisations: scalars and operands that may be left out, then spaces."""

from __future__ import annotations

from math import prod

from wia.driver import Layout, Node
from wia_npu._words import HEADER, Program, space_size, space_words

__all__ = [
    "CHANNELS",
    "COUNT",
    "EPSILON",
    "HAS_BIAS",
    "HAS_WEIGHT",
    "INNER",
    "OUTER",
    "batch_norm",
    "layer_norm",
]

EPSILON, HAS_WEIGHT, HAS_BIAS, COUNT, OUTER = range(HEADER, HEADER + 5)
"""Which scalar of the launch; whether there are operands; the elements of a row; of a norm of
layers, the rows of input and output."""
INNER = OUTER + space_size(2)
"""One row, over input, weight, bias and output."""
CHANNELS = OUTER
"""Of a norm of channels: every element, over input, mean, variance, weight, bias and output."""

Strides = tuple[int, ...]


def layer_norm(node: Node) -> Program:
    """One unit is a row: the dimensions from the axis on."""
    x, weight, bias = node.inputs
    assert x is not None
    output = node.output
    axis = node.attributes["axis"] % x.rank
    rows, row = x.shape[:axis], x.shape[axis:]
    still = (0,) * len(row)
    count = prod(row)
    words = [
        *_head(node, weight, bias),
        count,
        *space_words(rows, x.strides[:axis], output.strides[:axis]),
        *space_words(
            row,
            x.strides[axis:],
            still if weight is None else weight.strides,
            still if bias is None else bias.strides,
            output.strides[axis:],
        ),
    ]
    return Program("layer_norm", words, units=prod(rows) if count else 0, work=max(1, 4 * count))


def batch_norm(node: Node) -> Program:
    """One unit is an element."""
    x, *channels = node.inputs
    assert x is not None
    output = node.output
    steps: list[Strides] = []
    for layout in channels:
        own = 0 if layout is None or layout.shape[0] == 1 else layout.strides[0]
        steps.append((0, own, *(0,) * (x.rank - 2)))
    words = [
        *_head(node, channels[2], channels[3]),
        0,
        *space_words(output.shape, x.strides, *steps, output.strides),
    ]
    return Program("batch_norm", words, units=prod(output.shape), work=8)


def _head(node: Node, weight: Layout | None, bias: Layout | None) -> list[int]:
    return [dict(node.scalars)["epsilon"], weight is not None, bias is not None]
