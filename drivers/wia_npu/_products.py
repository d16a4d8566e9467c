"""Programs of matrix products: [m, k] times [k, n], for each step of a batch, and what is added."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from wia.driver import Layout, Node
from wia_npu._elements import broadcast
from wia_npu._words import HEADER, Program, simplify, space_words

__all__ = [
    "ADDEND",
    "ADDEND_STRIDES",
    "ALPHA",
    "A_STRIDES",
    "BATCH",
    "BETA",
    "BLOCK",
    "B_STRIDES",
    "C_STRIDES",
    "ENDS_WITH",
    "FIRST",
    "OUTPUT",
    "ROW",
    "ROW_STRIDE",
    "SECOND",
    "K",
    "M",
    "N",
    "addmm",
    "linear",
    "matmul",
]

M, K, N, FIRST, SECOND, ADDEND, OUTPUT, ALPHA, BETA = range(HEADER, HEADER + 9)
"""Sizes; the operands a, b, addend (-1: none), c; scalars of the launch (-1: the factor is 1)."""
ROW, ROW_STRIDE, ENDS_WITH = range(HEADER + 9, HEADER + 12)
"""Of a group: the operand whose row is added to the product (-1: none), and the code of a function
of one element (0: none)."""
A_STRIDES, B_STRIDES, C_STRIDES, ADDEND_STRIDES = range(HEADER + 12, HEADER + 20, 2)
"""Of rows and columns."""
BATCH = HEADER + 20

BLOCK = 512
"""Columns that are summed at once, in the workspace."""

Strides = tuple[int, ...]


def _program(
    sizes: tuple[int, int, int],
    batch: Sequence[int],
    strides: Sequence[Strides],
    *,
    first: int,
    addend: int,
    output: int,
    alpha: int = -1,
    beta: int = -1,
) -> Program:
    """Strides are those of a, b, c and the addend: of the batch, then of rows and columns."""
    m, k, n = sizes
    words = [m, k, n, first, first + 1, addend, output, alpha, beta, -1, 0, 0]
    for own in strides:
        words += own[-2:]
    words += space_words(batch, *(own[:-2] for own in strides))
    return Program(
        "matmul", words, units=prod(batch) * m, work=max(1, k * n), scratch=4 * min(n or 1, BLOCK)
    )


def _matrix(layout: Layout, position: int, transposed: bool) -> tuple[Strides, Strides]:
    """Shape and strides of an operand as a matrix; a row or a column is one without that size."""
    shape, strides = layout.shape, layout.strides
    if layout.rank == 1:
        return ((1, *shape), (0, *strides)) if position == 0 else ((*shape, 1), (*strides, 0))
    if transposed:
        return (*shape[:-2], shape[-1], shape[-2]), (*strides[:-2], strides[-1], strides[-2])
    return shape, strides


def matmul(node: Node) -> Program:
    """c = alpha a b + beta c."""
    a, b = (layout for layout in node.inputs if layout is not None)
    c = node.output
    a_shape, a_strides = _matrix(a, 0, bool(node.attributes["transpose_a"]))
    b_shape, b_strides = _matrix(b, 1, bool(node.attributes["transpose_b"]))
    c_shape, c_strides = list(c.shape), list(c.strides)
    if a.rank == 1:
        at = c.rank if b.rank == 1 else c.rank - 1
        c_shape.insert(at, 1)
        c_strides.insert(at, 0)
    if b.rank == 1:
        c_shape.append(1)
        c_strides.append(0)
    batch = c_shape[:-2]
    scalars = dict(node.scalars)
    return _program(
        (c_shape[-2], a_shape[-1], c_shape[-1]),
        batch,
        [
            (*_repeat(a_shape, a_strides, batch), *a_strides[-2:]),
            (*_repeat(b_shape, b_strides, batch), *b_strides[-2:]),
            tuple(c_strides),
            tuple(c_strides),
        ],
        first=0,
        addend=2,
        output=2,
        alpha=scalars["alpha"],
        beta=scalars["beta"],
    )


def _repeat(shape: Strides, strides: Strides, batch: Sequence[int]) -> Strides:
    """The strides of an operand's batch dimensions when they are repeated to a batch."""
    own = [0 if n == 1 else s for n, s in zip(shape[:-2], strides[:-2], strict=True)]
    return (*(0,) * (len(batch) - len(own)), *own)


def addmm(node: Node) -> Program:
    """output = beta input + alpha mat1 mat2."""
    addend, a, b = (layout for layout in node.inputs if layout is not None)
    c = node.output
    scalars = dict(node.scalars)
    return _program(
        (a.shape[0], a.shape[1], b.shape[1]),
        (),
        [a.strides, b.strides, c.strides, broadcast(addend, c.shape)],
        first=1,
        addend=0,
        output=3,
        alpha=scalars["alpha"],
        beta=scalars["beta"],
    )


def linear(node: Node) -> Program:
    """output = input weight^T + bias. Leading dimensions are rows, as far as they can be joined."""
    x, weight, bias = node.inputs
    assert x is not None
    assert weight is not None
    c = node.output
    shape, (x_steps, c_steps) = simplify(x.shape[:-1], [x.strides[:-1], c.strides[:-1]])
    batch = shape[:-1]
    still = (0,) * len(batch)
    return _program(
        (shape[-1], weight.shape[1], weight.shape[0]),
        batch,
        [
            (*x_steps, x.strides[-1]),
            (*still, weight.strides[1], weight.strides[0]),
            (*c_steps, c.strides[-1]),
            (*still, 0, 0 if bias is None else bias.strides[0]),
        ],
        first=0,
        addend=-1 if bias is None else 2,
        output=3,
    )
