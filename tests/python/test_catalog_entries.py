"""The form of the catalog: every entry is complete and runs on its own samples."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wia.catalog
from wia.catalog import OPERATIONS, Operation, Sample, allowed_error, evaluate, make_inputs

IDS = [operation.name for operation in OPERATIONS]


def numpy_dtype(name: str) -> np.dtype[Any]:
    """numpy's or ml_dtypes' object for a name."""
    import ml_dtypes

    return np.dtype(name) if hasattr(np, name) else np.dtype(getattr(ml_dtypes, name))


def input_dtypes(operation: Operation, name: str, count: int) -> tuple[np.dtype[Any], ...]:
    """The dtypes of so many inputs when the operation's is that one."""
    return tuple(map(numpy_dtype, wia.catalog.input_dtypes(operation, name, count)))


def call(operation: Operation, sample: Sample, dtype: str) -> tuple[list[Any], dict[str, Any], Any]:
    """Inputs, values and result of a sample."""
    with np.errstate(all="ignore"):
        dtypes = input_dtypes(operation, dtype, len(sample.shapes))
        inputs = make_inputs(np, operation, sample, dtypes)
    values = {**operation.defaults(), **sample.values}
    if "dtype" in values:
        values["dtype"] = numpy_dtype(values["dtype"])
    before = None
    scalar = operation.output.read_with
    if scalar and values[scalar]:
        before = evaluate(np, operation, inputs, {**values, scalar: 0.0})
    return inputs, values, evaluate(np, operation, inputs, values, before)


def test_numbers_and_names() -> None:
    """Numbers go from 1 without a gap, and names are those of the C side."""
    assert [operation.number for operation in OPERATIONS] == list(range(1, len(OPERATIONS) + 1))
    assert len(set(IDS)) == len(IDS)
    assert all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in IDS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=IDS)
def test_entry_is_complete(operation: Operation) -> None:
    """Texts, optional inputs at the end, defaults in range, one config for all its fields."""
    texts = [operation.summary, operation.source, operation.formula, operation.tolerance.reason]
    texts += [item.summary for item in (*operation.inputs, operation.output, *operation.fields)]
    assert all(texts)
    optional = [operand.optional for operand in operation.inputs]
    assert optional == sorted(optional)
    assert not operation.inputs[0].optional
    assert not operation.variadic or len(operation.inputs) == 1
    assert bool(operation.fields) == bool(operation.config)
    assert len(set(operation.dtypes)) == len(operation.dtypes)
    listed = (*operation.attributes, *operation.options)
    assert sum(item.words for item in listed) <= 40
    names = [item.name for item in listed] + [scalar.name for scalar in operation.scalars]
    assert len(set(names)) == len(names)
    for item in listed:
        if item.default is None:
            assert item.variable or item.kind == "dtype" or item.name == "kernel"
            continue
        default = item.default if isinstance(item.default, tuple) else (item.default,)
        assert all(item.minimum <= value <= item.maximum for value in default)
        assert bool(item.enum) == bool(item.choices)
        if item.choices:
            assert [choice.value for choice in item.choices] == list(range(item.maximum + 1))
            assert item.default == 0


@pytest.mark.parametrize("operation", OPERATIONS, ids=IDS)
def test_samples_run_in_every_dtype(operation: Operation) -> None:
    """Inputs and results are the same each time, and every element has an allowed error."""
    sampled = set()
    for sample in operation.samples:
        assert operation.variadic or len(sample.shapes) == len(operation.inputs)
        for dtype in sample.dtypes or operation.dtypes:
            inputs, values, result = call(operation, sample, dtype)
            again, _, same = call(operation, sample, dtype)
            assert all(
                (a is None and b is None) or a.tobytes() == b.tobytes()
                for a, b in zip(inputs, again, strict=True)
            )
            assert (result.dtype, result.tobytes()) == (same.dtype, same.tobytes())
            read = operation.output.read_with
            more = {operation.output.name: result} if read and values[read] else {}
            allowed = allowed_error(np, operation, inputs, {**values, **more}, result)
            assert allowed.shape == result.shape
            assert (allowed >= 0).all()
            assert operation.flops(sample.shapes, result.shape, values) >= 0
            sampled.add(dtype)
    assert sampled == set(operation.dtypes)


@pytest.mark.parametrize("operation", OPERATIONS, ids=IDS)
def test_results_do_not_depend_on_strides(operation: Operation) -> None:
    """Bit for bit: transposed, reversed and misaligned inputs give the same result."""
    for sample in operation.samples:
        inputs, values, result = call(operation, sample, operation.dtypes[0])
        if operation.output.read_with and values[operation.output.read_with]:
            continue
        changed = [None if array is None else rearranged(array) for array in inputs]
        other = evaluate(np, operation, changed, values)
        assert other.tobytes() == result.tobytes(), sample


def rearranged(array: Any) -> Any:
    """Equal elements under other strides, at an address that is no multiple of the element's."""
    memory = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype)
    other = memory.reshape(array.shape[::-1]).T
    if other.ndim:
        other = other[::-1]
    other[...] = array
    return other


def test_inputs_are_not_written_to() -> None:
    """Semantics run on arrays that are read-only."""
    for operation in OPERATIONS:
        for sample in operation.samples:
            inputs, values, result = call(operation, sample, operation.dtypes[0])
            for array in (*inputs, result):
                if array is not None:
                    array.flags.writeable = False
            evaluate(np, operation, inputs, values, result)


def test_catalog_imports_nothing_heavy() -> None:
    """The generator loads it at build time, without numpy and without the rest of the package."""
    assert wia.catalog.__file__ is not None
    folder = Path(wia.catalog.__file__).resolve().parents[1]
    code = "import sys; import catalog; print(*sorted(set(sys.modules) & {'numpy', 'wia', 'cffi'}))"
    found = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path[:0] = [{str(folder)!r}]; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == ""
