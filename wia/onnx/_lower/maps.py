"""Maps of ai.onnx.ml, which are Python's dicts: at host level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wia.onnx._errors import ModelError
from wia.onnx._lower.texts import parse_number, write_number
from wia.onnx._values import check_size, describe, texts

if TYPE_CHECKING:
    from wia.onnx._call import Call, Result

__all__ = ["cast_map", "dict_vectorizer", "zip_map"]


def _map(call: Call) -> dict[Any, Any]:
    value: Any = call.value(0)
    if not isinstance(value, dict):
        raise ModelError(f"the input is a {describe(value)}; expected a map")
    return value


def zip_map(call: Call) -> Result:
    """ZipMap: a map for each row, from labels to the numbers of the row."""
    names = [call.attribute(f"classlabels_{kind}") for kind in ("strings", "int64s")]
    keys = names[0] or names[1]
    x = call.host(0)
    if not keys or all(names):
        raise ModelError("expected either classlabels_strings or classlabels_int64s")
    if not 1 <= x.ndim <= 2 or x.shape[-1] != len(keys):
        raise ModelError(f"the input is {list(x.shape)}; expected rows of {len(keys)} numbers")
    return [dict(zip(keys, row, strict=True)) for row in x.reshape(-1, len(keys)).tolist()]


def dict_vectorizer(call: Call) -> Result:
    """DictVectorizer: the values of the keys of a vocabulary, 0 or "" without one: [1, keys]."""
    import numpy as np

    names = [call.attribute(f"{kind}_vocabulary") for kind in ("string", "int64")]
    keys = names[0] or names[1]
    if not keys or all(names):
        raise ModelError("expected either string_vocabulary or int64_vocabulary")
    given = _map(call)
    some = next(iter(given.values()), np.float32(0))
    if isinstance(some, str):
        return texts([given.get(key, "") for key in keys], (1, len(keys)))
    dtype = np.asarray(some).dtype
    return call.put(np.array([[given.get(key, 0) for key in keys]], dtype))


def cast_map(call: Call) -> Result:
    """CastMap: the values by rising key; of the form SPARSE at the place of the key."""
    import numpy as np

    given = dict(sorted(_map(call).items()))
    kinds = {"TO_FLOAT": np.float32, "TO_INT64": np.int64, "TO_STRING": object}
    dtype = np.dtype(call.choice("cast_to", kinds, "TO_FLOAT"))
    sparse = call.choice("map_form", {"DENSE": False, "SPARSE": True}, "DENSE")
    values = list(given.values())
    if sparse:
        size = call.attribute("max_map", 1)
        check_size((size,), 8, "the result")
        wrong = [key for key in given if not 0 <= key < size]
        if wrong:
            raise ModelError(f"the map has the key {wrong[0]}; max_map is {size}")
        values = [given.get(key, 0) for key in range(size)]
    if dtype.kind == "O":
        return texts([v if isinstance(v, str) else write_number(v) for v in values], (1, -1))
    return call.put(np.array([[parse_number(v, dtype) for v in values]], dtype))
