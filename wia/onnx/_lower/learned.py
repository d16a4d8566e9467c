"""Operators of ai.onnx.ml that prepare features."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wia._tensor import Tensor
from wia.onnx._errors import ModelError
from wia.onnx._lower.moves import concat_tensors, pick
from wia.onnx._lower.scores import rows
from wia.onnx._values import check_size, is_text

if TYPE_CHECKING:
    import numpy as np

    from wia.onnx._call import Call, Result

__all__ = [
    "array_feature_extractor",
    "binarizer",
    "category_mapper",
    "feature_vectorizer",
    "imputer",
    "label_encoder",
    "normalizer",
    "one_hot_encoder",
    "scaler",
]

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


def category_mapper(call: Call) -> Result:
    """CategoryMapper: strings to integers, or back."""
    import numpy as np

    strings, numbers = call.required("cats_strings"), call.required("cats_int64s")
    if len(strings) != len(numbers):
        raise ModelError(f"{len(strings)} strings and {len(numbers)} integers are given")
    if is_text(call.value(0)):
        source: Any = call.value(0)
        there, other = dict(zip(strings, numbers, strict=True)), call.attribute("default_int64", -1)
        found = [there.get(text, other) for text in source.reshape(-1)]
        return call.put(np.array(found, np.int64).reshape(source.shape))
    source = call.host(0)
    back = dict(zip(numbers, strings, strict=True))
    missing = call.attribute("default_string", "_Unused")
    made = np.empty(source.size, object)
    made[:] = [back.get(number, missing) for number in source.reshape(-1).tolist()]
    return made.reshape(source.shape)


def array_feature_extractor(call: Call) -> Result:
    """ArrayFeatureExtractor: columns by their numbers."""
    columns = call.tensor(1)
    if is_text(call.value(0)):
        source: Any = call.value(0)
        numbers = list(call.ints(1) or ())
        if not source.ndim:
            raise ModelError("the input has 0 dimensions; expected 1 or more")
        size = source.shape[-1]
        if any(not -size <= number < size for number in numbers):
            raise ModelError(f"a column of {numbers} isn't there; there are {size}")
        chosen: np.ndarray[Any, Any] = source[..., numbers]
        return chosen.reshape(1, -1) if source.ndim == 1 else chosen
    x = call.tensor(0)
    flat = call.reshape(columns, columns.size)
    picked = call.op("gather", x, flat, axis=-1)
    return call.reshape(picked, 1, *picked.shape) if x.ndim == 1 else picked


def binarizer(call: Call) -> Result:
    """Binarizer: 1 above the threshold."""
    import numpy as np

    x = call.tensor(0)
    bound = call.attribute("threshold", 0.0)
    if x.dtype.kind not in "iu":
        above = call.op("greater", x, call.literal(bound, x.dtype))
    elif bound < np.iinfo(x.dtype).max:  # compared with the first integer above
        least = np.iinfo(x.dtype).min
        first = least if bound < least else math.floor(bound) + 1
        above = call.op("greater_equal", x, call.literal(first, x.dtype))
    else:  # none is, nor above NaN
        above = call.op("not_equal", x, x)
    return call.cast(above, x.dtype)


def scaler(call: Call) -> Result:
    """Scaler: (x - offset) * scale, in float32."""
    import numpy as np

    single = np.dtype(np.float32)
    x = call.cast(call.tensor(0), single)
    offset = call.literal(call.attribute("offset", (0.0,)), single)
    scale = call.literal(call.attribute("scale", (1.0,)), single)
    return call.op("mul", call.op("sub", x, offset), scale)


def normalizer(call: Call) -> Result:
    """Normalizer: rows over their maximum, or their L1 or L2 norm; rows of norm 0 stay."""
    import numpy as np

    names = {"MAX": "reduce_max", "L1": "reduce_l1", "L2": "reduce_l2"}
    x = call.cast(call.tensor(0), np.dtype(np.float32))
    if not 1 <= x.ndim <= 2:
        raise ModelError(f"the input has {x.ndim} dimensions; expected 1 or 2")
    norm = call.op(call.choice("norm", names, "MAX"), x, axes=(-1,), keepdims=1)
    zero, one = (call.literal(value, np.float32) for value in (0, 1))
    return call.op("div", x, call.op("where", call.op("equal", norm, zero), one, norm))


def imputer(call: Call) -> Result:
    """Imputer: another number in place of what stands for a missing one, NaN too."""
    import numpy as np

    x = call.tensor(0)
    kind = "float" if x.dtype.kind == "f" else "int64"
    values = call.attribute(f"imputed_value_{kind}s")
    if not values or not 1 <= x.ndim <= 2 or len(values) not in (1, x.shape[-1]):
        raise ModelError(
            f"imputed_value_{kind}s has {len(values or ())} elements for an input of "
            f"{list(x.shape)}; expected 1 or one for each column"
        )
    missing = call.attribute(f"replaced_value_{kind}", 0)
    if missing == missing:
        marked = call.op("equal", x, call.literal(missing, x.dtype))
    else:
        marked = call.op("is_nan", x)
    return call.op("where", marked, call.once(lambda: np.array(values, x.dtype), x.dtype), x)


def feature_vectorizer(call: Call) -> Result:
    """FeatureVectorizer: inputs side by side, each cut or filled up with 0 to its width."""
    import numpy as np

    single = np.dtype(np.float32)
    given = call.tensors()
    widths = call.attribute("inputdimensions") or [x.shape[-1] if x.ndim else 1 for x in given]
    if len(widths) != len(given):
        raise ModelError(f"inputdimensions has {len(widths)} elements for {len(given)} inputs")
    columns: list[Tensor] = []
    for i, width in enumerate(widths):
        x = call.cast(rows(call, i), single)
        check_size((x.shape[0], width), single.itemsize, f"input {i} under inputdimensions")
        if x.shape[1] > width:
            cut = pick(call, x, (0,), (width,), (1,))
            assert isinstance(cut, Tensor)
            x = cut
        elif x.shape[1] < width:
            x = call.op("pad", x, pads=(0, 0, 0, width - x.shape[1]), mode="constant", value=0.0)
        columns.append(x)
    return concat_tensors(call, columns, 1)


def one_hot_encoder(call: Call) -> Result:
    """OneHotEncoder: 1 at the place of the category; without one 0, or an error with zeros=0."""
    import numpy as np

    strings, numbers = (call.attribute(f"cats_{kind}") for kind in ("strings", "int64s"))
    if bool(strings) == bool(numbers):
        raise ModelError("expected either cats_strings or cats_int64s")
    single = np.dtype(np.float32)
    if strings:
        if not is_text(call.value(0)):
            raise ModelError("the categories are strings, and the input is none")
        source: Any = call.value(0)
        check_size((*source.shape, len(strings)), 4, "the result")
        same = call.put((source[..., None] == np.array(strings, object)).astype(np.bool_))
    else:
        x = call.cast(call.tensor(0), np.dtype(np.int64))
        table = call.once(lambda: np.array(numbers, np.int64), "categories")
        same = call.op("equal", call.reshape(x, *x.shape, 1), table)
    found = call.cast(same, single)
    if not call.attribute("zeros", 1):
        counts = call.read(call.op("reduce_sum", found, axes=(-1,), keepdims=0))
        if not counts.all():
            raise ModelError(f"{int((counts == 0).sum())} elements are of no category; zeros is 0")
    return found
