"""Reductions and running results against numpy, scipy, and values worked by hand."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from catalog_calls import run
from scipy.special import logsumexp

import wia

NAN, INF = math.nan, math.inf
RANDOM = np.random.default_rng(5)
NUMBERS = RANDOM.standard_normal((3, 4, 5))
AXES: list[tuple[int, ...]] = [(), (1,), (0, -1)]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("reduce_prod", np.prod),
        ("reduce_min", np.min),
        ("reduce_var", np.var),
        ("reduce_log_sum_exp", logsumexp),
        ("reduce_l1", lambda x, axis, keepdims: np.sum(abs(x), axis=axis, keepdims=keepdims)),
    ],
)
def test_reductions(name: str, function: Any, axes: tuple[int, ...], keepdims: bool) -> None:
    expected = function(NUMBERS, axis=axes or None, keepdims=keepdims)
    result = run(name, NUMBERS, axes=axes, keepdims=int(keepdims))
    np.testing.assert_allclose(result, expected, rtol=1e-14)
    assert result.shape == np.shape(expected)


@pytest.mark.parametrize("axes", AXES)
def test_truth(axes: tuple[int, ...]) -> None:
    flags = NUMBERS > 0.9
    assert np.array_equal(run("reduce_any", flags, axes=axes), flags.any(axes or None))
    assert np.array_equal(run("reduce_all", ~flags, axes=axes), (~flags).all(axes or None))
    nothing = np.zeros((2, 0), bool)
    assert run("reduce_any", nothing, axes=(1,)).tolist() == [False, False]
    assert run("reduce_all", nothing, axes=(1,)).tolist() == [True, True]


def test_integers_wrap() -> None:
    """In the dtype of the input."""
    big = np.array([100, 100, 3], np.int8)
    assert run("reduce_prod", big).tolist() == np.int64(30000).astype(np.int8)
    assert run("reduce_l1", np.array([-128, -128], np.int8)).tolist() == 0
    assert run("reduce_sum_square", np.array([16, 1], np.uint8)).tolist() == 1
    assert run("cumsum", np.array([100, 100, 1], np.int8)).tolist() == [100, -56, -55]
    assert run("cumprod", np.array([2**62, 2, 2], np.int64)).tolist() == [2**62, -(2**63), 0]
    assert run("cumsum", np.array([2**63, 2**63 + 5], np.uint64)).tolist() == [2**63, 5]


def test_nothing_and_what_is_no_number() -> None:
    empty = np.zeros((1, 0), np.float32)
    expected = {
        "reduce_prod": 1.0,
        "reduce_log_sum": -INF,
        "reduce_log_sum_exp": -INF,
        "reduce_sum_square": 0.0,
        "reduce_l1": 0.0,
        "reduce_l2": 0.0,
    }
    for name, value in expected.items():
        assert run(name, empty, axes=(1,)).tolist() == [value], name
        assert np.isnan(run(name, np.array([1.0, NAN]))), name
    assert np.isnan(run("reduce_var", empty))
    assert np.isnan(run("reduce_min", np.array([NAN, -INF], ml_dtypes.bfloat16)).astype(float))
    assert run("reduce_log_sum_exp", np.array([-INF, -INF])) == -INF
    assert run("reduce_log_sum_exp", np.array([INF, 1.0])) == INF
    assert run("reduce_log_sum_exp", np.array([1e4, 1e4], np.float32)) == np.float32(
        1e4 + math.log(2)
    )
    assert np.isnan(run("reduce_log_sum", np.array([-1.0])))
    assert np.isnan(run("reduce_var", np.array([INF, 1.0])))


def test_corrections() -> None:
    """As numpy's ddof; a divisor below 0 counts as 0."""
    result = run("reduce_var", NUMBERS, axes=(1,), correction=1)
    np.testing.assert_allclose(result, NUMBERS.var(axis=1, ddof=1), rtol=1e-14)
    assert np.isnan(run("reduce_var", np.array([3.0]), correction=1))
    assert run("reduce_var", np.array([3.0, 5.0]), correction=9) == INF
    norm = np.linalg.norm(NUMBERS, axis=2)
    np.testing.assert_allclose(run("reduce_l2", NUMBERS, axes=(2,)), norm, rtol=1e-14)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_running_results(axis: int) -> None:
    np.testing.assert_allclose(run("cumsum", NUMBERS, axis=axis), NUMBERS.cumsum(axis))
    np.testing.assert_allclose(run("cumprod", NUMBERS, axis=axis), NUMBERS.cumprod(axis))
    every = [
        logsumexp(NUMBERS.take(range(i + 1), axis), axis=axis) for i in range(NUMBERS.shape[axis])
    ]
    result = run("log_cumsum_exp", NUMBERS, axis=axis)
    np.testing.assert_allclose(result, np.stack(every, axis % 3), rtol=1e-13)
    for name, function in (("cummax", np.maximum), ("cummin", np.minimum)):
        values, places = run(name, NUMBERS, axis=axis)
        assert np.array_equal(values, function.accumulate(NUMBERS, axis=axis))
        assert np.array_equal(np.take_along_axis(NUMBERS, places, axis), values)


def test_running_results_of_each_way() -> None:
    """1, 2, 3: from the front and from the back, with and without the element itself."""
    x = np.array([1.0, 2.0, 3.0])
    ways = {(0, 0): [1, 3, 6], (1, 0): [0, 1, 3], (0, 1): [6, 5, 3], (1, 1): [5, 3, 0]}
    for (exclusive, reverse), expected in ways.items():
        result = run("cumsum", x, exclusive=exclusive, reverse=reverse)
        assert result.tolist() == expected
    assert run("cumprod", x, exclusive=1).tolist() == [1, 1, 2]
    assert run("cumprod", x, exclusive=1, reverse=1).tolist() == [6, 3, 1]


def test_places_of_equals_and_of_nan() -> None:
    """The last one so far."""
    values, places = run("cummax", np.array([1.0, 3.0, 3.0, 2.0, 4.0, 4.0]))
    assert (values.tolist(), places.tolist()) == ([1, 3, 3, 3, 4, 4], [0, 1, 2, 2, 4, 5])
    values, places = run("cummin", np.array([2, 3, 2, 5, 1], np.int8))
    assert (values.tolist(), places.tolist()) == ([2, 2, 2, 2, 1], [0, 0, 2, 2, 4])
    values, places = run("cummax", np.array([1.0, NAN, 5.0, NAN, 6.0]))
    assert np.isnan(values[1:]).all()
    assert places.tolist() == [0, 1, 1, 3, 3]


def test_the_last_of_equals() -> None:
    assert run("argmax", np.array([3, 1, 3]), select_last_index=1).tolist() == 2
    assert run("argmin", np.array([1.0, NAN, 0.0, NAN]), select_last_index=1).tolist() == 3


def test_several_outputs_in_python() -> None:
    """A tuple comes back, `out` is one, and either result may be an input."""
    with wia.Context("reference") as ctx:
        x = ctx.tensor([2.0, 1.0, 3.0])
        values, places = ctx.cummax(x)
        assert (values.tolist(), places.tolist()) == ([2, 2, 3], [0, 0, 2])
        out = (ctx.empty(3), ctx.empty(3, "int64"))
        assert ctx.cummin(x, out=out) is out
        assert (out[0].tolist(), out[1].tolist()) == ([2, 1, 1], [0, 1, 1])
        values, places = ctx.execute("cummax", [x], [x, out[1]])
        assert (x.tolist(), places.tolist()) == ([2, 2, 3], [0, 0, 2])
        with pytest.raises(wia.ArgumentTypeError, match=r"a Tensor as out; expected a tuple of 2"):
            ctx.cummax(x, out=values)  # type: ignore[arg-type]
        with pytest.raises(wia.ArgumentTypeError, match=r"a tuple of Tensor as out"):
            ctx.cummax(x, out=(values,))  # type: ignore[arg-type]
        whole, same = ctx.zeros(3, "int64"), ctx.empty(3, "int64")
        with pytest.raises(wia.InvalidArgumentError, match="output 1 overlaps output 0"):
            ctx.execute("cummax", [whole], [same, same])
        with pytest.raises(wia.InvalidHandleError, match="indices is NULL"):
            ctx.execute("cummax", [x], [values, None])
        with pytest.raises(wia.InvalidArgumentError, match="cummax has 1 outputs; expected 2"):
            ctx.execute("cummax", [x], [values])
        group = ctx.group()
        both = group.apply_all("cummax", [group.input(3)])
        with group.plan(*both) as plan:
            plan(ctx.tensor([5.0, 7.0, 6.0]), *out)
        assert (out[0].tolist(), out[1].tolist()) == ([5, 7, 7], [0, 1, 1])
