"""Numbers of classes: as vectors, and counted."""

from __future__ import annotations

from typing import Any

from ._cost import per_input
from ._forms import one_axis
from ._model import Attribute, Operand, Sample, Scalar, Standard
from ._moving import count, moving
from ._numeric import OperandError, element


def one_hot(
    np: Any, indices: Any, *, depth: int, axis: int, dtype: Any, on_value: float, off_value: float
) -> Any:
    """The on value where the new dimension is at the index, elsewhere the off value."""
    places = np.asarray(indices, dtype=np.int64)
    places = np.expand_dims(np.where(places < 0, places + depth, places), axis)
    shape = [1] * places.ndim
    shape[axis] = depth
    on = element(np, on_value, dtype, "on_value")
    off = element(np, off_value, dtype, "off_value")
    return np.where(np.arange(depth).reshape(shape) == places, on, off)


def bincount(np: Any, x: Any, *, length: int) -> Any:
    """How often each number is there."""
    wrong = (x < 0) | (x >= length)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise OperandError(
            f"bincount: input{list(place)} is {int(x[place])}; expected 0 to {length - 1}, since "
            f"length is {length}"
        )
    return np.bincount(x.reshape(-1).astype(np.int64), minlength=length)


ONE_HOT = moving(
    261,
    "one_hot",
    one_hot,
    summary="Vectors with one element on, by numbers of classes.",
    formula="output[..., j, ...] = on_value where j is indices[...], else off_value",
    inputs=(Operand(name="indices", summary="Any shape."),),
    output=Operand(
        name="output", summary="The shape of indices and, at the axis, depth; of any dtype."
    ),
    dtypes=("int64", "int32"),
    notes=(
        "An index below 0 counts from the end; of one that is out of range nothing is on.",
        "The values are rounded to the dtype; integers and bool need whole ones in range.",
    ),
    standard=Standard(name="OneHot", opset=11, note="depth is an attribute, values two scalars"),
    attributes=(
        count("depth", "How many classes.", 1, minimum=0),
        one_axis("The new dimension of output; below 0 from its last.", -1),
        Attribute(
            name="dtype",
            summary="The dtype of the result; not given: that of the output.",
            default=None,
            kind="dtype",
            field="",
        ),
    ),
    scalars=(
        Scalar(name="on_value", summary="The value at the index.", default=1.0),
        Scalar(name="off_value", summary="The value elsewhere.", default=0.0),
    ),
    samples=(
        Sample(shapes=((8,),), values={"depth": 5, "dtype": "float32"}, fills=("index8",)),
        Sample(
            shapes=((3, 4),),
            values={"depth": 33, "axis": 0, "dtype": "int8", "on_value": 3.0, "off_value": -1.0},
            fills=("index33",),
        ),
        Sample(
            shapes=((2, 3),), values={"depth": 3, "axis": 1, "dtype": "bool"}, fills=("index3",)
        ),
        Sample(shapes=((),), values={"depth": 4, "dtype": "bfloat16", "on_value": 0.3}),
        Sample(shapes=((2, 0),), values={"depth": 4, "dtype": "complex64"}),
        Sample(shapes=((3,),), values={"depth": 0, "dtype": "uint64"}),
    ),
    source="ONNX node tests onehot_*",
)

BINCOUNT = moving(
    263,
    "bincount",
    bincount,
    summary="How often each class is there.",
    formula="output[j] = how many elements of input are j",
    inputs=(Operand(name="input", summary="Any shape; numbers from 0 to length - 1."),),
    output=Operand(name="output", summary="int64, [length]."),
    dtypes=("int64", "int32", "int16", "int8", "uint32", "uint16", "uint8"),
    notes=(
        "A number that is out of range fails the call, or the stream, with INVALID_ARGUMENT when "
        "the kernel meets it.",
    ),
    attributes=(count("length", "How many classes.", 1, minimum=0),),
    flops=per_input(),
    samples=(
        Sample(shapes=((33,),), values={"length": 9}, fills=("0..9",)),
        Sample(shapes=((3, 4),), values={"length": 2}, fills=("0..2",)),
        Sample(shapes=((),), values={"length": 100}, fills=("0..100",)),
        Sample(shapes=((0,),), values={"length": 0}),
    ),
    source="numpy.bincount; values by hand",
)

OPERATIONS = (ONE_HOT, BINCOUNT)
