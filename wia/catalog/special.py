"""Special functions: error, normal distribution, gamma and Bessel functions."""

from __future__ import annotations

import math
from typing import Any

from . import _bessel, _gamma
from ._forms import POSITIVE_SAMPLES, onnx, relative, roundings, unary
from ._model import Attribute, Sample, Tolerance
from ._numeric import each, narrow, widen

_HALF = math.sqrt(0.5)
_MOST = 8
"""The largest order of a derivative."""


def erf(np: Any, x: Any) -> Any:
    """Error function."""
    return narrow(np, each(np, math.erf, x), x.dtype)


def erfc(np: Any, x: Any) -> Any:
    """1 - erf, without the cancellation."""
    return narrow(np, each(np, math.erfc, x), x.dtype)


def erfinv(np: Any, x: Any) -> Any:
    """The number whose error function is the element."""
    wide = widen(np, x)
    size = np.abs(wide)
    result = np.where(size == 1, np.inf, _gamma.inverse_error(np, size, 1.0 - size))
    return narrow(np, np.copysign(result, wide), x.dtype)


def ndtr(np: Any, x: Any) -> Any:
    """Distribution function of the standard normal distribution."""
    return narrow(np, 0.5 * each(np, math.erfc, -widen(np, x) * _HALF), x.dtype)


def ndtri(np: Any, x: Any) -> Any:
    """The number up to which the standard normal distribution has that share."""
    wide = widen(np, x)
    tail = 2.0 * np.minimum(wide, 1.0 - wide)
    size = _gamma.inverse_error(np, np.abs(2.0 * wide - 1.0), tail) / _HALF
    size = np.where(tail == 0, np.inf, size)
    return narrow(np, np.where(wide < 0.5, -size, size), x.dtype)


def gamma(np: Any, x: Any) -> Any:
    """Gamma function."""
    return narrow(np, _gamma.gamma(np, widen(np, x)), x.dtype)


def lgamma(np: Any, x: Any) -> Any:
    """Logarithm of the absolute value of gamma."""
    return narrow(np, each(np, math.lgamma, x, undefined=math.inf), x.dtype)


def digamma(np: Any, x: Any) -> Any:
    """Derivative of the logarithm of gamma."""
    return narrow(np, _gamma.digamma(np, widen(np, x)), x.dtype)


def polygamma(np: Any, x: Any, *, order: int) -> Any:
    """A derivative of digamma."""
    return narrow(np, _gamma.polygamma(np, order, widen(np, x)), x.dtype)


def i0(np: Any, x: Any) -> Any:
    """Modified Bessel function of order 0."""
    return narrow(np, _bessel.modified(np, 0, widen(np, x)), x.dtype)


def i1(np: Any, x: Any) -> Any:
    """Modified Bessel function of order 1."""
    return narrow(np, _bessel.modified(np, 1, widen(np, x)), x.dtype)


def j0(np: Any, x: Any) -> Any:
    """Bessel function of order 0."""
    return narrow(np, _bessel.bessel(np, 0, widen(np, x)), x.dtype)


def j1(np: Any, x: Any) -> Any:
    """Bessel function of order 1."""
    return narrow(np, _bessel.bessel(np, 1, widen(np, x)), x.dtype)


def _lgamma_parts(np: Any, x: Any) -> Any:
    return np.abs(lgamma(np, x)) + np.maximum(lgamma(np, 1.0 + np.abs(x)), 1.0)


def _digamma_parts(np: Any, x: Any) -> Any:
    return np.abs(digamma(np, x)) + np.log1p(np.abs(x)) + 1.0


def _polygamma_parts(np: Any, x: Any, *, order: int) -> Any:
    return _gamma.polygamma_parts(np, order, widen(np, x))


def _one(np: Any, x: Any) -> Any:
    return np.ones(x.shape)


_BESSEL = relative(
    40,
    "Forty roundings",
    "1, which it never exceeds: it has zeros everywhere",
    _one,
)

ERF = unary(
    135,
    "erf",
    "Error function.",
    "output = 2 / sqrt(pi) * integral from 0 to input of e^-t^2",
    erf,
    notes=("NaN stays.",),
    standard=onnx("Erf", 13),
    tolerance=roundings(erf, 8, "Eight roundings"),
    source="ONNX node test erf; scipy.special.erf",
)
ERFC = unary(
    136,
    "erfc",
    "Complementary error function.",
    "output = 1 - erf(input)",
    erfc,
    notes=("Far above zero it keeps its digits, which 1 - erf doesn't. NaN stays.",),
    tolerance=roundings(erfc, 32, "Thirty-two roundings"),
    source="scipy.special.erfc",
)
ERFINV = unary(
    137,
    "erfinv",
    "Inverse of the error function.",
    "output = the t with erf(t) = input",
    erfinv,
    notes=("1 and -1 give infinities, what is beyond them NaN; NaN stays.",),
    tolerance=roundings(erfinv, 16, "Sixteen roundings"),
    source="scipy.special.erfinv",
)
NDTR = unary(
    138,
    "ndtr",
    "Distribution function of the standard normal distribution.",
    "output = erfc(-input / sqrt(2)) / 2",
    ndtr,
    notes=("NaN stays.",),
    tolerance=relative(
        8,
        "Eight roundings",
        "the result times 1 + input^2: so far a rounding of input moves it",
        lambda np, x: np.maximum(ndtr(np, x), 2.0**-100) * (1.0 + x * x),
    ),
    source="scipy.special.ndtr",
)
NDTRI = unary(
    139,
    "ndtri",
    "Quantile of the standard normal distribution, also called probit.",
    "output = the t with ndtr(t) = input",
    ndtri,
    notes=("0 and 1 give infinities, what is beyond them NaN; NaN stays.",),
    tolerance=relative(
        16,
        "Sixteen roundings",
        "the result or 1, the larger one",
        lambda np, x: np.maximum(np.abs(ndtri(np, x)), 1.0),
    ),
    source="scipy.special.ndtri",
)
GAMMA = unary(
    140,
    "gamma",
    "Gamma function.",
    "output = integral from 0 to infinity of t^(input - 1) * e^-t",
    gamma,
    notes=(
        "Zeros give an infinity of their sign, negative whole numbers and -infinity NaN; NaN "
        "stays.",
    ),
    tolerance=roundings(gamma, 32, "Thirty-two roundings"),
    source="scipy.special.gamma",
)
LGAMMA = unary(
    141,
    "lgamma",
    "Logarithm of the absolute value of the gamma function.",
    "output = ln(|gamma(input)|)",
    lgamma,
    notes=("Zero and negative whole numbers give infinity, as infinities do; NaN stays.",),
    tolerance=relative(
        16,
        "Sixteen roundings",
        "the result and lgamma(1 + |input|), or 1: there are zeros",
        _lgamma_parts,
    ),
    source="scipy.special.gammaln",
)
DIGAMMA = unary(
    142,
    "digamma",
    "Derivative of the logarithm of the gamma function.",
    "output = gamma'(input) / gamma(input)",
    digamma,
    notes=(
        "Zeros give an infinity of the other sign; negative whole numbers and -infinity give NaN; "
        "NaN stays.",
    ),
    tolerance=relative(
        16,
        "Sixteen roundings",
        "the result and ln(1 + |input|) + 1: there are zeros",
        _digamma_parts,
    ),
    source="scipy.special.digamma",
)
POLYGAMMA = unary(
    168,
    "polygamma",
    "Derivatives of digamma.",
    "output = the derivative of digamma at input, of the order",
    polygamma,
    attributes=(
        Attribute(
            name="order",
            summary="How often it is derived; 1 is trigamma.",
            default=1,
            minimum=1,
            maximum=_MOST,
            zero_is_default=True,
            field="int64_t",
        ),
    ),
    config="wia_polygamma_config_t",
    notes=(
        "Zeros give infinity when the order is odd, else an infinity of the other sign; negative "
        "whole numbers infinity when it is odd, else NaN; -infinity gives NaN, NaN stays.",
    ),
    samples=(
        *POSITIVE_SAMPLES,
        Sample(shapes=((33,),), values={"order": 2}),
        Sample(shapes=((3, 31),), values={"order": 8}, fills=("special",)),
    ),
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 64 * (1 + values["order"]),
        magnitude=_polygamma_parts,
        reason="Sixty-four roundings in the accumulator for each power of the terms, relative to "
        "the sum of absolute values, and one of the result.",
    ),
    source="scipy.special.polygamma; mpmath.psi below 0",
)
I0 = unary(
    143,
    "i0",
    "Modified Bessel function of the first kind, order 0.",
    "output = 1 / pi * integral from 0 to pi of e^(input * cos(t))",
    i0,
    notes=("Infinities give infinity; NaN stays.",),
    tolerance=roundings(i0, 32, "Thirty-two roundings"),
    source="scipy.special.i0",
)
I1 = unary(
    144,
    "i1",
    "Modified Bessel function of the first kind, order 1.",
    "output = 1 / pi * integral from 0 to pi of e^(input * cos(t)) * cos(t)",
    i1,
    notes=("Infinities stay; NaN stays.",),
    tolerance=roundings(i1, 32, "Thirty-two roundings"),
    source="scipy.special.i1",
)
J0 = unary(
    145,
    "j0",
    "Bessel function of the first kind, order 0.",
    "output = 1 / pi * integral from 0 to pi of cos(input * sin(t))",
    j0,
    notes=("Infinities give 0; NaN stays.",),
    tolerance=_BESSEL,
    source="scipy.special.j0",
)
J1 = unary(
    146,
    "j1",
    "Bessel function of the first kind, order 1.",
    "output = 1 / pi * integral from 0 to pi of cos(t - input * sin(t))",
    j1,
    notes=("Infinities give 0; NaN stays.",),
    tolerance=_BESSEL,
    source="scipy.special.j1",
)

OPERATIONS = (ERF, ERFC, ERFINV, NDTR, NDTRI, GAMMA, LGAMMA, DIGAMMA, POLYGAMMA, I0, I1, J0, J1)
