"""Arithmetic on each element: signs, squares and sums of products."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ._forms import (
    NUMBERS,
    PAIR_SAMPLES,
    ROUNDED,
    SIGNED_ZEROS,
    STEPS,
    TOGETHER,
    TRIPLE_SAMPLES,
    binary,
    broadcasting,
    onnx,
    relative,
    roundings,
    unary,
    valued,
)
from ._model import FLOATS, SIGNED, Scalar
from ._numeric import each, is_integer, narrow, scale, widen


def absolute(np: Any, x: Any) -> Any:
    """The size of the element; the least integer stays."""
    return np.abs(x)


def sign(np: Any, x: Any) -> Any:
    """-1, 0 or 1; NaN stays."""
    if is_integer(x.dtype):
        return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)
    return narrow(np, np.sign(widen(np, x)), x.dtype)


def reciprocal(np: Any, x: Any) -> Any:
    """1 divided by the element."""
    return narrow(np, 1.0 / widen(np, x), x.dtype)


def square(np: Any, x: Any) -> Any:
    """The element times itself."""
    wide = widen(np, x)
    return narrow(np, wide * wide, x.dtype)


def squared_difference(np: Any, a: Any, b: Any) -> Any:
    """Square of the difference."""
    difference = widen(np, a) - widen(np, b)
    return narrow(np, difference * difference, a.dtype)


def add_scaled(np: Any, a: Any, b: Any, *, alpha: float) -> Any:
    """Sum of a and a multiple of b."""
    return narrow(np, widen(np, a) + scale(np, alpha, widen(np, b), "alpha"), a.dtype)


def lerp(np: Any, a: Any, b: Any, weight: Any) -> Any:
    """The number that lies so far on the way from a to b."""
    wide = widen(np, a)
    return narrow(np, wide + widen(np, weight) * (widen(np, b) - wide), a.dtype)


def addcmul(np: Any, x: Any, a: Any, b: Any, *, value: float) -> Any:
    """Sum of the first and a multiple of the product of the others."""
    product = scale(np, value, widen(np, a) * widen(np, b), "value")
    return narrow(np, widen(np, x) + product, x.dtype)


def addcdiv(np: Any, x: Any, a: Any, b: Any, *, value: float) -> Any:
    """Sum of the first and a multiple of the quotient of the others."""
    return narrow(np, widen(np, x) + value * (widen(np, a) / widen(np, b)), x.dtype)


def fma(np: Any, a: Any, b: Any, c: Any) -> Any:
    """Product plus sum, rounded once."""
    if a.dtype.itemsize == 8:
        return each(np, _fma, a, b, c)
    product, added = np.broadcast_arrays(widen(np, a) * widen(np, b), widen(np, c))
    total = product + added
    # The product is exact, and this is what the sum lost (Knuth, The Art of Computer Programming,
    # volume 2, 4.2.2). Rounding to odd in its place makes the second rounding the only one.
    back = total - product
    lost = (product - (total - back)) + (added - back)
    inexact = np.isfinite(lost) & (lost != 0)
    odd = np.asarray(total).view(np.int64) & 1 == 1
    toward = np.nextafter(total, np.copysign(np.inf, lost))
    return narrow(np, np.where(inexact & ~odd, toward, total), a.dtype)


def _fma(a: float, b: float, c: float) -> float:
    about = a * b + c
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return about
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact) if exact else about  # which knows the sign of zero
    except OverflowError:
        return math.copysign(math.inf, exact)


def _lerp_parts(np: Any, a: Any, b: Any, weight: Any) -> Any:
    return np.abs(a) + np.abs(weight) * (np.abs(a) + np.abs(b))


def _addcmul_parts(np: Any, x: Any, a: Any, b: Any, *, value: float) -> Any:
    return np.abs(x) + np.abs(value * a * b)


def _addcdiv_parts(np: Any, x: Any, a: Any, b: Any, *, value: float) -> Any:
    return np.abs(x) + np.abs(value * a / b)


def _add_scaled_parts(np: Any, a: Any, b: Any, *, alpha: float) -> Any:
    return np.abs(a) + np.abs(alpha * b)


def _difference_parts(np: Any, a: Any, b: Any) -> Any:
    return (a - b) ** 2


_WHOLE = "Integers wrap, and need a whole {}."

ABS = unary(
    60,
    "abs",
    "Absolute value.",
    "output = |input|",
    absolute,
    dtypes=(*FLOATS, *SIGNED),
    notes=("The least integer stays as it is; -0 becomes 0, NaN stays.",),
    standard=onnx("Abs", 13, "signed dtypes only"),
    source="ONNX node test abs; the least integer and -0 by hand",
    tolerance=SIGNED_ZEROS,
)
SIGN = unary(
    61,
    "sign",
    "Sign: -1, 0 or 1.",
    "output = -1 where input < 0, 1 where input > 0, else 0",
    sign,
    dtypes=NUMBERS,
    notes=("Zeros of both signs give 0; NaN stays.",),
    standard=onnx("Sign", 13),
    source="ONNX node test sign; NaN and zeros by hand",
    no_gradient=STEPS,
)
RECIPROCAL = unary(
    62,
    "reciprocal",
    "Reciprocal.",
    "output = 1 / input",
    reciprocal,
    notes=("Zeros give an infinity of their sign; NaN stays.",),
    standard=onnx("Reciprocal", 13),
    tolerance=roundings(reciprocal, 2, "Two roundings"),
    source="ONNX node tests reciprocal*; zeros by hand",
)
SQUARE = unary(
    63,
    "square",
    "Square.",
    "output = input * input",
    square,
    dtypes=NUMBERS,
    notes=("Integers wrap. NaN stays.",),
    source="numpy.square; wrapping by hand",
    tolerance=ROUNDED,
)
SQUARED_DIFFERENCE = binary(
    85,
    "squared_difference",
    "Square of the difference of two tensors.",
    "output = (a - b)^2",
    squared_difference,
    notes=("Integers wrap. NaN stays.",),
    tolerance=relative(3, "Three roundings", "the result", _difference_parts),
    source="values worked by hand",
)
ADD_SCALED = binary(
    71,
    "add_scaled",
    "Sum of a tensor and a multiple of another.",
    "output = a + alpha * b",
    add_scaled,
    notes=(_WHOLE.format("alpha"),),
    scalars=(Scalar(name="alpha", summary="Multiplies b.", default=1.0),),
    samples=valued(PAIR_SAMPLES, alpha=-3.0),
    tolerance=relative(
        3,
        "Three roundings",
        "the sum of the absolute values of both terms",
        _add_scaled_parts,
    ),
    source="values worked by hand",
    config="wia_add_scaled_config_t",
)
LERP = binary(
    72,
    "lerp",
    "Linear interpolation.",
    "output = a + weight * (b - a)",
    lerp,
    samples=TRIPLE_SAMPLES,
    inputs=broadcasting("a", "b", "weight"),
    outputs=(TOGETHER,),
    notes=(
        "weight need not lie between 0 and 1. Infinite a and b give NaN or infinities as the "
        "formula does; NaN stays.",
    ),
    tolerance=relative(
        4,
        "Four roundings",
        "|a| + |weight| * (|a| + |b|)",
        _lerp_parts,
    ),
    source="values worked by hand",
    dtypes=FLOATS,
)
ADDCMUL = binary(
    73,
    "addcmul",
    "Sum of a tensor and a multiple of the product of two others.",
    "output = input + value * (a * b)",
    addcmul,
    inputs=broadcasting("input", "a", "b"),
    outputs=(TOGETHER,),
    notes=(_WHOLE.format("value"),),
    scalars=(Scalar(name="value", summary="Multiplies the product.", default=1.0),),
    samples=valued(TRIPLE_SAMPLES, value=2.0),
    tolerance=relative(
        4,
        "Four roundings",
        "the sum of the absolute values of both terms",
        _addcmul_parts,
    ),
    source="values worked by hand",
    config="wia_addcmul_config_t",
)
ADDCDIV = binary(
    74,
    "addcdiv",
    "Sum of a tensor and a multiple of the quotient of two others.",
    "output = input + value * (a / b)",
    addcdiv,
    inputs=broadcasting("input", "a", "b"),
    outputs=(TOGETHER,),
    notes=("Division by zero gives what IEEE 754 says.",),
    scalars=(Scalar(name="value", summary="Multiplies the quotient.", default=1.0),),
    samples=valued(TRIPLE_SAMPLES, value=0.5),
    tolerance=relative(
        5,
        "Five roundings",
        "the sum of the absolute values of both terms",
        _addcdiv_parts,
    ),
    source="values worked by hand",
    dtypes=FLOATS,
    config="wia_addcdiv_config_t",
)
FMA = binary(
    75,
    "fma",
    "Product and sum in one, rounded once: fusedMultiplyAdd of IEEE 754.",
    "output = a * b + c",
    fma,
    samples=TRIPLE_SAMPLES,
    inputs=broadcasting("a", "b", "c"),
    outputs=(TOGETHER,),
    notes=(
        "The result is that of exact arithmetic, rounded to nearest even; addcmul leaves the "
        "roundings open.",
    ),
    tolerance=SIGNED_ZEROS,
    source="exact fractions; roundings by hand",
    dtypes=FLOATS,
)

OPERATIONS = (
    ABS,
    SIGN,
    RECIPROCAL,
    SQUARE,
    SQUARED_DIFFERENCE,
    ADD_SCALED,
    LERP,
    ADDCMUL,
    ADDCDIV,
    FMA,
)
