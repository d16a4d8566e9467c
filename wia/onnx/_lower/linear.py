"""Linear models of ai.onnx.ml."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wia.onnx._errors import ModelError
from wia.onnx._lower.scores import add_first_class, affine, class_labels, finish, name_of, rows

if TYPE_CHECKING:
    from wia.onnx._call import Call, Result

__all__ = ["linear_classifier", "linear_regressor"]


def linear_regressor(call: Call) -> Result:
    """LinearRegressor: one row of coefficients for each target."""
    scores = affine(call, rows(call), "intercepts")
    targets = call.attribute("targets", 1)
    if scores.shape[1] != targets:
        raise ModelError(f"there are coefficients for {scores.shape[1]} targets, not {targets}")
    return finish(call, scores, call.attribute("post_transform", "NONE"))


def linear_classifier(call: Call) -> Result:
    """LinearClassifier: the label of the largest score; of a single score that of its sign."""
    import numpy as np

    labels, transform = class_labels(call), call.attribute("post_transform", "NONE")
    scores = affine(call, rows(call), "intercepts")
    if scores.shape[1] == 1 and len(labels) == 2:
        above = call.op("greater", scores, call.literal(0, scores.dtype))
        chosen = call.cast(above, np.dtype(np.int64))
        shares = transform in ("NONE", "PROBIT")
        scores = add_first_class(call, scores, shares=shares)
    elif scores.shape[1] == len(labels):
        chosen = call.op("argmax", scores, axis=1, keepdims=0)
    else:
        raise ModelError(f"there are {scores.shape[1]} scores for {len(labels)} labels")
    return name_of(call, chosen, labels), finish(call, scores, transform)
