"""Sampling of images at the places of a grid."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

from ._cost import elements, per_output
from ._forms import flag, numbers
from ._model import FLOATS, Operand, Sample, Shape, Standard, Tolerance
from ._moving import choice, moving
from ._numeric import narrow, widen
from .resize import cubic_slope, cubic_weight

_LINEAR, _NEAREST, _CUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)


def affine_grid(np: Any, theta: Any, *, size: Any, align_corners: int) -> Any:
    """The places, from -1 to 1, that each pixel of an image comes from."""
    sides = size[2:]
    axes = [_side(np, n, align_corners) for n in reversed(sides)]
    grids = [
        axis.reshape([-1 if len(sides) - 1 - i == d else 1 for d in range(len(sides))])
        for i, axis in enumerate(axes)
    ]
    wide = widen(np, theta)
    shape = (wide.shape[0], *sides, len(sides))
    result = np.empty(shape)
    for row in range(len(sides)):
        parts = wide[:, row].reshape(len(wide), len(sides) + 1, *[1] * len(sides))
        total = parts[:, -1]
        for i, grid in enumerate(grids):
            total = total + parts[:, i] * grid
        result[..., row] = total
    return narrow(np, result, theta.dtype)


def _side(np: Any, n: int, align_corners: int) -> Any:
    if align_corners:
        return np.arange(n) * (2 / (n - 1)) - 1.0 if n > 1 else np.zeros(n)
    return (2 * np.arange(n) + 1) / n - 1 if n else np.zeros(0)


def grid_sample(
    np: Any, x: Any, grid: Any, *, mode: int, padding_mode: int, align_corners: int
) -> Any:
    """The image at each place of the grid, whose last dimension counts from the last of x."""
    sides = x.shape[2:]
    result = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for batch in range(x.shape[0]):
        image = widen(np, x[batch])
        lines = lines_of(
            np,
            grid[batch],
            sides,
            mode=mode,
            padding_mode=padding_mode,
            align_corners=align_corners,
        )
        for taps in product(*lines):
            index = tuple(tap.index for tap in taps)
            weight, inside = 1.0, True
            for tap in taps:
                weight, inside = weight * tap.weight, inside & tap.inside
            values = image[(slice(None), *index)]
            result[batch] += np.where(inside & (weight != 0.0), weight * values, 0.0)
    return narrow(np, result, x.dtype)


class Tap(NamedTuple):
    """Elements of one dimension: index, weight, its slope by the place, whether it is inside."""

    index: Any
    weight: Any
    slope: Any
    inside: Any


def lines_of(
    np: Any, grid: Any, sides: Shape, *, mode: int, padding_mode: int, align_corners: int
) -> list[list[Tap]]:
    """The taps of each dimension of an image, for the places of its grid."""
    places = np.moveaxis(widen(np, grid), -1, 0)[::-1]
    return [
        _line(np, place, side, mode, padding_mode, align_corners)
        for place, side in zip(places, sides, strict=True)
    ]


def _line(np: Any, place: Any, size: int, mode: int, padding: int, align_corners: int) -> list[Tap]:
    """Elements of one dimension that a place is made of.

    NaN is the place -1, and what is far away as good as infinitely far.
    """
    low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
    free = abs(place) < 2.0**31  # not NaN either
    place = np.clip(np.where(np.isnan(place), -1.0, place), -(2.0**31), 2.0**31)
    x = (place + 1) / 2 * (size - 1) if align_corners else ((place + 1) * size - 1) / 2
    turn = np.where(free, (size - 1 if align_corners else size) / 2, 0.0)
    if mode == _NEAREST:
        x = np.rint(x)
    if padding == _BORDER:
        outside = (x < low) | (x > high)
        # Between the edge of the last pixel and its middle both neighbours are that pixel.
        x, turn = np.where(outside, np.clip(x, 0, size - 1), x), np.where(outside, 0.0, turn)
    elif padding == _REFLECTION:
        turn = turn * _direction(np, x, low, high)
        x = _reflect(np, x, low, high)
    turn = np.where((x < -4.0) | (x > size + 4.0), 0.0, turn)
    x = np.clip(x, -4.0, size + 4.0)
    base = np.floor(x)
    if mode == _NEAREST:
        offsets, weights, slopes = [0], [np.ones_like(x)], [0.0 * x]
        base = np.trunc(x)
    elif mode == _LINEAR:
        offsets, weights, slopes = [0, 1], [1 - (x - base), x - base], [-turn, turn]
    else:
        offsets = [-1, 0, 1, 2]
        away = [offset - (x - base) for offset in offsets]
        weights = [cubic_weight(np, abs(d), -0.75) for d in away]
        slopes = [-np.sign(d) * cubic_slope(np, abs(d), -0.75) * turn for d in away]
    ends = (low, high)
    return [
        _tap(np, base + o, w, slope, size, padding, ends)
        for o, w, slope in zip(offsets, weights, slopes, strict=True)
    ]


def _tap(
    np: Any,
    index: Any,
    weight: Any,
    slope: Any,
    size: int,
    padding: int,
    ends: tuple[float, float],
) -> Tap:
    if padding == _REFLECTION:
        index = np.trunc(_reflect(np, index, *ends))
    inside = np.asarray(padding == _BORDER) | ((index >= 0) & (index < size))
    return Tap(np.clip(index, 0, size - 1).astype(np.int64), weight, slope, inside)


def _direction(np: Any, x: Any, low: float, high: float) -> Any:
    """Whether a mirrored place goes the same way (1), the other way (-1) or stays (0)."""
    room = high - low
    if room == 0:
        return np.zeros_like(x)
    turns = np.trunc(np.where(x < low, low - x, x - high) / room)
    mirrored = np.where(turns % 2 == 0, -1.0, 1.0)
    return np.where((x < low) | (x > high), mirrored, 1.0)


def _reflect(np: Any, x: Any, low: float, high: float) -> Any:
    """A place mirrored at the ends until it lies between them."""
    room = high - low
    if room == 0:
        return np.full_like(x, low)
    away = np.where(x < low, low - x, x - high)
    turns = np.trunc(away / room)
    rest = away - turns * room
    even = turns % 2 == 0
    under = np.where(even, low + rest, high - rest)
    over = np.where(even, high - rest, low + rest)
    return np.where(x < low, under, np.where(x > high, over, x))


def _sampled_from(np: Any, x: Any, grid: Any, **values: Any) -> Any:
    """The largest element of a channel, and how far the rounding of a place can move it."""
    sides = x.shape[2:]
    top = x.reshape(*x.shape[:2], -1) if x.size else x
    top = abs(np.where(np.isfinite(top), top, 0.0)).max(axis=2)
    reach = 1.0 + (np.array(sides[::-1]) * (1.0 + abs(grid))).sum(axis=-1)
    return top.reshape(*top.shape, *[1] * len(sides)) * reach[:, None]


AFFINE_GRID = moving(
    400,
    "affine_grid",
    affine_grid,
    summary="The places that the pixels of an image come from by an affine map.",
    formula="output[n, y, x] = theta[n] (place of x, place of y, 1)",
    inputs=(Operand(name="theta", summary="[n, 2, 3], or [n, 3, 4] for volumes."),),
    output=Operand(
        name="output",
        summary="[n, height, width, 2], or [n, depth, height, width, 3]; the last dimension has x, "
        "then y, then z.",
    ),
    dtypes=FLOATS,
    notes=(
        "Places go from -1 to 1. With align_corners these are the middles of the first and the "
        "last pixel, else the outer edges of them.",
    ),
    standard=Standard(name="AffineGrid", opset=20, note="size is an attribute"),
    attributes=(
        numbers(
            "size",
            "[n, c, height, width] or [n, c, depth, height, width].",
            "size_count",
            minimum=0,
        ),
        flag("align_corners", "-1 and 1 are the middles of pixels, else the edges."),
    ),
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 8,
        magnitude=lambda np, theta, **values: (
            affine_grid(np, abs(theta), **values) * 0
            + abs(theta)
            .sum(axis=-1)
            .reshape(theta.shape[0], *[1] * (theta.shape[1]), theta.shape[1])
        ),
        reason="Two roundings for each product, sum and place, relative to the sum of absolute "
        "values, and one of the result.",
    ),
    flops=per_output(6.0),
    samples=(
        Sample(shapes=((2, 2, 3),), values={"size": (2, 3, 4, 5)}),
        Sample(shapes=((1, 2, 3),), values={"size": (1, 1, 1, 33), "align_corners": 1}),
        Sample(shapes=((2, 3, 4),), values={"size": (2, 1, 3, 2, 4)}, fills=("special",)),
        Sample(shapes=((0, 2, 3),), values={"size": (0, 3, 4, 5)}),
        Sample(shapes=((1, 3, 4),), values={"size": (1, 1, 3, 0, 4), "align_corners": 1}),
    ),
    source="ONNX node tests affine_grid_*; PyTorch's rule of a single pixel by hand",
)

GRID_SAMPLE = moving(
    401,
    "grid_sample",
    grid_sample,
    summary="Samples images at the places of a grid.",
    formula="output[n, c, y, x] = input[n, c] at the place grid[n, y, x]",
    inputs=(
        Operand(name="input", summary="[n, c, height, width] or [n, c, depth, height, width]."),
        Operand(
            name="grid",
            summary="[n, y, x, 2] or [n, z, y, x, 3]; the last dimension has the place in width, "
            "then height, then depth, from -1 to 1.",
        ),
    ),
    output=Operand(name="output", summary="[n, c, y, x] or [n, c, z, y, x]."),
    dtypes=FLOATS,
    notes=(
        "A place p in a line of n pixels is at ((p + 1) n - 1) / 2, with align_corners at "
        "(p + 1) (n - 1) / 2. NaN is the place -1.",
        "The mode nearest rounds halves to even; cubic is that of Keys, 1981, with -0.75. With "
        "the padding border a place outside is moved to the border in every mode, as ONNX has it; "
        "PyTorch moves the neighbours of a cubic. An "
        "element whose weight is 0 isn't looked at.",
    ),
    standard=Standard(name="GridSample", opset=22, note="up to volumes"),
    attributes=(
        choice(
            "mode",
            "How a result is made.",
            "wia_sample_mode_t",
            linear="The neighbours in each line, weighed by nearness.",
            nearest="The nearest.",
            cubic="The four neighbours in each line, weighed by a cubic.",
        ),
        choice(
            "padding_mode",
            "What is outside of input.",
            "wia_sample_padding_t",
            zeros="Zeros.",
            border="The nearest pixel inside.",
            reflection="Input, mirrored at its ends.",
        ),
        flag("align_corners", "-1 and 1 are the middles of pixels, else the edges."),
    ),
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 64,
        magnitude=_sampled_from,
        reason="The place is rounded, which moves the result by as much as neighbours differ; the "
        "products and sums of up to 64 neighbours. Relative to the largest element of the channel "
        "and the length of the lines.",
    ),
    flops=lambda shapes, out, values: (
        elements(out) * 2.0 * (2, 1, 4)[values["mode"]] ** max(len(out) - 2, 0)
    ),
    samples=(
        Sample(shapes=((1, 2, 4, 5), (1, 3, 3, 2))),
        Sample(
            shapes=((2, 1, 3, 4), (2, 2, 5, 2)),
            values={"padding_mode": 1, "align_corners": 1},
            fills=("normal", "wide"),
        ),
        Sample(
            shapes=((1, 3, 5, 4), (1, 9, 1, 2)),
            values={"mode": 2, "padding_mode": 2},
        ),
        Sample(
            shapes=((1, 1, 4, 3), (1, 4, 4, 2)), values={"mode": 2}, fills=("special", "special")
        ),
        Sample(shapes=((2, 2, 3, 3, 2), (2, 1, 2, 3, 3)), values={"padding_mode": 2}),
        Sample(shapes=((1, 1, 1, 1), (1, 2, 2, 2)), values={"padding_mode": 2, "align_corners": 1}),
        Sample(shapes=((1, 2, 3, 3), (1, 0, 4, 2))),
        Sample(shapes=((1, 2, 4, 5), (1, 3, 3, 2)), values={"mode": 1}),
    ),
    source="ONNX node tests gridsample_*; NaN and single pixels by hand",
)

OPERATIONS = (AFFINE_GRID, GRID_SAMPLE)
