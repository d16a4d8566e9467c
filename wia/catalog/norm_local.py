"""Normalisation across channels, over chosen dimensions, and by a norm."""

from __future__ import annotations

from typing import Any

from ._cost import elements, per_output
from ._forms import one_axis
from ._model import (
    FLOATS,
    INT32_MAX,
    Attribute,
    Operand,
    Operation,
    Sample,
    Scalar,
    Shape,
    Standard,
    Tolerance,
    Values,
)
from ._numeric import narrow, widen
from .norm import sum_along

_OUTPUT = Operand(name="output", summary="The shape of input.")


def _base(np: Any, wide: Any, size: int, alpha: float, bias: float) -> Any:
    before, after = (size - 1) // 2, size // 2
    none = [(0, 0)] * (wide.ndim - 2)
    squares = np.pad(wide * wide, ((0, 0), (before, after), *none))
    total = np.zeros_like(wide)
    for i in range(size):
        total = total + squares[:, i : i + wide.shape[1]]
    return bias + alpha / size * total


def lrn(np: Any, x: Any, *, size: int, alpha: float, beta: float, bias: float) -> Any:
    """Divides by a power of the sum of squares over neighbouring channels."""
    wide = widen(np, x)
    return narrow(np, wide / _base(np, wide, size, alpha, bias) ** beta, x.dtype)


def _axes(array: Any, axes: Any) -> tuple[int, ...]:
    return tuple(axis % array.ndim for axis in axes) or tuple(range(array.ndim))


def _moments(np: Any, wide: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Mean and variance over dimensions, kept, in an order that strides don't change."""
    kept = [i for i in range(wide.ndim) if i not in axes]
    rows = np.ascontiguousarray(np.transpose(wide, (*kept, *sorted(axes))))
    rows = rows.reshape(elements(tuple(wide.shape[i] for i in kept)), -1)
    shape = tuple(1 if i in axes else size for i, size in enumerate(wide.shape))
    mean = rows.mean(axis=1)
    centred = rows - mean[:, None]
    return mean.reshape(shape), (centred * centred).mean(axis=1).reshape(shape)


def mean_variance_norm(np: Any, x: Any, *, axes: Any, epsilon: float) -> Any:
    """Mean 0 and variance 1 over the axes."""
    if x.size == 0:
        return x.copy()
    wide = widen(np, x)
    mean, variance = _moments(np, wide, _axes(x, axes))
    return narrow(np, (wide - mean) / (np.sqrt(variance) + epsilon), x.dtype)


def lp_norm(np: Any, x: Any, *, axis: int, p: int) -> Any:
    """Divides by the sum of absolute values, or by the root of the sum of squares."""
    wide = widen(np, x)
    if p == 1:
        norm = sum_along(np, np.abs(wide), axis)
    else:
        norm = np.sqrt(sum_along(np, wide * wide, axis))
    return narrow(np, np.where(norm == 0, 0.0, wide / norm), x.dtype)


def _lrn_magnitude(np: Any, x: Any, *, size: int, alpha: float, beta: float, bias: float) -> Any:
    base = _base(np, x, size, alpha, bias)
    spread = _base(np, x, size, abs(alpha), abs(bias)) / abs(base)
    return abs(x / base**beta) * (1.0 + abs(beta) * spread + abs(beta * np.log(abs(base))))


def _variance_magnitude(np: Any, x: Any, *, axes: Any, epsilon: float) -> Any:
    if x.size == 0:
        return x
    chosen = _axes(x, axes)
    deviation = np.sqrt(_moments(np, x, chosen)[1]) + epsilon
    return (abs(x) + _moments(np, abs(x), chosen)[0]) / deviation


def _lp_magnitude(np: Any, x: Any, **values: Any) -> Any:
    return abs(lp_norm(np, x, **values))


def _variance_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    shape, axes = shapes[0] or (), values["axes"]
    return 2 * elements(tuple(shape[axis] for axis in axes) if axes else shape) + 8


LRN = Operation(
    number=193,
    name="lrn",
    summary="Local response normalisation: over neighbouring channels.",
    formula="output[n, c, ...] = input / (bias + alpha / size * sum of input^2 over channels c - "
    "(size - 1) / 2 to c + size / 2, rounded down)^beta",
    inputs=(Operand(name="input", summary="[n, c, ...]."),),
    outputs=(_OUTPUT,),
    family="lrn",
    dtypes=FLOATS,
    semantics=lrn,
    notes=("Channels that aren't there count as 0.",),
    standard=Standard(name="LRN", opset=13),
    attributes=(
        Attribute(
            name="size",
            summary="Channels to sum over.",
            default=1,
            minimum=1,
            maximum=INT32_MAX,
            zero_is_default=True,
            field="int64_t",
        ),
    ),
    scalars=(
        Scalar(name="alpha", summary="Factor of the mean of squares.", default=1e-4),
        Scalar(name="beta", summary="The power.", default=0.75),
        Scalar(name="bias", summary="Added before the power.", default=1.0),
    ),
    config="wia_lrn_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: values["size"] + 12,
        magnitude=_lrn_magnitude,
        reason="One rounding per summand and twelve more, relative to the result and to how the "
        "power magnifies errors of its base.",
    ),
    flops=per_output(6.0),
    samples=(
        Sample(shapes=((1, 5, 3, 3),), values={"size": 3}),
        Sample(shapes=((2, 4, 33),), values={"size": 4, "alpha": 0.5, "beta": 0.5, "bias": 2.0}),
        Sample(shapes=((2, 3),), values={"size": 7, "alpha": 1.0}),
        Sample(shapes=((0, 3, 2),), values={"size": 3}),
    ),
    source="ONNX node tests lrn*",
)

MEAN_VARIANCE_NORM = Operation(
    number=194,
    name="mean_variance_norm",
    summary="Mean 0 and variance 1 over dimensions.",
    formula="output = (input - mean) / (sqrt(variance) + epsilon)",
    inputs=(Operand(name="input", summary="Any shape."),),
    outputs=(_OUTPUT,),
    family="mean_variance_norm",
    dtypes=FLOATS,
    semantics=mean_variance_norm,
    notes=("The variance is that of the population: divided by the number of elements.",),
    standard=Standard(name="MeanVarianceNormalization", opset=13),
    attributes=(
        Attribute(
            name="axes",
            summary="The dimensions to normalise over, below 0 from the last; none: all.",
            default=(0, 2, 3),
            length=8,
            variable=True,
            length_field="axis_count",
            minimum=-8,
            maximum=7,
        ),
    ),
    scalars=(Scalar(name="epsilon", summary="Added to the deviation.", default=1e-9),),
    config="wia_mean_variance_norm_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=_variance_length,
        magnitude=_variance_magnitude,
        reason="Two sums over the elements and eight roundings, relative to what the formula gives "
        "with absolute values; the variance is taken of centred values.",
    ),
    flops=per_output(8.0),
    samples=(
        Sample(shapes=((2, 3, 4, 5),)),
        Sample(shapes=((3, 33),), values={"axes": (-1,), "epsilon": 0.1}),
        Sample(shapes=((4, 5),), values={"axes": ()}),
        Sample(shapes=((0, 3, 2, 2),)),
    ),
    source="ONNX node test mvn",
)

LP_NORM = Operation(
    number=195,
    name="lp_norm",
    summary="Divides by the norm along a dimension.",
    formula="output = input / (sum |input|^p over axis)^(1/p), or 0 where that is 0",
    inputs=(Operand(name="input", summary="Rank 1 or more."),),
    outputs=(_OUTPUT,),
    family="softmax",
    dtypes=FLOATS,
    semantics=lp_norm,
    standard=Standard(name="LpNormalization", opset=22),
    attributes=(
        one_axis("The dimension to take the norm of; below 0 from the last."),
        Attribute(
            name="p",
            summary="1: absolute values; 2: squares.",
            default=2,
            minimum=1,
            maximum=2,
            zero_is_default=True,
        ),
    ),
    config="wia_lp_norm_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: (shapes[0] or (0,))[values["axis"]] + 6,
        magnitude=_lp_magnitude,
        reason="All terms of the norm are positive: relative to the result, one rounding per term "
        "and six more.",
    ),
    flops=per_output(4.0),
    samples=(
        Sample(shapes=((3, 33),)),
        Sample(shapes=((2, 9, 4),), values={"axis": 1, "p": 1}),
        Sample(shapes=((5,),), values={"p": 1}),
        Sample(shapes=((0, 3),)),
    ),
    source="ONNX node tests l1normalization_*, l2normalization_* and lpnormalization_default",
)

OPERATIONS = (LRN, MEAN_VARIANCE_NORM, LP_NORM)
