"""NaN and infinities where no vector of ONNX has them: by hand, or as numpy and scipy have it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from catalog_calls import run

from wia.catalog import ScalarError

NAN, INF = math.nan, math.inf
RANDOM = np.random.default_rng(9)


def test_bce_loss() -> None:
    """Logarithms of what is no probability are NaN; those of 0 stop at -100."""
    given = np.array([NAN, INF, -INF, -0.1, 1.1, 0.0, 1.0, 0.5])
    result = run("bce_loss", given, np.full(8, 0.5), reduction=2)
    assert np.isnan(result[:5]).all()
    assert result[5:].tolist() == [50.0, 50.0, pytest.approx(math.log(2.0))]
    assert np.isnan(run("bce_loss", np.array([0.5]), np.array([NAN])))


def test_reduce_log_sum() -> None:
    """ln of the sum, whatever the sum is."""
    rows = np.array([[1.0, NAN], [1.0, INF], [INF, -INF], [1.0, -2.0], [0.0, -0.0], [-INF, 1.0]])
    result = run("reduce_log_sum", rows, axes=(1,))
    np.testing.assert_array_equal(result, [NAN, INF, NAN, NAN, -INF, NAN])


@pytest.mark.parametrize("odd", [NAN, INF, -INF])
def test_matrices_without_a_result(odd: float) -> None:
    """Every element is NaN. Others of a batch stay, and are those of numpy."""
    good = np.array([[2.0, 0.5], [0.5, 1.0]])
    for place in ((0, 0), (1, 0), (1, 1)):
        bad = good.copy()
        bad[place] = odd
        both = np.stack([bad, good])
        for name, library in (("inverse", np.linalg.inv), ("cholesky", np.linalg.cholesky)):
            result = run(name, both)
            assert np.isnan(result[0]).all()
            np.testing.assert_allclose(result[1], library(good))
    bad = good.copy()
    bad[0, 1] = odd
    np.testing.assert_array_equal(run("cholesky", bad), run("cholesky", good))
    assert np.isnan(run("cholesky", bad, upper=1)).all()


def test_solve_triangular_as_scipy() -> None:
    """A NaN in a column of b makes the rows of that column NaN that come after it."""
    a, b = RANDOM.uniform(0.5, 2.0, (4, 4)), RANDOM.standard_normal((4, 3))
    b[2, 1] = NAN
    for upper in (0, 1):
        half = np.triu(a) if upper else np.tril(a)
        expected = scipy.linalg.solve_triangular(half, b, lower=not upper, check_finite=False)
        result = run("solve_triangular", a, b, upper=upper)
        np.testing.assert_allclose(result, expected, rtol=1e-12)
        assert np.isnan(result).sum() == (3 if upper else 2)


def test_solve_triangular_by_hand() -> None:
    """0 times an infinity counts, and the other half doesn't."""
    a = np.array([[1.0, NAN], [0.0, 1.0]])
    result = run("solve_triangular", a, np.array([[INF, 1.0], [2.0, 2.0]]))
    np.testing.assert_array_equal(result, [[INF, 1.0], [NAN, 2.0]])
    a = np.array([[INF, 0.0], [NAN, 2.0]])
    result = run("solve_triangular", a, np.array([[3.0], [4.0]]))
    np.testing.assert_array_equal(result, [[0.0], [NAN]])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_what_is_made_of_numbers(dtype: Any) -> None:
    """fill rounds them, and iota is its formula."""
    made = {"shape": (3,), "dtype": np.dtype(dtype)}
    for value in (NAN, INF, -INF):
        np.testing.assert_array_equal(run("fill", **made, value=value), np.full(3, value))
        np.testing.assert_array_equal(run("iota", **made, start=value), np.full(3, value))
    steps = run("iota", **made, start=1.0, step=-INF)
    np.testing.assert_array_equal(steps, [NAN, -INF, -INF])


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_random_numbers_need_finite_ones(value: float) -> None:
    made = {"shape": (3,), "dtype": np.dtype(np.float32)}
    for name, scalar in (
        ("random_uniform", "low"),
        ("random_uniform", "high"),
        ("random_normal", "mean"),
        ("random_normal", "deviation"),
    ):
        with pytest.raises(ScalarError, match=f"{scalar} is {value}; expected a finite number"):
            run(name, **made, **{scalar: value})


def test_dynamic_quantize() -> None:
    """NaN is left out of the range and gives the zero point; an infinite range has one step."""
    output, scale, zero = run("dynamic_quantize", np.array([NAN, -1.0, 1.55, 0.0], np.float32))
    assert (scale, zero) == (pytest.approx(0.01), 100)
    assert output.tolist() == [100, 0, 255, 100]
    for odd in ([INF, 1.0], [-INF, 1.0], [INF, -INF], [3e38, -3e38], [INF, NAN]):
        output, scale, zero = run("dynamic_quantize", np.array(odd, np.float32))
        assert (float(scale), int(zero), output.tolist()) == (INF, 0, [0, 0])
    output, scale, zero = run("dynamic_quantize", np.array([NAN, NAN], np.float32))
    assert (float(scale), int(zero), output.tolist()) == (1.0, 0, [0, 0])
