"""Programs that add elements around a tensor, or cut some off."""

from __future__ import annotations

from wia.driver import Node
from wia_npu._terms import sizes, strides
from wia_npu._words import HEADER, Item, Program

__all__ = [
    "CONSTANT",
    "DIMENSIONS",
    "DIMENSION_SIZE",
    "EDGE",
    "MODE",
    "RANK",
    "VALUE",
    "WRAP",
    "pad",
]

MODE, VALUE, RANK, DIMENSIONS = range(HEADER, HEADER + 4)
"""What is added, and the scalar of the launch that it is; the dimensions, as they are, with
DIMENSION_SIZE words each: sizes of output and input, the elements before, strides of both."""
DIMENSION_SIZE = 5
CONSTANT, REFLECT, EDGE, WRAP = range(4)
"""Modes, as the catalog numbers them."""


def pad(node: Node) -> Program:
    """One unit is an element of the output."""
    (x,) = (layout for layout in node.inputs if layout is not None)
    values, every = node.attributes, range(x.rank)
    words: list[Item] = [values["mode"], dict(node.scalars)["value"], x.rank]
    after, before = sizes(1, every), values["pads"] or ()
    own = (after, sizes(0, every), before[: x.rank], strides(0, every), strides(1, every))
    for dimension in zip(*own, strict=True):
        words += dimension
    return Program("pad", words, units=after, work=[8])
