"""Operators that move elements and leave them as they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wia._tensor import Tensor
from wia.onnx._errors import ModelError, UnsupportedError
from wia.onnx._lower.shapes import shape_of
from wia.onnx._values import Value, broadcast_shapes, check_axis, describe, is_text

if TYPE_CHECKING:
    from wia.onnx._call import Call, Result

__all__ = [
    "concat",
    "concat_tensors",
    "expand",
    "flatten",
    "gather",
    "pad",
    "pick",
    "reshape",
    "slice_",
    "split",
    "split_value",
    "squeeze",
    "transpose",
    "unsqueeze",
]

_MOST = 31
"""Inputs of one concat."""
_MOST_PARTS = 8
"""Outputs of one split."""
_LEAST = -(2**63) + 1


def concat(call: Call) -> Result:
    """Concat."""
    return concat_tensors(call, call.inputs, call.attribute("axis", 1))


def concat_tensors(call: Call, values: Sequence[Value], axis: int) -> Value:
    """One behind the other along an axis."""
    import numpy as np

    if any(is_text(value) for value in values):
        return np.concatenate(values, axis=axis)  # type: ignore[arg-type]
    tensors = [value for value in values if isinstance(value, Tensor)]
    while len(tensors) > 1:
        parts = [tensors[i : i + _MOST] for i in range(0, len(tensors), _MOST)]
        tensors = [p[0] if len(p) == 1 else call.op("concat", *p, axis=axis) for p in parts]
    if not tensors:
        raise ModelError("there is nothing to join")
    return tensors[0]


def reshape(call: Call) -> Result:
    """Reshape: 0 keeps a size, -1 is what is left."""
    data = call.value(0)
    sizes = call.axes("shape") or ()
    old = shape_of(data)
    if not call.attribute("allowzero"):
        if any(s == 0 and i >= len(old) for i, s in enumerate(sizes)):
            raise ModelError(f"the shape {list(sizes)} keeps a size that {list(old)} doesn't have")
        sizes = tuple(old[i] if s == 0 else s for i, s in enumerate(sizes))
    return _under(call, data, sizes)


def _under(call: Call, data: Value, sizes: Sequence[int]) -> Value:
    if isinstance(data, Tensor):
        return call.reshape(data, *sizes)
    if not is_text(data):
        raise ModelError(f"the input is {describe(data)}; expected a tensor")
    return data.reshape(tuple(sizes))  # type: ignore[union-attr]


def flatten(call: Call) -> Result:
    """Flatten: to a matrix, cut before the axis."""
    data = call.value(0)
    sizes, axis = shape_of(data), call.attribute("axis", 1)
    axis = axis + len(sizes) if axis < 0 else axis
    return _under(call, data, (math.prod(sizes[:axis]), math.prod(sizes[axis:])))


def squeeze(call: Call) -> Result:
    """Squeeze: takes dimensions of size 1 away."""
    data = call.value(0)
    sizes, axes = shape_of(data), call.axes()
    if axes is None:
        return _under(call, data, [size for size in sizes if size != 1])
    gone = {check_axis(axis, len(sizes)) for axis in axes}
    if any(sizes[axis] != 1 for axis in gone):
        raise ModelError(f"the axes {list(axes)} of {list(sizes)} aren't all of size 1")
    return _under(call, data, [size for i, size in enumerate(sizes) if i not in gone])


def unsqueeze(call: Call) -> Result:
    """Unsqueeze: adds dimensions of size 1."""
    data = call.value(0)
    axes = call.axes() or ()
    rank = len(shape_of(data)) + len(axes)
    new = {check_axis(axis, rank) for axis in axes}
    if len(new) != len(axes):
        raise ModelError(f"the axes {list(axes)} name a dimension twice")
    old = iter(shape_of(data))
    return _under(call, data, [1 if i in new else next(old) for i in range(rank)])


def transpose(call: Call) -> Result:
    """Transpose."""
    import numpy as np

    data, perm = call.value(0), call.attribute("perm", ())
    if is_text(data):
        return np.transpose(data, perm or None)  # type: ignore[arg-type]
    return call.op("transpose", call.tensor(0), perm=perm)


def expand(call: Call) -> Result:
    """Expand: both shapes broadcast."""
    import numpy as np

    data, sizes = call.value(0), call.ints(1) or ()
    shape = broadcast_shapes(shape_of(data), sizes)
    if is_text(data):
        return np.broadcast_to(data, shape)  # type: ignore[arg-type]
    return call.op("broadcast", call.tensor(0), shape=shape)


def gather(call: Call) -> Result:
    """Gather."""
    import numpy as np

    data, axis = call.value(0), call.attribute("axis", 0)
    if is_text(data):
        return np.asarray(np.take(data, call.host(1), axis=axis), object)  # type: ignore[arg-type]
    return call.op("gather", call.tensor(0), call.tensor(1), axis=axis)


def pick(call: Call, data: Value, starts: Any, ends: Any, axes: Any, steps: Any = ()) -> Value:
    """Slices some dimensions."""
    if isinstance(data, Tensor):
        return call.op("slice", data, starts=starts, ends=ends, axes=axes, steps=steps or None)
    parts = [slice(None)] * len(shape_of(data))
    for i, axis in enumerate(axes):
        parts[axis] = slice(starts[i], ends[i], steps[i] if steps else 1)
    return data[tuple(parts)]  # type: ignore[call-overload,index]


def slice_(call: Call) -> Result:
    """Slice: attributes, or since opset 10 inputs."""
    names = ("starts", "ends", "axes", "steps")
    found = [call.axes(name, i + 1) for i, name in enumerate(names)]
    starts, ends, axes, steps = [
        None if item is None else tuple(max(value, _LEAST) for value in item) for item in found
    ]
    if starts is None or ends is None:
        raise ModelError("starts or ends are not given")
    axes = tuple(range(len(starts))) if axes is None else axes
    if not axes:
        return call.value(0)
    return pick(call, call.value(0), starts, ends, axes, steps)


def split(call: Call) -> Result:
    """Split: into given sizes, or equal ones."""
    data = call.value(0)
    axis = check_axis(call.attribute("axis", 0), len(shape_of(data)))
    sizes = call.axes("split")
    if sizes is None:
        count = call.attribute("num_outputs", len(call.node.outputs))
        if not 1 <= count <= len(call.node.outputs):
            raise ModelError(
                f"num_outputs is {count}; the node has {len(call.node.outputs)} outputs"
            )
        total = shape_of(data)[axis]
        each = -(-total // count)
        sizes = tuple(max(0, min(each, total - i * each)) for i in range(count))
    return tuple(split_value(call, data, axis, sizes))


def split_value(call: Call, data: Value, axis: int, sizes: Sequence[int]) -> list[Value]:
    """Pieces of these sizes along an axis."""
    total = shape_of(data)[axis]
    if sum(sizes) != total or any(size < 0 for size in sizes):
        raise ModelError(f"the sizes {list(sizes)} don't add up to {total}")
    if isinstance(data, Tensor) and 1 <= len(sizes) <= _MOST_PARTS:
        return list(call.ops("split", data, axis=axis, sizes=sizes))
    pieces, begin = list[Value](), 0
    for size in sizes:
        pieces.append(pick(call, data, (begin,), (begin + size,), (axis,)))
        begin += size
    return pieces


def pad(call: Call) -> Result:
    """Pad: widths below 0 cut off."""
    x, mode = call.tensor(0), call.attribute("mode", "constant")
    given = call.attribute("pads", call.attribute("paddings"))
    widths = list(given if given is not None else call.ints(1) or ())
    axes = call.ints(3)
    if axes is not None:
        if len(widths) != 2 * len(axes):
            raise ModelError(f"{len(widths)} widths are given for {len(axes)} axes")
        full = [0] * (2 * x.ndim)
        for i, axis in enumerate(axes):
            at = check_axis(axis, x.ndim)
            full[at], full[x.ndim + at] = widths[i], widths[len(axes) + i]
        widths = full
    if len(widths) != 2 * x.ndim:
        raise ModelError(
            f"{len(widths)} widths are given for {x.ndim} dimensions; expected two each"
        )
    value = float(call.attribute("value", 0.0))
    if call.version >= 11 and call.get(2) is not None:
        value = float(call.item(2))
    if any(width < 0 for width in widths):
        x = _cut(call, x, widths)
        widths = [max(width, 0) for width in widths]
    if not any(widths):
        return x
    if mode == "wrap":
        return _wrap(call, x, widths)
    if mode not in ("constant", "reflect", "edge"):
        raise UnsupportedError(f"the mode is {mode!r}; expected constant, reflect, edge or wrap")
    return call.op("pad", x, pads=widths, mode=mode, value=value)


def _cut(call: Call, x: Tensor, widths: Sequence[int]) -> Tensor:
    rank = x.ndim
    starts = [max(-widths[i], 0) for i in range(rank)]
    ends = [x.shape[i] - max(-widths[rank + i], 0) for i in range(rank)]
    return call.op("slice", x, starts=starts, ends=ends)


def _wrap(call: Call, x: Tensor, widths: Sequence[int]) -> Tensor:
    """What is added continues from the other end; one axis after the other."""
    import numpy as np

    for axis in range(x.ndim):
        before, after = widths[axis], widths[x.ndim + axis]
        if before or after:
            rows = np.arange(-before, x.shape[axis] + after) % x.shape[axis]
            x = call.op("gather", x, call.put(rows), axis=axis)
    return x
