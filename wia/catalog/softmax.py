"""The kin of softmax: along one dimension."""

from __future__ import annotations

from typing import Any

from ._cost import per_output
from ._forms import STEPS, one_axis
from ._model import FLOATS, Operand, Operation, Sample, Standard, Tolerance
from ._numeric import narrow, widen
from .norm import softmax, softmax_distance, softmax_length, softmax_magnitude, sum_along

_INPUT = Operand(name="input", summary="Rank 1 or more.")
_OUTPUT = Operand(name="output", summary="The shape of input.")
_SAMPLES = (
    Sample(shapes=((8,),)),
    Sample(shapes=((3, 33),), fills=("wide",)),
    Sample(shapes=((2, 9, 4),), values={"axis": 1}),
    Sample(shapes=((4, 1),)),
    Sample(shapes=((0, 3),)),
)


def log_softmax(np: Any, x: Any, *, axis: int) -> Any:
    """x - max - log(sum(exp(x - max))) along the axis."""
    if x.size == 0:
        return x.copy()
    wide = widen(np, x)
    shifted = wide - wide.max(axis=axis, keepdims=True)
    return narrow(np, shifted - np.log(sum_along(np, np.exp(shifted), axis)), x.dtype)


def softmin(np: Any, x: Any, *, axis: int) -> Any:
    """softmax of -x."""
    return softmax(np, -x, axis=axis)


def hardmax(np: Any, x: Any, *, axis: int) -> Any:
    """1 at the first largest element along the axis, else 0; the first NaN counts as largest."""
    if x.size == 0:
        return x.copy()
    first = np.argmax(widen(np, x), axis=axis, keepdims=True)
    places = np.arange(x.shape[axis]).reshape(-1, *([1] * (x.ndim - 1 - axis % x.ndim)))
    return (places == first).astype(x.dtype)


def masked_softmax(np: Any, x: Any, mask: Any, *, axis: int) -> Any:
    """softmax over the elements whose mask is true; 0 elsewhere."""
    if x.size == 0:
        return x.copy()
    allowed = np.broadcast_to(mask, x.shape)
    wide = np.where(allowed, widen(np, x), -np.inf)
    largest = wide.max(axis=axis, keepdims=True)
    powers = np.exp(wide - np.where(allowed.any(axis=axis, keepdims=True), largest, 0.0))
    powers = np.where(allowed, powers, 0.0)
    total = sum_along(np, powers, axis)
    shares = powers / np.where(allowed.any(axis=axis, keepdims=True), total, 1.0)
    return narrow(np, shares, x.dtype)


def _log_magnitude(np: Any, x: Any, *, axis: int) -> Any:
    return softmax_distance(np, x, axis)


def _softmin_magnitude(np: Any, x: Any, *, axis: int) -> Any:
    return softmax_magnitude(np, -x, axis=axis)


def _masked_magnitude(np: Any, x: Any, mask: Any, *, axis: int) -> Any:
    wide = np.where(np.broadcast_to(mask != 0, x.shape), x, -np.inf)
    return masked_softmax(np, x, mask != 0, axis=axis) * softmax_distance(np, wide, axis)


LOG_SOFTMAX = Operation(
    number=200,
    name="log_softmax",
    summary="Logarithms of softmax.",
    formula="output = input - max - log(sum(exp(input - max)))",
    inputs=(_INPUT,),
    outputs=(_OUTPUT,),
    family="softmax",
    dtypes=FLOATS,
    semantics=log_softmax,
    notes=("The largest element is subtracted first: nothing overflows.",),
    standard=Standard(name="LogSoftmax", opset=13),
    attributes=(one_axis("The dimension to sum over; below 0 from the last."),),
    config="wia_softmax_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=softmax_length,
        magnitude=_log_magnitude,
        reason="One rounding per summand and six for exponential, logarithm and differences, "
        "relative to 1 and the distance from the largest element.",
    ),
    flops=per_output(4.0),
    samples=_SAMPLES,
    source="ONNX node tests logsoftmax_*; PyTorch's LogSoftmax among ONNX's models",
)

SOFTMIN = Operation(
    number=201,
    name="softmin",
    summary="Softmax of the negative.",
    formula="output = softmax(-input)",
    inputs=(_INPUT,),
    outputs=(_OUTPUT,),
    family="softmax",
    dtypes=FLOATS,
    semantics=softmin,
    notes=("The least element is subtracted first: nothing overflows.",),
    attributes=(one_axis("The dimension to sum over; below 0 from the last."),),
    config="wia_softmax_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=softmax_length,
        magnitude=_softmin_magnitude,
        reason="As softmax.",
    ),
    flops=per_output(4.0),
    samples=_SAMPLES,
    source="scipy.special.softmax of the negative",
)

HARDMAX = Operation(
    number=202,
    name="hardmax",
    summary="1 at the first largest element along a dimension, 0 elsewhere.",
    formula="output = 1 where the index along axis is argmax(input), else 0",
    inputs=(_INPUT,),
    outputs=(_OUTPUT,),
    family="softmax",
    dtypes=FLOATS,
    semantics=hardmax,
    notes=("NaN counts as the largest.",),
    standard=Standard(name="Hardmax", opset=13),
    attributes=(one_axis("The dimension to search; below 0 from the last."),),
    config="wia_hardmax_config_t",
    tolerance=Tolerance(),
    flops=per_output(),
    samples=(*_SAMPLES, Sample(shapes=((4, 9),), values={"axis": 0}, fills=("special",))),
    source="ONNX node tests hardmax_*; NaN by hand",
    no_gradient=STEPS,
)

MASKED_SOFTMAX = Operation(
    number=203,
    name="masked_softmax",
    summary="Softmax over the elements that a mask allows.",
    formula="output = mask exp(input - max) / sum(mask exp(input - max)), max over what is allowed",
    inputs=(
        _INPUT,
        Operand(
            name="mask",
            summary="True where an element counts; broadcasts to input.",
            dtypes=("bool",),
        ),
    ),
    outputs=(_OUTPUT,),
    family="masked_softmax",
    dtypes=FLOATS,
    semantics=masked_softmax,
    notes=("What the mask excludes is 0 and isn't looked at; where it excludes all, all is 0.",),
    attributes=(one_axis("The dimension to sum over; below 0 from the last."),),
    config="wia_softmax_config_t",
    tolerance=Tolerance(
        ulps=1.0, length=softmax_length, magnitude=_masked_magnitude, reason="As softmax."
    ),
    flops=per_output(5.0),
    samples=(
        Sample(shapes=((3, 33), (3, 33)), fills=("wide",)),
        Sample(shapes=((2, 3, 9), (9,))),
        Sample(shapes=((2, 9, 4), (2, 1, 4)), values={"axis": 1}),
        Sample(shapes=((4, 5), ()), fills=("special",)),
        Sample(shapes=((0, 3), (3,))),
    ),
    source="scipy.special.softmax with -infinity in the places left out; rows of nothing by hand",
)

OPERATIONS = (LOG_SOFTMAX, SOFTMIN, HARDMAX, MASKED_SOFTMAX)
