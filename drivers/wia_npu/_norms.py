"""Programs of normalisations: scalars and operands that may be left out, then spaces."""

from __future__ import annotations

from wia.driver import Layout, Node
from wia_npu._terms import STEP, Place, Product, Space, sizes, strides
from wia_npu._words import HEADER, Item, Program, space_size

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


def layer_norm(node: Node) -> Program:
    """One unit is a row: the dimensions from the axis on."""
    x, weight, bias = node.inputs
    assert x is not None
    axis = node.attributes["axis"] % x.rank
    rows, row = range(axis), range(axis, x.rank)
    still = (0,) * len(row)
    count = sizes(0, row)
    words = [
        *_head(node, weight, bias),
        Product(count),
        Space(sizes(0, rows), (strides(0, rows), strides(3, rows))),
        Space(
            count,
            (
                strides(0, row),
                still if weight is None else strides(1, range(len(row))),
                still if bias is None else strides(2, range(len(row))),
                strides(3, row),
            ),
        ),
    ]
    return Program("layer_norm", words, units=sizes(0, rows), work=[4, *count])


def batch_norm(node: Node) -> Program:
    """One unit is an element."""
    x, *channels = node.inputs
    assert x is not None
    every, rest = range(x.rank), (0,) * (x.rank - 2)
    own = [
        (0, 0 if layout is None else Place(STEP, i, 0), *rest)
        for i, layout in enumerate(channels, 1)
    ]
    space = Space(sizes(5, every), (strides(0, every), *own, strides(5, every)))
    words = [*_head(node, channels[2], channels[3]), 0, space]
    return Program("batch_norm", words, units=space.sizes, work=[8])


def _head(node: Node, weight: Layout | None, bias: Layout | None) -> list[Item]:
    return [dict(node.scalars)["epsilon"], weight is not None, bias is not None]
