"""Averages and largest elements of images of two dimensions, in windows or as a whole."""

from __future__ import annotations

from typing import Any

from ._cost import elements
from ._forms import flag
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
from ._pooling import avg_pool, global_avg_pool, global_max_pool, max_pool
from ._windows import DILATION, PADDING, pair

_CEIL = flag("ceil_mode", "1: the size of the output is rounded up.")
_KERNEL = pair("kernel", "Rows and columns of the window; has to be given.", None)
_STRIDE = Attribute(
    name="stride",
    summary="Step of the window in rows and columns; 0: that of the kernel.",
    default=(0, 0),
    length=2,
    maximum=INT32_MAX,
    field="int64_t",
)


def absolute_average(np: Any, x: Any, **values: Any) -> Any:
    """Mean of absolute values: what the error of a mean is relative to."""
    return avg_pool(np, abs(x), **values)


def absolute_mean(np: Any, x: Any) -> Any:
    """The same of whole images."""
    return global_avg_pool(np, abs(x))


def image_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    """Roundings of a mean of a whole image."""
    return elements((shapes[0] or (0, 0))[2:]) + 1


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
    semantics=max_pool,
    notes=(
        "NaN wins. Padding is below all elements, and smaller than the reach of the kernel; a "
        "window without an element gives -infinity, or the least integer.",
        "With ceil_mode a last window that would begin behind the input and its padding before "
        "the first element is left out.",
    ),
    standard=Standard(name="MaxPool", opset=12, note="one output; storage_order 0"),
    attributes=(
        _CEIL,
        _KERNEL,
        _STRIDE,
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
    source="ONNX's vectors by way of max_pool, which it equals to the bit",
)

AVG_POOL2D = Operation(
    number=40,
    name="avg_pool2d",
    summary="Mean of each window of an image.",
    formula="output[n, c, y, x] = sum_ij input[n, c, y * stride + i * dilation - padding, x "
    "likewise] / count",
    inputs=(Operand(name="input", summary="[n, c, height, width]."),),
    outputs=(Operand(name="output", summary="[n, c, y, x], as of max_pool2d."),),
    family="pool2d",
    dtypes=FLOATS,
    semantics=avg_pool,
    notes=(
        "Padding counts as 0. The count is that of the elements under the kernel, without padding "
        "unless count_include_pad is set. What hangs over beyond the padding, with ceil_mode, "
        "never counts.",
        "A window with nothing to count gives NaN, which a dilation above 1 can bring about.",
        "Sizes are those of max_pool2d. NaN spreads to every window that has it.",
    ),
    standard=Standard(name="AveragePool", opset=19),
    attributes=(
        _CEIL,
        flag("count_include_pad", "1: padding counts."),
        _KERNEL,
        _STRIDE,
        PADDING,
        DILATION,
    ),
    config="wia_avg_pool2d_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: elements(values["kernel"]) + 2,
        magnitude=absolute_average,
        reason="Any order of summation: one rounding in the accumulator per tap and two more, "
        "relative to the mean of absolute values, and one of the result.",
    ),
    flops=lambda shapes, out, values: float(elements(out) * (elements(values["kernel"]) + 1)),
    samples=(
        Sample(shapes=((1, 1, 4, 4),), values={"kernel": (2, 2)}),
        Sample(shapes=((2, 3, 7, 9),), values={"kernel": (3, 2), "stride": (2, 1)}),
        Sample(
            shapes=((1, 2, 8, 7),),
            values={"kernel": (3, 3), "padding": (1, 0, 1, 2), "stride": (2, 2), "ceil_mode": 1},
            fills=("special",),
        ),
        Sample(
            shapes=((1, 2, 6, 7),),
            values={
                "kernel": (3, 3),
                "padding": (1, 0, 1, 2),
                "stride": (2, 3),
                "ceil_mode": 1,
                "count_include_pad": 1,
            },
        ),
        Sample(shapes=((1, 1, 9, 9),), values={"kernel": (2, 3), "dilation": (3, 2)}),
        Sample(shapes=((0, 2, 4, 4),), values={"kernel": (2, 2)}),
    ),
    source="ONNX's vectors by way of avg_pool, which it equals to the bit",
)

GLOBAL_AVG_POOL2D = Operation(
    number=41,
    name="global_avg_pool2d",
    summary="Mean of each image and channel.",
    formula="output[n, c, 0, 0] = mean_yx input[n, c, y, x]",
    inputs=(Operand(name="input", summary="[n, c, height, width]."),),
    outputs=(Operand(name="output", summary="[n, c, 1, 1]."),),
    family="global_pool2d",
    dtypes=FLOATS,
    semantics=global_avg_pool,
    notes=("NaN spreads. The mean of an image without elements is NaN.",),
    standard=Standard(name="GlobalAveragePool", opset=1, note="images of two dimensions"),
    tolerance=Tolerance(
        ulps=1.0,
        length=image_length,
        magnitude=absolute_mean,
        reason="Any order of summation: one rounding in the accumulator per element and one more, "
        "relative to the mean of absolute values, and one of the result.",
    ),
    flops=lambda shapes, out, values: float(elements(shapes[0])),
    samples=(
        Sample(shapes=((1, 1, 4, 4),)),
        Sample(shapes=((2, 3, 7, 9),), fills=("wide",)),
        Sample(shapes=((1, 5, 3, 1),), fills=("special",)),
        Sample(shapes=((0, 2, 4, 4),)),
        Sample(shapes=((1, 2, 0, 4),)),
    ),
    source="ONNX's vectors by way of global_avg_pool, which it equals to the bit",
)

GLOBAL_MAX_POOL2D = Operation(
    number=42,
    name="global_max_pool2d",
    summary="Largest element of each image and channel.",
    formula="output[n, c, 0, 0] = max_yx input[n, c, y, x]",
    inputs=(Operand(name="input", summary="[n, c, height, width]."),),
    outputs=(Operand(name="output", summary="[n, c, 1, 1]."),),
    family="global_pool2d",
    dtypes=(*FLOATS, "int8", "uint8"),
    semantics=global_max_pool,
    notes=("NaN wins. An image without elements is INVALID_ARGUMENT, unless the output is empty.",),
    standard=Standard(name="GlobalMaxPool", opset=1, note="images of two dimensions"),
    tolerance=Tolerance(),
    flops=lambda shapes, out, values: float(elements(shapes[0])),
    samples=(
        Sample(shapes=((1, 1, 4, 4),)),
        Sample(shapes=((2, 3, 7, 9),), fills=("wide",)),
        Sample(shapes=((1, 5, 3, 1),), fills=("special",)),
        Sample(shapes=((0, 2, 4, 4),)),
    ),
    source="ONNX's vectors by way of global_max_pool, which it equals to the bit",
)

OPERATIONS = (AVG_POOL2D, MAX_POOL2D, GLOBAL_AVG_POOL2D, GLOBAL_MAX_POOL2D)
