"""Pictures and numbers as inputs of `wia run`: channels, bits, and what doesn't fit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from test_onnx import model, node

from wia._cli import main

image: Any = pytest.importorskip("PIL.Image")
RED = (200, 20, 40, 128)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(shape: list[Any], *options: str, kind: int = TensorProto.FLOAT) -> int:
    """Runs a model that gives its input, and saves the output to out.npz."""
    onnx.save(model([node("Identity", ["x"], "y")], {"x": shape}, ["y"], elem_type=kind), "m.onnx")
    return main(["run", "m.onnx", "--device", "reference", "--save", "out.npz", *options])


def output() -> Any:
    return np.load("out.npz")["y"]


@pytest.mark.parametrize(
    ("channels", "options", "expected"),
    [
        (1, [], [(200 * 299 + 20 * 587 + 40 * 114) // 1000]),
        (3, [], [200, 20, 40]),
        (3, ["--bgr"], [40, 20, 200]),
        (4, [], [200, 20, 40, 128]),
        (4, ["--bgr"], [40, 20, 200, 128]),
        ("c", [], [200, 20, 40]),
    ],
)
def test_a_picture_has_the_channels_of_the_input(
    channels: Any, options: list[str], expected: list[int]
) -> None:
    """Grey by the weights of ITU-R BT.601."""
    image.fromarray(np.full((2, 5, 4), RED, np.uint8)).save("p.png")
    assert run([1, channels, 2, 5], "--input", "p.png", *options) == 0
    assert np.allclose(output()[0, :, 1, 1], expected, atol=1)


def test_a_picture_of_16_bits_is_not_cut_at_255() -> None:
    image.fromarray(np.full((2, 3), 0x8040, np.uint16)).save("p.png")
    assert run([1, 3, 2, 3], "--input", "p.png") == 0
    assert np.array_equal(output(), np.full((1, 3, 2, 3), 0x80))


def test_pixels_of_integers_are_rounded_and_never_wrap(capsys: pytest.CaptureFixture[str]) -> None:
    image.fromarray(np.full((2, 5, 4), RED, np.uint8)).save("p.png")
    call = ["--input", "p.png"]
    assert run([1, 3, 2, 5], *call, "--mean", "127.6", kind=TensorProto.INT8) == 0
    assert output()[0, :, 0, 0].tolist() == [72, -108, -88]
    assert run([1, 3, 2, 5], *call, kind=TensorProto.INT8) == 1
    assert "from 20 to 200; expected those that int8 has" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cut.png", "cut.png can't be read: .*truncated"),
        ("large.png", r"large.png can't be read: Image size \(400000000 pixels\) exceeds"),
        ("wide.tif", "wide.tif has pixels of 32 bits"),
        ("none.png", "none.png"),
        ("folder.png", "folder.png"),
    ],
)
def test_pictures_that_cannot_be_taken(
    name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8)
    image.fromarray(noise).save("cut.png")
    Path("cut.png").write_bytes(Path("cut.png").read_bytes()[:200])
    image.new("1", (20000, 20000)).save("large.png")
    image.fromarray(np.ones((2, 2), np.float32)).save("wide.tif")
    Path("folder.png").mkdir()
    assert run([1, 3, 8, 8], "--input", name) == 1
    error = capsys.readouterr().err
    assert re.search(text, error)
    assert "--debug" not in error


def test_an_input_of_other_channels_is_no_picture(capsys: pytest.CaptureFixture[str]) -> None:
    image.fromarray(np.full((2, 5, 4), RED, np.uint8)).save("p.png")
    assert run([1, 7, 2, 5], "--input", "p.png") == 1
    assert "[1, 7, 2, 5]; a picture has 1, 3 or 4 channels" in capsys.readouterr().err


@pytest.mark.parametrize("numbers", ["300,1", "-129", "nan", "1e30", "1.5"])
def test_numbers_that_do_not_fit_are_told(numbers: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["n"], "--input", f"x={numbers}", kind=TensorProto.INT8) == 1
    assert "expected those that int8 has" in capsys.readouterr().err


def test_large_integers_are_exact() -> None:
    assert run(["n"], "--input", "x=9007199254740993,1", kind=TensorProto.INT64) == 0
    assert output().tolist() == [9007199254740993, 1]
