"""Files that are damaged, hostile, or only odd."""

from __future__ import annotations

import random
import signal
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_fuzz
import pytest
from onnx import TensorProto, helper
from test_onnx import X, Y, model, node, two_layers

import wia
import wia.onnx

ROUNDS = 400


def with_external(folder: Path, location: str, **entries: str) -> Path:
    """A model whose weight is said to be in another file."""
    m = two_layers()
    weight = m.graph.initializer[0]
    (folder / "w.bin").write_bytes(weight.raw_data)
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        weight.external_data.add(key=key, value=value)
    path = folder / "m.onnx"
    path.write_bytes(m.SerializeToString())
    return path


def test_weights_beside_the_model_are_read(tmp_path: Path) -> None:
    path = with_external(tmp_path, "w.bin", offset="0", length="24")
    assert np.array_equal(wia.onnx.load(path, device="reference").run([X])["y"], Y)
    with pytest.raises(wia.onnx.ModelError, match="give the path of the model"):
        wia.onnx.load(path.read_bytes(), device="reference")


@pytest.mark.parametrize("location", ["../w.bin", "/etc/passwd", "", "inner/../../w.bin", "link"])
def test_weights_outside_of_the_folder_are_refused(tmp_path: Path, location: str) -> None:
    inner = tmp_path / "model"
    (inner / "inner").mkdir(parents=True)
    (tmp_path / "w.bin").write_bytes(bytes(24))
    (inner / "link").symlink_to(tmp_path / "w.bin")
    path = with_external(inner, location)
    with pytest.raises(wia.onnx.ModelError, match=r"'w' is in .*outside of the model's folder"):
        wia.onnx.load(path, device="reference")


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ({"location": "no.bin"}, "a file that isn't there"),
        ({"location": "w\0.bin"}, "no name of a file"),
        (
            {"location": "w.bin", "offset": "20", "length": "24"},
            "20 to 44 of 'w.bin', which has 24",
        ),
        ({"location": "w.bin", "offset": "-1"}, "is said to be at -1"),
        ({"location": "w.bin", "offset": "x"}, "is no number"),
        ({"location": "w.bin", "length": "8"}, "'w' of the shape .* can't be read"),
    ],
)
def test_wrong_places_of_weights_are_told(
    tmp_path: Path, entries: dict[str, str], text: str
) -> None:
    location = entries.pop("location")
    with pytest.raises(wia.onnx.ModelError, match=text):
        wia.onnx.load(with_external(tmp_path, location, **entries), device="reference")


def test_what_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(wia.NotFoundError, match=r"no file .*none\.onnx"):
        wia.onnx.load(tmp_path / "none.onnx")
    with pytest.raises(wia.onnx.ModelError, match="can't be read: Is a directory"):
        wia.onnx.load(tmp_path)
    with pytest.raises(wia.onnx.ModelError, match="no graph"):
        wia.onnx.load(b"")
    with pytest.raises(wia.onnx.ModelError, match="is no ONNX model"):
        wia.onnx.load(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(wia.InvalidArgumentError, match="empty path"):
        wia.onnx.load("")


def test_a_file_that_is_cut_is_told(tmp_path: Path) -> None:
    data = two_layers().SerializeToString()
    for length in range(1, len(data), 7):
        with pytest.raises(wia.onnx.ModelError):
            wia.onnx.load(data[:length], device="reference")


@pytest.mark.parametrize("dims", [[2**31, 2**31], [2**62], [-3], [3, 2**20]])
def test_weights_that_are_too_large_are_refused(dims: list[int]) -> None:
    m = two_layers()
    m.graph.initializer[0].dims[:] = dims
    with pytest.raises(wia.onnx.ModelError):
        wia.onnx.load(m, device="reference")


@pytest.mark.parametrize("sizes", [[2**40], [2**31, 2**31], [-2], [2**62, 4]])
def test_shapes_that_are_too_large_take_no_memory(sizes: list[int]) -> None:
    m = model([node("ConstantOfShape", ["s"], "y")], {}, ["y"], {"s": np.array(sizes)})
    with pytest.raises(wia.WiaError, match=r"ConstantOfShape-\d+"):
        wia.onnx.load(m, device="reference").run()


@pytest.mark.parametrize("given", [[], [1, 2]])
@pytest.mark.parametrize(
    ("op", "names"),
    [
        ("STFT", ["x", "n", "", "frame_length"]),
        ("STFT", ["x", "frame_step", "", "n"]),
        ("DFT", ["x", "n"]),
        ("CumSum", ["v", "n"]),
        ("Trilu", ["m", "n"]),
    ],
)
def test_lists_where_an_integer_belongs(op: str, names: list[str], given: list[int]) -> None:
    """Guard: Call.integer; without it an empty list is an IndexError, or taken for the default."""
    values: dict[str, Any] = {"n": np.array(given, np.int64)}
    values |= {"frame_length": np.array(4), "frame_step": np.array(2)}
    values |= {"x": np.ones((1, 9, 1), np.float32), "m": np.ones((2, 2), np.float32)}
    values["v"] = values["m"]
    m = model([node(op, names, "y")], {}, ["y"], {n: values[n] for n in names if n})
    with pytest.raises(wia.onnx.ModelError, match="expected one integer"):
        wia.onnx.load(m, device="reference").run()


def test_a_loop_whose_condition_is_empty() -> None:
    """Guard: the size in Call.number; without it an IndexError."""
    graph = helper.make_graph(
        [node("Less", ["c", "c"], "again"), node("Identity", ["c"], "d")],
        "body",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("going", TensorProto.BOOL, []),
            helper.make_empty_tensor_value_info("c"),
        ],
        [helper.make_empty_tensor_value_info(name) for name in ("again", "d")],
    )
    loop = node("Loop", ["", "", "x"], "y", body=graph)
    m = model([loop], {"x": [None]}, ["y"])
    with (
        wia.onnx.load(m, device="reference") as session,
        pytest.raises(wia.onnx.ModelError, match="0 elements; expected one"),
    ):
        session.run([np.empty(0, np.float32)])


def test_scan_with_lengths_of_other_batches() -> None:
    """Guard: the count of sequence_lens in flow.py; without it an IndexError."""
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [node("Add", ["s", "i"], "t"), node("Identity", ["t"], "o")],
        "body",
        [info(name, TensorProto.FLOAT, [1]) for name in "si"],
        [info(name, TensorProto.FLOAT, [1]) for name in "to"],
    )
    scan = node("Scan", ["n", "s0", "x"], "t0", "y", body=body, num_scan_inputs=1)
    constants = {"n": np.array([2]), "s0": np.zeros((2, 1), np.float32)}
    m = model([scan], {"x": [2, 3, 1]}, ["y"], constants, opset=8)
    with pytest.raises(wia.onnx.ModelError, match="1 sequence_lens are given for 2 batches"):
        wia.onnx.load(m, device="reference").run([np.ones((2, 3, 1), np.float32)])


def test_functions_that_call_themselves_are_refused() -> None:
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("f", 1)]
    call = helper.make_node("F", ["x"], ["y"], domain="f")
    m = model([call], {"x": [1]}, ["y"])
    m.opset_import.append(opsets[1])
    m.functions.append(helper.make_function("f", "F", ["x"], ["y"], [call], opsets))
    with pytest.raises(wia.onnx.ModelError, match=r"nested|recurs"):
        wia.onnx.load(m, device="reference").run([[1.0]])


def _endless(body: list[Any], carried: Any, scanned: str = "") -> Any:
    """A loop of 2^60 turns, whose body makes c' of c, and maybe gives a value for each turn."""
    names = ["again", "d", *([scanned] if scanned else [])]
    kinds = [TensorProto.BOOL, None, TensorProto.INT64]
    graph = helper.make_graph(
        [node("Identity", ["going"], "again"), *body],
        "body",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("going", TensorProto.BOOL, []),
            helper.make_empty_tensor_value_info("c"),
        ],
        [
            helper.make_empty_tensor_value_info(n)
            if kind is None
            else helper.make_tensor_value_info(n, kind, [])
            for n, kind in zip(names, kinds, strict=False)
        ],
    )
    made = ["y", *(["z"] if scanned else [])]
    start = [node("Identity", [carried], "s")] if isinstance(carried, str) else [carried]
    loop = node("Loop", ["limit", "", "s"], *made, body=graph)
    return model(
        [*start, loop], {}, made[-1:], {"limit": np.array(2**60)}, elem_type=TensorProto.INT64
    )


_TEXT = onnx.helper.make_tensor("t", TensorProto.STRING, [1], np.array(["ab"]))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: _endless(
                [node("Identity", ["c"], "d")], node("Constant", [], "s", value_int=0), "turn"
            ),
            r"has kept \d+ bytes of outputs after \d+ turns",
        ),
        (
            lambda: _endless(
                [node("SequenceInsert", ["c", "turn"], "d")],
                node("SequenceEmpty", [], "s", dtype=TensorProto.INT64),
            ),
            "the sequence has 300 elements",
        ),
        (
            lambda: _endless(
                [node("StringConcat", ["c", "c"], "d")], node("Constant", [], "s", value=_TEXT)
            ),
            "elements or letters were asked for",
        ),
        (
            lambda: _endless(
                [node("Concat", ["c", "c"], "d", axis=0)],
                node("Constant", [], "s", value_ints=[1] * 8),
            ),
            r"Concat-13.*the memory of",
        ),
        (
            lambda: model([node("Split", ["x"], "y", num_outputs=2**31)], {"x": [1]}, ["y"]),
            "num_outputs is 2147483648; the node has 1 outputs",
        ),
        (
            lambda: model([node("SplitToSequence", ["x"], "y")], {"x": [1]}, ["y"]),
            "301 pieces were asked for",
        ),
    ],
    ids=["outputs", "sequence", "letters", "elements", "split", "pieces"],
)
def test_models_that_ask_for_ever_more_are_stopped(
    make: Any, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounds are lower here, so that they are soon met; a sequence's is else 2^24."""
    monkeypatch.setattr("wia.onnx._lower.flow._MOST_ITEMS", 300)
    monkeypatch.setattr("wia.onnx._lower.texts._MOST_TEXT", 2**16)
    m = make()
    m.graph.output[0].type.tensor_type.ClearField("shape")
    with wia.onnx.load(m, device="reference") as session:
        session._placer.memory = 2**20
        with pytest.raises(wia.WiaError, match=text):
            session.run([np.zeros(301, np.float32)] if session.inputs else [])


def test_onnx_infers_no_outputs_that_a_node_does_not_have() -> None:
    """It would take memory for each of them."""
    m = model([node("Split", ["x"], "y", num_outputs=2**40)], {"x": [1]}, ["y"])
    found = wia.onnx.inspect(m)
    assert "num_outputs is 1099511627776" in found.stopped
    assert found.outputs == (("y", "float32", None),)


def test_a_loop_without_an_end_ends_with_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    m = _endless([node("Identity", ["c"], "d")], node("Constant", [], "s", value_int=0))
    session = wia.onnx.load(m, device="reference")
    turns = []

    def interrupt(proto: Any) -> Any:
        turns.append(proto)
        if len(turns) == 100:
            signal.raise_signal(signal.SIGINT)
        return usual(proto)

    usual = session._runtime.placer.put
    monkeypatch.setattr(session._runtime.placer, "put", interrupt)
    with pytest.raises(KeyboardInterrupt):
        session.run()
    assert len(turns) == 100
    session.close()


def test_a_fuzzer_gets_clear_errors() -> None:
    """Bytes of a file changed by chance: it runs, or the error is one of WIA's."""
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    data = two_layers().SerializeToString()
    errors = 0
    for _ in range(ROUNDS):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        try:
            with wia.onnx.load(bytes(changed), device="reference") as session:
                session.run([X])
        except wia.WiaError:
            errors += 1
    assert 0 < errors <= ROUNDS


def test_changed_models_get_clear_errors() -> None:
    """Attributes, shapes and dtypes changed by chance; `python onnx_fuzz.py` goes on for longer."""
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    ran, refused, faults = onnx_fuzz.fuzz(seed, 3)
    assert faults == {}
    assert ran
    assert refused


def test_models_of_the_suite_are_inspected() -> None:
    """Whatever they call: what follows from values ends it, and nothing raises."""
    stops = [wia.onnx.inspect(m, _shapes(given)).stopped for _, m, given in onnx_fuzz.cases()[::5]]
    assert sum(not stop for stop in stops) > 0.75 * len(stops)
    named = [stop for stop in stops if stop and not stop.startswith(("node ", "input "))]
    assert named == []


def _shapes(inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: value.shape for name, value in inputs.items()}


def test_a_fault_of_wia_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """It isn't told as if the model were wrong."""

    def broken(call: Any) -> Any:
        raise KeyError("none")

    monkeypatch.setattr("wia.onnx._run.find_lowering", lambda node: broken)
    with pytest.raises(KeyError, match="none") as caught:
        wia.onnx.load(two_layers(), device="reference").run([X])
    assert caught.traceback[-1].name == "broken"
    assert caught.value.__notes__ == ["in node 'product' (MatMul-13) of the model"]


# -- files in the wild ----------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, -1, "batch", None])
def test_sizes_that_say_nothing(size: Any) -> None:
    m = two_layers()
    dim = m.graph.input[0].type.tensor_type.shape.dim[0]
    dim.Clear()
    m.graph.ClearField("value_info")
    if isinstance(size, str):
        dim.dim_param = size
    elif size is not None:
        dim.dim_value = size
    session = wia.onnx.load(m, device="reference")
    assert session.inputs[0].shape == ("batch" if size == "batch" else "?", 3)
    assert np.array_equal(session.run([X])["y"], Y)


def test_wrong_declared_ranks_do_not_matter() -> None:
    m = two_layers()
    m.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, 3, 4]))
    m.graph.value_info.append(helper.make_tensor_value_info("p", TensorProto.FLOAT, [7]))
    assert np.array_equal(wia.onnx.load(m, device="reference").run([X])["y"], Y)


def test_weights_as_constant_nodes_and_odd_names() -> None:
    weight = onnx.numpy_helper.from_array(np.array([[1], [2], [3]], np.float32))
    m = model(
        [node("Constant", [], "w/ß:0", value=weight), node("MatMul", ["in put", "w/ß:0"], "1")],
        {"in put": [2, 3]},
        ["1"],
    )
    assert wia.onnx.load(m, device="reference").run([X])["1"].tolist() == [[14], [2]]


@pytest.mark.parametrize("version", [*range(4, onnx.IR_VERSION + 1)])
def test_versions_of_the_format_and_unused_domains(version: int) -> None:
    m = two_layers()
    m.opset_import.append(helper.make_opsetid("com.example.unused", 1))
    m.ir_version = version
    assert np.array_equal(wia.onnx.load(m, device="reference").run([X])["y"], Y)
