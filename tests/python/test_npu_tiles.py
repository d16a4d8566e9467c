"""The simulated NPU's products around the edges of its tiles: 4 rows, 24 columns, 192 terms.

All numbers are small integers, so that every sum is exact and has to be equal.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

import wia

pytest.importorskip("numba")

Integers = npt.NDArray[np.int64]


@pytest.fixture(scope="module")
def ctx() -> Iterator[wia.Context]:
    """A context on the simulated device."""
    with wia.Context("npu") as context:
        yield context


def integers(*shape: int) -> Integers:
    return np.random.default_rng(list(shape)).integers(-3, 4, shape)


def tensor_of(ctx: wia.Context, array: Integers) -> wia.Tensor:
    return ctx.tensor(array.astype(np.float32))


@pytest.mark.parametrize("k", [1, 191, 192, 193, 385])
@pytest.mark.parametrize("n", [1, 23, 24, 25, 49])
def test_matmul(ctx: wia.Context, k: int, n: int) -> None:
    """Of every height around a tile and a block, also of transposed matrices."""
    for m in (1, 3, 4, 5, 8, 95, 96, 97, 193):
        a, b = integers(m, k), integers(k, n)
        for x in (tensor_of(ctx, a), tensor_of(ctx, a.T.copy()).T):
            for y in (tensor_of(ctx, b), tensor_of(ctx, b.T.copy()).T):
                out = ctx.full((m, n), float("nan"))
                ctx.matmul(x, y, out=out)
                np.testing.assert_array_equal(out.numpy(), a @ b, err_msg=f"{m} x {k} x {n}")


def convolve(
    x: Integers, weight: Integers, stride: int, dilation: int, padding: int, groups: int
) -> Integers:
    """ONNX's Conv over images [N, C, H, W], tap by tap."""
    x = np.pad(x, [(0, 0), (0, 0), (padding,) * 2, (padding,) * 2])
    outputs, channels, rows, columns = weight.shape
    height = (x.shape[2] - (rows - 1) * dilation - 1) // stride + 1
    width = (x.shape[3] - (columns - 1) * dilation - 1) // stride + 1
    each = outputs // groups
    out = np.zeros((x.shape[0], outputs, height, width), np.int64)
    for group in range(groups):
        own = x[:, group * channels : (group + 1) * channels]
        for i in range(rows):
            for j in range(columns):
                top, left = i * dilation, j * dilation
                part = own[:, :, top:, left:][:, :, ::stride, ::stride][:, :, :height, :width]
                taps = weight[group * each : (group + 1) * each, :, i, j]
                out[:, group * each : (group + 1) * each] += np.einsum("nchw,oc->nohw", part, taps)
    return out


@pytest.mark.parametrize(
    ("x", "weight", "stride", "dilation", "padding", "groups"),
    [
        ((2, 3, 5, 7), (4, 3, 3, 3), 1, 1, 1, 1),  # rows that are narrower than a tile
        ((1, 22, 9, 24), (5, 22, 3, 3), 1, 1, 1, 1),  # 198 terms
        ((1, 64, 6, 25), (97, 64, 3, 1), 1, 1, 1, 1),  # 192 terms, two blocks of rows
        ((1, 43, 3, 49), (96, 43, 3, 3), 1, 1, 2, 1),  # 387 terms
        ((2, 5, 13, 11), (9, 5, 1, 1), 1, 1, 0, 1),  # images of one row
        ((1, 5, 13, 11), (9, 5, 1, 1), 2, 1, 0, 1),
        ((1, 4, 17, 29), (8, 4, 3, 5), 2, 1, 2, 1),
        ((1, 4, 17, 31), (8, 4, 3, 3), 3, 2, 2, 1),
        ((2, 16, 7, 9), (24, 8, 3, 3), 1, 1, 1, 2),
        ((1, 6, 8, 27), (9, 2, 3, 3), 1, 1, 1, 3),  # fewer outputs a group than a tile has rows
        ((1, 8, 8, 27), (8, 1, 3, 3), 1, 1, 1, 8),  # depthwise
        ((1, 1, 1, 700), (10, 1, 1, 512), 64, 1, 0, 1),
    ],
)
def test_conv2d(
    ctx: wia.Context,
    x: tuple[int, ...],
    weight: tuple[int, ...],
    stride: int,
    dilation: int,
    padding: int,
    groups: int,
) -> None:
    """With a bias, and with operands and outputs whose elements don't follow one another."""
    image, taps, bias = integers(*x), integers(*weight), integers(weight[0])
    expected = convolve(image, taps, stride, dilation, padding, groups)
    expected += bias[:, None, None]
    apart = tensor_of(ctx, np.repeat(image, 2, axis=3))[..., ::2]
    backwards = tensor_of(ctx, taps[::-1].copy())[::-1]
    out = ctx.full((*expected.shape[:3], 2 * expected.shape[3]), float("nan"))
    for a, b in (
        (tensor_of(ctx, image), tensor_of(ctx, taps)),
        (apart, tensor_of(ctx, taps)),
        (tensor_of(ctx, image), backwards),
    ):
        ctx.conv2d(
            a,
            b,
            tensor_of(ctx, bias),
            out=out[..., ::2],
            stride=(stride, stride),
            dilation=(dilation, dilation),
            padding=(padding,) * 4,
            groups=groups,
        )
        np.testing.assert_array_equal(out[..., ::2].numpy(), expected)
        assert np.isnan(out[..., 1::2].numpy()).all()


@pytest.mark.parametrize(
    ("x", "weight", "stride", "dilation", "padding", "groups"),
    [
        ((2, 3, 40), (5, 3, 3), 1, 1, 1, 1),
        ((1, 40, 49), (97, 40, 5), 1, 2, 3, 1),  # 200 terms, two blocks of rows
        ((1, 5, 25), (9, 5, 1), 1, 1, 0, 1),
        ((1, 4, 61), (8, 2, 7), 3, 1, 2, 2),
        ((1, 6, 50), (6, 1, 3), 1, 1, 1, 6),  # depthwise
    ],
)
def test_conv_of_one_dimension(
    ctx: wia.Context,
    x: tuple[int, ...],
    weight: tuple[int, ...],
    stride: int,
    dilation: int,
    padding: int,
    groups: int,
) -> None:
    """It is that of images of one row, also where elements don't follow one another."""
    line, taps, bias = integers(*x), integers(*weight), integers(weight[0])
    image = np.pad(line, [(0, 0), (0, 0), (padding, padding)])[:, :, None]
    expected = convolve(image, taps[:, :, None], stride, dilation, 0, groups)[:, :, 0]
    expected += bias[:, None]
    apart = tensor_of(ctx, np.repeat(line, 2, axis=2))[..., ::2]
    for own in (tensor_of(ctx, line), apart):
        out = ctx.conv(
            own,
            tensor_of(ctx, taps),
            tensor_of(ctx, bias),
            stride=stride,
            dilation=dilation,
            padding=padding,
            groups=groups,
        )
        np.testing.assert_array_equal(out.numpy(), expected)


@pytest.mark.parametrize("width", [1, 7, 24, 25])
@pytest.mark.parametrize(("stride", "padding", "groups"), [(1, 0, 1), (2, 1, 1), (3, 2, 2)])
def test_conv_transpose(
    ctx: wia.Context, width: int, stride: int, padding: int, groups: int
) -> None:
    """Each element adds the kernel, scaled by it."""
    x, weight, bias = integers(2, 4, 5, width), integers(4, 3, 3, 4), integers(3 * groups)
    whole = np.zeros((2, 3 * groups, (5 - 1) * stride + 3, (width - 1) * stride + 4), np.int64)
    each = 4 // groups
    for group in range(groups):
        own, taps = slice(group * each, (group + 1) * each), slice(group * 3, group * 3 + 3)
        for row in range(5):
            for column in range(width):
                part = np.einsum("nc,cokl->nokl", x[:, own, row, column], weight[own])
                top, left = row * stride, column * stride
                whole[:, taps, top : top + 3, left : left + 4] += part
    height, length = (size - 2 * padding for size in whole.shape[2:])
    if length < 1:
        pytest.skip("nothing is left between the padding")
    expected = whole[:, :, padding : padding + height, padding : padding + length]
    expected = expected + bias[:, None, None]
    for own_x in (tensor_of(ctx, x), tensor_of(ctx, np.repeat(x, 2, axis=3))[..., ::2]):
        out = ctx.conv_transpose(
            own_x,
            tensor_of(ctx, weight),
            tensor_of(ctx, bias),
            stride=stride,
            padding=padding,
            groups=groups,
        )
        np.testing.assert_array_equal(out.numpy(), expected)
