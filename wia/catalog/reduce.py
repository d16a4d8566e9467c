"""Reductions along axes."""

from __future__ import annotations

from typing import Any

from ._cost import elements, per_input
from ._forms import AXES, KEEPDIMS, one_axis
from ._model import (
    FLOATS,
    INTEGERS,
    Operand,
    Operation,
    Sample,
    Shape,
    Standard,
    Tolerance,
    Values,
)
from ._numeric import narrow, widen


def _rows(np: Any, array: Any, axes: Any, keepdims: int) -> tuple[Any, Shape]:
    """The array with the reduced dimensions as one last dimension, and the result's shape."""
    chosen = {axis % array.ndim for axis in axes} if axes else set(range(array.ndim))
    kept = [axis for axis in range(array.ndim) if axis not in chosen]
    moved = np.transpose(array, (*kept, *sorted(chosen)))
    size = elements(tuple(array.shape[axis] for axis in chosen))
    rows = np.ascontiguousarray(moved.reshape(*(array.shape[axis] for axis in kept), size))
    shape = tuple(
        1 if axis in chosen else array.shape[axis]
        for axis in range(array.ndim)
        if keepdims or axis not in chosen
    )
    return rows, shape


def reduce_sum(np: Any, x: Any, *, axes: Any, keepdims: int) -> Any:
    """Sum over the axes; 0 where there is nothing to sum."""
    rows, shape = _rows(np, widen(np, x), axes, keepdims)
    return narrow(np, rows.sum(axis=-1), x.dtype).reshape(shape)


def reduce_max(np: Any, x: Any, *, axes: Any, keepdims: int) -> Any:
    """Largest element over the axes; NaN wins."""
    rows, shape = _rows(np, widen(np, x), axes, keepdims)
    if rows.size == 0:
        return np.empty(shape, x.dtype)
    return rows.max(axis=-1).astype(x.dtype).reshape(shape)


def reduce_mean(np: Any, x: Any, *, axes: Any, keepdims: int) -> Any:
    """Mean over the axes; NaN where there is nothing to add up."""
    rows, shape = _rows(np, widen(np, x), axes, keepdims)
    return narrow(np, rows.sum(axis=-1) / np.float64(rows.shape[-1]), x.dtype).reshape(shape)


def argmax(np: Any, x: Any, *, axis: int, keepdims: int) -> Any:
    """Index of the first largest element along the axis; that of the first NaN if there is one."""
    if x.size == 0:
        shape = list(x.shape)
        shape[axis] = 1
        return np.empty(shape if keepdims else np.delete(shape, axis), np.int64)
    return np.argmax(widen(np, x), axis=axis, keepdims=bool(keepdims)).astype(np.int64)


def argmin(np: Any, x: Any, *, axis: int, keepdims: int) -> Any:
    """Index of the first least element along the axis; that of the first NaN if there is one."""
    if x.size == 0:
        return argmax(np, x, axis=axis, keepdims=keepdims)
    return np.argmin(widen(np, x), axis=axis, keepdims=bool(keepdims)).astype(np.int64)


def _length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    shape, axes = shapes[0] or (), values["axes"]
    return elements(tuple(shape[axis] for axis in axes) if axes else shape)


def _absolute_sum(np: Any, x: Any, *, axes: Any, keepdims: int) -> Any:
    return reduce_sum(np, abs(x), axes=axes, keepdims=keepdims)


def _mean_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    return _length(shapes, values) + 1


def _absolute_mean(np: Any, x: Any, *, axes: Any, keepdims: int) -> Any:
    return reduce_mean(np, abs(x), axes=axes, keepdims=keepdims)


def _reduction(
    number: int,
    name: str,
    semantics: Any,
    onnx: Standard,
    dtypes: tuple[str, ...] = (*FLOATS, *INTEGERS),
    **more: Any,
) -> Operation:
    return Operation(
        number=number,
        name=name,
        inputs=(Operand(name="input", summary="Any shape."),),
        outputs=(
            Operand(name="output", summary="The shape of input without the reduced dimensions."),
        ),
        family="reduce",
        dtypes=dtypes,
        semantics=semantics,
        standard=onnx,
        attributes=(AXES, KEEPDIMS),
        config="wia_reduce_config_t",
        flops=per_input(),
        **more,
    )


_SAMPLES = (
    Sample(shapes=((8,),)),
    Sample(shapes=((3, 33, 2),), values={"axes": (1,)}),
    Sample(shapes=((3, 4, 5),), values={"axes": (-1, 0), "keepdims": 1}),
    Sample(shapes=((),)),
    Sample(shapes=((9, 257),), values={"axes": (1,)}, fills=("wide",)),
    Sample(shapes=((2, 0, 3),), values={"axes": (0,)}),
    Sample(shapes=((4, 31),), values={"axes": (1,)}, fills=("special",)),
)

REDUCE_SUM = _reduction(
    9,
    "reduce_sum",
    reduce_sum,
    Standard(name="ReduceSum", opset=13, note="8- and 16-bit integers are ours"),
    summary="Sum over dimensions.",
    formula="output = sum(input over axes)",
    notes=("The dtype stays: integers wrap. An empty sum is 0.",),
    tolerance=Tolerance(
        ulps=1.0,
        length=_length,
        magnitude=_absolute_sum,
        reason="Any order of summation: one rounding in the accumulator per element, relative to "
        "the sum of absolute values, and one of the result.",
    ),
    samples=(*_SAMPLES, Sample(shapes=((2, 0),), values={"axes": (1,)})),
    source="ONNX node tests reduce_sum_*; PyTorch's operator_reduced_sum among ONNX's models",
)

REDUCE_MAX = _reduction(
    10,
    "reduce_max",
    reduce_max,
    Standard(name="ReduceMax", opset=13, note="16-bit integers are ours"),
    summary="Largest element over dimensions.",
    formula="output = max(input over axes)",
    notes=("NaN wins. A maximum of no elements is INVALID_ARGUMENT, unless the output is empty.",),
    tolerance=Tolerance(),
    samples=_SAMPLES,
    source="ONNX node tests reduce_max_*; NaN by hand",
)

REDUCE_MEAN = _reduction(
    43,
    "reduce_mean",
    reduce_mean,
    Standard(name="ReduceMean", opset=13, note="floats only"),
    dtypes=FLOATS,
    summary="Mean over dimensions.",
    formula="output = sum(input over axes) / count",
    notes=("NaN spreads. The mean of no elements is NaN.",),
    tolerance=Tolerance(
        ulps=1.0,
        length=_mean_length,
        magnitude=_absolute_mean,
        reason="Any order of summation: one rounding in the accumulator per element and one more, "
        "relative to the mean of absolute values, and one of the result.",
    ),
    samples=(*_SAMPLES, Sample(shapes=((2, 0),), values={"axes": (1,)})),
    source="ONNX node tests reduce_mean_*; PyTorch's operator_reduced_mean among ONNX's models",
)


def _arg(number: int, name: str, word: str, semantics: Any, onnx: str) -> Operation:
    return Operation(
        number=number,
        name=name,
        summary=f"Index of the {word} element along a dimension.",
        formula=f"output = the first i with input[..., i, ...] = {name[3:]}",
        inputs=(Operand(name="input", summary="Rank 1 or more."),),
        outputs=(Operand(name="output", summary="int64; the shape of input without the axis."),),
        family="argmax",
        dtypes=(*FLOATS, *INTEGERS),
        semantics=semantics,
        notes=(
            "The first of equals; the first NaN if there is one. An axis of size 0 is "
            "INVALID_ARGUMENT, unless the output is empty.",
        ),
        standard=Standard(name=onnx, opset=13, note="select_last_index 0; default axis -1"),
        attributes=(
            one_axis("The dimension to search; below 0 from the last."),
            KEEPDIMS,
        ),
        config=f"wia_{name}_config_t",
        tolerance=Tolerance(),
        flops=per_input(),
        samples=(
            Sample(shapes=((8,),)),
            Sample(shapes=((5, 33),)),
            Sample(shapes=((3, 4, 5),), values={"axis": 1, "keepdims": 1}),
            Sample(shapes=((4, 9),), values={"axis": 0}, fills=("special",)),
            Sample(shapes=((0, 3),)),
        ),
        source=f"ONNX node tests {name}_*; NaN and equals by hand",
    )


ARGMAX = _arg(19, "argmax", "largest", argmax, "ArgMax")
ARGMIN = _arg(44, "argmin", "least", argmin, "ArgMin")

OPERATIONS = (REDUCE_SUM, REDUCE_MAX, ARGMAX, REDUCE_MEAN, ARGMIN)
