"""The semantics against vectors from outside: ONNX's node tests, and PyTorch's by way of ONNX."""

from __future__ import annotations

import re
from collections import Counter
from fnmatch import fnmatchcase
from functools import cache

import numpy as np
import pytest
from onnx_calls import Array, LeftOutError
from onnx_cases import Case, attributes_of, load_cases, translate
from onnx_moves import RESULTS

from wia.catalog import BY_NAME, OPERATIONS, allowed_error, evaluate

ROUNDED = {"test_averagepool_2d_ceil_last_window_starts_on_pad": 1e-4}
"""Vectors that were written down with a few digits, and the last one of them."""


@cache
def cases() -> dict[str, Case]:
    """All cases by name."""
    return {case.name: case for case in load_cases()}


def run(case: Case) -> tuple[list[Array], list[Array], list[str]]:
    """Results, allowed errors and names of the operations of a case. Raises LeftOutError.

    The vectors carry rounding errors of their own, so the allowance counts twice.
    """
    arrays = dict(case.inputs)
    errors: dict[str, Array] = {}
    names = []
    for node in case.nodes:
        inputs = [arrays.get(name) for name in node.input]
        name, operands, values = translate(node, inputs, case.opset)
        entry = BY_NAME[name]
        results = evaluate(np, entry, operands, values)
        allowed = allowed_error(np, entry, operands, values, results)
        if node.op_type in RESULTS:
            results = RESULTS[node.op_type](results, attributes_of(node))
            allowed = tuple(np.zeros(result.shape) for result in results)
        for output, result, error in zip(node.output, results, allowed, strict=False):
            arrays[output] = result
            errors[output] = 2 * error + ROUNDED.get(case.name, 0.0)
        names.append(name)
    # Outputs that the operation doesn't have are the last ones.
    made = [name for name in case.outputs if name in errors]
    return [arrays[name] for name in made], [errors[name] for name in made], names


def compare(result: Array, allowed: Array, expected: Array) -> str:
    """What differs between a result and the expected one; "" for nothing."""
    if result.shape != expected.shape or result.dtype != expected.dtype:
        return f"{result.dtype}{result.shape} in place of {expected.dtype}{expected.shape}"
    got, wanted = result.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        close = (
            (abs(got - wanted) <= allowed) | (got == wanted) | (np.isnan(got) & np.isnan(wanted))
        )
    return "" if close.all() else f"{got[~close]} in place of {wanted[~close]}"


def vectors_named(source: str) -> list[str]:
    """The names of vectors, as patterns, that the source of an entry has."""
    found = []
    for part in source.split("; "):
        node_tests = re.match("ONNX node tests? (.*)", part)
        if node_tests or "among ONNX's models" in part:
            words = node_tests[1] if node_tests else part.partition(" among ")[0]
            found += [
                f"test_{word}"
                for word in re.findall(r"[\w*]+", words.replace("PyTorch's", ""))
                if word not in ("and", "with", "of")
            ]
    return found


def test_vectors_agree() -> None:
    """Each vector: shape, dtype and values; each source that names vectors names some that ran."""
    covered: Counter[str] = Counter()
    ran: set[tuple[str, str]] = set()
    left_out: Counter[str] = Counter()
    failed = []
    for case in cases().values():
        try:
            results, allowed, names = run(case)
        except LeftOutError as error:
            left_out[str(error)] += 1
            continue
        covered.update(names)
        ran |= {(name, case.name) for name in names}
        for result, bound, expected in zip(results, allowed, case.expected, strict=False):
            problem = compare(result, bound, expected)
            if problem:
                failed.append(f"{case.name}: {problem}")
    assert not failed, "\n".join(failed)
    promised = {(entry.name, name) for entry in OPERATIONS for name in vectors_named(entry.source)}
    lacking = {
        (op, pattern)
        for op, pattern in promised
        if not any(name == op and fnmatchcase(vector, pattern) for name, vector in ran)
    }
    assert {(op, pattern) for op, pattern in lacking if op != "not_equal"} == set()
    assert covered.total() >= 400, (covered, left_out)
    assert left_out.total() <= 200, left_out


def test_not_equal_is_the_inverse_of_equal() -> None:
    """ONNX has no operator of its own: the vectors of Equal, inverted."""
    checked = 0
    for case in cases().values():
        inputs = [case.inputs.get(name) for name in case.nodes[0].input]
        if [node.op_type for node in case.nodes] != ["Equal"]:
            continue
        try:
            _, operands, values = translate(case.nodes[0], inputs, case.opset)
        except LeftOutError:
            continue
        (result,) = evaluate(np, BY_NAME["not_equal"], operands, values)
        assert np.array_equal(result, ~case.expected[0])
        checked += 1
    assert checked >= 4


@pytest.mark.parametrize("name", ["test_Conv2d", "test_add", "test_softmax_axis_1", "test_relu"])
def test_a_wrong_vector_is_seen(name: str) -> None:
    """One element off by a thousandth, a NaN, another shape or dtype: each is reported."""
    case = cases()[name]
    (result,), (allowed,), _ = run(case)
    expected = case.expected[0]
    assert compare(result, allowed, expected) == ""
    for factor in (1.001, np.nan):
        wrong = expected.copy()
        largest = np.unravel_index(np.argmax(wrong), wrong.shape)
        wrong[largest] *= factor
        assert "in place of" in compare(result, allowed, wrong)
    assert "in place of" in compare(result, allowed, expected[..., None])
    assert "in place of" in compare(result, allowed, expected.astype(np.float64))
