"""Programs that move elements, and convert them on the way."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from wia import UnimplementedError
from wia.driver import Layout, Node
from wia_npu._elements import broadcast
from wia_npu._words import HEADER, Program, space_size, space_words

__all__ = [
    "CASTS",
    "CHOICE",
    "FIRST",
    "FROM",
    "SOURCE",
    "SPACE",
    "TARGET",
    "TO",
    "WIDTH",
    "cast",
    "cut",
    "move",
    "where",
]

WIDTH, FIRST, SOURCE = range(HEADER, HEADER + 3)
"""Of a move: bytes of an element, the element that comes first, and where they come from; where
they go is a space of its own."""
TARGET = SOURCE + space_size(1)

CHOICE = HEADER + 1
"""Of a choice: the space, behind the bytes of an element."""

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
    return _move(output, 0, shape, strides)


def _move(output: Layout, first: int, shape: Sequence[int], strides: tuple[int, ...]) -> Program:
    width = output.numpy_dtype.itemsize
    words = [width, first, *space_words(shape, strides)]
    words += space_words(output.shape, output.strides)
    return Program("move", words, units=prod(output.shape))


def cut(node: Node) -> Program:
    """A slice: other strides, from another element on."""
    x, output, values = _source(node), node.output, node.attributes
    starts, ends, axes, steps = (values[name] or () for name in ("starts", "ends", "axes", "steps"))
    first, strides = 0, list(x.strides)
    for i, axis in enumerate(axes or range(len(starts))):
        step = steps[i] if steps else 1
        start, _, _ = slice(starts[i], ends[i], step).indices(x.shape[axis])
        first += start * x.strides[axis]
        strides[axis] = step * x.strides[axis]
    return _move(output, first if prod(output.shape) else 0, output.shape, tuple(strides))


def where(node: Node) -> Program:
    """One unit is an element of the output; the space is over condition, a, b and output."""
    output = node.output
    strides = [broadcast(layout, output.shape) for layout in node.inputs if layout is not None]
    space = space_words(output.shape, *strides, output.strides)
    words = [output.numpy_dtype.itemsize, *space]
    return Program("where", words, units=prod(output.shape), work=2)


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
