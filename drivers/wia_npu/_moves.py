"""Programs that move elements, and convert them on the way."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from wia import UnimplementedError
from wia.driver import Layout, Node
from wia_npu._dtypes import CODES
from wia_npu._elements import each_element
from wia_npu._terms import Product, Space, sizes, steps, strides
from wia_npu._words import HEADER, Item, Program, space_size

__all__ = [
    "CHOICE",
    "COLUMNS",
    "COUNT",
    "FIRST",
    "FROM",
    "INDEX_WIDTH",
    "INDICES",
    "LENGTH",
    "LENGTH_STEP",
    "PARTS",
    "PART_SIZE",
    "PICKED",
    "SOURCE",
    "SPACE",
    "TARGET",
    "TO",
    "WIDTH",
    "add_rows",
    "cast",
    "concat",
    "cut",
    "gather",
    "move",
    "split",
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

INDICES = PICKED + 1
COLUMNS = INDICES + space_size(2)
"""Of rows that are added up, in the place of elements: how many there are; the indices, over them
and the rows; the elements of a row, over rows and output."""

COUNT, PARTS = range(HEADER + 1, HEADER + 3)
"""Of parts that are copied, behind the bytes of an element: how many there are, and for each of
PART_SIZE words: its first unit, how many it has, the operand it comes from and the first element
there, the same of where it goes to, and the space over both."""
PART_SIZE = 6 + space_size(2)

FROM, TO, SPACE = range(HEADER, HEADER + 3)
"""Of a conversion: codes of the dtypes, and the space over both."""


_Part = tuple[int, tuple[int, int], tuple[int, int], Space]
"""Elements; operand and first element of where they come from, and of where they go to; the space
over both."""


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


def add_rows(node: Node) -> Program:
    """What gather gives back: rows are added where its indices say. One unit is a column."""
    grad, indices = node.inputs
    assert grad is not None
    assert indices is not None
    node.attributes["shape"]  # that of the output, which is known
    output, axis = node.output, node.attributes["axis"] % node.output.rank
    rest = [i for i in range(output.rank) if i != axis]
    behind = indices.rank - 1
    own = [i if i < axis else i + behind for i in rest]
    every = range(indices.rank)
    count = sizes(1, every)
    picked = strides(0, range(axis, axis + indices.rank))
    columns = Space(sizes(2, rest), (strides(0, own), strides(2, rest)))
    (length,), (step,) = sizes(2, [axis]), strides(2, [axis])
    words: list[Item] = [output.numpy_dtype.itemsize, indices.numpy_dtype.itemsize, length, step]
    words += [Product(count), Space(count, (strides(1, every), picked)), columns]
    return Program("add_rows", words, units=columns.sizes, work=count)


def concat(node: Node) -> Program:
    """Each operand goes to its own part of the output."""
    output, axis = node.output, node.attributes["axis"] % node.output.rank
    parts, place = list[_Part](), 0
    for i, layout in enumerate(node.inputs):
        if layout is not None:
            here = place * output.strides[axis]
            space = Space(layout.shape, (layout.strides, output.strides))
            parts.append((prod(layout.shape), (i, 0), (len(node.inputs), here), space))
            place += layout.shape[axis]
    return _parts(output.numpy_dtype.itemsize, parts)


def split(node: Node) -> Program:
    """Each output gets its own part of the operand."""
    x = _source(node)
    axis = node.attributes["axis"] % x.rank
    parts, place = list[_Part](), 0
    for i, size in enumerate(node.attributes["sizes"]):
        layout = node.outputs[i]
        if layout is not None:
            here = place * x.strides[axis]
            space = Space(layout.shape, (x.strides, layout.strides))
            parts.append((prod(layout.shape), (0, here), (len(node.inputs) + i, 0), space))
        place += size
    return _parts(x.numpy_dtype.itemsize, parts)


def _parts(width: int, parts: Sequence[_Part]) -> Program:
    words: list[Item] = [width, len(parts)]
    unit = 0
    for size, source, target, space in parts:
        words += [unit, size, *source, *target, space]
        unit += size
    return Program("parts", words, units=[unit])


def where(node: Node) -> Program:
    """One unit is an element of the output; the space is over condition, a, b and output."""
    space = each_element(node)
    return Program("where", [node.output.numpy_dtype.itemsize, space], units=space.sizes, work=[2])


def cast(node: Node) -> Program:
    """Between dtypes of whole bytes, and of bool."""
    x, output = _source(node), node.output
    node.attributes["dtype"]  # that of the output, which is known
    if output.dtype not in CODES:
        raise UnimplementedError(
            f"npu has no kernel for cast of {x.dtype} to {output.dtype}; it converts "
            f"{', '.join(CODES)}."
        )
    space = each_element(node)
    return Program("cast", [CODES[x.dtype], CODES[output.dtype], space], units=space.sizes)
