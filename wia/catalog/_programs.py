"""Gradients as small programs: from their text to steps.

A program is lines of ``name = operand if condition``. ``d_<input>`` is the gradient of an input.
Names may be given several times: the first line whose condition holds is it. An operand is

- an input or output of the operation, by name; ``grad``, the gradient of the first output (unless
  an input has that name), ``grad_<output>`` that of another, which is 0 where there is none; what a
  line has made;
- ``op(operand, ..., attribute=value)``: the first output of another operation, ``op(...).output``
  one by name;
- ``a + b``, ``a - b``, ``a * b``, ``a / b``, ``-a``, ``a < b`` and its kin: the operations of these
  names;
- a number, or a scalar of the operation by name: a fill of rank 0 with the dtype of ``grad``, or as
  a factor the operation scale.

A value is an expression of numbers, lists (``[...]``, ``*list`` puts one into another), attributes
and scalars of the operation by name, ``+ - * / // %``, comparisons, ``and or not``,
``a if c else b``, ``list[i]``, ``list[a:b]``, and functions:

- ``shape(operand)``, ``rank``, ``size`` (its elements), ``dtype``, ``given`` (whether it is there),
  of inputs, outputs and their gradients;
- ``range(a, b)``, ``repeat(list, n)``, ``len``, ``sum``, ``prod``, ``max(a, b)``, ``min(a, b)``;
- ``inverse(permutation)``, ``reversed(list)``, ``replaced(list, i, value)``, and names of dtypes;
- ``kept(shape, axes)``: with size 1 in these dimensions, in all where there are none.

Where an operation has a list of inputs, the program is run for one of them, which has the name of
the list; ``place()`` is its number, and ``before(axis)`` the sizes of those before it, added up.
``op(*inputs)`` gives all of a list called inputs to an operation.

A line ``name = let(value)`` names a value. A condition is such an expression. Values and conditions
become terms: each takes the results of those before it. hal/gradient_terms.c computes them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from ._model import FLOATS, INTEGERS, Operation

__all__ = ["Program", "Step", "Term", "read_program"]


@dataclass(frozen=True)
class Term:
    """One term. ``slot`` is the operand that it is about, or the name of a dtype."""

    kind: str
    number: float = 0
    slot: str = ""


@dataclass(frozen=True)
class Step:
    """One operation of a gradient; ``to`` is what becomes of its output."""

    to: str
    op: str
    output: str
    inputs: tuple[str, ...]
    values: dict[str, tuple[Term, ...]]
    condition: tuple[Term, ...] = ()


@dataclass
class Program:
    """The steps, and the names that are there before them."""

    slots: list[str]
    steps: list[Step] = field(default_factory=list)

    @property
    def all_slots(self) -> list[str]:
        """The names that are there before, then those that steps make, once each."""
        return list(dict.fromkeys([*self.slots, *(step.to for step in self.steps)]))


def read_program(operation: Operation, text: str) -> Program:
    """The steps of a program. Raises ValueError for what a program can't have."""
    try:
        reader = _Reader(operation)
        for statement in ast.parse("\n".join(_lines(text))).body:
            reader.read(statement)
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"the gradient of {operation.name}: {error}") from None
    return reader.program


def _lines(text: str) -> Iterator[str]:
    """The lines without indents; a condition at the end gets the else that Python wants."""
    for line in text.replace("\\\n", " ").strip().splitlines():
        line = line.strip()
        if line:
            yield f"{line} else None" if _ends_in_condition(line) else line


def _ends_in_condition(line: str) -> bool:
    try:
        ast.parse(line)
    except SyntaxError:
        return " if " in line
    return False


_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
_COMPARED = {
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}
_TERMS = {**_BINARY, ast.FloorDiv: "floordiv", ast.Mod: "mod"}
_DTYPES = (*FLOATS, *INTEGERS, "bool")
_ABOUT = {"shape", "rank", "size", "dtype", "given"}
_FUNCTIONS = {
    "range": "range",
    "repeat": "repeat",
    "len": "length",
    "sum": "sum",
    "prod": "prod",
    "max": "maximum",
    "min": "minimum",
    "inverse": "inverse",
    "reversed": "reversed",
    "replaced": "replaced",
    "kept": "kept",
    "before": "before",
    "place": "place",
}


class _Reader:
    def __init__(self, operation: Operation) -> None:
        outputs = [output.name for output in operation.outputs]
        inputs = [operand.name for operand in operation.inputs]
        if taken := {f"d_{name}" for name in inputs} & {*inputs, *outputs}:
            raise ValueError(f"an operand is called {min(taken)}, as the gradient of another is")
        plain = () if "grad" in inputs else outputs[:1]
        grads = ["grad" if name in plain else f"grad_{name}" for name in outputs]
        self.program = Program([*inputs, *outputs, *grads])
        self._attributes = [item.name for item in operation.attributes]
        self._scalars = [item.name for item in operation.scalars]
        self._list = inputs[0] if operation.variadic else ""
        self._condition: tuple[Term, ...] = ()
        self._made: set[str] = set()
        self._lets: dict[str, tuple[Term, ...]] = {}

    def read(self, statement: ast.stmt) -> None:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            raise ValueError(f"line {statement.lineno} is no assignment")
        value = statement.value
        self._condition = ()
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "let":
            self._lets[statement.targets[0].id] = tuple(self._terms(value.args[0]))
            return
        if isinstance(value, ast.IfExp):
            self._condition = tuple(self._terms(value.test))
            value = value.body
        self._operand(value, statement.targets[0].id)
        self._made.add(statement.targets[0].id)

    # -- operands ---------------------------------------------------------------------------------

    def _operand(self, node: ast.expr, to: str) -> str:
        """The name of an operand; what has none yet is made under the name ``to``."""
        if isinstance(node, ast.Name) and node.id in self._known():
            if self._known_to(to):
                return self._add(to, "copy", (node.id,), {})
            return node.id
        if self._is_number(node):
            return self._fill(node, to)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._add(to, "neg", self._inputs([node.operand], to), {})
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node, to)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            name = _COMPARED[type(node.ops[0])]
            return self._add(to, name, self._inputs([node.left, node.comparators[0]], to), {})
        output, made = (
            ("", node) if not isinstance(node, ast.Attribute) else (node.attr, node.value)
        )
        if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Name):
            raise ValueError(f"{ast.unparse(node)} is no operand")
        values = {item.arg or "": tuple(self._terms(item.value)) for item in made.keywords}
        return self._add(to, made.func.id, self._inputs(made.args, to), values, output)

    def _known(self) -> set[str]:
        return {*self.program.slots, *self._made}

    @staticmethod
    def _known_to(to: str) -> bool:
        """Whether a name is that of a line: parts of a line have a dot in theirs."""
        return "." not in to

    def _inputs(self, nodes: list[ast.expr], to: str) -> tuple[str, ...]:
        return tuple(
            self._whole(node.value)
            if isinstance(node, ast.Starred)
            else self._operand(node, f"{to}.{place}")
            for place, node in enumerate(nodes)
        )

    def _whole(self, node: ast.expr) -> str:
        """All inputs of a list: its name behind a star."""
        if not self._list or ast.unparse(node) != self._list:
            raise ValueError(f"*{ast.unparse(node)}: it is no list of inputs of the operation")
        return f"*{self._list}"

    def _arithmetic(self, node: ast.BinOp, to: str) -> str:
        """A product with a number is one operation."""
        op, (left, right) = _BINARY[type(node.op)], (node.left, node.right)
        if op == "mul" and self._is_number(left):
            left, right = right, left
        if op in ("mul", "div") and self._is_number(right):
            factor = tuple(self._terms(right))
            if op == "div":
                factor = (Term("number", 1), *factor, Term("div"))
            return self._add(to, "scale", self._inputs([left], to), {"factor": factor})
        return self._add(to, op, self._inputs([left, right], to), {})

    def _is_number(self, node: ast.expr) -> bool:
        """Whether it is a value and no operand."""
        match node:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                return name not in self._known()
            case ast.UnaryOp(operand=operand):
                return self._is_number(operand)
            case ast.BinOp(left=left, right=right):
                return self._is_number(left) and self._is_number(right)
            case ast.Subscript(value=value):
                return self._is_number(value)
            case ast.Call(func=ast.Name(id=name)):
                return name in _ABOUT
        return False

    def _fill(self, node: ast.expr, to: str) -> str:
        values = {
            "shape": (Term("join", 0),),
            "dtype": (Term("dtype", slot="grad"),),
            "value": tuple(self._terms(node)),
        }
        return self._add(to, "fill", (), values)

    def _add(
        self,
        to: str,
        op: str,
        inputs: tuple[str, ...],
        values: dict[str, tuple[Term, ...]],
        output: str = "",
    ) -> str:
        """The same step under the same condition is there once, unless a line names it."""
        for step in self.program.steps:
            same = (step.op, step.output, step.inputs, step.values) == (op, output, inputs, values)
            plain = not step.condition or step.condition == self._condition
            if same and plain and not self._known_to(to):
                return step.to
        made = [step.to for step in self.program.steps]
        if not self._known_to(to):
            name, number = to, 1
            while to in made:
                number += 1
                to = f"{name}.{number}"
        self.program.steps.append(Step(to, op, output, inputs, values, self._condition))
        return to

    # -- values -----------------------------------------------------------------------------------

    def _terms(self, node: ast.expr) -> Iterator[Term]:
        match node:
            case ast.Constant(value=int() | float() as number):
                yield Term("number", float(number))
            case ast.Name(id=name) if name in self._attributes:
                yield Term("attribute", self._attributes.index(name))
            case ast.Name(id=name) if name in self._lets:
                yield from self._lets[name]
            case ast.Name(id=name) if name in _DTYPES:
                yield Term("named", slot=name)
            case ast.Name(id=name) if name in self._scalars:
                yield Term("scalar", self._scalars.index(name))
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                for part in parts:
                    yield from self._terms(part.value if isinstance(part, ast.Starred) else part)
                yield Term("join", len(parts))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _TERMS:
                yield from self._all(left, right)
                yield Term(_TERMS[type(op)])
            case ast.UnaryOp(op=ast.USub() | ast.Not() as op, operand=operand):
                yield from self._terms(operand)
                yield Term("neg" if isinstance(op, ast.USub) else "not")
            case ast.BoolOp(op=op, values=[first, *rest]):
                yield from self._terms(first)
                for part in rest:
                    yield from self._terms(part)
                    yield Term("and" if isinstance(op, ast.And) else "or")
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                yield from self._comparison(left, op, right)
            case ast.IfExp(test=test, body=body, orelse=other):
                yield from self._all(test, body, other)
                yield Term("select")
            case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper)):
                yield from self._terms(value)
                yield from self._terms(lower or ast.Constant(0))
                yield from self._terms(upper or ast.Constant(64))
                yield Term("cut")
            case ast.Subscript(value=value, slice=index):
                yield from self._all(value, index)
                yield Term("item")
            case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=slot)]) if name in _ABOUT:
                if slot not in self.program.slots:
                    raise ValueError(f"{name}({slot}): {slot} is no operand of the operation")
                yield Term(name, slot=slot)
            case ast.Call(func=ast.Name(id=name), args=parts) if name in _FUNCTIONS:
                yield from self._all(*parts)
                yield Term(_FUNCTIONS[name])
            case _:
                raise ValueError(f"{ast.unparse(node)} is no value")

    def _all(self, *nodes: ast.expr) -> Iterator[Term]:
        for node in nodes:
            yield from self._terms(node)

    def _comparison(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Iterator[Term]:
        kind = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le"}.get(type(op))
        turned = {ast.Gt: "lt", ast.GtE: "le"}.get(type(op))
        if kind is None and turned is None:
            raise ValueError(f"{ast.unparse(left)} is compared in a way that values can't be")
        yield from self._all(*((left, right) if kind else (right, left)))
        yield Term(kind or turned or "")
