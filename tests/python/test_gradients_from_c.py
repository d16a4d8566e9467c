"""Gradients from C: plans of wia_query_gradient() in training, and for every operation."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalog_calls import attributes_of, call
from test_calls_from_c import Call, encode

import wia
from wia._config import prefix
from wia._native import lib
from wia.catalog import OPERATIONS, Sample
from wia.catalog.derivatives import gradient_text

ROOT = Path(__file__).parents[2]
DATA = ROOT / "examples" / "digits" / "data"


def build(name: str, folder: Path) -> Path:
    """A C program of tests/programs."""
    binary, source = folder / name, ROOT / "tests" / "programs" / f"{name}.c"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{prefix()}/include"]
    library = [f"{prefix()}/lib/libwia.so.0", f"-Wl,-rpath,{prefix()}/lib", "-lm"]
    subprocess.run(["cc", *flags, str(source), *library, "-o", str(binary)], check=True)
    return binary


def test_a_network_is_trained(tmp_path: Path) -> None:
    """240 scanned digits are learned, and most of 120 others are told."""
    images = np.load(DATA / "test_images.npy").reshape(-1, 64).astype(np.float32) / 16
    labels = np.load(DATA / "test_labels.npy").astype(np.int64)
    rows = [image.tobytes() + label.tobytes() for image, label in zip(images, labels, strict=True)]
    (tmp_path / "rows").write_bytes(struct.pack("=2q", 240, 120) + b"".join(rows[:360]))
    program = build("train_digits", tmp_path)
    done = subprocess.run(
        [str(program), "reference", str(tmp_path / "rows"), "150"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    before, after, right = map(float, done.stdout.split())
    assert before == pytest.approx(np.log(10), abs=0.5)
    assert after < 0.1
    assert right > 0.9


def slopes_of_a_tape(ctx: wia.Context, made: Call) -> list[Any] | None:
    """The gradients of the sum of the first output, by the inputs that are floats."""
    tensors = [None if array is None else ctx.tensor(array) for array in made.inputs]
    with wia.Tape() as tape:
        outputs = ctx.execute(made.operation.name, tensors, **attributes_of(made.values))
    program = gradient_text(made.operation)
    names = [operand.name for operand in made.operation.inputs]
    wanted = [
        tensor
        for place, tensor in enumerate(tensors)
        if tensor is not None
        and tensor.dtype == np.float32
        and f"d_{names[0 if made.operation.variadic else place]} =" in program
    ]
    try:
        return [slope.numpy() for slope in tape.gradient(outputs[0], wanted)]
    except wia.UnimplementedError:
        return None


def calls() -> list[Call]:
    """The first sample of every operation with a gradient, in float32."""
    found = []
    for operation in OPERATIONS:
        if not gradient_text(operation) or "float32" not in operation.dtypes:
            continue
        for sample in operation.samples:
            values = {**operation.defaults(), **sample.values}
            if operation.outputs_read(values) or not fits(sample):
                continue
            inputs, values, expected = call(operation, sample, "float32")
            if len(inputs) <= 8 and expected[0].dtype == np.float32:
                made = Call(operation=operation, inputs=inputs, values=values, expected=expected)
                found.append(made)
                break
    return found


def fits(sample: Sample) -> bool:
    """Whether a sample is in float32, and its numbers are tame."""
    return "float32" in (sample.dtypes or ("float32",)) and not set(sample.fills) & {"special"}


def test_plans_give_what_a_tape_gives(tmp_path: Path) -> None:
    """Bit for bit, for every operation that has a gradient."""
    program = build("run_gradients", tmp_path)
    made = calls()
    with wia.Context("reference") as ctx:
        wanted = [slopes_of_a_tape(ctx, one) for one in made]
    (tmp_path / "calls").write_bytes(b"".join(encode(one, one.expected) for one in made))
    command = [str(program), "reference", str(tmp_path / "calls"), str(tmp_path / "results")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    data, place, compared = (tmp_path / "results").read_bytes(), 0, 0
    for one, slopes in zip(made, wanted, strict=True):
        status, size = struct.unpack_from("=2q", data, place)
        result, place = data[place + 16 : place + 16 + size], place + 16 + size
        if slopes is None:
            assert status == lib.WIA_STATUS_UNIMPLEMENTED, one.operation.name
            continue
        assert status == 0, (one.operation.name, result)
        assert result == b"".join(slope.tobytes() for slope in slopes), one.operation.name
        compared += 1
    assert place == len(data)
    assert compared > 180
