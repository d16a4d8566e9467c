"""Reductions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wia._tensor import Tensor
from wia.onnx._values import check_axis

if TYPE_CHECKING:
    from wia.onnx._call import Call, Lowering, Result

__all__ = ["arg", "reduce"]


def reduce(name: str) -> Lowering:
    """Over axes, an attribute or since opset 13 or 18 an input; none: over all."""

    def lower(call: Call) -> Result:
        x, axes = call.tensor(0), call.axes()
        keepdims = call.attribute("keepdims", 1)
        if not axes and call.attribute("noop_with_empty_axes"):
            return x
        over = axes or range(x.ndim)
        count = math.prod(x.shape[check_axis(axis, x.ndim)] for axis in over)
        given = {"axes": axes, "keepdims": keepdims}
        if name in ("reduce_max", "reduce_min"):
            return _extreme(call, name, x, count, **given)
        if name == "reduce_mean" and x.dtype.kind in "iu":
            total = call.op("reduce_sum", x, **given)
            return call.op("div", total, call.literal(count, x.dtype))
        return call.op(name, x, **given)

    return lower


def _extreme(call: Call, name: str, x: Tensor, count: int, **given: Any) -> Tensor:
    """The largest or least element; of none the one that loses against all others."""
    import numpy as np

    if x.dtype == np.bool_:
        small = call.cast(x, np.dtype(np.uint8))
        return call.cast(_extreme(call, name, small, count, **given), x.dtype)
    if count:
        return call.op(name, x, **given)
    if x.dtype.kind in "iu":
        info = np.iinfo(x.dtype)
        value: float = info.min if name == "reduce_max" else info.max
    else:
        value = -math.inf if name == "reduce_max" else math.inf
    zeros = call.op("reduce_sum", x, **given)
    return call.op("broadcast", call.literal(value, x.dtype), shape=zeros.shape)


def arg(name: str) -> Lowering:
    """ArgMax and ArgMin; the last of equals is the first one from the end."""

    def lower(call: Call) -> Result:
        import numpy as np

        x, axis, keepdims = call.tensor(0), call.attribute("axis", 0), call.attribute("keepdims", 1)
        if not call.attribute("select_last_index"):
            return call.op(name, x, axis=axis, keepdims=keepdims)
        axis, end = check_axis(axis, x.ndim), -(2**63) + 1
        turned = call.op("slice", x, starts=(-1,), ends=(end,), axes=(axis,), steps=(-1,))
        found = call.op(name, turned, axis=axis, keepdims=keepdims)
        return call.op("sub", call.literal(x.shape[axis] - 1, np.int64), found)

    return lower
