"""Quantization by scales and zero points: of a tensor, of each channel, or of each block."""

from __future__ import annotations

from typing import Any

from ._cost import per_output
from ._forms import ROUNDED, SAME, STEPS, onnx, target_dtype
from ._model import (
    FLOATS,
    INT32_MAX,
    Attribute,
    Operand,
    Operation,
    Sample,
    Tolerance,
)
from ._numeric import is_integer, limits, narrow, widen

WHOLE = ("uint8", "int8", "uint16", "int16", "uint4", "int4", "uint2", "int2")
NARROW_FLOATS = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
_FLOAT4 = "float4_e2m1fn"
TARGETS = (*WHOLE, *NARROW_FLOATS, _FLOAT4)
_LARGEST = {
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2fnuz": 57344.0,
    _FLOAT4: 6.0,
}


def spread(np: Any, parts: Any, shape: Any, axis: int, block: int) -> Any:
    """Scales or zero points so that they broadcast to a shape."""
    if parts.size == 1 and not block:
        return parts.reshape(())
    axis %= len(shape)
    if block:
        return np.repeat(parts, block, axis=axis).take(np.arange(shape[axis]), axis=axis)
    sides = [1] * len(shape)
    sides[axis] = -1
    return parts.reshape(sides)


def _quotient(np: Any, x: Any, scale: Any) -> Any:
    """x / scale, rounded once to float32 (of float64 to float64), as float64."""
    wide = np.dtype(np.float64 if x.dtype == np.float64 else np.float32)
    return (x.astype(wide) / scale.astype(wide)).astype(np.float64)


def _steps(np: Any, x: Any, scale: Any, zero: Any, low: int, high: int) -> Any:
    """Whole steps, int64: bounded, the zero point where there is no number."""
    zeros = 0 if zero is None else zero.astype(np.int64)
    rounded = np.rint(_quotient(np, x, scale)) + zeros
    return np.where(np.isnan(rounded), zeros, np.clip(rounded, low, high)).astype(np.int64)


def quantize(
    np: Any,
    x: Any,
    scale: Any,
    zero: Any = None,
    *,
    dtype: Any,
    axis: int,
    block_size: int,
) -> Any:
    """The nearest step, bounded by the dtype."""
    target = zero.dtype if zero is not None else dtype
    scale = spread(np, scale, x.shape, axis, block_size)
    if not is_integer(target):
        largest = _LARGEST[target.name]
        return narrow(np, np.clip(_quotient(np, x, scale), -largest, largest), target)
    zero = None if zero is None else spread(np, zero, x.shape, axis, block_size)
    low, high = limits(np, target)
    return narrow(np, _steps(np, x, scale, zero, low, high), target)


def dequantize(np: Any, x: Any, scale: Any, zero: Any = None, *, axis: int, block_size: int) -> Any:
    """Steps from the zero point times the scale."""
    factor = widen(np, spread(np, scale, x.shape, axis, block_size))
    wide = x.astype(np.int64 if is_integer(x.dtype) else np.float64)
    if zero is not None:
        wide = wide - spread(np, zero, x.shape, axis, block_size).astype(wide.dtype)
    return narrow(np, wide.astype(np.float64) * factor, scale.dtype)


def dynamic_quantize(np: Any, x: Any) -> tuple[Any, Any, Any]:
    """To uint8 with the scale and zero point that fit the least and the largest element."""
    # fmin and fmax leave NaN out.
    least = np.fmin.reduce(x, axis=None, initial=np.float32(0))
    largest = np.fmax.reduce(x, axis=None, initial=np.float32(0))
    scale = (largest - least) / np.float32(255)
    scale = np.asarray(scale if scale > 0 else 1, np.float32)
    zero = np.nan_to_num(np.clip(np.rint(-least / scale), 0, 255))
    steps = _steps(np, x, scale, np.asarray(zero), 0, 255)
    return steps.astype(np.uint8), scale, np.asarray(zero, np.uint8)


def fake_quantize(
    np: Any, x: Any, scale: Any, zero: Any = None, *, axis: int, quant_min: int, quant_max: int
) -> Any:
    """Quantized and back: what the numbers would be."""
    scale = spread(np, scale, x.shape, axis, 0)
    zero = None if zero is None else spread(np, zero, x.shape, axis, 0)
    steps = _steps(np, x, scale, zero, quant_min, quant_max)
    steps = steps if zero is None else steps - zero.astype(np.int64)
    return narrow(np, steps * widen(np, scale), x.dtype)


_AXIS = Attribute(
    name="axis",
    summary="The dimension of channels or blocks, below 0 from the last; unused with one scale.",
    default=1,
    minimum=-8,
    maximum=7,
)
_BLOCK = Attribute(
    name="block_size",
    summary="Elements along the axis that share a scale; 0: all of a channel.",
    default=0,
    maximum=INT32_MAX,
    field="int64_t",
)
_SCALE = Operand(
    name="scale",
    summary="One element; [channels]; or with block_size the shape of input, but as many along the "
    "axis as there are blocks.",
)
_ROUNDING = (
    "The quotient is rounded to float32 (float64 for float64) before it is rounded to the nearest "
    "whole number, halves to even. NaN gives the zero point."
)
_CHANNELS = (
    Sample(shapes=((8,), (), None), values={"dtype": "int8"}, fills=("wide", "positive")),
    Sample(shapes=((3, 33), (33,), (33,)), fills=("normal", "0.01..0.1", "0..255")),
    Sample(
        shapes=((2, 9, 3), (2, 3, 3), None),
        values={"block_size": 4, "dtype": "int16"},
        fills=("normal", "0.01..0.1"),
    ),
    Sample(shapes=((33,), (1,), (1,)), fills=("halves", "1.0..1.0", "0..9")),
    Sample(shapes=((2, 0), (), None), values={"dtype": "uint8"}),
)

QUANTIZE = Operation(
    number=310,
    name="quantize",
    summary="Numbers as steps of a scale, from a zero point on, in few bits.",
    formula="output = saturate(round(input / scale) + zero_point)",
    inputs=(
        Operand(name="input", summary="Any shape."),
        _SCALE,
        Operand(name="zero_point", summary="The shape of scale.", optional=True, dtypes=TARGETS),
    ),
    outputs=(
        Operand(
            name="output", summary="The shape of input; the dtype of zero_point, if it is there."
        ),
    ),
    family="quantize",
    dtypes=FLOATS,
    semantics=quantize,
    notes=(
        _ROUNDING,
        "Results beyond the dtype are its least or largest number. Floats of 8 and 4 bits have no "
        "zero point: the quotient is bounded and rounded to the nearest of them, and NaN stays.",
    ),
    standard=onnx("QuantizeLinear", 25, "precision and saturate have their defaults"),
    attributes=(target_dtype("The dtype of the result without a zero point"), _AXIS, _BLOCK),
    config="wia_quantize_config_t",
    tolerance=Tolerance(),
    flops=per_output(3.0),
    samples=(
        *_CHANNELS,
        Sample(
            shapes=((5, 7), (), None),
            values={"dtype": "float8_e4m3fn"},
            fills=("wide", "positive"),
        ),
    ),
    source="ONNX node tests quantizelinear*",
    no_gradient=STEPS,
)
DEQUANTIZE = Operation(
    number=311,
    name="dequantize",
    summary="Steps of a scale, from a zero point on, as numbers.",
    formula="output = (input - zero_point) scale",
    inputs=(
        Operand(name="input", summary="Any shape.", dtypes=(*TARGETS, "int32")),
        _SCALE,
        Operand(
            name="zero_point",
            summary="The shape of scale, the dtype of input.",
            optional=True,
            dtypes=(*TARGETS, "int32"),
        ),
    ),
    outputs=(Operand(name="output", summary="The shape of input, the dtype of scale."),),
    family="dequantize",
    dtypes=FLOATS,
    semantics=dequantize,
    standard=onnx("DequantizeLinear", 25, "output_dtype is that of scale"),
    attributes=(_AXIS, _BLOCK),
    config="wia_dequantize_config_t",
    tolerance=ROUNDED,
    flops=per_output(2.0),
    samples=(
        Sample(shapes=((8,), (), None), fills=("wide", "positive")),
        Sample(shapes=((3, 33), (33,), (33,)), fills=("wide", "positive", "wide")),
        Sample(shapes=((2, 9, 3), (2, 3, 3), (2, 3, 3)), values={"block_size": 4}),
        Sample(shapes=((), (1,), (1,))),
        Sample(shapes=((2, 0), (), None)),
    ),
    source="ONNX node tests dequantizelinear*",
    no_gradient="its input is no float; fake_quantize is what training has",
)
DYNAMIC_QUANTIZE = Operation(
    number=312,
    name="dynamic_quantize",
    summary="To uint8, with the scale and the zero point that fit the numbers.",
    formula="scale = (max(input, 0) - min(input, 0)) / 255; zero_point = round(-min(input, 0) / "
    "scale); output = saturate(round(input / scale) + zero_point)",
    inputs=(Operand(name="input", summary="Any shape."),),
    outputs=(
        Operand(name="output", summary="uint8; the shape of input."),
        Operand(name="scale", summary="float32, rank 0; 1 where all elements are 0."),
        Operand(name="zero_point", summary="uint8, rank 0."),
    ),
    family="dynamic_quantize",
    dtypes=("float32",),
    semantics=dynamic_quantize,
    notes=(
        "Each step of the formula is rounded to float32.",
        "NaN counts neither as the least nor as the largest element, and gives the zero point. "
        "With an infinity, or where the difference overflows, scale is infinite, zero_point 0, and "
        "so is each element.",
    ),
    standard=onnx("DynamicQuantizeLinear", 11),
    tolerance=Tolerance(),
    flops=per_output(5.0),
    samples=(
        Sample(shapes=((8,),)),
        Sample(shapes=((3, 33),), fills=("positive",)),
        Sample(shapes=((),)),
        Sample(shapes=((2, 0),)),
    ),
    source="ONNX node tests dynamicquantizelinear*; NaN and infinities by hand",
    no_gradient=STEPS,
)
FAKE_QUANTIZE = Operation(
    number=313,
    name="fake_quantize",
    summary="What numbers are after quantization and back.",
    formula="output = (clamp(round(input / scale) + zero_point, quant_min, quant_max) - "
    "zero_point) scale",
    inputs=(
        Operand(name="input", summary="Any shape."),
        Operand(name="scale", summary="One element, or [channels]."),
        Operand(name="zero_point", summary="The shape of scale.", optional=True, dtypes=("int32",)),
    ),
    outputs=(SAME,),
    family="fake_quantize",
    dtypes=FLOATS,
    semantics=fake_quantize,
    notes=(_ROUNDING,),
    attributes=(
        _AXIS,
        Attribute(
            name="quant_min",
            summary="The least step.",
            default=-128,
            minimum=-INT32_MAX,
            maximum=INT32_MAX,
        ),
        Attribute(
            name="quant_max",
            summary="The largest step, no less than quant_min.",
            default=127,
            minimum=-INT32_MAX,
            maximum=INT32_MAX,
        ),
    ),
    config="wia_fake_quantize_config_t",
    tolerance=ROUNDED,
    flops=per_output(5.0),
    samples=(
        Sample(shapes=((8,), (), None), fills=("normal", "0.01..0.1")),
        Sample(
            shapes=((3, 33), (33,), (33,)),
            values={"quant_min": 0, "quant_max": 255},
            fills=("normal", "0.01..0.1", "0..255"),
        ),
        Sample(shapes=((33,), (1,), None), values={"axis": 0}, fills=("halves", "1.0..1.0")),
        Sample(shapes=((2, 0), (), None)),
    ),
    source="quantize and dequantize, which ONNX's vectors are about",
    no_gradient=STEPS,
)

OPERATIONS = (QUANTIZE, DEQUANTIZE, DYNAMIC_QUANTIZE, FAKE_QUANTIZE)
