"""Operators that pick, place and order elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wia._tensor import Tensor
from wia.onnx._errors import ModelError
from wia.onnx._lower.shapes import shape_of
from wia.onnx._values import check_axis, check_size, is_text

if TYPE_CHECKING:
    from wia.onnx._call import Call, Lowering, Result

__all__ = [
    "compress",
    "cumulative",
    "eye_like",
    "gather_elements",
    "gather_nd",
    "nonzero",
    "one_hot",
    "range_",
    "reverse_sequence",
    "scatter_elements",
    "scatter_nd",
    "space",
    "tensor_scatter",
    "tile",
    "top_k",
    "trilu",
    "unique",
]


def gather_elements(call: Call) -> Result:
    """GatherElements."""
    return call.op("gather_elements", *call.tensors(), axis=call.attribute("axis", 0))


def gather_nd(call: Call) -> Result:
    """GatherND."""
    return call.op("gather_nd", *call.tensors(), batch_dims=call.attribute("batch_dims", 0))


def scatter_elements(call: Call) -> Result:
    """ScatterElements, and Scatter before it."""
    axis, how = call.attribute("axis", 0), call.attribute("reduction", "none")
    return call.op("scatter_elements", *call.tensors(), axis=axis, reduction=how)


def scatter_nd(call: Call) -> Result:
    """ScatterND."""
    how = call.attribute("reduction", "none")
    return call.op("scatter_nd", *call.tensors(), reduction=how)


def tensor_scatter(call: Call) -> Result:
    """TensorScatter."""
    x, update, starts = call.tensor(0), call.tensor(1), call.get(2)
    axis, mode = call.attribute("axis", -2), call.attribute("mode", "linear")
    return call.op("kv_cache_update", x, update, starts, axis=axis, mode=mode)


def top_k(call: Call) -> Result:
    """TopK."""
    sizes = call.axes("k") if call.version > 1 else (call.required("k"),)
    return call.ops(
        "top_k",
        call.tensor(0),
        count=2,
        k=(sizes or (0,))[0],
        axis=call.attribute("axis", -1),
        largest=call.attribute("largest", 1),
        sorted=call.attribute("sorted", 1),
    )


def unique(call: Call) -> Result:
    """Unique: as many as the data has, which the host has to wait for."""
    x, axis = call.tensor(0), call.attribute("axis")
    given = {} if axis is None else {"axis": (axis,)}
    found = call.ops("unique", x, count=5, sorted=call.attribute("sorted", 1), **given)
    values, count, first, inverse, counts = found
    length = call.number(count)
    rows, first, counts = (_cut(call, item, length) for item in (values, first, counts))
    return (rows if axis is None else _back(call, rows, axis), first, inverse, counts)


def _cut(call: Call, tensor: Tensor, length: int) -> Tensor:
    if tensor.shape[0] == length:
        return tensor
    return call.op("slice", tensor, starts=(0,), ends=(length,), axes=(0,))


def _back(call: Call, rows: Tensor, axis: int) -> Tensor:
    """The first dimension back at its place."""
    axis %= rows.ndim
    if axis == 0:
        return rows
    return call.op("transpose", rows, perm=(*range(1, axis + 1), 0, *range(axis + 1, rows.ndim)))


def nonzero(call: Call) -> Result:
    """NonZero: a column for each element that isn't zero."""
    rows, count = call.ops("nonzero", call.tensor(0), count=2)
    return call.op("transpose", _cut(call, rows, call.number(count)))


def compress(call: Call) -> Result:
    """Compress."""
    x, axis = call.tensor(0), call.attribute("axis")
    given = {} if axis is None else {"axis": (axis,)}
    rows, count = call.ops("compress", x, call.tensor(1), count=2, **given)
    kept = _cut(call, rows, call.number(count))
    return kept if axis is None else _back(call, kept, axis)


def one_hot(call: Call) -> Result:
    """OneHot."""
    import numpy as np

    indices, values = call.tensor(0), call.host(2)
    if indices.dtype.name not in ("int32", "int64"):
        indices = call.cast(indices, np.dtype(np.int64))
    if values.size != 2:
        raise ModelError(f"{values.size} values are given; expected that of zero and that of one")
    off, on = (float(item) for item in values.reshape(-1).astype(np.float64))
    depth = int(call.item(1))
    return call.op(
        "one_hot",
        indices,
        depth=depth,
        axis=call.attribute("axis", -1),
        dtype=values.dtype,
        on_value=on,
        off_value=off,
    )


def reverse_sequence(call: Call) -> Result:
    """ReverseSequence."""
    axes = {name: call.attribute(name, d) for name, d in (("time_axis", 0), ("batch_axis", 1))}
    return call.op("reverse_sequence", *call.tensors(), **axes)


def tile(call: Call) -> Result:
    """Tile; in opset 1 one axis by one number."""
    import numpy as np

    data = call.value(0)
    repeats = call.ints(1) or ()
    if call.version < 6:
        full = [1] * len(shape_of(data))
        full[check_axis(int(call.item(2)), len(full))] = int(call.item(1))
        repeats = tuple(full)
    if is_text(data):
        return np.tile(data, repeats)  # type: ignore[arg-type]
    if len(repeats) != len(shape_of(data)):
        raise ModelError(f"{len(repeats)} repeats are given for {len(shape_of(data))} dimensions")
    sizes = (size * times for size, times in zip(shape_of(data), repeats, strict=True))
    check_size(sizes, 1, "the result")
    return call.op("tile", call.tensor(0), repeats=repeats)


def space(name: str) -> Lowering:
    """DepthToSpace and SpaceToDepth."""

    def lower(call: Call) -> Result:
        mode = call.attribute("mode", "DCR").lower()
        return call.op(name, call.tensor(0), block_size=call.required("blocksize"), mode=mode)

    return lower


def trilu(call: Call) -> Result:
    """Trilu."""
    k = call.integer(1, 0)
    return call.op("trilu", call.tensor(0), k=k, upper=call.attribute("upper", 1))


def eye_like(call: Call) -> Result:
    """EyeLike."""
    x = call.tensor(0)
    dtype = call.dtype("dtype", x.dtype)
    return call.op("eye", shape=x.shape, dtype=dtype, k=call.attribute("k", 0))


def range_(call: Call) -> Result:
    """Range."""
    import numpy as np

    dtype = call.tensor(0).dtype
    exact = int if dtype.kind in "iu" else float
    start, limit, step = (exact(call.item(i)) for i in range(3))
    if step == 0:
        raise ModelError("the step is 0")
    count = max(0, math.ceil((limit - start) / step))
    if dtype.kind in "iu" and count <= 1024:  # sizes and positions, which the host may need
        return call.put(np.arange(start, start + count * step, step, dtype=dtype))
    check_size((count,), dtype.itemsize, "the result")
    return call.op("iota", shape=(count,), dtype=dtype, start=start, step=step)


def cumulative(name: str) -> Lowering:
    """CumSum and CumProd."""

    def lower(call: Call) -> Result:
        flags: dict[str, Any] = {n: call.attribute(n, 0) for n in ("exclusive", "reverse")}
        axis = call.integer(1, 0)
        return call.op(name, call.tensor(0), axis=axis, **flags)

    return lower
