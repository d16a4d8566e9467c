"""Sessions of wia.onnx: inputs, outputs, placement, errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import wia
import wia.onnx

FLOAT = TensorProto.FLOAT


def model(
    nodes: Sequence[Any],
    inputs: dict[str, Sequence[Any] | None],
    outputs: Sequence[str],
    constants: dict[str, Any] | None = None,
    *,
    opset: int = 21,
    elem_type: int = FLOAT,
) -> Any:
    """A model of nodes; outputs are declared without a shape."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(n, elem_type, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, elem_type, None) for n in outputs],
        [onnx.numpy_helper.from_array(np.asarray(v), n) for n, v in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def node(op: str, inputs: Sequence[str], *outputs: str, **attributes: Any) -> Any:
    return helper.make_node(op, list(inputs), list(outputs), **attributes)


def two_layers() -> Any:
    """relu(x w) b, in which b broadcasts, and a reshape by the sizes of x."""
    return model(
        [
            node("MatMul", ["x", "w"], "p", name="product"),
            node("Relu", ["p"], "r", name="rectifier"),
            node("Shape", ["x"], "s", name="sizes"),
            node("Slice", ["s", "zero", "one"], "rows", name="rows"),
            node("Concat", ["rows", "rest"], "t", name="target", axis=0),
            node("Reshape", ["r", "t"], "y", name="reshape"),
        ],
        {"x": ["n", 3]},
        ["y"],
        {
            "w": np.arange(6, dtype=np.float32).reshape(3, 2) - 2,
            "zero": np.array([0]),
            "one": np.array([1]),
            "rest": np.array([1, -1]),
        },
    )


X = np.array([[1, 2, 3], [-1, 0, 1]], np.float32)
Y = np.maximum(X @ (np.arange(6, dtype=np.float32).reshape(3, 2) - 2), 0).reshape(2, 1, 2)


@pytest.mark.parametrize("name", ["reference:0", "npu:0", "null:0", "emulator:0"])
def test_a_model_runs_on_any_device(name: str) -> None:
    with wia.onnx.load(two_layers(), device=name) as session:
        assert np.array_equal(session.run({"x": X})["y"], Y)
        assert np.array_equal(session.run([X])["y"], Y)  # by order, and again


def test_a_model_has_names_dtypes_and_shapes(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(two_layers(), path)
    session = wia.onnx.load(path, device="reference")
    assert session.inputs == (("x", "float32", ("n", 3)),)
    assert session.outputs == (("y", "float32", None),)
    assert session.device.name == "reference:0"
    assert str(path) in repr(session)
    session.close()
    assert "closed" in repr(session)
    with pytest.raises(wia.FailedPreconditionError, match="closed"):
        session.run({"x": X})


def test_bytes_are_a_model_too() -> None:
    session = wia.onnx.load(two_layers().SerializeToString(), device="reference")
    assert np.array_equal(session.run({"x": X})["y"], Y)


def test_tensors_stay_on_the_device() -> None:
    session = wia.onnx.load(two_layers(), device="npu:0")
    x = session.context.tensor(X)
    y = session.run({"x": x}, keep=True)["y"]
    assert isinstance(y, wia.Tensor)
    assert y.device.name == "npu:0"
    assert np.array_equal(y.numpy(), Y)


@pytest.mark.parametrize(("name", "moves"), [("npu:0", 0), ("null:0", 3)])
def test_values_between_nodes_move_only_to_the_reference_driver(
    name: str, moves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """null has Relu alone: both operands of the product go, and what it gives comes back."""
    m = model(
        [
            node("MatMul", ["x", "x"], "p"),
            node("Relu", ["p"], "r"),
            node("Relu", ["r"], "y"),
        ],
        {"x": [2, 2]},
        ["y"],
    )
    moved: list[str] = []
    to, numpy = wia.Tensor.to, wia.Tensor.numpy

    def counted(tensor: wia.Tensor, context: wia.Context) -> wia.Tensor:
        if tensor.context is not context:
            moved.append("to")
        return to(tensor, context)

    def read(tensor: wia.Tensor) -> Any:
        moved.append("numpy")
        return numpy(tensor)

    with wia.onnx.load(m, device=name) as session:
        x = session.context.tensor(np.array([[1, 2], [3, -4]], np.float32))
        monkeypatch.setattr(wia.Tensor, "to", counted)
        monkeypatch.setattr(wia.Tensor, "numpy", read)
        y = session.run({"x": x}, keep=True)["y"]
        assert moved == ["to"] * moves
        monkeypatch.undo()
        assert y.device.name == name
        assert y.numpy().tolist() == [[7, 0], [0, 22]]


def test_placement_says_where_nodes_ran() -> None:
    session = wia.onnx.load(two_layers(), device="null:0")
    with pytest.raises(wia.FailedPreconditionError, match="has not run yet"):
        session.placement()
    session.run({"x": X})
    placement = session.placement()
    assert placement.device == ("rectifier",)  # the one operation that null has
    assert placement.reference == ("product",)
    assert placement.shapes == ("rows", "target")
    assert placement.host == ("sizes", "reshape")
    assert placement.operations == {"device": 1, "reference": 1, "shapes": 2}


def test_a_driver_that_has_the_operations_runs_them() -> None:
    session = wia.onnx.load(two_layers(), device="npu:0", strict=True)
    session.run({"x": X})
    assert session.placement().device == ("product", "rectifier")
    assert session.placement().reference == ()


def test_strict_refuses_the_reference_driver() -> None:
    session = wia.onnx.load(two_layers(), device="null:0", strict=True)
    with pytest.raises(wia.onnx.UnsupportedError, match=r"'product' \(MatMul-13\).*strict=True"):
        session.run({"x": X})


def test_constants_move_to_the_device_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also small integers, which live on the reference driver until the device needs them."""
    picks = model(
        [node("Gather", ["x", "rows"], "y")], {"x": [3]}, ["y"], {"rows": np.array([2, 0])}
    )
    moved: list[object] = []
    to = wia.Tensor.to
    session = wia.onnx.load(picks, device="emulator:0")

    def counted(tensor: wia.Tensor, context: wia.Context) -> wia.Tensor:
        moved.append(tensor)
        return to(tensor, context)

    monkeypatch.setattr(wia.Tensor, "to", counted)
    for _ in range(3):
        assert session.run([np.array([1, 2, 3], np.float32)])["y"].tolist() == [3, 1]
    assert len(moved) == 1


def test_an_input_with_a_constant_may_be_left_out() -> None:
    m = model(
        [node("Add", ["x", "b"], "y")],
        {"x": [2], "b": [2]},
        ["y"],
        {"b": np.array([1, 2], np.float32)},
    )
    session = wia.onnx.load(m, device="reference")
    assert [info.name for info in session.inputs] == ["x"]
    assert session.run({"x": np.array([1, 1], np.float32)})["y"].tolist() == [2, 3]
    assert session.run({"x": [1, 1], "b": [5, 5]})["y"].tolist() == [6, 6]
    assert session.run({"x": [1, 1]})["y"].tolist() == [2, 3]


def test_outputs_can_be_chosen() -> None:
    m = model([node("Relu", ["x"], "y"), node("Neg", ["x"], "z")], {"x": [1]}, ["y", "z"])
    session = wia.onnx.load(m, device="reference")
    assert list(session.run({"x": [1]}, ["z"])) == ["z"]
    with pytest.raises(wia.InvalidArgumentError, match=r"\['q'\] were asked for; graph has y, z"):
        session.run({"x": [1]}, ["q"])


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({}, r"lacks 'x'; its inputs are x: float32\[n, 3\]"),
        ({"x": X, "q": X}, r"was given what it doesn't have: 'q'"),
        ([X, X], "2 inputs were given; graph has 1"),
        ({"x": X.astype(np.float64)}, r"given as float64\[2, 3\]; expected x: float32\[n, 3\]"),
        ({"x": [[1, 2], [3]]}, r"'x' can't be made of .*; expected x: float32\[n, 3\]"),
        ({"x": np.zeros((1, 3), "M8[s]")}, r"Input 'x': The dtype 'datetime64\[s\]' was given"),
        ({"x": np.array(["a"])}, r"given as string\[1\]; expected x: float32\[n, 3\]"),
        ({"x": X[:, :2]}, r"node 'product' \(MatMul-13\) with inputs \(float32\[2, 2\], float32"),
    ],
)
def test_wrong_inputs_are_told(inputs: Any, text: str) -> None:
    session = wia.onnx.load(two_layers(), device="reference")
    with pytest.raises(wia.InvalidArgumentError, match=text):
        session.run(inputs)


def test_an_unknown_operator_is_told() -> None:
    m = model(
        [helper.make_node("Fancy", ["x"], ["y"], name="f", domain="org.x")], {"x": [1]}, ["y"]
    )
    m.opset_import.append(helper.make_opsetid("org.x", 3))
    session = wia.onnx.load(m, device="reference")
    with pytest.raises(
        wia.onnx.UnsupportedError,
        match=r"node 'f' \(org.x.Fancy-3\) with inputs \(float32\[1\]\): WIA has no lowering",
    ):
        session.run({"x": [1]})


def test_an_operator_of_onnxruntime_is_told() -> None:
    m = model(
        [helper.make_node("FusedGelu", ["x"], ["y"], name="f", domain="com.microsoft")],
        {"x": [1]},
        ["y"],
    )
    m.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    assert wia.onnx.inspect(m).missing == ("com.microsoft.FusedGelu-1",)
    with pytest.raises(wia.onnx.UnsupportedError, match=r"Gelu-1\).*take the model as it was expo"):
        wia.onnx.load(m, device="reference").run({"x": [1]})


def test_an_operation_without_the_dtype_is_told() -> None:
    m = model([node("Relu", ["x"], "y", name="r")], {"x": [1]}, ["y"], elem_type=TensorProto.BOOL)
    session = wia.onnx.load(m, device="reference")
    with pytest.raises(wia.WiaError, match=r"'r' \(Relu-14\).*bool.*it has float64, float32"):
        session.run({"x": [True]})


def test_empty_rank_0_strided_and_special_values() -> None:
    m = model([node("Add", ["x", "x"], "y")], {"x": None}, ["y"])
    session = wia.onnx.load(m, device="reference")
    for array in (
        np.zeros((0, 3), np.float32),
        np.array(2, np.float32),
        np.arange(12, dtype=np.float32).reshape(3, 4)[::2, ::-1],
        np.array([np.nan, np.inf, -np.inf], np.float32),
        np.arange(3, dtype=">f4"),
    ):
        assert np.array_equal(session.run([array])["y"], array + array, equal_nan=True)


def test_the_newest_opset_of_onnx_is_read() -> None:
    newest = onnx.defs.onnx_opset_version()
    m = model([node("Relu", ["x"], "y")], {"x": [1]}, ["y"], opset=newest)
    assert wia.onnx.load(m, device="reference").run([[-1.0]])["y"].tolist() == [0]


@pytest.mark.parametrize("name", ["strides", "dilations"])
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "Conv", "ConvTranspose"])
def test_windows_that_do_not_move_are_told(op: str, name: str) -> None:
    """Guard: the least size in read_sizes."""
    more = {} if op.startswith("Conv") else {"kernel_shape": [2, 2]}
    inputs: dict[str, Any] = {"x": [1, 1, 4, 4]}
    if not more:
        inputs["w"] = [1, 1, 2, 2]
    for pad in ("SAME_UPPER", "NOTSET"):
        made = node(op, [*inputs], "y", auto_pad=pad, **more, **{name: [0, 1]})
        session = wia.onnx.load(model([made], inputs, ["y"]), "reference")
        values = {key: np.ones(shape, np.float32) for key, shape in inputs.items()}
        with pytest.raises(
            wia.InvalidArgumentError, match=rf"{name} is \[0, 1\]; expected 1 or more"
        ):
            session.run(values)
