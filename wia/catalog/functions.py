"""Functions of each element: signs, powers, activations and bounds."""

from __future__ import annotations

import math
from typing import Any

from ._forms import POSITIVE_SAMPLES, SIGNED_ZEROS, lifted, onnx, roundings, unary
from ._model import (
    FLOATS,
    INTEGERS,
    SIGNED,
    Attribute,
    Choice,
    Sample,
    Scalar,
    Tolerance,
)
from ._numeric import ScalarError, is_integer, limits, narrow, widen

_GELU_TANH = 1


def neg(np: Any, x: Any) -> Any:
    """The element with the other sign; the least integer stays."""
    return narrow(np, 0 - widen(np, x), x.dtype) if is_integer(x.dtype) else -x


exp = lifted(lambda np, x: np.exp(x))
log = lifted(lambda np, x: np.log(x))
sqrt = lifted(lambda np, x: np.sqrt(x))
tanh = lifted(lambda np, x: np.tanh(x))


def _logistic(np: Any, wide: Any) -> Any:
    """1 / (1 + exp(-x)) without an overflow."""
    power = np.exp(-np.abs(wide))
    return np.where(wide < 0, power, np.ones_like(power)) / (1.0 + power)


sigmoid = lifted(_logistic)
silu = lifted(lambda np, x: x * _logistic(np, x))


def gelu(np: Any, x: Any, *, approximate: int) -> Any:
    """The element times the normal distribution function of it, or an approximation of that."""
    wide = widen(np, x)
    if approximate == _GELU_TANH:
        inner = math.sqrt(2.0 / math.pi) * (wide + 0.044715 * wide * wide * wide)
        return narrow(np, 0.5 * wide * (1.0 + np.tanh(inner)), x.dtype)
    # Below zero 1 + erf would cancel.
    tail = [math.erfc(value) for value in (wide / -math.sqrt(2.0)).ravel().tolist()]
    return narrow(np, 0.5 * wide * np.array(tail, np.float64).reshape(wide.shape), x.dtype)


def clip(np: Any, x: Any, *, min: float, max: float) -> Any:
    """The element, or the bound that it lies beyond: first min, then max."""
    low, high = (_bound(np, x.dtype, *item) for item in (("min", min), ("max", max)))
    return np.minimum(np.maximum(x, low), high)


def _bound(np: Any, dtype: Any, name: str, value: float) -> Any:
    if math.isnan(value):
        raise ScalarError(f"{name} is nan; expected a number to compare with")
    if not is_integer(dtype):
        return narrow(np, np.float64(value), dtype)
    least, largest = limits(np, dtype)
    if value <= least or value >= largest:  # infinities too
        return np.array(least if value <= least else largest, dtype)
    if not float(value).is_integer():
        raise ScalarError(f"{name} is {value}; integer dtypes need a whole number")
    return np.array(int(value), dtype)


NEG = unary(
    21,
    "neg",
    "The number with the other sign.",
    "output = -input",
    neg,
    dtypes=(*FLOATS, *SIGNED),
    notes=("The least integer stays as it is; the sign of zero and of NaN changes too.",),
    standard=onnx("Neg", 13),
    tolerance=SIGNED_ZEROS,
    source="ONNX node tests neg*; the least integer and zeros by hand",
)
EXP = unary(
    22,
    "exp",
    "Exponential function.",
    "output = e^input",
    exp,
    notes=("Too large becomes infinite; -infinity gives 0, NaN stays.",),
    standard=onnx("Exp", 13),
    tolerance=roundings(exp, 8, "Eight roundings"),
    source="ONNX node tests exp*; PyTorch's operator_exp among ONNX's models",
)
LOG = unary(
    23,
    "log",
    "Natural logarithm.",
    "output = ln(input)",
    log,
    notes=("0 gives -infinity, what is below it NaN; NaN stays.",),
    standard=onnx("Log", 13),
    tolerance=roundings(log, 8, "Eight roundings"),
    source="ONNX node tests log*; 0 and negative numbers by hand",
)
SQRT = unary(
    24,
    "sqrt",
    "Square root.",
    "output = sqrt(input)",
    sqrt,
    notes=("-0 stays, what is below it gives NaN; NaN stays.",),
    standard=onnx("Sqrt", 13),
    tolerance=roundings(sqrt, 2, "Two roundings"),
    source="ONNX node tests sqrt*; PyTorch's operator_sqrt among ONNX's models",
)
TANH = unary(
    25,
    "tanh",
    "Hyperbolic tangent.",
    "output = tanh(input)",
    tanh,
    notes=("NaN stays.",),
    standard=onnx("Tanh", 13),
    tolerance=roundings(tanh, 8, "Eight roundings"),
    source="ONNX node tests tanh*; PyTorch's Tanh among ONNX's models",
)
SIGMOID = unary(
    26,
    "sigmoid",
    "Logistic function.",
    "output = 1 / (1 + e^-input)",
    sigmoid,
    notes=("NaN stays.",),
    standard=onnx("Sigmoid", 13),
    tolerance=roundings(sigmoid, 10, "Ten roundings"),
    source="ONNX node tests sigmoid*; PyTorch's Sigmoid among ONNX's models",
)
GELU = unary(
    27,
    "gelu",
    "Gaussian error linear unit.",
    "output = 0.5 * input * (1 + erf(input / sqrt(2))), or 0.5 * input * (1 + tanh(sqrt(2 / pi) * "
    "(input + 0.044715 * input^3)))",
    gelu,
    notes=("-infinity gives NaN, as the formula does: 0 times infinity. NaN stays.",),
    standard=onnx("Gelu", 20),
    attributes=(
        Attribute(
            name="approximate",
            summary="Which of the formulas.",
            default=0,
            maximum=1,
            enum="wia_gelu_approximation_t",
            choices=(
                Choice(name="NONE", value=0, summary="That with erf."),
                Choice(name="TANH", value=1, summary="That with tanh."),
            ),
        ),
    ),
    config="wia_gelu_config_t",
    samples=(
        *POSITIVE_SAMPLES,
        Sample(shapes=((3, 31),), values={"approximate": 1}),
        Sample(shapes=((33,),), values={"approximate": 1}, fills=("special",)),
    ),
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 8,
        magnitude=lambda np, x, approximate: np.abs(np.where(np.isfinite(x), x, 0.0)),
        reason="Eight roundings in the accumulator, relative to the input, since the sum with 1 "
        "may cancel, and one of the result.",
    ),
    source="ONNX node tests gelu_*; infinities by hand",
)
SILU = unary(
    28,
    "silu",
    "Sigmoid linear unit, also called swish.",
    "output = input / (1 + e^-input)",
    silu,
    notes=("-infinity gives NaN, as the formula does. NaN stays.",),
    standard=onnx("Swish", 24, "alpha 1"),
    tolerance=roundings(silu, 12, "Twelve roundings"),
    source="ONNX node test swish; infinities by hand",
)
CLIP = unary(
    29,
    "clip",
    "Bounds numbers from below and above.",
    "output = min(max(input, min), max)",
    clip,
    dtypes=(*FLOATS, *INTEGERS),
    notes=(
        "NaN stays. Where min is above max the result is max.",
        "From 0 to 6 it is relu6, from -1 to 1 hard tanh.",
        "The bounds are rounded to the dtype. Integers need whole ones; a bound beyond their range "
        "has no effect, or is the end of the range that it lies behind. NaN as a bound is "
        "INVALID_ARGUMENT.",
    ),
    standard=onnx("Clip", 13, "bounds are scalars of the call"),
    scalars=(
        Scalar(name="min", summary="The lower bound.", default=-math.inf),
        Scalar(name="max", summary="The upper bound.", default=math.inf),
    ),
    config="wia_clip_config_t",
    samples=(
        Sample(shapes=((8,),)),
        Sample(shapes=((),), values={"min": 1.0}),
        Sample(shapes=((3, 31),), values={"min": -1.0, "max": 2.0}, fills=("special",)),
        Sample(shapes=((2, 0),), values={"max": 1.0}),
        Sample(shapes=((65,),), values={"min": -3.0, "max": 100.0}, fills=("wide",)),
        Sample(shapes=((9,),), values={"min": 3.0, "max": 1.0}),
    ),
    source="ONNX node tests clip_*; NaN, rounding and the ends of ranges by hand",
)

OPERATIONS = (NEG, EXP, LOG, SQRT, TANH, SIGMOID, GELU, SILU, CLIP)
