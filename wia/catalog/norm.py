"""Softmax and normalisation."""

from __future__ import annotations

from typing import Any

from ._cost import elements
from ._forms import one_axis
from ._model import (
    FLOATS,
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

EPSILON = Scalar(name="epsilon", summary="Added to the variance.", default=1e-5)


def softmax(np: Any, x: Any, *, axis: int) -> Any:
    """exp(x - max) divided by its sum along the axis."""
    wide = widen(np, x)
    if wide.size == 0:
        return x.copy()
    powers = np.exp(wide - wide.max(axis=axis, keepdims=True))
    return narrow(np, powers / sum_along(np, powers, axis), x.dtype)


def sum_along(np: Any, array: Any, axis: int) -> Any:
    """Sum along an axis, kept, in an order that doesn't depend on the other dimensions."""
    moved = np.ascontiguousarray(np.moveaxis(array, axis, -1))
    return np.moveaxis(moved.sum(axis=-1, keepdims=True), -1, axis)


def layer_norm(
    np: Any, x: Any, weight: Any = None, bias: Any = None, *, axis: int, epsilon: float
) -> Any:
    """Mean 0 and variance 1 over the dimensions from axis on, then scaled and shifted."""
    if x.size == 0:
        return x.copy()
    rows = widen(np, x).reshape(*x.shape[: axis % x.ndim], -1)
    centred = rows - rows.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    total = (centred / np.sqrt(variance + epsilon)).reshape(x.shape)
    total = total if weight is None else total * widen(np, weight)
    total = total if bias is None else total + widen(np, bias)
    return narrow(np, total, x.dtype)


def batch_norm(
    np: Any,
    x: Any,
    mean: Any,
    variance: Any,
    weight: Any = None,
    bias: Any = None,
    *,
    epsilon: float,
) -> Any:
    """Normalises each channel by a given mean and variance, then scales and shifts."""
    channel = (slice(None), *([None] * (x.ndim - 2)))
    total = widen(np, x) - widen(np, mean)[channel]
    total = total / np.sqrt(widen(np, variance)[channel] + epsilon)
    total = total if weight is None else total * widen(np, weight)[channel]
    total = total if bias is None else total + widen(np, bias)[channel]
    return narrow(np, total, x.dtype)


def softmax_distance(np: Any, x: Any, axis: int) -> Any:
    """1 and how far elements are from the largest one: what their errors grow with."""
    if x.size == 0:
        return x
    distance = abs(x - x.max(axis=axis, keepdims=True))
    return 1.0 + np.where(np.isfinite(distance), distance, 0.0)


def softmax_magnitude(np: Any, x: Any, *, axis: int) -> Any:
    """What the roundings of a share are relative to: itself, and how far it is from the top."""
    return softmax(np, x, axis=axis) * softmax_distance(np, x, axis)


def layer_magnitude(
    np: Any, x: Any, weight: Any = None, bias: Any = None, *, axis: int, epsilon: float
) -> Any:
    """What the formula gives with absolute values."""
    if x.size == 0:
        return x
    rows = x.reshape(*x.shape[: axis % x.ndim], -1)
    deviation = np.sqrt(rows.var(axis=-1, keepdims=True) + epsilon)
    # One pass for mean and variance would cancel where the mean is large: that is not granted.
    spread = (abs(rows) + abs(rows).mean(axis=-1, keepdims=True)) / deviation
    total = spread.reshape(x.shape)
    total = total if weight is None else total * abs(weight)
    return total if bias is None else total + abs(bias)


def _batch_magnitude(
    np: Any,
    x: Any,
    mean: Any,
    variance: Any,
    weight: Any = None,
    bias: Any = None,
    *,
    epsilon: float,
) -> Any:
    channel = (slice(None), *([None] * (x.ndim - 2)))
    total = (abs(x) + abs(mean)[channel]) / np.sqrt(variance[channel] + epsilon)
    total = total if weight is None else total * abs(weight)[channel]
    return total if bias is None else total + abs(bias)[channel]


def softmax_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    """Roundings of one result: a summand for each element, and six more."""
    return (shapes[0] or (0,))[values["axis"]] + 6


def layer_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    """Roundings of one result: two sums over the elements, and eight more."""
    shape = shapes[0] or (0,)
    return 2 * elements(shape[values["axis"] % len(shape) :]) + 8


SOFTMAX = Operation(
    number=6,
    name="softmax",
    summary="Exponentials along an axis that sum to 1.",
    formula="output = exp(input - max) / sum(exp(input - max))",
    inputs=(Operand(name="input", summary="Rank 1 or more."),),
    outputs=(Operand(name="output", summary="The shape of input."),),
    family="softmax",
    dtypes=FLOATS,
    semantics=softmax,
    notes=("The largest element is subtracted first: nothing overflows.",),
    standard=Standard(name="Softmax", opset=13),
    attributes=(one_axis("The dimension to sum over; below 0 from the last."),),
    config="wia_softmax_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=softmax_length,
        magnitude=softmax_magnitude,
        reason="Relative to the result: one rounding per summand, four for the exponential, two "
        "for the quotient; the rounding of input - max counts by its size.",
    ),
    flops=lambda shapes, out, values: 4.0 * elements(out),
    samples=(
        Sample(shapes=((8,),)),
        Sample(shapes=((3, 33),), fills=("wide",)),
        Sample(shapes=((2, 9, 4),), values={"axis": 1}),
        Sample(shapes=((4, 1),)),
        Sample(shapes=((0, 3),)),
    ),
    source="ONNX node tests softmax_*; PyTorch's Softmax among ONNX's models",
)

LAYER_NORM = Operation(
    number=7,
    name="layer_norm",
    summary="Normalises over the last dimensions.",
    formula="output = (input - mean) / sqrt(variance + epsilon) * weight + bias",
    inputs=(
        Operand(name="input", summary="Rank 1 or more."),
        Operand(
            name="weight",
            summary="The shape of input from axis on; 1 when left out.",
            optional=True,
        ),
        Operand(
            name="bias", summary="The shape of input from axis on; 0 when left out.", optional=True
        ),
    ),
    outputs=(Operand(name="output", summary="The shape of input."),),
    family="layer_norm",
    dtypes=FLOATS,
    semantics=layer_norm,
    notes=("The variance is that of the population: divided by the number of elements.",),
    standard=Standard(name="LayerNormalization", opset=17, note="one output; scale optional"),
    attributes=(one_axis("The first dimension to normalise over; below 0 from the last."),),
    scalars=(EPSILON,),
    config="wia_layer_norm_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=layer_length,
        magnitude=layer_magnitude,
        reason="Two sums over the elements and eight roundings, relative to what the formula gives "
        "with absolute values; the variance is taken of centred values.",
    ),
    flops=lambda shapes, out, values: 8.0 * elements(out),
    samples=(
        Sample(shapes=((2, 8), (8,), (8,))),
        Sample(shapes=((3, 4, 5), (4, 5), (4, 5)), values={"axis": 1}),
        Sample(shapes=((3, 33), None, None), values={"epsilon": 0.1}),
        Sample(shapes=((2, 3, 7), (7,), None), values={"axis": 2}),
        Sample(shapes=((5,), None, (5,)), values={"axis": 0}),
        Sample(shapes=((0, 4), (4,), (4,))),
    ),
    source="ONNX's vectors by way of layer_norm_with_stats, which it equals to the bit",
)

BATCH_NORM = Operation(
    number=8,
    name="batch_norm",
    summary="Normalises each channel by a mean and variance that are given (inference).",
    formula="output = (input - mean) / sqrt(variance + epsilon) * weight + bias",
    inputs=(
        Operand(name="input", summary="[n, c, ...]."),
        Operand(name="mean", summary="[c]."),
        Operand(name="variance", summary="[c], not negative."),
        Operand(name="weight", summary="[c]; 1 when left out.", optional=True),
        Operand(name="bias", summary="[c]; 0 when left out.", optional=True),
    ),
    outputs=(Operand(name="output", summary="The shape of input."),),
    family="batch_norm",
    dtypes=FLOATS,
    semantics=batch_norm,
    standard=Standard(
        name="BatchNormalization", opset=15, note="training_mode 0; scale and B optional"
    ),
    scalars=(EPSILON,),
    config="wia_batch_norm_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 8,
        magnitude=_batch_magnitude,
        reason="Eight roundings in the accumulator, relative to what the formula gives with "
        "absolute values, and one of the result.",
    ),
    flops=lambda shapes, out, values: 4.0 * elements(out),
    samples=(
        Sample(
            shapes=((2, 3, 4, 5), (3,), (3,), (3,), (3,)), fills=("normal", "normal", "positive")
        ),
        Sample(shapes=((5, 7), (7,), (7,), None, None), fills=("wide", "normal", "positive")),
        Sample(
            shapes=((2, 1, 9), (1,), (1,), (1,), None),
            values={"epsilon": 0.5},
            fills=("normal", "normal", "positive"),
        ),
        Sample(shapes=((0, 3, 2), (3,), (3,), None, (3,)), fills=("normal", "normal", "positive")),
    ),
    source="ONNX node tests batchnorm_example and batchnorm_epsilon; PyTorch's BatchNorm2d_eval "
    "among ONNX's models",
)

OPERATIONS = (SOFTMAX, LAYER_NORM, BATCH_NORM)
