"""Operations that join, cut, pick and pad: elements stay as they are."""

from __future__ import annotations

from typing import Any

from ._cost import moves_only
from ._forms import COPIED, INPUT, SAME, UNARY_SAMPLES, numbers, one_axis
from ._model import (
    ANY,
    PACKED,
    Attribute,
    Choice,
    Operand,
    Operation,
    Sample,
    Scalar,
    Standard,
)
from ._numeric import OperandError, ScalarError, is_integer, limits, narrow

_MODES = ("constant", "reflect", "edge")


def copy(np: Any, x: Any) -> Any:
    """The same elements."""
    return x


def concat(np: Any, *inputs: Any, axis: int) -> Any:
    """One behind the other along the axis."""
    return np.concatenate([array for array in inputs if array is not None], axis=axis)


def slice_(np: Any, x: Any, *, starts: Any, ends: Any, axes: Any, steps: Any) -> Any:
    """Every step-th element from start to before end, in the dimensions that axes names."""
    parts = [slice(None)] * x.ndim
    for i, axis in enumerate(axes or range(len(starts))):
        parts[axis] = slice(starts[i], ends[i], steps[i] if steps else 1)
    return x[tuple(parts)]


def gather(np: Any, x: Any, indices: Any, *, axis: int) -> Any:
    """The rows that the indices name, in their shape, in place of the axis."""
    size = x.shape[axis]
    wrong = (indices < -size) | (indices >= size)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise OperandError(
            f"gather: indices{list(place)} is {int(indices[place])}; expected {-size} to "
            f"{size - 1}, since input has {size} elements in dimension {axis % x.ndim}"
            if size
            else f"gather: indices{list(place)} is {int(indices[place])}, but input has no element "
            f"in dimension {axis % x.ndim}"
        )
    return np.take(x, np.where(indices < 0, indices + size, indices), axis=axis)


def pad(np: Any, x: Any, *, pads: Any, mode: int, value: float) -> Any:
    """Adds elements before and behind each dimension."""
    widths = tuple(zip(pads[: x.ndim], pads[x.ndim :], strict=True))
    if mode and x.ndim:
        return np.pad(x, widths, _MODES[mode])
    shape = tuple(s + sum(width) for s, width in zip(x.shape, widths, strict=True))
    result = np.full(shape, _element(np, value, x.dtype))
    inner = tuple(slice(w[0], w[0] + s) for w, s in zip(widths, x.shape, strict=True))
    result[inner] = x
    return result


def _element(np: Any, value: float, dtype: Any) -> Any:
    """A scalar of the launch as an element."""
    if not is_integer(dtype):
        return narrow(np, np.float64(value), dtype)
    least, largest = limits(np, dtype)
    if not (float(value).is_integer() and least <= value <= largest):
        raise ScalarError(
            f"value is {value}; {dtype.name} needs a whole number from {least} to {largest}"
        )
    return np.array(int(value)).astype(dtype)


COPY = Operation(
    number=39,
    name="copy",
    summary="Copies a tensor.",
    formula="output = input",
    inputs=(INPUT,),
    outputs=(SAME,),
    family="elementwise",
    dtypes=(*ANY, *PACKED),
    semantics=copy,
    notes=("Strides may differ. Elements are copied bit by bit.",),
    standard=Standard(name="Identity", opset=14, note="tensors only"),
    tolerance=COPIED,
    flops=moves_only,
    samples=UNARY_SAMPLES,
    source="ONNX node test identity; packed dtypes by hand",
)

CONCAT = Operation(
    number=45,
    name="concat",
    summary="Joins tensors along a dimension.",
    formula="output[..., i, ...] = inputs[k][..., i - what is before it, ...]",
    inputs=(
        Operand(name="inputs", summary="Of rank 1 or more; equal sizes in all other dimensions."),
    ),
    variadic=True,
    outputs=(Operand(name="output", summary="The sizes along the axis are added up."),),
    family="concat",
    dtypes=ANY,
    semantics=concat,
    notes=("1 to 31 inputs.",),
    standard=Standard(name="Concat", opset=13, note="default axis 0"),
    attributes=(one_axis("The dimension to join along; below 0 from the last.", 0),),
    config="wia_concat_config_t",
    tolerance=COPIED,
    flops=moves_only,
    samples=(
        Sample(shapes=((3,), (5,))),
        Sample(shapes=((2, 3), (2, 1), (2, 33)), values={"axis": 1}),
        Sample(shapes=((4, 2),), values={"axis": -1}),
        Sample(shapes=((2, 3, 2), (2, 0, 2), (2, 2, 2)), values={"axis": -2}),
        Sample(shapes=((9, 4), (7, 4)), fills=("special", "wide")),
    ),
    source="ONNX node tests concat_*; PyTorch's operator_concat2 among ONNX's models",
)

SLICE = Operation(
    number=46,
    name="slice",
    summary="Cuts a part out, or every n-th element, also from the end to the begin.",
    formula="output[..., i, ...] = input[..., start + i * step, ...]",
    inputs=(Operand(name="input", summary="Any shape."),),
    outputs=(
        Operand(
            name="output",
            summary="The shape of input, with ceil((end - start) / step) elements, at least 0, in "
            "each dimension that is cut.",
        ),
    ),
    family="slice",
    dtypes=ANY,
    semantics=slice_,
    notes=(
        "By the rules of ONNX, which are numpy's: a start or end below 0 counts from the end; then "
        "both are moved into the range of the dimension, so that none is too large.",
        "With a step below 0 an end that is moved to the begin stands in front of element 0: to "
        "take all, give INT64_MIN + 1.",
    ),
    standard=Standard(name="Slice", opset=13, note="starts, ends, axes and steps are attributes"),
    attributes=(
        numbers("starts", "The first element in each dimension.", "start_count"),
        numbers("ends", "The first element that is left out; as many as starts.", "end_count"),
        numbers(
            "axes",
            "The dimensions, below 0 from the last; none: the first ones.",
            "axis_count",
            field="int32_t",
            minimum=-8,
            maximum=7,
        ),
        numbers("steps", "Not 0; none: 1 each.", "step_count"),
    ),
    config="wia_slice_config_t",
    tolerance=COPIED,
    flops=moves_only,
    samples=(
        Sample(shapes=((8,),), values={"starts": (2,), "ends": (7,)}),
        Sample(shapes=((4, 33),), values={"starts": (1,), "ends": (99,), "axes": (-1,)}),
        Sample(
            shapes=((5, 7, 3),),
            values={"starts": (-1, 1), "ends": (-99, 6), "axes": (0, 1), "steps": (-2, 3)},
            fills=("special",),
        ),
        Sample(shapes=((3, 4),), values={"starts": (2,), "ends": (1,)}),
        Sample(shapes=((0, 4),), values={"starts": (0,), "ends": (9,), "steps": (-1,)}),
        Sample(shapes=((2, 3),)),
    ),
    source="ONNX node tests slice*; ends of the range by hand",
)

GATHER = Operation(
    number=47,
    name="gather",
    summary="Picks rows by their numbers.",
    formula="output[..., i, ...] = input[..., indices[i], ...]",
    inputs=(
        Operand(name="input", summary="Of rank 1 or more."),
        Operand(name="indices", summary="Any shape.", dtypes=("int64", "int32")),
    ),
    outputs=(
        Operand(
            name="output", summary="The shape of input, with that of indices in place of the axis."
        ),
    ),
    family="gather",
    dtypes=ANY,
    semantics=gather,
    notes=(
        "An index below 0 counts from the end. One that is out of range fails the call, or the "
        "stream, with INVALID_ARGUMENT when the kernel meets it; what was written before it is not "
        "specified.",
    ),
    standard=Standard(name="Gather", opset=13),
    attributes=(one_axis("The dimension to pick from; below 0 from the last.", 0),),
    config="wia_gather_config_t",
    tolerance=COPIED,
    flops=moves_only,
    samples=(
        Sample(shapes=((8,), (3,)), fills=("normal", "index8")),
        Sample(shapes=((5, 33), ()), fills=("normal", "index5")),
        Sample(shapes=((3, 4, 2), (2, 3)), values={"axis": 1}, fills=("special", "index4")),
        Sample(shapes=((2, 9), (17,)), values={"axis": -1}, fills=("wide", "index9")),
        Sample(shapes=((4, 2), (4,)), fills=("normal", "index4")),
        Sample(shapes=((4, 2), (0,)), fills=("normal", "index4")),
        Sample(shapes=((3, 0), (2,)), fills=("normal", "index3")),
    ),
    source="ONNX node tests gather_*; out of range by hand",
)

PAD = Operation(
    number=48,
    name="pad",
    summary="Adds elements around a tensor.",
    formula="output[..., i, ...] = input[..., i - before, ...], else by the mode",
    inputs=(INPUT,),
    outputs=(Operand(name="output", summary="The shape of input and what is added."),),
    family="pad",
    dtypes=ANY,
    semantics=pad,
    notes=(
        "With reflect at most size - 1 elements can be added on a side; with edge there has to be "
        "an element to repeat.",
        "The value is rounded to the dtype; integers and bool need one that is whole and in range.",
    ),
    standard=Standard(name="Pad", opset=19, note="nothing is cut off; no axes; no wrap"),
    attributes=(
        numbers(
            "pads",
            "Elements before each dimension, then those behind each: twice the rank.",
            "pad_count",
            length=16,
            minimum=0,
            maximum=2**31 - 1,
        ),
        Attribute(
            name="mode",
            summary="What the added elements are.",
            default=0,
            maximum=2,
            enum="wia_pad_mode_t",
            choices=(
                Choice(name="CONSTANT", value=0, summary="The value."),
                Choice(name="REFLECT", value=1, summary="Those across the first or last one."),
                Choice(name="EDGE", value=2, summary="The first or last one."),
            ),
        ),
    ),
    scalars=(Scalar(name="value", summary="What to add with the mode constant.", default=0.0),),
    config="wia_pad_config_t",
    tolerance=COPIED,
    flops=moves_only,
    samples=(
        Sample(shapes=((5,),), values={"pads": (1, 2)}),
        Sample(shapes=((3, 33),), values={"pads": (0, 2, 1, 0), "value": 1.0}, fills=("special",)),
        Sample(shapes=((4, 3),), values={"pads": (3, 0, 1, 2), "mode": 1}, fills=("wide",)),
        Sample(shapes=((2, 3, 1),), values={"pads": (1, 0, 4, 0, 3, 0), "mode": 2}),
        Sample(shapes=((0, 2),), values={"pads": (1, 1, 0, 0)}),
        Sample(shapes=((),), values={"pads": ()}),
    ),
    source="ONNX node tests constant_pad*, edge_pad and reflect_pad; values by hand",
)

OPERATIONS = (COPY, CONCAT, SLICE, GATHER, PAD)
