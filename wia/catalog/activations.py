"""Activation functions of networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._forms import EXACT, HALVES, UNARY_SAMPLES, binary, onnx, relative, roundings, unary, valued
from ._model import FLOATS, Operand, Operation, Sample, Scalar
from ._numeric import narrow, widen


def softplus(np: Any, x: Any, *, beta: float) -> Any:
    """A smooth rectifier."""
    return narrow(np, np.logaddexp(0.0, beta * widen(np, x)) / beta, x.dtype)


def log_sigmoid(np: Any, x: Any) -> Any:
    """Logarithm of the sigmoid."""
    return narrow(np, -np.logaddexp(0.0, -widen(np, x)), x.dtype)


def leaky_relu(np: Any, x: Any, *, alpha: float) -> Any:
    """A rectifier with a slope below zero."""
    wide = widen(np, x)
    return narrow(np, np.where(wide < 0, alpha * wide, wide), x.dtype)


def prelu(np: Any, x: Any, slope: Any) -> Any:
    """A rectifier with slopes below zero that are learned."""
    wide = widen(np, x)
    return narrow(np, np.where(wide < 0, widen(np, slope) * wide, wide), x.dtype)


def elu(np: Any, x: Any, *, alpha: float) -> Any:
    """The element, below zero an exponential that goes to -alpha."""
    wide = widen(np, x)
    return narrow(np, np.where(wide > 0, wide, alpha * np.expm1(wide)), x.dtype)


def selu(np: Any, x: Any, *, alpha: float, gamma: float) -> Any:
    """elu times a factor."""
    wide = widen(np, x)
    return narrow(np, gamma * np.where(wide > 0, wide, alpha * np.expm1(wide)), x.dtype)


def celu(np: Any, x: Any, *, alpha: float) -> Any:
    """elu with the slope 1 at zero for any alpha."""
    wide = widen(np, x)
    return narrow(np, np.where(wide > 0, wide, alpha * np.expm1(wide / alpha)), x.dtype)


def hard_sigmoid(np: Any, x: Any, *, alpha: float, beta: float) -> Any:
    """A straight line between 0 and 1."""
    return narrow(np, np.clip(alpha * widen(np, x) + beta, 0.0, 1.0), x.dtype)


def hard_swish(np: Any, x: Any) -> Any:
    """The element times its hard sigmoid."""
    wide = widen(np, x)
    return narrow(np, wide * np.clip(wide / 6.0 + 0.5, 0.0, 1.0), x.dtype)


def quick_gelu(np: Any, x: Any, *, alpha: float) -> Any:
    """The element times the sigmoid of a multiple."""
    wide = widen(np, x)
    return narrow(np, wide * np.exp(-np.logaddexp(0.0, -alpha * wide)), x.dtype)


def softsign(np: Any, x: Any) -> Any:
    """The element by 1 more than its size."""
    wide = widen(np, x)
    return narrow(np, wide / (1.0 + np.abs(wide)), x.dtype)


def mish(np: Any, x: Any) -> Any:
    """The element times the hyperbolic tangent of its softplus."""
    wide = widen(np, x)
    return narrow(np, wide * np.tanh(np.logaddexp(0.0, wide)), x.dtype)


def thresholded_relu(np: Any, x: Any, *, alpha: float) -> Any:
    """The element where it is above a bound, else 0."""
    return np.where(x <= narrow(np, np.float64(alpha), x.dtype), np.zeros((), x.dtype), x)


def shrink(np: Any, x: Any, *, lambd: float, bias: float) -> Any:
    """0 near zero, else the element moved toward zero."""
    bound = narrow(np, np.float64(lambd), x.dtype)
    wide = widen(np, x)
    moved = narrow(
        np, np.where(x > bound, wide - bias, np.where(x < -bound, wide + bias, wide)), x.dtype
    )
    return np.where((x <= bound) & (x >= -bound), np.zeros((), x.dtype), moved)


_NAN = "NaN stays."
_GIVES_NAN = "-infinity gives NaN, as the formula does: infinity times 0. NaN stays."


def _activation(
    number: int,
    name: str,
    summary: str,
    formula: str,
    semantics: Callable[..., Any],
    scalars: tuple[Scalar, ...] = (),
    **more: Any,
) -> Operation:
    """An entry; a sample more has other scalars than the defaults."""
    made: tuple[Sample, ...] = (*UNARY_SAMPLES, HALVES)
    if scalars:
        values = {scalar.name: 0.75 * scalar.default + 0.125 for scalar in scalars}
        made = (*made, *valued(UNARY_SAMPLES[:1], **values))
        more |= {"scalars": scalars, "config": f"wia_{name}_config_t"}
    given = {
        "tolerance": roundings(semantics, 8, "Eight roundings"),
        "samples": made,
        "notes": (_NAN,),
        **more,
    }
    return unary(number, name, summary, f"output = {formula}", semantics, **given)


SOFTPLUS = _activation(
    87,
    "softplus",
    "Smooth rectifier.",
    "ln(1 + e^(beta * input)) / beta",
    softplus,
    (Scalar(name="beta", summary="How sharp the bend is; not 0.", default=1.0),),
    standard=onnx("Softplus", 22, "beta 1"),
    source="ONNX node tests softplus*; beta by hand",
)
LOG_SIGMOID = _activation(
    88,
    "log_sigmoid",
    "Logarithm of the logistic function.",
    "-ln(1 + e^-input)",
    log_sigmoid,
    notes=("Nothing overflows on the way, so far below zero it is input. NaN stays.",),
    source="scipy.special.log_expit",
)
LEAKY_RELU = _activation(
    147,
    "leaky_relu",
    "Rectifier with a slope below zero.",
    "alpha * input where input < 0, else input",
    leaky_relu,
    (Scalar(name="alpha", summary="The slope.", default=0.01),),
    standard=onnx("LeakyRelu", 16),
    tolerance=roundings(leaky_relu, 2, "Two roundings"),
    source="ONNX node tests leakyrelu*",
)
ELU = _activation(
    148,
    "elu",
    "Exponential linear unit.",
    "alpha * (e^input - 1) where input <= 0, else input",
    elu,
    (Scalar(name="alpha", summary="Minus the limit far below zero.", default=1.0),),
    standard=onnx("Elu", 22),
    source="ONNX node tests elu*",
)
SELU = _activation(
    149,
    "selu",
    "Scaled exponential linear unit.",
    "gamma * (alpha * (e^input - 1) where input <= 0, else input)",
    selu,
    (
        Scalar(
            name="alpha",
            summary="Minus the limit far below zero, before gamma.",
            default=1.6732632423543772,
        ),
        Scalar(name="gamma", summary="The factor.", default=1.0507009873554805),
    ),
    standard=onnx("Selu", 22, "whose defaults are these numbers in float32"),
    source="ONNX node tests selu*",
)
CELU = _activation(
    150,
    "celu",
    "Exponential linear unit whose slope has no step.",
    "alpha * (e^(input / alpha) - 1) where input <= 0, else input",
    celu,
    (Scalar(name="alpha", summary="Minus the limit far below zero; not 0.", default=1.0),),
    standard=onnx("Celu", 12),
    source="ONNX node test celu; PyTorch's formula by hand",
)
PRELU = binary(
    151,
    "prelu",
    "Rectifier with slopes below zero that are learned.",
    "output = slope * input where input < 0, else input",
    prelu,
    inputs=(
        Operand(name="input", summary="Any shape."),
        Operand(name="slope", summary="Broadcasts with input, by numpy's rules."),
    ),
    notes=("NaN stays; slope counts only below zero.",),
    standard=onnx("PRelu", 16, "floats only"),
    source="ONNX node tests prelu_*",
    dtypes=FLOATS,
)
HARD_SIGMOID = _activation(
    152,
    "hard_sigmoid",
    "Sigmoid made of straight lines.",
    "min(max(alpha * input + beta, 0), 1)",
    hard_sigmoid,
    (
        Scalar(name="alpha", summary="The slope.", default=0.2),
        Scalar(name="beta", summary="The value at 0.", default=0.5),
    ),
    standard=onnx("HardSigmoid", 22),
    tolerance=relative(
        4,
        "Four roundings",
        "|alpha * input| + |beta|",
        lambda np, x, alpha, beta: np.abs(alpha * x) + abs(beta),
    ),
    source="ONNX node tests hardsigmoid*",
)
HARD_SWISH = _activation(
    153,
    "hard_swish",
    "Swish made of a straight line and a parabola.",
    "input * min(max(input / 6 + 1/2, 0), 1)",
    hard_swish,
    notes=(_GIVES_NAN,),
    standard=onnx("HardSwish", 22),
    tolerance=relative(
        6,
        "Six roundings",
        "|input|, since the sum may cancel",
        lambda np, x: np.abs(x),
    ),
    source="ONNX node test hardswish",
)
SOFTSIGN = _activation(
    154,
    "softsign",
    "A sign without a step.",
    "input / (1 + |input|)",
    softsign,
    notes=("Infinities give NaN, as the formula does. NaN stays.",),
    standard=onnx("Softsign", 22),
    tolerance=roundings(softsign, 4, "Four roundings"),
    source="ONNX node tests softsign*",
)
MISH = _activation(
    155,
    "mish",
    "The input times the hyperbolic tangent of its softplus.",
    "input * tanh(ln(1 + e^input))",
    mish,
    notes=(_GIVES_NAN,),
    standard=onnx("Mish", 22),
    tolerance=roundings(mish, 16, "Sixteen roundings"),
    source="ONNX node test mish",
)
THRESHOLDED_RELU = _activation(
    156,
    "thresholded_relu",
    "The input where it is above a bound, else 0.",
    "input where input > alpha, else 0",
    thresholded_relu,
    (Scalar(name="alpha", summary="The bound, rounded to the dtype.", default=1.0),),
    notes=("NaN stays.",),
    standard=onnx("ThresholdedRelu", 22, "where NaN is left open"),
    tolerance=EXACT,
    source="ONNX node tests thresholdedrelu*; NaN by hand",
)
SHRINK = _activation(
    157,
    "shrink",
    "Zero near zero, and the rest moved toward it: hard shrink without a bias, soft shrink with "
    "one of lambd.",
    "input - bias where input > lambd, input + bias where input < -lambd, else 0",
    shrink,
    (
        Scalar(name="lambd", summary="The bound, rounded to the dtype.", default=0.5),
        Scalar(name="bias", summary="How far the rest is moved.", default=0.0),
    ),
    notes=("NaN stays.",),
    standard=onnx("Shrink", 9, "floats only; where NaN is left open"),
    tolerance=relative(
        2,
        "Two roundings",
        "|input| + |bias|",
        lambda np, x, lambd, bias: np.abs(x) + abs(bias),
    ),
    source="ONNX node tests shrink_*; NaN by hand",
)
QUICK_GELU = _activation(
    158,
    "quick_gelu",
    "The input times the sigmoid of a multiple, near to gelu; swish with any alpha.",
    "input / (1 + e^(-alpha * input))",
    quick_gelu,
    (Scalar(name="alpha", summary="The factor in the sigmoid.", default=1.702),),
    notes=(_GIVES_NAN,),
    standard=onnx("Swish", 24, "with alpha as it is given"),
    tolerance=relative(
        8,
        "Eight roundings",
        "the result times 1 + |alpha * input|: so far a rounding of the product moves it",
        lambda np, x, alpha: (
            np.maximum(np.abs(quick_gelu(np, x, alpha=alpha)), 2.0**-100)
            * (1.0 + np.abs(alpha * x))
        ),
    ),
    source="the formula in Python's floats; infinities by hand",
)

OPERATIONS = (
    SOFTPLUS,
    LOG_SIGMOID,
    LEAKY_RELU,
    ELU,
    SELU,
    CELU,
    PRELU,
    HARD_SIGMOID,
    HARD_SWISH,
    SOFTSIGN,
    MISH,
    THRESHOLDED_RELU,
    SHRINK,
    QUICK_GELU,
)
