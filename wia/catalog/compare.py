"""Comparisons, the smaller and the larger of two, and choices between two."""

from __future__ import annotations

from typing import Any

from ._cost import moves_only
from ._forms import COPIED, EXACT, binary, onnx
from ._model import (
    ANY,
    FLOATS,
    INTEGERS,
    Operand,
    Operation,
    Sample,
    Standard,
)
from ._numeric import widen


def minimum(np: Any, a: Any, b: Any) -> Any:
    """The smaller one; NaN wins."""
    return np.minimum(a, b)


def maximum(np: Any, a: Any, b: Any) -> Any:
    """The larger one; NaN wins."""
    return np.maximum(a, b)


def _comparison(name: str) -> Any:
    def compare(np: Any, a: Any, b: Any) -> Any:
        return getattr(np, name)(widen(np, a), widen(np, b))

    return compare


def where(np: Any, condition: Any, a: Any, b: Any) -> Any:
    """The element of a where the condition is true, else that of b."""
    return np.where(condition, a, b)


def _extreme(number: int, name: str, word: str, semantics: Any, operator: str) -> Operation:
    return binary(
        number,
        name,
        f"The {word} of two numbers, element by element.",
        f"output = {name[:3]}(a, b)",
        semantics,
        standard=onnx(operator, 13, "two inputs"),
        tolerance=EXACT,
        notes=("NaN wins, on either side. Of zeros of both signs either may come out.",),
        source=f"ONNX node tests {name[:3]}_*; NaN by hand",
    )


def _order(number: int, name: str, sign: str, operator: str, opset: int, tests: str) -> Operation:
    both = name in ("equal", "not_equal")
    rule = "NaN is unequal to all numbers, itself included; " if both else "NaN gives false; "
    return binary(
        number,
        name,
        f"Whether a {sign} b, element by element.",
        f"output = a {sign} b",
        _comparison(name),
        standard=onnx(operator, opset, "with Not behind it" if name == "not_equal" else ""),
        tolerance=EXACT,
        outputs=(Operand(name="output", summary="bool; the shape of both together."),),
        family="compare",
        dtypes=(*FLOATS, *INTEGERS, *(("bool",) if both else ())),
        notes=(f"{rule}zeros of both signs are equal.",),
        source=f"{tests}; NaN and zeros by hand",
    )


MINIMUM = _extreme(30, "minimum", "smaller", minimum, "Min")
MAXIMUM = _extreme(31, "maximum", "larger", maximum, "Max")
EQUAL = _order(32, "equal", "==", "Equal", 13, "ONNX node tests equal*")
NOT_EQUAL = _order(33, "not_equal", "!=", "Equal", 13, "ONNX node tests equal*, inverted")
LESS = _order(34, "less", "<", "Less", 13, "ONNX node tests less*")
LESS_EQUAL = _order(35, "less_equal", "<=", "LessOrEqual", 16, "ONNX node tests less_equal*")
GREATER = _order(36, "greater", ">", "Greater", 13, "ONNX node tests greater*")
GREATER_EQUAL = _order(
    37, "greater_equal", ">=", "GreaterOrEqual", 16, "ONNX node tests greater_equal*"
)

WHERE = Operation(
    number=38,
    name="where",
    summary="Takes each element from one of two tensors.",
    formula="output = a where condition is true, else b",
    inputs=(
        Operand(name="condition", summary="Broadcasts with a and b.", dtypes=("bool",)),
        Operand(name="a", summary="Any shape."),
        Operand(name="b", summary="Broadcasts with a."),
    ),
    outputs=(Operand(name="output", summary="The shape of all three together."),),
    family="elementwise",
    dtypes=ANY,
    semantics=where,
    notes=("Elements are copied bit by bit, NaN too.",),
    standard=Standard(name="Where", opset=16),
    tolerance=COPIED,
    flops=moves_only,
    samples=(
        Sample(shapes=((8,), (8,), (8,))),
        Sample(shapes=((), (), ())),
        Sample(shapes=((2, 1), (33,), (3, 1, 1))),
        Sample(shapes=((4,), (0, 4), (1,))),
        Sample(shapes=((9, 5), (9, 5), (5,)), fills=("normal", "special", "special")),
    ),
    source="ONNX node tests where_*; broadcasting of the condition by hand",
)

OPERATIONS = (
    MINIMUM,
    MAXIMUM,
    EQUAL,
    NOT_EQUAL,
    LESS,
    LESS_EQUAL,
    GREATER,
    GREATER_EQUAL,
    WHERE,
)
