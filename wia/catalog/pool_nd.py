"""Pooling over one to three dimensions, in windows or of whole images."""

from __future__ import annotations

from typing import Any

from ._cost import elements
from ._forms import flag
from ._model import (
    FLOATS,
    INT32_MAX,
    Attribute,
    Choice,
    Operand,
    Operation,
    Sample,
    Shape,
    Standard,
    Tolerance,
    Values,
)
from ._pooling import (
    avg_pool,
    global_avg_pool,
    global_lp_pool,
    global_max_pool,
    lp_pool,
    max_pool_indices,
)
from ._windows import DILATIONS, PADDINGS, along, spread
from .pool import absolute_average, absolute_mean, image_length

IMAGES = Operand(name="input", summary="[n, c, ...] with one to three dimensions at the end.")
KERNEL = along("kernel", "Elements of the window in each dimension; has to be given.")
STEP = along("stride", "Step of the window in each dimension; none or 0: that of the kernel.", 0)
_CEIL = flag("ceil_mode", "1: sizes of the output are rounded up.")
_P = Attribute(
    name="p",
    summary="Which norm.",
    default=2,
    minimum=1,
    maximum=INT32_MAX,
    zero_is_default=True,
    field="int32_t",
)
_WINDOWS = Operand(
    name="output",
    summary="[n, c, ...]; each size is (size + padding - (kernel - 1) * dilation - 1) / stride + "
    "1, rounded down, or up with ceil_mode.",
)
_WHOLE = Operand(name="output", summary="[n, c, 1, ...].")
_HANGING = (
    "With ceil_mode a last window that would begin behind the input and its padding before the "
    "first element is left out."
)


def taps(shapes: tuple[Shape | None, ...], values: Values) -> int:
    """Elements of the window."""
    return elements(spread(values["kernel"], len(shapes[0] or (0, 0)) - 2, 1))


def _flops(shapes: tuple[Shape | None, ...], out: Shape, values: Values) -> float:
    return float(elements(out) * (taps(shapes, values) + 1))


def _count(shapes: tuple[Shape | None, ...], out: Shape, values: Values) -> float:
    return float(elements(shapes[0]))


MAX_POOL = Operation(
    number=180,
    name="max_pool",
    summary="Largest element in each window, and where it is.",
    formula="output[n, c, y] = max_i input[n, c, y * stride + i * dilation - padding], y and i of "
    "each dimension",
    inputs=(IMAGES,),
    outputs=(
        _WINDOWS,
        Operand(
            name="indices",
            summary="int64, the shape of output: the place of the first largest element in the "
            "whole of input, padding not counted; -1 for a window without an element.",
            optional=True,
        ),
    ),
    family="pool",
    dtypes=(*FLOATS, "int8", "uint8"),
    semantics=max_pool_indices,
    notes=(
        "NaN wins. Padding is below all elements, and smaller than the reach of the kernel; a "
        "window without an element gives -infinity, or the least integer.",
        _HANGING,
    ),
    standard=Standard(name="MaxPool", opset=22, note="up to three dimensions; no auto_pad"),
    attributes=(
        _CEIL,
        Attribute(
            name="storage_order",
            summary="How places inside of an image and channel are counted.",
            default=0,
            maximum=1,
            enum="wia_storage_order_t",
            choices=(
                Choice(name="ROW_MAJOR", value=0, summary="The last dimension first."),
                Choice(name="COLUMN_MAJOR", value=1, summary="The first dimension first."),
            ),
        ),
        KERNEL,
        STEP,
        PADDINGS,
        DILATIONS,
    ),
    config="wia_max_pool_config_t",
    tolerance=Tolerance(),
    flops=_flops,
    samples=(
        Sample(shapes=((1, 1, 4, 4),), values={"kernel": (2,)}),
        Sample(shapes=((2, 3, 9),), values={"kernel": (3,), "stride": (1,), "padding": (1, 2)}),
        Sample(
            shapes=((1, 2, 5, 4, 6),),
            values={"kernel": (2, 3, 2), "stride": (2, 1, 3), "ceil_mode": 1, "storage_order": 1},
        ),
        Sample(
            shapes=((1, 2, 8, 7),),
            values={"kernel": (3, 3), "padding": (1, 0, 1, 2), "stride": (2,), "ceil_mode": 1},
            fills=("special",),
        ),
        Sample(shapes=((1, 1, 9, 33),), values={"kernel": (2, 3), "dilation": (3, 2)}),
        Sample(shapes=((0, 2, 4),), values={"kernel": (2,)}),
    ),
    source="ONNX node tests maxpool_*; PyTorch's MaxPool1d_*, MaxPool2d_* and MaxPool3d_* among "
    "ONNX's models",
)

AVG_POOL = Operation(
    number=181,
    name="avg_pool",
    summary="Mean of each window.",
    formula="output[n, c, y] = sum_i input[n, c, y * stride + i * dilation - padding] / count, y "
    "and i of each dimension",
    inputs=(IMAGES,),
    outputs=(_WINDOWS,),
    family="pool",
    dtypes=FLOATS,
    semantics=avg_pool,
    notes=(
        "Padding counts as 0. The count is that of the elements under the kernel, without padding "
        "unless count_include_pad is set. What hangs over beyond the padding, with ceil_mode, "
        "never counts.",
        "A window with nothing to count gives NaN, which a dilation above 1 can bring about. NaN "
        "spreads to every window that has it.",
        _HANGING,
    ),
    standard=Standard(name="AveragePool", opset=22, note="up to three dimensions; no auto_pad"),
    attributes=(
        _CEIL,
        flag("count_include_pad", "1: padding counts."),
        KERNEL,
        STEP,
        PADDINGS,
        DILATIONS,
    ),
    config="wia_avg_pool_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: taps(shapes, values) + 2,
        magnitude=absolute_average,
        reason="Any order of summation: one rounding in the accumulator per tap and two more, "
        "relative to the mean of absolute values, and one of the result.",
    ),
    flops=_flops,
    samples=(
        Sample(shapes=((2, 3, 33),), values={"kernel": (2,)}),
        Sample(
            shapes=((1, 2, 5, 4, 6),),
            values={"kernel": (2, 3, 2), "stride": (2, 1, 3), "ceil_mode": 1},
            fills=("special",),
        ),
        Sample(
            shapes=((1, 2, 6, 7),),
            values={
                "kernel": (3,),
                "padding": (1, 0, 1, 2),
                "stride": (2, 3),
                "ceil_mode": 1,
                "count_include_pad": 1,
            },
        ),
        Sample(shapes=((0, 2, 4),), values={"kernel": (2,)}),
    ),
    source="ONNX node tests averagepool_*; PyTorch's AvgPool2d and AvgPool3d* among ONNX's models",
)

LP_POOL = Operation(
    number=182,
    name="lp_pool",
    summary="The p-norm of each window.",
    formula="output[n, c, y] = (sum_i |input[n, c, y * stride + i * dilation - padding]|^p)^(1/p), "
    "y and i of each dimension",
    inputs=(IMAGES,),
    outputs=(_WINDOWS,),
    family="pool",
    dtypes=FLOATS,
    semantics=lp_pool,
    notes=("Padding counts as 0. NaN spreads.", _HANGING),
    standard=Standard(name="LpPool", opset=22, note="up to three dimensions; no auto_pad"),
    attributes=(_CEIL, _P, KERNEL, STEP, PADDINGS, DILATIONS),
    config="wia_lp_pool_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: taps(shapes, values) + 2 * min(values["p"], 64) + 8,
        magnitude=lp_pool,
        reason="All terms are positive: relative to the result, one rounding per summand, those "
        "of the powers and eight for the root.",
    ),
    flops=_flops,
    samples=(
        Sample(shapes=((2, 3, 33),), values={"kernel": (2,)}),
        Sample(shapes=((1, 2, 6, 7),), values={"kernel": (3, 2), "p": 1, "padding": (1,)}),
        Sample(
            shapes=((1, 2, 5, 4, 6),),
            values={"kernel": (2, 3, 2), "p": 3, "stride": (2, 1, 3), "ceil_mode": 1},
            fills=("positive",),
        ),
        Sample(shapes=((0, 2, 4),), values={"kernel": (2,)}),
    ),
    source="ONNX node tests lppool_*",
)


def _whole(number: int, name: str, word: str, semantics: Any, **more: Any) -> Operation:
    return Operation(
        number=number,
        name=name,
        summary=f"{word} of each image and channel.",
        inputs=(IMAGES,),
        outputs=(_WHOLE,),
        family="global_pool",
        semantics=semantics,
        flops=_count,
        **more,
    )


_SAMPLES = (
    Sample(shapes=((2, 3, 9),)),
    Sample(shapes=((1, 2, 7, 9),), fills=("wide",)),
    Sample(shapes=((1, 5, 3, 1, 2),), fills=("special",)),
    Sample(shapes=((0, 2, 4),)),
)

GLOBAL_AVG_POOL = _whole(
    184,
    "global_avg_pool",
    "Mean",
    global_avg_pool,
    formula="output[n, c, 0, ...] = mean_y input[n, c, y]",
    dtypes=FLOATS,
    notes=("NaN spreads. The mean of an image without elements is NaN.",),
    standard=Standard(name="GlobalAveragePool", opset=22, note="up to three dimensions"),
    tolerance=Tolerance(
        ulps=1.0,
        length=image_length,
        magnitude=absolute_mean,
        reason="Any order of summation: one rounding in the accumulator per element and one more, "
        "relative to the mean of absolute values, and one of the result.",
    ),
    samples=_SAMPLES,
    source="ONNX node tests globalaveragepool*",
)

GLOBAL_MAX_POOL = _whole(
    185,
    "global_max_pool",
    "Largest element",
    global_max_pool,
    formula="output[n, c, 0, ...] = max_y input[n, c, y]",
    dtypes=(*FLOATS, "int8", "uint8"),
    notes=("NaN wins. An image without elements is INVALID_ARGUMENT, unless the output is empty.",),
    standard=Standard(name="GlobalMaxPool", opset=22, note="up to three dimensions"),
    tolerance=Tolerance(),
    samples=_SAMPLES,
    source="ONNX node tests globalmaxpool*; NaN by hand",
)

GLOBAL_LP_POOL = _whole(
    186,
    "global_lp_pool",
    "The p-norm",
    global_lp_pool,
    formula="output[n, c, 0, ...] = (sum_y |input[n, c, y]|^p)^(1/p)",
    dtypes=FLOATS,
    notes=("NaN spreads. The norm of an image without elements is 0.",),
    standard=Standard(name="GlobalLpPool", opset=22, note="up to three dimensions"),
    attributes=(_P,),
    config="wia_global_lp_pool_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: image_length(shapes, values) + 2 * min(values["p"], 64) + 8,
        magnitude=global_lp_pool,
        reason="All terms are positive: relative to the result, one rounding per summand, those "
        "of the powers and eight for the root.",
    ),
    samples=(*_SAMPLES, Sample(shapes=((2, 2, 33),), values={"p": 3})),
    source="numpy.linalg.norm of each image",
)

OPERATIONS = (MAX_POOL, AVG_POOL, LP_POOL, GLOBAL_AVG_POOL, GLOBAL_MAX_POOL, GLOBAL_LP_POOL)
