"""Products, convolutions, pools and normalisations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wia._tensor import Tensor
from wia.onnx._errors import ModelError, UnsupportedError
from wia.onnx._lower.windows import Window, read_window

if TYPE_CHECKING:
    from wia.onnx._call import Call, Lowering, Result

__all__ = [
    "average_pool",
    "batch_norm",
    "conv",
    "dropout",
    "gemm",
    "global_pool",
    "layer_norm",
    "matmul",
    "max_pool",
    "softmax",
]


def matmul(call: Call) -> Result:
    """MatMul; unsigned integers as int64, whose low bits are the same."""
    import numpy as np

    a, b = call.tensor(0), call.tensor(1)
    dtype = a.dtype
    if dtype in (np.uint32, np.uint64):
        a, b = call.cast(a, np.dtype(np.int64)), call.cast(b, np.dtype(np.int64))
    return call.cast(call.op("matmul", a, b), dtype)


def gemm(call: Call) -> Result:
    """Gemm."""
    import numpy as np

    a, b, c = call.tensor(0), call.tensor(1), call.get(2)
    alpha, beta = call.attribute("alpha", 1.0), call.attribute("beta", 1.0)
    dtype = a.dtype
    if dtype in (np.uint32, np.uint64):
        wide = np.dtype(np.int64)
        a, b, c = call.cast(a, wide), call.cast(b, wide), None if c is None else call.cast(c, wide)
    plain = call.attribute("transB") and not call.attribute("transA") and alpha == beta == 1.0
    if plain and c is not None and c.shape in ((b.shape[0],), (1, b.shape[0])):
        return call.op("linear", a, b, call.reshape(c, b.shape[0]))
    if call.attribute("transA"):
        a = call.op("transpose", a)
    if call.attribute("transB"):
        b = call.op("transpose", b)
    if c is None or beta == 0:
        return call.cast(call.op("matmul", a, b, alpha=alpha), dtype)
    return call.cast(call.op("addmm", c, a, b, alpha=alpha, beta=beta), dtype)


def conv(call: Call) -> Result:
    """Conv."""
    x, weight, bias = call.tensor(0), call.tensor(1), call.get(2)
    if x.ndim != weight.ndim:
        raise ModelError(f"input has {x.ndim} dimensions and the weight {weight.ndim}")
    window = read_window(call, x.shape[2:], weight.shape[2:])
    groups = call.attribute("group", 1)
    flat, restore = _as_images(call, x, window)
    kernel = weight if x.ndim == 4 else call.reshape(weight, *weight.shape[:2], 1, weight.shape[2])
    result = call.op("conv2d", flat, kernel, bias, groups=groups, **_two(window))
    restored: Tensor = restore(result)
    return restored


def _two(window: Window) -> dict[str, Any]:
    """The window as attributes of the operations over images."""
    one = len(window.kernel) == 1
    lead: tuple[int, ...] = (1,) if one else ()
    pads = (0, window.before[0], 0, window.after[0]) if one else (*window.before, *window.after)
    return {
        "stride": (*lead, *window.strides),
        "padding": pads,
        "dilation": (*lead, *window.dilations),
    }


def _as_images(call: Call, x: Tensor, window: Window) -> tuple[Tensor, Any]:
    """The input with two dimensions in space, and the way back."""
    if len(window.kernel) == 2:
        return x, lambda result: result
    if len(window.kernel) != 1:
        raise UnsupportedError(f"windows have {len(window.kernel)} dimensions; expected 1 or 2")
    images = call.reshape(x, *x.shape[:2], 1, x.shape[2])
    return images, lambda r: call.reshape(r, *r.shape[:2], r.shape[3])


def _pool(call: Call, name: str, **attributes: Any) -> Tensor:
    x = call.tensor(0)
    window = read_window(call, x.shape[2:], call.required("kernel_shape"))
    images, restore = _as_images(call, x, window)
    lead: tuple[int, ...] = (1,) if len(window.kernel) == 1 else ()
    result = call.op(
        name,
        images,
        kernel=(*lead, *window.kernel),
        ceil_mode=call.attribute("ceil_mode", 0),
        **_two(window),
        **attributes,
    )
    pooled: Tensor = restore(result)
    return pooled


def max_pool(call: Call) -> Result:
    """MaxPool."""
    if call.wanted > 1:
        raise UnsupportedError("the indices of a maximum can't be had")
    return _pool(call, "max_pool2d")


def average_pool(call: Call) -> Result:
    """AveragePool."""
    include = call.attribute("count_include_pad", 0)
    return _pool(call, "avg_pool2d", count_include_pad=include)


def global_pool(name: str) -> Lowering:
    """A reduction over all dimensions in space."""

    def lower(call: Call) -> Result:
        x = call.tensor(0)
        return call.op(name, x, axes=tuple(range(2, x.ndim)), keepdims=1)

    return lower


def batch_norm(call: Call) -> Result:
    """BatchNormalization, that of inference."""
    x, weight, bias, mean, variance = (call.tensor(i) for i in range(5))
    trains = call.attribute("training_mode") or (call.version < 7 and not call.attribute("is_test"))
    if trains or call.wanted > 1:
        raise UnsupportedError("statistics of a batch in training are not there")
    if call.version < 9 and not call.attribute("spatial", 1):
        raise UnsupportedError("spatial=0 is not there")
    epsilon = call.attribute("epsilon", 1e-5)
    weight, bias, mean, variance = (
        call.cast(item, x.dtype) for item in (weight, bias, mean, variance)
    )
    return call.op("batch_norm", x, mean, variance, weight, bias, epsilon=epsilon)


def layer_norm(call: Call) -> Result:
    """LayerNormalization with one output."""
    x, weight, bias = call.tensor(0), call.tensor(1), call.get(2)
    axis = call.attribute("axis", -1)
    if call.wanted > 1:
        raise UnsupportedError("the statistics can't be had")
    shape = x.shape[axis % x.ndim :]
    if weight.shape != shape or (bias is not None and bias.shape != shape):
        raise UnsupportedError(f"the weight has the shape {list(weight.shape)}, not {list(shape)}")
    return call.op(
        "layer_norm", x, weight, bias, axis=axis, epsilon=call.attribute("epsilon", 1e-5)
    )


def softmax(name: str) -> Lowering:
    """Along one axis; before opset 13 over all dimensions from the axis on."""

    def lower(call: Call) -> Result:
        x = call.tensor(0)
        if call.version >= 13:
            return call.op(name, x, axis=call.attribute("axis", -1))
        axis = call.attribute("axis", 1)
        axis = axis + x.ndim if axis < 0 else axis
        rows = call.reshape(x, math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
        return call.reshape(call.op(name, rows, axis=1), *x.shape)

    return lower


def dropout(call: Call) -> Result:
    """Dropout, that of inference: nothing is dropped."""
    import numpy as np

    x = call.tensor(0)
    trains = call.version >= 12 and call.get(2) is not None and bool(call.host(2))
    ratio = call.attribute("ratio", 0.5)
    if call.version >= 12:
        ratio = float(call.host(1)) if call.get(1) is not None else 0.5
    old = call.version < 7 and not call.attribute("is_test", 0)
    if (trains or old) and ratio:
        raise UnsupportedError("dropout in training is not there")
    if call.wanted < 2:
        return x
    dtype = np.dtype(np.bool_) if call.version >= 10 else x.dtype
    return x, call.op("broadcast", call.literal(1, dtype), shape=x.shape)
