"""Programs of groups: a matrix product, and what is done to each element before it is stored."""

from __future__ import annotations

from typing import NamedTuple

from wia import UnimplementedError
from wia.driver import Group, Layout, Node
from wia_npu._elements import FUSED, function_code
from wia_npu._products import (
    ADDEND,
    BETA,
    ENDS_WITH,
    FIRST,
    OUTPUT,
    ROW,
    ROW_STRIDE,
    SECOND,
    addmm,
    linear,
    matmul,
)
from wia_npu._words import HEADER, Program

__all__ = ["layer"]

PRODUCTS = {"matmul": matmul, "linear": linear, "addmm": addmm}


class _Ends(NamedTuple):
    """What follows the product: values of the group, and a code."""

    row: int
    function: int
    output: int


def layer(group: Group) -> Program:
    """A product, then at most one row that is added and one function of an element.

    Raises UnimplementedError for every other group: its nodes then come one by one.
    """
    node = group.nodes[0]
    ends = _read_ends(group) if node.op in PRODUCTS else None
    first = node.inputs[0]
    if ends is None or first is None or first.dtype != "float32" or ends.output != group.outputs[0]:
        raise UnimplementedError(
            f"npu has no kernel for {', '.join(n.op for n in group.nodes)} as a group; it has some "
            f"for {', '.join(PRODUCTS)} of float32, followed by add of a row, by a function of one "
            "element, or both."
        )
    output = group.values[ends.output]
    product = Node(
        op=node.op,
        attributes=node.attributes,
        inputs=node.inputs,
        outputs=(output,),
        aliases=(-1,),
        scalars=node.scalars,
    )
    program = PRODUCTS[node.op](product).fixed([*node.inputs, output])
    return _direct(program, group, ends)


def _direct(program: Program, group: Group, ends: _Ends) -> Program:
    """The program of a product with the operands of the group in the place of the product's own."""
    words = [0] * HEADER + program.numbers()
    values = (*group.node_inputs[0], ends.output)
    for place in (FIRST, SECOND, ADDEND, OUTPUT):
        if words[place] >= 0:
            words[place] = group.operand_of(values[words[place]])
    if group.nodes[0].op == "matmul":
        # It lies between nodes, so there is nothing that beta could add.
        words[ADDEND] = words[BETA] = -1
    if ends.row >= 0:
        row = _row(group, ends)
        words[ROW] = group.operand_of(ends.row)
        words[ROW_STRIDE] = 0 if row.rank == 0 or row.shape[-1] == 1 else row.strides[-1]
    words[ENDS_WITH] = ends.function
    units, work = program.units.factors, program.work.factors
    return Program(program.code, words[HEADER:], units=units, work=work)


def _row(group: Group, ends: _Ends) -> Layout:
    layout = group.values[ends.row]
    assert layout is not None
    return layout


def _read_ends(group: Group) -> _Ends | None:
    """None where something else follows the product."""
    (value,) = group.node_outputs[0]
    row, function, rest = -1, 0, list(range(1, len(group.nodes)))
    if rest and group.nodes[rest[0]].op == "add":
        left, right = group.node_inputs[rest[0]]
        row = right if left == value else left
        (total,) = group.node_outputs[rest.pop(0)]
        if value not in (left, right) or row == value or not _is_row(group, row, value, total):
            return None
        value = total
    if rest and group.nodes[rest[0]].op in FUSED:
        node = rest.pop(0)
        if group.node_inputs[node] != (value,):
            return None
        function = function_code(group.nodes[node])
        (value,) = group.node_outputs[node]
    return None if rest else _Ends(row, function, value)


def _is_row(group: Group, row: int, product: int, total: int) -> bool:
    """Whether one row, or one number, is added to each row of a product that has rows."""
    added, before, after = (group.values[value] for value in (row, product, total))
    assert added is not None
    assert before is not None
    assert after is not None
    operands = [layout.rank for layout in group.nodes[0].inputs[:2] if layout is not None]
    return min(operands) > 1 and before.shape == after.shape and set(added.shape[:-1]) <= {1}
