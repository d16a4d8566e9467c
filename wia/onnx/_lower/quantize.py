"""Quantization, of steps that every device has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wia._tensor import Tensor
from wia.onnx._errors import ModelError, UnsupportedError

if TYPE_CHECKING:
    from wia.onnx._call import Call, Result

__all__ = ["dequantize", "quantize"]

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


def dequantize(call: Call) -> Result:
    """DequantizeLinear: (x - zero point) * scale, computed in float32."""
    import numpy as np

    x, scale, zero = call.tensor(0), call.tensor(1), call.get(2)
    single = np.dtype(np.float32)
    dtype = call.dtype("output_dtype", scale.dtype)
    integers = np.dtype(np.int64)
    if zero is not None and x.dtype.kind != "f" and "float" not in x.dtype.name:
        zeros = _spread(call, x, call.cast(zero, integers))
        shifted = call.cast(call.op("sub", call.cast(x, integers), zeros), single)
    else:
        shifted = call.cast(x, single)
    factors = _spread(call, x, call.cast(scale, single))
    return call.cast(call.op("mul", shifted, factors), dtype)


def quantize(call: Call) -> Result:
    """QuantizeLinear: round(x / scale) + zero point, bounded by the dtype."""
    import numpy as np

    from wia.onnx._lower.elementwise import convert

    x, scale, zero = call.tensor(0), call.tensor(1), call.get(2)
    dtype = call.dtype("output_dtype", np.dtype(np.uint8)) if zero is None else zero.dtype
    wide = _width(call, x, scale)
    scaled = call.op("div", call.cast(x, wide), _spread(call, x, call.cast(scale, wide)))
    if "float" in dtype.name:
        return convert(call, scaled, dtype)
    rounded = call.op("round", scaled)
    if zero is not None:
        rounded = call.op("add", rounded, _spread(call, x, call.cast(zero, wide)))
    low, high = _bounds(dtype)
    return call.cast(call.op("clip", rounded, min=low, max=high), dtype)


def _width(call: Call, x: Tensor, scale: Tensor) -> Any:
    """The dtype to divide in."""
    import numpy as np

    return call.dtype("precision", np.dtype(np.float32))


def _bounds(dtype: Any) -> tuple[float, float]:
    import numpy as np

    if dtype.name in _BOUNDS:
        return _BOUNDS[dtype.name]
    if dtype.kind not in "iu":
        raise UnsupportedError(f"there is no quantization to {dtype}")
    info = np.iinfo(dtype)
    return float(info.min), float(info.max)
