"""Convolution whose taps are moved by offsets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

from ._convolve import add_bias
from ._cost import elements
from ._model import (
    FLOATS,
    INT32_MAX,
    Attribute,
    Operand,
    Operation,
    Sample,
    Shape,
    Standard,
    Tolerance,
    Values,
)
from ._numeric import narrow, widen
from ._windows import DILATIONS, PADDINGS, STRIDES, Windows
from .conv import GROUPS


def corners(np: Any, sides: Shape, y: Any, x: Any, around: tuple[int, ...]) -> Iterator[Any]:
    """Pixels around places [n, g, ...] of images: (row, column), and whether that is inside.

    Those that are not have the row and column 0. With each comes how far the place is behind it:
    rows, then columns.
    """
    top, left = np.floor(y), np.floor(x)
    for down, right in product(around, around):
        row, column = top + down, left + right
        inside = (row >= 0) & (row < sides[0]) & (column >= 0) & (column < sides[1])
        i = np.where(inside, row, 0).astype(np.int64)
        j = np.where(inside, column, 0).astype(np.int64)
        yield (i, j), inside, y - row, x - column


def before(np: Any, places: Any) -> tuple[Any, Any]:
    """Numbers of images and of groups, to index images [n, g, ...] with places [n, g, ...]."""
    n = np.arange(places.shape[0]).reshape(-1, *([1] * (places.ndim - 1)))
    g = np.arange(places.shape[1]).reshape(-1, *([1] * (places.ndim - 2)))
    return n, g


def _pixels(np: Any, images: Any, y: Any, x: Any, around: tuple[int, ...]) -> Iterator[Any]:
    """Pixels [n, g, ..., c] of images [n, g, c, h, w] around places [n, g, ...]; 0 outside.

    With each comes how far from the place it is: rows, then columns.
    """
    last = np.moveaxis(images, 2, -1)
    for place, inside, down, right in corners(np, images.shape[-2:], y, x, around):
        yield last[(*before(np, y), *place)], inside, np.abs(down), np.abs(right)


def bilinear(np: Any, images: Any, y: Any, x: Any) -> Any:
    """Values [n, g, c, ...] of images at places [n, g, ...]."""
    total = 0.0
    for value, inside, down, right in _pixels(np, images, y, x, (0, 1)):
        share = (1.0 - down) * (1.0 - right)
        total = total + np.where(inside[..., None], value * share[..., None], 0.0)
    return np.moveaxis(total, -1, 2)


def _unsure(np: Any, images: Any, y: Any, x: Any, unit: float) -> Any:
    """How far off values of positive images may be, in units of so many roundings.

    The place has two roundings and each share four more, of 1. A place beside a pixel may be on its
    other side, with the pixels there.
    """
    total = np.moveaxis(bilinear(np, images, y, x), 2, -1)
    moved = (2.0 * (np.abs(y) + np.abs(x)) + 4.0) / unit
    for value, inside, down, right in _pixels(np, images, y, x, (-1, 0, 1, 2)):
        near = inside & (down <= 1.001) & (right <= 1.001)
        total = total + np.where(near[..., None], value * moved[..., None], 0.0)
    return np.moveaxis(total, -1, 2)


def deform_conv(
    np: Any, x: Any, weight: Any, offset: Any, bias: Any = None, mask: Any = None, **values: Any
) -> Any:
    """The sums of conv2d with each tap taken between pixels, where its offset moves it to."""
    total = _sums(np, bilinear, x, weight, offset, mask, values)
    return narrow(np, add_bias(np, total, None if bias is None else widen(np, bias)), x.dtype)


def split_images(np: Any, x: Any, values: Values) -> Any:
    """[n, offset_groups, c / offset_groups, height, width], wide."""
    parts = values["offset_groups"]
    return widen(np, x).reshape(x.shape[0], parts, x.shape[1] // parts, *x.shape[2:])


def places(np: Any, x: Any, weight: Any, offset: Any, values: Values) -> Iterator[tuple[Any, Any]]:
    """Rows and columns [n, offset_groups, y, x] where each tap looks."""
    windows = Windows(x.shape, weight.shape[2:], values)
    rows, columns = windows.counts
    top, left = windows.padding[:2]
    moves = widen(np, offset).reshape(x.shape[0], values["offset_groups"], -1, 2, rows, columns)
    down = np.arange(rows)[:, None] * windows.stride[0] - top
    across = np.arange(columns)[None, :] * windows.stride[1] - left
    for tap, (i, j) in enumerate(product(*map(range, windows.kernel))):
        yield (
            moves[:, :, tap, 0] + down + i * windows.dilation[0],
            moves[:, :, tap, 1] + across + j * windows.dilation[1],
        )


def _sums(np: Any, sample: Any, x: Any, weight: Any, offset: Any, mask: Any, values: Values) -> Any:
    """Wide sums of what ``sample`` finds at the places of the taps."""
    groups, images = values["groups"], x.shape[0]
    rows, columns = Windows(x.shape, weight.shape[2:], values).counts
    taps = elements(weight.shape[2:])
    factors = None
    if mask is not None:
        factors = widen(np, mask).reshape(images, values["offset_groups"], taps, rows, columns)
    outputs, own = weight.shape[0] // groups, weight.shape[1]
    weights = widen(np, weight).reshape(groups, outputs, own, taps)
    total = np.zeros((images, groups, outputs, rows, columns), np.float64)
    if x.size and total.size:
        split = split_images(np, x, values)
        for tap, (y, across) in enumerate(places(np, x, weight, offset, values)):
            picked = sample(np, split, y, across)
            scaled = picked if factors is None else picked * factors[:, :, None, tap]
            pixels = scaled.reshape(images, groups, own, rows, columns)
            for channel in range(own):
                factor = weights[:, :, channel, tap].reshape(groups, outputs, 1, 1)
                total += pixels[:, :, channel, None] * factor
    return total.reshape(images, weight.shape[0], rows, columns)


def _magnitude(
    np: Any, x: Any, weight: Any, offset: Any, bias: Any = None, mask: Any = None, **values: Any
) -> Any:
    length = _length((None, weight.shape), values)
    unsure = partial(_unsure, unit=min(length, 8 * length**0.5))
    scales = None if mask is None else abs(mask)
    total = _sums(np, unsure, abs(x), abs(weight), offset, scales, values)
    return add_bias(np, total, None if bias is None else abs(bias))


def _length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    return elements((shapes[1] or (0, 0))[1:]) + 4


DEFORM_CONV = Operation(
    number=174,
    name="deform_conv",
    summary="Convolution of images whose taps are moved by offsets and scaled by a mask.",
    formula="output[n, o, y, x] = bias[o] + sum_cij weight[o, c, i, j] mask * "
    "input[n, c + group, y * stride + i * dilation - padding + offset, x likewise]",
    inputs=(
        Operand(name="input", summary="[n, c, height, width]."),
        Operand(name="weight", summary="[o, c / groups, kernel height, kernel width]."),
        Operand(
            name="offset",
            summary="[n, offset_groups * kernel height * kernel width * 2, y, x]: rows, then "
            "columns, for each tap.",
        ),
        Operand(name="bias", summary="[o].", optional=True),
        Operand(
            name="mask",
            summary="[n, offset_groups * kernel height * kernel width, y, x]; 1 when left out.",
            optional=True,
        ),
    ),
    outputs=(Operand(name="output", summary="[n, o, y, x], as of conv2d."),),
    family="deform_conv",
    dtypes=FLOATS,
    semantics=deform_conv,
    notes=(
        "Between pixels values are bilinear; pixels outside of the image are 0. groups and "
        "offset_groups divide c, groups divides o.",
    ),
    standard=Standard(name="DeformConv", opset=22, note="images of two dimensions"),
    attributes=(
        STRIDES,
        PADDINGS,
        DILATIONS,
        GROUPS,
        Attribute(
            name="offset_groups",
            summary="Parts of the channels with offsets of their own.",
            default=1,
            minimum=1,
            maximum=INT32_MAX,
            zero_is_default=True,
            field="int64_t",
        ),
    ),
    config="wia_deform_conv_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=_length,
        magnitude=_magnitude,
        reason="Any order of summation: one rounding in the accumulator per tap and four more, "
        "relative to the sum of absolute products; two of each place, relative to it, and four of "
        "each share, relative to the pixels around; and one of the result.",
    ),
    flops=lambda shapes, out, values: 8.0 * elements(out) * elements((shapes[1] or (0, 0))[1:]),
    samples=(
        Sample(shapes=((1, 1, 3, 4), (1, 1, 2, 2), (1, 8, 2, 3), None, None)),
        Sample(
            shapes=((2, 4, 5, 6), (2, 2, 3, 2), (2, 24, 3, 5), (2,), (2, 12, 3, 5)),
            values={"groups": 2, "offset_groups": 2},
        ),
        Sample(
            shapes=((1, 2, 7, 5), (3, 2, 2, 2), (1, 8, 4, 2), (3,), None),
            values={"stride": (2,), "padding": (1, 0, 1, 1), "dilation": (1, 2)},
        ),
        Sample(shapes=((0, 1, 3, 3), (1, 1, 2, 2), (0, 8, 2, 2), None, None)),
    ),
    source="ONNX node tests basic_deform_conv_* and deform_conv_*",
)

OPERATIONS = (DEFORM_CONV,)
