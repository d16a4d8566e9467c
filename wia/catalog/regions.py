"""Regions of images, pooled."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from ._cost import elements
from ._model import (
    FLOATS,
    Attribute,
    Operand,
    Sample,
    Shape,
    Standard,
    Tolerance,
    Values,
)
from ._moving import choice, count, moving, real
from ._numeric import OperandError, narrow, widen


def _image_of(np: Any, name: str, batch: Any, count: int) -> Any:
    """The image that each region lies in."""
    wrong = (batch < 0) | (batch >= count)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise OperandError(
            f"{name}: batch_indices[{i}] is {int(batch[i])}; expected 0 to {count - 1}: "
            f"input has {count} images"
        )
    return batch


def roi_align(
    np: Any,
    x: Any,
    rois: Any,
    batch_indices: Any,
    *,
    mode: int,
    height: int,
    width: int,
    sampling_ratio: int,
    spatial_scale: float,
    coordinates: int,
) -> Any:
    """Each region in a grid of cells: the mean or the largest of samples between pixels."""
    wide, result = widen(np, x), np.zeros((len(rois), x.shape[1], height, width))
    values = {
        "height": height,
        "width": width,
        "sampling_ratio": sampling_ratio,
        "spatial_scale": spatial_scale,
        "coordinates": coordinates,
    }
    for i, image, taps in samples_of(np, x.shape, rois, batch_indices, values):
        result[i] = np.nan if taps is None else _cells(np, wide[image], taps, mode)
    return narrow(np, result, x.dtype)


def samples_of(
    np: Any, shape: Shape, rois: Any, batch_indices: Any, values: Values
) -> Iterator[tuple[int, int, list[tuple[Any, Any, Any]] | None]]:
    """For each region of roi_align: its number, its image and its taps; None where it isn't finite.

    A tap is a row, a column and a weight for each cell; four that follow one another are a sample.
    """
    images = _image_of(np, "roi_align", batch_indices, shape[0])
    half = 0.5 if values["coordinates"] == 0 else 0.0
    boxes = widen(np, rois) * values["spatial_scale"] - half
    height, width = values["height"], values["width"]
    for i, (left, top, right, bottom) in enumerate(boxes):
        sizes = [bottom - top, right - left]
        if values["coordinates"]:
            sizes = [max(size, 1.0) for size in sizes]
        steps = [sizes[0] / height, sizes[1] / width]
        if not np.isfinite([left, top, *steps]).all():
            yield i, int(images[i]), None
            continue
        counts = [values["sampling_ratio"] or max(int(np.ceil(step)), 0) for step in steps]
        rows = _sample_line(np, top, steps[0], counts[0], height, shape[2])
        columns = _sample_line(np, left, steps[1], counts[1], width, shape[3])
        yield i, int(images[i]), list(_taps(np, rows, columns))


def _sample_line(
    np: Any, start: float, step: float, count: int, cells: int, size: int
) -> tuple[Any, Any, Any]:
    """Lower and upper neighbour and its weight, per cell and sample; weight NaN far outside."""
    places = start + step * (
        np.arange(cells)[:, None] + (np.arange(count) + 0.5)[None, :] / max(count, 1)
    )
    far = (places < -1.0) | (places > size)
    places = np.clip(places, 0.0, size - 1.0)
    low = places.astype(np.int64)
    return low, np.minimum(low + 1, size - 1), np.where(far, np.nan, places - low)


def _taps(np: Any, rows: Any, columns: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The four neighbours of each sample of each cell."""
    for r, c in product(range(rows[0].shape[1]), range(columns[0].shape[1])):
        up, left = rows[2][:, r, None], columns[2][None, :, c]
        far = np.isnan(up) | np.isnan(left)
        for row, y in ((rows[0], 1 - up), (rows[1], up)):
            for column, z in ((columns[0], 1 - left), (columns[1], left)):
                yield row[:, r, None], column[None, :, c], np.where(far, 0.0, y * z)


def _cells(np: Any, image: Any, taps: list[tuple[Any, Any, Any]], mode: int) -> Any:
    """The neighbours of all samples, weighed, over the samples of each cell."""
    parts = [np.where(w == 0.0, 0.0, w * image[:, row, column]) for row, column, w in taps]
    if not parts:
        return 0.0
    if mode:
        return np.maximum.reduce(parts)
    total = 0.0
    for i in range(0, len(parts), 4):
        total = total + parts[i] + parts[i + 1] + parts[i + 2] + parts[i + 3]
    return total / (len(parts) // 4)


def max_roi_pool(
    np: Any, x: Any, rois: Any, *, height: int, width: int, spatial_scale: float
) -> Any:
    """The largest pixel of each cell of a region, whose corners are rounded to pixels."""
    values = {"height": height, "width": width, "spatial_scale": spatial_scale}
    result = np.zeros((len(rois), x.shape[1], height, width), x.dtype)
    for i, row, column, image, part in cells_of(np, x.shape, rois, values):
        pixels = widen(np, x[(image, slice(None), *part)])
        result[i, :, row, column] = pixels.max(axis=(1, 2)).astype(x.dtype)
    return result


def cells_of(
    np: Any, shape: Shape, rois: Any, values: Values
) -> Iterator[tuple[int, int, int, int, tuple[slice, slice]]]:
    """The cells of max_roi_pool that have pixels: region, row, column, image, and these."""
    wide = widen(np, rois)
    images = _image_of(np, "max_roi_pool", wide[:, 0], shape[0]).astype(np.int64)
    for i, box in enumerate(wide):
        left, top, right, bottom = np.floor(box[1:] * values["spatial_scale"] + 0.5)
        sizes = (max(bottom - top + 1, 1.0), max(right - left + 1, 1.0))
        rows = _cell_line(np, top, sizes[0], values["height"], shape[2])
        columns = _cell_line(np, left, sizes[1], values["width"], shape[3])
        for (r, (a, b)), (c, (d, e)) in product(enumerate(rows), enumerate(columns)):
            if a < b and d < e:
                yield i, r, c, int(images[i]), (slice(a, b), slice(d, e))


def _cell_line(np: Any, start: float, size: float, cells: int, limit: int) -> list[tuple[int, int]]:
    step = size / cells
    first = np.clip(np.floor(np.arange(cells) * step) + start, 0, limit)
    last = np.clip(np.ceil(np.arange(1, cells + 1) * step) + start, 0, limit)
    return list(zip(first.astype(int).tolist(), last.astype(int).tolist(), strict=True))


def _size(name: str) -> Attribute:
    return count(name, f"The {name} of a result.", 1)


_SCALE = real("spatial_scale", "From the units of rois to pixels of input.", 1.0)
_IMAGES = Operand(name="input", summary="[n, c, height, width].")
_POOLED = Operand(name="output", summary="[k, c, height, width] by the attributes.")


def _largest(np: Any, x: Any, rois: Any, batch_indices: Any, **values: Any) -> Any:
    """The largest element of a channel, and how far the rounding of a place can move it."""
    top = abs(np.where(np.isfinite(x), x, 0.0)).max(axis=(2, 3))[batch_indices.astype(np.int64)]
    far = 2.0 + sum(x.shape[2:]) + abs(rois).max(axis=-1) * values["spatial_scale"]
    return (top * far[:, None])[:, :, None, None]


ROI_ALIGN = moving(
    402,
    "roi_align",
    roi_align,
    summary="Regions of images, resized to one size by sampling between pixels.",
    formula="output[k, c, y, x] = the mean, or the largest, of input[batch_indices[k], c] at the "
    "sampling places of the cell y, x of rois[k]",
    inputs=(
        _IMAGES,
        Operand(name="rois", summary="[k, 4]: left, top, right and bottom."),
        Operand(name="batch_indices", summary="[k], from 0 to n - 1.", dtypes=("int64", "int32")),
    ),
    output=_POOLED,
    dtypes=FLOATS,
    notes=(
        "A place is weighed from its four pixels; up to one pixel outside it is that of the edge, "
        "farther it is 0. The largest is that of the weighed pixels of all places, as in ONNX.",
        "A region that isn't finite gives NaN. An index out of range fails the call, or the "
        "stream, with INVALID_ARGUMENT.",
    ),
    standard=Standard(name="RoiAlign", opset=16),
    attributes=(
        choice(
            "mode",
            "What a cell is made of.",
            "wia_roi_mode_t",
            avg="The mean of its places.",
            max="The largest weighed pixel.",
        ),
        _size("height"),
        _size("width"),
        count(
            "sampling_ratio",
            "Places in each direction of a cell; 0: its size in pixels, rounded up.",
            0,
            minimum=0,
        ),
        _SCALE,
        choice(
            "coordinates",
            "Where a pixel is.",
            "wia_roi_coordinates_t",
            half_pixel="Its middle is half a pixel from its edge.",
            output_half_pixel="It is a point; regions are at least one pixel large.",
        ),
    ),
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 64,
        magnitude=_largest,
        reason="The places are rounded, which moves the result by as much as neighbours differ. "
        "Relative to the largest element of the channel and the size of images and regions.",
    ),
    flops=lambda shapes, out, values: 8.0 * elements(out) * max(values["sampling_ratio"], 1) ** 2,
    samples=(
        Sample(
            shapes=((2, 3, 9, 8), (4, 4), (4,)),
            values={"height": 2, "width": 3, "sampling_ratio": 2},
            fills=("normal", "0..8", "0..2"),
        ),
        Sample(
            shapes=((1, 1, 5, 5), (3, 4), (3,)),
            values={"height": 3, "width": 3, "sampling_ratio": 1, "coordinates": 1},
            fills=("wide", "0..8", "0..1"),
        ),
        Sample(
            shapes=((1, 2, 6, 6), (2, 4), (2,)),
            values={"height": 2, "width": 1, "sampling_ratio": 3, "mode": 1, "spatial_scale": 0.5},
            fills=("normal", "0..12", "0..1"),
        ),
        Sample(shapes=((1, 2, 3, 3), (0, 4), (0,)), values={"height": 2, "width": 2}),
    ),
    source="ONNX node tests roialign_*; regions outside by hand",
)

MAX_ROI_POOL = moving(
    403,
    "max_roi_pool",
    max_roi_pool,
    summary="The largest pixels in the cells of regions of images.",
    formula="output[k, c, y, x] = the largest of input[rois[k, 0], c] in the cell y, x of the "
    "region, whose corners are rounded to pixels",
    inputs=(
        _IMAGES,
        Operand(name="rois", summary="[k, 5]: number of the image, left, top, right and bottom."),
    ),
    output=_POOLED,
    dtypes=FLOATS,
    notes=(
        "Halves are rounded up; both corners belong to the region. A cell reaches from the pixel "
        "that its begin lies in to the one that its end lies in. One without a pixel of input is "
        "0. NaN wins.",
        "A number of an image out of range fails the call, or the stream, with INVALID_ARGUMENT.",
    ),
    standard=Standard(name="MaxRoiPool", opset=22),
    attributes=(_size("height"), _size("width"), _SCALE),
    flops=lambda shapes, out, values: float(elements(out)),
    samples=(
        Sample(
            shapes=((1, 2, 7, 9), (4, 5)),
            values={"height": 2, "width": 3},
            fills=("normal", "0..0.9"),
        ),
        Sample(
            shapes=((1, 1, 6, 6), (3, 5)),
            values={"height": 3, "width": 2, "spatial_scale": 8.0},
            fills=("special", "0..0.9"),
        ),
        Sample(shapes=((1, 2, 3, 3), (0, 5)), values={"height": 2, "width": 2}),
    ),
    source="Girshick, Fast R-CNN, 2015, worked by hand: ONNX has no vectors",
)


OPERATIONS = (ROI_ALIGN, MAX_ROI_POOL)
