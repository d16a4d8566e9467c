"""Operators as they were in old opsets, and a model that every opset has."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_learned import Array, assert_alike, element_type, floats, ints

import wia
import wia.onnx


class Old(NamedTuple):
    """A node of an opset; further inputs are constants of the model, None is left out."""

    op: str
    opset: int
    inputs: tuple[Any, ...]
    attributes: dict[str, Any]
    expected: Array


_X = floats([1, -2, 3], [4, 5, -6])
_IMAGE = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)

OLD = [
    Old("Add", 1, (_X, floats(1, 2)), {"axis": 0, "broadcast": 1}, _X + floats([1], [2])),
    Old("Sub", 6, (_X, floats(1, 2, 3)), {"broadcast": 1}, _X - [1, 2, 3]),
    Old("Mul", 6, (_X[None], floats(10, 20)), {"axis": 1, "broadcast": 1}, _X[None] * [[10], [20]]),
    Old("Div", 6, (_X, floats([2], [4])), {"broadcast": 1}, _X / [[2], [4]]),
    Old("Pow", 1, (_X, floats(1, 2)), {"axis": 0, "broadcast": 1}, _X ** [[1], [2]]),
    Old("Greater", 1, (_X, floats(0, 4.5)), {"axis": 0, "broadcast": 1}, _X > [[0], [4.5]]),
    Old("Less", 6, (_X, floats(3)), {"broadcast": 1}, _X < 3),
    Old("Equal", 1, (ints([1, 2]), ints([1, 3])), {}, np.array([[True, False]])),
    Old("And", 1, (_X > 0, np.array([True, False])), {"axis": 0, "broadcast": 1},
        (_X > 0) & [[True], [False]]),
    Old("Abs", 1, (_X,), {"consumed_inputs": [0]}, abs(_X)),
    Old("Cast", 1, (_X,), {"to": "INT32"}, _X.astype(np.int32)),
    Old("Cast", 6, (_X,), {"to": TensorProto.DOUBLE}, _X.astype(np.float64)),
    Old("Clip", 1, (_X,), {"min": -1.0, "max": 4.0}, _X.clip(-1, 4)),
    Old("Clip", 6, (_X,), {"max": 4.0}, _X.clip(None, 4)),
    Old("Concat", 1, (_X, _X), {}, np.concatenate([_X, _X], 1)),
    Old("Dropout", 1, (_X,), {"is_test": 1, "ratio": 0.9}, _X),
    Old("Dropout", 7, (_X,), {"ratio": 0.9}, _X),
    Old("Gemm", 1, (_X, _X, floats(1, 2)), {"transB": 1, "broadcast": 1}, _X @ _X.T + [1, 2]),
    Old("LogSoftmax", 1, (_X[None],), {"axis": 1},
        _X[None] - np.log(np.exp(_X).sum(), dtype=np.float32)),
    Old("Softmax", 11, (_X,), {}, np.exp(_X) / np.exp(_X).sum(1, keepdims=True)),
    Old("MaxPool", 1, (_IMAGE,), {"kernel_shape": [2, 2], "strides": [2, 2]},
        floats([[[5, 7], [13, 15]]])),
    Old("AveragePool", 1, (_IMAGE,),
        {"kernel_shape": [4, 4], "pads": [1, 1, 0, 0], "strides": [4, 4]},
        floats([[[5]]])),
    Old("LpPool", 1, (_IMAGE,), {"kernel_shape": [4, 4], "p": 1.0}, floats([[[120]]])),
    Old("GlobalLpPool", 1, (_IMAGE,), {"p": 1.0}, floats([[[120]]])),
    Old("Pad", 1, (_X,), {"paddings": [0, 1, 0, 0], "value": 7.0},
        np.pad(_X, [(0, 0), (1, 0)], constant_values=7)),
    Old("Pad", 2, (_X,), {"pads": [0, 0, 1, -1]}, np.pad(_X[:, :2], [(0, 1), (0, 0)])),
    Old("PRelu", 6, (_IMAGE - 8, floats(0.5)), {},
        np.where(_IMAGE < 8, (_IMAGE - 8) / 2, _IMAGE - 8)),
    Old("ReduceSum", 1, (_X,), {"axes": [0], "keepdims": 0}, _X.sum(0)),
    Old("ReduceMax", 12, (_X,), {"axes": [-1]}, _X.max(1, keepdims=True)),
    Old("ReduceMean", 1, (_X,), {}, _X.mean(keepdims=True)),
    Old("Reshape", 1, (_X,), {"shape": [3, -1]}, _X.reshape(3, 2)),
    Old("Selu", 1, (floats(-1, 1),), {}, floats(1.0507 * 1.6732 * (np.exp(-1) - 1), 1.0507)),
    Old("Slice", 1, (_X,), {"starts": [0, 1], "ends": [1, 2**31]}, _X[:1, 1:]),
    Old("Split", 2, (_X,), {"axis": 1, "split": [1, 2]}, _X[:, :1]),
    Old("Split", 1, (_X, floats(2, 1)), {"axis": 1}, _X[:, :2]),
    Old("Squeeze", 1, (_X[None, :, None],), {"axes": [0, 2]}, _X),
    Old("Unsqueeze", 1, (_X,), {"axes": [0, 3]}, _X[None, ..., None]),
    Old("Tile", 1, (_X, floats(2), floats(1)), {}, np.tile(_X, (1, 2))),
    Old("TopK", 1, (_X,), {"k": 2}, floats([3, 1], [5, 4])),
    Old("TopK", 10, (_X, ints(1)), {"axis": 0}, floats([4, 5, 3])),
    Old("Upsample", 1, (_IMAGE,), {"height_scale": 2.0, "width_scale": 1.0}, _IMAGE.repeat(2, 2)),
    Old("Upsample", 7, (_IMAGE,), {"scales": [1.0, 1.0, 1.0, 2.0]}, _IMAGE.repeat(2, 3)),
    Old("Upsample", 9, (_IMAGE, floats(1, 1, 2, 2)), {}, _IMAGE.repeat(2, 2).repeat(2, 3)),
    Old("Resize", 10, (_IMAGE, floats(1, 1, 0.5, 0.5)), {}, _IMAGE[:, :, ::2, ::2]),
    Old("Scatter", 9, (_X, ints([1, 0, 1]), floats([7, 8, 9])), {"axis": 0},
        floats([1, 8, 3], [7, 5, 9])),
    Old("BatchNormalization", 7,
        (_X[:, :, None], floats(1, 2, 3), floats(0, 0, 1), floats(0, 1, 0), floats(1, 1, 4)),
        {"epsilon": 0.0}, (_X[:, :, None] - [[0], [1], [0]]) * [[1], [2], [1.5]] + [[0], [0], [1]]),
    Old("BatchNormalization", 6,
        (_X[:, :, None], floats(1, 2, 3), floats(0, 0, 1), floats(0, 1, 0), floats(1, 1, 4)),
        {"epsilon": 0.0, "is_test": 1},
        (_X[:, :, None] - [[0], [1], [0]]) * [[1], [2], [1.5]] + [[0], [0], [1]]),
    Old("DFT", 17, (floats([[1], [2]]),), {"axis": 1}, floats([[3, 0], [-1, 0]])),
    Old("GridSample", 16, (_IMAGE, floats([[[0, 0]]])), {"mode": "bilinear"}, floats([[[7.5]]])),
    Old("QuantizeLinear", 10, (_X, floats(2).reshape(()), np.array(1, np.uint8)), {},
        np.array([[1, 0, 3], [3, 3, 0]], np.uint8)),
    Old("DequantizeLinear", 10,
        (np.array([3], np.uint8), floats(2).reshape(()), np.array(1, np.uint8)), {}, floats(4)),
    Old("Constant", 1, (), {"value": helper.make_tensor("v", TensorProto.FLOAT, [2], [1.0, 2.0])},
        floats(1, 2)),
]  # fmt: skip


@pytest.mark.parametrize("old", OLD, ids=lambda old: f"{old.op}-{old.opset}")
def test_operators_of_old_opsets(old: Old) -> None:
    expected = old.expected
    if expected.dtype == np.float64 and old.attributes.get("to") != TensorProto.DOUBLE:
        expected = expected.astype(np.float32)
    names = [f"x{i}" for i in range(len(old.inputs))]
    outputs = ["y", "z"] if old.op in ("Split", "TopK") else ["y"]
    node = helper.make_node(old.op, names, outputs, **old.attributes)
    infos = [
        helper.make_tensor_value_info(n, element_type(x), x.shape)
        for n, x in zip(names[:1], old.inputs[:1], strict=True)
    ]
    graph = helper.make_graph(
        [node],
        "old",
        infos,
        [helper.make_tensor_value_info("y", element_type(expected), None)],
        [
            onnx.numpy_helper.from_array(x, n)
            for n, x in zip(names[1:], old.inputs[1:], strict=True)
        ],
    )
    opset = helper.make_opsetid("", old.opset)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=4)
    with wia.onnx.load(model, "reference") as session:
        assert_alike(session.run(list(old.inputs[:1]))["y"], np.asarray(expected))


def _steps(opset: int) -> Any:
    """relu(x w + b), the largest of its rows, as each opset writes it."""
    axes: dict[str, Any] = {"axes": [1]} if opset < 18 else {}
    rows = ["r"] if opset < 18 else ["r", "one"]
    spread: dict[str, Any] = {"broadcast": 1} if opset < 7 else {}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Add", ["p", "b"], ["s"], **spread),
        helper.make_node("Relu", ["s"], ["r"]),
        helper.make_node("ReduceMax", rows, ["y"], keepdims=0, **axes),
    ]
    constants = {"w": _X.T.copy(), "b": floats(1, -30), "one": ints(1)}
    return helper.make_graph(
        nodes,
        "steps",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )


@pytest.mark.parametrize("opset", range(1, onnx.defs.onnx_opset_version() + 1))
def test_every_opset_runs(opset: int) -> None:
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(_steps(opset), opset_imports=opsets, ir_version=4)
    found = wia.onnx.load(model, "reference").run([_X])["y"]
    assert_alike(found, np.maximum(_X @ _X.T + floats(1, -30), 0).max(1))


def test_draws_of_logarithms_of_weights() -> None:
    node = helper.make_node("Multinomial", ["x"], ["y"], sample_size=4000, seed=1.0, dtype=7)
    graph = helper.make_graph(
        [node],
        "draws",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [2, 4000])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    shares = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])
    with np.errstate(divide="ignore"):
        logs = (np.log(shares) + np.array([[100], [-100]])).astype(np.float32)
    found = wia.onnx.load(model, "reference").run([logs])["y"]
    assert found.dtype == np.int64
    counts = np.array([np.bincount(row, minlength=3) for row in found]) / 4000
    np.testing.assert_allclose(counts, shares, atol=0.03)  # four deviations of 4000 draws


def test_an_opset_that_onnx_does_not_know_is_told() -> None:
    newer = onnx.defs.onnx_opset_version() + 1
    model = helper.make_model(
        _steps(21), opset_imports=[helper.make_opsetid("", newer)], ir_version=10
    )
    with pytest.raises(wia.onnx.UnsupportedError, match=rf"is of opset {newer}; onnx .* up to"):
        wia.onnx.load(model, "reference")
