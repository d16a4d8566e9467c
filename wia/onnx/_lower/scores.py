"""Scores of classical models: what is made of them, and the labels of the largest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wia._tensor import Tensor
from wia.onnx._errors import ModelError
from wia.onnx._values import Value, texts

if TYPE_CHECKING:
    from wia.onnx._call import Call

__all__ = [
    "TRANSFORMS",
    "add_first_class",
    "affine",
    "class_labels",
    "finish",
    "name_of",
    "rows",
]

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""In the order of their numbers in TreeEnsemble."""

_NOTHING = 1e-7
"""SOFTMAX_ZERO leaves out what is no larger, as the implementations of it do."""


def rows(call: Call, index: int = 0) -> Tensor:
    """An input as [rows, features]; float64 stays, all other numbers become float32."""
    import numpy as np

    x = call.tensor(index)
    if x.ndim == 1:
        x = call.reshape(x, 1, x.size)
    if x.ndim != 2:
        raise ModelError(f"the input has {x.ndim} dimensions; expected 1 or 2")
    return x if x.dtype == np.float64 else call.cast(x, np.dtype(np.float32))


def affine(call: Call, x: Tensor, name: str) -> Tensor:
    """x times the rows of the attribute ``coefficients``, and the attribute ``name`` added."""
    import numpy as np

    width = x.shape[1]
    given = call.required("coefficients")
    if not width or not given or len(given) % width:
        raise ModelError(f"{len(given)} coefficients are given for {width} features")
    count = len(given) // width
    bias = call.attribute(name) or (0.0,) * count
    if len(bias) != count:
        raise ModelError(f"{name} has {len(bias)} elements; expected {count}")
    weights = call.once(
        lambda: np.array(given, x.dtype).reshape(count, width), "coefficients", x.dtype, width
    )
    return call.op("linear", x, weights, call.once(lambda: np.array(bias, x.dtype), name, x.dtype))


def finish(call: Call, scores: Tensor, transform: str, dtype: Any = "float32") -> Tensor:
    """Scores [rows, classes] after a transform."""
    import numpy as np

    if transform not in TRANSFORMS:
        expected = ", ".join(TRANSFORMS)
        raise ModelError(f"post_transform is {transform!r}; expected one of {expected}")
    if transform == "LOGISTIC":
        scores = call.op("sigmoid", scores)
    elif transform == "SOFTMAX":
        scores = call.op("softmax", scores, axis=-1)
    elif transform == "SOFTMAX_ZERO":
        scores = _softmax_of_others(call, scores)
    elif transform == "PROBIT":
        scores = call.op("ndtri", scores)
    return call.cast(scores, np.dtype(dtype))


def _softmax_of_others(call: Call, x: Tensor) -> Tensor:
    """softmax over the elements of a row that aren't 0, which stay 0."""

    zero, one, least = (call.literal(v, x.dtype) for v in (0, 1, _NOTHING))
    nothing = call.op("less_equal", call.op("abs", x), least)
    largest = call.op("reduce_max", x, axes=(-1,), keepdims=1)
    powers = call.op("where", nothing, zero, call.op("exp", call.op("sub", x, largest)))
    total = call.op("reduce_sum", powers, axes=(-1,), keepdims=1)
    return call.op("div", powers, call.op("where", call.op("equal", total, zero), one, total))


def add_first_class(call: Call, scores: Tensor, *, shares: bool) -> Tensor:
    """[rows, 1] of the second of two classes as [rows, 2]: of the first 1 - score, or -score."""
    one = call.literal(1, scores.dtype)
    first = call.op("sub", one, scores) if shares else call.op("neg", scores)
    return call.op("concat", first, scores, axis=1)


def class_labels(call: Call) -> Sequence[Any]:
    """The labels of classes: texts or integers."""
    names = ("classlabels_strings", "classlabels_ints", "classlabels_int64s")
    found = [call.attribute(name) for name in names]
    given = [labels for labels in found if labels]
    if len(given) != 1 or len(given[0]) < 2:
        raise ModelError("expected classlabels of strings or of integers, two or more")
    labels: Sequence[Any] = given[0]
    return labels


def name_of(call: Call, numbers: Tensor, labels: Sequence[Any]) -> Value:
    """The labels of classes that are given by number."""
    import numpy as np

    if isinstance(labels[0], str):
        names = [labels[number] for number in call.read(numbers).reshape(-1).tolist()]
        return texts(names, (len(names),))
    table = call.once(lambda: np.array(labels, np.int64), "labels")
    return call.op("gather", table, call.reshape(numbers, numbers.size), axis=0)
