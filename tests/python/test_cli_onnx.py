"""The commands `wia run` and `wia inspect`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from test_onnx import X, Y, model, node, two_layers

from wia._cli import main


@pytest.fixture
def layers(tmp_path: Path) -> str:
    path = tmp_path / "layers.onnx"
    onnx.save(two_layers(), path)
    np.save(tmp_path / "x.npy", X)
    return str(path)


def test_run_tells_outputs_and_placement(
    layers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved, array = str(tmp_path / "out.npz"), str(tmp_path / "x.npy")
    options = ["--device", "null", "--save", saved, "--repeat", "3"]
    assert main(["run", layers, "--input", f"x={array}", *options]) == 0
    text = capsys.readouterr().out
    assert re.search(r"y +float32\[2, 1, 2\] +4 to 10", text)
    assert "1 device, 1 reference, 2 shapes, 2 host" in text
    assert "median" in text
    assert np.array_equal(np.load(saved)["y"], Y)


def test_run_json_and_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, labels = tmp_path / "m.onnx", tmp_path / "labels.txt"
    onnx.save(model([node("Relu", ["x"], "y")], {"x": [3]}, ["y"]), path)
    labels.write_text("cat\ndog\nfox\n")
    call = ["run", str(path), "--input", "1,3,2", "--device", "reference"]
    assert main([*call, "--json", "--labels", str(labels), "--top", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["outputs"]["y"]["values"] == [["dog", 3.0], ["fox", 2.0]]
    assert found["outputs"]["y"]["shape"] == [3]
    assert found["placement"]["device"] == ["y"]
    assert found["device"] == "reference:0"
    assert found["seconds"]["count"] == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "lacks 'x'"),
        (["--input", "z=1"], "the inputs of .* are x"),
        (["--input", "x=none"], "expected a .npy or .npz file, a picture or numbers"),
        (["--input", "1", "--input", "2"], "one more than the model has"),
        (["--input", "x=none.npy"], "none.npy"),
        (["--device", "xpu", "--input", "1"], "xpu"),
    ],
)
def test_wrong_arguments_are_told(
    layers: str, arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", layers, *arguments]) == 1
    assert re.search(text, capsys.readouterr().err)


@pytest.mark.parametrize("first", [True, False], ids=["channels first", "channels last"])
def test_pictures_are_scaled_and_turned(tmp_path: Path, first: bool) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.full((8, 6, 3), (10, 20, 40), np.uint8)
    image.fromarray(pixels).save(tmp_path / "p.png")
    shape = [1, 3, 4, 2] if first else [1, 4, 2, 3]
    onnx.save(model([node("Relu", ["x"], "y")], {"x": shape}, ["y"]), tmp_path / "m.onnx")
    options = ["--input", str(tmp_path / "p.png"), "--bgr", "--mean", "0,10,0", "--scale", "2"]
    saved = str(tmp_path / "out.npz")
    call = ["run", str(tmp_path / "m.onnx"), *options, "--save", saved, "--device", "reference"]
    assert main(call) == 0
    y = np.load(saved)["y"]
    assert y.shape == tuple(shape)
    channels = y if first else y.transpose(0, 3, 1, 2)
    assert np.array_equal(channels, np.broadcast_to([[[80]], [[20]], [[20]]], (1, 3, 4, 2)))


def test_inspect_counts_without_computing(layers: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", layers, "--json", "--shape", "x=1000000,3"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["shapes"] == {"x": [1000000, 3]}
    assert found["operators"]["MatMul"] == 1
    assert found["nodes"] == 6
    assert found["operations"] == {"matmul float32": 1, "relu float32": 1}
    assert found["flops"] == 2 * 2 * 3 * 1e6 + 2e6
    assert found["peak_size"] == 2 * 2 * 4 * 1e6
    assert (found["parameters"], found["parameter_size"]) == (6 + 4, 24 + 32)
    assert found["devices"]["reference:0"] == 2
    assert found["devices"]["null:0"] == 1
    assert found["missing"] == []
    assert found["stopped"] == ""
    assert main(["inspect", layers]) == 0
    assert re.search(r"reference:0 +2 of 2 calls", capsys.readouterr().out)


def test_inspect_says_where_it_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    m = model([node("Expand", ["x", "x"], "y", name="e")], {"x": [1]}, ["y"])
    m.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    m.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    onnx.save(m, tmp_path / "m.onnx")
    assert main(["inspect", str(tmp_path / "m.onnx"), "--json"]) == 0
    stopped = json.loads(capsys.readouterr().out)["stopped"]
    assert stopped.startswith("node 'e' (Expand-13)")
    assert "depends on values" in stopped
