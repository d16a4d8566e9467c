"""Programs of operations on each element alone: one code word, then the space."""

from __future__ import annotations

from wia.driver import Node
from wia_npu._terms import Space, sizes, steps, strides
from wia_npu._words import HEADER, Program

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
    "compare",
    "each_element",
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


def each_element(node: Node) -> Space:
    """The elements of the output, over inputs that are repeated to its shape, and the output."""
    inputs, output = node.inputs, node.output
    every = range(output.rank)
    own = [
        steps(i, 0 if layout is None else layout.rank, output.rank)
        for i, layout in enumerate(inputs)
    ]
    return Space(sizes(len(inputs), every), (*own, strides(len(inputs), every)))


def binary(node: Node) -> Program:
    """Two operands that broadcast."""
    space = each_element(node)
    return Program("binary", [BINARY[node.op], 0, 0, space], units=space.sizes)


def compare(node: Node) -> Program:
    """Two operands that broadcast; the output is bool."""
    space = each_element(node)
    return Program("compare", [COMPARISONS[node.op], 0, 0, space], units=space.sizes)


def function_code(node: Node) -> int:
    """The code of a function of one element."""
    if node.op == "gelu" and node.attributes["approximate"]:
        return GELU_TANH
    return UNARY[node.op]


def unary(node: Node) -> Program:
    """One operand."""
    code, space = function_code(node), each_element(node)
    work = 1 if code < EXP else 16
    scalars = dict(node.scalars)
    bounds = [scalars.get("min", 0), scalars.get("max", 0)]
    return Program("unary", [code, *bounds, space], units=space.sizes, work=[work])
