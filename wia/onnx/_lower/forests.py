"""Tables of decision trees, read from attributes of ai.onnx.ml and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wia.onnx._errors import ModelError
from wia.onnx._values import check_size

if TYPE_CHECKING:
    import numpy as np

    from wia.onnx._call import Call

    Array = np.ndarray[Any, Any]

__all__ = ["AGGREGATES", "MEMBER", "Forest", "read_forest", "read_old_forest"]

MEMBER = 6
"""The mode of a node that asks whether a value is one of a set; lower ones compare."""
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
"""In the order of their numbers in TreeEnsemble."""

_OLD_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_LEAF = "LEAF"
_TRACKS = "nodes_missing_value_tracks_true"
_OF_NODES = (
    "nodes_truenodeids",
    "nodes_falsenodeids",
    "nodes_trueleafs",
    "nodes_falseleafs",
    "nodes_splits",
    "nodes_modes",
    _TRACKS,
)
_OF_OLD_NODES = (
    "nodes_treeids",
    "nodes_nodeids",
    "nodes_modes",
    "nodes_truenodeids",
    "nodes_falsenodeids",
    _TRACKS,
)


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees, whose nodes are numbered together. Leaves lead to themselves.

    ``weights`` [nodes, targets] are what a leaf gives, ``aggregate`` says how those of the trees
    come together: a place of AGGREGATES. ``members`` [nodes, most] are sets, filled up with NaN.
    ``depth`` is the number of steps after which every row is at a leaf.
    """

    roots: Array
    features: Array
    splits: Array
    modes: Array
    tracks: Array
    true: Array
    false: Array
    weights: Array
    aggregate: int
    depth: int
    members: Array | None = None


def read_forest(call: Call, dtype: Any) -> Forest:
    """The trees of TreeEnsemble: leaves are numbered behind inner nodes."""
    import numpy as np

    given = call.required
    inner, leaves = len(given("nodes_featureids")), len(given("leaf_targetids"))
    lengths = dict.fromkeys(_OF_NODES, inner) | {"leaf_weights": leaves}
    _check_lengths(call, lengths)
    modes = np.array(given("nodes_modes"), np.int64).reshape(-1)
    if ((modes < 0) | (modes > MEMBER)).any():
        raise ModelError(f"nodes_modes has a mode beyond {MEMBER}")

    def side(name: str) -> Array:
        ids = np.array(given(f"nodes_{name}nodeids"), np.int64)
        to_leaf = np.array(given(f"nodes_{name}leafs"), np.int64) != 0
        bounds = np.where(to_leaf, leaves, inner)
        if ((ids < 0) | (ids >= bounds)).any():
            raise ModelError(f"nodes_{name}nodeids names a node that isn't there")
        return np.concatenate([ids + inner * to_leaf, inner + np.arange(leaves)])

    def wide(values: Any, kind: Any) -> Array:
        return np.pad(np.array(values).astype(kind).reshape(-1), (0, leaves))

    aggregate = call.attribute("aggregate_function", 1)
    if not 0 <= aggregate < len(AGGREGATES):
        raise ModelError(f"aggregate_function is {aggregate}; expected 0 to {len(AGGREGATES) - 1}")
    roots = np.array(given("tree_roots"), np.int64)
    true, false = side("true"), side("false")
    if ((roots < 0) | (roots >= inner)).any():
        raise ModelError("tree_roots names a node that isn't there")
    weights = _weights(
        (inner + leaves, call.attribute("n_targets", 1)),
        inner + np.arange(leaves),
        np.array(given("leaf_targetids"), np.int64),
        np.array(given("leaf_weights"), dtype).reshape(-1),
        aggregate,
        "leaf_targetids",
    )
    tracks = call.attribute(_TRACKS) or (0,) * inner
    return Forest(
        roots=roots,
        features=wide(given("nodes_featureids"), np.int64),
        splits=wide(given("nodes_splits"), dtype),
        modes=wide(modes, np.int64),
        tracks=wide(tracks, np.bool_),
        true=true,
        false=false,
        weights=weights,
        aggregate=aggregate,
        depth=_depth(roots, true, false),
        members=_members(call, modes, inner + leaves, dtype) if MEMBER in modes else None,
    )


def _members(call: Call, modes: Array, count: int, dtype: Any) -> Array:
    """Sets stand behind each other, in the order of their nodes, each ended by a NaN."""
    import numpy as np

    sets: list[list[float]] = [[]]
    for item in call.required("membership_values").reshape(-1).tolist():
        if item == item:
            sets[-1].append(item)
        else:
            sets.append([])
    most = max(1, *map(len, sets))
    check_size((count, most), np.dtype(dtype).itemsize, "the table of membership_values")
    table = np.full((count, most), np.nan, dtype)
    for node, own in zip(np.flatnonzero(modes == MEMBER), sets, strict=False):
        table[node, : len(own)] = own
    return table


def read_old_forest(call: Call, dtype: Any, kind: str, targets: int) -> Forest:
    """The trees of TreeEnsembleRegressor and -Classifier; kind is "target" or "class".

    Nodes are found by the numbers of their tree and of their own, and a tree begins with its first.
    """
    import numpy as np

    given = call.required
    count = len(given("nodes_nodeids"))
    lengths = dict.fromkeys(_OF_OLD_NODES, count)
    _check_lengths(call, lengths | {"nodes_featureids": count})
    splits = _values_of(call, "nodes_values", count, dtype)
    trees, ids, modes = given("nodes_treeids"), given("nodes_nodeids"), given("nodes_modes")
    places = {key: place for place, key in enumerate(zip(trees, ids, strict=True))}
    if len(places) != count:
        raise ModelError("a node of nodes_nodeids stands there twice for its tree")
    unknown = set(modes) - {*_OLD_MODES, _LEAF}
    if unknown:
        raise ModelError(f"nodes_modes has {unknown.pop()!r}; expected {', '.join(_OLD_MODES)}")

    def find(what: str, tree: int, node: int) -> int:
        if (tree, node) not in places:
            raise ModelError(f"{what} names the node {node} of tree {tree}, which isn't there")
        return places[tree, node]

    def side(name: str) -> Array:
        found = [
            place if mode == _LEAF else find(name, tree, node)
            for place, (tree, node, mode) in enumerate(zip(trees, given(name), modes, strict=True))
        ]
        return np.array(found, np.int64)

    numbers = given(f"{kind}_ids")
    votes = len(numbers)
    _check_lengths(call, dict.fromkeys((f"{kind}_treeids", f"{kind}_nodeids"), votes))
    at = [
        find(f"{kind}_nodeids", tree, node)
        for tree, node in zip(given(f"{kind}_treeids"), given(f"{kind}_nodeids"), strict=True)
    ]
    aggregate = call.choice(
        "aggregate_function", {name: i for i, name in enumerate(AGGREGATES)}, "SUM"
    )
    weights = _weights(
        (count, targets),
        np.array(at, np.int64),
        np.array(numbers, np.int64),
        _values_of(call, f"{kind}_weights", votes, dtype),
        aggregate,
        f"{kind}_ids",
    )
    first: dict[int, int] = {}
    for place, tree in enumerate(trees):
        first.setdefault(tree, place)
    roots = np.array([*first.values()], np.int64)
    true, false = side("nodes_truenodeids"), side("nodes_falsenodeids")
    leaf = np.array([mode == _LEAF for mode in modes], np.bool_)
    tracks = call.attribute(_TRACKS) or (0,) * count
    return Forest(
        roots=roots,
        features=np.where(leaf, 0, np.array(given("nodes_featureids"), np.int64)),
        splits=splits,
        modes=np.array([0 if m == _LEAF else _OLD_MODES.index(m) for m in modes], np.int64),
        tracks=np.array(tracks, np.int64) == 1,
        true=true,
        false=false,
        weights=weights,
        aggregate=aggregate,
        depth=_depth(roots, true, false),
    )


def _values_of(call: Call, name: str, count: int, dtype: Any) -> Array:
    """Numbers that are floats, or since version 3 a tensor of doubles by another name."""
    import numpy as np

    tensor = call.attribute(f"{name}_as_tensor")
    found = call.attribute(name, ()) if tensor is None else tensor.reshape(-1)
    if len(found) != count:
        raise ModelError(f"{name} has {len(found)} elements; expected {count}")
    return np.array(found).astype(dtype)


def _check_lengths(call: Call, lengths: dict[str, int]) -> None:
    import numpy as np

    for name, length in lengths.items():
        found = np.size(call.attribute(name, ()))
        if found != length and (found or name != _TRACKS):
            raise ModelError(f"{name} has {found} elements; expected {length}")


def _weights(
    shape: tuple[int, int], at: Array, targets: Array, values: Array, aggregate: int, name: str
) -> Array:
    """What nodes give to targets; of MIN and MAX infinite where a leaf has no vote for a target."""
    import numpy as np

    if ((targets < 0) | (targets >= shape[1])).any():
        raise ModelError(f"{name} goes beyond the {shape[1]} targets")
    check_size(shape, values.dtype.itemsize, "the table of weights")
    join, start = {"MIN": (np.minimum, np.inf), "MAX": (np.maximum, -np.inf)}.get(
        AGGREGATES[aggregate], (np.add, 0.0)
    )
    table = np.full(shape, start, values.dtype)
    join.at(table, (at, targets), values)
    return table


def _depth(roots: Array, true: Array, false: Array) -> int:
    """The longest way from a root to a leaf. Raises ModelError where one has no end."""
    sides: Sequence[list[int]] = (true.tolist(), false.tolist())
    depth = [-1] * len(sides[0])
    for root in roots.tolist():
        stack = [root]
        while stack:
            node = stack[-1]
            below = {side[node] for side in sides}
            if node in below and len(below) > 1:
                raise ModelError("a tree goes in a circle")
            below.discard(node)
            if depth[node] == -1:
                depth[node] = -2  # on the way from the root
                if any(depth[other] == -2 for other in below):
                    raise ModelError("a tree goes in a circle")
                stack.extend(other for other in below if depth[other] == -1)
                continue
            stack.pop()
            if depth[node] == -2:
                depth[node] = 1 + max((depth[other] for other in below), default=-1)
    return max((depth[root] for root in roots.tolist()), default=0)
