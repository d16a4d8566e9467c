"""Tests of numbers: their kind, and whether two are about equal."""

from __future__ import annotations

from typing import Any

from ._forms import (
    EXACT,
    PAIR_SAMPLES,
    TRUTH,
    TRUTH_OF_BOTH,
    UNARY_SAMPLES,
    binary,
    flag,
    onnx,
    unary,
    valued,
)
from ._model import Scalar
from ._numeric import widen


def is_nan(np: Any, x: Any) -> Any:
    """Whether the element is not a number."""
    return np.isnan(x)


def is_finite(np: Any, x: Any) -> Any:
    """Whether the element is neither infinite nor NaN."""
    return np.isfinite(x)


def is_inf(np: Any, x: Any, *, detect_negative: int, detect_positive: int) -> Any:
    """Whether the element is an infinity that is asked for."""
    positive, negative = x == np.inf, x == -np.inf
    return (positive & bool(detect_positive)) | (negative & bool(detect_negative))


def signbit(np: Any, x: Any) -> Any:
    """Whether the sign is set."""
    return np.signbit(x)


def is_close(np: Any, a: Any, b: Any, *, rtol: float, atol: float, equal_nan: int) -> Any:
    """Whether two numbers are about equal."""
    first, second = (widen(np, item).astype(np.float64) for item in (a, b))
    near = np.abs(first - second) <= atol + rtol * np.abs(second)
    near = np.where(np.isfinite(first) & np.isfinite(second), near, False)
    both = np.isnan(first) & np.isnan(second)
    return near | (widen(np, a) == widen(np, b)) | (both & bool(equal_nan))


IS_NAN = unary(
    90,
    "is_nan",
    "Whether numbers are NaN.",
    "output = input is NaN",
    is_nan,
    outputs=(TRUTH,),
    family="compare",
    standard=onnx("IsNaN", 20, "float8 is left out"),
    source="ONNX node tests isnan*",
)
IS_INF = unary(
    91,
    "is_inf",
    "Whether numbers are infinite.",
    "output = input is infinity, or -infinity, of those that are asked for",
    is_inf,
    outputs=(TRUTH,),
    family="compare",
    attributes=(
        flag("detect_negative", "1: -infinity counts.", default=1),
        flag("detect_positive", "1: infinity counts.", default=1),
    ),
    standard=onnx("IsInf", 20, "float8 is left out"),
    samples=(
        *UNARY_SAMPLES,
        *valued(UNARY_SAMPLES[2:3], detect_negative=0),
        *valued(UNARY_SAMPLES[2:3], detect_positive=0),
    ),
    source="ONNX node tests isinf*",
    config="wia_is_inf_config_t",
)
IS_FINITE = unary(
    92,
    "is_finite",
    "Whether numbers are finite.",
    "output = input is neither NaN nor infinite",
    is_finite,
    outputs=(TRUTH,),
    family="compare",
    source="Python's math.isfinite",
)
IS_CLOSE = binary(
    93,
    "is_close",
    "Whether numbers are about equal.",
    "output = a == b or |a - b| <= atol + rtol * |b|",
    is_close,
    outputs=(TRUTH_OF_BOTH,),
    family="compare",
    notes=(
        "The formula is computed in float64. Infinities are close to themselves only, and NaN to "
        "nothing, or with equal_nan to NaN.",
    ),
    attributes=(flag("equal_nan", "1: NaN is close to NaN."),),
    scalars=(
        Scalar(name="rtol", summary="The error allowed, relative to b.", default=1e-5),
        Scalar(name="atol", summary="The error allowed in any case.", default=1e-8),
    ),
    tolerance=EXACT,
    samples=(
        *valued(PAIR_SAMPLES, rtol=0.5),
        *valued(PAIR_SAMPLES[5:6], atol=0.75, equal_nan=1),
    ),
    source="numpy.isclose",
    config="wia_is_close_config_t",
)
SIGNBIT = unary(
    94,
    "signbit",
    "Whether numbers have the sign of negative ones.",
    "output = the sign of input is set",
    signbit,
    outputs=(TRUTH,),
    family="compare",
    notes=("-0 has one, and a NaN may.",),
    source="values worked by hand",
)


OPERATIONS = (IS_NAN, IS_INF, IS_FINITE, IS_CLOSE, SIGNBIT)
