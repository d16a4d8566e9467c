"""What training needs of the catalog, against scipy and values worked by hand."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from catalog_calls import run
from scipy import special
from scipy.spatial import distance

import wia
from wia.catalog import OperandError, ScalarError

RANDOM = np.random.default_rng(7)
X, Y = RANDOM.standard_normal((2, 3, 5)), RANDOM.standard_normal((2, 3, 5))
PARTS = RANDOM.uniform(0.05, 0.95, (2, 3, 5))


@pytest.mark.parametrize(
    ("name", "operands", "values", "expected"),
    [
        ("huber_loss", (X, Y), {"delta": 0.7}, special.huber(0.7, X - Y)),
        ("smooth_l1_loss", (X, Y), {"beta": 0.7}, special.huber(0.7, X - Y) / 0.7),
        ("smooth_l1_loss", (X, Y), {"beta": 0.0}, abs(X - Y)),
        (
            "bce_with_logits_loss",
            (X, PARTS),
            {},
            -(PARTS * special.log_expit(X) + (1 - PARTS) * special.log_expit(-X)),
        ),
        ("bce_loss", (special.expit(X), PARTS), {}, None),
        ("kl_div_loss", (X, PARTS), {}, special.rel_entr(PARTS, np.exp(X))),
        ("mse_loss", (np.array([1.0, -2.0]), np.array([3.0, 1.0])), {}, [4.0, 9.0]),
        ("l1_loss", (np.array([1.0, -2.0]), np.array([3.0, 1.0])), {}, [2.0, 3.0]),
        ("hinge_loss", (np.array([0.25, -2.0]), np.array([1.0, 1.0])), {}, [0.75, 3.0]),
    ],
)
def test_losses(name: str, operands: Any, values: Any, expected: Any) -> None:
    """Each loss; their sum and their mean."""
    if expected is None:
        expected = run("bce_with_logits_loss", X, PARTS, reduction=2)
    np.testing.assert_allclose(run(name, *operands, reduction=2, **values), expected, rtol=1e-12)
    total, mean = (run(name, *operands, reduction=how, **values) for how in (1, 0))
    np.testing.assert_allclose(total, np.sum(expected), rtol=1e-12)
    np.testing.assert_allclose(mean, np.mean(expected), rtol=1e-12)


def test_loss_of_a_sure_and_wrong_prediction() -> None:
    """Logarithms stop at -100; a probability of 0 is no division by zero."""
    assert run("bce_loss", np.array([0.0, 1.0]), np.array([1.0, 1.0]), reduction=2).tolist() == [
        100.0,
        0.0,
    ]
    assert run("kl_div_loss", np.zeros(2), np.array([0.0, 1.0]), reduction=2).tolist() == [0, 0]


def test_losses_of_nothing() -> None:
    """A sum is 0, a mean NaN, as a mean over targets that are all ignored."""
    empty = np.zeros((0, 3))
    assert run("mse_loss", empty, empty, reduction=1) == 0
    assert np.isnan(run("mse_loss", empty, empty))
    ignored = run("nll_loss", np.zeros((2, 3)), np.full(2, -100))
    assert np.isnan(ignored)


def test_a_class_that_there_is_not() -> None:
    with pytest.raises(OperandError, match="a target is 3; expected 0 to 2, or -100"):
        run("nll_loss", np.zeros((2, 3)), np.array([1, 3]))


def test_cosine_similarity() -> None:
    expected = [
        [1 - distance.cosine(a, b) for a, b in zip(p, q, strict=True)]
        for p, q in zip(X, Y, strict=True)
    ]
    np.testing.assert_allclose(run("cosine_similarity", X, Y, axis=-1), expected, rtol=1e-12)


def test_steps_by_hand() -> None:
    """Two steps from 1 with the gradient 2, in exact numbers where there are some."""
    one, two, zero = np.array([1.0]), np.array([2.0]), np.array([0.0])
    assert run("sgd_step", one, two, rate=0.25, decay=0.5).tolist() == [0.375]
    moved, velocity = run("momentum_step", one, two, two, rate=0.25, momentum=0.5)
    assert (moved.tolist(), velocity.tolist()) == ([0.25], [3.0])
    moved, velocity = run("momentum_step", one, two, two, rate=0.25, momentum=0.5, nesterov=1)
    assert (moved.tolist(), velocity.tolist()) == ([0.125], [3.0])
    moved, square = run("rmsprop_step", one, two, zero, rate=0.25, alpha=0.75, epsilon=0.0)
    assert (moved.tolist(), square.tolist()) == ([0.5], [1.0])
    moved, total = run("adagrad_step", one, two, np.array([12.0]), rate=0.5, epsilon=0.0)
    assert (moved.tolist(), total.tolist()) == ([0.75], [16.0])
    # The first step of Adam is as long as the rate, whatever the gradient is.
    for gradient in (two, -two, 1000 * two):
        moved, mean, square = run("adam_step", one, gradient, zero, zero, rate=0.25, epsilon=0.0)
        np.testing.assert_allclose(moved, 1 - 0.25 * np.sign(gradient), rtol=1e-12)
        np.testing.assert_allclose(mean, 0.1 * gradient, rtol=1e-12)
        np.testing.assert_allclose(square, 0.001 * gradient**2, rtol=1e-12)
    # The second one, with beta1 1/2 and beta2 3/4: mean 2, square 11/4, corrected 8/3 and 44/7.
    values = {"beta1": 0.5, "beta2": 0.75, "epsilon": 0.0, "rate": 1.0, "step": 2.0}
    moved, _, _ = run("adam_step", one, two, two, np.array([7 / 3]), **values)
    np.testing.assert_allclose(moved, 1 - (8 / 3) / np.sqrt(44 / 7), rtol=1e-12)
    decayed, _, _ = run("adamw_step", one, two, two, np.array([7 / 3]), decay=0.125, **values)
    np.testing.assert_allclose(decayed, moved - 0.125, rtol=1e-12)
    with pytest.raises(ScalarError, match=r"step is 0\.0; expected 1 or more"):
        run("adam_step", one, two, zero, zero, step=0.0)


def test_known_answers_of_philox() -> None:
    """Random123's for a counter and a key of zeros: 6627e8d5 e169c58d bc57ac4c 9b00dbd8."""
    words = np.array([0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8])
    shape = {"shape": (4,), "dtype": np.dtype(np.float64)}
    assert run("random_uniform", **shape).tolist() == ((words >> 8) * 2.0**-24).tolist()
    assert (
        run("random_uniform", **shape, low=-1.0, high=3.0).tolist()
        == ((words >> 8) * 2.0**-22 - 1).tolist()
    )
    integers = {"shape": (4,), "dtype": np.dtype(np.int32)}
    assert run("random_integers", **integers, low=10.0, high=20.0).tolist() == [
        10 + (int(word) * 10 >> 32) for word in words
    ]
    order = run("random_permutation", shape=(4,), dtype=np.dtype(np.int64))
    assert order.tolist() == np.argsort(words).tolist()
    draws = run("bernoulli", np.array([0.39, 0.4, 0.73, 0.74, 1.0, 0.0])[:4], dtype=np.dtype(bool))
    assert draws.tolist() == [False, False, False, True]


@pytest.mark.parametrize("on", ["reference:0", "emulator:0"])
def test_devices_give_the_known_answers(on: str) -> None:
    """The words themselves, which are those of a counter and a key of zeros."""
    with wia.Context(on) as ctx:
        words = ctx.random_integers(shape=(4,), dtype="int64", high=2.0**32)
        assert words.tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_offsets_go_on() -> None:
    """An offset of a quarter of the elements goes on where a call ended."""
    dtype = np.dtype(np.float64)
    whole = run("random_normal", shape=(64,), dtype=dtype, seed=3.0)
    rest = run("random_normal", shape=(32,), dtype=dtype, seed=3.0, offset=8.0)
    assert whole[32:].tolist() == rest.tolist()


def test_moments() -> None:
    """Of many numbers, within five standard errors."""
    count = 40000
    normal = run("random_normal", shape=(count,), dtype=np.dtype(np.float64), seed=1.0)
    assert abs(normal.mean()) < 5 / np.sqrt(count)
    assert abs(normal.var() - 1) < 5 * np.sqrt(2 / count)
    assert abs((normal**4).mean() - 3) < 5 * np.sqrt(96 / count)
    weights = np.array([[1.0, 0.0, 3.0, -5.0]])
    draws = run("multinomial", weights, count=count, seed=2.0)[0]
    shares = np.bincount(draws, minlength=4) / count
    assert shares[1] == shares[3] == 0
    assert abs(shares[2] - 0.75) < 5 * np.sqrt(0.1875 / count)
    order = run("random_permutation", shape=(1000,), dtype=np.dtype(np.int32), seed=5.0)
    assert sorted(order.tolist()) == list(range(1000))


def test_bounds_of_integers() -> None:
    for values in ({"low": 2.0, "high": 2.0}, {"low": 0.5, "high": 3.0}, {"high": 129.0}):
        with pytest.raises(ScalarError):
            run("random_integers", shape=(2,), dtype=np.dtype(np.int8), **values)


def test_quantize_by_hand() -> None:
    """Halves go to even steps; bounds, NaN and infinities."""
    x = np.array([0.5, 1.5, 2.5, -0.5, 300.0, -300.0, np.nan, np.inf], np.float32)
    scale, zero = np.float32(1.0), np.array(3, np.int8)
    steps = run("quantize", x, np.asarray(scale), zero, dtype=None)
    assert steps.tolist() == [3, 5, 5, 3, 127, -128, 3, 127]
    floats = run("quantize", x, np.asarray(scale), dtype=np.dtype(ml_dtypes.float8_e4m3fn))
    assert floats.astype(float).tolist()[4:6] == [288.0, -288.0]
    assert np.isnan(floats.astype(float)[6])
    assert floats.astype(float)[7] == 448.0
    fake = run("fake_quantize", x, np.asarray(np.float32(0.5)), quant_min=-4, quant_max=3)
    assert fake.tolist() == [0.5, 1.5, 1.5, -0.5, 1.5, -2.0, 0.0, 1.5]


def test_quantize_of_blocks() -> None:
    """Each block has its scale, the last one may be shorter."""
    x = np.arange(1, 6, dtype=np.float32)[None]
    scale = np.array([[1.0, 2.0, 5.0]], np.float32)
    steps = run("quantize", x, scale, dtype=np.dtype(np.int8), block_size=2)
    assert steps.tolist() == [[1, 2, 2, 2, 1]]
    assert run("dequantize", steps, scale, block_size=2).tolist() == [[1, 2, 4, 4, 5]]


def test_dynamic_quantize_of_zeros() -> None:
    """No range: the scale is 1 and nothing is divided by 0."""
    result = run("dynamic_quantize", np.zeros(3, np.float32))
    assert [item.tolist() for item in result] == [[0, 0, 0], 1.0, 0]
