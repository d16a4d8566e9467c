"""Gradients of operations that a program registers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wia
from wia._gradient import Gradient

Array = np.ndarray[Any, Any]


def differentiate_mix(call: wia.GradientCall) -> list[wia.Value | None]:
    """Of by * a @ b + c, or without c: c's shape may be one that is broadcast."""
    a, b, c = call.inputs
    grad = call.apply("scale", call.grads[:1], factor=call.values["by"])
    by_c = None
    if c is not None:
        by_c = call.apply("sum_to", call.grads[:1], shape=c.shape)
    if call.values["square"]:  # the gradient by a and b of (a @ b) ** 2
        grad = call.apply("scale", [grad * (a @ b)], factor=2.0)
    by_a = call.apply("matmul", [grad, b], transpose_b=True)
    return [by_a, call.apply("matmul", [a, grad], transpose_a=True), by_c]


@wia.op(
    "test::mix",
    infer=lambda a, b, c, *, square: wia.TensorSpec((a.shape[0], b.shape[1]), a.dtype),
    scalars=["by"],
    dtypes=("float64", "float32", "bfloat16"),
    gradient=differentiate_mix,
)
def mix(
    a: Array, b: Array, c: Array | None = None, *, square: bool = False, by: float = 1
) -> Array:
    product = (a @ b) ** 2 if square else a @ b
    return np.asarray(by * product + (0 if c is None else c), a.dtype)


def differentiate_polar(call: wia.GradientCall) -> Any:
    """The gradient of an output that isn't known counts as 0."""
    angle, (by_x, by_y) = call.inputs[0], call.grads
    return by_y * call.apply("cos", [angle]) - by_x * call.apply("sin", [angle])


@wia.op(
    "test::polar",
    infer=lambda angle: [angle, angle],
    outputs=("x", "y"),
    gradient=differentiate_polar,
)
def polar(angle: Array) -> tuple[Array, Array]:
    return np.cos(angle), np.sin(angle)


@wia.op("test::square", gradient=lambda call: differentiate_square(call))
def square(x: Array) -> Array:
    return x * x


def differentiate_square(call: wia.GradientCall) -> Any:
    x, grad = call.inputs[0], call.grads[0]
    return grad * x + grad * x


def draws(*shapes: tuple[int, ...]) -> list[Array]:
    random = np.random.default_rng(3)
    return [random.standard_normal(shape) for shape in shapes]


@pytest.mark.parametrize("squared", [False, True])
def test_finite_differences(reference: wia.Context, squared: bool) -> None:
    a, b, c = draws((3, 4), (4, 2), (1, 2))
    mix.check_gradient(reference, a, b, c, by=3.0, square=squared, tolerance=1e-6)
    mix.check_gradient(reference, a, b, tolerance=1e-6)
    mix.check_gradient(reference, a[:0], b, c, square=squared)
    mix.check_gradient(reference, a.astype(np.float32), b.astype(np.float32), square=squared)
    low = [array.astype(ml_dtypes.bfloat16) for array in (a, b)]
    mix.check_gradient(reference, *low, tolerance=0.1)
    polar.check_gradient(reference, np.linspace(-2, 2, 5), tolerance=1e-6)
    polar.check_gradient(reference, np.float64(0.5), tolerance=1e-6)


def test_on_a_device_with_kernels_for_the_parts() -> None:
    def run(x: Array, out: Array) -> None:
        out[...] = x * x

    square.kernel("npu")(lambda node: run)
    with wia.Context("npu") as ctx:
        square.check_gradient(ctx, np.linspace(-1, 1, 4, dtype=np.float32))


def test_only_what_is_needed(reference: wia.Context) -> None:
    """Of one input of mix one product is left, and of one output of polar no zeros are hidden."""
    a, b, c = (reference.tensor(array) for array in draws((3, 4), (4, 2), (1, 2)))
    out = mix(a, b, c)
    with Gradient("test::mix", [a, b, c], [out], {}, [2], [out]) as gradient:
        assert gradient._group.node_count == 1
    with Gradient("test::mix", [a, b, c], [out], {}, [0, 2], [out]) as gradient:
        assert gradient._group.node_count == 3
    with wia.Tape() as tape:
        x, _ = polar(reference.tensor([0.5, 1.0]))
    [slope] = tape.gradient(x, [tape._calls[0].inputs[0]])  # type: ignore[list-item]
    np.testing.assert_allclose(slope.numpy(), -np.sin(np.array([0.5, 1.0], np.float32)), rtol=1e-6)


def test_gradients_of_gradients(reference: wia.Context) -> None:
    x = reference.tensor(np.array([0.3, 1.2]))
    with wia.Tape() as outer:
        with wia.Tape() as tape:
            _, y = polar(x)
        [slope] = tape.gradient(y, [x])
        twice = reference.mul(slope, slope)
    np.testing.assert_allclose(slope.numpy(), np.cos(x.numpy()))
    [result] = outer.gradient(twice, [x])
    np.testing.assert_allclose(result.numpy(), -2 * np.cos(x.numpy()) * np.sin(x.numpy()))


FAILING: dict[str, tuple[Any, type[wia.WiaError], str]] = {
    "raises": (lambda call: 1 / 0, wia.InternalError, "ZeroDivisionError"),
    "refuses": (lambda call: _refuse(), wia.UnimplementedError, "only on Sundays"),
    "none": (lambda call: None, wia.UnimplementedError, "no gradient of its input x"),
    "long": (lambda call: [None, None], wia.InvalidArgumentError, "returned 2 values"),
    "number": (lambda call: [3], wia.InvalidArgumentError, "3 was given as an input of a node"),
    "shape": (
        lambda call: call.apply("reduce_sum", call.inputs),
        wia.InternalError,
        "another shape or dtype than the input",
    ),
    "attribute": (
        lambda call: call.apply("neg", call.inputs, axis=1),
        wia.InvalidArgumentError,
        "was given the attribute 'axis'",
    ),
    "operation": (lambda call: call.apply("test::no", []), wia.NotFoundError, "test::no"),
}


def _refuse() -> None:
    raise wia.UnimplementedError("only on Sundays")


@pytest.mark.parametrize("name", FAILING)
def test_functions_that_fail(reference: wia.Context, name: str) -> None:
    function, kind, message = FAILING[name]
    made = wia.op(f"test::gradient_{name}", gradient=function)(lambda x: x)
    x = reference.tensor([1.0])
    with wia.Tape() as tape:
        y = made(x)
    with pytest.raises(kind, match=message):
        tape.gradient(y, [x])


def test_a_call_is_over_when_its_function_is(reference: wia.Context) -> None:
    kept: list[wia.GradientCall] = []

    def keep(call: wia.GradientCall) -> Any:
        kept.append(call)
        return call.grads[0]

    made = wia.op("test::kept", gradient=keep)(lambda x: x)
    x = reference.tensor([1.0])
    with wia.Tape() as tape:
        y = made(x)
    assert tape.gradient(y, [x])[0].tolist() == [1.0]
    assert repr(kept[0]) == "wia.GradientCall(1 inputs, 1 outputs)"
    assert kept[0].wanted == (True,)
    with pytest.raises(wia.InvalidHandleError, match="builder"):
        kept[0].apply("neg", kept[0].inputs)


def test_check_finds_a_wrong_gradient(reference: wia.Context) -> None:
    wrong = wia.op("test::wrong_slope", gradient=lambda call: call.grads[0])(lambda x: 2 * x)
    with pytest.raises(AssertionError, match=r"output by x\[0\] is .*; expected"):
        wrong.check_gradient(reference, np.array([1.0, 2.0]))
