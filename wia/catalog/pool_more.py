"""Pooling to a given size, and the way back from largest elements."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from ._cost import elements, moves_only, per_input
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
from ._numeric import OperandError, narrow, widen
from ._windows import MOST, PADDINGS, spread
from .pool_nd import IMAGES, KERNEL, STEP


def _size(summary: str) -> Attribute:
    return Attribute(
        name="size",
        summary=summary,
        default=(),
        length=MOST,
        variable=True,
        length_field="size_count",
        maximum=INT32_MAX,
        field="int64_t",
    )


def _sizes(values: Values, shape: Shape) -> Shape:
    return spread(values["size"], len(shape) - 2, 1)


def parts_of(shape: Shape, sizes: Shape) -> Iterator[tuple[Shape, tuple[slice, ...]]]:
    """For each place of the result, the part of the input that it stands for."""
    for place in product(*map(range, sizes)):
        yield (
            place,
            tuple(
                slice(at * size // count, -(-(at + 1) * size // count))
                for at, size, count in zip(place, shape[2:], sizes, strict=True)
            ),
        )


def _pool_parts(np: Any, x: Any, sizes: Shape, take: Any) -> Any:
    wide = widen(np, x)
    total = np.zeros((*x.shape[:2], *sizes), wide.dtype)
    for place, part in parts_of(x.shape, sizes):
        rows = wide[(..., *part)]
        rows = np.ascontiguousarray(rows).reshape(*x.shape[:2], elements(rows.shape[2:]))
        total[(..., *place)] = take(rows, axis=-1)
    return total


def adaptive_avg_pool(np: Any, x: Any, **values: Any) -> Any:
    """The mean of each of equally many parts, which overlap where sizes don't divide."""
    return narrow(np, _pool_parts(np, x, _sizes(values, x.shape), np.mean), x.dtype)


def adaptive_max_pool(np: Any, x: Any, **values: Any) -> Any:
    """The largest element of each part; NaN wins."""
    sizes = _sizes(values, x.shape)
    if x.size == 0:
        return np.zeros((*x.shape[:2], *sizes), x.dtype)
    return _pool_parts(np, x, sizes, np.max).astype(x.dtype)


def unpooled_shape(shape: Shape, values: Values) -> Shape:
    """The shape that the windows of max_unpool reach over."""
    count = len(shape) - 2
    kernel = spread(values["kernel"], count, 1)
    steps = spread(values["stride"], count, 0)
    padding = spread(values["padding"], 2 * count, 0)
    return (
        *shape[:2],
        *(
            (size - 1) * (step or span) + span - padding[i] - padding[count + i]
            for i, (size, step, span) in enumerate(zip(shape[2:], steps, kernel, strict=True))
        ),
    )


def max_unpool(np: Any, x: Any, indices: Any, *, size: Any, **values: Any) -> Any:
    """Zeros, and each element where its index says; of several the last one stays."""
    inner = unpooled_shape(x.shape, values)
    flat = np.zeros(elements(inner), x.dtype)
    wrong = (indices < 0) | (indices >= flat.size)
    if wrong.any():
        raise OperandError(
            f"max_unpool: an index is {indices[wrong].flat[0]}; expected 0 to {flat.size - 1}"
        )
    # Where an index comes twice, which assignment wins is numpy's choice: so none does.
    order, places = x.ravel(), indices.ravel()
    _, first = np.unique(places[::-1], return_index=True)
    last = places.size - 1 - first
    flat[places[last]] = order[last]
    outer = (*x.shape[:2], *(spread(size, x.ndim - 2, 0) if size else inner[2:]))
    result = np.zeros(outer, x.dtype)
    kept = tuple(slice(0, count) for count in inner)
    result[kept] = flat.reshape(inner)
    return result


def _absolute_average(np: Any, x: Any, **values: Any) -> Any:
    return adaptive_avg_pool(np, abs(x), **values)


def _part_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    shape = shapes[0] or (0, 0)
    sizes = _sizes(values, shape)
    return (
        elements(tuple(-(-n // max(m, 1)) + 1 for n, m in zip(shape[2:], sizes, strict=True))) + 1
    )


_SIZES = _size("Sizes of the output without n and c; one value: for all; have to be given.")
_OUTPUT = Operand(name="output", summary="[n, c, size].")
_PARTS = (
    "Part i of m of a dimension of size n has the elements from i * n / m, rounded down, up to "
    "(i + 1) * n / m, rounded up: they overlap where m doesn't divide n."
)
_SAMPLES = (
    Sample(shapes=((1, 2, 7, 9),), values={"size": (3, 4)}),
    Sample(shapes=((2, 3, 33),), values={"size": (1,)}),
    Sample(shapes=((1, 2, 3, 4, 2),), values={"size": (5,)}),
    Sample(shapes=((2, 1, 8, 8),), values={"size": (4, 2)}, fills=("special",)),
    Sample(shapes=((0, 2, 4),), values={"size": (2,)}),
    Sample(shapes=((1, 2, 4),), values={"size": (0,)}),
)

MAX_UNPOOL = Operation(
    number=183,
    name="max_unpool",
    summary="Puts largest elements back where a max_pool took them, with zeros between.",
    formula="output.flat[indices[i]] = input[i], else 0",
    inputs=(
        IMAGES,
        Operand(
            name="indices",
            summary="The second output of max_pool, in row-major order; the shape of input.",
            dtypes=("int64",),
        ),
    ),
    outputs=(
        Operand(
            name="output",
            summary="[n, c, size]; without size each one is (size of input - 1) * stride + kernel "
            "- padding.",
        ),
    ),
    family="max_unpool",
    dtypes=(*FLOATS, "int8", "uint8"),
    semantics=max_unpool,
    notes=(
        "An index counts in the shape that the output has without size; a larger size adds zeros "
        "at the end of each dimension. Of equal indices the last one in row-major order counts. "
        "One out of range is INVALID_ARGUMENT.",
    ),
    standard=Standard(
        name="MaxUnpool", opset=22, note="up to three dimensions; output_shape is an attribute"
    ),
    attributes=(
        KERNEL,
        STEP,
        PADDINGS,
        _size("Sizes of the output without n and c; none: what the windows reach over."),
    ),
    config="wia_max_unpool_config_t",
    tolerance=Tolerance(),
    flops=moves_only,
    samples=(
        Sample(
            shapes=((1, 2, 3, 2), (1, 2, 3, 2)),
            values={"kernel": (2,)},
            fills=("normal", "0..48"),
        ),
        Sample(
            shapes=((2, 1, 9), (2, 1, 9)),
            values={"kernel": (3,), "stride": (2,), "padding": (1,), "size": (20,)},
            fills=("normal", "0..34"),
        ),
        Sample(
            shapes=((1, 1, 2, 2, 1), (1, 1, 2, 2, 1)),
            values={"kernel": (2, 1, 3)},
            fills=("special", "0..24"),
        ),
        Sample(shapes=((0, 2, 4), (0, 2, 4)), values={"kernel": (2,)}),
    ),
    source="ONNX node tests maxunpool_*; equal indices by hand",
)

ADAPTIVE_AVG_POOL = Operation(
    number=187,
    name="adaptive_avg_pool",
    summary="Means of parts of each image, as many as the output has elements.",
    formula="output[n, c, i] = mean of input[n, c, y] over the y of part i",
    inputs=(IMAGES,),
    outputs=(_OUTPUT,),
    family="adaptive_pool",
    dtypes=FLOATS,
    semantics=adaptive_avg_pool,
    notes=(_PARTS, "NaN spreads. No part is empty, unless the output is."),
    attributes=(_SIZES,),
    config="wia_adaptive_pool_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=_part_length,
        magnitude=_absolute_average,
        reason="Any order of summation: one rounding in the accumulator per element and one more, "
        "relative to the mean of absolute values, and one of the result.",
    ),
    flops=per_input(),
    samples=_SAMPLES,
    source="the definition of torch.nn.AdaptiveAvgPool2d, worked by hand",
)

ADAPTIVE_MAX_POOL = Operation(
    number=188,
    name="adaptive_max_pool",
    summary="Largest elements of parts of each image, as many as the output has elements.",
    formula="output[n, c, i] = max of input[n, c, y] over the y of part i",
    inputs=(IMAGES,),
    outputs=(_OUTPUT,),
    family="adaptive_pool",
    dtypes=(*FLOATS, "int8", "uint8"),
    semantics=adaptive_max_pool,
    notes=(_PARTS, "NaN wins. No part is empty, unless the output is."),
    attributes=(_SIZES,),
    config="wia_adaptive_pool_config_t",
    tolerance=Tolerance(),
    flops=per_input(),
    samples=_SAMPLES,
    source="the definition of torch.nn.AdaptiveMaxPool2d, worked by hand",
)

OPERATIONS = (MAX_UNPOOL, ADAPTIVE_AVG_POOL, ADAPTIVE_MAX_POOL)
