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
    assert found["outputs"]["y"]["top"] == [[["dog", 3.0], ["fox", 2.0]]]
    assert found["outputs"]["y"]["shape"] == [3]
    assert found["placement"]["device"] == ["y"]
    assert found["device"] == "reference:0"
    assert found["seconds"]["count"] == 1


def test_the_largest_of_each_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model([node("Relu", ["x"], "y")], {"x": ["n", 3]}, ["y"]), path)
    np.save(tmp_path / "x.npy", X)
    call = ["run", str(path), "--input", str(tmp_path / "x.npy"), "--top", "1"]
    assert main([*call, "--device", "reference"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"y\[0\] +3\.0000 2\n\n +y\[1\] +1\.0000 2", text)


@pytest.mark.parametrize("name", ["reference:0", "null:0", "emulator:0"])
def test_a_trace_has_a_range_for_each_node(
    layers: str, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, array = tmp_path / "trace.json", str(tmp_path / "x.npy")
    call = ["run", layers, "--input", array, "--device", name, "--profile", str(trace)]
    assert main([*call, "--repeat", "2"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"KERNEL +DEVICE +LAUNCHES", text)
    assert re.search(r"\nproduct +MatMul-13 +\w+ +[\d.]+ +[\d.]+%", text)
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    ranges = [e for e in events if e.get("cat") == "range"]
    operators = ("MatMul product", "Relu rectifier", "Shape sizes", "Slice rows")
    expected = [*operators, "Concat target", "Reshape reshape"]
    assert [e["name"] for e in ranges] == expected * 2
    kernels = [e for e in events if e.get("cat") == "kernel" and e["name"] == "matmul"]
    products = [e for e in ranges if e["name"] == "MatMul product"]
    assert len(kernels) == 2
    for kernel, around in zip(kernels, products, strict=True):
        assert kernel["args"]["range"] == around["args"]["range"] == 1
        assert around["ts"] <= kernel["ts"] <= kernel["ts"] + kernel["dur"]
        assert kernel["ts"] + kernel["dur"] <= around["ts"] + around["dur"]


def test_a_profile_in_json(layers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, array = tmp_path / "trace.json", str(tmp_path / "x.npy")
    call = ["run", layers, "--input", array, "--device", "null", "--profile", str(trace)]
    assert main([*call, "--json", "--repeat", "3"]) == 0
    found = json.loads(capsys.readouterr().out)["profile"]
    assert found["lost"] == 0
    launches = {(k["name"], k["device"]): k["launches"] for k in found["kernels"]}
    assert launches["matmul", "reference:0"] == launches["relu", "null:0"] == 3
    nodes = {entry["name"]: entry for entry in found["nodes"]}
    assert nodes["product"]["places"] == ["reference"]
    assert 0 < nodes["product"]["kernel_seconds"] <= nodes["product"]["seconds"]
    assert nodes["sizes"]["kernel_seconds"] == 0
    assert sum(entry["share"] for entry in found["nodes"]) == pytest.approx(1)


def test_names_of_nodes_that_are_long_or_odd_are_cut_at_a_letter(tmp_path: Path) -> None:
    nodes = [
        node("Relu", ["x"], "a", name="ö" * 40 + "/1"),
        node("Relu", ["a"], "y", name="ö" * 40 + "/2"),
    ]
    onnx.save(model(nodes, {"x": [1]}, ["y"]), tmp_path / "m.onnx")
    trace = tmp_path / "trace.json"
    call = ["run", str(tmp_path / "m.onnx"), "--input", "1", "--device", "reference"]
    assert main([*call, "--profile", str(trace)]) == 0
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    names = [e["name"] for e in events if e.get("cat") == "range"]
    assert [name[:8] + name[-3:] for name in names] == ["Relu ..öö/1", "Relu ..öö/2"][: len(names)]
    assert len(names) == 2


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "lacks 'x'"),
        (["--input", "z=1"], "the inputs of .* are x"),
        (["--input", "x=none"], "expected a .npy or .npz file, a picture or numbers"),
        (["--input", "1", "--input", "2"], "one more than the model has"),
        (["--input", "x=none.npy"], "none.npy"),
        (["--device", "xpu", "--input", "1"], "xpu"),
        (["--input", "x=1", "--input", "x=2"], "second value for 'x'"),
        (["--input", "broken.npy"], "broken.npy is no array"),
        (["--input", "broken.npz"], "broken.npz is no array"),
        (["--input", "x.png"], "a picture needs 4 dimensions"),
        (["--input", "x.npy", "--save", "none/out.npz"], "none/out.npz"),
        (["--input", "x.npy", "--profile", "none/out.json"], "none/out.json"),
        (["--input", "x.npy", "--labels", "none.txt"], "none.txt"),
        (["--input", "x.npy", "--labels", "broken.npy"], "no text in UTF-8"),
        (["--input", "x.npy", "--device", "null", "--strict"], "strict=True forbids"),
    ],
)
def test_wrong_arguments_are_told(
    layers: str,
    tmp_path: Path,
    arguments: list[str],
    text: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("broken.npy", "broken.npz", "x.png"):
        (tmp_path / name).write_bytes(b"\xff none")
    assert main(["run", layers, *arguments]) == 1
    error = capsys.readouterr().err
    assert re.search(text, error)
    assert error.count("\n") == 1


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


def test_pictures_of_another_size_and_scales_of_channels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    image = pytest.importorskip("PIL.Image")
    image.fromarray(np.full((8, 6, 3), (10, 20, 40), np.uint8)).save("p.png")
    Path("broken.png").write_bytes(b"none")
    onnx.save(model([node("Relu", ["x"], "y")], {"x": [1, 3, "h", "w"]}, ["y"]), "m.onnx")
    call = ["run", "m.onnx", "--device", "reference", "--save", "out.npz", "--input"]
    assert main([*call, "p.png"]) == 0
    assert np.load("out.npz")["y"].shape == (1, 3, 8, 6)
    assert main([*call, "p.png", "--size", "4,2", "--mean", "10", "--scale", "1,2,.5"]) == 0
    expected = np.broadcast_to([[[0]], [[20]], [[15]]], (1, 3, 4, 2))
    assert np.array_equal(np.load("out.npz")["y"], expected)
    capsys.readouterr()
    assert main([*call, "p.png", "--scale", "1,2"]) == 1
    assert "--scale has 2 numbers; expected 1 or one for each of 3" in capsys.readouterr().err
    assert main([*call, "broken.png"]) == 1
    assert "no picture that Pillow knows" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*call, "p.png", "--size", "4"])
    assert "expected HEIGHT,WIDTH" in capsys.readouterr().err


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
    assert [*found["values"]] == ["p", "r", "s", "rows", "t", "y"]
    assert found["values"]["y"] == "float32[1000000, 1, 2]"
    assert main(["inspect", layers]) == 0
    text = capsys.readouterr().out
    assert re.search(r"reference:0 +2 of 2 calls", text)
    assert "VALUE" not in text
    assert main(["inspect", layers, "--values", "--shape", "x=5,3"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"VALUE +IS +FOR ANY SIZES\np +float32\[5, 2\] +float32\[n, 2\]\n", text)


def test_inspect_takes_sizes_by_the_names_of_the_model(
    layers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", layers, "--json", "--size", "n=1000"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["shapes"], found["sizes"]) == ({"x": [1000, 3]}, {"n": 1000})
    assert found["flops"] == 2 * 2 * 3 * 1e3 + 2e3
    assert main(["inspect", layers]) == 0
    assert re.search(r"sizes +n = 1\n", capsys.readouterr().out)
    assert main(["inspect", layers, "--size", "m=2"]) == 1
    assert "The sizes m=2 were given; the names of" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["inspect", layers, "--size", "n"])
    assert "expected NAME=N as batch=8" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--save", "--profile"])
def test_what_cannot_be_written_is_told_before_the_run(
    layers: str,
    tmp_path: Path,
    option: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("wia.onnx.load", None)
    for path in (tmp_path / "none" / "out", tmp_path):
        assert main(["run", layers, "--input", str(tmp_path / "x.npy"), option, str(path)]) == 1
        assert str(path) in capsys.readouterr().err
    assert {path.name for path in tmp_path.glob("*")} == {"layers.onnx", "x.npy"}


def test_inspect_says_where_it_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    m = model([node("Expand", ["x", "x"], "y", name="e")], {"x": [1]}, ["y"])
    m.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    m.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    onnx.save(m, tmp_path / "m.onnx")
    assert main(["inspect", str(tmp_path / "m.onnx"), "--json"]) == 0
    stopped = json.loads(capsys.readouterr().out)["stopped"]
    assert stopped.startswith("node 'e' (Expand-13)")
    assert "depends on values" in stopped


def test_inspect_comes_to_an_end_where_a_run_would_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wia.onnx._inspect._MOST_NODES", 300)  # else 100,000
    body = [node("Identity", ["x"], "go"), node("Neg", ["v"], "w")]
    kinds = {"i": TensorProto.INT64, "x": TensorProto.BOOL, "v": TensorProto.FLOAT}
    ins = [onnx.helper.make_tensor_value_info(n, kind, []) for n, kind in kinds.items()]
    outs = [onnx.helper.make_empty_tensor_value_info(name) for name in ("go", "w")]
    graph = onnx.helper.make_graph(body, "body", ins, outs)
    loop = node("Loop", ["limit", "", "x"], "y", body=graph)
    onnx.save(model([loop], {"x": []}, ["y"], {"limit": np.array(2**60)}), tmp_path / "m.onnx")
    assert main(["inspect", str(tmp_path / "m.onnx"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "more than 300 nodes would run" in found["stopped"]
    assert 100 < found["operations"]["neg float32"] < 300
