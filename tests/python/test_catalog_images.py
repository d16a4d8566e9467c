"""Resizing, sampling, regions, signals and matrices, against scipy, numpy and values by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.signal
from catalog_calls import run

from wia.catalog import OperandError

NAN, INF = math.nan, math.inf
RANDOM = np.random.default_rng(6)


def test_resize_by_hand() -> None:
    """Half as long, twice as long, a weight of 0, a region of interest, and any dtype."""
    x = np.array([1.0, 3.0, 5.0, 7.0])
    assert run("resize", x, scales=(0.5,), mode=1).tolist() == [2.0, 6.0]
    assert run("resize", x, sizes=(7,), mode=1, coordinates=3).tolist() == [1, 2, 3, 4, 5, 6, 7]
    # A place on an element has one neighbour, however large the other one is.
    odd = np.array([1.0, INF, 5.0])
    assert run("resize", odd, sizes=(2,), mode=1, coordinates=3).tolist() == [1.0, 5.0]
    region = {"roi": (0.5, 1.5), "coordinates": 5, "extrapolation": -1.0}
    assert run("resize", x[:3], sizes=(3,), mode=1, **region).tolist() == [3.0, 5.0, -1.0]
    flags = np.array([True, False, True])
    nearest = [
        run("resize", flags, sizes=(6,), nearest_mode=mode, coordinates=4) for mode in (2, 3)
    ]
    assert [item.tolist() for item in nearest] == [
        [True, True, False, False, True, True],
        [True, False, False, True, True, True],
    ]
    assert run("resize", np.arange(5), sizes=(0,)).shape == (0,)


def test_cubic_resize_by_hand() -> None:
    """Half a step between 0, 0, 1, 0: Keys' weights are -0.09375 and 0.59375 for a = -0.75."""
    x = np.array([0.0, 0.0, 1.0, 0.0])
    result = run("resize", x, sizes=(7,), mode=2, coordinates=3)
    np.testing.assert_allclose(result, [0, -0.09375, 0, 0.59375, 1, 0.59375 - 0.09375 * 0, 0])


@pytest.mark.parametrize("align", [0, 1])
def test_grid_sample_by_hand(align: int) -> None:
    """Middles of pixels give them; NaN is -1; far away is nothing, the edge, or a mirror image."""
    x = np.array([1.0, 2.0, 4.0]).reshape(1, 1, 1, 3)

    def sample(*places: float, **values: Any) -> list[float]:
        grid = np.array([[[[place, 0.0] for place in places]]])
        result = run("grid_sample", x, grid, align_corners=align, **values)
        return [float(item) for item in result.reshape(-1)]

    middles = (-1.0, 0.0, 1.0) if align else (-2 / 3, 0.0, 2 / 3)
    assert sample(*middles, mode=1) == [1, 2, 4]
    np.testing.assert_allclose(sample(*middles), [1, 2, 4])
    assert sample(NAN, INF, padding_mode=1) == [1, 4]
    assert sample(-9.0, 9.0) == [0, 0]
    step = middles[2] - middles[1]
    np.testing.assert_allclose(sample(middles[2] + step, padding_mode=2), [2 if align else 4])
    if not align:
        assert sample(-1.0) == [0.5]
    one = run(
        "grid_sample", x[..., :1], np.zeros((1, 1, 1, 2)), align_corners=align, padding_mode=2
    )
    assert one.tolist() == [[[[1.0]]]]


def test_affine_grid_of_a_single_pixel() -> None:
    """Its middle is 0, with or without align_corners."""
    theta = np.array([[[1.0, 0, 0], [0, 1.0, 0]]])
    for align in (0, 1):
        grid = run("affine_grid", theta, size=(1, 1, 1, 2), align_corners=align)
        assert grid.tolist() == [[[[-1.0 if align else -0.5, 0], [1.0 if align else 0.5, 0]]]]


def test_roi_align_outside() -> None:
    """Up to a pixel outside is the edge, farther is 0; a NaN in a region shows in it alone."""
    x = np.full((1, 1, 4, 4), 2.0)
    rois = np.array([[-0.4, 0.5, 0.6, 1.5], [-8.0, 0, -7.0, 1], [0, 0, NAN, 1]])
    result = run("roi_align", x, rois, np.zeros(3, np.int64), sampling_ratio=1)
    assert result[:2].reshape(-1).tolist() == [2.0, 0.0]
    assert np.isnan(result[2]).all()
    with pytest.raises(OperandError, match=r"batch_indices\[0\] is 1; expected 0 to 0"):
        run("roi_align", x, rois[:1], np.ones(1, np.int64))


def test_max_roi_pool_by_hand() -> None:
    """A region of 3 by 3 in cells of 2 by 2: the pixel in the middle belongs to all of them."""
    x = np.arange(25.0).reshape(1, 1, 5, 5)
    x[0, 0, 2, 2] = 99
    rois = np.array([[0.0, 1, 1, 3, 3], [0, 0, 0, 0, 0], [0, 8, 8, 9, 9]])
    result = run("max_roi_pool", x, rois, height=2, width=2)
    assert result[0].tolist() == [[[99, 99], [99, 99]]]
    assert result[1].tolist() == [[[0, 0], [0, 0]]]
    assert not result[2].any()
    halves = run("max_roi_pool", x, np.array([[0.0, 5, 0, 6, 0]]), width=2, spatial_scale=0.5)
    assert halves.tolist() == [[[[3, 3]]]]
    x[0, 0, 0, 0] = NAN
    assert np.isnan(run("max_roi_pool", x, rois[1:2])).all()
    with pytest.raises(OperandError, match="expected 0 to 0: input has 1 images"):
        run("max_roi_pool", x, np.array([[1.0, 0, 0, 1, 1]]))


def test_suppression_by_hand() -> None:
    """An overlap of a third stays at that threshold; NaN is no score; empty boxes don't overlap."""
    boxes = np.array([[[0, 0, 2, 2], [0, 1, 2, 3], [1, 1, 1, 1], [2, 2, 0, 0]]], np.float64)
    scores = np.array([[[0.9, 0.8, NAN, 0.7]]])
    values = {"max_output": 4, "iou_threshold": 1 / 3 - 1e-12}
    chosen, count = run("non_max_suppression", boxes, scores, **values)
    assert (chosen.tolist(), int(count)) == ([[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]], 1)
    values["iou_threshold"] = 1 / 3
    chosen, count = run("non_max_suppression", boxes, scores, **values)
    assert chosen[: int(count)].tolist() == [[0, 0, 0], [0, 0, 1]]


def test_dft_is_scipys() -> None:
    """Real and complex, longer and shorter, both ways, of even and odd length."""
    z = RANDOM.standard_normal((3, 7, 4, 2))
    complex_ = z[..., 0] + 1j * z[..., 1]
    for length in (0, 5, 8):
        n = length or 7
        there = run("dft", z, axis=1, length=length)
        expected = scipy.fft.fft(complex_, n, axis=1)
        np.testing.assert_allclose(there[..., 0] + 1j * there[..., 1], expected, atol=1e-12)
        back = run("dft", z, axis=1, length=length, inverse=1)
        expected = scipy.fft.ifft(complex_, n, axis=1)
        np.testing.assert_allclose(back[..., 0] + 1j * back[..., 1], expected, atol=1e-12)
        half = run("dft", z[..., :1], axis=-3, length=length, onesided=1)
        expected = scipy.fft.rfft(z[..., 0], n, axis=1)
        np.testing.assert_allclose(half[..., 0] + 1j * half[..., 1], expected, atol=1e-12)
        real = run("dft", z, axis=1, length=length, inverse=1, onesided=1)
        expected = scipy.fft.irfft(complex_, length or 12, axis=1)
        np.testing.assert_allclose(real[..., 0], expected, atol=1e-12)


def test_stft_is_scipys() -> None:
    """The frames of scipy.signal.ShortTimeFFT that lie wholly inside the signal."""
    signal, window = RANDOM.standard_normal(40), RANDOM.uniform(0.1, 1, 8)
    other = scipy.signal.ShortTimeFFT(window, hop=4, fs=1, phase_shift=None)
    frames = [other.stft(signal, p0=p, p1=p + 1)[:, 0] for p in range(1, 10)]
    result = run("stft", signal.reshape(1, -1, 1), window, frame_step=4)
    # A slice of scipy begins half a window before the place that it is named by.
    np.testing.assert_allclose(result[0, ..., 0] + 1j * result[0, ..., 1], frames, atol=1e-12)


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman"])
def test_windows_are_scipys(name: str) -> None:
    """scipy's, but that the coefficients of its Hamming window are 0.54 and 0.46."""
    for size in (1, 2, 9):
        for periodic in (0, 1):
            values = {"shape": (size,), "dtype": np.dtype(np.float64), "periodic": periodic}
            expected = scipy.signal.get_window(name, size, fftbins=bool(periodic))
            if name == "hamming":
                alpha = 25 / 46
                expected = scipy.signal.get_window(("general_hamming", alpha), size, bool(periodic))
            if size > 1:
                result = run(f"{name}_window", **values)
                np.testing.assert_allclose(result, expected, atol=1e-15)
    one = run(f"{name}_window", shape=(1,), dtype=np.dtype(np.float64), periodic=0)
    assert one.tolist() == [1.0]


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_matrices_are_scipys(size: int) -> None:
    """Determinant, inverse, Cholesky factor and triangular systems."""
    x = RANDOM.standard_normal((2, size, size))
    right = RANDOM.standard_normal((2, size, 3))
    np.testing.assert_allclose(run("determinant", x), np.linalg.det(x), rtol=1e-10)
    np.testing.assert_allclose(run("inverse", x), np.linalg.inv(x), rtol=1e-8, atol=1e-10)
    definite = x @ x.swapaxes(-1, -2) + np.eye(size)
    lower = np.linalg.cholesky(definite)
    np.testing.assert_allclose(run("cholesky", definite), lower, rtol=1e-10, atol=1e-12)
    upper = run("cholesky", np.triu(definite), upper=1)
    np.testing.assert_allclose(upper, lower.swapaxes(-1, -2), rtol=1e-10, atol=1e-12)
    a = x + 3 * np.eye(size)
    for up in (0, 1):
        for unit in (0, 1):
            result = run("solve_triangular", a, right, upper=up, unit_diagonal=unit)
            expected = [
                scipy.linalg.solve_triangular(
                    a[i], right[i], lower=not up, unit_diagonal=bool(unit)
                )
                for i in range(2)
            ]
            np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)


def test_matrices_without_a_result() -> None:
    """Singular, not definite, and what isn't a number."""
    singular = np.array([[[1.0, 2], [2, 4]], [[1, 0], [0, 1]]])
    assert run("determinant", singular).tolist() == [0, 1]
    np.testing.assert_array_equal(run("inverse", singular), [[[NAN] * 2] * 2, np.eye(2)])
    np.testing.assert_array_equal(run("cholesky", singular), [[[NAN] * 2] * 2, np.eye(2)])
    assert run("determinant", np.ones((2, 0, 0))).tolist() == [1, 1]
    assert np.isnan(run("determinant", np.array([[1.0, NAN], [0, 1]])))
    swapped = np.array([[0.0, 1], [1, 0]])
    assert run("determinant", swapped) == -1
    assert run("inverse", swapped).tolist() == swapped.tolist()
