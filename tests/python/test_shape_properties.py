"""Shape rules against numpy, and against what the semantics give, on shapes that are made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wia
from wia.catalog import BY_NAME, evaluate

Shape = tuple[int, ...]

sizes = st.sampled_from([0, 1, 1, 2, 3, 4])
shapes = st.lists(sizes, max_size=4).map(tuple)
nonempty = st.lists(st.integers(1, 6), min_size=4, max_size=4).map(tuple)
flags = st.booleans()
property_test = settings(max_examples=300, deadline=None, derandomize=True)


@pytest.fixture(scope="module")
def ctx() -> Iterator[wia.Context]:
    """Any context: rules don't ask the device."""
    with wia.Context("reference") as context:
        yield context


def infer(ctx: wia.Context, op: str, *inputs: Shape, **attributes: Any) -> Shape | None:
    """The shape that the rule gives; None when it refuses."""
    try:
        tensors = tuple(ctx.empty(shape) for shape in inputs)
        return ctx._infer(BY_NAME[op].number, tensors, attributes)[0][0]
    except wia.InvalidArgumentError:
        return None


def numpy_shape(function: Callable[..., Any], *arguments: Any, **more: Any) -> Shape | None:
    """The shape of what numpy gives; None when it raises."""
    try:
        return tuple(np.shape(function(*arguments, **more)))
    except (ValueError, IndexError):
        return None


def zeros(shape: Shape) -> Any:
    """An array to ask numpy about."""
    return np.zeros(shape, np.float32)


@property_test
@given(a=shapes, b=shapes)
def test_elementwise(ctx: wia.Context, a: Shape, b: Shape) -> None:
    """As numpy broadcasts."""
    assert infer(ctx, "add", a, b) == numpy_shape(np.add, zeros(a), zeros(b))


@property_test
@given(a=shapes, b=shapes)
def test_matmul(ctx: wia.Context, a: Shape, b: Shape) -> None:
    """As numpy.matmul, ranks included."""
    assert infer(ctx, "matmul", a, b) == numpy_shape(np.matmul, zeros(a), zeros(b))


@property_test
@given(a=shapes, b=shapes, transpose_a=flags, transpose_b=flags)
def test_matmul_transposed(
    ctx: wia.Context, a: Shape, b: Shape, transpose_a: bool, transpose_b: bool
) -> None:
    """As numpy.matmul of swapped arrays; what has no two dimensions can't be swapped."""

    def product() -> Any:
        left = zeros(a).swapaxes(-1, -2) if transpose_a else zeros(a)
        return np.matmul(left, zeros(b).swapaxes(-1, -2) if transpose_b else zeros(b))

    got = infer(ctx, "matmul", a, b, transpose_a=transpose_a, transpose_b=transpose_b)
    assert got == numpy_shape(product)


@property_test
@given(shape=shapes, target=st.lists(st.sampled_from([-1, 0, 1, 2, 3, 6]), max_size=4))
def test_reshape(ctx: wia.Context, shape: Shape, target: list[int]) -> None:
    """As numpy.reshape."""
    expected = numpy_shape(np.reshape, zeros(shape), target)
    assert infer(ctx, "reshape", shape, shape=target) == expected


@property_test
@given(shape=shapes, target=shapes)
def test_broadcast(ctx: wia.Context, shape: Shape, target: Shape) -> None:
    """As numpy.broadcast_to."""
    expected = numpy_shape(np.broadcast_to, zeros(shape), target)
    assert infer(ctx, "broadcast", shape, shape=list(target)) == expected


@property_test
@given(shape=shapes, perm=st.lists(st.integers(0, 4), max_size=4))
def test_transpose(ctx: wia.Context, shape: Shape, perm: list[int]) -> None:
    """As numpy.transpose; an empty list reverses."""
    expected = numpy_shape(np.transpose, zeros(shape), perm or None)
    assert infer(ctx, "transpose", shape, perm=perm) == expected


@property_test
@given(shape=shapes, axes=st.lists(st.integers(-5, 4), max_size=3), keepdims=flags)
def test_reductions(ctx: wia.Context, shape: Shape, axes: list[int], keepdims: bool) -> None:
    """As numpy.sum; a maximum has to have elements, unless the result has none."""
    more = {"axis": tuple(axes) or None, "keepdims": keepdims}
    expected = numpy_shape(np.sum, zeros(shape), **more)
    assert infer(ctx, "reduce_sum", shape, axes=axes, keepdims=keepdims) == expected
    refused = expected is not None and 0 in shape and 0 not in expected
    got = infer(ctx, "reduce_max", shape, axes=axes, keepdims=keepdims)
    assert got == (None if refused else expected)


@property_test
@given(shape=shapes, axis=st.integers(-5, 4), keepdims=flags)
def test_argmax(ctx: wia.Context, shape: Shape, axis: int, keepdims: bool) -> None:
    """As numpy.sum over one axis; there have to be elements, unless the result has none."""
    expected = numpy_shape(np.sum, zeros(shape), axis=axis, keepdims=keepdims)
    if not shape or (expected is not None and 0 in shape and 0 not in expected):
        expected = None
    assert infer(ctx, "argmax", shape, axis=axis, keepdims=keepdims) == expected


pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))
paddings = st.tuples(*[st.integers(0, 3)] * 4)


@property_test
@given(
    image=nonempty,
    weight=nonempty,
    stride=pairs,
    padding=paddings,
    dilation=pairs,
    groups=st.integers(1, 3),
)
def test_conv2d(ctx: wia.Context, image: Shape, weight: Shape, **values: Any) -> None:
    """What the rule accepts the semantics give; what it refuses doesn't fit in the way it says."""
    groups = values["groups"]
    got = infer(ctx, "conv2d", image, weight, **values)
    channels_fit = (image[1], weight[0] % groups) == (weight[1] * groups, 0)
    kernel_fits = all(
        (weight[2 + i] - 1) * values["dilation"][i] + 1
        <= image[2 + i] + values["padding"][i] + values["padding"][2 + i]
        for i in range(2)
    )
    assert (got is not None) == (channels_fit and kernel_fits)
    if got is not None:
        (result,) = evaluate(np, BY_NAME["conv2d"], [zeros(image), zeros(weight), None], values)
        assert got == result.shape


@property_test
@given(
    image=nonempty,
    kernel=pairs,
    stride=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    padding=paddings,
    dilation=pairs,
    ceil_mode=flags,
)
def test_max_pool2d(ctx: wia.Context, image: Shape, **values: Any) -> None:
    """What the rule accepts the semantics give, and no element of it lies in padding alone."""
    got = infer(ctx, "max_pool2d", image, **values)
    reach = [(k - 1) * d + 1 for k, d in zip(values["kernel"], values["dilation"], strict=True)]
    before, after = values["padding"][:2], values["padding"][2:]
    fits = all(
        max(before[i], after[i]) < reach[i] <= image[2 + i] + before[i] + after[i] for i in range(2)
    )
    assert (got is not None) == fits
    if got is not None:
        (result,) = evaluate(np, BY_NAME["max_pool2d"], [zeros(image)], values)
        assert got == result.shape
        if values["dilation"] == (1, 1):
            assert not result.any()
