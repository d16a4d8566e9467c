"""Powers, roots, exponentials and logarithms."""

from __future__ import annotations

from typing import Any

from ._forms import (
    PAIR_SAMPLES,
    POSITIVE_SAMPLES,
    UNARY_SAMPLES,
    binary,
    onnx,
    relative,
    roundings,
    unary,
    valued,
)
from ._model import FLOATS, Sample, Scalar
from ._numeric import is_integer, is_unsigned, narrow, widen


def rsqrt(np: Any, x: Any) -> Any:
    """Reciprocal of the square root."""
    return narrow(np, 1.0 / np.sqrt(widen(np, x)), x.dtype)


def cbrt(np: Any, x: Any) -> Any:
    """Cube root."""
    return narrow(np, np.cbrt(widen(np, x)), x.dtype)


def power(np: Any, a: Any, b: Any) -> Any:
    """a to the power of b."""
    base, exponent = widen(np, a), widen(np, b)
    if not is_integer(a.dtype) or is_unsigned(a.dtype):
        return narrow(np, np.power(base, exponent), a.dtype)
    below = exponent < 0
    raised = np.power(base, np.where(below, -(exponent % 2), exponent) * np.where(below, -1, 1))
    # 1 / a^-b, rounded toward zero: only 1 and -1 leave something.
    return narrow(np, np.where(below & (np.abs(base) != 1), 0, raised), a.dtype)


def hypot(np: Any, a: Any, b: Any) -> Any:
    """Length of a vector of two numbers."""
    return narrow(np, np.hypot(widen(np, a), widen(np, b)), a.dtype)


def exp2(np: Any, x: Any) -> Any:
    """2 to the power of the element."""
    return narrow(np, np.exp2(widen(np, x)), x.dtype)


def expm1(np: Any, x: Any) -> Any:
    """exp - 1, without the cancellation."""
    return narrow(np, np.expm1(widen(np, x)), x.dtype)


def log2(np: Any, x: Any) -> Any:
    """Logarithm to the base 2."""
    return narrow(np, np.log2(widen(np, x)), x.dtype)


def log10(np: Any, x: Any) -> Any:
    """Logarithm to the base 10."""
    return narrow(np, np.log10(widen(np, x)), x.dtype)


def log1p(np: Any, x: Any) -> Any:
    """Natural logarithm of 1 + x, without the rounding of the sum."""
    return narrow(np, np.log1p(widen(np, x)), x.dtype)


def logaddexp(np: Any, a: Any, b: Any) -> Any:
    """Logarithm of the sum of exponentials."""
    return narrow(np, np.logaddexp(widen(np, a), widen(np, b)), a.dtype)


def logaddexp2(np: Any, a: Any, b: Any) -> Any:
    """The same to the base 2."""
    return narrow(np, np.logaddexp2(widen(np, a), widen(np, b)), a.dtype)


def logit(np: Any, x: Any, *, epsilon: float) -> Any:
    """Logarithm of the odds."""
    wide = widen(np, x)
    if epsilon > 0:
        wide = np.clip(wide, epsilon, 1.0 - epsilon)
    # Near one half both logarithms would cancel.
    middle = np.abs(wide - 0.5) < 0.25
    centred = 2.0 * np.arctanh(np.where(middle, 2.0 * wide - 1.0, 0.0))
    return narrow(np, np.where(middle, centred, np.log(wide) - np.log1p(-wide)), x.dtype)


def xlogy(np: Any, a: Any, b: Any) -> Any:
    """a times the logarithm of b, 0 where a is 0."""
    return _times_log(np, a, b, np.log(widen(np, b)))


def xlog1py(np: Any, a: Any, b: Any) -> Any:
    """a times the logarithm of 1 + b, 0 where a is 0."""
    return _times_log(np, a, b, np.log1p(widen(np, b)))


def _times_log(np: Any, a: Any, b: Any, logarithm: Any) -> Any:
    wide = widen(np, a)
    zero = (wide == 0) & ~np.isnan(widen(np, b))
    return narrow(np, np.where(zero, 0.0, wide * logarithm), a.dtype)


def _size(np: Any, a: Any, b: Any) -> Any:
    return np.maximum(np.maximum(np.abs(a), np.abs(b)), 1.0)


def _power_parts(np: Any, a: Any, b: Any) -> Any:
    """An error of the logarithm counts b times: that of the float is in its last bit."""
    exponent = np.abs(b * np.log(np.abs(a)))
    return np.maximum(np.abs(power(np, a, b)), 2.0**-100) * (1.0 + exponent)


RSQRT = unary(
    64,
    "rsqrt",
    "Reciprocal of the square root.",
    "output = 1 / sqrt(input)",
    rsqrt,
    notes=("0 gives infinity, -0 -infinity, what is below NaN; NaN stays.",),
    tolerance=roundings(rsqrt, 4, "Four roundings"),
    source="values worked by hand",
)
CBRT = unary(
    65,
    "cbrt",
    "Cube root.",
    "output = the t with t^3 = input",
    cbrt,
    notes=("Negative numbers have one too; NaN stays.",),
    tolerance=roundings(cbrt, 8, "Eight roundings"),
    source="Python's math.cbrt",
)
POW = binary(
    66,
    "pow",
    "Power.",
    "output = a^b",
    power,
    notes=(
        "Floats as pow() of C: anything to the power of 0 and 1 to the power of anything are 1, "
        "NaN included; a negative number to the power of one that isn't whole is NaN.",
        "Integers wrap. To a negative power they are rounded toward zero, as a quotient is: 1 and "
        "-1 give 1 or -1, others 0, and so does 0.",
    ),
    standard=onnx("Pow", 15, "dtypes are equal"),
    samples=(
        *PAIR_SAMPLES,
        Sample(shapes=((9, 7), (9, 7)), fills=("positive", "positive")),
    ),
    tolerance=relative(
        8,
        "Eight roundings",
        "the result times 1 + |b * ln(a)|: so far a rounding of the logarithm moves it",
        _power_parts,
    ),
    source="ONNX node tests pow*; negative powers of integers and wrapping by hand",
)
HYPOT = binary(
    70,
    "hypot",
    "Hypotenuse: the length of a vector of two numbers.",
    "output = sqrt(a^2 + b^2)",
    hypot,
    notes=(
        "The squares neither overflow nor vanish on the way. Infinity wins, even over NaN, as in "
        "C; else NaN does.",
    ),
    tolerance=roundings(hypot, 6, "Six roundings"),
    source="Python's math.hypot",
    dtypes=FLOATS,
)
EXP2 = unary(
    125,
    "exp2",
    "Power of two.",
    "output = 2^input",
    exp2,
    notes=("Too large becomes infinite; -infinity gives 0, NaN stays.",),
    tolerance=roundings(exp2, 8, "Eight roundings"),
    source="Python's math.exp2",
)
EXPM1 = unary(
    126,
    "expm1",
    "Exponential function less 1.",
    "output = e^input - 1",
    expm1,
    notes=("Near zero it keeps its digits, which exp - 1 doesn't. NaN stays.",),
    tolerance=roundings(expm1, 8, "Eight roundings"),
    source="Python's math.expm1",
)
LOG2 = unary(
    127,
    "log2",
    "Logarithm to the base 2.",
    "output = log2(input)",
    log2,
    notes=("0 gives -infinity, what is below it NaN; NaN stays.",),
    tolerance=roundings(log2, 8, "Eight roundings"),
    source="Python's math.log2",
)
LOG10 = unary(
    128,
    "log10",
    "Logarithm to the base 10.",
    "output = log10(input)",
    log10,
    notes=("0 gives -infinity, what is below it NaN; NaN stays.",),
    tolerance=roundings(log10, 8, "Eight roundings"),
    source="Python's math.log10",
)
LOG1P = unary(
    129,
    "log1p",
    "Natural logarithm of 1 more.",
    "output = ln(1 + input)",
    log1p,
    notes=(
        "Near zero it keeps its digits, which the logarithm of the sum doesn't. -1 gives "
        "-infinity, what is below it NaN; NaN stays.",
    ),
    tolerance=roundings(log1p, 8, "Eight roundings"),
    source="Python's math.log1p",
)
LOGADDEXP = binary(
    130,
    "logaddexp",
    "Logarithm of a sum of exponentials.",
    "output = ln(e^a + e^b)",
    logaddexp,
    notes=("Nothing overflows on the way. NaN wins.",),
    tolerance=relative(8, "Eight roundings", "the largest of |a|, |b| and 1", _size),
    source="values worked by hand",
    dtypes=FLOATS,
)
LOGADDEXP2 = binary(
    131,
    "logaddexp2",
    "Logarithm of a sum of powers of two.",
    "output = log2(2^a + 2^b)",
    logaddexp2,
    notes=("Nothing overflows on the way. NaN wins.",),
    tolerance=relative(8, "Eight roundings", "the largest of |a|, |b| and 1", _size),
    source="values worked by hand",
    dtypes=FLOATS,
)
LOGIT = unary(
    132,
    "logit",
    "Logarithm of the odds, the inverse of sigmoid.",
    "output = ln(x / (1 - x)), with x = min(max(input, epsilon), 1 - epsilon) where epsilon > 0",
    logit,
    notes=("0 and 1 give infinities and what is beyond them NaN, unless epsilon keeps them in.",),
    scalars=(Scalar(name="epsilon", summary="How near to 0 and 1 input counts.", default=0.0),),
    samples=(*POSITIVE_SAMPLES, *valued(UNARY_SAMPLES[2:3], epsilon=0.01)),
    tolerance=relative(
        8,
        "Eight roundings",
        "the result or 1, the larger one, since the quotient is rounded",
        lambda np, x, epsilon: np.maximum(np.abs(logit(np, x, epsilon=epsilon)), 1.0),
    ),
    source="scipy.special.logit",
    config="wia_logit_config_t",
)
XLOGY = binary(
    133,
    "xlogy",
    "A number times the logarithm of another, 0 where it is 0.",
    "output = 0 where a is 0, else a * ln(b)",
    xlogy,
    notes=("NaN in b wins over 0 in a.",),
    tolerance=roundings(xlogy, 10, "Ten roundings"),
    source="scipy.special.xlogy",
    dtypes=FLOATS,
)
XLOG1PY = binary(
    134,
    "xlog1py",
    "A number times the logarithm of 1 more than another, 0 where it is 0.",
    "output = 0 where a is 0, else a * ln(1 + b)",
    xlog1py,
    notes=("NaN in b wins over 0 in a.",),
    tolerance=roundings(xlog1py, 10, "Ten roundings"),
    source="scipy.special.xlog1py",
    dtypes=FLOATS,
)

OPERATIONS = (
    RSQRT,
    CBRT,
    POW,
    HYPOT,
    EXP2,
    EXPM1,
    LOG2,
    LOG10,
    LOG1P,
    LOGADDEXP,
    LOGADDEXP2,
    LOGIT,
    XLOGY,
    XLOG1PY,
)
