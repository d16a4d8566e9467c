"""Pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wia._tensor import Tensor
from wia.onnx._lower.windows import read_window

if TYPE_CHECKING:
    from wia.onnx._call import Call, Lowering, Result

__all__ = ["average_pool", "global_lp_pool", "global_pool", "lp_pool", "max_pool", "max_unpool"]


def _pool(call: Call, name: str, count: int = 1, **attributes: Any) -> tuple[Tensor, ...]:
    """A pool; those of images are operations of their own, which more devices have."""
    x = call.tensor(0)
    window = read_window(call, x.shape[2:], call.required("kernel_shape"))
    images = x.ndim == 4 and count == 1 and name in ("max_pool", "avg_pool")
    return call.ops(
        f"{name}2d" if images else name,
        x,
        count=count,
        ceil_mode=call.attribute("ceil_mode", 0),
        **window.values(),
        **attributes,
    )


def max_pool(call: Call) -> Result:
    """MaxPool, also with the indices of what was the largest."""
    if call.wanted < 2:
        return _pool(call, "max_pool")[0]
    order = "column_major" if call.attribute("storage_order") else "row_major"
    return _pool(call, "max_pool", 2, storage_order=order)


def average_pool(call: Call) -> Result:
    """AveragePool."""
    include = call.attribute("count_include_pad", 0)
    return _pool(call, "avg_pool", count_include_pad=include)[0]


def lp_pool(call: Call) -> Result:
    """LpPool."""
    return _pool(call, "lp_pool", p=int(call.attribute("p", 2)))[0]


def max_unpool(call: Call) -> Result:
    """MaxUnpool; without a shape it has the size that the pool came from."""
    x, kernel = call.tensor(0), call.required("kernel_shape")
    window = read_window(call, x.shape[2:], kernel)
    size = call.ints(2) or ()
    return call.op("max_unpool", x, call.tensor(1), size=size[2:], **window.values("dilation"))


def global_pool(name: str) -> Lowering:
    """A reduction over all dimensions in space."""

    def lower(call: Call) -> Result:
        x = call.tensor(0)
        return call.op(name, x, axes=tuple(range(2, x.ndim)), keepdims=1)

    return lower


def global_lp_pool(call: Call) -> Result:
    """GlobalLpPool."""
    return call.op("global_lp_pool", call.tensor(0), p=int(call.attribute("p", 2)))
