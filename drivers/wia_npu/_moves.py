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
    "COUNT",
    "FIRST",
    "FROM",
    "INDEX_WIDTH",
    "LENGTH",
    "LENGTH_STEP",
    "OUTPUT",
    "PARTS",
    "PART_SIZE",
    "PICKED",
    "SOURCE",
    "SPACE",
    "TARGET",
    "TO",
    "WIDTH",
    "cast",
    "concat",
    "cut",
    "gather",
    "move",
    "where",
]

WIDTH, FIRST, SOURCE = range(HEADER, HEADER + 3)
"""Of a move: bytes of an element, the element that comes first, and where they come from; where
they go is a space of its own."""
TARGET = SOURCE + space_size(1)

CHOICE = HEADER + 1
"""Of a choice: the space, behind the bytes of an element."""

INDEX_WIDTH, LENGTH, LENGTH_STEP, PICKED = range(HEADER + 1, HEADER + 5)
"""Of picked rows, behind the bytes of an element: the bytes of an index; size and stride of the
dimension that is picked from; the elements of the output, over input, indices and output."""

COUNT, OUTPUT, PARTS = range(HEADER + 1, HEADER + 4)
"""Of operands one behind the other, behind the bytes of an element: how many there are, which
operand is the output, and for each of PART_SIZE words: its first unit, how many it has, its first
element in the output, and the space over it and the output."""
PART_SIZE = 3 + space_size(2)

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


def gather(node: Node) -> Program:
    """Rows of x at the indices, in the place of an axis."""
    x, indices = node.inputs
    assert x is not None
    assert indices is not None
    output, axis = node.output, node.attributes["axis"] % x.rank
    before, behind = range(axis), range(axis + 1, x.rank)
    (length,), (step,) = sizes(0, [axis]), strides(0, [axis])
    space = Space(
        sizes(2, range(output.rank)),
        (
            (*strides(0, before), *(0,) * indices.rank, *strides(0, behind)),
            (*(0,) * axis, *strides(1, range(indices.rank)), *(0,) * len(behind)),
            strides(2, range(output.rank)),
        ),
    )
    widths = [output.numpy_dtype.itemsize, indices.numpy_dtype.itemsize]
    words: list[Item] = [*widths, length, step, space]
    return Program("gather", words, units=space.sizes)


def concat(node: Node) -> Program:
    """Each operand goes to its own part of the output."""
    output, axis = node.output, node.attributes["axis"] % node.output.rank
    given = [layout for layout in node.inputs if layout is not None]
    words: list[Item] = [output.numpy_dtype.itemsize, len(given), len(node.inputs)]
    unit = place = 0
    for layout in given:
        size = prod(layout.shape)
        own = Space(layout.shape, (layout.strides, output.strides))
        words += [unit, size, place * output.strides[axis], own]
        unit, place = unit + size, place + layout.shape[axis]
    return Program("concat", words, units=[unit])


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
