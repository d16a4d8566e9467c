"""Nodes of a model in other domains: operations that a program has registered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import wia
import wia.onnx

Array = np.ndarray[Any, Any]


@wia.op("test::affine", infer=lambda x, shift, *, times: x, scalars=["by"])
def affine(x: Array, shift: Array | None = None, *, times: int = 1, by: float = 1.0) -> Array:
    return np.asarray(times * by * x + (0 if shift is None else shift), x.dtype)


@wia.op(
    "test::halves",
    infer=lambda x: [wia.TensorSpec((x.shape[0] // 2,), x.dtype)] * 2,
    outputs=("low", "high"),
)
def halves(x: Array) -> tuple[Array, Array]:
    middle = x.shape[0] // 2
    return x[:middle], x[middle : 2 * middle]


wia.onnx.register("com.acme", "Affine", affine, attributes={"alpha": "by"})


def model(*nodes: Any, outputs: tuple[str, ...] = ("y",)) -> Any:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [value("x", TensorProto.FLOAT, [4])],
        [value(name, TensorProto.FLOAT, None) for name in outputs],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.acme", 1)]
    opsets.append(helper.make_opsetid("test", 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def node(op: str, inputs: list[str], outputs: list[str], domain: str, **values: Any) -> Any:
    return helper.make_node(op, inputs, outputs, domain=domain, **values)


X = np.array([1, -2, 3, 4], np.float32)


@pytest.mark.parametrize("name", ["reference", "npu"])
def test_by_registration(name: str) -> None:
    chain = model(
        node("Affine", ["x"], ["a"], "com.acme", alpha=0.5, times=4),
        node("Relu", ["a"], ["b"], ""),
        node("Affine", ["b", "x"], ["y"], "com.acme"),
    )
    with wia.onnx.load(chain, device=name) as session:
        expected = np.maximum(2 * X, 0) + X
        assert session.run({"x": X})["y"].tolist() == expected.tolist()
        places = session.placement()
    assert (name == "reference") == (not places.reference)


def test_by_name_and_several_outputs() -> None:
    parts = model(node("halves", ["x"], ["y", "z"], "test"), outputs=("y", "z"))
    one = model(node("halves", ["x"], ["", "y"], "test"))
    with wia.onnx.load(parts, device="reference") as session:
        found = session.run({"x": X})
    assert [found["y"].tolist(), found["z"].tolist()] == [[1, -2], [3, 4]]
    with wia.onnx.load(one, device="reference") as session:
        assert session.run({"x": X})["y"].tolist() == [3, 4]


def test_inspect_counts_them() -> None:
    found = wia.onnx.inspect(model(node("Affine", ["x"], ["y"], "com.acme", alpha=2.0)))
    assert found.missing == ()
    assert found.operations == {"test::affine float32": 1}
    assert found.devices["reference:0"] == 1
    missing = wia.onnx.inspect(model(node("Linear", ["x"], ["y"], "com.acme")))
    assert [name.rpartition("-")[0] for name in missing.missing] == ["com.acme.Linear"]


@pytest.mark.parametrize(
    ("values", "message"),
    [({"gamma": 1.0}, "the attribute gamma"), ({"times": "two"}, "times='two'")],
)
def test_attributes_that_it_has_not(values: dict[str, Any], message: str) -> None:
    with (
        wia.onnx.load(
            model(node("Affine", ["x"], ["y"], "com.acme", **values)), device="reference"
        ) as session,
        pytest.raises(wia.WiaError, match=message),
    ):
        session.run({"x": X})


def test_what_is_refused() -> None:
    with pytest.raises(wia.AlreadyExistsError, match=r"com\.acme\.Affine"):
        wia.onnx.register("com.acme", "Affine", affine)
    with pytest.raises(wia.InvalidArgumentError, match=r"'ai\.onnx'"):
        wia.onnx.register("", "Affine", affine)
    with pytest.raises(wia.InvalidArgumentError, match="other domain"):
        wia.onnx.register("ai.onnx.ml", "Affine", affine)
    with pytest.raises(wia.NotFoundError, match="test::affin"):
        wia.onnx.register("com.acme", "Other", "test::affin")
    with pytest.raises(wia.InvalidArgumentError, match="has gamma; test::affine has times, by"):
        wia.onnx.register("com.acme", "Other", affine, attributes={"alpha": "gamma"})
