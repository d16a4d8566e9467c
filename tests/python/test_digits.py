"""examples/digits: the C and the Python program on the held-out scans, against numpy by hand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wia._config import prefix

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
DATA = DIGITS / "data"
DEVICE = "reference:0"
ON_DEVICES = pytest.mark.parametrize("on", ["reference:0", "sample:0", "npu:0"])
sys.path.insert(0, str(DIGITS))

import forward_numpy  # noqa: E402  (an example is no package)

Array = NDArray[Any]
Program = list[str]


@pytest.fixture(scope="session")
def c_program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The C program, built as a user builds it: with find_package(wia)."""
    build = tmp_path_factory.mktemp("digits")
    configure = ["cmake", "-S", str(DIGITS), "-B", str(build), "-DCMAKE_C_FLAGS=-Werror"]
    subprocess.run([*configure, f"-DCMAKE_PREFIX_PATH={prefix()}"], check=True)
    subprocess.run(["cmake", "--build", str(build)], check=True)
    return [str(build / "digits")]


PYTHON_PROGRAM = [sys.executable, str(DIGITS / "digits.py")]


@pytest.fixture(params=["c", "python"])
def program(request: pytest.FixtureRequest) -> Program:
    if request.param == "python":
        return PYTHON_PROGRAM
    program: Program = request.getfixturevalue("c_program")
    return program


def run(program: Program, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def logits_of(program: Program, on: str, path: Path) -> Array:
    result = run(program, on, "--show", 0, "--logits", path)
    assert result.returncode == 0, result.stderr
    logits: Array = np.load(path)
    return logits


@ON_DEVICES
def test_accuracy(program: Program, on: str) -> None:
    result = run(program, on, "--show", 3)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert "356 of 360 right: 98.89 %" in result.stdout
    assert result.stdout.count("predicted") == 3


def test_c_and_python_print_the_same(c_program: Program) -> None:
    assert run(c_program, DEVICE).stdout == run(PYTHON_PROGRAM, DEVICE).stdout


@ON_DEVICES
def test_c_and_python_agree_bit_for_bit(c_program: Program, on: str, tmp_path: Path) -> None:
    c = logits_of(c_program, on, tmp_path / "c.npy")
    python = logits_of(PYTHON_PROGRAM, on, tmp_path / "python.npy")
    assert c.shape == (360, 10)
    assert c.dtype == python.dtype == np.float32
    assert c.tobytes() == python.tobytes()


@ON_DEVICES
def test_agrees_with_numpy_by_hand(program: Program, on: str, tmp_path: Path) -> None:
    """Within the bound for float32 that follows from the weights, image by image."""
    images = np.load(DATA / "test_images.npy")
    weights = forward_numpy.load_weights(DATA)
    logits = logits_of(program, on, tmp_path / "logits.npy")
    exact, bound = with_bound(images, weights)
    assert bound.max() < 1e-2  # so that the comparison says something
    assert (np.abs(logits - exact) <= bound).all()
    by_hand = forward_numpy.logits(images, weights)
    assert (np.abs(logits - by_hand) <= 2 * bound).all()


def test_gallery(tmp_path: Path) -> None:
    """The page shows what the command makes. Last digits may differ on another processor."""
    shown = DIGITS.parents[1] / "docs" / "gallery"
    devices = ["reference:0", "sample:0", "npu:0", "emulator:0"]
    compare = [sys.executable, str(DIGITS / "compare.py")]
    result = run(compare, *devices, "--output", tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "digits.svg").read_text() == (shown / "digits.svg").read_text()
    made = (tmp_path / "digits_devices.md").read_text()
    assert made == result.stdout
    rows = [
        [line.rsplit("|", 2)[0] for line in text.splitlines()]
        for text in (made, (shown / "digits_devices.md").read_text())
    ]
    assert rows[0] == rows[1]
    assert [row.split("`")[1] for row in rows[0][2:]] == devices


def test_a_native_driver_needs_no_python(c_program: Program) -> None:
    """Without a Python library a native driver works, and a Python driver can't."""
    env = {**os.environ, "WIA_LIBPYTHON": "/there/is/none"}
    for on, code in (("sample:0", 0), ("reference:0", 1)):
        result = subprocess.run(
            [*c_program, on], env=env, capture_output=True, text=True, check=False, timeout=120
        )
        assert result.returncode == code, result.stderr
    assert "/there/is/none" in result.stderr


def with_bound(images: Array, weights: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return the logits in float64, and how far off float32 can be in any order of summation.

    A sum of n products and a bias has an error of at most m u / (1 - m u), m = n + 1, u = 2^-24,
    times the sum of absolute values (Higham, Accuracy and Stability of Numerical Algorithms, 3.1),
    plus what the errors of its inputs add up to. ReLU and maximum don't enlarge an error.
    """
    wide = {name: array.astype(np.float64) for name, array in weights.items()}
    x = images[:, None] / 16.0
    error = np.zeros_like(x)
    for name in ("conv1", "conv2"):
        weight, bias = wide[f"{name}_weight"], wide[f"{name}_bias"]
        size, magnitude = (
            np.abs(weight),
            forward_numpy.conv3x3(np.abs(x) + error, np.abs(weight), np.abs(bias)),
        )
        carried = forward_numpy.conv3x3(error, size, np.zeros_like(bias))
        error = carried + growth(weight[0].size) * magnitude
        error = forward_numpy.max_pool2x2(error)
        x = forward_numpy.max_pool2x2(np.maximum(forward_numpy.conv3x3(x, weight, bias), 0))
    x, error = x.reshape(len(x), -1), error.reshape(len(x), -1)
    weight, bias = wide["linear_weight"], wide["linear_bias"]
    magnitude = (np.abs(x) + error) @ np.abs(weight).T + np.abs(bias)
    error = error @ np.abs(weight).T + growth(weight.shape[1]) * magnitude
    return x @ weight.T + bias, error


def growth(products: int) -> float:
    roundings = (products + 1) * 2.0**-24
    return roundings / (1 - roundings)


VARIANTS: dict[str, Callable[[Array], Array]] = {
    "one image": lambda images: images[0],
    "int64": lambda images: images.astype(np.int64),
    "float32": lambda images: images.astype(np.float32),
    "float64": lambda images: images.astype(np.float64),
    "column-major": np.asfortranarray,
    "several batches": lambda images: np.concatenate([images, images]),
}


@pytest.mark.parametrize("change", VARIANTS.values(), ids=VARIANTS.keys())
def test_takes_any_images(
    program: Program, tmp_path: Path, change: Callable[[Array], Array]
) -> None:
    """Without labels the predictions alone are printed."""
    path = tmp_path / "images.npy"
    images = change(np.load(DATA / "test_images.npy"))
    np.save(path, images)
    result = run(program, DEVICE, "--images", path, "--show", 1)
    assert result.returncode == 0, result.stderr
    digits = [int(word) for word in result.stdout.splitlines()[-1].split()[1:]]
    expected = forward_numpy.logits(
        images.reshape(-1, 8, 8), forward_numpy.load_weights(DATA)
    ).argmax(axis=1)
    assert digits == expected.tolist()
    assert "right" not in result.stdout


def test_counts_what_is_right(program: Program, tmp_path: Path) -> None:
    np.save(tmp_path / "labels.npy", np.zeros(360, np.int16))
    images = DATA / "test_images.npy"
    result = run(program, DEVICE, "--images", images, "--labels", tmp_path / "labels.npy")
    logits = forward_numpy.logits(np.load(images), forward_numpy.load_weights(DATA))
    zeros = int((logits.argmax(axis=1) == 0).sum())
    assert f"{zeros} of 360 right" in result.stdout


def damaged_files(folder: Path) -> dict[str, Path]:
    """Files that are no images, each wrong in one way."""
    whole = (DATA / "test_images.npy").read_bytes()

    def replaced(old: bytes, new: bytes) -> bytes:
        assert old in whole
        return whole.replace(old, new + b" " * (len(old) - len(new)), 1)

    contents = {
        "empty": b"",
        "magic": b"x" + whole[1:],
        "version": whole[:6] + b"\x09" + whole[7:],
        "header cut": whole[:40],
        "header length": whole[:8] + b"\xff\xff" + whole[10:],
        "data cut": whole[:-1],
        "shape": replaced(b"(360, 8, 8)", b"(360, 8)"),
        "shape too large": replaced(b"(360, 8, 8), }" + b" " * 8, b"(9223372036, 8, 8), }"),
        "shape overflows": replaced(
            b"(360, 8, 8), }" + b" " * 40, b"(9223372036854775807, 9223372036854775807), }"
        ),
        "shape negative": replaced(b"(360, 8, 8)", b"(-36, 8, 8)"),
        "shape no tuple": replaced(b"(360, 8, 8)", b"360"),
        "no images": replaced(b"(360, 8, 8)", b"(0, 8, 8)"),
        "dtype": replaced(b"'|u1'", b"'|O'"),
        "order": replaced(b"False", b"Maybe"),
        "no shape": replaced(b"'shape'", b"'shame'"),
    }
    paths = {}
    for name, content in contents.items():
        paths[name] = folder / f"{name}.npy"
        paths[name].write_bytes(content)
    paths["missing"] = folder / "missing.npy"
    paths["a folder"] = folder
    return paths


def test_damaged_images(program: Program, tmp_path: Path) -> None:
    """One line that names the file; no crash."""
    for name, path in damaged_files(tmp_path).items():
        result = run(program, DEVICE, "--images", path)
        assert result.returncode == 1, f"{name}: {result}"
        assert str(path) in result.stderr, f"{name}: {result}"
        assert "Traceback" not in result.stderr, f"{name}: {result}"


def test_wrong_weights(program: Program, tmp_path: Path) -> None:
    for source in DATA.iterdir():
        (tmp_path / source.name).write_bytes(source.read_bytes())
    np.save(tmp_path / "conv2_bias.npy", np.zeros(31, np.float32))
    result = run(program, DEVICE, "--weights", tmp_path)
    assert result.returncode == 1
    assert "conv2_bias.npy" in result.stderr


def test_unknown_device(program: Program) -> None:
    result = run(program, "referense:0")
    assert result.returncode == 1
    assert "referense" in result.stderr
    assert "reference" in result.stderr.replace("referense", ""), "no near name in the message"


@pytest.mark.parametrize("on", ["null:0", "sample:0"])
def test_training_says_what_a_device_lacks(on: str) -> None:
    """The operation that is missing, its device, and where to look."""
    pytest.importorskip("sklearn")
    result = run([sys.executable, str(DIGITS / "train.py")], "--device", on, "--epochs", "1")
    assert result.returncode == 1
    assert re.search(rf"\w+ on {on} \(float32\): .*no kernel for \w+", result.stderr), result
    assert "`wia ops` shows" in result.stderr


def test_wrong_options(program: Program) -> None:
    for arguments in (["--nothing"], ["--show", "many"], ["--images"], ["a", "b"]):
        result = run(program, *arguments)
        assert result.returncode == 2, f"{arguments}: {result}"
        assert result.stderr, arguments
