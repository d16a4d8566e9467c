"""Operations on each element against other libraries: math, scipy and numpy's own definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp
from catalog_calls import run

from wia.catalog import BY_NAME, allowed_error

RANDOM = np.random.default_rng(5)
NEAR = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.25, 2.0, -2.0, 2.5, -2.5, 1e-10, -1e-10, 1e-300]
)
NORMAL = np.concatenate([NEAR, RANDOM.normal(size=200), RANDOM.uniform(-20, 20, 100)])
UNIT = np.concatenate([RANDOM.uniform(-1, 1, 200), 1 - 10 ** RANDOM.uniform(-12, 0, 50), [1e-12]])
SHARE = np.concatenate([np.abs(UNIT), 10 ** RANDOM.uniform(-300, 0, 50)])
OFF_POLES = NORMAL[(NORMAL > 0) | (abs(NORMAL - np.rint(NORMAL)) > 0.05)]
"""scipy's digamma loses digits beside whole numbers below zero."""
POSITIVE = np.concatenate([10 ** RANDOM.uniform(-12, 12, 200), RANDOM.uniform(0.5, 3, 100)])
WIDE = np.concatenate([NORMAL, RANDOM.choice([-1, 1], 100) * 10 ** RANDOM.uniform(-20, 20, 100)])


def by_element(function: Callable[..., float]) -> Callable[..., Any]:
    """A function of Python floats; NaN stands for what it refuses, which other tests look at."""

    def call(*arrays: Any) -> Any:
        results = []
        for values in zip(*(array.tolist() for array in arrays), strict=True):
            try:
                results.append(function(*values))
            except (ValueError, OverflowError, ZeroDivisionError):
                results.append(math.nan)
        return np.array(results, np.float64)

    return call


def _gelu_like(x: float, alpha: float) -> float:
    return x / (1.0 + math.exp(-alpha * x))


ONE: list[tuple[str, Any, Callable[..., Any]]] = [
    ("sin", WIDE, by_element(math.sin)),
    ("cos", WIDE, by_element(math.cos)),
    ("tan", WIDE, by_element(math.tan)),
    ("asin", UNIT, by_element(math.asin)),
    ("acos", UNIT, by_element(math.acos)),
    ("atan", WIDE, by_element(math.atan)),
    ("sinh", NORMAL, by_element(math.sinh)),
    ("cosh", NORMAL, by_element(math.cosh)),
    ("asinh", WIDE, by_element(math.asinh)),
    ("acosh", 1.0 + POSITIVE, by_element(math.acosh)),
    ("atanh", UNIT, by_element(math.atanh)),
    ("sinc", NORMAL, lambda x: np.sinc(x.astype(np.longdouble))),
    ("square", WIDE, by_element(lambda x: math.pow(x, 2.0))),
    ("reciprocal", WIDE, by_element(lambda x: math.pow(x, -1.0))),
    ("rsqrt", POSITIVE, by_element(lambda x: math.pow(x, -0.5))),
    ("cbrt", WIDE, by_element(math.cbrt)),
    ("exp2", NORMAL, by_element(math.exp2)),
    ("expm1", NORMAL, by_element(math.expm1)),
    ("log2", POSITIVE, by_element(math.log2)),
    ("log10", POSITIVE, by_element(math.log10)),
    ("log1p", POSITIVE, by_element(math.log1p)),
    ("logit", SHARE, sp.logit),
    ("floor", WIDE, by_element(math.floor)),
    ("ceil", WIDE, by_element(math.ceil)),
    ("round", WIDE, by_element(round)),
    ("trunc", WIDE, by_element(math.trunc)),
    ("frac", WIDE, by_element(lambda x: math.modf(x)[0])),
    ("erf", WIDE, sp.erf),
    ("erfc", NORMAL, sp.erfc),
    ("erfinv", UNIT, sp.erfinv),
    ("ndtr", NORMAL, sp.ndtr),
    ("ndtri", SHARE, sp.ndtri),
    ("gamma", NORMAL, sp.gamma),
    ("lgamma", NORMAL, sp.gammaln),
    ("digamma", OFF_POLES, sp.digamma),
    ("polygamma", OFF_POLES, lambda x: sp.polygamma(1, x)),
    ("i0", 30 * NORMAL, sp.i0),
    ("i1", 30 * NORMAL, sp.i1),
    ("j0", 30 * NORMAL, sp.j0),
    ("j1", 30 * NORMAL, sp.j1),
    ("softplus", NORMAL, lambda x: -sp.log_expit(-x)),
    ("log_sigmoid", NORMAL, sp.log_expit),
    ("mish", NORMAL, lambda x: x * np.tanh(-sp.log_expit(-x))),
    ("quick_gelu", NORMAL, by_element(lambda x: _gelu_like(x, 1.702))),
]
TWO: list[tuple[str, Any, Any, Callable[..., Any]]] = [
    ("pow", np.abs(NORMAL), NORMAL[::-1], by_element(math.pow)),
    ("pow", NORMAL, np.rint(NORMAL[::-1]), by_element(math.pow)),
    ("mod", NORMAL, NORMAL[::-1], by_element(lambda a, b: a % b)),
    ("floor_div", NORMAL, NORMAL[::-1], by_element(lambda a, b: a // b)),
    ("remainder", WIDE, WIDE[::-1], by_element(math.remainder)),
    ("hypot", WIDE, WIDE[::-1], by_element(math.hypot)),
    ("atan2", WIDE, WIDE[::-1], by_element(math.atan2)),
    ("copysign", WIDE, WIDE[::-1], by_element(math.copysign)),
    ("logaddexp", NORMAL, NORMAL[::-1], lambda a, b: sp.logsumexp(np.stack([a, b]), axis=0)),
    ("xlogy", WIDE[:250], POSITIVE[:250], sp.xlogy),
    ("xlog1py", WIDE[:250], POSITIVE[:250], sp.xlog1py),
]


def check(name: str, function: Callable[..., Any], *inputs: Any) -> None:
    """As near as the entry allows, twice since both sides round, in float64 and in float32."""
    entry = BY_NAME[name]
    for dtype in (np.float64, np.float32):
        with np.errstate(all="ignore"):
            arrays = [array.astype(dtype) for array in inputs]
            wanted = np.asarray(function(*(array.astype(np.float64) for array in arrays)))
            wanted = wanted.astype(np.float64)
            result = run(name, *arrays)
            (bound,) = allowed_error(np, entry, arrays, entry.defaults(), [result])
            near = abs(result - wanted) <= 2 * bound
            wrong = np.isfinite(wanted) & ~near & (result != wanted.astype(dtype))
        assert result.dtype == dtype
        assert np.isfinite(wanted).mean() > 0.5
        assert not wrong.any(), [array[wrong][:4] for array in (*arrays, result, wanted)]


@pytest.mark.parametrize(("name", "inputs", "function"), ONE, ids=[item[0] for item in ONE])
def test_functions_of_one(name: str, inputs: Any, function: Callable[..., Any]) -> None:
    """Near zero, over the range of use, and far from zero where that is defined."""
    check(name, function, inputs)


@pytest.mark.parametrize(
    ("name", "a", "b", "function"), TWO, ids=[f"{item[0]}-{i}" for i, item in enumerate(TWO)]
)
def test_functions_of_two(name: str, a: Any, b: Any, function: Callable[..., Any]) -> None:
    """The same for those of two numbers."""
    check(name, function, a, b)


def test_functions_that_others_get_wrong_by_hand() -> None:
    """Values from tables, of many digits, where a careless formula loses them."""
    cases = {
        # Abramowitz and Stegun, tables 7.1, 6.1, 6.1, 9.8 and 9.1.
        "erf": (0.5, 0.5204998778130465),
        "gamma": (1.5, 0.8862269254527580),
        "digamma": (1.0, -0.5772156649015329),
        "polygamma": (1.0, 1.6449340668482264),
        "i0": (1.0, 1.2660658777520084),
        "i1": (1.0, 0.5651591039924851),
        "j0": (1.0, 0.7651976865579666),
        "j1": (1.0, 0.4400505857449335),
        "erfc": (10.0, 2.088487583762545e-45),
        "ndtri": (0.975, 1.959963984540054),
        "erfinv": (0.5, 0.4769362762044699),
        "lgamma": (100.0, 359.1342053695754),
    }
    for name, (given, expected) in cases.items():
        np.testing.assert_allclose(run(name, np.array([given])), [expected], rtol=4e-16)
    # -2 zeta(3), -8! zeta(9), pi^2 / 2 + 4 by the reflection, pi^4.
    for order, given, expected in (
        (2, 1.0, -2.4041138063191886),
        (8, 1.0, -40400.97839874763),
        (1, -0.5, 8.93480220054468),
        (3, 0.5, 97.40909103400244),
    ):
        result = run("polygamma", np.array([given]), order=order)
        np.testing.assert_allclose(result, [expected], rtol=1e-14)
    # Zeros of J_0 and J_1 from table 9.5, where the expansion for large arguments holds.
    assert abs(run("j0", np.array([30.634606468431976]))[0]) < 1e-14
    assert abs(run("j1", np.array([32.189679910974405]))[0]) < 1e-14


@pytest.mark.parametrize("name", ["i0", "i1"])
def test_modified_bessel_functions_overflow_late(name: str) -> None:
    """e^x overflows at 709.79, they at about 713.99."""
    result = run(name, np.array([713.0, 715.0, -713.0]))
    assert np.isfinite(result).tolist() == [True, False, True]
    with np.errstate(all="ignore"):
        scaled = {"i0": sp.i0e, "i1": sp.i1e}[name](713.0)
    np.testing.assert_allclose(np.log(result[0]), 713.0 + math.log(scaled), rtol=1e-15)
