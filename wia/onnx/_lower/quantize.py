"""Quantization: operations of the catalog, or steps where ONNX has more than they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wia._tensor import Tensor
from wia.catalog import BY_NAME
from wia.onnx._errors import ModelError, UnsupportedError

if TYPE_CHECKING:
    from wia.onnx._call import Call, Result

__all__ = ["dequantize", "dynamic_quantize", "quantize"]

_FLOATS = BY_NAME["dequantize"].dtypes
_FROM, _TO = BY_NAME["dequantize"].inputs[0].dtypes, BY_NAME["quantize"].inputs[2].dtypes
_WIDE = ("float32", "float64")
_HALVES = ("float16", "bfloat16")

_BOUNDS = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}


def _spread(call: Call, x: Tensor, parts: Tensor) -> Tensor:
    """A scale or zero point as a tensor that broadcasts with x: one, one per row, or per block."""
    block = call.attribute("block_size", 0)
    if parts.ndim == 0 or (parts.ndim == 1 and parts.size == 1 and not block):
        return call.reshape(parts)
    axis = call.attribute("axis", 1)
    if not -x.ndim <= axis < x.ndim:
        raise ModelError(f"the axis is {axis}; the input has {x.ndim} dimensions")
    axis %= x.ndim
    if not block:
        sizes = [1] * x.ndim
        sizes[axis] = parts.size
        return call.reshape(parts, *sizes)
    if parts.ndim != x.ndim or parts.shape[axis] * block < x.shape[axis]:
        raise ModelError(f"the blocks are {list(parts.shape)} for an input of {list(x.shape)}")
    sizes = [*parts.shape[: axis + 1], 1, *parts.shape[axis + 1 :]]
    repeated = [*parts.shape[: axis + 1], block, *parts.shape[axis + 1 :]]
    wide = call.op("broadcast", call.reshape(parts, *sizes), shape=repeated)
    full = list(parts.shape)
    full[axis] *= block
    flat = call.reshape(wide, *full)
    if full[axis] == x.shape[axis]:
        return flat
    return call.op("slice", flat, starts=(0,), ends=(x.shape[axis],), axes=(axis,))


def _is_plain(call: Call, *tensors: Tensor | None) -> bool:
    """Whether scales and zero points are shaped as the operations quantize and dequantize want.

    They take one scale, one for each row, or one for each block. Else the steps broadcast.
    """
    x, scale, zero = (*tensors, None)[:3]
    if x is None or scale is None or (zero is not None and zero.shape != scale.shape):
        return False
    if call.attribute("block_size", 0) or scale.size == 1 or x.ndim == 0:
        return True
    axis = call.attribute("axis", 1)
    return scale.ndim == 1 and -x.ndim <= axis < x.ndim and scale.size == x.shape[axis]


def _where(call: Call, x: Tensor) -> dict[str, Any]:
    """Axis and block of the operations: an axis that says nothing, as of one scale, is 0."""
    axis = call.attribute("axis", 1)
    inside = -x.ndim <= axis < x.ndim
    return {"axis": axis if inside else 0, "block_size": call.attribute("block_size", 0)}


def dequantize(call: Call) -> Result:
    """DequantizeLinear: (x - zero point) * scale."""
    import numpy as np

    x, scale, zero = call.tensor(0), call.tensor(1), call.get(2)
    single = np.dtype(np.float32)
    dtype = call.dtype("output_dtype", scale.dtype)
    if x.dtype.name in _FROM and _is_plain(call, x, scale, zero):
        # Scales that are no floats, and results of another dtype, go by way of float32.
        factor = (
            scale if dtype == scale.dtype and dtype.name in _FLOATS else call.cast(scale, single)
        )
        return call.cast(call.op("dequantize", x, factor, zero, **_where(call, x)), dtype)
    integers = np.dtype(np.int64)
    if zero is not None and x.dtype.kind != "f" and "float" not in x.dtype.name:
        zeros = _spread(call, x, call.cast(zero, integers))
        shifted = call.cast(call.op("sub", call.cast(x, integers), zeros), single)
    else:
        shifted = call.cast(x, single)
    factors = _spread(call, x, call.cast(scale, single))
    return call.cast(call.op("mul", shifted, factors), dtype)


def quantize(call: Call) -> Result:
    """QuantizeLinear: round(x / scale) + zero point, bounded by the dtype.

    The operation divides in float32, or in float64 for float64, and bounds floats of 8 bits. Other
    precisions, floats of 6 bits, and floats that become infinite take steps of their own.
    """
    import numpy as np

    from wia.onnx._lower.elementwise import convert

    x, scale, zero = call.tensor(0), call.tensor(1), call.get(2)
    dtype = call.dtype("output_dtype", np.dtype(np.uint8)) if zero is None else zero.dtype
    wide = call.dtype("precision", np.dtype(np.float32))
    saturates = bool(call.attribute("saturate", 1)) or not dtype.name.startswith("float8")
    if dtype.name in _TO and wide.name in _WIDE and saturates and _is_plain(call, x, scale, zero):
        if not (x.dtype == scale.dtype and wide == np.float32 and x.dtype.name in _HALVES):
            x, scale = call.cast(x, wide), call.cast(scale, wide)
        return call.op("quantize", x, scale, zero, dtype=dtype, **_where(call, x))
    scaled = call.op("div", call.cast(x, wide), _spread(call, x, call.cast(scale, wide)))
    if "float" in dtype.name:
        return convert(call, scaled, dtype)
    rounded = call.op("round", scaled)
    if zero is not None:
        rounded = call.op("add", rounded, _spread(call, x, call.cast(zero, wide)))
    low, high = _bounds(dtype)
    return call.cast(call.op("clip", rounded, min=low, max=high), dtype)


def dynamic_quantize(call: Call) -> Result:
    """DynamicQuantizeLinear; of zeros, where ONNX's formula divides 0 by 0, the scale is 1."""
    return call.ops("dynamic_quantize", call.tensor(0), count=3)


def _bounds(dtype: Any) -> tuple[float, float]:
    import numpy as np

    if dtype.name in _BOUNDS:
        return _BOUNDS[dtype.name]
    if dtype.kind not in "iu":
        raise UnsupportedError(f"there is no quantization to {dtype}")
    info = np.iinfo(dtype)
    return float(info.min), float(info.max)
