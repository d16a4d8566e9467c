"""Averages and largest elements of images, in windows or as a whole: NCHW."""

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
from ._numeric import narrow, widen
from ._windows import DILATION, PADDING, Windows, pair


def avg_pool2d(np: Any, x: Any, *, count_include_pad: int, **values: Any) -> Any:
    """Mean of the elements under the kernel, summed row by row."""
    windows = Windows(x.shape, values)
    total, count = windows.zeros(np, np.float64), windows.zeros(np, np.float64)
    inside = np.ones(x.shape, np.float64)
    if count_include_pad:
        inside = windows.extend(np, inside, 1.0, overhang=0.0)
    else:
        inside = windows.extend(np, inside, 0.0)
    wide = windows.extend(np, widen(np, x), 0.0)
    for window, counted in zip(windows.taps(wide), windows.taps(inside), strict=True):
        # What padding holds is 0, so that infinities and NaN of the input are counted once.
        total, count = total + window, count + counted
    return narrow(np, total / count, x.dtype)


def global_avg_pool2d(np: Any, x: Any) -> Any:
    """Mean of each image."""
    rows = widen(np, x).reshape(*x.shape[:2], x.shape[2] * x.shape[3])
    total = rows.sum(axis=-1) / np.float64(rows.shape[-1])
    return narrow(np, total, x.dtype).reshape(*x.shape[:2], 1, 1)


def global_max_pool2d(np: Any, x: Any) -> Any:
    """Largest element of each image; NaN wins."""
    if x.size == 0:
        return np.empty((*x.shape[:2], 1, 1), x.dtype)
    wide = widen(np, x)
    return wide.max(axis=(2, 3), keepdims=True).astype(x.dtype)


def _absolute_average(np: Any, x: Any, **values: Any) -> Any:
    return avg_pool2d(np, abs(x), **values)


def _absolute_mean(np: Any, x: Any) -> Any:
    return global_avg_pool2d(np, abs(x))


def _image_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    return elements((shapes[0] or (0, 0, 0, 0))[2:]) + 1


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
    semantics=avg_pool2d,
    notes=(
        "Padding counts as 0. The count is that of the elements under the kernel, without padding "
        "unless count_include_pad is set. What hangs over beyond the padding, with ceil_mode, "
        "never counts.",
        "A window with nothing to count gives NaN, which a dilation above 1 can bring about.",
        "Sizes are those of max_pool2d. NaN spreads to every window that has it.",
    ),
    standard=Standard(name="AveragePool", opset=19),
    attributes=(
        flag("ceil_mode", "1: the size of the output is rounded up."),
        flag("count_include_pad", "1: padding counts."),
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
    config="wia_avg_pool2d_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: elements(values["kernel"]) + 2,
        magnitude=_absolute_average,
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
    source="ONNX node tests averagepool_2d_*; PyTorch's AvgPool2d among ONNX's models; windows "
    "that hang over by hand",
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
    semantics=global_avg_pool2d,
    notes=("NaN spreads. The mean of an image without elements is NaN.",),
    standard=Standard(name="GlobalAveragePool", opset=1, note="images of two dimensions"),
    tolerance=Tolerance(
        ulps=1.0,
        length=_image_length,
        magnitude=_absolute_mean,
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
    source="ONNX node tests globalaveragepool*",
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
    semantics=global_max_pool2d,
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
    source="ONNX node tests globalmaxpool*; NaN by hand",
)

OPERATIONS = (AVG_POOL2D, GLOBAL_AVG_POOL2D, GLOBAL_MAX_POOL2D)
