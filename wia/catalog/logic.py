"""Logic of truth values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._forms import EXACT, NUMBERS, TRUTH, TRUTH_OF_BOTH, binary, onnx, unary
from ._model import Operation

_WITH_BOOL = (*NUMBERS, "bool")


def _logical(name: str, summary: str) -> Callable[..., Any]:
    def semantics(np: Any, *inputs: Any) -> Any:
        return getattr(np, name)(*(item != 0 for item in inputs))

    semantics.__doc__ = summary
    return semantics


def _truth(number: int, name: str, word: str, formula: str) -> Operation:
    """Both operands as truth values."""
    both = f"Whether {word} of two elements " + ("is true." if word != "both" else "are true.")
    return binary(
        number,
        f"logical_{name}",
        both,
        f"output = {formula}",
        _logical(f"logical_{name}", both),
        outputs=(TRUTH_OF_BOTH,),
        family="compare",
        dtypes=_WITH_BOOL,
        notes=("What isn't 0 is true, NaN too.",),
        standard=onnx(name.capitalize(), 7, "of numbers too"),
        tolerance=EXACT,
        source=f"ONNX node tests {name}*",
    )


LOGICAL_AND = _truth(95, "and", "both", "a != 0 and b != 0")
LOGICAL_OR = _truth(96, "or", "any", "a != 0 or b != 0")
LOGICAL_XOR = _truth(97, "xor", "exactly one", "(a != 0) != (b != 0)")
LOGICAL_NOT = unary(
    98,
    "logical_not",
    "Whether elements are false.",
    "output = input is 0",
    _logical("logical_not", "Whether the element is false."),
    outputs=(TRUTH,),
    family="compare",
    dtypes=_WITH_BOOL,
    notes=("What isn't 0 is true, NaN too.",),
    standard=onnx("Not", 1, "of numbers too"),
    source="ONNX node tests not_*",
)


OPERATIONS = (LOGICAL_AND, LOGICAL_OR, LOGICAL_XOR, LOGICAL_NOT)
