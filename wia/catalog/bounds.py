"""Bounds, and choices by the size or kind of a number."""

from __future__ import annotations

import math
from typing import Any

from ._forms import EXACT, TRIPLE_SAMPLES, UNARY_SAMPLES, binary, onnx, unary, valued
from ._model import FLOATS, Operand, Sample, Scalar
from ._numeric import ScalarError, narrow, widen


def clamp(np: Any, x: Any, low: Any, high: Any) -> Any:
    """The element, or the bound that it lies beyond: first min, then max."""
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def fmin(np: Any, a: Any, b: Any) -> Any:
    """The smaller one; a number wins over NaN."""
    return np.fmin(a, b)


def fmax(np: Any, a: Any, b: Any) -> Any:
    """The larger one; a number wins over NaN."""
    return np.fmax(a, b)


def heaviside(np: Any, x: Any, middle: Any) -> Any:
    """0 below zero, 1 above it."""
    wide = np.heaviside(widen(np, x), widen(np, middle))
    return narrow(np, wide, x.dtype)


def nan_to_num(np: Any, x: Any, *, nan: float, posinf: float, neginf: float) -> Any:
    """Finite numbers in place of NaN and infinities."""
    result = x
    for name, value, replaced in (
        ("nan", nan, np.isnan(x)),
        ("posinf", posinf, x == np.inf),
        ("neginf", neginf, x == -np.inf),
    ):
        result = np.where(replaced, _finite(np, name, value, x.dtype), result)
    return result


def _finite(np: Any, name: str, value: float, dtype: Any) -> Any:
    """The number in a dtype, or the largest one of its sign where it is too large."""
    if math.isnan(value):
        raise ScalarError(f"{name} is nan; expected a number to put in place")
    number = narrow(np, np.float64(value), dtype)
    if np.isfinite(number):
        return number
    infinite = np.array(math.copysign(math.inf, value), dtype)
    return np.nextafter(infinite, np.zeros((), dtype))


CLAMP = binary(
    76,
    "clamp",
    "Bounds numbers by those of other tensors.",
    "output = min(max(input, min), max)",
    clamp,
    inputs=(
        Operand(name="input", summary="Any shape."),
        Operand(name="min", summary="Broadcasts with input.", optional=True),
        Operand(name="max", summary="Broadcasts with input.", optional=True),
    ),
    outputs=(Operand(name="output", summary="The shape of all together."),),
    notes=(
        "NaN wins, wherever it is. Where min is above max the result is max. clip takes bounds "
        "that are scalars of the call.",
    ),
    standard=onnx("Clip", 13, "where bounds are of rank 0"),
    tolerance=EXACT,
    samples=(
        *TRIPLE_SAMPLES,
        Sample(shapes=((8,), None, (8,))),
        Sample(shapes=((2, 8), (8,), None), fills=("special", "special")),
        Sample(shapes=((8,), None, None)),
    ),
    source="ONNX node tests clip_*; bounds of other shapes by hand",
)
FMIN = binary(
    77,
    "fmin",
    "The smaller of two numbers, where a number wins over NaN.",
    "output = min(a, b)",
    fmin,
    notes=(
        "NaN comes out only of two of them; in minimum it wins. Of zeros of both signs either may "
        "come out.",
    ),
    tolerance=EXACT,
    source="values worked by hand",
)
FMAX = binary(
    78,
    "fmax",
    "The larger of two numbers, where a number wins over NaN.",
    "output = max(a, b)",
    fmax,
    notes=(
        "NaN comes out only of two of them; in maximum it wins. Of zeros of both signs either may "
        "come out.",
    ),
    tolerance=EXACT,
    source="values worked by hand",
)
HEAVISIDE = binary(
    86,
    "heaviside",
    "Unit step.",
    "output = 0 where a < 0, 1 where a > 0, b where a is 0",
    heaviside,
    notes=("NaN in a stays; b counts only where a is 0.",),
    tolerance=EXACT,
    source="values worked by hand",
    dtypes=FLOATS,
)
NAN_TO_NUM = unary(
    82,
    "nan_to_num",
    "Puts numbers in place of NaN and infinities.",
    "output = nan where input is NaN, posinf or neginf where it is infinite, else input",
    nan_to_num,
    notes=(
        "Numbers are rounded to the dtype; one that is too large for it, or infinite as the "
        "defaults are, stands for the largest number of its sign. NaN in place of one is "
        "INVALID_ARGUMENT.",
    ),
    scalars=(
        Scalar(name="nan", summary="In place of NaN.", default=0.0),
        Scalar(name="posinf", summary="In place of infinity.", default=math.inf),
        Scalar(name="neginf", summary="In place of -infinity.", default=-math.inf),
    ),
    samples=(
        *UNARY_SAMPLES,
        *valued(UNARY_SAMPLES[2:3], nan=-1.5, posinf=2.0, neginf=1e300),
    ),
    source="values worked by hand",
    config="wia_nan_to_num_config_t",
)

OPERATIONS = (CLAMP, FMIN, FMAX, HEAVISIDE, NAN_TO_NUM)
