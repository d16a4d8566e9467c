"""Ensembles of decision trees: all rows walk down all trees together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wia._tensor import Tensor
from wia.onnx._errors import ModelError, UnsupportedError

if TYPE_CHECKING:
    from wia.onnx._call import Call, Result

__all__ = ["tree_ensemble"]

_MODES = ("less_equal", "less", "greater_equal", "greater", "equal", "not_equal")
_MEMBER = 6
_OF_NODES = (
    "nodes_truenodeids",
    "nodes_falsenodeids",
    "nodes_trueleafs",
    "nodes_falseleafs",
    "nodes_splits",
    "nodes_modes",
    "nodes_missing_value_tracks_true",
)
_OF_LEAVES = ("leaf_weights",)
_SUMS = {0: "reduce_mean", 1: "reduce_sum", 2: "reduce_min", 3: "reduce_max"}
_ENDS = {1: ("softmax", {"axis": -1}), 2: ("sigmoid", {})}


def tree_ensemble(call: Call) -> Result:
    """TreeEnsemble."""
    return _Trees(call).run()


class _Trees:
    """The trees of a node as tables. Leaves are numbered behind inner nodes and lead to themselves.

    A row of the input keeps the number of its node in each tree, and goes one level down a step.
    """

    def __init__(self, call: Call) -> None:
        import numpy as np

        self._call = call
        self._x = call.tensor(0)
        given = call.required
        self._inner = inner = len(given("nodes_featureids"))
        self._leaves = leaves = len(given("leaf_targetids"))
        lengths = dict.fromkeys(_OF_NODES, inner) | dict.fromkeys(_OF_LEAVES, leaves)
        for name, length in lengths.items():
            found = len(call.attribute(name, range(length)))
            if found != length:
                raise ModelError(f"{name} has {found} elements; expected {length}")
        if self._x.ndim != 2:
            raise ModelError(f"the input has {self._x.ndim} dimensions; expected 2")
        features = given("nodes_featureids")
        if any(not 0 <= feature < self._x.shape[1] for feature in features):
            raise ModelError(f"nodes_featureids goes beyond the {self._x.shape[1]} features")
        numbers, targets = given("leaf_targetids"), call.attribute("n_targets", 1)
        if any(not 0 <= number < targets for number in numbers):
            raise ModelError(f"leaf_targetids goes beyond the {targets} targets")

        def children(side: str) -> Tensor:
            ids = np.array(given(f"nodes_{side}nodeids"), np.int64)
            to_leaf = np.array(given(f"nodes_{side}leafs")) != 0
            numbers = np.concatenate([ids + inner * to_leaf, inner + np.arange(leaves)])
            if ((numbers < 0) | (numbers >= inner + leaves)).any():
                raise ModelError(f"nodes_{side}nodeids names a node that isn't there")
            return call.put(numbers)

        self._children = children("true"), children("false")
        self._modes = np.array(given("nodes_modes"), np.int64).reshape(-1)
        if not set(self._modes.tolist()) <= set(range(_MEMBER + 1)):
            raise ModelError(f"nodes_modes has a mode beyond {_MEMBER}")
        self._tracks = np.array(call.attribute("nodes_missing_value_tracks_true", (0,) * inner))
        self._splits = self._for_nodes(given("nodes_splits"), self._x.dtype)
        self._features = self._for_nodes(given("nodes_featureids"), np.int64)

    def _for_nodes(self, values: Any, dtype: Any) -> Tensor:
        """A table of inner nodes with a place for each leaf too."""
        import numpy as np

        return self._call.put(np.pad(np.array(values).astype(dtype), (0, self._leaves)))

    def run(self) -> Tensor:
        """The outputs, [rows, targets]."""
        import numpy as np

        call = self._call
        roots = np.array(call.required("tree_roots"), np.int64)
        at = call.op("broadcast", call.put(roots), shape=(self._x.shape[0], len(roots)))
        for _ in range(self._inner):
            features = call.op("gather", self._features, at)
            values = call.op("gather_elements", self._x, features, axis=1)
            true, false = (call.op("gather", side, at) for side in self._children)
            at = call.op("where", self._holds(values, at), true, false)
            if bool(np.all(call.read(at) >= self._inner)):
                return self._sum(at)
        raise ModelError("a tree goes in a circle")

    def _holds(self, values: Tensor, at: Tensor) -> Tensor:
        """Whether the test of its node is true for each row and tree."""
        import numpy as np

        call = self._call
        bound = call.op("gather", self._splits, at)
        kinds = call.op("gather", self._for_nodes(self._modes, np.int64), at)
        result: Tensor | None = None
        for kind in sorted(set(self._modes.tolist())):
            own = (
                self._member(values, at)
                if kind == _MEMBER
                else call.op(_MODES[kind], values, bound)
            )
            if result is None:
                result = own
                continue
            result = call.op(
                "where", call.op("equal", kinds, call.literal(kind, np.int64)), own, result
            )
        assert result is not None  # the caller has inner nodes
        missing = call.op("not_equal", values, values)
        tracks = call.op("gather", self._for_nodes(self._tracks != 0, np.bool_), at)
        return call.op("where", missing, tracks, result)

    def _member(self, values: Tensor, at: Tensor) -> Tensor:
        """Whether a value is one of its node's: sets stand behind each other, ended by a NaN."""
        import numpy as np

        call = self._call
        sets: list[list[float]] = [[]]
        for item in call.required("membership_values").reshape(-1).tolist():
            if item == item:
                sets[-1].append(item)
            else:
                sets.append([])
        table = np.full((self._inner + self._leaves, max(1, *map(len, sets))), np.nan)
        for node, own in zip(np.flatnonzero(self._modes == _MEMBER), sets, strict=False):
            table[node, : len(own)] = own
        rows = call.op("gather", call.put(table.astype(values.dtype)), at)
        same = call.op("equal", rows, call.reshape(values, *values.shape, 1))
        small = call.cast(same, np.dtype(np.int32))
        return call.cast(call.op("reduce_max", small, axes=(-1,)), np.dtype(np.bool_))

    def _sum(self, at: Tensor) -> Tensor:
        """What the leaves that were reached give together."""
        import numpy as np

        call, dtype = self._call, self._x.dtype
        targets = call.attribute("n_targets", 1)
        kind, end = call.attribute("aggregate_function", 1), call.attribute("post_transform", 0)
        if kind not in _SUMS or (kind > 1 and targets > 1) or end not in (0, *_ENDS):
            raise UnsupportedError(
                f"aggregate_function is {kind}, post_transform {end}, n_targets {targets}; there "
                "are sums and means, minimum and maximum of one target, and softmax and logistic"
            )
        weights = np.zeros((self._inner + self._leaves, targets), dtype)
        place = (self._inner + np.arange(self._leaves), np.array(call.required("leaf_targetids")))
        weights[place] = np.array(call.required("leaf_weights"))
        total = call.op(_SUMS[kind], call.op("gather", call.put(weights), at), axes=(1,))
        if not end:
            return total
        name, attributes = _ENDS[end]
        return call.op(name, total, **attributes)
