"""Programs that make a tensor of scalars of the launch."""

from __future__ import annotations

from wia.driver import Node
from wia_npu._dtypes import CODES
from wia_npu._terms import Space, sizes, strides
from wia_npu._words import HEADER, Item, Program

__all__ = ["KIND", "SERIES", "SPACE", "START", "STEP", "make"]

KIND, SERIES, START, STEP, SPACE = range(HEADER, HEADER + 5)
"""The code of the dtype; whether it is a series, and not one value; the scalars of the launch that
are the first number and the distance of two; the space over the output and over the numbers of
elements in the series."""


def make(node: Node) -> Program:
    """One unit is an element of the output."""
    output, values, scalars = node.output, node.attributes, dict(node.scalars)
    values["shape"], values["dtype"]  # those of the output, which are known
    every = range(output.rank)
    series = node.op == "iota"
    axis = values["axis"] % output.rank if series else -1
    places = tuple(int(i == axis) for i in every)
    space = Space(sizes(0, every), (strides(0, every), places))
    start = scalars["start" if series else "value"]
    words: list[Item] = [CODES[output.dtype], series, start, scalars.get("step", start), space]
    return Program("make", words, units=space.sizes)
