"""Values of a model: tensors of a device, strings, sequences and optionals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from wia._tensor import Tensor
from wia.onnx._errors import ModelError

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "Value",
    "broadcast_shapes",
    "check_axis",
    "check_size",
    "describe",
    "is_text",
    "load_tensor",
    "take_map",
    "texts",
]

Value: TypeAlias = "Tensor | np.ndarray[Any, Any] | list[Any] | dict[Any, Any] | None"
"""Strings are numpy arrays of objects, sequences lists, maps dicts, an optional without a value is
None."""

_MAX_RANK = 64
"""Of arrays of numpy, which strings are in; operations have a bound of their own."""
MAX_BYTES = 2**40
"""No tensor of a model is larger: a shape that says so is damaged or hostile."""


def is_text(value: object) -> bool:
    """Whether a value is a tensor of strings."""
    return getattr(getattr(value, "dtype", None), "kind", "") == "O"


def texts(items: Any, shape: Sequence[int] | None = None) -> np.ndarray[Any, Any]:
    """A tensor of strings."""
    import numpy as np

    array = np.asarray(items, dtype=object)
    flat = [item.decode("utf-8") if isinstance(item, bytes) else str(item) for item in array.flat]
    made = np.empty(len(flat), dtype=object)
    made[:] = flat
    return made.reshape(array.shape if shape is None else tuple(shape))


def check_axis(axis: int, rank: int) -> int:
    """The axis counted from the front. Raises ModelError where there is none of that number."""
    if not -rank <= axis < rank:
        raise ModelError(f"the axis {axis} is out of range; there are {rank} dimensions")
    return axis % rank


def broadcast_shapes(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The shape that both broadcast to. Raises ModelError where there is none."""
    rank = max(len(a), len(b))
    if rank > _MAX_RANK:
        raise ModelError(
            f"a shape of {rank} dimensions was asked for; there are at most {_MAX_RANK}"
        )
    pairs = list(zip([1] * (rank - len(a)) + [*a], [1] * (rank - len(b)) + [*b], strict=True))
    if any(one != other and 1 not in (one, other) for one, other in pairs):
        raise ModelError(f"the shapes {list(a)} and {list(b)} don't broadcast")
    shape = tuple(other if one == 1 else one for one, other in pairs)
    check_size(shape, 1, "the result")
    return shape


def check_size(dims: Iterable[int], width: float, what: str) -> int:
    """The number of elements. Raises ModelError for negative and for senseless sizes."""
    sizes = tuple(dims)
    if any(size < 0 for size in sizes):
        raise ModelError(f"{what} has the shape {list(sizes)}; sizes are 0 or more.")
    count = math.prod(sizes)
    if count * width > MAX_BYTES:
        raise ModelError(
            f"{what} has the shape {list(sizes)}, {count} elements: more than {MAX_BYTES} bytes."
        )
    return count


def load_tensor(proto: Any, folder: str = "") -> np.ndarray[Any, Any]:
    """The array of a TensorProto. Raises ModelError if its data doesn't fit its shape."""
    from onnx import TensorProto, numpy_helper

    what = f"tensor {proto.name!r}"
    if proto.data_location == TensorProto.EXTERNAL and not folder:
        raise ModelError(f"{what} has its data in another file; load the model by its path.")
    check_size(proto.dims, 0.25, what)
    if proto.data_type not in TensorProto.DataType.values() or not proto.data_type:
        raise ModelError(f"{what} is of the type {proto.data_type}, which onnx doesn't know.")
    try:
        array = numpy_helper.to_array(proto, folder)
    except (ValueError, TypeError, KeyError, OSError, AttributeError, OverflowError) as error:
        raise ModelError(f"{what} of the shape {list(proto.dims)} can't be read: {error}") from None
    if array.dtype == object or array.dtype.kind in "SU":
        return texts(array)
    return array


def take_map(value: Mapping[Any, Any], kind: Any) -> dict[Any, Any]:
    """A map whose keys and values have the dtypes of a TypeProto.Map."""
    import numpy as np
    from onnx import TensorProto, helper

    def convert(items: Iterable[Any], code: int) -> list[Any]:
        if code == TensorProto.STRING:
            return list(texts(list(items)))
        return list(np.array(list(items), helper.tensor_dtype_to_np_dtype(code)))

    try:
        keys = [key if isinstance(key, str) else int(key) for key in convert(value, kind.key_type)]
        items = convert(value.values(), kind.value_type.tensor_type.elem_type)
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise ModelError(f"a map can't be taken: {error}") from None
    return dict(zip(keys, items, strict=True))


def describe(value: object) -> str:
    """Dtype and shape for messages."""
    if isinstance(value, list):
        return f"sequence of {len(value)}" + (f" {describe(value[0])}" if value else "")
    if isinstance(value, dict):
        return f"map of {len(value)}"
    if value is None:
        return "nothing"
    name = "string" if is_text(value) else getattr(value, "dtype", type(value).__name__)
    return f"{name}{list(getattr(value, 'shape', ()))}"
