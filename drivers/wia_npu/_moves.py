"""Programs that move elements, and convert them on the way."""

from __future__ import annotations

from math import prod

from wia import UnimplementedError
from wia.driver import Layout, Node
from wia_npu._elements import each_element
from wia_npu._terms import Space, sizes, steps, strides
from wia_npu._words import HEADER, Item, Program, space_size

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
    source = Space(sizes(0, range(x.rank)), (strides(0, range(x.rank)),))
    if node.op == "broadcast":
        node.attributes["shape"]  # that of the output, which is known
        source = Space(sizes(1, range(output.rank)), (steps(0, x.rank, output.rank),))
    elif node.op == "transpose":
        order = node.attributes["perm"] or tuple(reversed(range(x.rank)))
        source = Space(sizes(0, order), (strides(0, order),))
    elif node.op == "reshape":
        node.attributes["shape"]  # that of the output, which is known
    return _move(output, 0, source)


def _move(output: Layout, first: int, source: Space) -> Program:
    every = range(output.rank)
    target = Space(sizes(1, every), (strides(1, every),))
    words: list[Item] = [output.numpy_dtype.itemsize, first, source, target]
    return Program("move", words, units=target.sizes)


def cut(node: Node) -> Program:
    """A slice: other strides, from another element on. Where it ends depends on the shape."""
    x, output, values = _source(node), node.output, node.attributes
    starts, ends, axes, every = (values[name] or () for name in ("starts", "ends", "axes", "steps"))
    first, own = 0, list(x.strides)
    for i, axis in enumerate(axes or range(len(starts))):
        step = every[i] if every else 1
        start, _, _ = slice(starts[i], ends[i], step).indices(x.shape[axis])
        first += start * x.strides[axis]
        own[axis] = step * x.strides[axis]
    source = Space(output.shape, (tuple(own),))
    program = _move(output, first if prod(output.shape) else 0, source)
    return program.fixed([x, output])


def where(node: Node) -> Program:
    """One unit is an element of the output; the space is over condition, a, b and output."""
    space = each_element(node)
    return Program("where", [node.output.numpy_dtype.itemsize, space], units=space.sizes, work=[2])


def cast(node: Node) -> Program:
    """Between dtypes of whole bytes, and of bool."""
    x, output = _source(node), node.output
    node.attributes["dtype"]  # that of the output, which is known
    if output.dtype not in CASTS:
        raise UnimplementedError(
            f"npu has no kernel for cast of {x.dtype} to {output.dtype}; it converts "
            f"{', '.join(CASTS)}."
        )
    space = each_element(node)
    return Program("cast", [CASTS[x.dtype], CASTS[output.dtype], space], units=space.sizes)
