"""Convolution of 8-bit integers with zero points."""

from __future__ import annotations

from typing import Any

from ._convolve import correlate
from ._cost import elements
from ._model import Operand, Operation, Sample, Shape, Standard, Tolerance, Values
from ._quantized import requantize, shift, wrap
from ._windows import DILATIONS, PADDINGS, STRIDES
from .conv import GROUPS, conv_length

BYTES = ("int8", "uint8")
_SCALE = ("float32",)


def conv_integer(
    np: Any, x: Any, weight: Any, x_zero: Any = None, weight_zero: Any = None, **values: Any
) -> Any:
    """Sums of products of the elements without their zero points."""
    x, weight = shift(np, x, x_zero), shift(np, weight, weight_zero, 0)
    return correlate(np, x, weight, values, np.dtype(np.int32), lambda sums, _: wrap(np, sums))


def qlinear_conv(
    np: Any,
    x: Any,
    x_scale: Any,
    x_zero: Any,
    weight: Any,
    weight_scale: Any,
    weight_zero: Any,
    scale: Any,
    zero: Any,
    bias: Any = None,
    **values: Any,
) -> Any:
    """The integer convolution, brought back to 8 bits."""
    factor = x_scale * weight_scale / scale

    def finish(sums: Any, outputs: slice) -> Any:
        total = sums if bias is None else sums + bias.astype(np.int64)[outputs, None]
        own = factor[outputs, None] if factor.size > 1 else factor.reshape(())
        return requantize(np, wrap(np, total), own, zero)

    x, weight = shift(np, x, x_zero), shift(np, weight, weight_zero, 0)
    return correlate(np, x, weight, values, zero.dtype, finish)


def _flops(position: int) -> Any:
    def flops(shapes: tuple[Shape | None, ...], out: Shape, values: Values) -> float:
        return 2.0 * elements(out) * (conv_length((None, shapes[position]), values) - 2)

    return flops


CONV_INTEGER = Operation(
    number=172,
    name="conv_integer",
    summary="Convolution of 8-bit integers with zero points, over one to three dimensions.",
    formula="output[n, o, y] = sum_ci (weight[o, c, i] - weight_zero) (input[n, c + group, y * "
    "stride + i * dilation - padding] - input_zero), y and i of each dimension",
    inputs=(
        Operand(name="input", summary="[n, c, ...] with one to three dimensions at the end."),
        Operand(name="weight", summary="[o, c / groups, ...].", dtypes=BYTES),
        Operand(
            name="input_zero", summary="One element of input's dtype; 0 if left out.", optional=True
        ),
        Operand(
            name="weight_zero",
            summary="One element of weight's dtype, or [o]; 0 if left out.",
            optional=True,
            dtypes=BYTES,
        ),
    ),
    outputs=(Operand(name="output", summary="int32; the shape as of conv."),),
    family="conv_integer",
    dtypes=BYTES,
    semantics=conv_integer,
    notes=("Padding is input_zero. Sums wrap.",),
    standard=Standard(name="ConvInteger", opset=10, note="up to three dimensions; no auto_pad"),
    attributes=(STRIDES, PADDINGS, DILATIONS, GROUPS),
    config="wia_conv_nd_config_t",
    tolerance=Tolerance(),
    flops=_flops(1),
    samples=(
        Sample(shapes=((1, 2, 5, 7), (3, 2, 3, 3), (), (3,)), values={"padding": (1,)}),
        Sample(shapes=((2, 4, 33), (6, 2, 3), None, ()), values={"groups": 2, "stride": (2,)}),
        Sample(shapes=((1, 1, 4, 4, 3), (2, 1, 2, 2, 2), (), None), fills=("wide", "wide")),
        Sample(shapes=((0, 2, 4), (3, 2, 3), None, None)),
    ),
    source="ONNX node tests convinteger_*",
)

QLINEAR_CONV = Operation(
    number=173,
    name="qlinear_conv",
    summary="Convolution of quantized tensors that gives a quantized one.",
    formula="output = clamp(rint((bias + sum_ci (weight - weight_zero) (input - input_zero)) * "
    "(input_scale * weight_scale / output_scale)) + output_zero)",
    inputs=(
        Operand(name="input", summary="[n, c, ...] with one to three dimensions at the end."),
        Operand(name="input_scale", summary="One element.", dtypes=_SCALE),
        Operand(name="input_zero", summary="One element of input's dtype."),
        Operand(name="weight", summary="[o, c / groups, ...].", dtypes=BYTES),
        Operand(name="weight_scale", summary="One element, or [o].", dtypes=_SCALE),
        Operand(name="weight_zero", summary="One element of weight's dtype, or [o].", dtypes=BYTES),
        Operand(name="output_scale", summary="One element.", dtypes=_SCALE),
        Operand(name="output_zero", summary="One element; its dtype is output's.", dtypes=BYTES),
        Operand(name="bias", summary="[o].", optional=True, dtypes=("int32",)),
    ),
    outputs=(Operand(name="output", summary="The dtype of output_zero; the shape as of conv."),),
    family="qlinear_conv",
    dtypes=BYTES,
    semantics=qlinear_conv,
    notes=(
        "Padding is input_zero. Sums wrap at 32 bits; bias is in units of input_scale * "
        "weight_scale. The factor input_scale * weight_scale / output_scale and its product with "
        "the sum are computed in float32, from left to right; rint goes to the nearest, ties to "
        "even. NaN counts as 0.",
    ),
    standard=Standard(name="QLinearConv", opset=10, note="up to three dimensions; no auto_pad"),
    attributes=(STRIDES, PADDINGS, DILATIONS, GROUPS),
    config="wia_conv_nd_config_t",
    tolerance=Tolerance(reason="The arithmetic is fixed to the bit."),
    flops=_flops(3),
    samples=(
        Sample(
            shapes=((1, 2, 5, 7), (), (), (3, 2, 3, 3), (3,), (3,), (), (), (3,)),
            values={"padding": (1,)},
            fills=("normal", "positive", "normal", "normal", "positive", "normal", "positive"),
        ),
        Sample(
            shapes=((2, 4, 33), (), (), (6, 2, 3), (), (), (), (), None),
            values={"groups": 2, "stride": (2,)},
            fills=("wide", "positive", "normal", "wide", "positive", "normal", "positive"),
        ),
        Sample(
            shapes=((0, 2, 4), (), (), (3, 2, 3), (), (), (), (), None),
            fills=("normal", "positive", "normal", "normal", "positive", "normal", "positive"),
        ),
    ),
    source="ONNX node test qlinearconv; values worked by hand",
)

OPERATIONS = (CONV_INTEGER, QLINEAR_CONV)
