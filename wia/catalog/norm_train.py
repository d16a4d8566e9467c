"""Normalisation with the statistics that training needs as further outputs."""

from __future__ import annotations

from typing import Any

from ._cost import elements, per_output
from ._forms import one_axis
from ._model import FLOATS, Operand, Operation, Sample, Scalar, Shape, Standard, Tolerance, Values
from ._numeric import narrow, widen
from .norm import EPSILON, layer_length, layer_magnitude, layer_norm
from .norm_groups import by_channel

_REASON = (
    "Two sums over the elements and eight roundings, relative to what the formula gives with "
    "absolute values; the variance is taken of centred values."
)


def _rows(np: Any, array: Any) -> Any:
    """A row of elements for each channel."""
    rows = np.ascontiguousarray(np.moveaxis(array, 1, 0))
    return rows.reshape(array.shape[1], elements((array.shape[0], *array.shape[2:])))


def _last(array: Any, axis: int) -> Any:
    """The dimensions from axis on as one."""
    first = axis % array.ndim
    return array.reshape(*array.shape[:first], elements(array.shape[first:]))


def batch_norm_training(
    np: Any,
    x: Any,
    mean: Any,
    variance: Any,
    weight: Any = None,
    bias: Any = None,
    *,
    momentum: float,
    epsilon: float,
) -> tuple[Any, Any, Any]:
    """Normalises each channel by its own mean and variance, and moves the running ones."""
    wide = widen(np, x)
    rows = _rows(np, wide)
    own = rows.mean(axis=1)
    centred = rows - own[:, None]
    spread = (centred * centred).mean(axis=1)
    total = (wide - by_channel(own, x.ndim)) / np.sqrt(by_channel(spread, x.ndim) + epsilon)
    total = total if weight is None else total * by_channel(widen(np, weight), x.ndim)
    total = total if bias is None else total + by_channel(widen(np, bias), x.ndim)
    moved = [
        widen(np, before) * momentum + now * (1.0 - momentum)
        for before, now in ((mean, own), (variance, spread))
    ]
    return tuple(narrow(np, item, x.dtype) for item in (total, *moved))


def layer_norm_with_stats(
    np: Any, x: Any, weight: Any = None, bias: Any = None, *, axis: int, epsilon: float
) -> tuple[Any, Any, Any]:
    """layer_norm, with mean and inverse deviation of each row."""
    output = layer_norm(np, x, weight, bias, axis=axis, epsilon=epsilon)
    first = axis % x.ndim
    shape = (*x.shape[:first], *([1] * (x.ndim - first)))
    rows = widen(np, x).reshape(elements(x.shape[:first]), elements(x.shape[first:]))
    mean = rows.mean(axis=-1, keepdims=True)
    centred = rows - mean
    inverse = 1.0 / np.sqrt((centred * centred).mean(axis=-1) + epsilon)
    dtype = x.dtype if x.dtype == np.float64 else np.dtype(np.float32)
    return (
        output,
        narrow(np, mean, dtype).reshape(shape),
        narrow(np, inverse, dtype).reshape(shape),
    )


def _channels(np: Any, x: Any) -> tuple[Any, Any]:
    rows = _rows(np, x)
    return abs(rows).mean(axis=1), rows.var(axis=1)


def _training_magnitude(
    np: Any, x: Any, mean: Any, variance: Any, weight: Any = None, bias: Any = None, **values: Any
) -> Any:
    size, spread = (by_channel(item, x.ndim) for item in _channels(np, x))
    total = (abs(x) + size) / np.sqrt(spread + values["epsilon"])
    total = total if weight is None else total * by_channel(abs(weight), x.ndim)
    return total if bias is None else total + by_channel(abs(bias), x.ndim)


def _mean_magnitude(np: Any, x: Any, mean: Any, *rest: Any, momentum: float, **values: Any) -> Any:
    return abs(mean * momentum) + abs(1.0 - momentum) * _channels(np, x)[0]


def _variance_magnitude(
    np: Any, x: Any, mean: Any, variance: Any, *rest: Any, momentum: float, **values: Any
) -> Any:
    size = _channels(np, x)[0]
    rows = _rows(np, x)
    squares = ((abs(rows) + size[:, None]) ** 2).mean(axis=1)
    return abs(variance * momentum) + abs(1.0 - momentum) * squares


def _training_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    shape = shapes[0] or (0, 0)
    return 2 * elements((shape[0], *shape[2:])) + 8


def _row_magnitude(np: Any, x: Any, *rest: Any, axis: int, epsilon: float) -> Any:
    rows = _last(x, axis)
    mean = abs(rows).mean(axis=-1)
    return mean.reshape(*mean.shape, *([1] * (x.ndim - mean.ndim)))


def _inverse_magnitude(np: Any, x: Any, *rest: Any, axis: int, epsilon: float) -> Any:
    rows = _last(x, axis)
    size = abs(rows).mean(axis=-1, keepdims=True)
    variance = rows.var(axis=-1)
    squares = ((abs(rows) + size) ** 2).mean(axis=-1)
    total = (squares + epsilon) / (variance + epsilon) ** 1.5
    return total.reshape(*total.shape, *([1] * (x.ndim - total.ndim)))


def _tolerance(length: Any, magnitude: Any) -> Tolerance:
    return Tolerance(ulps=1.0, length=length, magnitude=magnitude, reason=_REASON)


_FILLS = ("normal", "normal", "positive")

BATCH_NORM_TRAINING = Operation(
    number=196,
    name="batch_norm_training",
    summary="Normalises each channel by its mean and variance in this batch (training).",
    formula="output = (input - mean(input)) / sqrt(variance(input) + epsilon) * weight + bias; "
    "running_mean = momentum * mean + (1 - momentum) * mean(input), running_variance likewise",
    inputs=(
        Operand(name="input", summary="[n, c, ...], with one element or more for each channel."),
        Operand(name="mean", summary="[c]: the running one before."),
        Operand(name="variance", summary="[c]: the running one before."),
        Operand(name="weight", summary="[c]; 1 when left out.", optional=True),
        Operand(name="bias", summary="[c]; 0 when left out.", optional=True),
    ),
    outputs=(
        Operand(name="output", summary="The shape of input."),
        Operand(
            name="running_mean",
            summary="[c].",
            optional=True,
            tolerance=_tolerance(_training_length, _mean_magnitude),
        ),
        Operand(
            name="running_variance",
            summary="[c].",
            optional=True,
            tolerance=_tolerance(_training_length, _variance_magnitude),
        ),
    ),
    family="batch_norm_training",
    dtypes=FLOATS,
    semantics=batch_norm_training,
    notes=(
        "Variances are those of the population: divided by the number of elements, also the "
        "running one.",
    ),
    standard=Standard(
        name="BatchNormalization", opset=15, note="training_mode 1; scale and B optional"
    ),
    scalars=(
        Scalar(name="momentum", summary="The part of the running values that stays.", default=0.9),
        EPSILON,
    ),
    config="wia_batch_norm_training_config_t",
    tolerance=_tolerance(_training_length, _training_magnitude),
    flops=per_output(8.0),
    samples=(
        Sample(shapes=((2, 3, 4, 5), (3,), (3,), (3,), (3,)), fills=_FILLS),
        Sample(shapes=((33, 7), (7,), (7,), None, None), values={"momentum": 0.5}, fills=_FILLS),
        Sample(
            shapes=((2, 1, 9), (1,), (1,), (1,), None),
            values={"epsilon": 0.5, "momentum": 0.0},
            fills=_FILLS,
        ),
        Sample(shapes=((2, 0, 3), (0,), (0,), None, None)),
    ),
    source="ONNX node tests batchnorm_*_training_mode",
)

LAYER_NORM_WITH_STATS = Operation(
    number=197,
    name="layer_norm_with_stats",
    summary="Normalises over the last dimensions, and gives mean and inverse deviation.",
    formula="output = (input - mean) * inverse_deviation * weight + bias, inverse_deviation = 1 / "
    "sqrt(variance + epsilon)",
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
    outputs=(
        Operand(name="output", summary="The shape of input."),
        Operand(
            name="mean",
            summary="The shape of input with 1 from axis on; float64 for float64, else float32.",
            optional=True,
            tolerance=_tolerance(layer_length, _row_magnitude),
        ),
        Operand(
            name="inverse_deviation",
            summary="As mean.",
            optional=True,
            tolerance=_tolerance(layer_length, _inverse_magnitude),
        ),
    ),
    family="layer_norm_with_stats",
    dtypes=FLOATS,
    semantics=layer_norm_with_stats,
    notes=(
        "The variance is that of the population: divided by the number of elements. There is one "
        "at least, unless the output is empty.",
    ),
    standard=Standard(name="LayerNormalization", opset=17, note="stash_type 1; scale optional"),
    attributes=(one_axis("The first dimension to normalise over; below 0 from the last."),),
    scalars=(EPSILON,),
    config="wia_layer_norm_config_t",
    tolerance=_tolerance(layer_length, layer_magnitude),
    flops=per_output(8.0),
    samples=(
        Sample(shapes=((2, 8), (8,), (8,))),
        Sample(shapes=((3, 4, 5), (4, 5), (4, 5)), values={"axis": 1}),
        Sample(shapes=((3, 33), None, None), values={"epsilon": 0.1}),
        Sample(shapes=((5,), None, (5,)), values={"axis": 0}),
        Sample(shapes=((0, 4), (4,), (4,))),
    ),
    source="ONNX node tests layer_normalization_*",
)

OPERATIONS = (BATCH_NORM_TRAINING, LAYER_NORM_WITH_STATS)
