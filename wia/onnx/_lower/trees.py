"""Ensembles of decision trees: all rows walk down all trees together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wia._tensor import Tensor
from wia.onnx._errors import ModelError
from wia.onnx._lower.forests import (
    AGGREGATES,
    MEMBER,
    Forest,
    read_forest,
    read_old_forest,
)
from wia.onnx._lower.scores import (
    TRANSFORMS,
    add_first_class,
    class_labels,
    finish,
    name_of,
    rows,
)

if TYPE_CHECKING:
    from wia.onnx._call import Call, Result

__all__ = ["tree_ensemble", "tree_ensemble_classifier", "tree_ensemble_regressor"]

_MODES = ("less_equal", "less", "greater_equal", "greater", "equal", "not_equal")
_JOIN = {"AVERAGE": "reduce_mean", "SUM": "reduce_sum", "MIN": "reduce_min", "MAX": "reduce_max"}


def tree_ensemble(call: Call) -> Result:
    """TreeEnsemble: outputs have the dtype of the input."""
    x = call.tensor(0)
    if x.ndim != 2:
        raise ModelError(f"the input has {x.ndim} dimensions; expected 2")
    forest = call.kept(lambda: read_forest(call, x.dtype), "forest", x.dtype)
    end = call.attribute("post_transform", 0)
    if not 0 <= end < len(TRANSFORMS):
        raise ModelError(f"post_transform is {end}; expected 0 to {len(TRANSFORMS) - 1}")
    return finish(call, _sum(call, x, forest), TRANSFORMS[end], x.dtype)


def tree_ensemble_regressor(call: Call) -> Result:
    """TreeEnsembleRegressor; base values come in behind the sum, mean or extreme."""
    x = rows(call)
    targets = call.attribute("n_targets", 1)
    forest = call.kept(lambda: read_old_forest(call, x.dtype, "target", targets), "forest", x.dtype)
    scores = _add_base(call, _sum(call, x, forest), targets)
    return finish(call, scores, call.attribute("post_transform", "NONE"))


def tree_ensemble_classifier(call: Call) -> Result:
    """TreeEnsembleClassifier.

    Where all votes are for one of two classes, they are scores of the second: shares of 1 if none
    is below 0 and no transform makes them so, else numbers whose sign decides.
    """
    import numpy as np

    x, labels = rows(call), class_labels(call)
    transform = call.attribute("post_transform", "NONE")
    numbers = call.required("class_ids")
    single = len(labels) == 2 and len(set(numbers)) == 1
    classes = 1 if single else len(labels)
    forest = call.kept(
        lambda: read_old_forest(call, x.dtype, "class", len(labels)), "forest", x.dtype
    )
    sums = _sum(call, x, forest)
    if not single:
        scores = _add_base(call, sums, classes)
        chosen = call.op("argmax", scores, axis=1, keepdims=0)
        return name_of(call, chosen, labels), finish(call, scores, transform)
    column = call.literal([numbers[0]], np.int64)
    scores = _add_base(call, call.op("gather", sums, column, axis=1), 1)
    shares = bool((forest.weights >= 0).all()) and transform in ("NONE", "PROBIT")
    bound = call.literal(0.5 if shares else 0.0, x.dtype)
    chosen = call.cast(call.op("greater", scores, bound), np.dtype(np.int64))
    both = add_first_class(call, scores, shares=shares)
    return name_of(call, chosen, labels), finish(call, both, transform)


def _add_base(call: Call, scores: Tensor, count: int) -> Tensor:
    """Scores and base values, the last one where there is only one score."""
    import numpy as np

    tensor = call.attribute("base_values_as_tensor")
    base = call.attribute("base_values", ()) if tensor is None else tensor.reshape(-1)
    if not len(base):
        return scores
    if count == 1:
        base = base[-1:]
    if len(base) not in (1, count):
        raise ModelError(f"base_values has {len(base)} elements; expected {count}")
    return call.op("add", scores, call.once(lambda: np.array(base, scores.dtype), "base"))


def _sum(call: Call, x: Tensor, forest: Forest) -> Tensor:
    """What the leaves that rows reach give together: [rows, targets].

    A row keeps the number of its node in each tree, and goes one level down a step.
    """
    import numpy as np

    dtype = x.dtype
    features = forest.features
    if features.min(initial=0) < 0 or features.max(initial=0) >= max(x.shape[1], 1):
        raise ModelError(f"nodes_featureids goes beyond the {x.shape[1]} features")
    roots = call.once(lambda: forest.roots, "roots")
    at = call.op("broadcast", roots, shape=(x.shape[0], forest.roots.size))
    if forest.depth:
        columns = call.once(lambda: features, "features")
        true = call.once(lambda: forest.true, "true")
        false = call.once(lambda: forest.false, "false")
    for _ in range(forest.depth):
        values = call.op("gather_elements", x, call.op("gather", columns, at), axis=1)
        holds = _holds(call, forest, values, at)
        at = call.op("where", holds, call.op("gather", true, at), call.op("gather", false, at))
    table = call.once(lambda: forest.weights, "weights", dtype)
    name = AGGREGATES[forest.aggregate]
    total = call.op(_JOIN[name], call.op("gather", table, at), axes=(1,), keepdims=0)
    if name not in ("MIN", "MAX") or forest.weights.shape[1] == 1:
        return total
    # Targets that no leaf voted for are 0.
    none = call.op("is_inf", total, detect_negative=1, detect_positive=1)
    return call.op("where", none, call.literal(0, np.dtype(dtype)), total)


def _holds(call: Call, forest: Forest, values: Tensor, at: Tensor) -> Tensor:
    """Whether the test of its node is true for each row and tree."""
    import numpy as np

    bound = call.op("gather", call.once(lambda: forest.splits, "splits", values.dtype), at)
    result: Tensor | None = None
    kinds = np.unique(forest.modes[forest.true != np.arange(forest.true.size)]).tolist()
    for kind in kinds:
        own = (
            _member(call, forest, values, at)
            if kind == MEMBER
            else call.op(_MODES[kind], values, bound)
        )
        if result is None:
            result = own
            continue
        modes = call.op("gather", call.once(lambda: forest.modes, "modes"), at)
        chosen = call.op("equal", modes, call.literal(kind, np.int64))
        result = call.op("where", chosen, own, result)
    assert result is not None  # there is an inner node
    missing = call.op("not_equal", values, values)
    tracks = call.op("gather", call.once(lambda: forest.tracks, "tracks"), at)
    return call.op("where", missing, tracks, result)


def _member(call: Call, forest: Forest, values: Tensor, at: Tensor) -> Tensor:
    """Whether a value is one of its node's set."""
    import numpy as np

    sets: Any = forest.members
    own = call.op("gather", call.once(lambda: sets, "members", values.dtype), at)
    same = call.op("equal", own, call.reshape(values, *values.shape, 1))
    small = call.cast(same, np.dtype(np.int32))
    return call.cast(call.op("reduce_max", small, axes=(-1,), keepdims=0), np.dtype(np.bool_))
