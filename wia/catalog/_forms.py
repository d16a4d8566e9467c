"""What many entries share: operands, attributes, tolerances, samples, whole forms of entries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ._cost import per_output
from ._model import (
    FLOATS,
    INT64_MAX,
    INTEGERS,
    Attribute,
    Operand,
    Operation,
    Sample,
    Standard,
    Tolerance,
)
from ._numeric import narrow, widen

# -- operands --------------------------------------------------------------------------------------

INPUT = Operand(name="input", summary="Any shape.")
SAME = Operand(name="output", summary="The shape of input.")
PAIR = (
    Operand(name="a", summary="Any shape."),
    Operand(name="b", summary="Broadcasts with a, by numpy's rules."),
)
BOTH = Operand(name="output", summary="The shape of both together.")
TOGETHER = Operand(name="output", summary="The shape of all together.")
TRUTH = Operand(name="output", summary="bool; the shape of input.")
TRUTH_OF_BOTH = Operand(name="output", summary="bool; the shape of both together.")


def broadcasting(first: str, *others: str) -> tuple[Operand, ...]:
    """Inputs of these names that broadcast."""
    summary = f"Broadcasts with {first}, by numpy's rules."
    return (
        Operand(name=first, summary="Any shape."),
        *(Operand(name=name, summary=summary) for name in others),
    )


INT32_FOR_INT8 = (("int8", "int32"), ("uint8", "int32"))
"""Operand.dtype_for of a bias that is added to a sum of products."""

NUMBERS = (*FLOATS, *INTEGERS)

# -- attributes ------------------------------------------------------------------------------------


def one_axis(summary: str, default: int = -1) -> Attribute:
    """The one dimension that an operation works along."""
    return Attribute(name="axis", summary=summary, default=default, minimum=-8, maximum=7)


def flag(name: str, summary: str, *, default: int = 0) -> Attribute:
    """Yes or no."""
    return Attribute(
        name=name, summary=summary, default=default, kind="bool", maximum=1, field="uint32_t"
    )


def numbers(name: str, summary: str, count: str, **more: Any) -> Attribute:
    """A list of any length up to 8; ``count`` is the field of the config that has its length."""
    given: dict[str, Any] = {
        "default": (),
        "length": 8,
        "field": "int64_t",
        "minimum": -INT64_MAX,
        **more,
    }
    return Attribute(name=name, summary=summary, variable=True, length_field=count, **given)


AXES = numbers(
    "axes",
    "The dimensions to reduce, below 0 from the last; none: all of them.",
    "axis_count",
    minimum=-8,
    maximum=7,
    field="int32_t",
)
KEEPDIMS = flag("keepdims", "1: reduced dimensions stay, with size 1.")


def target_shape(summary: str, minimum: int = 0) -> Attribute:
    """The shape of the first output, where the caller chooses it."""
    return Attribute(
        name="shape",
        summary=f"{summary}; not given: that of the output.",
        default=None,
        length=8,
        variable=True,
        minimum=minimum,
        field="",
    )


def target_dtype(summary: str) -> Attribute:
    """The dtype of the first output, where it is the caller's choice."""
    return Attribute(
        name="dtype",
        summary=f"{summary}; not given: that of the output.",
        default=None,
        kind="dtype",
        field="",
    )


# -- tolerances ------------------------------------------------------------------------------------

EXACT = Tolerance()
SIGNED_ZEROS = Tolerance(signed_zeros=True)
COPIED = Tolerance(bitwise=True, reason="Elements are copied bit by bit.")
ROUNDED = Tolerance(ulps=1.0, reason="One rounding of the result.")

_LEAST = 2.0**-100
"""What results count as at least, for errors: so those near underflow may be flushed to zero."""


def roundings(semantics: Any, count: int, what: str) -> Tolerance:
    """So many roundings in the accumulator, relative to the result."""

    def magnitude(np: Any, *inputs: Any, **values: Any) -> Any:
        return np.maximum(np.abs(semantics(np, *inputs, **values)), _LEAST)

    return Tolerance(
        ulps=1.0,
        length=lambda shapes, values: count,
        magnitude=magnitude,
        reason=f"{what} in the accumulator, relative to the result, which counts as 2**-100 at "
        "least: so results near underflow may be flushed to zero; and one rounding of the result.",
    )


def relative(count: int, words: str, what: str, magnitude: Any) -> Tolerance:
    """So many roundings in the accumulator, relative to something else: the result may cancel."""
    return Tolerance(
        ulps=1.0,
        length=lambda shapes, values: count,
        magnitude=magnitude,
        reason=f"{words} in the accumulator, relative to {what}, and one of the result.",
    )


# -- samples ---------------------------------------------------------------------------------------

UNARY_SAMPLES = (
    Sample(shapes=((8,),)),
    Sample(shapes=((),)),
    Sample(shapes=((3, 31),), fills=("special",)),
    Sample(shapes=((2, 0),)),
    Sample(shapes=((65,),), fills=("wide",)),
)
HALVES = Sample(shapes=((65,),), fills=("halves",))
PAIRS_OF_ENDS = Sample(shapes=((5, 1), (5,)), fills=("ends", "ends"), dtypes=INTEGERS)
PAIRS_OF_HALVES = Sample(shapes=((65,), (65,)), fills=("halves", "halves"))
POSITIVE_SAMPLES = (*UNARY_SAMPLES, Sample(shapes=((2, 33),), fills=("positive",)))
PAIR_SAMPLES = (
    Sample(shapes=((8,), (8,))),
    Sample(shapes=((), ())),
    Sample(shapes=((3, 1, 33), (2, 1))),
    Sample(shapes=((31,), (1,))),
    Sample(shapes=((0, 4), (4,))),
    Sample(shapes=((2, 3, 5), (2, 3, 5)), fills=("special", "special")),
    Sample(shapes=((9, 7), (9, 7)), fills=("wide", "wide")),
)

TRIPLE_SAMPLES = (
    Sample(shapes=((8,), (8,), (8,))),
    Sample(shapes=((), (), ())),
    Sample(shapes=((3, 1, 33), (2, 1), (33,))),
    Sample(shapes=((0, 4), (4,), ())),
    Sample(shapes=((2, 3, 5),) * 3, fills=("special",) * 3),
    Sample(shapes=((9, 7),) * 3, fills=("wide",) * 3),
)


def valued(samples: tuple[Sample, ...], **values: Any) -> tuple[Sample, ...]:
    """Samples with other values than the defaults."""
    return tuple(replace(sample, values=values) for sample in samples)


# -- semantics -------------------------------------------------------------------------------------


def lifted(function: Callable[..., Any]) -> Any:
    """Semantics of a function of wide arrays, rounded once: function(np, *wide, **values)."""

    def semantics(np: Any, *inputs: Any, **values: Any) -> Any:
        wide = [None if array is None else widen(np, array) for array in inputs]
        return narrow(np, function(np, *wide, **values), inputs[0].dtype)

    return semantics


# -- gradients -------------------------------------------------------------------------------------

STEPS = "it is constant between steps, so the derivative is 0 where there is one"
"""Why a function that rounds, or tells signs, has none."""

# -- entries ---------------------------------------------------------------------------------------


def unary(
    number: int, name: str, summary: str, formula: str, semantics: Any, **more: Any
) -> Operation:
    """A function of each element: floats, the shape of the input, exact unless said otherwise."""
    given: dict[str, Any] = {
        "inputs": (INPUT,),
        "outputs": (SAME,),
        "dtypes": FLOATS,
        "samples": POSITIVE_SAMPLES,
        "family": "elementwise",
        "flops": per_output(),
        "tolerance": EXACT,
        **more,
    }
    return Operation(
        number=number, name=name, summary=summary, formula=formula, semantics=semantics, **given
    )


def binary(
    number: int, name: str, summary: str, formula: str, semantics: Any, **more: Any
) -> Operation:
    """A function of two elements, which broadcast: floats and integers, rounded once."""
    given: dict[str, Any] = {
        "inputs": PAIR,
        "outputs": (BOTH,),
        "dtypes": NUMBERS,
        "samples": PAIR_SAMPLES,
        "family": "elementwise",
        "flops": per_output(),
        "tolerance": ROUNDED,
        **more,
    }
    return Operation(
        number=number, name=name, summary=summary, formula=formula, semantics=semantics, **given
    )


def onnx(name: str, opset: int, note: str = "") -> Standard:
    """The operator of ONNX that an entry follows."""
    return Standard(name=name, opset=opset, note=note)
