"""Convolution and pooling over images: NCHW."""

from __future__ import annotations

from typing import Any

from ._cost import elements
from ._forms import INT32_FOR_INT8, flag
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
from ._numeric import lowest, narrow, product_dtype, widen
from ._windows import DILATION, PADDING, Windows, pair


def _padded(np: Any, array: Any, padding: tuple[int, ...], value: Any) -> Any:
    top, left, bottom, right = padding
    widths = ((0, 0), (0, 0), (top, bottom), (left, right))
    return np.pad(array, widths, constant_values=value)


def _taps(array: Any, kernel: tuple[int, ...], out: tuple[int, ...], values: Values) -> Any:
    """Pairs of a kernel position and, for each output, the element under it."""
    (down, right), (rows, columns) = values["stride"], values["dilation"]
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            y, x = i * rows, j * columns
            bottom, end = y + down * (out[0] - 1) + 1, x + right * (out[1] - 1) + 1
            yield i, j, array[:, :, y:bottom:down, x:end:right]


def _reach(kernel: tuple[int, ...], dilation: tuple[int, ...]) -> list[int]:
    return [(size - 1) * step + 1 for size, step in zip(kernel, dilation, strict=True)]


def conv2d(np: Any, x: Any, weight: Any, bias: Any = None, **values: Any) -> Any:
    """Cross-correlation, summed channel by channel, then row by row of the kernel."""
    groups, kernel = values["groups"], weight.shape[2:]
    wide, taps = _padded(np, widen(np, x), values["padding"], 0), widen(np, weight)
    reach = _reach(kernel, values["dilation"])
    out = tuple(
        (size - r) // step + 1
        for size, r, step in zip(wide.shape[2:], reach, values["stride"], strict=True)
    )
    channels, outputs = weight.shape[1], weight.shape[0] // groups
    total = np.zeros((x.shape[0], weight.shape[0], *out), wide.dtype)
    windows = list(_taps(wide, kernel, out, values))
    for group in range(groups):
        own = slice(group * outputs, (group + 1) * outputs)
        for channel in range(channels):
            for i, j, window in windows:
                pixels = window[:, group * channels + channel, None]
                total[:, own] += pixels * taps[own, channel, i, j][:, None, None]
    if bias is not None:
        total = total + widen(np, bias)[:, None, None]
    return narrow(np, total, product_dtype(np, x.dtype))


def _absolute_conv2d(np: Any, x: Any, weight: Any, bias: Any = None, **values: Any) -> Any:
    return conv2d(np, abs(x), abs(weight), None if bias is None else abs(bias), **values)


def max_pool2d(np: Any, x: Any, **values: Any) -> Any:
    """Largest element under the kernel; a NaN there wins."""
    windows, least = Windows(x.shape, values), lowest(np, x.dtype)
    wide = windows.extend(np, widen(np, x), least)
    result = np.full(windows.shape, least, wide.dtype)
    for window in windows.taps(wide):
        result = np.maximum(result, window)
    return result.astype(x.dtype)


def _conv_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    weight = shapes[1] or (0, 0, 0, 0)
    return weight[1] * weight[2] * weight[3] + 2


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
    semantics=conv2d,
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
        Attribute(
            name="groups",
            summary="Independent parts that channels are divided into.",
            default=1,
            minimum=1,
            maximum=INT32_MAX,
            zero_is_default=True,
            field="int64_t",
        ),
    ),
    config="wia_conv_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=_conv_length,
        magnitude=_absolute_conv2d,
        reason="Any order of summation: one rounding in the accumulator per tap and two more, "
        "relative to the sum of absolute products, and one of the result. Winograd is not covered.",
    ),
    flops=lambda shapes, out, values: 2.0 * elements(out) * (_conv_length(shapes, values) - 2),
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
    source="ONNX node tests basic_conv_*, conv_with_* and convinteger_*; PyTorch's Conv2d_* among "
    "ONNX's models",
)

MAX_POOL2D = Operation(
    number=20,
    name="max_pool2d",
    summary="Largest element in each window of an image.",
    formula="output[n, c, y, x] = max_ij input[n, c, y * stride + i * dilation - padding, x "
    "likewise]",
    inputs=(Operand(name="input", summary="[n, c, height, width]."),),
    outputs=(
        Operand(
            name="output",
            summary="[n, c, y, x] with y = (height + top + bottom - (kernel - 1) * dilation - 1) / "
            "stride + 1, rounded down, or up with ceil_mode; x likewise.",
        ),
    ),
    family="pool2d",
    dtypes=(*FLOATS, "int8", "uint8"),
    semantics=max_pool2d,
    notes=(
        "NaN wins. Padding is below all elements, and smaller than the reach of the kernel; a "
        "window without an element gives -infinity, or the least integer.",
        "With ceil_mode a last window that would begin behind the input and its padding before "
        "the first element is left out.",
    ),
    standard=Standard(name="MaxPool", opset=12, note="one output; storage_order 0"),
    attributes=(
        flag("ceil_mode", "1: the size of the output is rounded up."),
        pair("kernel", "Rows and columns of the window; has to be given.", None),
        Attribute(
            name="stride",
            summary="Step of the window in rows and columns; 0: that of the kernel.",
            default=(0, 0),
            length=2,
            maximum=INT32_MAX,
            field="int64_t",
        ),
        PADDING,
        DILATION,
    ),
    config="wia_max_pool2d_config_t",
    tolerance=Tolerance(),
    flops=lambda shapes, out, values: float(elements(out) * elements(values["kernel"])),
    samples=(
        Sample(shapes=((1, 1, 4, 4),), values={"kernel": (2, 2)}),
        Sample(shapes=((2, 3, 7, 9),), values={"kernel": (3, 2), "stride": (2, 1)}),
        Sample(
            shapes=((1, 2, 8, 7),),
            values={"kernel": (3, 3), "padding": (1, 0, 1, 2), "stride": (2, 2), "ceil_mode": 1},
            fills=("special",),
        ),
        Sample(shapes=((1, 1, 9, 9),), values={"kernel": (2, 3), "dilation": (3, 2)}),
        Sample(shapes=((0, 2, 4, 4),), values={"kernel": (2, 2)}),
    ),
    source="ONNX node tests maxpool_2d_*; PyTorch's MaxPool2d_* among ONNX's models",
)

OPERATIONS = (CONV2D, MAX_POOL2D)
