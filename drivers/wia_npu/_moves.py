"""Programs that move elements, and convert them on the way."""

from __future__ import annotations

from math import prod

from wia import UnimplementedError
from wia.driver import Layout, Node
from wia_npu._elements import broadcast
from wia_npu._words import HEADER, Program, space_size, space_words

__all__ = [
    "CASTS",
    "FROM",
    "SOURCE",
    "SPACE",
    "TARGET",
    "TO",
    "WIDTH",
    "cast",
    "move",
]

WIDTH, SOURCE = HEADER, HEADER + 1
"""Of a move: bytes of an element, and where they come from; where they go is a space of its own."""
TARGET = SOURCE + space_size(1)

FROM, TO, SPACE = range(HEADER, HEADER + 3)
"""Of a conversion: codes of the dtypes, and the space over both."""
CASTS = {
    "bool": 0,
    "uint8": 1,
    "uint16": 2,
    "uint32": 3,
    "uint64": 4,
    "int8": 5,
    "int16": 6,
    "int32": 7,
    "int64": 8,
    "float32": 9,
    "float64": 10,
}
"""The codes of dtypes that can be converted; wia_npu.kernels.cast has them in this order."""


def _source(node: Node) -> Layout:
    (layout,) = (layout for layout in node.inputs if layout is not None)
    return layout


def move(node: Node) -> Program:
    """Element i of the output is element i of the input, both counted in row-major order."""
    x, output = _source(node), node.output
    shape, strides = x.shape, x.strides
    if node.op == "broadcast":
        node.attributes["shape"]  # that of the output, which is known
        shape, strides = output.shape, broadcast(x, output.shape)
    elif node.op == "transpose":
        order = node.attributes["perm"] or tuple(reversed(range(x.rank)))
        shape, strides = output.shape, tuple(x.strides[i] for i in order)
    elif node.op == "reshape":
        node.attributes["shape"]  # that of the output, which is known
    width = output.numpy_dtype.itemsize
    words = [width, *space_words(shape, strides), *space_words(output.shape, output.strides)]
    return Program("move", words, units=prod(output.shape))


def cast(node: Node) -> Program:
    """Between dtypes of whole bytes, and of bool."""
    x, output = _source(node), node.output
    node.attributes["dtype"]  # that of the output, which is known
    if output.dtype not in CASTS:
        raise UnimplementedError(
            f"npu has no kernel for cast of {x.dtype} to {output.dtype}; it converts "
            f"{', '.join(CASTS)}."
        )
    codes = [CASTS[x.dtype], CASTS[output.dtype]]
    space = space_words(output.shape, x.strides, output.strides)
    return Program("cast", [*codes, *space], units=prod(output.shape))
