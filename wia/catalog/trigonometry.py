"""Trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

import math
from typing import Any

from ._forms import binary, lifted, onnx, relative, roundings, unary
from ._model import FLOATS, Operation
from ._numeric import narrow, widen


def atan2(np: Any, a: Any, b: Any) -> Any:
    """The angle of the point (b, a)."""
    return narrow(np, np.arctan2(widen(np, a), widen(np, b)), a.dtype)


def sinc(np: Any, x: Any) -> Any:
    """sin(pi x) / (pi x), 1 at 0."""
    wide = widen(np, x)
    size = np.abs(wide)
    # The sine of half a turn times what is left of a whole one: no digits of pi are lost.
    part = np.fmod(size, 2.0)
    nearer = np.where(part > 1.5, part - 2.0, np.where(part > 0.5, 1.0 - part, part))
    whole = np.where(size == 0, 1.0, size)
    ratio = np.sin(math.pi * nearer) / (math.pi * whole)
    result = np.where(size == 0, 1.0, np.where(np.isinf(size), 0.0, ratio))
    return narrow(np, result, x.dtype)


def _function(
    number: int,
    name: str,
    function: str,
    summary: str,
    formula: str,
    note: str,
) -> Operation:
    """An entry; 8 roundings are those of a careful library for 32 bits."""
    semantics = lifted(lambda np, x: getattr(np, function)(x))
    return unary(
        number,
        name,
        summary,
        f"output = {formula}",
        semantics,
        notes=(f"{note} NaN stays.",),
        tolerance=roundings(semantics, 8, "Eight roundings"),
        standard=onnx(name.capitalize(), 22),
        source=f"ONNX node tests {name}*; Python's math.{name}",
    )


_TURNS = "In radians; infinities give NaN. Large numbers are reduced by all digits of pi."
_BEYOND = "What is beyond -1 and 1 gives NaN."

SIN = _function(112, "sin", "sin", "Sine.", "sin(input)", _TURNS)
COS = _function(113, "cos", "cos", "Cosine.", "cos(input)", _TURNS)
TAN = _function(114, "tan", "tan", "Tangent.", "sin(input) / cos(input)", _TURNS)
ASIN = _function(
    115, "asin", "arcsin", "Inverse of the sine.", "the t with sin(t) = input", _BEYOND
)
ACOS = _function(
    116, "acos", "arccos", "Inverse of the cosine.", "the t with cos(t) = input", _BEYOND
)
ATAN = _function(
    117,
    "atan",
    "arctan",
    "Inverse of the tangent.",
    "the t with tan(t) = input",
    "Infinities give pi / 2 with their sign.",
)
SINH = _function(
    119,
    "sinh",
    "sinh",
    "Hyperbolic sine.",
    "(e^input - e^-input) / 2",
    "Too large becomes infinite.",
)
COSH = _function(
    120,
    "cosh",
    "cosh",
    "Hyperbolic cosine.",
    "(e^input + e^-input) / 2",
    "Too large becomes infinite.",
)
ASINH = _function(
    121,
    "asinh",
    "arcsinh",
    "Inverse of the hyperbolic sine.",
    "ln(input + sqrt(input^2 + 1))",
    "Infinities stay.",
)
ACOSH = _function(
    122,
    "acosh",
    "arccosh",
    "Inverse of the hyperbolic cosine.",
    "ln(input + sqrt(input^2 - 1))",
    "What is below 1 gives NaN.",
)
ATANH = _function(
    123,
    "atanh",
    "arctanh",
    "Inverse of the hyperbolic tangent.",
    "ln((1 + input) / (1 - input)) / 2",
    f"1 and -1 give infinities. {_BEYOND}",
)
ATAN2 = binary(
    118,
    "atan2",
    "Angle of a point.",
    "output = the angle of (x, y) = (b, a), between -pi and pi",
    atan2,
    notes=("Signs of zeros count, as in C: atan2(-0, -1) is -pi. NaN wins.",),
    tolerance=roundings(atan2, 8, "Eight roundings"),
    source="Python's math.atan2",
    dtypes=FLOATS,
)
SINC = unary(
    124,
    "sinc",
    "Normalised cardinal sine.",
    "output = sin(pi * input) / (pi * input), 1 at 0",
    sinc,
    notes=("Whole numbers but 0, and infinities, give 0. NaN stays.",),
    tolerance=relative(
        4,
        "Four roundings",
        "1: so far one of pi * input moves it",
        lambda np, x: np.ones(x.shape),
    ),
    source="numpy.sinc",
)

OPERATIONS = (
    SIN,
    COS,
    TAN,
    ASIN,
    ACOS,
    ATAN,
    ATAN2,
    SINH,
    COSH,
    ASINH,
    ACOSH,
    ATANH,
    SINC,
)
