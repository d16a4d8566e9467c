"""Nodes that compute from constants alone, and what sessions keep between runs and after them."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper
from test_onnx import model, node

import wia
import wia.onnx


def quantized() -> Any:
    """x times weights of 8 bits, which two nodes make numbers of."""
    weights = np.arange(-6, 6, dtype=np.int8).reshape(3, 4)
    return model(
        [
            node("DequantizeLinear", ["w", "s"], "f", name="wide"),
            node("Transpose", ["f"], "t", name="turn", perm=[1, 0]),
            node("MatMul", ["x", "t"], "y", name="product"),
        ],
        {"x": ["n", 4]},
        ["y"],
        {"w": weights, "s": np.array(0.5, np.float32)},
    )


@pytest.mark.parametrize("name", ["reference:0", "npu:0", "null:0", "emulator:0"])
def test_what_is_made_of_constants_is_made_once(name: str) -> None:
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    expected = x @ (np.arange(-6, 6, dtype=np.float32).reshape(3, 4) / 2).T
    with wia.onnx.load(quantized(), device=name) as session:
        assert np.array_equal(session.run([x])["y"], expected)
        first = session.placement()
        assert len(session._placer.operations) > 1
        for _ in range(2):
            assert np.array_equal(session.run([x])["y"], expected)
            assert session._placer.operations == {"matmul": 1}
        assert session.placement() == first
        assert [record.name for record in session.records()] == ["wide", "turn", "product"]


def test_a_constant_that_an_input_replaces_is_none() -> None:
    m = model(
        [node("Neg", ["b"], "c"), node("Add", ["x", "c"], "y")],
        {"x": [2], "b": [2]},
        ["y"],
        {"b": np.array([1, 2], np.float32)},
    )
    session = wia.onnx.load(m, device="reference")
    assert session.run([[1, 1]])["y"].tolist() == [0, -1]
    assert session.run([[1, 1], [5, 5]])["y"].tolist() == [-4, -4]
    assert session.run([[1, 1]])["y"].tolist() == [0, -1]


@pytest.mark.parametrize("op", ["RandomUniform", "RandomNormal"])
def test_chance_is_no_constant(op: str) -> None:
    session = wia.onnx.load(model([node(op, [], "y", shape=[64])], {}, ["y"]), device="reference")
    assert not np.array_equal(session.run()["y"], session.run()["y"])


def test_what_is_much_larger_than_its_inputs_is_not_kept() -> None:
    """The suite's large models make weights of a number and a shape."""
    m = model(
        [node("ConstantOfShape", ["s"], "f"), node("ReduceMax", ["f"], "y", keepdims=0)],
        {},
        ["y"],
        {"s": np.array([2**20])},
    )
    session = wia.onnx.load(m, device="reference")
    assert session.run()["y"] == 0
    assert session._placer.operations["broadcast"] == 1
    assert session.run()["y"] == 0
    assert session._placer.operations["broadcast"] == 1


def test_large_constant_nodes_are_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.arange(2000, dtype=np.float32)
    tensor = numpy_helper.from_array(weights)
    m = model(
        [node("Constant", [], "w", value=tensor), node("Add", ["x", "w"], "y")],
        {"x": [1]},
        ["y"],
    )
    session = wia.onnx.load(m, device="npu:0")
    put: list[int] = []
    usual = session._placer.put

    def counted(array: Any) -> wia.Tensor:
        put.append(array.size)
        return usual(array)

    monkeypatch.setattr(session._placer, "put", counted)
    for _ in range(3):
        assert np.array_equal(session.run([[1]])["y"], weights + 1)
    assert sorted(put) == [1, 1, 1, 2000]


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("what", ["reference:0", "npu:0", "inspect"])
def test_many_sessions_take_no_more_memory_than_one(what: str) -> None:
    """Each has 4 MB of weights; a copy that stays behind of every one would be 400 MB."""
    weights = np.ones((1024, 1024), np.float32)
    m = model([node("MatMul", ["x", "w"], "y")], {"x": [1, 1024]}, ["y"], {"w": weights})
    data = m.SerializeToString()

    def use() -> None:
        if what == "inspect":
            assert wia.onnx.inspect(data).parameter_size == weights.nbytes
            return
        session = wia.onnx.load(data, device=what)
        assert session.run([np.ones((1, 1024), np.float32)])["y"][0, 0] == 1024

    for _ in range(10):
        use()
    gc.collect()
    before = resident()
    for _ in range(100):
        use()
    gc.collect()
    assert resident() - before < 100 * 2**20
