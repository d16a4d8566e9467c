"""Allowed errors of functions of each element: float32 stays inside, careless formulas don't."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp
from catalog_calls import call

from wia.catalog import BY_NAME, allowed_error

ONE = np.float32(1)
HALF = np.float32(0.5)
TWO = np.float32(2)


def elu(x: Any) -> Any:
    """The textbook's, with expm1."""
    return np.where(x > 0, x, np.expm1(x))


def softplus(x: Any) -> Any:
    """That of PyTorch, without its threshold."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def ended(function: Callable[..., Any], end: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a library that gives NaN far out, with its limits there."""
    return lambda x: np.where(np.abs(x) > 1e38, end(x), function(x))


HONEST: dict[str, Callable[..., Any]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "addcdiv": lambda x, a, b, value=HALF: x + value * (a / b),
    "addcmul": lambda x, a, b, value=TWO: x + value * (a * b),
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "cos": np.cos,
    "cosh": np.cosh,
    "digamma": sp.digamma,
    "polygamma": lambda x, order=1: sp.polygamma(order, x).astype(x.dtype),
    "elu": elu,
    "erf": sp.erf,
    "erfc": sp.erfc,
    "erfinv": sp.erfinv,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "gamma": sp.gamma,
    "hard_sigmoid": lambda x: np.clip(np.float32(0.2) * x + HALF, 0, 1),
    "hard_swish": lambda x: x * np.clip(x / np.float32(6) + HALF, 0, 1),
    "hypot": np.hypot,
    "i0": ended(sp.i0, lambda x: np.full_like(x, np.inf)),
    "i1": ended(sp.i1, lambda x: np.copysign(np.float32(np.inf), x)),
    "j0": ended(sp.j0, np.zeros_like),
    "j1": ended(sp.j1, np.zeros_like),
    "lerp": lambda a, b, weight: a + weight * (b - a),
    "lgamma": sp.gammaln,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "log_sigmoid": lambda x: -softplus(-x),
    "logaddexp": np.logaddexp,
    "logaddexp2": np.logaddexp2,
    "logit": lambda x: np.log(x / (ONE - x)),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "mod": np.mod,
    "ndtr": lambda x: HALF * sp.erfc(-x * np.sqrt(HALF)),
    "ndtri": sp.ndtri,
    "pow": np.power,
    "quick_gelu": lambda x: x / (ONE + np.exp(np.float32(-1.702) * x)),
    "reciprocal": lambda x: ONE / x,
    "rsqrt": lambda x: ONE / np.sqrt(x),
    "sin": np.sin,
    "sinc": ended(np.sinc, np.zeros_like),
    "sinh": np.sinh,
    "softplus": softplus,
    "softsign": lambda x: x / (ONE + np.abs(x)),
    "square": lambda x: x * x,
    "squared_difference": lambda a, b: (a - b) * (a - b),
    "tan": np.tan,
    "xlog1py": sp.xlog1py,
    "xlogy": sp.xlogy,
}


CARELESS: dict[str, Callable[..., Any]] = {
    "erfc": lambda x: ONE - sp.erf(x),
    "expm1": lambda x: np.exp(x) - ONE,
    "floor_div": lambda a, b: np.trunc(a / b),
    "hypot": lambda a, b: np.sqrt(a * a + b * b),
    "lgamma": lambda x: np.log(np.abs(sp.gamma(x))),
    "log1p": lambda x: np.log(ONE + x),
    "log_sigmoid": lambda x: np.log(ONE / (ONE + np.exp(-x))),
    "logaddexp": lambda a, b: np.log(np.exp(a) + np.exp(b)),
    "mod": lambda a, b: a - b * np.trunc(a / b),
    "remainder": np.fmod,
    "round": lambda x: np.floor(x + HALF),
    "softplus": lambda x: np.log(ONE + np.exp(x)),
    "shrink": lambda x: np.where(np.abs(x) < HALF, np.float32(0), x),
    "thresholded_relu": lambda x: np.where(x < ONE, np.float32(0), x),
    "trunc": np.floor,
    "sin": lambda x: x - x * x * x / np.float32(6),
    "tanh": lambda x: ONE - TWO / (np.exp(TWO * x) + ONE),
}


def wrong(name: str, function: Callable[..., Any]) -> list[Any]:
    """Elements of samples that are farther off than is allowed: inputs, result, expected."""
    entry = BY_NAME[name]
    found = []
    for sample in entry.samples:
        if sample.values and name not in ("addcdiv", "addcmul"):
            continue
        if sample.dtypes and "float32" not in sample.dtypes:
            continue
        inputs, values, (expected,) = call(entry, sample, "float32")
        with np.errstate(all="ignore"):
            result = np.asarray(function(*inputs))
            (bound,) = allowed_error(np, entry, inputs, values, (expected,))
            near = abs(result.astype(np.float64) - expected.astype(np.float64)) <= bound
        assert result.dtype == np.float32
        bad = ~near & (result != expected) & ~(np.isnan(result) & np.isnan(expected))
        if bad.any():
            arrays = np.broadcast_arrays(*inputs, result, expected)
            found.append([array[bad] for array in arrays])
    return found


@pytest.mark.parametrize("name", HONEST)
def test_float32_is_within(name: str) -> None:
    """On every sample of the entry."""
    assert wrong(name, HONEST[name]) == []


@pytest.mark.parametrize("name", CARELESS)
def test_a_careless_formula_is_outside(name: str) -> None:
    """It cancels, overflows or rounds in another way, and a sample shows it."""
    assert wrong(name, CARELESS[name])
