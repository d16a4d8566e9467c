"""Programs of operations on each element alone: one code word, then the space."""

from __future__ import annotations

from math import prod

from wia.driver import Layout, Node
from wia_npu._words import HEADER, Program, space_words

__all__ = [
    "ADD",
    "CLIP",
    "CODE",
    "DIV",
    "EQUAL",
    "EXP",
    "GELU",
    "GELU_TANH",
    "GREATER",
    "GREATER_EQUAL",
    "HIGH",
    "LESS",
    "LESS_EQUAL",
    "LOG",
    "LOW",
    "MAXIMUM",
    "MINIMUM",
    "MUL",
    "NEG",
    "NOT_EQUAL",
    "RELU",
    "SIGMOID",
    "SILU",
    "SPACE",
    "SQRT",
    "SUB",
    "TANH",
    "binary",
    "broadcast",
    "compare",
    "function_code",
    "unary",
]

CODE, LOW, HIGH, SPACE = range(HEADER, HEADER + 4)
"""What is computed, and which scalars of the launch bound it (of clip)."""

ADD, SUB, MUL, DIV, MINIMUM, MAXIMUM = range(6)
RELU, NEG, CLIP, EXP, LOG, SQRT, TANH, SIGMOID, SILU, GELU, GELU_TANH = range(10, 21)

BINARY = {
    "add": ADD,
    "sub": SUB,
    "mul": MUL,
    "div": DIV,
    "minimum": MINIMUM,
    "maximum": MAXIMUM,
}
EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = range(6)
COMPARISONS = {
    "equal": EQUAL,
    "not_equal": NOT_EQUAL,
    "less": LESS,
    "less_equal": LESS_EQUAL,
    "greater": GREATER,
    "greater_equal": GREATER_EQUAL,
}
UNARY = {
    "relu": RELU,
    "neg": NEG,
    "clip": CLIP,
    "exp": EXP,
    "log": LOG,
    "sqrt": SQRT,
    "tanh": TANH,
    "sigmoid": SIGMOID,
    "silu": SILU,
    "gelu": GELU,
}


def broadcast(layout: Layout, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of an operand that is repeated to a shape, by numpy's rules."""
    padding = (0,) * (len(shape) - layout.rank)
    own = (
        0 if size == 1 else stride
        for size, stride in zip(layout.shape, layout.strides, strict=True)
    )
    return (*padding, *own)


def binary(node: Node) -> Program:
    """Two operands that broadcast."""
    first, second = (layout for layout in node.inputs if layout is not None)
    output = node.output
    strides = [broadcast(layout, output.shape) for layout in (first, second)]
    space = space_words(output.shape, *strides, output.strides)
    return Program("binary", [BINARY[node.op], 0, 0, *space], units=prod(output.shape))


def compare(node: Node) -> Program:
    """Two operands that broadcast; the output is bool."""
    first, second = (layout for layout in node.inputs if layout is not None)
    output = node.output
    strides = [broadcast(layout, output.shape) for layout in (first, second)]
    space = space_words(output.shape, *strides, output.strides)
    return Program("compare", [COMPARISONS[node.op], 0, 0, *space], units=prod(output.shape))


def function_code(node: Node) -> int:
    """The code of a function of one element."""
    if node.op == "gelu" and node.attributes["approximate"]:
        return GELU_TANH
    return UNARY[node.op]


def unary(node: Node) -> Program:
    """One operand."""
    code, output = function_code(node), node.output
    (layout,) = (layout for layout in node.inputs if layout is not None)
    space = space_words(output.shape, layout.strides, output.strides)
    work = 1 if code < EXP else 16
    scalars = dict(node.scalars)
    bounds = [scalars.get("min", 0), scalars.get("max", 0)]
    return Program("unary", [code, *bounds, *space], units=prod(output.shape), work=work)
