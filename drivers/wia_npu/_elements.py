"""Programs of operations on each element alone: one code word, then the space."""

from __future__ import annotations

from wia.driver import Node
from wia_npu._dtypes import CODES
from wia_npu._terms import Space, sizes, steps, strides
from wia_npu._words import HEADER, Item, Program

__all__ = [
    "ABS",
    "ADD",
    "AND",
    "BINARY",
    "CLIP",
    "CODE",
    "COMPARED",
    "COMPARISONS",
    "COS",
    "DIV",
    "EQUAL",
    "ERF",
    "EXP",
    "EXPM1",
    "FUSED",
    "GELU",
    "GELU_GRADIENT",
    "GELU_TANH",
    "GELU_TANH_GRADIENT",
    "GREATER",
    "GREATER_EQUAL",
    "HIGH",
    "KIND",
    "LESS",
    "LESS_EQUAL",
    "LOG",
    "LOG1P",
    "LOW",
    "MAXIMUM",
    "MINIMUM",
    "MUL",
    "NEG",
    "NOT",
    "NOT_EQUAL",
    "OR",
    "RECIPROCAL",
    "RELU",
    "RELU_GRADIENT",
    "RESULT",
    "RSQRT",
    "SCALE",
    "SIGMOID",
    "SIGN",
    "SILU",
    "SIN",
    "SPACE",
    "SQRT",
    "SQUARE",
    "SUB",
    "TANH",
    "UNARY",
    "XOR",
    "binary",
    "compare",
    "each_element",
    "function_code",
    "unary",
]

CODE, LOW, HIGH, SPACE = range(HEADER, HEADER + 4)
"""What is computed, and which scalars of the launch bound it (of clip); LOW is the factor of
scale."""
KIND, RESULT = LOW, HIGH
"""Of a comparison: the code of the dtype of its operands, and which operand is the output."""

ADD, SUB, MUL, DIV, MINIMUM, MAXIMUM, RELU_GRADIENT, GELU_GRADIENT, GELU_TANH_GRADIENT = range(9)
BINARY = {
    "add": ADD,
    "sub": SUB,
    "mul": MUL,
    "div": DIV,
    "minimum": MINIMUM,
    "maximum": MAXIMUM,
    "relu_gradient": RELU_GRADIENT,
    "gelu_gradient": GELU_GRADIENT,
}
EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, AND, OR, XOR, NOT = range(10)
COMPARISONS = {
    "equal": EQUAL,
    "not_equal": NOT_EQUAL,
    "less": LESS,
    "less_equal": LESS_EQUAL,
    "greater": GREATER,
    "greater_equal": GREATER_EQUAL,
    "logical_and": AND,
    "logical_or": OR,
    "logical_xor": XOR,
    "logical_not": NOT,
}
COMPARED = tuple(name for name in CODES if name != "uint64")
"""The dtypes that are compared: those that int64 or float64 holds all values of."""
RELU, NEG, ABS, SIGN, SQUARE, CLIP, SCALE = range(10, 17)
EXP, LOG, SQRT, TANH, SIGMOID, SILU, GELU, GELU_TANH, ERF = range(20, 29)
EXPM1, LOG1P, SIN, COS, RSQRT, RECIPROCAL = range(29, 35)
"""From EXP on functions are computed in float64."""
FUSED = {
    "relu": RELU,
    "neg": NEG,
    "abs": ABS,
    "sign": SIGN,
    "square": SQUARE,
    "exp": EXP,
    "log": LOG,
    "sqrt": SQRT,
    "tanh": TANH,
    "sigmoid": SIGMOID,
    "silu": SILU,
    "gelu": GELU,
    "erf": ERF,
    "expm1": EXPM1,
    "log1p": LOG1P,
    "sin": SIN,
    "cos": COS,
    "rsqrt": RSQRT,
    "reciprocal": RECIPROCAL,
}
"""Functions without scalars, which may stand behind a product."""
UNARY = {**FUSED, "clip": CLIP, "scale": SCALE}


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
    code, space = BINARY[node.op], each_element(node)
    if code == GELU_GRADIENT and node.attributes["approximate"]:
        code = GELU_TANH_GRADIENT
    work = 1 if code < GELU_GRADIENT else 32
    return Program("binary", [code, 0, 0, space], units=space.sizes, work=[work])


def compare(node: Node) -> Program:
    """One operand, or two that broadcast; the output is bool."""
    (first, *_), space = node.inputs, each_element(node)
    assert first is not None
    words: list[Item] = [COMPARISONS[node.op], CODES[first.dtype], len(node.inputs), space]
    return Program("compare", words, units=space.sizes)


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
    bounds = [scalars.get("factor", scalars.get("min", 0)), scalars.get("max", 0)]
    return Program("unary", [code, *bounds, space], units=space.sizes, work=[work])
