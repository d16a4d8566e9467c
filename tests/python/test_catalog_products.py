"""Products, windows and normalisations against scipy, numpy and values worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from catalog_calls import run
from scipy import signal, special

import wia
from wia.catalog import BY_NAME, OperandError, ScalarError, evaluate

INF, NAN = np.inf, np.nan


def normal(*shape: int, seed: int = 0) -> Any:
    """Random float64 elements."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def ints(values: Any, dtype: Any = np.int8) -> Any:
    """An array of integers."""
    return np.array(values, dtype)


# -- convolution -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(7,), (5, 6), (4, 5, 3)])
def test_conv_is_that_of_scipy(shape: tuple[int, ...]) -> None:
    """Correlation of one channel over one to three dimensions; depthwise for several."""
    x, weight = normal(2, 3, *shape), normal(3, 1, *([2] * len(shape)))
    result = run("conv", x, weight, groups=3)
    for n, c in np.ndindex(2, 3):
        expected = signal.correlate(x[n, c], weight[c, 0], mode="valid")
        np.testing.assert_allclose(result[n, c], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(7,), (5, 6), (4, 5, 3)])
def test_conv_transpose_is_a_full_convolution(shape: tuple[int, ...]) -> None:
    """One channel with stride 1 is scipy.signal.convolve with all overlaps."""
    x, weight = normal(1, 1, *shape), normal(1, 1, *([3] * len(shape)))
    expected = signal.convolve(x[0, 0], weight[0, 0], mode="full")
    result = run("conv_transpose", x, weight)[0, 0]
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("groups", [1, 2])
def test_conv_transpose_is_the_transpose(groups: int) -> None:
    """<conv(x), y> equals <x, conv_transpose(y)> with the same weight, stride and padding."""
    values = {"stride": (2, 3), "padding": (1, 0, 2, 1), "dilation": (2, 1), "groups": groups}
    x, weight = normal(2, 4, 8, 9), normal(6, 4 // groups, 2, 3)
    forward = run("conv", x, weight, **values)
    y = normal(*forward.shape, seed=1)
    more = tuple(
        (size + pad - span) % step
        for size, pad, span, step in zip((8, 9), (3, 1), (3, 3), (2, 3), strict=True)
    )
    back = run("conv_transpose", y, weight, output_padding=more, **values)
    assert back.shape == x.shape
    np.testing.assert_allclose((forward * y).sum(), (x * back).sum(), rtol=1e-10)


def test_two_dimensional_forms_agree() -> None:
    """The entries for two dimensions give what those for any number give, to the bit."""
    x, weight, bias = normal(2, 4, 6, 7), normal(6, 2, 3, 2), normal(6)
    values: dict[str, Any] = {"stride": (2, 1), "padding": (1, 0, 2, 1), "dilation": (1, 2)}
    assert np.array_equal(
        run("conv2d", x, weight, bias, groups=2, **values),
        run("conv", x, weight, bias, groups=2, **values),
    )
    values.update(kernel=(3, 2), ceil_mode=1)
    assert np.array_equal(run("max_pool2d", x, **values), run("max_pool", x, **values)[0])
    assert np.array_equal(run("avg_pool2d", x, **values), run("avg_pool", x, **values))
    for name in ("global_avg_pool", "global_max_pool"):
        assert np.array_equal(run(f"{name}2d", x), run(name, x))
    rows = run("layer_norm_with_stats", x, normal(7), normal(7))[0]
    assert np.array_equal(run("layer_norm", x, normal(7), normal(7)), rows)


def test_conv_integer_pads_with_the_zero_point() -> None:
    """1-D by hand: (x - 1) and (w - 2) per output, padding counts as 0."""
    x = ints([[[1, 2, 3]]], np.uint8)
    weight = ints([[[1, 3]], [[2, 5]]])
    zeros = ints([2, 4])
    result = run("conv_integer", x, weight, ints(1, np.uint8), zeros, padding=(1,))
    # x - 1: 0 1 2; w - zero: (-1, 1) and (-2, 1)
    assert result.tolist() == [[[0, 1, 1, -2], [0, 1, 0, -4]]]
    assert result.dtype == np.int32


def test_quantized_results_round_to_even_and_saturate() -> None:
    """Sums of 1, 3, 5 and 1000 halves; the zero point is added after rounding."""
    a = ints([[1], [3], [5], [100]])
    scale, zero = np.array([0.5, 1.0], np.float32), ints(0)
    arguments = (a, scale[0], zero, ints([[1]]), scale[1], zero, scale[1])
    assert run("qlinear_matmul", *arguments, ints(10)).ravel().tolist() == [10, 12, 12, 60]
    assert run("qlinear_matmul", *arguments, ints(100)).ravel().tolist() == [100, 102, 102, 127]
    unsigned = run("qlinear_matmul", *arguments, ints(3, np.uint8))
    assert (unsigned.dtype, unsigned.ravel().tolist()) == (np.uint8, [3, 5, 5, 53])
    # NaN counts as 0, infinity saturates.
    odd = [run("qlinear_matmul", a, np.float32(s), *arguments[2:], ints(1)) for s in (NAN, INF)]
    assert odd[0].ravel().tolist() == [1, 1, 1, 1]
    assert odd[1].ravel().tolist() == [127, 127, 127, 127]
    conv = run(
        "qlinear_conv", a.reshape(1, 1, 4), *arguments[1:3], ints([[[1]]]), *arguments[4:], ints(10)
    )
    assert conv.ravel().tolist() == [10, 12, 12, 60]


def test_zero_points_of_rows_and_columns() -> None:
    """One for each row of a and each column of b, by numpy in int64."""
    random = np.random.default_rng(3)
    a, b = (random.integers(-128, 128, shape, np.int8) for shape in ((2, 3, 5), (5, 4)))
    rows, columns = (random.integers(-128, 128, size, np.int8) for size in (3, 4))
    wide = [item.astype(np.int64) for item in (a, b, rows, columns)]
    expected = (wide[0] - wide[2][:, None]) @ (wide[1] - wide[3])
    assert np.array_equal(run("matmul_integer", a, b, rows, columns), expected)
    row = run("matmul_integer", a[0, 0], b, None, columns)
    assert np.array_equal(row, wide[0][0, 0] @ (wide[1] - wide[3]))
    assert run("matmul_integer", a[0, 0], b[:, 0]).shape == ()


def test_products_of_columns_are_convolutions() -> None:
    """weight times im2col is conv; col2im is the transpose of im2col."""
    x, weight = normal(2, 3, 6, 5), normal(4, 3, 2, 3)
    values: dict[str, Any] = {"stride": (2, 1), "padding": (1, 0, 1, 2), "dilation": (2, 1)}
    columns = run("im2col", x, kernel=(2, 3), **values)
    expected = run("conv", x, weight, **values)
    result = (weight.reshape(4, -1) @ columns).reshape(expected.shape)
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
    other = normal(*columns.shape, seed=1)
    image = run("col2im", other, image=(6, 5), kernel=(2, 3), **values)
    np.testing.assert_allclose((columns * other).sum(), (x * image).sum(), rtol=1e-10)
    assert run("im2col", ints([[[1, 2, 3]]]), kernel=(2,)).tolist() == [[[1, 2], [2, 3]]]
    assert run("col2im", normal(1, 2, 2), image=(3,), kernel=(2,)).shape == (1, 1, 3)


# -- pooling ---------------------------------------------------------------------------------------


def test_indices_of_largest_elements() -> None:
    """The first of equals, the first NaN, places in the whole input, -1 for padding alone."""
    x = np.array([[[2.0, 2.0, NAN, 1.0, NAN], [-INF, -INF, 0.0, 5.0, 5.0]]])
    values, indices = run("max_pool", x, kernel=(2,), stride=(1,))
    assert indices.tolist() == [[[0, 2, 2, 4], [5, 7, 8, 8]]]
    assert np.isnan(values[0, 0]).tolist() == [False, True, True, True]
    gap = run("max_pool", x[:, :, :1], kernel=(2,), dilation=(2,), padding=(1,), stride=(1,))
    assert gap[0].tolist() == [[[-INF], [-INF]]]
    assert gap[1].tolist() == [[[-1], [-1]]]


def test_max_unpool_puts_back_what_max_pool_took() -> None:
    """By indices; of equal ones the last element stays; one out of range is refused."""
    x = normal(2, 2, 4, 6)
    values, indices = run("max_pool", x, kernel=(2, 3))
    back = run("max_unpool", values, indices, kernel=(2, 3))
    assert back.shape == x.shape
    assert np.array_equal(back[back != 0], x.ravel()[np.sort(indices.ravel())])
    same = run("max_unpool", np.array([[[1.0, 2.0]]]), np.array([[[3, 3]]]), kernel=(2,))
    assert same.tolist() == [[[0, 0, 0, 2]]]
    for wrong in (-1, 4):
        with pytest.raises(OperandError, match="expected 0 to 3"):
            run("max_unpool", np.ones((1, 1, 2)), np.full((1, 1, 2), wrong), kernel=(2,))


def test_adaptive_parts_overlap() -> None:
    """5 elements in 3 parts: 0 and 1, 1 to 3, 3 and 4."""
    x = np.array([[[1.0, 2.0, 4.0, 8.0, 16.0]]])
    assert run("adaptive_avg_pool", x, size=(3,)).tolist() == [[[1.5, 14 / 3, 12.0]]]
    assert run("adaptive_max_pool", x, size=(3,)).tolist() == [[[2.0, 8.0, 16.0]]]
    assert run("adaptive_avg_pool", x, size=(7,)).tolist() == [[[1, 1.5, 3, 4, 6, 12, 16]]]
    image = normal(1, 2, 4, 6)
    expected = image.reshape(1, 2, 2, 2, 3, 2).mean(axis=(3, 5))
    np.testing.assert_allclose(run("adaptive_avg_pool", image, size=(2, 3)), expected)


def test_norms_of_images() -> None:
    """numpy.linalg.norm of each image, and of each window."""
    x = normal(2, 3, 4, 5)
    for p in (1, 2, 3):
        expected = np.linalg.norm(x.reshape(2, 3, -1), ord=p, axis=-1)
        np.testing.assert_allclose(run("global_lp_pool", x, p=p)[..., 0, 0], expected)
    assert run("lp_pool", np.array([[[3.0, 4.0, 0.0]]]), kernel=(2,), stride=(1,)).tolist() == [
        [[5.0, 4.0]]
    ]


# -- normalisation and softmax ---------------------------------------------------------------------


def test_the_kin_of_softmax() -> None:
    """scipy's log_softmax and softmax; NaN and equal elements of hardmax."""
    x = normal(3, 9)
    np.testing.assert_allclose(run("log_softmax", x), special.log_softmax(x, axis=-1))
    np.testing.assert_allclose(run("softmin", x, axis=0), special.softmax(-x, axis=0))
    odd = np.array([[1.0, 3.0, 3.0], [0.0, NAN, INF]])
    assert run("hardmax", odd).tolist() == [[0, 1, 0], [0, 1, 0]]


def test_masked_softmax() -> None:
    """As with -infinity; NaN where the mask is false isn't seen; a row of nothing is 0."""
    x, mask = normal(4, 9), np.random.default_rng(0).random((4, 9)) < 0.6
    mask[2] = False
    mask[3, 0] = True
    expected = special.softmax(np.where(mask, x, -INF)[[0, 1, 3]], axis=-1)
    result = run("masked_softmax", np.where(mask, x, NAN), mask)
    np.testing.assert_allclose(result[[0, 1, 3]], expected)
    assert not result[2].any()
    assert not run("masked_softmax", np.full((2, 3), INF), np.zeros((), bool)).any()


def test_batch_norm_training_moves_running_values() -> None:
    """momentum is what stays; variances are those of the population."""
    x = np.array([[1.0, 2.0], [3.0, 6.0]])
    mean, variance = np.array([10.0, 0.0]), np.array([1.0, 4.0])
    output, moved, spread = run("batch_norm_training", x, mean, variance, momentum=0.75, epsilon=0)
    assert output.tolist() == [[-1, -1], [1, 1]]
    assert moved.tolist() == [8.0, 1.0]
    assert spread.tolist() == [1.0, 4.0]


def test_statistics_of_rows() -> None:
    """float32 for narrower dtypes, float64 for float64."""
    x = np.array([[1, 3], [2, 2]], np.float16)
    output, mean, inverse = run("layer_norm_with_stats", x, epsilon=1.0)
    assert (output.dtype, mean.dtype, inverse.dtype) == (np.float16, np.float32, np.float32)
    assert mean.tolist() == [[2.0], [2.0]]
    np.testing.assert_allclose(inverse, [[2**-0.5], [1.0]])
    assert run("layer_norm_with_stats", x.astype(np.float64))[1].dtype == np.float64


# -- masks and dropout -----------------------------------------------------------------------------


def test_scale_and_masks() -> None:
    """numpy.add with where, numpy.putmask, whole factors of integers."""
    x, other, mask = normal(3, 4), normal(4), np.eye(3, 4) > 0
    assert np.array_equal(run("masked_add", x, other, mask), np.add(x, other * mask))
    filled = x.copy()
    np.putmask(filled, mask, -INF)
    assert np.array_equal(run("masked_fill", x, mask, value=-INF), filled)
    assert run("scale", ints([100, -3]), factor=2.0).tolist() == [-56, -6]
    assert run("scale", np.array([1.5, NAN], np.float32), factor=-2.0)[0] == -3.0
    for name, inputs, values in (
        ("scale", (ints([1]),), {"factor": 0.5}),
        ("masked_fill", (ints([1]), np.array([True])), {"value": 200.0}),
        ("masked_fill", (ints([1]), np.array([True])), {"value": 0.5}),
    ):
        with pytest.raises(ScalarError, match="whole number"):
            run(name, *inputs, **values)


def test_philox_gives_its_known_answers() -> None:
    """The three of Random123 for philox4x32 with 10 rounds."""
    from wia.catalog._random import philox

    ones = 0xFFFFFFFF
    answers = (
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ones,) * 4, (ones, ones), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    )
    for counter, key, expected in answers:
        result = philox(np, np.array([counter], np.uint32), key)
        assert result.tolist() == [list(expected)]


def test_dropout_takes_words_by_position() -> None:
    """Element i has word i % 4 of block i / 4; an offset goes on where a call ended."""
    x = np.ones((5, 7))
    output, mask = run("dropout", x, ratio=0.25, seed=7.0)
    assert np.array_equal(output, np.where(mask, 1 / 0.75, 0.0))
    later = run("dropout", x.ravel()[12:], ratio=0.25, seed=7.0, offset=3.0)
    assert np.array_equal(later[1], mask.ravel()[12:])
    assert not np.array_equal(run("dropout", x, ratio=0.25, seed=8.0)[1], mask)
    # The first words of seed 0 are the known answer of zeros: 0x6627e8d5 / 2**32 is 0.399.
    first = run("dropout", np.ones(4), ratio=0.5, seed=0.0)[1]
    assert first.tolist() == [False, True, True, True]
    share = run("dropout", np.ones(100_000), ratio=0.3)[1].mean()
    assert abs(share - 0.7) < 0.01
    zeros = run("dropout", np.array([INF, NAN, -1.0]), ratio=0.99, seed=2.0)
    assert np.array_equal(zeros[0][~zeros[1]], np.zeros((~zeros[1]).sum()))
    for values in ({"ratio": 1.0}, {"ratio": -0.1}, {"ratio": NAN}, {"seed": 0.5}, {"offset": -1}):
        with pytest.raises(ScalarError):
            run("dropout", x, **values)


def test_gemm_without_beta_does_not_read_c() -> None:
    """NaN in c, and a left-out c."""
    a, b = normal(3, 2), normal(4, 2)
    result = run("gemm", a, b, np.full(4, NAN), transpose_b=1, alpha=2.0, beta=0.0)
    np.testing.assert_allclose(result, 2.0 * (a @ b.T))
    np.testing.assert_allclose(run("gemm", a, b, None, transpose_b=1), a @ b.T)
    whole = evaluate(
        np,
        BY_NAME["gemm"],
        [ints([[2**31 - 1]], np.int32)] * 2 + [None],
        {**BY_NAME["gemm"].defaults()},
    )
    assert whole[0].tolist() == [[1]]


def test_equations_in_python() -> None:
    """As a string, from a method and by name; what is no ASCII string is refused."""
    a, b = normal(2, 3), normal(3, 4)
    with wia.Context("reference") as ctx:
        given = [ctx.tensor(a), ctx.tensor(b)]
        result = ctx.einsum(given, equation="ij,jk->ki").numpy()
        np.testing.assert_allclose(result, (a @ b).T, rtol=1e-12)
        (again,) = ctx.execute("einsum", given, equation="ij,jk->ki")
        assert np.array_equal(again.numpy(), result)
        with pytest.raises(TypeError, match="expected a string"):
            ctx.einsum(given, equation=[1, 2])  # type: ignore[arg-type]
        with pytest.raises(wia.InvalidArgumentError, match="expected ASCII"):
            ctx.einsum(given, equation="äj,jk")
        with pytest.raises(wia.InvalidArgumentError, match="0 labels"):
            ctx.einsum(given)
