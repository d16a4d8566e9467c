"""What pools of regions, sampling and resizing give back, where gradients are made of it."""

from __future__ import annotations

from itertools import product
from typing import Any

from ._backward import GRAD, absolute, summed
from ._cost import elements, per_input
from ._forms import target_shape
from ._model import FLOATS, Operand, Operation, Sample, Shape, Tolerance
from ._numeric import narrow, widen
from ._windows import spread
from .grid import GRID_SAMPLE, lines_of
from .pool_more import ADAPTIVE_MAX_POOL, parts_of
from .regions import MAX_ROI_POOL, ROI_ALIGN, cells_of, samples_of
from .resize import RESIZE, steps_of

# -- semantics -------------------------------------------------------------------------------------


def _give_first(np: Any, total: Any, wide: Any, part: tuple[slice, ...], grad: Any) -> None:
    """Adds to the largest element of a part of each image, the first of equals or of NaNs."""
    rows = wide[(..., *part)]
    lead = rows.shape[: -len(part)]
    first = rows.reshape(*lead, elements(rows.shape[len(lead) :])).argmax(axis=-1)
    places = np.unravel_index(first, rows.shape[len(lead) :])
    inner = tuple(own.start + place for own, place in zip(part, places, strict=True))
    outer = np.ix_(*map(range, lead))
    total[(*outer, *inner)] += grad


def adaptive_max_pool_gradient(np: Any, grad: Any, x: Any, **values: Any) -> Any:
    """Each gradient goes to the largest element of its part, the first of equals or of NaNs."""
    total, wide, slopes = np.zeros(x.shape), widen(np, x), widen(np, grad)
    if x.size:
        sizes = spread(values["size"], x.ndim - 2, 1)
        for place, part in parts_of(x.shape, sizes):
            _give_first(np, total, wide, part, slopes[(..., *place)])
    return narrow(np, total, grad.dtype)


def max_roi_pool_gradient(np: Any, grad: Any, x: Any, rois: Any, **values: Any) -> Any:
    """Each gradient goes to the largest pixel of its cell, the first of equals or of NaNs."""
    total, wide, slopes = np.zeros(x.shape), widen(np, x), widen(np, grad)
    for i, row, column, image, part in cells_of(np, x.shape, rois, values):
        _give_first(np, total[image], wide[image], part, slopes[i, :, row, column])
    return narrow(np, total, grad.dtype)


def roi_align_gradient(
    np: Any, grad: Any, x: Any, rois: Any, batch_indices: Any, *, mode: int, **values: Any
) -> Any:
    """Each gradient goes to the pixels of its cell by their weights, or to the largest one."""
    total, wide, slopes = np.zeros(x.shape), widen(np, x), widen(np, grad)
    for i, image, taps in samples_of(np, x.shape, rois, batch_indices, values):
        if taps is None:
            total[image] = np.nan
            continue
        samples, every = max(len(taps) // 4, 1), np.arange(x.shape[1])[:, None, None]
        if not mode:
            for row, column, weight in taps:
                np.add.at(total[image], (every, row, column), slopes[i] * (weight / samples))
            continue
        if not taps:
            continue
        pixels = [wide[image][:, row, column] for row, column, _ in taps]
        parts = [np.where(w == 0.0, 0.0, w * p) for (_, _, w), p in zip(taps, pixels, strict=True)]
        best = np.stack(parts).argmax(axis=0)
        for place, (row, column, weight) in enumerate(taps):
            given = np.where(best == place, slopes[i] * weight, 0.0)
            np.add.at(total[image], (every, row, column), given)
    return narrow(np, total, grad.dtype)


def grid_sample_gradient(np: Any, grad: Any, x: Any, grid: Any, **values: Any) -> tuple[Any, Any]:
    """Each gradient goes to the neighbours by their weights; places by the slopes of these."""
    sides = x.shape[2:]
    by_x, by_grid = np.zeros(x.shape), np.zeros(grid.shape)
    slopes = widen(np, grad)
    for batch in range(x.shape[0]):
        image = widen(np, x[batch])
        lines = lines_of(np, grid[batch], sides, **values)
        for taps in product(*lines):
            index = tuple(tap.index for tap in taps)
            weight, inside = 1.0, True
            for tap in taps:
                weight, inside = weight * tap.weight, inside & tap.inside
            given = np.where(inside & (weight != 0.0), weight * slopes[batch], 0.0)
            every = np.arange(x.shape[1]).reshape(-1, *[1] * len(sides))
            np.add.at(by_x[batch], (every, *index), given)
            seen = (image[(slice(None), *index)] * slopes[batch]).sum(axis=0)
            for d, tap in enumerate(taps):
                turn = tap.slope
                for other in taps[:d] + taps[d + 1 :]:
                    turn = turn * other.weight
                moved = np.where(inside & (turn != 0.0), seen * turn, 0.0)
                by_grid[batch, ..., len(sides) - 1 - d] += moved
    return narrow(np, by_x, grad.dtype), narrow(np, by_grid, grad.dtype)


def resize_gradient(np: Any, grad: Any, *, shape: Any, **values: Any) -> Any:
    """Each gradient goes to the elements that its result was made of, by their weights."""
    result = widen(np, grad)
    if result.size == 0:
        return np.zeros(shape, grad.dtype)
    steps = steps_of(np, tuple(shape), values)
    for line, _, _, outside in steps:
        if outside is not None:
            result = result.copy()
            np.moveaxis(result, line.axis, 0)[outside] = 0.0
    for line, taps, weights, _ in reversed(steps):
        rows = np.moveaxis(result, line.axis, 0)
        total = np.zeros((line.size, *rows.shape[1:]))
        for i in range(taps.shape[1]):
            own = np.ones(len(taps)) if weights is None else weights[:, i]
            weight = own.reshape(-1, *[1] * (rows.ndim - 1))
            np.add.at(total, taps[:, i], np.where(weight == 0.0, 0.0, weight * rows))
        result = np.moveaxis(total, 0, line.axis)
    return narrow(np, np.ascontiguousarray(result), grad.dtype)


# -- entries ---------------------------------------------------------------------------------------


def _entry(number: int, of: Operation, summary: str, formula: str, **more: Any) -> Operation:
    """Inputs are grad, then those of the operation; the first output has the shape of its input."""
    given: dict[str, Any] = {
        "inputs": (GRAD, *of.inputs),
        "outputs": (Operand(name="output", summary="The shape of input."),),
        "family": f"{of.name}_gradient",
        "attributes": of.attributes,
        "config": of.config,
        "flops": per_input(),
        "source": "finite differences; equals by hand",
        **more,
    }
    return Operation(
        number=number,
        name=f"{of.name}_gradient",
        summary=summary,
        formula=formula,
        dtypes=FLOATS,
        **given,
    )


ADAPTIVE_MAX_POOL_GRADIENT = _entry(
    438,
    ADAPTIVE_MAX_POOL,
    "Gradient of adaptive_max_pool.",
    "output = sum of grad over the parts whose largest element it is",
    semantics=adaptive_max_pool_gradient,
    no_gradient="no operation gives the places of the largest elements, which it would need",
    notes=("Of equals, and of NaNs, the first one gets the gradient, row by row.",),
    tolerance=summed(
        lambda shapes, values: 2 ** (len(shapes[1] or ()) - 2),
        absolute(adaptive_max_pool_gradient, 0),
        "the parts that an element is in",
    ),
    samples=(
        Sample(shapes=((1, 2, 3, 4), (1, 2, 7, 9)), values={"size": (3, 4)}),
        Sample(shapes=((2, 3, 2), (2, 3, 33)), values={"size": (2,)}),
        Sample(shapes=((1, 2, 5, 5, 5), (1, 2, 3, 4, 2)), values={"size": (5,)}),
        Sample(
            shapes=((2, 1, 4, 2), (2, 1, 8, 8)),
            values={"size": (4, 2)},
            fills=("normal", "special"),
        ),
        Sample(shapes=((0, 2, 2), (0, 2, 4)), values={"size": (2,)}),
    ),
)

MAX_ROI_POOL_GRADIENT = _entry(
    439,
    MAX_ROI_POOL,
    "Gradient of max_roi_pool by its input.",
    "output = sum of grad over the cells whose largest pixel it is",
    semantics=max_roi_pool_gradient,
    no_gradient="no operation gives the places of the largest elements, which it would need",
    notes=("Of equals, and of NaNs, the first one gets the gradient, row by row.",),
    tolerance=summed(
        lambda shapes, values: elements((shapes[0] or (0, 0))[2:]) * (shapes[0] or (0,))[0],
        absolute(max_roi_pool_gradient, 0),
        "the cells that a pixel is in",
    ),
    samples=(
        Sample(
            shapes=((4, 2, 2, 3), (1, 2, 7, 9), (4, 5)),
            values={"height": 2, "width": 3, "spatial_scale": 4.0},
            fills=("normal", "normal", "0..0.9"),
        ),
        Sample(
            shapes=((3, 1, 3, 2), (1, 1, 6, 33), (3, 5)),
            values={"height": 3, "width": 2, "spatial_scale": 8.0},
            fills=("normal", "special", "0..0.9"),
        ),
        Sample(shapes=((0, 2, 2, 2), (1, 2, 3, 3), (0, 5)), values={"height": 2, "width": 2}),
    ),
)


def _roi_size(np: Any, grad: Any, x: Any, rois: Any, batch: Any, **values: Any) -> Any:
    """The sum of absolute values, and what the rounding of places moves between neighbours."""
    whole = abs(grad).sum()
    far = 2.0 + sum(x.shape[2:]) + abs(rois).max(initial=0.0) * values["spatial_scale"]
    return np.full(x.shape, whole * far)


ROI_ALIGN_GRADIENT = _entry(
    440,
    ROI_ALIGN,
    "Gradient of roi_align by its input.",
    "output = sum of grad times the weight with which it was looked at",
    semantics=roi_align_gradient,
    notes=(
        "In the mode max the largest weighed pixel gets it, the first of equals. A region that "
        "isn't finite gives NaN to its image.",
    ),
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 64,
        magnitude=_roi_size,
        reason="The places are rounded, which moves weights between neighbours. Relative to the "
        "sum of absolute gradients and the size of images and regions.",
    ),
    samples=(
        Sample(
            shapes=((4, 3, 2, 3), (2, 3, 9, 8), (4, 4), (4,)),
            values={"height": 2, "width": 3, "sampling_ratio": 2},
            fills=("normal", "normal", "0..8", "0..2"),
        ),
        Sample(
            shapes=((3, 1, 3, 3), (1, 1, 5, 33), (3, 4), (3,)),
            values={"height": 3, "width": 3, "sampling_ratio": 1, "coordinates": 1},
            fills=("special", "wide", "0..8", "0..1"),
        ),
        Sample(
            shapes=((2, 2, 2, 1), (1, 2, 6, 6), (2, 4), (2,)),
            values={"height": 2, "width": 1, "sampling_ratio": 3, "mode": 1, "spatial_scale": 0.5},
            fills=("normal", "normal", "0..12", "0..1"),
        ),
        Sample(shapes=((0, 2, 2, 2), (1, 2, 3, 3), (0, 4), (0,)), values={"height": 2, "width": 2}),
    ),
)


def _sampled(np: Any, grad: Any, x: Any, grid: Any, **values: Any) -> Any:
    """The sum of absolute gradients, and how far the rounding of places moves them."""
    reach = 1.0 + sum(x.shape[2:]) * (
        1.0 + abs(np.where(np.isfinite(grid), grid, 0.0)).max(initial=0)
    )
    return np.full(x.shape, abs(grad).sum() * reach)


def _turned(np: Any, grad: Any, x: Any, grid: Any, **values: Any) -> Any:
    """The same of places, whose slopes are as steep as lines are long, times the largest pixel."""
    top = abs(np.where(np.isfinite(x), x, 0.0)).max(initial=0.0)
    sides = sum(x.shape[2:])
    reach = 1.0 + sides * (1.0 + abs(np.where(np.isfinite(grid), grid, 0.0)).max(initial=0))
    return np.full(grid.shape, abs(grad).sum() * top * reach * sides)


def _moved(magnitude: Any) -> Tolerance:
    return Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 64,
        magnitude=magnitude,
        reason="Places are rounded, which moves weights between up to 64 neighbours. Relative to "
        "the sum of absolute gradients, and the length of the lines.",
    )


GRID_SAMPLE_GRADIENT = _entry(
    441,
    GRID_SAMPLE,
    "Gradients of grid_sample.",
    "by_input = sum of grad * weight; by_grid = sum of grad * input * slope of the weight",
    semantics=grid_sample_gradient,
    no_gradient="the catalog has no operation for second derivatives of sampling",
    outputs=(
        Operand(name="by_input", summary="The shape of input.", tolerance=_moved(_sampled)),
        Operand(name="by_grid", summary="The shape of grid.", tolerance=_moved(_turned)),
    ),
    notes=(
        "Where padding holds a place at an end, and in the mode nearest, the gradient of the place "
        "is 0. That of NaN is 0.",
    ),
    tolerance=_moved(_sampled),
    source="finite differences; torch.nn.functional.grid_sample",
    samples=(
        Sample(shapes=((1, 2, 3, 3), (1, 2, 4, 5), (1, 3, 3, 2))),
        Sample(
            shapes=((2, 1, 2, 5), (2, 1, 3, 4), (2, 2, 5, 2)),
            values={"padding_mode": 1, "align_corners": 1},
        ),
        Sample(
            shapes=((1, 3, 9, 1), (1, 3, 5, 4), (1, 9, 1, 2)),
            values={"mode": 2, "padding_mode": 2},
        ),
        Sample(
            shapes=((2, 2, 1, 2, 3), (2, 2, 3, 3, 2), (2, 1, 2, 3, 3)), values={"padding_mode": 2}
        ),
        Sample(
            shapes=((1, 1, 4, 33), (1, 1, 4, 3), (1, 4, 33, 2)),
            values={"mode": 1},
            fills=("special", "normal", "special"),
        ),
        Sample(shapes=((1, 2, 0, 4), (1, 2, 3, 3), (1, 0, 4, 2))),
    ),
)


def _resized(np: Any, grad: Any, **values: Any) -> Any:
    size = abs(resize_gradient(np, abs(grad), **values))
    # Weights of a cubic have both signs.
    return size if values["mode"] < 2 else np.full(size.shape, 4.0 * abs(grad).sum())


def _resize_samples() -> tuple[Sample, ...]:
    """Calls of resize, the other way round."""
    cases: tuple[tuple[Shape, Shape, dict[str, Any], str], ...] = (
        ((1, 2, 4, 5), (1, 2, 8, 6), {"scales": (1.0, 1.0, 2.0, 1.3), "mode": 1}, "normal"),
        ((5, 9), (3, 17), {"sizes": (3, 17), "mode": 1, "coordinates": 3}, "special"),
        ((33,), (7,), {"sizes": (7,), "mode": 1, "antialias": 1}, "wide"),
        (
            (2, 3, 5, 7),
            (2, 3, 3, 9),
            {"sizes": (3, 9), "axes": (2, 3), "nearest_mode": 1},
            "normal",
        ),
        ((6, 7), (9, 1), {"sizes": (9, 1), "mode": 2, "coordinates": 2}, "normal"),
        ((6, 7), (3, 11), {"sizes": (3, 11), "mode": 2, "exclude_outside": 1}, "normal"),
        (
            (4, 6),
            (3, 5),
            {"sizes": (3, 5), "mode": 1, "coordinates": 5, "roi": (-0.25, 0.1, 0.75, 1.2)},
            "normal",
        ),
        ((0, 4), (0, 2), {"sizes": (2,), "axes": (1,)}, "normal"),
        ((3, 4), (4, 8), {"scales": (1.5, 2.0), "mode": 1, "coordinates": 1}, "normal"),
        ((3, 4), (4, 8), {"scales": (1.5, 2.0), "coordinates": 4, "nearest_mode": 2}, "normal"),
        ((3, 4), (4, 8), {"scales": (1.5, 2.0), "nearest_mode": 3}, "normal"),
        ((4, 6), (4, 6), {"sizes": (6, 6), "mode": 1, "keep_aspect": 1}, "normal"),
        ((4, 6), (6, 9), {"sizes": (6, 6), "mode": 1, "keep_aspect": 2}, "normal"),
    )
    return tuple(
        Sample(shapes=(result,), values={"shape": shape, **values}, fills=(fill,))
        for shape, result, values, fill in cases
    )


RESIZE_GRADIENT = _entry(
    442,
    RESIZE,
    "Gradient of resize.",
    "output = sum of grad times the weight with which it was looked at",
    semantics=resize_gradient,
    inputs=(GRAD,),
    config="wia_resize_gradient_config_t",
    attributes=(target_shape("The shape of the input"), *RESIZE.attributes),
    notes=("What crop gave from outside of the input gives nothing back.",),
    tolerance=summed(
        lambda shapes, values: elements(shapes[0]),
        _resized,
        "the results that an element is in",
    ),
    source="finite differences; torch.nn.functional.interpolate",
    samples=_resize_samples(),
)

OPERATIONS = (
    ADAPTIVE_MAX_POOL_GRADIENT,
    MAX_ROI_POOL_GRADIENT,
    ROI_ALIGN_GRADIENT,
    GRID_SAMPLE_GRADIENT,
    RESIZE_GRADIENT,
)
