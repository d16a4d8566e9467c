"""Every operation from C: calls go into a file, and a C program runs them with wia_execute()."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalog_calls import attributes_of, call, numpy_dtype

from wia._config import prefix
from wia._dtype import dtype_code
from wia._native import lib
from wia.catalog import OPERATIONS, Operation, Sample, allowed_error
from wia.catalog._model import PACKED

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call and what has to come out."""

    operation: Operation
    inputs: list[Any]
    values: dict[str, Any]
    expected: tuple[Any, ...]


def plain(operation: Operation, sample: Sample) -> bool:
    """Whether a sample reads no output and has no packed dtype."""
    values = {**operation.defaults(), **sample.values}
    reads = any(output.read_with and values[output.read_with] for output in operation.outputs)
    return not reads and values.get("dtype") not in PACKED


def all_calls() -> Iterator[Call]:
    """The first samples of every operation, in its first dtype and in two that most have."""
    for operation in OPERATIONS:
        dtypes = dict.fromkeys((operation.dtypes[0], "float32", "int32"))
        for sample in [sample for sample in operation.samples if plain(operation, sample)][:2]:
            for dtype in dtypes:
                if dtype in (sample.dtypes or operation.dtypes):
                    inputs, values, expected = call(operation, sample, dtype)
                    yield Call(operation=operation, inputs=inputs, values=values, expected=expected)


def numbers(*values: int) -> bytes:
    """Numbers as the C program reads them."""
    return struct.pack(f"={len(values)}q", *values)


def operand(array: Any) -> bytes:
    """An input or an output, or one that is left out."""
    if array is None:
        return numbers(0)
    head = (dtype_code(array.dtype), array.ndim, *array.shape, array.nbytes)
    return numbers(*head) + np.ascontiguousarray(array).tobytes()


def attribute(entry: Operation, name: str, value: Any) -> bytes:
    """An attribute or a scalar."""
    kinds = {item.name: item.kind for item in entry.attributes}
    kind = kinds.get(name, "float")
    values = list(value) if isinstance(value, tuple) else [value]
    if kind == "dtype":
        code, data = lib.WIA_ATTRIBUTE_DTYPE, numbers(dtype_code(value))
    elif kind == "float":
        code, data = lib.WIA_ATTRIBUTE_FLOAT64, struct.pack(f"={len(values)}d", *values)
    else:
        code, data = lib.WIA_ATTRIBUTE_INT64, numbers(*values)
    text = name.encode()
    return numbers(len(text)) + text + numbers(code, len(values)) + data


def encode(made: Call, outputs: Sequence[Any] = ()) -> bytes:
    """A call as the C program reads it; its outputs hold ones before, if nothing else is given."""
    given = attributes_of(made.values)
    outputs = outputs or [np.ones_like(array) for array in made.expected]
    head = numbers(made.operation.number, len(made.inputs), len(outputs), len(given))
    operands = [operand(array) for array in (*made.inputs, *outputs)]
    listed = [attribute(made.operation, *item) for item in given.items()]
    return b"".join([head, *operands, *listed])


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C program."""
    binary = tmp_path_factory.mktemp("calls") / "run_calls"
    source = ROOT / "tests" / "programs" / "run_calls.c"
    flags = ["-Wall", "-Wextra", "-Werror", f"-I{prefix()}/include"]
    library = [f"{prefix()}/lib/libwia.so.0", f"-Wl,-rpath,{prefix()}/lib"]
    subprocess.run(["cc", *flags, str(source), *library, "-o", str(binary)], check=True)
    return binary


def run(program: Path, folder: Path, device: str, calls: list[Call]) -> list[tuple[int, bytes]]:
    """Status of each call, and its outputs one after the other or its message."""
    (folder / "calls").write_bytes(b"".join(map(encode, calls)))
    command = [str(program), device, str(folder / "calls"), str(folder / "results")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    data, place, results = (folder / "results").read_bytes(), 0, []
    for _ in calls:
        status, size = struct.unpack_from("=2q", data, place)
        results.append((status, data[place + 16 : place + 16 + size]))
        place += 16 + size
    assert place == len(data)
    return results


def test_reference(program: Path, tmp_path: Path) -> None:
    """Every operation gives the bytes that the semantics give."""
    calls = list(all_calls())
    assert {made.operation.name for made in calls} == {entry.name for entry in OPERATIONS}
    for made, (status, data) in zip(calls, run(program, tmp_path, "reference", calls), strict=True):
        assert status == 0, (made.operation.name, data)
        wanted = b"".join(np.ascontiguousarray(array).tobytes() for array in made.expected)
        assert data == wanted, (made.operation.name, made.inputs)


def test_a_native_driver(program: Path, tmp_path: Path) -> None:
    """Without Python: results are as near as the entries allow, or the operation is not there."""
    calls = list(all_calls())
    ran = set()
    for made, (status, data) in zip(calls, run(program, tmp_path, "sample", calls), strict=True):
        if status == lib.WIA_STATUS_UNIMPLEMENTED:
            assert made.operation.name in data.decode()
            continue
        assert status == 0, (made.operation.name, data)
        allowed = allowed_error(np, made.operation, made.inputs, made.values, made.expected)
        (expected,), (bound,) = made.expected, allowed
        result = np.frombuffer(data, expected.dtype).reshape(expected.shape)
        same = (result == expected) | (np.isnan(result) & np.isnan(expected))
        with np.errstate(invalid="ignore"):
            near = abs(result.astype(np.float64) - expected.astype(np.float64)) <= bound
        assert (same | near).all(), made.operation.name
        ran.add(made.operation.name)
    assert ran >= {"add", "conv2d", "matmul", "relu"}


def test_a_wrong_call_is_told(program: Path, tmp_path: Path) -> None:
    """A shape that doesn't fit: status and message come back, and the next call runs."""
    made = next(item for item in all_calls() if item.operation.name == "relu")
    wrong = Call(
        operation=made.operation,
        inputs=made.inputs,
        values={},
        expected=(np.zeros(3, made.inputs[0].dtype),),
    )
    first, second = run(program, tmp_path, "reference", [wrong, made])
    assert first[0] == lib.WIA_STATUS_INVALID_ARGUMENT
    assert b"the output output has shape [3]; expected [8]" in first[1]
    assert second[0] == 0
    assert numpy_dtype(made.inputs[0].dtype.name).itemsize * 8 == len(second[1])
