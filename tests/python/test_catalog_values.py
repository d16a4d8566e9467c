"""Rules of the catalog that no outside vector covers, against values worked by hand."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from catalog_calls import run

from wia.catalog import ScalarError

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def cast(values: Any, source: Any, target: Any) -> list[Any]:
    """Cast of a list of values."""
    result = run("cast", np.array(values, source), dtype=np.dtype(target))
    assert result.dtype == target
    return list(result.tolist())


def test_cast_of_a_float_to_an_integer_saturates_and_truncates() -> None:
    """Ends of each range, NaN to 0, halves toward zero."""
    values = [-1.9, 1.9, 127.9, 128.0, -128.9, -129.0, np.inf, -np.inf, np.nan]
    expected = [-1, 1, 127, 127, -128, -128, 127, -128, 0]
    for source in (np.float64, np.float32):
        assert cast(values, source, np.int8) == expected
    assert cast([-0.5, -1.0, 255.9, 256.0, np.nan], np.float32, np.uint8) == [0, 0, 255, 255, 0]
    top = 2.0**63
    assert cast([top, -top, top - 1024, np.inf], np.float64, np.int64) == [
        2**63 - 1,
        -(2**63),
        2**63 - 1024,
        2**63 - 1,
    ]
    assert cast([2.0**64, 2.0**64 - 2048, -1.0], np.float64, np.uint64) == [
        2**64 - 1,
        2**64 - 2048,
        0,
    ]
    assert cast([65504.0, np.inf], np.float16, np.int16) == [32767, 32767]
    assert cast([3.0, -3e38], BFLOAT16, np.int32) == [3, -(2**31)]


def test_cast_of_an_integer_to_an_integer_keeps_the_low_bits() -> None:
    """Two's complement."""
    assert cast([300, -1, 128, -129], np.int32, np.int8) == [44, -1, -128, 127]
    assert cast([-1, 256], np.int64, np.uint8) == [255, 0]
    assert cast([2**64 - 1], np.uint64, np.int32) == [-1]


def test_cast_to_and_from_bool() -> None:
    """What isn't zero is true, NaN and the smallest number too."""
    assert cast([0.0, -0.0, np.nan, 1e-45, -2.0], np.float32, np.bool_) == [
        False,
        False,
        True,
        True,
        True,
    ]
    assert cast([0, 256, -1], np.int32, np.bool_) == [False, True, True]
    assert cast([True, False], np.bool_, BFLOAT16) == [1.0, 0.0]
    assert cast([True, False], np.bool_, np.uint64) == [1, 0]


def test_cast_to_bfloat16_rounds_once() -> None:
    """Values beside the middle of two neighbours, nearer to it than float32 or float64 can tell.

    1 + 2**-8 is the middle between 1 and 1 + 2**-7, and rounds to the even one, 1.
    """
    middle = 1 + 2.0**-8
    up, even = 1 + 2.0**-7, 1.0
    values = [middle, middle + 2.0**-40, middle - 2.0**-40, -middle - 2.0**-40]
    assert cast(values, np.float64, BFLOAT16) == [even, up, even, -up]
    above_odd = 1 + 3 * 2.0**-8
    assert cast([above_odd, above_odd - 2.0**-40], np.float64, BFLOAT16) == [1 + 2.0**-6, up]
    large = 2**60 + 2**52
    assert cast([large, large + 1, -large - 1, large - 1], np.int64, BFLOAT16) == [
        2.0**60,
        2.0**60 + 2.0**53,
        -(2.0**60 + 2.0**53),
        2.0**60,
    ]
    assert cast([2**63 + 2**55 + 1], np.uint64, BFLOAT16) == [2.0**63 + 2.0**56]
    assert cast([-(2**63)], np.int64, BFLOAT16) == [-(2.0**63)]
    assert cast([1e300, -1e300, 3.4e38], np.float64, BFLOAT16) == [np.inf, -np.inf, np.inf]
    assert cast([2.0**-134, 2.0**-134 * 1.0001], np.float64, BFLOAT16) == [0.0, 2.0**-133]


def test_sums_of_bfloat16_are_rounded_once() -> None:
    """A little below the middle: rounding to float32 on the way would give the even one above."""
    a = np.array([[1 + 2.0**-7, 2.0**-8, -(2.0**-40)]], BFLOAT16)
    result = run("matmul", a, np.ones((3, 1), BFLOAT16))
    assert result.dtype == BFLOAT16
    assert result.tolist() == [[1 + 2.0**-7]]
    half = np.array([2048.0, 1.0, 1.0], np.float16)
    assert run("reduce_sum", half).tolist() == 2050.0


def test_integer_division() -> None:
    """Toward zero; by zero gives 0; the least integer by -1 gives itself."""
    a = np.array([7, -7, 7, -7, 5, 0, -128], np.int8)
    b = np.array([2, 2, -2, -2, 0, 0, -1], np.int8)
    assert run("div", a, b).tolist() == [3, -3, -3, 3, 0, 0, -128]
    unsigned = np.array([7, 200, 255], np.uint8)
    assert run("div", unsigned, np.array([2, 0, 255], np.uint8)).tolist() == [3, 0, 1]
    least = np.iinfo(np.int64).min
    assert run("div", np.array([least]), np.array([-1])).tolist() == [least]


def test_float_division_follows_ieee() -> None:
    """Infinities and NaN, no error."""
    result = run("div", np.array([1, -1, 0], np.float32), np.zeros(3, np.float32))
    assert result.tolist()[:2] == [np.inf, -np.inf]
    assert np.isnan(result[2])


def test_integers_wrap() -> None:
    """Sums and products modulo the width."""
    a = np.array([100, -128], np.int8)
    assert run("add", a, a).tolist() == [-56, 0]
    assert run("sub", a, np.array([-100, 1], np.int8)).tolist() == [-56, 127]
    assert run("mul", a, a).tolist() == [16, 0]
    assert run("reduce_sum", np.full(3, 100, np.int8)).tolist() == 44
    assert run("add", np.array([2**64 - 1], np.uint64), np.array([2], np.uint64)).tolist() == [1]


def test_products_of_int8_are_int32() -> None:
    """128 * 128 * 4 doesn't fit in 16 bits; and 2**17 such products wrap at 2**31."""
    a = np.full((1, 4), -128, np.int8)
    result = run("matmul", a, a.T)
    assert (result.dtype, result.tolist()) == (np.int32, [[65536]])
    long = np.full(2**17, -128, np.int8)
    assert run("matmul", long, long).tolist() == -(2**31)
    pixels = np.full((1, 1, 2, 2), 255, np.uint8)
    bias = np.array([-1], np.int32)
    convolved = run("conv2d", pixels, pixels, bias)
    assert (convolved.dtype, convolved.tolist()) == (np.int32, [[[[4 * 255 * 255 - 1]]]])


def test_matmul_reads_c_only_with_beta() -> None:
    """NaN in c doesn't come through beta 0, and does through any other."""
    a, c = np.ones((1, 1), np.float32), np.array([[np.nan]], np.float32)
    assert run("matmul", a, a, before=c).tolist() == [[1.0]]
    assert np.isnan(run("matmul", a, a, before=c, beta=0.5)).all()
    assert run("matmul", a, a, before=a, alpha=2.0, beta=3.0).tolist() == [[5.0]]
    assert run("addmm", c, a, a, beta=0.0).tolist() == [[1.0]]


def test_scalars_of_integers_are_whole() -> None:
    """A half is refused and not rounded."""
    a = np.ones((1, 1), np.int32)
    assert run("matmul", a, a, alpha=-3.0).tolist() == [[-3]]
    for alpha in (0.5, np.nan, np.inf, 2.0**63):
        with pytest.raises(ScalarError, match="whole number"):
            run("matmul", a, a, alpha=alpha)


def test_matmul_sums_in_the_order_of_k() -> None:
    """1e16 + 1 - 1e16 is 0 from left to right in float64, in both ways that it is summed."""
    row = np.array([1e16, 1.0, -1e16])
    assert run("matmul", row, np.ones(3)).tolist() == 0.0
    assert not run("matmul", np.tile(row, (20, 1)), np.ones((3, 20))).any()


def test_nan_wins() -> None:
    """In maxima, pooling and argmax; relu lets it through."""
    values = np.array([1, np.nan, 3, np.nan], np.float32)
    assert np.isnan(run("reduce_max", values))
    assert run("argmax", values, axis=0).tolist() == 1
    assert np.isnan(run("max_pool2d", values.reshape(1, 1, 2, 2), kernel=(2, 2))).all()
    relu = run("relu", np.array([np.nan, -0.0, -1, 2], np.float32))
    assert np.isnan(relu[0])
    assert not np.signbit(relu[1])
    assert relu[1:].tolist() == [0, 0, 2]


def test_argmax_gives_the_first() -> None:
    """Of equals, and of infinities."""
    assert run("argmax", np.array([[2, 5, 5], [9, 9, 1]], np.int16)).tolist() == [1, 0]
    assert run("argmax", np.array([-np.inf, -np.inf], np.float32)).tolist() == 0


def test_max_pool_of_padding_alone() -> None:
    """With dilation a window may miss every element: it gives the least value."""
    pixel = np.zeros((1, 1, 1, 1), np.float32)
    values = {"kernel": (2, 2), "dilation": (2, 2), "padding": (1, 1, 1, 1)}
    assert run("max_pool2d", pixel, **values).tolist() == [[[[-np.inf]]]]
    assert run("max_pool2d", pixel.astype(np.int8), **values).tolist() == [[[[-128]]]]


def test_softmax_of_large_values() -> None:
    """Nothing overflows: the values are exact powers of 1/2 at 10 * log 2 and one half each."""
    assert run("softmax", np.array([1e4, 1e4], np.float32)).tolist() == [0.5, 0.5]
    steps = run("softmax", np.array([700.0, 700.0 - np.log(3.0)]))
    assert np.allclose(steps, [0.75, 0.25], rtol=1e-12)


def test_layer_norm_by_hand() -> None:
    """[1, 3] has mean 2 and variance 1: with epsilon 3 the deviation is 2."""
    x = np.array([[1, 3]], np.float32)
    assert run("layer_norm", x, epsilon=3.0).tolist() == [[-0.5, 0.5]]
    weight, bias = np.array([4, 8], np.float32), np.array([1, 2], np.float32)
    assert run("layer_norm", x, weight, bias, epsilon=3.0).tolist() == [[-1, 6]]
    assert run("layer_norm", x, None, bias, epsilon=3.0).tolist() == [[0.5, 2.5]]


def test_batch_norm_by_hand() -> None:
    """Mean 2 and variance 1 with epsilon 3."""
    x = np.array([[[1, 3]]], np.float32)
    mean, variance = np.array([2], np.float32), np.array([1], np.float32)
    assert run("batch_norm", x, mean, variance, epsilon=3.0).tolist() == [[[-0.5, 0.5]]]
    assert run("batch_norm", x, mean, variance, None, mean, epsilon=3.0).tolist() == [[[1.5, 2.5]]]


def test_empty_results_have_their_shape() -> None:
    """Reductions and products over dimensions of size 0."""
    assert run("matmul", np.ones((2, 0)), np.ones((0, 3))).tolist() == [[0] * 3] * 2
    assert run("reduce_sum", np.ones((2, 0)), axes=(1,)).tolist() == [0, 0]
    assert run("reduce_max", np.ones((0, 3)), axes=(1,)).shape == (0,)
    assert run("argmax", np.ones((0, 3)), keepdims=1).shape == (0, 1)
    assert run("softmax", np.ones((0, 3))).shape == (0, 3)
    assert run("layer_norm", np.ones((2, 0))).shape == (2, 0)
