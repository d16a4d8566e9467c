"""Patches of images as columns, and columns added up to images."""

from __future__ import annotations

from typing import Any

from ._cost import elements, moves_only
from ._model import (
    ANY,
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
from ._windows import DILATIONS, MOST, PADDINGS, STRIDES, Windows
from .pool_nd import KERNEL

_IMAGE = Attribute(
    name="image",
    summary="Sizes of the output without n and c; have to be given.",
    default=(),
    length=MOST,
    variable=True,
    length_field="image_count",
    maximum=INT32_MAX,
    field="int64_t",
)
_PLAIN = tuple(name for name in ANY if name != "float8_e8m0fnu")
"""Dtypes that have a zero for the padding."""


def im2col(np: Any, x: Any, *, kernel: Any, **values: Any) -> Any:
    """A column of c * kernel elements for each place of the kernel."""
    windows = Windows(x.shape, kernel, values)
    extended = windows.extend(np, x, np.zeros((), x.dtype))
    taps = np.stack(list(windows.taps(extended)), axis=2)
    rows = x.shape[1] * elements(windows.kernel)
    return np.ascontiguousarray(taps).reshape(x.shape[0], rows, elements(windows.counts))


def col2im(np: Any, x: Any, *, image: Any, kernel: Any, **values: Any) -> Any:
    """The sum of the columns, each element where im2col takes it from."""
    image = tuple(image)
    shape = (x.shape[0], x.shape[1] // elements(_kernel(kernel, image)), *image)
    windows = Windows(shape, kernel, values)
    wide = widen(np, x)
    total = windows.extend(np, np.zeros(shape, wide.dtype), 0)
    taps = elements(windows.kernel)
    columns = wide.reshape(*shape[:2], taps, *windows.counts)
    for i, place in enumerate(windows.places()):
        total[(..., *place)] += columns[:, :, i]
    kept = tuple(
        slice(before, before + size) for before, size in zip(windows.padding, image, strict=False)
    )
    return narrow(np, total[(..., *kept)], x.dtype)


def _kernel(kernel: Any, image: Shape) -> Shape:
    return tuple(kernel) * (len(image) if len(kernel) == 1 else 1)


def _absolute_sum(np: Any, x: Any, **values: Any) -> Any:
    return col2im(np, abs(x), **values)


def _taps(shapes: tuple[Shape | None, ...], values: Values) -> int:
    return elements(_kernel(values["kernel"], tuple(values["image"])))


IM2COL = Operation(
    number=175,
    name="im2col",
    summary="The patches of images under a sliding kernel, as columns.",
    formula="output[n, (c, i), y] = input[n, c, y * stride + i * dilation - padding], y and i of "
    "each dimension",
    inputs=(Operand(name="input", summary="[n, c, ...] with one to three dimensions at the end."),),
    outputs=(
        Operand(
            name="output",
            summary="[n, c * elements of the kernel, places of the kernel], both in row-major "
            "order.",
        ),
    ),
    family="im2col",
    dtypes=_PLAIN,
    semantics=im2col,
    notes=("Padding is zeros. The kernel fits into the padded input.",),
    attributes=(KERNEL, STRIDES, PADDINGS, DILATIONS),
    config="wia_im2col_config_t",
    tolerance=Tolerance(),
    flops=moves_only,
    samples=(
        Sample(shapes=((1, 2, 4, 5),), values={"kernel": (2, 3)}),
        Sample(shapes=((2, 3, 33),), values={"kernel": (3,), "padding": (1, 2), "stride": (2,)}),
        Sample(shapes=((1, 2, 5, 4, 6),), values={"kernel": (2,), "dilation": (2, 1, 3)}),
        Sample(shapes=((2, 1, 7, 3),), values={"kernel": (1, 3)}, fills=("special",)),
        Sample(shapes=((0, 2, 4),), values={"kernel": (2,)}),
    ),
    source="by way of conv: a matrix product with the columns; values by hand",
)

COL2IM = Operation(
    number=176,
    name="col2im",
    summary="Columns added up to images: the transpose of im2col.",
    formula="output[n, c, p] = sum of input[n, (c, i), y] over all i and y with y * stride + i * "
    "dilation - padding = p",
    inputs=(
        Operand(
            name="input",
            summary="[n, c * elements of the kernel, places of the kernel], both in row-major "
            "order.",
        ),
    ),
    outputs=(Operand(name="output", summary="[n, c, image]."),),
    family="col2im",
    dtypes=(*FLOATS, "int64", "int32"),
    semantics=col2im,
    notes=("Where no column reaches, the output is 0. Integers wrap.",),
    standard=Standard(name="Col2Im", opset=18, note="up to three dimensions"),
    attributes=(
        _IMAGE,
        KERNEL,
        STRIDES,
        PADDINGS,
        DILATIONS,
    ),
    config="wia_col2im_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=_taps,
        magnitude=_absolute_sum,
        reason="Any order of summation: one rounding in the accumulator per element of the kernel, "
        "relative to the sum of absolute values, and one of the result.",
    ),
    flops=lambda shapes, out, values: float(elements(shapes[0])),
    samples=(
        Sample(shapes=((1, 12, 9),), values={"image": (4, 5), "kernel": (2, 3)}),
        Sample(
            shapes=((2, 9, 17),),
            values={"image": (33,), "kernel": (3,), "padding": (1, 1), "stride": (2,)},
        ),
        Sample(
            shapes=((1, 16, 3),),
            values={"image": (3, 4, 2), "kernel": (2,), "dilation": (2, 1, 1)},
        ),
        Sample(shapes=((0, 4, 3),), values={"image": (4,), "kernel": (2,)}),
    ),
    source="ONNX node tests col2im*",
)

OPERATIONS = (IM2COL, COL2IM)
