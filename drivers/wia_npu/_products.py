"""Programs of matrix products: [m, k] times [k, n], for each step of a batch, and what is added."""

from __future__ import annotations

from collections.abc import Sequence

from wia.driver import Layout, Node
from wia_npu._terms import STRIDE, Place, Product, Space, Term, sizes, steps, strides
from wia_npu._words import HEADER, Item, Program, simplify

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
"""Columns that are summed at once, on the stack."""

NO_BATCH = Space((), ((),) * 4)

Terms = Sequence[Term]


def _program(
    shape: tuple[Term | Product, Term, Term],
    batch: Space,
    strides: Sequence[Terms],
    *,
    first: int,
    addend: int,
    output: int,
    alpha: int = -1,
    beta: int = -1,
) -> Program:
    """Of [m, k] times [k, n]; strides are those of rows and columns of a, b, c and the addend."""
    m, k, n = shape
    words: list[Item] = [m, k, n, first, first + 1, addend, output, alpha, beta, -1, 0, 0]
    words += [term for own in strides for term in own]
    rows = m.factors if isinstance(m, Product) else (m,)
    return Program("matmul", [*words, batch], units=[*batch.sizes, *rows, n], work=[k])


def _matrix(operand: int, layout: Layout, row: bool, transposed: bool) -> tuple[Terms, Terms]:
    """Sizes and strides of rows and columns; of rank 1, it is a row or a column."""
    every = range(max(0, layout.rank - 2), layout.rank)
    shape, own = sizes(operand, every), strides(operand, every)
    if layout.rank == 1:
        return ((1, *shape), (0, *own)) if row else ((*shape, 1), (*own, 0))
    return (shape[::-1], own[::-1]) if transposed else (shape, own)


def matmul(node: Node) -> Program:
    """c = alpha a b + beta c."""
    a, b = (layout for layout in node.inputs if layout is not None)
    c = node.output
    a_shape, a_strides = _matrix(0, a, True, bool(node.attributes["transpose_a"]))
    b_shape, b_strides = _matrix(1, b, False, bool(node.attributes["transpose_b"]))
    # The output has no dimension for a row or column that an operand of rank 1 stands for.
    rank = c.rank - (a.rank > 1) - (b.rank > 1)
    (row,) = strides(2, [rank]) if a.rank > 1 else (0,)
    (column,) = strides(2, [c.rank - 1]) if b.rank > 1 else (0,)
    batch = strides(2, range(rank))
    own = [steps(i, max(0, layout.rank - 2), rank) for i, layout in enumerate((a, b))]
    scalars = dict(node.scalars)
    return _program(
        (a_shape[0], a_shape[1], b_shape[1]),
        Space(sizes(2, range(rank)), (*own, batch, batch)),
        [a_strides, b_strides, (row, column), (row, column)],
        first=0,
        addend=2,
        output=2,
        alpha=scalars["alpha"],
        beta=scalars["beta"],
    )


def addmm(node: Node) -> Program:
    """output = beta input + alpha mat1 mat2."""
    addend = node.inputs[0]
    assert addend is not None
    scalars = dict(node.scalars)
    a, b, c = (strides(i, range(2)) for i in (1, 2, 3))
    (k,), (n,) = sizes(1, [1]), sizes(2, [1])
    (m,) = sizes(1, [0])
    return _program(
        (m, k, n),
        NO_BATCH,
        [a, b, c, steps(0, addend.rank, 2)],
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
    c, last = node.output, x.rank - 1
    rows, (k,), (n,) = sizes(0, range(last)), sizes(1, [1]), sizes(1, [0])
    row_major = x.contiguous and c.contiguous
    if row_major:
        m, batch = Product(rows), NO_BATCH
        x_step, c_step = k, n
    else:
        shape, (x_steps, c_steps) = simplify(x.shape[:-1], [x.strides[:-1], c.strides[:-1]])
        still = (0,) * (len(shape) - 1)
        m, x_step, c_step = Product((shape[-1],)), x_steps[-1], c_steps[-1]
        batch = Space(tuple(shape[:-1]), (tuple(x_steps[:-1]), still, tuple(c_steps[:-1]), still))
    (x_column,), (c_column,), (turned, row) = (
        strides(0, [last]),
        strides(3, [last]),
        strides(1, [0, 1]),
    )
    program = _program(
        (m, k, n),
        batch,
        [
            (x_step, x_column),
            (row, turned),
            (c_step, c_column),
            (0, 0 if bias is None else Place(STRIDE, 2, 0)),
        ],
        first=0,
        addend=-1 if bias is None else 2,
        output=3,
    )
    return program if row_major else program.fixed([*node.inputs, c])
