"""Operators of ai.onnx.ml: classical models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wia.onnx._errors import ModelError
from wia.onnx._values import is_text

if TYPE_CHECKING:
    from wia.onnx._call import Call, Result

__all__ = ["array_feature_extractor", "binarizer", "label_encoder", "scaler"]

_KINDS = {"string": "_Unused", "int64": -1, "float": -0.0}
_DTYPES = {"int64": "int64", "float": "float32", "string": "object"}


def label_encoder(call: Call) -> Result:
    """LabelEncoder: on the host, where its keys or values are strings as a rule."""
    import numpy as np

    if call.version < 2:
        return _old_label_encoder(call)
    kinds = tuple(_KINDS)
    keys = [
        *(call.attributes.get(f"keys_{kind}s") for kind in kinds),
        call.attributes.get("keys_tensor"),
    ]
    values = [
        *(call.attributes.get(f"values_{kind}s") for kind in kinds),
        call.attributes.get("values_tensor"),
    ]
    found = [[v for v in side if v is not None] for side in (keys, values)]
    if not all(found):
        raise ModelError("keys or values are not given")
    names, results = (np.asarray(side[0]).reshape(-1).tolist() for side in found)
    if len(names) != len(results):
        raise ModelError(f"{len(names)} keys and {len(results)} values are given")
    kind = next((k for k, v in zip(kinds, values, strict=False) if v is not None), None)
    tensor: Any = call.attributes.get("values_tensor")
    dtype: Any = tensor.dtype if kind is None else np.dtype(_DTYPES[kind])
    default = call.attributes.get("default_tensor")
    if default is not None:
        if default.size != 1:
            raise ModelError(f"default_tensor has {default.size} elements; expected one")
        other = default.reshape(-1)[0]
    else:
        name = kind or {"O": "string", "i": "int64"}.get(dtype.kind, "float")
        other = call.attribute(f"default_{name}", _KINDS[name])
    table = {_key(k): v for k, v in zip(names, results, strict=True)}
    source: Any = call.value(0) if is_text(call.value(0)) else call.host(0)
    flat = [table.get(_key(item), other) for item in source.reshape(-1).tolist()]
    made = np.empty(len(flat), dtype)
    made[:] = flat
    result = made.reshape(source.shape)
    return result if dtype.kind == "O" else call.put(result)


def _key(item: Any) -> Any:
    """NaN is a key like others."""
    return "NaN" if isinstance(item, float) and item != item else item


def _old_label_encoder(call: Call) -> Result:
    import numpy as np

    classes = list(call.required("classes_strings"))
    if is_text(call.value(0)):
        source: Any = call.value(0)
        other = call.attribute("default_int64", -1)
        numbers = [classes.index(t) if t in classes else other for t in source.reshape(-1)]
        return call.put(np.array(numbers, np.int64).reshape(source.shape))
    source = call.host(0)
    missing = call.attribute("default_string", "_Unused")
    made = np.empty(source.size, object)
    made[:] = [classes[i] if 0 <= i < len(classes) else missing for i in source.reshape(-1)]
    return made.reshape(source.shape)


def array_feature_extractor(call: Call) -> Result:
    """ArrayFeatureExtractor: columns by their numbers."""
    x, columns = call.tensor(0), call.tensor(1)
    flat = call.reshape(columns, columns.size)
    picked = call.op("gather", x, flat, axis=-1)
    return call.reshape(picked, 1, *picked.shape) if x.ndim == 1 else picked


def binarizer(call: Call) -> Result:
    """Binarizer: 1 above the threshold."""
    x = call.tensor(0)
    bound = call.literal(call.attribute("threshold", 0.0), x.dtype)
    return call.cast(call.op("greater", x, bound), x.dtype)


def scaler(call: Call) -> Result:
    """Scaler: (x - offset) * scale, in float32."""
    import numpy as np

    single = np.dtype(np.float32)
    x = call.cast(call.tensor(0), single)
    offset = call.literal(call.attribute("offset", (0.0,)), single)
    scale = call.literal(call.attribute("scale", (1.0,)), single)
    return call.op("mul", call.op("sub", x, offset), scale)
