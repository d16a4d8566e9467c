"""Operations that copy, join and cut."""

from __future__ import annotations

from typing import Any

from ._forms import SAME, numbers, one_axis
from ._model import ANY, FLOAT8, PACKED, Attribute, Operand, Sample, Standard
from ._moving import axes, moving

MOST_PARTS = 8
"""Outputs of one operation: see decision 20."""


def copy(np: Any, x: Any) -> Any:
    """The same elements."""
    return x


def concat(np: Any, *inputs: Any, axis: int) -> Any:
    """One behind the other along the axis."""
    return np.concatenate([array for array in inputs if array is not None], axis=axis)


def split(np: Any, x: Any, *, axis: int, sizes: Any) -> Any:
    """The parts, one behind the other along the axis."""
    ends = tuple(sum(sizes[: i + 1]) for i in range(len(sizes) - 1))
    return tuple(np.split(x, ends, axis=axis))


def slice_(np: Any, x: Any, *, starts: Any, ends: Any, axes: Any, steps: Any) -> Any:
    """Every step-th element from start to before end, in the dimensions that axes names."""
    parts = [slice(None)] * x.ndim
    for i, axis in enumerate(axes or range(len(starts))):
        parts[axis] = slice(starts[i], ends[i], steps[i] if steps else 1)
    return x[tuple(parts)]


def bitcast(np: Any, x: Any, *, dtype: Any) -> Any:
    """The same bits under another dtype of as many."""
    bits = np.array(x, order="C").view(f"u{x.dtype.itemsize}" if x.dtype.itemsize < 16 else x.dtype)
    if dtype.name in PACKED:
        bits = bits & (0x3 if dtype.name.endswith("int2") else 0xF)
    return bits != 0 if dtype.name == "bool" else bits.view(dtype)


COPY = moving(
    39,
    "copy",
    copy,
    summary="Copies a tensor.",
    formula="output = input",
    output=SAME,
    family="elementwise",
    dtypes=(*ANY, *PACKED),
    notes=("Strides may differ. Elements are copied bit by bit.",),
    standard=Standard(name="Identity", opset=14, note="tensors only"),
    samples=(
        Sample(shapes=((8,),)),
        Sample(shapes=((),)),
        Sample(shapes=((2, 3, 33),), fills=("special",)),
        Sample(shapes=((2, 0),)),
        Sample(shapes=((65,),), fills=("wide",)),
    ),
    source="ONNX node test identity; packed dtypes by hand",
)

CONCAT = moving(
    45,
    "concat",
    concat,
    summary="Joins tensors along a dimension.",
    formula="output[..., i, ...] = inputs[k][..., i - what is before it, ...]",
    inputs=(
        Operand(name="inputs", summary="Of rank 1 or more; equal sizes in all other dimensions."),
    ),
    variadic=True,
    output=Operand(name="output", summary="The sizes along the axis are added up."),
    notes=("1 to 31 inputs.",),
    standard=Standard(name="Concat", opset=13, note="default axis 0"),
    attributes=(one_axis("The dimension to join along; below 0 from the last.", 0),),
    samples=(
        Sample(shapes=((3,), (5,))),
        Sample(shapes=((2, 3), (2, 1), (2, 33)), values={"axis": 1}),
        Sample(shapes=((4, 2),), values={"axis": -1}),
        Sample(shapes=((2, 3, 2), (2, 0, 2), (2, 2, 2)), values={"axis": -2}),
        Sample(shapes=((9, 4), (7, 4)), fills=("special", "wide")),
    ),
    source="ONNX node tests concat_*; PyTorch's operator_concat2 among ONNX's models",
)

SPLIT = moving(
    448,
    "split",
    split,
    summary="Cuts a tensor into parts along a dimension.",
    formula="part_k[..., i, ...] = input[..., sizes[0] + ... + sizes[k - 1] + i, ...]",
    inputs=(Operand(name="input", summary="Of rank 1 or more."),),
    outputs=tuple(
        Operand(
            name=f"part_{k}",
            summary=f"The shape of input, with sizes[{k}] along the axis.",
            optional=k > 0,
        )
        for k in range(MOST_PARTS)
    ),
    variadic_outputs=True,
    notes=(
        "1 to 8 parts, as many as there are sizes, which add up to the size of the dimension; "
        "there is no part behind the last one.",
    ),
    standard=Standard(name="Split", opset=18, note="split is an attribute, of 8 sizes at most"),
    attributes=(
        one_axis("The dimension to cut; below 0 from the last.", 0),
        numbers("sizes", "The size of each part along the axis.", "size_count", minimum=0),
    ),
    samples=(
        Sample(shapes=((8,),), values={"sizes": (3, 5)}),
        Sample(shapes=((2, 36),), values={"axis": 1, "sizes": (2, 1, 33)}, fills=("special",)),
        Sample(shapes=((4, 2),), values={"axis": -1, "sizes": (2,)}),
        Sample(shapes=((2, 5, 2),), values={"axis": -2, "sizes": (3, 0, 2)}),
        Sample(shapes=((36, 2),), values={"sizes": (1, 2, 3, 4, 5, 6, 7, 8)}, fills=("wide",)),
        Sample(shapes=((0, 3),), values={"sizes": (0, 0)}),
    ),
    source="ONNX node tests split_*; values by hand",
)

SLICE = moving(
    46,
    "slice",
    slice_,
    summary="Cuts a part out, or every n-th element, also from the end to the begin.",
    formula="output[..., i, ...] = input[..., start + i * step, ...]",
    output=Operand(
        name="output",
        summary="The shape of input, with ceil((end - start) / step) elements, at least 0, in each "
        "dimension that is cut.",
    ),
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
        axes("The dimensions, below 0 from the last; none: the first ones."),
        numbers("steps", "Not 0; none: 1 each.", "step_count"),
    ),
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

BITCAST = moving(
    278,
    "bitcast",
    bitcast,
    summary="Reads the bits of elements as another dtype.",
    formula="output = the bits of input",
    output=Operand(name="output", summary="The shape of input, any dtype of as many bits."),
    dtypes=(*ANY, *PACKED),
    notes=("To bool every byte but 0 becomes true.",),
    standard=Standard(name="BitCast", opset=26),
    attributes=(
        Attribute(
            name="dtype",
            summary="The dtype of the result; not given: that of the output.",
            default=None,
            kind="dtype",
            field="",
        ),
    ),
    samples=tuple(
        Sample(shapes=(shape,), values={"dtype": target}, fills=(fill,), dtypes=sources)
        for shape, target, fill, sources in (
            ((8,), "int64", "special", ("float64", "uint64", "complex64", "int64")),
            ((3, 33), "float32", "wide", ("int32", "uint32", "float32")),
            ((), "uint16", "special", ("float16", "bfloat16", "int16", "uint16")),
            ((2, 9), "float8_e4m3fn", "normal", ("int8", "uint8", "bool", *FLOAT8)),
            ((2, 0), "bool", "normal", ("int8", "uint8", "bool")),
            ((5,), "complex128", "special", ("complex128",)),
            ((3, 3), "int4", "normal", ("uint4", "float4_e2m1fn", "int4")),
            ((5,), "uint2", "normal", ("int2", "uint2")),
        )
    ),
    source="ONNX node tests bitcast_*; packed dtypes and bool by hand",
    no_gradient="bits seen as another dtype are no function of real numbers",
)

OPERATIONS = (COPY, CONCAT, SPLIT, SLICE, BITCAST)
