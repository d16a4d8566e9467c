"""Gradients as small programs: from their text to steps.

A program is lines of ``name = op(operand, ..., attribute=value) if condition and ...``. Operands
are inputs and outputs of the operation by name, ``grad`` (of the first output, ``grad_<output>`` of
another), what a line before has made, or a call. ``d_<input>`` is the gradient of an input.

A value is a number, a list of numbers, or

- the name of an attribute or scalar of the operation;
- ``flipped(name)``: a flag the other way round;
- ``inverse(name)``: a permutation the other way round;
- ``shape(operand)``: its shape; ``rows(operand)``: that with all dimensions but the last made one;
- ``kept(operand, name)``: its shape with size 1 in the dimensions that an attribute names, in all
  where it names none;
- ``dtype(operand)``;
- ``ratio(operand, other)``: elements of one divided by those of the other.

A condition is ``name == number`` of an attribute, ``name`` or ``not name`` of a flag or of an
input that may be left out, ``rank(operand) == number`` or ``rank(operand) > number``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from ._model import Operation

KINDS = (
    "numbers",
    "attribute",
    "flipped",
    "inverse",
    "shape",
    "rows",
    "kept",
    "dtype",
    "ratio",
)
"""What a value is made of."""


@dataclass(frozen=True)
class Value:
    """An attribute of a step. ``operands`` are names, ``name`` an attribute of the operation."""

    kind: str
    numbers: tuple[float, ...] = ()
    name: str = ""
    operands: tuple[str, ...] = ()


@dataclass(frozen=True)
class Condition:
    """When a step is done: ``kind`` is "equals", "given", "rank" or "above"."""

    kind: str
    name: str
    number: int


@dataclass(frozen=True)
class Step:
    """One operation of a gradient. ``to`` is the name of what its first output is."""

    to: str
    op: str
    inputs: tuple[str, ...]
    values: Mapping[str, Value]
    conditions: tuple[Condition, ...] = ()


def read_program(operation: Operation, text: str) -> tuple[Step, ...]:
    """The steps of a program. Raises ValueError for what a program can't have."""
    reader = _Reader(operation)
    for statement in ast.parse(text.strip()).body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            raise ValueError(f"{operation.name}: a line of its gradient is no assignment")
        made, to = statement.value, statement.targets[0].id
        if isinstance(made, ast.IfExp):
            reader.add(to, made.body, reader.conditions(made.test))
        else:
            reader.add(to, made, ())
    return tuple(reader.steps)


def prepare_text(text: str) -> str:
    """Gives ``x = f() if c`` the else that Python's grammar wants."""
    lines = [line.strip() for line in text.strip().splitlines()]
    return "\n".join(f"{line} else None" if " if " in line else line for line in lines)


class _Reader:
    def __init__(self, operation: Operation) -> None:
        self.steps: list[Step] = []
        self._operation = operation
        self._flags = {item.name for item in operation.attributes}

    def add(self, to: str, call: ast.expr, conditions: tuple[Condition, ...]) -> str:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError(f"{self._operation.name}: {to} is not made by an operation")
        inputs = []
        for place, argument in enumerate(call.args):
            if isinstance(argument, ast.Name):
                inputs.append(argument.id)
            else:
                inputs.append(self.add(f"{to}.{place}", argument, conditions))
        values = {item.arg or "": self._value(item.value) for item in call.keywords}
        self.steps.append(Step(to, call.func.id, tuple(inputs), values, conditions))
        return to

    def _value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Name):
            return Value("attribute", name=node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            names = tuple(item.id for item in node.args if isinstance(item, ast.Name))
            kind = node.func.id
            if kind in ("flipped", "inverse"):
                return Value(kind, name=names[0])
            if kind == "kept":
                return Value(kind, operands=names[:1], name="".join(names[1:]))
            return Value(kind, operands=names)
        found = ast.literal_eval(node)
        return Value("numbers", tuple(found) if isinstance(found, tuple | list) else (found,))

    def conditions(self, node: ast.expr) -> tuple[Condition, ...]:
        """The parts of a condition, all of which have to hold."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            return tuple(part for value in node.values for part in self.conditions(value))
        wanted = 1
        if isinstance(node, ast.UnaryOp):
            node, wanted = node.operand, 0
        if isinstance(node, ast.Name):
            kind = "equals" if node.id in self._flags else "given"
            return (Condition(kind, node.id, wanted),)
        if not isinstance(node, ast.Compare):
            raise ValueError(f"{self._operation.name}: a condition that no program has")
        number = int(ast.literal_eval(node.comparators[0]))
        if isinstance(node.left, ast.Call) and isinstance(node.left.args[0], ast.Name):
            kind = "rank" if isinstance(node.ops[0], ast.Eq) else "above"
            return (Condition(kind, node.left.args[0].id, number),)
        if not isinstance(node.left, ast.Name):
            raise ValueError(f"{self._operation.name}: a condition that no program has")
        return (Condition("equals", node.left.id, number),)
