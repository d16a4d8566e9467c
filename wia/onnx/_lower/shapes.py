"""Operators about shapes, and constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wia.onnx._errors import ModelError
from wia.onnx._values import Value, check_size, texts

if TYPE_CHECKING:
    from wia.onnx._call import Call, Result

__all__ = ["constant", "constant_of_shape", "shape", "shape_of", "size"]

_FEW = 1024
"""Elements of a constant that is no weight."""


def shape_of(value: Value) -> tuple[int, ...]:
    """The shape of a tensor, of numbers or of strings."""
    return tuple(getattr(value, "shape", ()))


def constant(call: Call) -> Result:
    """Constant: one attribute of several says what."""
    import numpy as np

    if len(call.attributes) != 1:
        raise ModelError(f"{len(call.attributes)} attributes are given; expected the one value")
    name, value = next(iter(call.attributes.items()))
    if name in ("value", "sparse_value"):
        if value.dtype != object and value.size > _FEW:
            return call.put(value)
        return value if value.dtype == object else call.literal(value, value.dtype)
    if name in ("value_string", "value_strings"):
        return texts(value)
    return call.literal(value, np.float32 if name.startswith("value_float") else np.int64)


def shape(call: Call) -> Result:
    """Shape, or a part of it."""
    import numpy as np

    sizes = shape_of(call.value(0))
    part = sizes[slice(call.attribute("start", 0), call.attribute("end"))]
    return call.literal(part, np.int64)


def size(call: Call) -> Result:
    """Size."""
    import math

    import numpy as np

    return call.literal(math.prod(shape_of(call.value(0))), np.int64)


def constant_of_shape(call: Call) -> Result:
    """ConstantOfShape."""
    import numpy as np

    value = call.attribute("value", np.zeros(1, np.float32))
    if value.size != 1:
        raise ModelError(f"the value has {value.size} elements; expected one")
    sizes = call.ints(0) or ()
    check_size(sizes, value.dtype.itemsize, "the result")
    if value.dtype == object:
        return np.full(sizes, value.reshape(-1)[0], object)
    one = call.literal(value.reshape(()), value.dtype)
    return call.op("broadcast", one, shape=sizes)
