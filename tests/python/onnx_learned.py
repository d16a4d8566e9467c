"""Small models of ai.onnx.ml, and nodes of it with what they should give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto, helper

Array = np.ndarray[Any, Any]


def node_model(
    op: str,
    inputs: Mapping[str, Any],
    outputs: Sequence[Any],
    *,
    version: int = 1,
    **attributes: Any,
) -> Any:
    """A model of one node: inputs are arrays or TypeProtos, outputs TypeProtos or element types."""
    infos = []
    for name, value in inputs.items():
        kind = value if isinstance(value, np.ndarray) else None
        infos.append(
            helper.make_value_info(name, value)
            if kind is None
            else helper.make_tensor_value_info(name, element_type(kind), [None] * kind.ndim)
        )
    names = [f"y{i}" for i in range(len(outputs))]
    made = [
        helper.make_tensor_value_info(name, kind, None)
        if isinstance(kind, int)
        else helper.make_value_info(name, kind)
        for name, kind in zip(names, outputs, strict=True)
    ]
    node = helper.make_node(op, [*inputs], names, domain="ai.onnx.ml", name="n", **attributes)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", version)]
    graph = helper.make_graph([node], "graph", infos, made)
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def element_type(array: Array) -> int:
    """ONNX's number for the dtype of an array; strings are objects."""
    if array.dtype.kind == "O":
        return int(TensorProto.STRING)
    return int(helper.np_dtype_to_tensor_dtype(array.dtype))


class Case(NamedTuple):
    """A node, its attributes, and what it gives; dtypes of outputs are those of ``expected``."""

    op: str
    inputs: tuple[Any, ...]
    attributes: dict[str, Any]
    expected: tuple[Any, ...]
    version: int = 1

    def model(self) -> Any:
        """The model of the node, whose inputs are x0, x1, ..."""
        inputs = {f"x{i}": value for i, value in enumerate(self.inputs)}
        kinds = [element_type(array) for array in self.expected]
        return node_model(self.op, inputs, kinds, version=self.version, **self.attributes)


def assert_alike(found: Any, expected: Any, tolerance: float = 1e-5) -> None:
    """Compares shape, dtype and elements."""
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    else:
        assert found.tolist() == expected.tolist()


def texts(*items: Any) -> Array:
    """A tensor of strings."""
    return np.array(items, object)


def floats(*items: Any) -> Array:
    """A tensor of float32."""
    return np.array(items, np.float32)


def ints(*items: Any) -> Array:
    """A tensor of int64."""
    return np.array(items, np.int64)


_X = floats([1.0, -2.0], [0.5, 3.0])
_TREE: dict[str, Any] = {
    "nodes_treeids": [0, 0, 0, 0, 0, 1],
    "nodes_nodeids": [0, 1, 2, 3, 4, 0],
    "nodes_featureids": [0, 0, 1, 0, 0, 0],
    "nodes_values": [0.5, 0.0, 1.0, 0.0, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_GT", "LEAF", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 3, 0, 0, 0],
    "nodes_falsenodeids": [2, 0, 4, 0, 0, 0],
}
"""Two trees: x0 <= 0.5 ? 1 : (x1 > 1 ? 3 : 4), and a leaf alone."""
_ROWS = floats([0.5, 9.0], [1.0, 2.0], [1.0, 1.0], [np.nan, 1.0])
"""Reach the leaves 1, 3, 4 and 4 of the first tree."""


def _votes(kind: str, ids: Sequence[int], weights: Sequence[float]) -> dict[str, Any]:
    return {
        **_TREE,
        f"{kind}_treeids": [0, 0, 0, 1],
        f"{kind}_nodeids": [1, 3, 4, 0],
        f"{kind}_ids": list(ids),
        f"{kind}_weights": list(weights),
    }


def _logistic(*scores: float) -> list[float]:
    return [float(1 / (1 + np.exp(-score))) for score in scores]


CASES: dict[str, Case] = {
    # -- features -----------------------------------------------------------------------------
    "columns": Case("ArrayFeatureExtractor", (_X, ints(1, 0)), {}, (floats([-2, 1], [3, 0.5]),)),
    "columns of strings": Case(
        "ArrayFeatureExtractor",
        (texts(["a", "b"], ["c", "d"]), ints([1])),
        {},
        (texts(["b"], ["d"]),),
    ),
    "columns of a row": Case(
        "ArrayFeatureExtractor", (floats(1, 2, 3), ints(2)), {}, (floats([3]),)
    ),
    "binary": Case(
        "Binarizer", (floats([np.nan, 1, 0.5]),), {"threshold": 0.5}, (floats([0, 1, 0]),)
    ),
    "strings to integers": Case(
        "CategoryMapper",
        (texts(["b", "z"]),),
        {"cats_strings": ["a", "b"], "cats_int64s": [7, 9]},
        (ints([9, -1]),),
    ),
    "integers to strings": Case(
        "CategoryMapper",
        (ints(7, 8),),
        {"cats_strings": ["a", "b"], "cats_int64s": [7, 9], "default_string": "?"},
        (texts("a", "?"),),
    ),
    "features side by side": Case(
        "FeatureVectorizer",
        (ints([1, 2, 3], [4, 5, 6]), ints([7], [8])),
        {"inputdimensions": [2, 2]},
        (floats([1, 2, 7, 0], [4, 5, 8, 0]),),
    ),
    "missing floats": Case(
        "Imputer",
        (floats([np.nan, 1], [2, np.nan]),),
        {"imputed_value_floats": [5.0, 6.0], "replaced_value_float": float("nan")},
        (floats([5, 1], [2, 6]),),
    ),
    "missing integers": Case(
        "Imputer",
        (ints([-1, 1], [2, -1]),),
        {"imputed_value_int64s": [2**60], "replaced_value_int64": -1},
        (ints([2**60, 1], [2, 2**60]),),
    ),
    "over the maximum": Case(
        "Normalizer", (floats([1, -4], [0, 0]),), {}, (floats([1, -4], [0, 0]),)
    ),
    "over L1": Case(
        "Normalizer", (ints([1, -3], [0, 0]),), {"norm": "L1"}, (floats([0.25, -0.75], [0, 0]),)
    ),
    "over L2": Case("Normalizer", (floats(3, -4),), {"norm": "L2"}, (floats(0.6, -0.8),)),
    "one of integers": Case(
        "OneHotEncoder",
        (np.array([2.7, 5.0]),),
        {"cats_int64s": [5, 2]},
        (floats([0, 1], [1, 0]),),
    ),
    "one of strings": Case(
        "OneHotEncoder",
        (texts(["b"], ["z"]),),
        {"cats_strings": ["a", "b", "c"]},
        (floats([[0, 1, 0]], [[0, 0, 0]]),),
    ),
    "scaled": Case(
        "Scaler", (ints([1, 2]),), {"offset": [1.0, 4.0], "scale": [2.0, 0.5]}, (floats([0, -1]),)
    ),
    # -- linear -------------------------------------------------------------------------------
    "regression": Case(
        "LinearRegressor",
        (_X,),
        {"coefficients": [1.0, 2.0, 0.0, -1.0], "intercepts": [10.0, 0.0], "targets": 2},
        (floats([7, 2], [16.5, -3]),),
    ),
    "regression without intercepts": Case(
        "LinearRegressor",
        (floats(1, 2),),
        {"coefficients": [1.0, 2.0], "post_transform": "LOGISTIC"},
        (floats(_logistic(5)),),
    ),
    "two classes of one score": Case(
        "LinearClassifier",
        (_X,),
        {
            "coefficients": [1.0, 1.0],
            "intercepts": [0.0],
            "classlabels_strings": ["no", "yes"],
            "post_transform": "LOGISTIC",
        },
        (texts("no", "yes"), floats(_logistic(1, -1), _logistic(-3.5, 3.5))),
    ),
    "three classes": Case(
        "LinearClassifier",
        (_X,),
        {
            "coefficients": [1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            "intercepts": [0.0, 0.0, 0.75],
            "classlabels_ints": [10, 20, 30],
        },
        (ints(10, 20), floats([1, -2, 0.75], [0.5, 3, 0.75])),
    ),
    # -- trees --------------------------------------------------------------------------------
    "trees": Case(
        "TreeEnsembleRegressor",
        (_ROWS,),
        {**_votes("target", [0, 0, 1, 0], [1.0, 2.0, 3.0, 10.0]), "n_targets": 2},
        (floats([11, 0], [12, 0], [10, 3], [10, 3]),),
    ),
    "mean of trees, and base values": Case(
        "TreeEnsembleRegressor",
        (_ROWS,),
        {
            **_votes("target", [0, 0, 0, 0], [1.0, 2.0, 3.0, 10.0]),
            "n_targets": 1,
            "aggregate_function": "AVERAGE",
            "base_values": [0.5],
        },
        (floats([6], [6.5], [7], [7]),),
    ),
    "least of trees": Case(
        "TreeEnsembleRegressor",
        (_ROWS,),
        {
            **_votes("target", [0, 0, 1, 0], [1.0, 20.0, 3.0, 10.0]),
            "n_targets": 3,
            "aggregate_function": "MIN",
        },
        (floats([1, 0, 0], [10, 0, 0], [10, 3, 0], [10, 3, 0]),),
    ),
    "a missing value goes the way that is said": Case(
        "TreeEnsembleRegressor",
        (_ROWS,),
        {
            **_votes("target", [0, 0, 0, 0], [1.0, 2.0, 3.0, 0.0]),
            "n_targets": 1,
            "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 0],
        },
        (floats([1], [2], [3], [1]),),
    ),
    "doubles": Case(
        "TreeEnsembleRegressor",
        (_ROWS.astype(np.float64),),
        {
            **{
                k: v
                for k, v in _votes("target", [0, 0, 0, 0], [1.0] * 4).items()
                if k not in ("nodes_values", "target_weights")
            },
            "nodes_values_as_tensor": helper.make_tensor(
                "v", TensorProto.DOUBLE, [6], _TREE["nodes_values"]
            ),
            "target_weights_as_tensor": helper.make_tensor(
                "w", TensorProto.DOUBLE, [4], [1.0, 2.0, 3.0, 0.5]
            ),
            "n_targets": 1,
        },
        (floats([1.5], [2.5], [3.5], [3.5]),),
        3,
    ),
    "classes of trees": Case(
        "TreeEnsembleClassifier",
        (_ROWS,),
        {
            **_votes("class", [0, 1, 2, 2], [1.0, 1.0, 1.0, 0.25]),
            "classlabels_strings": ["a", "b", "c"],
        },
        (texts("a", "b", "c", "c"), floats([1, 0, 0.25], [0, 1, 0.25], [0, 0, 1.25], [0, 0, 1.25])),
    ),
    "shares of the second of two classes": Case(
        "TreeEnsembleClassifier",
        (_ROWS,),
        {**_votes("class", [0, 0, 0, 0], [0.25, 0.75, 0.5, 0.0]), "classlabels_int64s": [3, 4]},
        (ints(3, 4, 3, 3), floats([0.75, 0.25], [0.25, 0.75], [0.5, 0.5], [0.5, 0.5])),
    ),
    "signs of the second of two classes": Case(
        "TreeEnsembleClassifier",
        (_ROWS,),
        {
            **_votes("class", [1, 1, 1, 1], [-2.0, 2.0, 0.5, 0.0]),
            "classlabels_int64s": [3, 4],
            "base_values": [-1.0],
            "post_transform": "LOGISTIC",
        },
        (
            ints(3, 4, 3, 3),
            floats(_logistic(3, -3), _logistic(-1, 1), _logistic(0.5, -0.5), _logistic(0.5, -0.5)),
        ),
    ),
    # -- support vectors ----------------------------------------------------------------------
    "vectors": Case(
        "SVMRegressor",
        (_X,),
        {
            "kernel_type": "RBF",
            "kernel_params": [0.5, 0.0, 0.0],
            "support_vectors": [1.0, -2.0, 0.0, 0.0],
            "coefficients": [2.0, 1.0],
            "n_supports": 2,
            "rho": [0.25],
        },
        (floats([2.25 + np.exp(-2.5)], [0.25 + 2 * np.exp(-12.625) + np.exp(-4.625)]),),
    ),
    "one class": Case(
        "SVMRegressor",
        (_X,),
        {"coefficients": [1.0, 1.0], "rho": [0.0], "one_class": 1},
        (floats([-1], [1]),),
    ),
    "a machine for each pair": Case(
        "SVMClassifier",
        (_X,),
        {
            "kernel_type": "POLY",
            "kernel_params": [1.0, 1.0, 2.0],
            "support_vectors": [1.0, 0.0, 0.0, 1.0],
            "vectors_per_class": [1, 1],
            "coefficients": [1.0, -1.0],
            "rho": [0.5],
            "classlabels_strings": ["a", "b"],
        },
        # kernels are (1 + x0)^2 and (1 + x1)^2; the first class is chosen above 0
        (texts("a", "b"), floats([-3.5, 3.5], [13.25, -13.25])),
    ),
    "a score for each class": Case(
        "SVMClassifier",
        (_X,),
        {"coefficients": [1.0, 0.0, 0.0, 1.0], "rho": [1.0], "classlabels_ints": [5, 6]},
        (ints(5, 6), floats([2, -1], [1.5, 4])),
    ),
    # -- transforms ---------------------------------------------------------------------------
    "softmax": Case(
        "LinearRegressor",
        (floats([1.0, 0.0]),),
        {"coefficients": [0.0, 0.0, 2.0, 0.0], "targets": 2, "post_transform": "SOFTMAX"},
        (floats([1 / (1 + np.exp(2)), np.exp(2) / (1 + np.exp(2))]),),
    ),
    "softmax but for zeros": Case(
        "LinearRegressor",
        (floats([1.0], [0.0]),),
        {"coefficients": [0.0, 2.0, 1.0], "targets": 3, "post_transform": "SOFTMAX_ZERO"},
        (floats([0, np.exp(1) / (1 + np.exp(1)), 1 / (1 + np.exp(1))], [0, 0, 0]),),
    ),
    "probit": Case(
        "LinearRegressor",
        (floats([0.5], [0.975]),),
        {"coefficients": [1.0], "post_transform": "PROBIT"},
        (floats([0.0], [1.959964]),),  # the quantiles of the normal distribution
    ),
}
"""By what they show; values are worked by hand."""
