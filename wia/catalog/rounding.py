"""Whole numbers near an element, and the parts that floats are made of."""

from __future__ import annotations

from typing import Any

from ._forms import EXACT, HALVES, SIGNED_ZEROS, STEPS, UNARY_SAMPLES, binary, onnx, unary
from ._model import FLOATS, Operand
from ._numeric import narrow, widen

_SAMPLES = (*UNARY_SAMPLES, HALVES)
_NOTE = "Infinities, NaN and zeros of either sign stay."


def floor(np: Any, x: Any) -> Any:
    """The largest whole number that is not above."""
    return narrow(np, np.floor(widen(np, x)), x.dtype)


def ceil(np: Any, x: Any) -> Any:
    """The least whole number that is not below."""
    return narrow(np, np.ceil(widen(np, x)), x.dtype)


def nearest(np: Any, x: Any) -> Any:
    """The nearest whole number, the even one of two."""
    return narrow(np, np.rint(widen(np, x)), x.dtype)


def trunc(np: Any, x: Any) -> Any:
    """The whole number next to it toward zero."""
    return narrow(np, np.trunc(widen(np, x)), x.dtype)


def frac(np: Any, x: Any) -> Any:
    """What is left of it without its whole part."""
    wide = widen(np, x)
    rest = np.where(np.isinf(wide), 0.0, wide) - np.trunc(np.where(np.isinf(wide), 0.0, wide))
    return narrow(np, np.copysign(rest, wide), x.dtype)


def copysign(np: Any, a: Any, b: Any) -> Any:
    """The size of a with the sign of b."""
    return np.copysign(a, b)


def nextafter(np: Any, a: Any, b: Any) -> Any:
    """The neighbour of a in its dtype on the side of b."""
    return np.nextafter(a, b)


def ldexp(np: Any, x: Any, exponent: Any) -> Any:
    """The element times a power of two."""
    # Beyond these nothing changes, and numpy's loop takes C's int.
    exponent = np.clip(exponent, -5000, 5000).astype(np.int32)
    return narrow(np, np.ldexp(widen(np, x), exponent), x.dtype)


FLOOR = unary(
    107,
    "floor",
    "Rounds down.",
    "output = the largest whole number <= input",
    floor,
    notes=(_NOTE,),
    standard=onnx("Floor", 13),
    source="ONNX node tests floor*",
    tolerance=SIGNED_ZEROS,
    samples=_SAMPLES,
    no_gradient=STEPS,
)
CEIL = unary(
    108,
    "ceil",
    "Rounds up.",
    "output = the least whole number >= input",
    ceil,
    notes=(f"{_NOTE} Between -1 and 0 the result is -0.",),
    standard=onnx("Ceil", 13),
    source="ONNX node tests ceil*",
    tolerance=SIGNED_ZEROS,
    samples=_SAMPLES,
    no_gradient=STEPS,
)
ROUND = unary(
    109,
    "round",
    "Rounds to the nearest whole number, halves to the even one.",
    "output = the whole number nearest to input",
    nearest,
    notes=(f"{_NOTE} What becomes 0 keeps its sign.",),
    standard=onnx("Round", 11),
    source="ONNX node test round",
    tolerance=SIGNED_ZEROS,
    samples=_SAMPLES,
    no_gradient=STEPS,
)
TRUNC = unary(
    110,
    "trunc",
    "Rounds toward zero.",
    "output = floor(input) where input > 0, else ceil(input)",
    trunc,
    notes=(f"{_NOTE} What becomes 0 keeps its sign.",),
    source="Python's math.trunc",
    tolerance=SIGNED_ZEROS,
    samples=_SAMPLES,
    no_gradient=STEPS,
)
FRAC = unary(
    111,
    "frac",
    "What is behind the point.",
    "output = input - trunc(input)",
    frac,
    notes=("The sign is that of input, of 0 too. Infinities give 0; NaN stays.",),
    source="Python's math.modf",
    tolerance=SIGNED_ZEROS,
    samples=_SAMPLES,
)
COPYSIGN = binary(
    79,
    "copysign",
    "The size of one number with the sign of another.",
    "output = |a| with the sign of b",
    copysign,
    notes=("Zeros and NaN have signs too.",),
    tolerance=SIGNED_ZEROS,
    source="Python's math.copysign",
    dtypes=FLOATS,
)
NEXTAFTER = binary(
    80,
    "nextafter",
    "The next number of the dtype toward another.",
    "output = the neighbour of a on the side of b, b where they are equal",
    nextafter,
    notes=("NaN wins, on either side. Next to 0 are the denormals.",),
    tolerance=EXACT,
    source="Python's math.nextafter; narrower dtypes by hand",
    dtypes=FLOATS,
    no_gradient="a neighbour among numbers of a dtype is no function of real numbers",
)
LDEXP = binary(
    81,
    "ldexp",
    "Times a power of two.",
    "output = input * 2^exponent",
    ldexp,
    inputs=(
        Operand(name="input", summary="Any shape."),
        Operand(name="exponent", summary="Broadcasts with input.", dtypes=("int32",)),
    ),
    notes=("Exact but for denormals, which are rounded; too large becomes infinite. NaN stays.",),
    tolerance=EXACT,
    source="Python's math.ldexp",
    dtypes=FLOATS,
)

OPERATIONS = (FLOOR, CEIL, ROUND, TRUNC, FRAC, COPYSIGN, NEXTAFTER, LDEXP)
