"""Allowed errors: wide enough for an honest float32 driver, too narrow for a careless one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from catalog_calls import call

import wia
from wia.catalog import BY_NAME, Operation, Sample, allowed_error, cost


@pytest.fixture(scope="module")
def ctx() -> Iterator[wia.Context]:
    """A context on the native sample driver, which sums in float32."""
    with wia.Context("sample") as context:
        yield context


def within(
    operation: Operation, inputs: list[Any], values: dict[str, Any], expected: Any, result: Any
) -> Any:
    """Per element, whether a result is near enough to what the semantics give."""
    (allowed,) = allowed_error(np, operation, inputs, values, [expected])
    with np.errstate(invalid="ignore"):
        error = abs(result.astype(np.float64) - expected.astype(np.float64))
    same = (result == expected) | (np.isnan(result) & np.isnan(expected))
    return same | (error <= allowed)


def test_a_native_driver_is_within(ctx: wia.Context) -> None:
    """Every float32 sample that the sample driver has a kernel for; there are enough of them."""
    ran = set()
    for operation in BY_NAME.values():
        if "float32" not in ctx.device.supports(operation.name):
            continue
        for sample in operation.samples:
            if sample.dtypes or operation.name == "cast":
                continue
            inputs, values, (expected,) = call(operation, sample, "float32")
            if operation.outputs_read(values):
                continue
            tensors = [None if array is None else ctx.tensor(array) for array in inputs]
            given = {name: value for name, value in values.items() if value is not None}
            try:
                (result,) = ctx.execute(operation.name, tensors, **given)
            except wia.UnimplementedError:
                continue  # an attribute that the driver hasn't got
            assert within(operation, inputs, values, expected, result.numpy()).all(), sample
            ran.add(operation.name)
    assert ran >= {"add", "addmm", "conv2d", "linear", "matmul", "max_pool2d", "relu", "softmax"}


def large(name: str, *shapes: tuple[int, ...], **values: Any) -> tuple[Any, ...]:
    """An operation with random inputs of these shapes, and its result."""
    operation = BY_NAME[name]
    left_out = [None] * (len(operation.inputs) - len(shapes))
    sample = Sample(shapes=(*shapes, *left_out), values=values)
    entry = Operation(**{**vars(operation), "samples": (sample,)})
    inputs, given, (expected,) = call(entry, sample, "float32")
    return entry, inputs, given, expected


CALLS = [
    large("matmul", (33, 257), (257, 31)),
    large("linear", (9, 300), (10, 300), (10,)),
    large("conv2d", (2, 8, 9, 9), (4, 8, 3, 3), padding=(1, 1, 1, 1)),
    large("addmm", (9,), (7, 64), (64, 9)),
    large("softmax", (5, 300)),
    large("layer_norm", (5, 300)),
    large("reduce_sum", (5, 1000), axes=(1,)),
]


@pytest.mark.parametrize("made", CALLS, ids=lambda made: made[0].name)
def test_16_bits_on_the_way_are_too_few(made: tuple[Any, ...]) -> None:
    """A result whose inputs went through float16 lies outside somewhere."""
    operation, inputs, values, expected = made
    rounded = [None if a is None else a.astype(np.float16).astype(np.float32) for a in inputs]
    result = operation.semantics(np, *rounded, **values)
    assert not within(operation, inputs, values, expected, result).all()


@pytest.mark.parametrize("made", CALLS, ids=lambda made: made[0].name)
def test_one_wrong_element_is_outside(made: tuple[Any, ...]) -> None:
    """The neighbour's result in place of one's own."""
    operation, inputs, values, expected = made
    wrong = expected.copy()
    wrong.flat[0] = expected.flat[1]
    near = within(operation, inputs, values, expected, wrong)
    assert not near.flat[0]
    assert near.ravel()[1:].all()


def test_costs() -> None:
    """By hand: a matrix product with and without reading c, and a bias that is left out."""
    matmul, linear = BY_NAME["matmul"], BY_NAME["linear"]
    values = matmul.defaults()
    shapes = [(2, 3), (3, 4), (2, 4)]
    assert cost(matmul, shapes, [4, 4, 4], values) == (48, 4 * (6 + 12 + 8))
    assert cost(matmul, shapes, [1, 1, 4], {**values, "beta": 1.0}) == (48, 6 + 12 + 4 * 16)
    assert cost(linear, [(2, 3), (4, 3), None, (2, 4)], [4] * 4, {}) == (48, 4 * (6 + 12 + 8))
