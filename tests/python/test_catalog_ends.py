"""Operations on each element where they end: infinities, NaN, zeros; worked by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from catalog_calls import run
from test_catalog_values import BFLOAT16

from wia.catalog import ScalarError

NAN, INF = math.nan, math.inf
HALF_PI = math.pi / 2


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("abs", [-0.0, -INF, NAN], [0.0, INF, NAN]),
        ("sign", [-0.0, 0.0, -INF, 3.0, NAN], [0.0, 0.0, -1.0, 1.0, NAN]),
        ("reciprocal", [0.0, -0.0, -INF, NAN], [INF, -INF, -0.0, NAN]),
        ("rsqrt", [0.0, -0.0, INF, -1.0, NAN], [INF, -INF, 0.0, NAN, NAN]),
        ("cbrt", [-8.0, -0.0, -INF, NAN], [-2.0, -0.0, -INF, NAN]),
        ("exp2", [-INF, INF, 10.0, NAN], [0.0, INF, 1024.0, NAN]),
        ("expm1", [-INF, INF, -0.0, NAN], [-1.0, INF, -0.0, NAN]),
        ("log2", [0.0, -1.0, INF, 8.0, NAN], [-INF, NAN, INF, 3.0, NAN]),
        ("log10", [0.0, -1.0, INF, 1000.0, NAN], [-INF, NAN, INF, 3.0, NAN]),
        ("log1p", [-1.0, -2.0, INF, -0.0, NAN], [-INF, NAN, INF, -0.0, NAN]),
        ("logit", [0.0, 1.0, 0.5, -0.1, 1.1, NAN], [-INF, INF, 0.0, NAN, NAN, NAN]),
        ("sin", [INF, -INF, -0.0, NAN], [NAN, NAN, -0.0, NAN]),
        ("cos", [INF, 0.0, NAN], [NAN, 1.0, NAN]),
        ("tan", [INF, -0.0, NAN], [NAN, -0.0, NAN]),
        ("asin", [1.0, -1.0, 2.0, NAN], [HALF_PI, -HALF_PI, NAN, NAN]),
        ("acos", [1.0, -1.0, -2.0, NAN], [0.0, math.pi, NAN, NAN]),
        ("atan", [INF, -INF, NAN], [HALF_PI, -HALF_PI, NAN]),
        ("sinh", [INF, -INF, -0.0, NAN], [INF, -INF, -0.0, NAN]),
        ("cosh", [INF, -INF, NAN], [INF, INF, NAN]),
        ("asinh", [INF, -INF, NAN], [INF, -INF, NAN]),
        ("acosh", [1.0, 0.5, INF, NAN], [0.0, NAN, INF, NAN]),
        ("atanh", [1.0, -1.0, 2.0, NAN], [INF, -INF, NAN, NAN]),
        ("sinc", [0.0, -3.0, 0.5, -INF, NAN], [1.0, 0.0, 2 / math.pi, 0.0, NAN]),
        ("floor", [-0.5, -0.0, INF, NAN], [-1.0, -0.0, INF, NAN]),
        ("ceil", [-0.5, 0.5, -INF, NAN], [-0.0, 1.0, -INF, NAN]),
        ("round", [0.5, 1.5, 2.5, -0.5, INF, NAN], [0.0, 2.0, 2.0, -0.0, INF, NAN]),
        ("trunc", [-0.5, 1.9, -INF, NAN], [-0.0, 1.0, -INF, NAN]),
        ("frac", [-1.5, -2.0, INF, -INF, NAN], [-0.5, -0.0, 0.0, -0.0, NAN]),
        ("erf", [INF, -INF, -0.0, NAN], [1.0, -1.0, -0.0, NAN]),
        ("erfc", [INF, -INF, 0.0, NAN], [0.0, 2.0, 1.0, NAN]),
        ("erfinv", [1.0, -1.0, -0.0, 1.5, NAN], [INF, -INF, -0.0, NAN, NAN]),
        ("ndtr", [INF, -INF, 0.0, NAN], [1.0, 0.0, 0.5, NAN]),
        ("ndtri", [0.0, 1.0, 0.5, -0.1, 1.1, NAN], [-INF, INF, 0.0, NAN, NAN, NAN]),
        ("gamma", [0.0, -0.0, -1.0, -INF, INF, 5.0, NAN], [INF, -INF, NAN, NAN, INF, 24.0, NAN]),
        ("lgamma", [0.0, -0.0, -1.0, -INF, INF, 1.0, NAN], [INF, INF, INF, INF, INF, 0.0, NAN]),
        ("polygamma", [0.0, -0.0, -1.0, -INF, INF, NAN], [INF, INF, INF, NAN, 0.0, NAN]),
        ("digamma", [0.0, -0.0, -1.0, -INF, INF, NAN], [-INF, INF, NAN, NAN, INF, NAN]),
        ("i0", [0.0, INF, -INF, NAN], [1.0, INF, INF, NAN]),
        ("i1", [-0.0, INF, -INF, NAN], [-0.0, INF, -INF, NAN]),
        ("j0", [0.0, INF, -INF, NAN], [1.0, 0.0, 0.0, NAN]),
        ("j1", [0.0, INF, -INF, NAN], [0.0, 0.0, -0.0, NAN]),
        ("softplus", [0.0, -INF, INF, 1e4, NAN], [math.log(2.0), 0.0, INF, 1e4, NAN]),
        ("log_sigmoid", [0.0, -INF, INF, -1e4, NAN], [-math.log(2.0), -INF, -0.0, -1e4, NAN]),
        ("leaky_relu", [-INF, -100.0, -0.0, NAN], [-INF, -1.0, -0.0, NAN]),
        ("elu", [-INF, INF, -0.0, NAN], [-1.0, INF, -0.0, NAN]),
        ("selu", [INF, -INF, NAN], [INF, -1.7580993408473766, NAN]),
        ("celu", [-INF, INF, NAN], [-1.0, INF, NAN]),
        ("hard_sigmoid", [-INF, INF, 0.0, NAN], [0.0, 1.0, 0.5, NAN]),
        ("hard_swish", [-4.0, 4.0, 0.0, INF, -INF, NAN], [-0.0, 4.0, 0.0, INF, NAN, NAN]),
        ("softsign", [1.0, -3.0, INF, NAN], [0.5, -0.75, NAN, NAN]),
        ("mish", [0.0, INF, -INF, NAN], [0.0, INF, NAN, NAN]),
        ("thresholded_relu", [1.0, 1.5, -INF, NAN], [0.0, 1.5, 0.0, NAN]),
        ("shrink", [0.5, -0.5, 0.75, -INF, NAN], [0.0, 0.0, 0.75, -INF, NAN]),
        ("quick_gelu", [0.0, INF, -INF, NAN], [0.0, INF, NAN, NAN]),
    ],
)
def test_ends(name: str, given: list[float], expected: list[float]) -> None:
    """Values, and the signs of zeros, in float32 and in bfloat16."""
    for dtype in (np.dtype(np.float32), BFLOAT16):
        result = run(name, np.array(given, dtype))
        wanted = np.array(expected, dtype)
        assert result.dtype == dtype
        tolerance = 2 * float(np.finfo(np.float32).eps if dtype == np.float32 else 2**-7)
        np.testing.assert_allclose(
            result.astype(np.float64), wanted.astype(np.float64), rtol=tolerance
        )
        zero = wanted == 0
        assert np.signbit(result[zero]).tolist() == np.signbit(wanted[zero]).tolist()


@pytest.mark.parametrize(
    ("name", "a", "b", "expected"),
    [
        (
            "pow",
            [NAN, 1.0, -8.0, 0.0, -0.0, -1.0],
            [0.0, NAN, 1 / 3, -1.0, -1.0, INF],
            [1.0, 1.0, NAN, INF, -INF, 1.0],
        ),
        (
            "mod",
            [5.5, -5.5, 5.5, 1.0, INF, 1.0],
            [2.0, 2.0, -2.0, 0.0, 1.0, INF],
            [1.5, 0.5, -0.5, NAN, NAN, 1.0],
        ),
        (
            "floor_div",
            [-1.0, 1.0, 0.0, -1.0, 7.0],
            [0.0, INF, 0.0, INF, -2.0],
            [-INF, 0.0, NAN, -1.0, -4.0],
        ),
        (
            "remainder",
            [5.0, 7.0, -5.0, INF, 1.0],
            [2.0, 2.0, 3.0, 1.0, INF],
            [1.0, -1.0, 1.0, NAN, 1.0],
        ),
        (
            "hypot",
            [INF, NAN, 3.0, NAN, 3e38],
            [NAN, -INF, -4.0, 1.0, 0.0],
            [INF, INF, 5.0, NAN, 3e38],
        ),
        (
            "atan2",
            [0.0, -0.0, 0.0, -0.0, INF],
            [0.0, 0.0, -1.0, -1.0, INF],
            [0.0, -0.0, math.pi, -math.pi, math.pi / 4],
        ),
        ("copysign", [1.0, NAN, -0.0, INF], [-0.0, -1.0, 1.0, -NAN], [-1.0, NAN, 0.0, -INF]),
        ("fmin", [NAN, 1.0, NAN, -INF], [1.0, NAN, NAN, 2.0], [1.0, 1.0, NAN, -INF]),
        ("fmax", [NAN, 1.0, NAN, -INF], [1.0, NAN, NAN, 2.0], [1.0, 1.0, NAN, 2.0]),
        (
            "heaviside",
            [-1.0, 0.0, -0.0, 2.0, NAN, 0.0],
            [9.0, 0.5, 7.0, 9.0, 1.0, NAN],
            [0.0, 0.5, 7.0, 1.0, NAN, NAN],
        ),
        (
            "logaddexp",
            [0.0, -INF, INF, NAN, 1e4],
            [0.0, -INF, -INF, 0.0, 1e4],
            [math.log(2.0), -INF, INF, NAN, 1e4 + math.log(2.0)],
        ),
        (
            "logaddexp2",
            [0.0, -INF, INF, NAN, 1e4],
            [0.0, -INF, -INF, 0.0, 1e4],
            [1.0, -INF, INF, NAN, 1e4 + 1],
        ),
        (
            "xlogy",
            [0.0, 0.0, 0.0, 2.0, -1.0],
            [0.0, -1.0, NAN, math.e, 0.0],
            [0.0, 0.0, NAN, 2.0, INF],
        ),
        (
            "xlog1py",
            [0.0, 0.0, 0.0, 2.0, -1.0],
            [-1.0, -2.0, NAN, math.e - 1, -1.0],
            [0.0, 0.0, NAN, 2.0, INF],
        ),
        ("prelu", [-2.0, 2.0, NAN, -0.0], [0.5, NAN, 0.5, 0.5], [-1.0, 2.0, NAN, -0.0]),
        ("squared_difference", [1.0, INF, -2.0], [3.0, INF, 2.0], [4.0, NAN, 16.0]),
    ],
)
def test_pairs(name: str, a: list[float], b: list[float], expected: list[float]) -> None:
    """Two numbers: values, and the signs of zeros."""
    result = run(name, np.array(a, np.float32), np.array(b, np.float32))
    wanted = np.array(expected, np.float32)
    np.testing.assert_allclose(result, wanted, rtol=3e-7)
    zero = wanted == 0
    assert np.signbit(result[zero]).tolist() == np.signbit(wanted[zero]).tolist()


def f32(*values: float) -> Any:
    """A vector of float32."""
    return np.array(values, np.float32)


def test_sums_of_products() -> None:
    """Values by hand; 60000 times 2 and less 60000 fits in float16 only at the end."""
    x, a, b = f32(1.0, 2.0), f32(3.0, -4.0), f32(2.0, 8.0)
    assert run("add_scaled", x, a, alpha=0.5).tolist() == [2.5, 0.0]
    assert run("addcmul", x, a, b, value=0.5).tolist() == [4.0, -14.0]
    assert run("addcdiv", x, a, b, value=2.0).tolist() == [4.0, 1.0]
    assert run("lerp", x, a, f32(0.25, 1.5)).tolist() == [1.5, -7.0]
    large = np.array([60000], np.float16)
    assert run("addcmul", -large, large, np.array([2], np.float16)).tolist() == [60000]


def test_fma_rounds_once() -> None:
    """As exact fractions say, in every dtype; a product and a sum would round twice."""
    random = np.random.default_rng(3)
    for dtype in (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16), BFLOAT16):
        a, b = (random.normal(size=300).astype(dtype) for _ in range(2))
        product = a.astype(np.float64) * b.astype(np.float64)
        c = (-product * (1 + 2.0 ** random.uniform(-60, 2, 300))).astype(dtype)
        result = run("fma", a, b, c)
        bits = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}[dtype.name]
        for items in zip(a.tolist(), b.tolist(), c.tolist(), result.tolist(), strict=True):
            exact = Fraction(items[0]) * Fraction(items[1]) + Fraction(items[2])
            got = Fraction(items[3])
            step = Fraction(2) ** max(
                math.frexp(items[3])[1] - 1 - bits, -24 if bits == 10 else -200
            )
            assert abs(exact - got) <= step / 2, items
    ends = run("fma", f32(INF, 2.0, 1.0), f32(0.0, INF, 1.0), f32(1.0, 1.0, -1.0))
    assert np.isnan(ends).tolist() == [True, False, False]
    assert ends[1:].tolist() == [INF, 0.0]
    tie = 1 + 2.0**-23
    # tie^2 = 1 + 2^-22 + 2^-46: a little above the middle of neighbours once 2^-24 is there.
    once = run("fma", f32(tie), f32(tie), f32(2.0**-24))
    assert once.tolist() == [1 + 2.0**-22 + 2.0**-23]


def test_clamp_by_tensors() -> None:
    """One bound per row; NaN in a bound wins too; either one may be left out."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    low, high = f32(1.0, 4.0).reshape(2, 1), f32(3.0)
    assert run("clamp", x, low, high).tolist() == [[1.0, 1.0, 2.0], [3.0, 3.0, 3.0]]
    assert run("clamp", x, None, high).tolist() == [[0.0, 1.0, 2.0], [3.0, 3.0, 3.0]]
    assert run("clamp", x, low).tolist() == [[1.0, 1.0, 2.0], [4.0, 4.0, 5.0]]
    assert run("clamp", x).tolist() == x.tolist()
    assert np.isnan(run("clamp", f32(NAN, 1.0, 1.0), f32(0.0, NAN, 0.0), f32(1.0, 2.0, NAN))).all()


def test_nan_to_num() -> None:
    """The defaults are 0 and the largest numbers of the dtype; numbers are rounded to it."""
    for dtype in (np.dtype(np.float32), np.dtype(np.float16), BFLOAT16):
        given = np.array([NAN, INF, -INF, 1.5], dtype)
        largest = {"float32": 2.0**128 - 2.0**104, "float16": 65504.0}.get(
            dtype.name, 2.0**128 - 2.0**120
        )
        assert run("nan_to_num", given).tolist() == [0.0, largest, -largest, 1.5]
        changed = run("nan_to_num", given, nan=-1.0, posinf=1e300, neginf=2.0)
        assert changed.tolist() == [-1.0, largest, 2.0, 1.5]
    with pytest.raises(ScalarError, match="posinf is nan"):
        run("nan_to_num", f32(1.0), posinf=NAN)


def test_neighbours_of_narrow_dtypes() -> None:
    """The least denormal next to 0, a step of the dtype next to 1, NaN from either side."""
    random = np.random.default_rng(4)
    a, b = random.normal(size=(2, 50)) * 10.0 ** random.uniform(-300, 300, (2, 50))
    expected = [math.nextafter(*pair) for pair in zip(a.tolist(), b.tolist(), strict=True)]
    assert run("nextafter", a, b).tolist() == expected
    for dtype, least, step in (
        (np.dtype(np.float16), 2.0**-24, 2.0**-10),
        (BFLOAT16, 2.0**-133, 2.0**-7),
    ):
        a, b = np.array([0.0, 1.0, NAN, 1.0, 1.0], dtype), np.array([-1.0, 2.0, 1, NAN, 1.0], dtype)
        result = run("nextafter", a, b).astype(np.float64)
        assert result[:2].tolist() == [-least, 1.0 + step]
        assert np.isnan(result[2:4]).all()
        assert result[4] == 1.0


def test_ldexp() -> None:
    """Exact, with one rounding of denormals; no exponent is too large."""
    exponents = np.array([3, -1, 2**31 - 1, -(2**31), 0], np.int32)
    result = run("ldexp", f32(1.5, -3.0, 1.0, 1.0, NAN), exponents)
    assert result[:4].tolist() == [12.0, -1.5, INF, 0.0]
    assert np.isnan(result[4])
    middle = run("ldexp", f32(3.0, 1.0, 5.0), np.array([-150] * 3, np.int32))
    assert middle.tolist() == [2.0**-148, 0.0, 2.0**-148]


def test_kinds_of_numbers() -> None:
    """The four tests, each of its kind, and the sign of zero and NaN."""
    for dtype in (np.dtype(np.float32), BFLOAT16):
        given = np.array([NAN, INF, -INF, -0.0, 1.0], dtype)
        assert run("is_nan", given).tolist() == [True, False, False, False, False]
        assert run("is_inf", given).tolist() == [False, True, True, False, False]
        assert run("is_inf", given, detect_negative=0).tolist() == [False, True] + [False] * 3
        assert (
            run("is_inf", given, detect_positive=0).tolist() == [False, False, True] + [False] * 2
        )
        assert run("is_finite", given).tolist() == [False, False, False, True, True]
        assert run("signbit", given).tolist() == [False, False, True, True, False]
        assert run("is_nan", given).dtype == np.bool_
        assert run("signbit", -given).tolist()[0] is True


def test_is_close() -> None:
    """As numpy.isclose, which has the same formula; integers beyond 2^53 are told when equal."""
    random = np.random.default_rng(2)
    a = np.concatenate([random.normal(size=200), [INF, INF, NAN, 0.0, -INF]])
    b = np.concatenate([a[:200] * (1 + random.normal(size=200) * 1e-3), [INF, -INF, NAN, 1e-9, 0]])
    for rtol, atol, equal_nan in ((1e-3, 1e-8, False), (1e-5, 1e-3, False), (1e-4, 1e-4, True)):
        expected = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
        result = run("is_close", a, b, rtol=rtol, atol=atol, equal_nan=int(equal_nan))
        assert result.tolist() == expected.tolist()
        assert 20 < expected.sum() < 190
    near = np.array([2**62, 2**62])
    assert run("is_close", near, near, rtol=0.0, atol=0.0).tolist() == [True, True]
    assert run("is_close", f32(1.0), f32(1.0 + 2.0**-23), rtol=0.0, atol=0.0).tolist() == [False]


def test_scalars_of_activations() -> None:
    """Other values than the defaults, by the formulas."""
    x = f32(-2.0, 0.5, 3.0)
    assert np.allclose(run("softplus", x, beta=2.0), np.log1p(np.exp(2.0 * x)) / 2.0, rtol=1e-6)
    assert np.allclose(run("celu", x, alpha=2.0), [2 * math.expm1(-1.0), 0.5, 3.0], rtol=1e-6)
    assert run("leaky_relu", x, alpha=0.25).tolist() == [-0.5, 0.5, 3.0]
    assert run("shrink", x, lambd=1.0, bias=0.5).tolist() == [-1.5, 0.0, 2.5]
    assert run("hard_sigmoid", x, alpha=0.25, beta=0.5).tolist() == [0.0, 0.625, 1.0]
    # The bound is rounded to float16, and so is the number that it is compared with.
    third = np.array([1 / 3], np.float16)
    assert run("thresholded_relu", third, alpha=1 / 3).tolist() == [0.0]
    assert run("shrink", third, lambd=1 / 3).tolist() == [0.0]
    assert run("logit", f32(0.0, 1.0, 0.5), epsilon=0.25).tolist() == pytest.approx(
        [-math.log(3.0), math.log(3.0), 0.0], rel=1e-6
    )


def test_glu() -> None:
    """The first half times each activation of the second, along any axis."""
    x = f32(2.0, -3.0, 0.0, math.log(3.0))
    second = {0: 0.75, 1: 0.75 * math.log(3.0), 3: math.log(3.0), 4: math.log(3.0)}
    first = {0: 1.0, 1: 0.0, 3: 0.0, 4: 0.0}
    for activation, value in second.items():
        expected = [first[activation], -3.0 * value]
        for array, axis in ((x, -1), (x.reshape(4, 1), 0), (x.reshape(2, 2), 0)):
            result = run("glu", array, axis=axis, activation=activation)
            assert result.size == 2
            np.testing.assert_allclose(result.ravel(), expected, rtol=1e-6)
    # The normal distribution function at 1 from a table.
    gated = run("glu", np.array([2.0, 1.0]), activation=2)
    np.testing.assert_allclose(gated, [2 * 0.8413447460685429], rtol=1e-15)
    assert np.isnan(run("glu", f32(0.0, INF), activation=1)).all()
