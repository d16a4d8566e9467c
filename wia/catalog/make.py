"""Tensors that are made of a few numbers, without an input."""

from __future__ import annotations

import math
from typing import Any

from ._forms import one_axis, onnx, target_dtype, target_shape
from ._model import ANY, FLOATS, INT32_MAX, INTEGERS, Attribute, Operand, Sample, Scalar, Tolerance
from ._moving import moving
from ._numeric import element, is_integer, narrow


def fill(np: Any, *, shape: Any, dtype: Any, value: float) -> Any:
    """The same value everywhere."""
    return np.full(tuple(shape), element(np, value, dtype))


def iota(np: Any, *, shape: Any, dtype: Any, axis: int, start: float, step: float) -> Any:
    """The numbers of an arithmetic series along the axis."""
    steps = np.arange(shape[axis])
    if is_integer(dtype):
        wide = np.dtype(np.int64)
        start = element(np, start, wide, "start")
        step = element(np, step, wide, "step")
    line = narrow(np, start + steps * step, dtype)
    sides = [1] * len(shape)
    sides[axis] = -1
    return np.broadcast_to(line.reshape(sides), tuple(shape))


def eye(np: Any, *, shape: Any, dtype: Any, k: int) -> Any:
    """Ones on a diagonal."""
    ones = np.arange(shape[-1]) - np.arange(shape[-2])[:, None] == k
    return np.broadcast_to(ones.astype(dtype), tuple(shape))


def _series(np: Any, *, dtype: Any, start: float, step: float, **values: Any) -> Any:
    wide = np.dtype(np.float64)
    return iota(np, dtype=wide, start=abs(start), step=abs(step), **values)


_SHAPE = target_shape("The shape of the result")
_DTYPE = target_dtype("The dtype of the result")
_MADE = Operand(name="output", summary="The shape and dtype that were asked for.")

FILL = moving(
    274,
    "fill",
    fill,
    summary="A tensor of one value.",
    formula="output = value",
    inputs=(),
    output=_MADE,
    family="make",
    dtypes=ANY,
    notes=(
        "The value is rounded to the dtype, and may be NaN or infinite; integers and bool need one "
        "that is whole and in range.",
    ),
    standard=onnx("ConstantOfShape", 25, "shape and value are no tensors"),
    attributes=(_SHAPE, _DTYPE),
    scalars=(Scalar(name="value", summary="The value.", default=0.0),),
    samples=(
        Sample(shapes=(), values={"shape": (8,), "value": 1.0}),
        Sample(shapes=(), values={"shape": (3, 33)}),
        Sample(shapes=(), values={"shape": ()}),
        Sample(shapes=(), values={"shape": (2, 0)}),
        Sample(shapes=(), values={"shape": (5,), "value": float("nan")}, dtypes=FLOATS),
        Sample(shapes=(), values={"shape": (5,), "value": 0.3}, dtypes=FLOATS),
    ),
    source="ONNX node tests constantofshape_*; values by hand",
)

IOTA = moving(
    273,
    "iota",
    iota,
    summary="The numbers of an arithmetic series along a dimension.",
    formula="output[..., i, ...] = start + i * step",
    inputs=(),
    output=_MADE,
    dtypes=(*FLOATS, *INTEGERS),
    notes=(
        "Of floats NaN and infinities give what the formula does: with an infinite step the first "
        "number is NaN.",
        "The rank is 1 or more. For integers start and step are whole numbers of 64 bits, and the "
        "result wraps.",
    ),
    standard=onnx("Range", 27, "the number of elements is in the shape"),
    attributes=(
        _SHAPE,
        _DTYPE,
        one_axis("The dimension to count along; below 0 from the last.", 0),
    ),
    scalars=(
        Scalar(name="start", summary="The first number.", default=0.0),
        Scalar(name="step", summary="From one to the next.", default=1.0),
    ),
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 2,
        magnitude=_series,
        reason="Two roundings in the accumulator, relative to the sum of absolute values, and one "
        "of the result.",
    ),
    samples=(
        Sample(shapes=(), values={"shape": (8,)}),
        Sample(shapes=(), values={"shape": (3, 33), "axis": 1, "start": -5.0, "step": 2.0}),
        Sample(shapes=(), values={"shape": (4, 1, 2), "start": 300.0, "step": -7.0}),
        Sample(shapes=(), values={"shape": (9,), "start": 0.1, "step": 0.7}, dtypes=FLOATS),
        Sample(shapes=(), values={"shape": (3,), "start": math.nan}, dtypes=FLOATS),
        Sample(shapes=(), values={"shape": (5,), "start": -math.inf}, dtypes=FLOATS),
        Sample(shapes=(), values={"shape": (5,), "step": math.inf}, dtypes=FLOATS),
        Sample(shapes=(), values={"shape": (0,)}),
    ),
    source="ONNX node tests range_*; values by hand",
)

EYE = moving(
    272,
    "eye",
    eye,
    summary="Ones on a diagonal of matrices; zeros elsewhere.",
    formula="output[..., i, j] = 1 where j - i = k, else 0",
    inputs=(),
    output=_MADE,
    dtypes=(*FLOATS, *INTEGERS, "bool", "complex64", "complex128"),
    notes=("The rank is 2 or more.",),
    standard=onnx("EyeLike", 22),
    attributes=(
        _SHAPE,
        _DTYPE,
        Attribute(
            name="k",
            summary="The diagonal: so many above the main one, below 0: below it.",
            default=0,
            minimum=-INT32_MAX,
            maximum=INT32_MAX,
            field="int64_t",
        ),
    ),
    samples=(
        Sample(shapes=(), values={"shape": (3, 3)}),
        Sample(shapes=(), values={"shape": (2, 5, 9), "k": 2}),
        Sample(shapes=(), values={"shape": (4, 2), "k": -1}),
        Sample(shapes=(), values={"shape": (0, 3), "k": 7}),
    ),
    source="ONNX node tests eyelike_*",
)

OPERATIONS = (FILL, IOTA, EYE)
