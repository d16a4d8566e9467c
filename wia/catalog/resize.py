"""Resizing of any rank, by ONNX's rules."""

from __future__ import annotations

from math import ceil, floor, prod
from typing import Any, NamedTuple

from ._cost import elements
from ._forms import flag, numbers
from ._model import FLOATS, Operand, Sample, Scalar, Shape, Standard, Tolerance, Values
from ._moving import axes, choice, floats, moving, real
from ._numeric import element, narrow, widen

NEAREST, LINEAR, CUBIC = range(3)
HALF_PIXEL, SYMMETRIC, PYTORCH, ALIGN_CORNERS, ASYMMETRIC, CROP = range(6)


class Line(NamedTuple):
    """What one dimension is resized by."""

    axis: int
    size: int
    result: int
    scale: float
    roi: tuple[float, float]


def lines(shape: tuple[int, ...], values: Any) -> list[Line]:
    """The dimensions that change."""
    axes = [axis % len(shape) for axis in values["axes"] or range(len(shape))]
    roi = values["roi"] or (0.0,) * len(axes) + (1.0,) * len(axes)
    old = [shape[axis] for axis in axes]
    if values["sizes"]:
        new = list(values["sizes"])
        scales = [float(n) / o if o else 1.0 for n, o in zip(new, old, strict=True)]
        if values["keep_aspect"] and scales:
            scale = min(scales) if values["keep_aspect"] == 1 else max(scales)
            scales = [scale] * len(axes)
            new = [floor(scale * size + 0.5) for size in old]
    else:
        scales = list(values["scales"])
        new = [floor(scale * size) for scale, size in zip(scales, old, strict=True)]
    found = [
        Line(axis, old[i], new[i], scales[i], (roi[i], roi[len(axes) + i]))
        for i, axis in enumerate(axes)
    ]
    crop = values["coordinates"] == CROP
    return [line for line in found if line.scale != 1.0 or line.size != line.result or crop]


def resize(np: Any, x: Any, **values: Any) -> Any:
    """One dimension after the other."""
    return _resize(np, x, values, lambda weights: weights)


def _resize(np: Any, x: Any, values: Any, change: Any) -> Any:
    """With the weights changed by a function."""
    mode, found = values["mode"], lines(x.shape, values)
    shape = list(x.shape)
    for line in found:
        shape[line.axis] = line.result
    if 0 in shape:
        return np.empty(shape, x.dtype)
    result, outside = (x if mode == NEAREST else widen(np, x)), []
    for line, taps, weights, wrong in steps_of(np, x.shape, values):
        result = _apply(np, result, line, taps, weights if weights is None else change(weights))
        if wrong is not None:
            outside.append((line.axis, wrong))
    if mode != NEAREST:
        result = narrow(np, result, x.dtype)
    if outside:
        result = np.array(result)
        for axis, wrong in outside:
            value = element(np, values["extrapolation"], x.dtype, "extrapolation")
            np.moveaxis(result, axis, 0)[wrong] = value
    return result


def steps_of(np: Any, shape: Shape, values: Any) -> list[tuple[Line, Any, Any, Any]]:
    """Of each dimension that changes: taps and weights, and what crop finds outside (else None)."""
    steps = []
    for line in lines(shape, values):
        places = _places(np, line, values["coordinates"])
        crop = values["coordinates"] == CROP
        wrong = (places < 0) | (places > line.size - 1) if crop else None
        steps.append((line, *_taps(np, places, line, values), wrong))
    return steps


def _places(np: Any, line: Line, mode: int) -> Any:
    """Where each result lies in the input, in elements."""
    x, size, scale = np.arange(line.result, dtype=np.float64), line.size, line.scale
    length = scale * size
    if mode == ALIGN_CORNERS:
        return x * 0.0 if length == 1 else x * (size - 1) / (length - 1)
    if mode == ASYMMETRIC:
        return x / scale
    if mode == CROP:
        begin, end = line.roi
        step = (end - begin) * (size - 1)
        x = x * 0.0 + step / 2 if length == 1 else x * step / (length - 1)
        return x + begin * (size - 1)
    if mode == PYTORCH and length == 1:
        return x * 0.0 - 0.5
    half = (x + 0.5) / scale - 0.5
    if mode == SYMMETRIC:
        return half + size / 2 * (1 - line.result / length)
    return half


def _taps(np: Any, places: Any, line: Line, values: Any) -> tuple[Any, Any]:
    """The elements that a result is made of, and their weights: one row per result.

    A place on an element counts as the end of the gap before it.
    """
    base = np.ceil(places) - 1
    ratio = (places - base)[:, None]
    mode = values["mode"]
    if mode == NEAREST:
        up = _rounds_up(ratio, values["nearest_mode"])
        return np.clip(base[:, None] + up, 0, line.size - 1).astype(np.int64), None
    scale = min(line.scale, 1.0) if values["antialias"] else 1.0
    reach = 1 if mode == LINEAR else 2
    first = floor(-reach / scale) + 1
    offsets = np.arange(first, 2 - first)
    distance = abs(offsets - ratio) * scale
    weights = cubic_weight(np, distance, values["cubic_a"]) if mode == CUBIC else 1 - distance
    if mode == LINEAR:
        weights = np.maximum(weights, 0.0)
    taps = (base[:, None] + offsets).astype(np.int64)
    if values["exclude_outside"]:
        weights = np.where((taps < 0) | (taps >= line.size), 0.0, weights)
    if values["antialias"] or values["exclude_outside"]:
        weights = weights / weights.sum(axis=1, keepdims=True)
    return np.clip(taps, 0, line.size - 1), weights


def _rounds_up(ratio: Any, nearest: int) -> Any:
    """Whether the upper neighbour is taken: round_prefer_floor, round_prefer_ceil, floor, ceil."""
    return (ratio > 0.5, ratio >= 0.5, ratio >= 1.0, ratio > 0.0)[nearest]


def cubic_weight(np: Any, distance: Any, a: float) -> Any:
    """Keys' kernel: Cubic convolution interpolation for digital image processing, 1981."""
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


def cubic_slope(np: Any, distance: Any, a: float) -> Any:
    """Its derivative by the distance."""
    near = (3 * (a + 2) * distance - 2 * (a + 3)) * distance
    far = (3 * a * distance - 10 * a) * distance + 8 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


def _apply(np: Any, x: Any, line: Line, taps: Any, weights: Any) -> Any:
    if weights is None:
        return np.take(x, taps[:, 0], axis=line.axis)
    result = 0.0
    for i in range(taps.shape[1]):
        weight = weights[:, i].reshape([-1] + [1] * (x.ndim - 1 - line.axis))
        part = np.take(x, taps[:, i], axis=line.axis)
        # An element without weight isn't looked at: it may be infinite.
        result = result + np.where(weight == 0.0, 0.0, weight * part)
    return result


def _taps_in_all(shape: Shape, values: Values) -> int:
    """How many elements a result is made of."""
    reach = values["mode"]
    if reach == NEAREST:
        return 0
    found = lines(shape, values)
    scales = [min(line.scale, 1.0) if values["antialias"] else 1.0 for line in found]
    return prod(2 * ceil(reach / scale) if scale else 0 for scale in scales)


def _magnitude(np: Any, x: Any, **values: Any) -> Any:
    if values["mode"] == NEAREST:
        return np.zeros(())
    return _resize(np, abs(x), {**values, "extrapolation": 0.0}, abs)


RESIZE = moving(
    280,
    "resize",
    resize,
    summary="Resizes along any dimensions.",
    formula="output[..., i, ...] = the sum of weight * input[..., j, ...] over the neighbours j of "
    "the place that i comes from",
    output=Operand(
        name="output", summary="The shape of input, with the new sizes; from scales rounded down."
    ),
    notes=(
        "Either sizes or scales are given, one for each of axes. With scales a place is computed "
        "by the scale itself, with sizes by new size / old size.",
        "The place x of the result i, with scale s, old size n and length l = s n: half_pixel "
        "(i + 0.5) / s - 0.5; half_pixel_symmetric the same + n / 2 (1 - new size / l); "
        "pytorch_half_pixel the same as half_pixel, but -0.5 where l is 1; align_corners "
        "i (n - 1) / (l - 1); asymmetric i / s; crop "
        "begin (n - 1) + i (end - begin) (n - 1) / (l - 1), with the region of interest.",
        "Neighbours beyond an end are the element there. Places and weights are computed in "
        "float64. An element whose weight is 0 isn't looked at.",
        "linear and cubic are for float64, float32, float16 and bfloat16; nearest is for every "
        "dtype, and exact. Cubic is that of Keys, 1981.",
    ),
    standard=Standard(
        name="Resize", opset=19, note="roi, scales and sizes are attributes; Upsample"
    ),
    attributes=(
        numbers("sizes", "New sizes.", "size_count", minimum=0),
        floats("scales", "New size / old size, above 0.", "scale_count"),
        axes("The dimensions, below 0 from the last; none: all."),
        choice(
            "mode",
            "How a result is made.",
            "wia_resize_mode_t",
            nearest="One of the two neighbours.",
            linear="The two neighbours, weighed by nearness.",
            cubic="The four neighbours, weighed by a cubic.",
        ),
        choice(
            "coordinates",
            "Where a result comes from.",
            "wia_resize_coordinates_t",
            half_pixel="Elements are areas; ends of the line meet.",
            half_pixel_symmetric="Areas, and what is cut off is cut off at both ends.",
            pytorch_half_pixel="Areas, but a single result comes from the first element.",
            align_corners="Elements are points; the first and last ones meet.",
            asymmetric="The first elements meet.",
            crop="The region of interest; what is outside of input has the extrapolation value.",
        ),
        choice(
            "nearest_mode",
            "Which neighbour is the nearest.",
            "wia_resize_nearest_mode_t",
            round_prefer_floor="The nearest; of two the lower.",
            round_prefer_ceil="The nearest; of two the upper.",
            floor="The lower.",
            ceil="The upper.",
        ),
        flag("antialias", "When made smaller, more neighbours count: as many as 1 / scale times."),
        flag("exclude_outside", "Neighbours beyond an end don't count; the others count for them."),
        real("cubic_a", "The parameter of the cubic.", -0.75),
        choice(
            "keep_aspect",
            "Whether sizes are limits.",
            "wia_resize_aspect_t",
            stretch="They are the new sizes.",
            not_larger="All are scaled by the least scale; sizes are rounded.",
            not_smaller="All are scaled by the largest scale; sizes are rounded.",
        ),
        floats(
            "roi",
            "The region of interest for crop: begins, then ends, in parts of the size; none: all.",
            "roi_count",
            length=16,
        ),
    ),
    scalars=(
        Scalar(name="extrapolation", summary="What crop gives outside of input.", default=0.0),
    ),
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 2 * _taps_in_all(shapes[0], values),
        magnitude=_magnitude,
        reason="nearest is exact. Else one rounding in the accumulator for each product and each "
        "sum, relative to the sum of absolute values, and one of the result.",
    ),
    flops=lambda shapes, out, values: 2.0 * elements(out) * _taps_in_all(shapes[0] or (), values),
    samples=(
        Sample(shapes=((8,),), values={"scales": (2.0,)}),
        Sample(
            shapes=((2, 3, 5, 7),),
            values={"sizes": (3, 9), "axes": (2, 3), "nearest_mode": 1},
            fills=("special",),
        ),
        Sample(
            shapes=((1, 2, 9, 6),),
            values={"scales": (1.0, 1.0, 0.4, 1.7), "nearest_mode": 2, "coordinates": 4},
        ),
        Sample(
            shapes=((7, 33),),
            values={"sizes": (5, 3), "nearest_mode": 3, "coordinates": 3, "keep_aspect": 1},
            fills=("wide",),
        ),
        *(
            Sample(shapes=(shape,), values=values, fills=(fill,), dtypes=FLOATS)
            for shape, values, fill in (
                ((1, 2, 4, 5), {"scales": (1.0, 1.0, 2.0, 1.3), "mode": 1}, "normal"),
                ((5, 9), {"sizes": (3, 17), "mode": 1, "coordinates": 3}, "special"),
                ((33,), {"sizes": (7,), "mode": 1, "antialias": 1}, "wide"),
                ((5, 4, 3), {"sizes": (7, 2, 3), "mode": 1, "coordinates": 1}, "normal"),
                ((6, 7), {"sizes": (9, 1), "mode": 2, "coordinates": 2}, "normal"),
                ((6, 7), {"sizes": (3, 11), "mode": 2, "exclude_outside": 1}, "normal"),
                ((12, 5), {"sizes": (5, 3), "mode": 2, "antialias": 1, "cubic_a": -0.5}, "wide"),
                (
                    (4, 6),
                    {
                        "sizes": (3, 5),
                        "mode": 1,
                        "coordinates": 5,
                        "roi": (-0.25, 0.1, 0.75, 1.2),
                        "extrapolation": 10.0,
                    },
                    "normal",
                ),
            )
        ),
        Sample(shapes=((0, 4),), values={"sizes": (2,), "axes": (1,)}),
        Sample(shapes=((4, 6),), values={"sizes": (6, 6), "keep_aspect": 2}),
    ),
    source="ONNX node tests resize_* and upsample_nearest; values by hand",
)

OPERATIONS = (RESIZE,)
