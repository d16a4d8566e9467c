"""Convolution of images, over two dimensions or one to three, and its transpose."""

from __future__ import annotations

from typing import Any

from ._convolve import add_bias, correlate, correlate_transposed
from ._cost import elements
from ._forms import INT32_FOR_INT8
from ._model import (
    FLOATS,
    INT32_MAX,
    Attribute,
    Choice,
    Operand,
    Operation,
    Option,
    Sample,
    Shape,
    Standard,
    Tolerance,
    Values,
)
from ._numeric import narrow, product_dtype, widen
from ._windows import DILATION, DILATIONS, PADDING, PADDINGS, STRIDES, along, pair

GROUPS = Attribute(
    name="groups",
    summary="Independent parts that channels are divided into.",
    default=1,
    minimum=1,
    maximum=INT32_MAX,
    zero_is_default=True,
    field="int64_t",
)


def conv(np: Any, x: Any, weight: Any, bias: Any = None, **values: Any) -> Any:
    """Cross-correlation, summed channel by channel, then row by row of the kernel."""
    dtype = product_dtype(np, x.dtype)

    def finish(sums: Any, outputs: slice) -> Any:
        total = sums if bias is None else sums + widen(np, bias)[outputs, None]
        return narrow(np, total, dtype)

    return correlate(np, widen(np, x), widen(np, weight), values, dtype, finish)


def conv_transpose(np: Any, x: Any, weight: Any, bias: Any = None, **values: Any) -> Any:
    """What convolution is the transpose of: each element adds the kernel, scaled by it."""
    total = correlate_transposed(np, widen(np, x), widen(np, weight), values)
    return narrow(np, add_bias(np, total, None if bias is None else widen(np, bias)), x.dtype)


def _absolute_conv(np: Any, x: Any, weight: Any, bias: Any = None, **values: Any) -> Any:
    return conv(np, abs(x), abs(weight), None if bias is None else abs(bias), **values)


def _absolute_transpose(np: Any, x: Any, weight: Any, bias: Any = None, **values: Any) -> Any:
    return conv_transpose(np, abs(x), abs(weight), None if bias is None else abs(bias), **values)


def conv_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    """Roundings of one output: a product for each tap, and two more."""
    return elements((shapes[1] or (0, 0))[1:]) + 2


def _transpose_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    weight, groups = shapes[1] or (0, 0), int(values["groups"])
    return weight[0] // groups * elements(weight[2:]) + 2


_REASON = (
    "Any order of summation: one rounding in the accumulator per tap and two more, relative to the "
    "sum of absolute products, and one of the result. Winograd is not covered."
)
_TOLERANCE = Tolerance(ulps=1.0, length=conv_length, magnitude=_absolute_conv, reason=_REASON)


CONV2D = Operation(
    number=2,
    name="conv2d",
    summary="Two-dimensional convolution (cross-correlation) of images, with an optional bias.",
    formula="output[n, o, y, x] = bias[o] + sum_cij weight[o, c, i, j] "
    "input[n, c + group, y * stride + i * dilation - padding, x likewise]",
    inputs=(
        Operand(name="input", summary="[n, c, height, width]."),
        Operand(name="weight", summary="[o, c / groups, kernel height, kernel width]."),
        Operand(
            name="bias",
            summary="[o]; int32 where the output is.",
            optional=True,
            dtype_for=INT32_FOR_INT8,
        ),
    ),
    outputs=(
        Operand(
            name="output",
            summary="[n, o, y, x] with y = (height + top + bottom - (kernel height - 1) * dilation "
            "- 1) / stride + 1, rounded down; x likewise.",
        ),
    ),
    family="conv2d",
    dtypes=(*FLOATS, "int8", "uint8"),
    same_dtype=False,
    semantics=conv,
    notes=(
        "Padding is zeros. groups divides c and o; the kernel fits into the padded input.",
        "int8 and uint8 give int32, which wraps.",
        "algorithm, workspace_size and use_tensor_cores are wishes: a driver that can't do as "
        "asked says UNIMPLEMENTED or takes its own way. fusion is carried out by this call, and "
        "by no other way to run the operation.",
    ),
    standard=Standard(name="Conv", opset=11, note="int8 as ConvInteger 10 without zero points"),
    options=(
        Option(
            name="algorithm",
            summary="How to compute.",
            default=0,
            maximum=3,
            enum="wia_conv_algorithm_t",
            choices=(
                Choice(name="AUTO", value=0, summary="The driver's choice."),
                Choice(name="DIRECT", value=1, summary="Sums over the input itself."),
                Choice(name="IM2COL", value=2, summary="A matrix product of unfolded patches."),
                Choice(name="WINOGRAD", value=3, summary="Fewer products, a larger error."),
            ),
        ),
        Option(
            name="workspace_size",
            summary="Bytes of scratch memory to use at most; 0: no limit.",
            default=0,
            field="uint64_t",
        ),
        Option(
            name="use_tensor_cores",
            summary="1: matrix units may be used, also where they round more.",
            default=0,
            kind="bool",
            maximum=1,
            field="uint32_t",
        ),
        Option(
            name="fusion",
            summary="What follows at once, on the output in place.",
            default=0,
            maximum=1,
            enum="wia_fusion_t",
            choices=(
                Choice(name="NONE", value=0, summary="Nothing."),
                Choice(name="RELU", value=1, summary="wia_relu().", then="relu"),
            ),
        ),
    ),
    attributes=(
        pair("stride", "Step of the kernel in rows and columns.", 1),
        PADDING,
        DILATION,
        GROUPS,
    ),
    config="wia_conv_config_t",
    tolerance=_TOLERANCE,
    flops=lambda shapes, out, values: 2.0 * elements(out) * (conv_length(shapes, values) - 2),
    samples=(
        Sample(shapes=((1, 1, 5, 5), (1, 1, 3, 3), None)),
        Sample(shapes=((2, 3, 9, 7), (4, 3, 3, 3), (4,)), values={"padding": (1, 1, 1, 1)}),
        Sample(shapes=((1, 2, 8, 9), (3, 2, 2, 3), (3,)), values={"stride": (2, 3)}),
        Sample(shapes=((1, 2, 9, 9), (2, 2, 3, 2), None), values={"dilation": (2, 3)}),
        Sample(
            shapes=((2, 4, 5, 6), (6, 2, 3, 3), (6,)),
            values={"groups": 2, "padding": (0, 1, 2, 3), "stride": (1, 2)},
        ),
        Sample(shapes=((1, 3, 4, 4), (3, 1, 1, 1), (3,)), values={"groups": 3}),
        Sample(shapes=((0, 2, 4, 4), (3, 2, 3, 3), (3,))),
        Sample(
            shapes=((1, 8, 6, 6), (2, 8, 5, 5), None),
            fills=("wide", "wide"),
            dtypes=("int8", "uint8"),
        ),
    ),
    source="ONNX's vectors by way of conv, which it equals to the bit",
)

CONV = Operation(
    number=170,
    name="conv",
    summary="Convolution (cross-correlation) over one to three dimensions, with an optional bias.",
    formula="output[n, o, y] = bias[o] + sum_ci weight[o, c, i] "
    "input[n, c + group, y * stride + i * dilation - padding], y and i of each dimension",
    inputs=(
        Operand(name="input", summary="[n, c, ...] with one to three dimensions at the end."),
        Operand(name="weight", summary="[o, c / groups, ...]."),
        Operand(name="bias", summary="[o].", optional=True),
    ),
    outputs=(
        Operand(
            name="output",
            summary="[n, o, ...]; each size is (size + padding - (kernel - 1) * dilation - 1) / "
            "stride + 1, rounded down.",
        ),
    ),
    family="conv",
    dtypes=FLOATS,
    semantics=conv,
    notes=(
        "Padding is zeros. groups divides c and o; the kernel fits into the padded input.",
        "wia_conv2d() is the same for images of two dimensions, wia_conv_integer() for integers.",
    ),
    standard=Standard(name="Conv", opset=22, note="up to three dimensions; no auto_pad"),
    attributes=(STRIDES, PADDINGS, DILATIONS, GROUPS),
    config="wia_conv_nd_config_t",
    tolerance=_TOLERANCE,
    flops=lambda shapes, out, values: 2.0 * elements(out) * (conv_length(shapes, values) - 2),
    samples=(
        Sample(shapes=((1, 2, 9), (3, 2, 3), (3,)), values={"padding": (1, 2), "stride": (2,)}),
        Sample(shapes=((1, 2, 5, 7), (4, 1, 3, 2), None), values={"groups": 2, "dilation": (2,)}),
        Sample(
            shapes=((2, 2, 4, 5, 3), (3, 2, 2, 3, 1), (3,)),
            values={"stride": (1, 2, 1), "padding": (1, 0, 0, 1, 2, 0)},
        ),
        Sample(shapes=((2, 3, 33), (3, 1, 7), (3,)), values={"groups": 3, "padding": (3,)}),
        Sample(shapes=((0, 2, 4), (3, 2, 3), (3,))),
    ),
    source="ONNX node tests basic_conv_* and conv_with_*; PyTorch's Conv1d_*, Conv2d_* and "
    "Conv3d_* among ONNX's models",
)

CONV_TRANSPOSE = Operation(
    number=171,
    name="conv_transpose",
    summary="Transpose of a convolution over one to three dimensions, with an optional bias.",
    formula="output[n, o, y * stride + i * dilation - padding] = bias[o] + sum over all y, i and c "
    "that meet there of weight[c, o, i] input[n, c, y]",
    inputs=(
        Operand(name="input", summary="[n, c, ...] with one to three dimensions at the end."),
        Operand(name="weight", summary="[c, o / groups, ...]."),
        Operand(name="bias", summary="[o].", optional=True),
    ),
    outputs=(
        Operand(
            name="output",
            summary="[n, o, ...]; each size is (size - 1) * stride + (kernel - 1) * dilation + 1 + "
            "output_padding - padding.",
        ),
    ),
    family="conv_transpose",
    dtypes=FLOATS,
    semantics=conv_transpose,
    notes=(
        "Padding is what is cut off at both ends, output_padding what is added at the end before. "
        "Where no kernel reaches, the output is the bias.",
    ),
    standard=Standard(
        name="ConvTranspose", opset=22, note="up to three dimensions; no auto_pad or output_shape"
    ),
    attributes=(
        STRIDES,
        PADDINGS,
        DILATIONS,
        along("output_padding", "Elements added at the end of each dimension; none: 0.", 0),
        GROUPS,
    ),
    config="wia_conv_transpose_config_t",
    tolerance=Tolerance(
        ulps=1.0, length=_transpose_length, magnitude=_absolute_transpose, reason=_REASON
    ),
    flops=lambda shapes, out, values: 2.0 * elements(shapes[0]) * elements((shapes[1] or (0,))[1:]),
    samples=(
        Sample(shapes=((1, 2, 5), (2, 3, 3), (3,)), values={"stride": (2,), "padding": (1, 0)}),
        Sample(
            shapes=((2, 4, 3, 4), (4, 3, 2, 3), None),
            values={"groups": 2, "stride": (3, 2), "output_padding": (1, 0), "dilation": (2, 1)},
        ),
        Sample(shapes=((1, 1, 2, 3, 2), (1, 2, 3, 1, 2), (2,)), values={"padding": (1, 0, 0) * 2}),
        Sample(shapes=((2, 3, 9), (3, 1, 4), (3,)), values={"groups": 3, "stride": (5,)}),
        Sample(shapes=((0, 2, 4), (2, 3, 3), (3,))),
    ),
    source="ONNX node tests convtranspose*; PyTorch's ConvTranspose2d* among ONNX's models",
)

OPERATIONS = (CONV2D, CONV, CONV_TRANSPOSE)
