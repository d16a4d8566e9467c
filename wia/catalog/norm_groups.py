"""Normalisation over groups of channels, and by the root of the mean square."""

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
    Shape,
    Standard,
    Tolerance,
    Values,
)
from ._numeric import narrow, widen
from .norm import EPSILON, layer_length

_INPUT = Operand(name="input", summary="[n, c, ...].")
_OUTPUT = Operand(name="output", summary="The shape of input.")
_WEIGHT = Operand(name="weight", summary="[c]; 1 when left out.", optional=True)
_BIAS = Operand(name="bias", summary="[c]; 0 when left out.", optional=True)


def by_channel(array: Any, rank: int) -> Any:
    """A value for each channel, to go with images."""
    return array.reshape(-1, *([1] * (rank - 2)))


def group_norm(
    np: Any, x: Any, weight: Any = None, bias: Any = None, *, groups: int, epsilon: float
) -> Any:
    """Mean 0 and variance 1 over each group of channels, then scaled and shifted."""
    if x.size == 0:
        return x.copy()
    rows = widen(np, x).reshape(x.shape[0], groups, -1)
    centred = rows - rows.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    total = (centred / np.sqrt(variance + epsilon)).reshape(x.shape)
    total = total if weight is None else total * by_channel(widen(np, weight), x.ndim)
    total = total if bias is None else total + by_channel(widen(np, bias), x.ndim)
    return narrow(np, total, x.dtype)


def instance_norm(np: Any, x: Any, weight: Any = None, bias: Any = None, *, epsilon: float) -> Any:
    """Mean 0 and variance 1 over each channel of each image."""
    return group_norm(np, x, weight, bias, groups=x.shape[1], epsilon=epsilon)


def rms_norm(np: Any, x: Any, weight: Any = None, *, axis: int, epsilon: float) -> Any:
    """Mean square 1 over the dimensions from axis on, then scaled."""
    if x.size == 0:
        return x.copy()
    rows = widen(np, x).reshape(*x.shape[: axis % x.ndim], -1)
    total = rows / np.sqrt((rows * rows).mean(axis=-1, keepdims=True) + epsilon)
    total = total.reshape(x.shape)
    return narrow(np, total if weight is None else total * widen(np, weight), x.dtype)


def _group_magnitude(
    np: Any, x: Any, weight: Any = None, bias: Any = None, *, groups: int, epsilon: float
) -> Any:
    if x.size == 0:
        return x
    rows = x.reshape(x.shape[0], groups, -1)
    deviation = np.sqrt(rows.var(axis=-1, keepdims=True) + epsilon)
    # One pass for mean and variance would cancel where the mean is large: that is not granted.
    spread = (abs(rows) + abs(rows).mean(axis=-1, keepdims=True)) / deviation
    total = spread.reshape(x.shape)
    total = total if weight is None else total * by_channel(abs(weight), x.ndim)
    return total if bias is None else total + by_channel(abs(bias), x.ndim)


def _instance_magnitude(
    np: Any, x: Any, weight: Any = None, bias: Any = None, *, epsilon: float
) -> Any:
    return _group_magnitude(np, x, weight, bias, groups=x.shape[1], epsilon=epsilon)


def _rms_magnitude(np: Any, x: Any, weight: Any = None, **values: Any) -> Any:
    return rms_norm(np, abs(x), None if weight is None else abs(weight), **values)


def _group_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    groups: int = values["groups"]
    return 2 * elements((shapes[0] or (0, 0))[1:]) // groups + 8


def _instance_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    return 2 * elements((shapes[0] or (0, 0))[2:]) + 8


_REASON = (
    "Two sums over the elements and eight roundings, relative to what the formula gives with "
    "absolute values; the variance is taken of centred values."
)

GROUP_NORM = Operation(
    number=190,
    name="group_norm",
    summary="Normalises over groups of channels of each image.",
    formula="output = (input - mean) / sqrt(variance + epsilon) * weight + bias",
    inputs=(_INPUT, _WEIGHT, _BIAS),
    outputs=(_OUTPUT,),
    family="group_norm",
    dtypes=FLOATS,
    semantics=group_norm,
    notes=("The variance is that of the population: divided by the number of elements.",),
    standard=Standard(name="GroupNormalization", opset=21),
    attributes=(
        Attribute(
            name="groups",
            summary="Groups of equally many channels.",
            default=1,
            minimum=1,
            maximum=INT32_MAX,
            zero_is_default=True,
            field="int64_t",
        ),
    ),
    scalars=(EPSILON,),
    config="wia_group_norm_config_t",
    tolerance=Tolerance(ulps=1.0, length=_group_length, magnitude=_group_magnitude, reason=_REASON),
    flops=per_output(8.0),
    samples=(
        Sample(shapes=((2, 6, 3, 5), (6,), (6,)), values={"groups": 3}),
        Sample(shapes=((3, 4, 33), None, (4,)), values={"groups": 2, "epsilon": 0.1}),
        Sample(shapes=((2, 4), (4,), None)),
        Sample(shapes=((0, 4, 2), (4,), (4,)), values={"groups": 2}),
    ),
    source="ONNX node tests group_normalization_*",
)

INSTANCE_NORM = Operation(
    number=191,
    name="instance_norm",
    summary="Normalises each channel of each image.",
    formula="output = (input - mean) / sqrt(variance + epsilon) * weight + bias",
    inputs=(_INPUT, _WEIGHT, _BIAS),
    outputs=(_OUTPUT,),
    family="batch_norm",
    dtypes=FLOATS,
    semantics=instance_norm,
    notes=("The variance is that of the population: divided by the number of elements.",),
    standard=Standard(name="InstanceNormalization", opset=22),
    scalars=(EPSILON,),
    config="wia_batch_norm_config_t",
    tolerance=Tolerance(
        ulps=1.0, length=_instance_length, magnitude=_instance_magnitude, reason=_REASON
    ),
    flops=per_output(8.0),
    samples=(
        Sample(shapes=((2, 3, 4, 5), (3,), (3,))),
        Sample(shapes=((3, 2, 33), None, (2,)), values={"epsilon": 0.1}),
        Sample(shapes=((0, 4, 2), (4,), (4,))),
    ),
    source="ONNX node tests instancenorm_*",
)

RMS_NORM = Operation(
    number=192,
    name="rms_norm",
    summary="Divides by the root of the mean square over the last dimensions.",
    formula="output = input / sqrt(mean(input^2) + epsilon) * weight",
    inputs=(
        Operand(name="input", summary="Rank 1 or more."),
        Operand(
            name="weight",
            summary="The shape of input from axis on; 1 when left out.",
            optional=True,
        ),
    ),
    outputs=(_OUTPUT,),
    family="layer_norm",
    dtypes=FLOATS,
    semantics=rms_norm,
    standard=Standard(name="RMSNormalization", opset=23, note="scale doesn't broadcast"),
    attributes=(one_axis("The first dimension to normalise over; below 0 from the last."),),
    scalars=(EPSILON,),
    config="wia_layer_norm_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=layer_length,
        magnitude=_rms_magnitude,
        reason="All terms of the sum are positive: relative to the result, one rounding per term "
        "and eight more.",
    ),
    flops=per_output(4.0),
    samples=(
        Sample(shapes=((2, 8), (8,))),
        Sample(shapes=((3, 4, 5), (4, 5)), values={"axis": 1}),
        Sample(shapes=((3, 33), None), values={"epsilon": 0.1}),
        Sample(shapes=((0, 4), (4,))),
    ),
    source="ONNX node tests rms_normalization_*",
)

OPERATIONS = (GROUP_NORM, INSTANCE_NORM, RMS_NORM)
