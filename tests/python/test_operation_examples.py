"""The examples on the pages of operations: each runs, and each call in C compiles."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wia._config import prefix
from wia.catalog import OPERATIONS, evaluate

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs" / "_ext"))

from operation_examples import Example, make_example, run_python  # noqa: E402


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    """Those of all operations."""
    return [make_example(operation.name) for operation in OPERATIONS]


def test_every_example_runs(examples: list[Example]) -> None:
    """By the method of the operation, with inputs and attributes as they stand there."""
    for example in examples:
        entry = example.operation
        printed, names = run_python(example)
        assert printed.strip(), entry.name
        inputs = [
            array if array is None else names[name].numpy()
            for name, array in example.inputs.items()
        ]
        values = {**entry.defaults(), **example.values}
        results = evaluate(np, entry, inputs, values)
        outputs = entry.outputs[: len(results)] if entry.variadic_outputs else entry.outputs
        expected = dict(zip((output.name for output in outputs), results, strict=True))
        size = expected.pop(entry.count) if entry.count else None
        for output in outputs:
            if output.name == entry.count:
                continue
            wanted = expected[output.name]
            wanted = wanted[:size] if output.sized else wanted
            found = names[output.name].numpy()
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), entry.name
            assert found.tobytes() == wanted.tobytes(), entry.name


def test_examples_can_be_read(examples: list[Example]) -> None:
    """No line is wider than a page, and none goes on without end."""
    for example in examples:
        lines = (example.python + example.c).splitlines()
        assert max(map(len, lines)) <= 100, example.operation.name
        assert len(lines) <= 80, example.operation.name


def test_every_call_in_c_compiles(examples: list[Example], tmp_path: Path) -> None:
    functions = []
    for example in examples:
        parameters = "".join(f", wia_tensor_t {name}" for name in example.operands)
        body = example.c.replace("\n", "\n  ")
        functions.append(
            f"wia_status_t {example.operation.name}_example("
            f"wia_context_t *context{parameters}) {{\n"
            f"  {body}return status;\n}}\n"
        )
    source = tmp_path / "examples.c"
    heads = ["#include <wia.h>\n", *(text.partition(" {")[0] + ";\n" for text in functions)]
    source.write_text("".join([*heads, *functions]), encoding="utf-8")
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    done = subprocess.run(
        [*command, f"-I{prefix()}/include", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
