"""Operations that no other test of the catalog has, against numpy, math and values by hand."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from catalog_calls import run

NAN, INF = math.nan, math.inf
RANDOM = np.random.default_rng(10)


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int2", "uint2", "float4_e2m1fn"])
def test_copy_of_packed_elements(dtype: str) -> None:
    """All that there are, an odd number of them."""
    bits = 2 if dtype.endswith("2") else 4
    given = np.arange(2**bits + 1, dtype=np.uint8) % 2**bits
    array = given.view(getattr(ml_dtypes, dtype))
    result = run("copy", array)
    assert (result.dtype, result.tobytes()) == (array.dtype, array.tobytes())


def test_pools_of_whole_images() -> None:
    """Those for two dimensions are those for any number, to the bit."""
    x = RANDOM.standard_normal((2, 3, 5, 7)).astype(np.float32)
    x[1, 2, 3, 4] = NAN
    pairs = (
        ("global_avg_pool2d", "global_avg_pool"),
        ("global_max_pool2d", "global_max_pool"),
    )
    for name, general in pairs:
        assert run(name, x).tobytes() == run(general, x).tobytes()


def test_slices_beyond_the_ends() -> None:
    """Starts and ends stop where the tensor does, in both directions."""
    x = np.arange(5)
    largest = 2**63 - 1
    for starts, ends, steps, expected in (
        (-99, 99, 2, [0, 2, 4]),
        (largest, -largest, -3, [4, 1]),
        (99, 100, 1, []),
        (-1, -99, -4, [4, 0]),
        (1, largest, largest, [1]),
    ):
        result = run("slice", x, starts=(starts,), ends=(ends,), steps=(steps,), axes=())
        assert result.tolist() == expected


def test_functions_of_numpy_and_math() -> None:
    """square, ldexp and is_finite."""
    x = np.concatenate([RANDOM.standard_normal(99) * 1e3, [0.0, -0.0, INF, NAN]])
    np.testing.assert_array_equal(run("square", x), np.square(x))
    powers = RANDOM.integers(-1100, 900, x.size).astype(np.int32)
    pairs = zip(x.tolist(), powers.tolist(), strict=True)
    expected = [math.ldexp(value, power) for value, power in pairs]
    np.testing.assert_array_equal(run("ldexp", x, powers), expected)
    assert run("is_finite", x).tolist() == [math.isfinite(value) for value in x.tolist()]


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 2), (0, 3)])
def test_nonzero(shape: tuple[int, ...]) -> None:
    """numpy's places, then zeros."""
    x = RANDOM.integers(0, 2, shape)
    places, count = run("nonzero", x)
    expected = np.argwhere(x)
    assert int(count) == len(expected)
    assert np.array_equal(places[: len(expected)], expected)
    assert not places[len(expected) :].any()


def test_sum_to() -> None:
    """numpy.sum over the axes that broadcasting adds or repeats; of ones it counts them."""
    x = RANDOM.standard_normal((2, 3, 4))
    for shape, axes in (((3, 1), (0, 2)), ((1, 3, 4), (0,)), ((4,), (0, 1)), ((), (0, 1, 2))):
        expected = 0.5 * np.sum(x, axis=axes).reshape(shape)
        result = run("sum_to", x, shape=shape, factor=0.5)
        np.testing.assert_allclose(result, expected, rtol=1e-14)
        back = np.broadcast_to(np.ones(shape), x.shape)
        times = x.size // max(1, math.prod(shape))
        assert run("sum_to", back, shape=shape).tolist() == np.full(shape, times).tolist()


def images(*rows: list[float]) -> Any:
    """One image of one channel."""
    return np.array([[rows]], np.float64)


def test_gradients_by_hand() -> None:
    """Where the output is NaN; which of equals; windows that overlap; an index twice."""
    grad = np.array([1.0, 2.0, 3.0])
    assert run("relu_gradient", grad, np.array([NAN, 0.0, 1.0])).tolist() == [0.0, 0.0, 3.0]
    pool = {"kernel": (2, 2), "stride": (1, 1)}
    x = images([5, 5, 1], [5, 0, NAN])
    result = run("max_pool2d_gradient", images([7, 9]), x, **pool)
    assert result.tolist() == images([7, 0, 0], [0, 0, 9]).tolist()
    result = run("avg_pool2d_gradient", images([4, 8]), shape=(1, 1, 2, 3), **pool)
    assert result.tolist() == images([1, 3, 2], [1, 3, 2]).tolist()
    result = run("gather_gradient", grad, np.array([1, -1, 1]), shape=(4,))
    assert result.tolist() == [0.0, 4.0, 0.0, 2.0]


def test_the_first_of_equals_gets_the_gradient() -> None:
    """Of parts, of cells of a region, and of weighed pixels around the middle of four."""
    x = np.array([[[5.0, 5.0, NAN, NAN]]])
    result = run("adaptive_max_pool_gradient", np.array([[[7.0, 9.0]]]), x, size=(2,))
    assert result.tolist() == [[[7.0, 0.0, 9.0, 0.0]]]
    region = np.array([[0.0, 0.0, 0.0, 1.0, 1.0]])
    result = run("max_roi_pool_gradient", images([3]), images([5, 5], [5, 1]), region)
    assert result.tolist() == images([3, 0], [0, 0]).tolist()
    values = {"mode": 1, "sampling_ratio": 1, "coordinates": 1}
    operands = (images([8]), images([4, 4], [4, 4]), region[:, 1:], np.array([0]))
    result = run("roi_align_gradient", *operands, **values)
    assert result.tolist() == images([2, 0], [0, 0]).tolist()
