"""The form of the catalog: every entry is complete and runs on its own samples."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalog_calls import IDS, call

import wia.catalog
from wia.catalog import OPERATIONS, Operation, allowed_error, evaluate


def test_numbers_and_names() -> None:
    """Numbers and names are given once, in order, and names are those of the C side; at least 200
    operations beside gradients."""
    numbers = [operation.number for operation in OPERATIONS]
    assert numbers == sorted(set(numbers))
    assert 1 <= numbers[0] <= numbers[-1] < 1 << 16
    assert len([name for name in IDS if not name.endswith("_gradient")]) >= 200
    assert len(set(IDS)) == len(IDS)
    assert all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in IDS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=IDS)
def test_entry_is_complete(operation: Operation) -> None:
    """Texts, optional inputs at the end, defaults in range, one config for all its fields."""
    texts = [operation.summary, operation.source, operation.formula]
    texts += [tolerance.reason for tolerance in operation.tolerances]
    texts += [item.summary for item in (*operation.inputs, *operation.outputs, *operation.fields)]
    assert all(texts)
    optional = [operand.optional for operand in operation.inputs]
    assert optional == sorted(optional)
    left_out = [output.optional for output in operation.outputs]
    assert left_out == sorted(left_out)
    assert not operation.outputs[0].optional
    operands = [operand.name for operand in (*operation.inputs, *operation.outputs)]
    assert len(set(operands)) == len(operands)
    assert len(operation.outputs) <= 8
    assert bool(operation.count) == any(output.sized for output in operation.outputs)
    assert operation.count in ("", *(output.name for output in operation.outputs))
    assert not operation.variadic or len(operation.inputs) == 1
    assert bool(operation.fields) == bool(operation.config)
    assert len(set(operation.dtypes)) == len(operation.dtypes)
    listed = (*operation.attributes, *operation.options)
    assert sum(item.words for item in listed) <= 64
    names = [item.name for item in listed] + [scalar.name for scalar in operation.scalars]
    assert len(set(names)) == len(names)
    for item in listed:
        if item.default is None:
            assert item.variable or item.kind == "dtype" or item.name == "kernel"
            continue
        default = item.default if isinstance(item.default, tuple) else (item.default,)
        least, most = item.range
        assert all(least <= value <= most for value in default)
        assert bool(item.enum) == bool(item.choices)
        if item.choices:
            assert [choice.value for choice in item.choices] == list(range(int(item.range[1]) + 1))
            assert item.default == 0


@pytest.mark.parametrize("operation", OPERATIONS, ids=IDS)
def test_every_mode_is_in_a_sample(operation: Operation) -> None:
    """Each value of an enum or flag: the conformance suite and the gradients run the samples."""
    for item in operation.attributes:
        flag = (item.minimum, item.maximum, item.length) == (0, 1, 0)
        wanted = {choice.value for choice in item.choices} or ({0, 1} if flag else set())
        given = [sample.values.get(item.name, item.default) for sample in operation.samples]
        lists = (value if isinstance(value, tuple) else (value,) for value in given)
        assert wanted <= {value for values in lists for value in values}, item.name


@pytest.mark.parametrize("operation", OPERATIONS, ids=IDS)
def test_samples_run_in_every_dtype(operation: Operation) -> None:
    """Inputs and results are the same each time, and every element has an allowed error."""
    sampled = set()
    for sample in operation.samples:
        assert operation.variadic or len(sample.shapes) == len(operation.inputs)
        for dtype in sample.dtypes or operation.dtypes:
            inputs, values, results = call(operation, sample, dtype)
            again, _, same = call(operation, sample, dtype)
            made = len(results)
            assert made == len(operation.outputs) or operation.variadic_outputs
            assert all(
                (a is None and b is None) or a.tobytes() == b.tobytes()
                for a, b in zip(inputs, again, strict=True)
            )
            errors = allowed_error(np, operation, inputs, values, results, results)
            for result, other, allowed in zip(results, same, errors, strict=True):
                assert (result.dtype, result.tobytes()) == (other.dtype, other.tobytes())
                assert allowed.shape == result.shape
                assert (allowed >= 0).all()
            assert operation.flops(sample.shapes, results[0].shape, values) >= 0
            sampled.add(dtype)
    assert sampled == set(operation.dtypes)


@pytest.mark.parametrize("operation", OPERATIONS, ids=IDS)
def test_results_do_not_depend_on_strides(operation: Operation) -> None:
    """Bit for bit: transposed, reversed and misaligned inputs give the same result."""
    for sample in operation.samples:
        inputs, values, results = call(operation, sample, (sample.dtypes or operation.dtypes)[0])
        if operation.outputs_read(values):
            continue
        changed = [None if array is None else rearranged(array) for array in inputs]
        others = evaluate(np, operation, changed, values)
        for result, other in zip(results, others, strict=True):
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
            inputs, values, results = call(
                operation, sample, (sample.dtypes or operation.dtypes)[0]
            )
            for array in (*inputs, *results):
                if array is not None:
                    array.flags.writeable = False
            evaluate(np, operation, inputs, values, results)


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
